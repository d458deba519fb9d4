//===- Replay.cpp - A launch that was saved, again ------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Replay.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Support/Trace.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;

std::string launchjit::dumpedModuleName(ArrayRef<uint8_t> Bytes,
                                        BinaryFormat F) {
  XXH128_hash_t H = xxh3_128bits(Bytes);
  return (utohexstr(H.high64, /*LowerCase=*/true, 16) +
          utohexstr(H.low64, /*LowerCase=*/true, 16) + "." + formatName(F))
      .str();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<MemoryBuffer>> readFile(const Twine &Path) {
  auto Buffer = MemoryBuffer::getFile(Path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!Buffer)
    return makeError(Status::IO, "cannot read " + Path + ": " +
                                     Buffer.getError().message());
  return std::move(*Buffer);
}

/// The name of a file in its folder, and nowhere else.
static bool isPlainName(StringRef Name) {
  return !Name.empty() && Name.front() != '.' && all_of(Name, [](char C) {
    return isAlnum(C) || C == '-' || C == '.' || C == '_';
  });
}

namespace {

/// The members of an object; the first that is not as it must be is kept.
struct Reader {
  const json::Object &O;
  std::string &Wrong;

  void fail(const Twine &Name, const Twine &Wanted) {
    if (Wrong.empty())
      Wrong = ("'" + Name + "' must be " + Wanted).str();
  }
  int64_t integer(StringRef Name, int64_t Min, int64_t Max) {
    return check(Name, O.get(Name), Min, Max);
  }
  int64_t check(const Twine &Name, const json::Value *V, int64_t Min,
                int64_t Max) {
    std::optional<int64_t> N = V ? V->getAsInteger() : std::nullopt;
    if (N && *N >= Min && *N <= Max)
      return *N;
    fail(Name, "a number from " + Twine(Min) + " to " + Twine(Max));
    return Min;
  }
  template <typename T>
  void integers(StringRef Name, T *To, size_t Count, int64_t Min, int64_t Max) {
    const json::Array *A = O.getArray(Name);
    if (!A || A->size() != Count)
      return fail(Name, "an array of " + Twine(Count));
    for (size_t I = 0; I != Count; ++I)
      To[I] = check(Name + "[" + Twine(I) + "]", &(*A)[I], Min, Max);
  }
  StringRef string(StringRef Name) {
    std::optional<StringRef> S = O.getString(Name);
    if (!S)
      fail(Name, "a string");
    return S.value_or("");
  }
  bool boolean(StringRef Name) {
    std::optional<bool> B = O.getBoolean(Name);
    if (!B)
      fail(Name, "true or false");
    return B.value_or(false);
  }
  const json::Array &array(StringRef Name) {
    static const json::Array *None = new json::Array;
    const json::Array *A = O.getArray(Name);
    if (!A)
      fail(Name, "an array");
    return A ? *A : *None;
  }
};

} // namespace

/// LLVM's parser uses the stack for what is nested.
static bool isDeep(StringRef Text) {
  int Depth = 0;
  for (char C : Text) {
    Depth += (C == '[' || C == '{') - (C == ']' || C == '}');
    if (Depth > 256)
      return true;
  }
  return false;
}

Expected<std::unique_ptr<Replay>> Replay::open(StringRef Path) {
  std::unique_ptr<Replay> R(new Replay);
  if (Error E = R->read(Path))
    return std::move(E);
  return R;
}

Error Replay::read(StringRef Folder) {
  Path = Folder.rtrim('/').str();
  std::string Where = Path + "/" + DumpedLaunchName;
  auto Damaged = [&](const Twine &Why) {
    return makeError(Status::Binary, Where + " is damaged: " + Why);
  };
  auto File = readFile(Where);
  if (!File)
    return File.takeError();
  StringRef Text = (*File)->getBuffer();
  if (Text.size() > 1 << 20 || isDeep(Text))
    return Damaged("it is larger, or nested deeper, than any dump's");
  JSON = Text.str();
  auto Root = json::parse(JSON);
  if (!Root)
    return Damaged(toString(Root.takeError()));
  const json::Object *O = Root->getAsObject();
  if (!O || O->getString("format") != StringRef(DumpFormat))
    return Damaged("it is no object with the format '" + Twine(DumpFormat) +
                   "'");
  if (O->getInteger("version") != DumpVersion)
    return makeError(Status::Unsupported,
                     Where + " has the version " +
                         (O->getInteger("version")
                              ? Twine(*O->getInteger("version"))
                              : Twine("of none")) +
                         "; this launchjit reads " + Twine(DumpVersion));

  std::string Wrong;
  Reader In{*O, Wrong};
  KernelName = In.string("kernel").str();
  SignatureOptions SigOptions;
  SigOptions.Scratch = In.integer("hidden_parameters", 0, 3);
  SigOptions.LargeParameters = In.boolean("large_parameters");
  StringRef SignatureText = In.string("signature");
  In.integers("scratch_size", ScratchSize, 2, 0, INT64_MAX);
  In.integers("grid", Grid, 3, INT64_MIN, INT64_MAX);
  In.integers("block", Options.Block, 3, 1, UINT32_MAX);
  Options.Shared = In.integer("shared", 0, UINT32_MAX);
  Options.NonPortableCluster = In.boolean("nonportable_cluster");
  Options.Device = In.integer("device", 0, INT32_MAX);
  ArgumentsSize = In.integer("arguments_size", 0, 32764);
  for (const json::Value &V : In.array("attributes")) {
    static const json::Object *None = new json::Object;
    Reader Each{V.getAsObject() ? *V.getAsObject() : *None, Wrong};
    uint32_t Id = Each.integer("id", 0, UINT32_MAX);
    std::string Value;
    CUlaunchAttribute A;
    if (!tryGetFromHex(Each.string("value"), Value) ||
        Value.size() != sizeof A.value) {
      Each.fail("value", "64 bytes in hexadecimal");
      continue;
    }
    std::memset(&A, 0, sizeof A);
    std::memcpy(&A.id, &Id, sizeof Id);
    std::memcpy(&A.value, Value.data(), Value.size());
    // They hold a handle or an address of the process that is gone.
    if (is_contained({CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                      CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                      CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                      CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW},
                     Id))
      Notes += "launch attribute " + std::to_string(Id) +
               " holds a handle or an address of the process that was saved, "
               "and is left out\n";
    else
      Options.Attributes.push_back(A);
  }
  for (const json::Value &V : In.array("buffers")) {
    static const json::Object *None = new json::Object;
    Reader Each{V.getAsObject() ? *V.getAsObject() : *None, Wrong};
    Buffer B;
    if (Each.string("address").getAsInteger(0, B.Address))
      Each.fail("address", "a number as text");
    B.Size = Each.integer("size", 1, INT64_MAX);
    if (B.Address > UINT64_MAX - B.Size)
      Each.fail("size", "such that the buffer ends in the address space");
    if (Each.O.get("file")) {
      B.File = Each.string("file").str();
      if (!isPlainName(B.File))
        Each.fail("file", "a file's name without a folder");
    }
    Buffers.push_back(std::move(B));
  }
  const json::Value *M = O->get("module");
  if (M && M->getAsString())
    ModuleName = M->getAsString()->str();
  if (!M || (!M->getAsNull() && !isPlainName(ModuleName)))
    In.fail("module", "null or a file's name without a folder");
  if (!Wrong.empty())
    return Damaged(Wrong);

  auto S = Signature::parse(SignatureText, SigOptions);
  if (!S)
    return Damaged("its signature: " + takeDetail(S.takeError()).Message);
  Sig = std::move(*S);
  if (Sig->abi().size() != ArgumentsSize)
    return Damaged("its signature has " + Twine(Sig->abi().size()) +
                   " bytes of parameters, but 'arguments_size' is " +
                   Twine(ArgumentsSize));
  auto ReadWhole =
      [&](const Twine &Name,
          uint64_t Size) -> Expected<std::unique_ptr<MemoryBuffer>> {
    auto Bytes = readFile(Path + "/" + Name);
    if (Bytes && (*Bytes)->getBufferSize() != Size)
      return makeError(Status::Binary,
                       Path + "/" + Name + " is damaged: it has " +
                           Twine((*Bytes)->getBufferSize()) +
                           " bytes, but launch.json says " + Twine(Size));
    return Bytes;
  };
  auto Packed = ReadWhole(DumpedArgumentsName, ArgumentsSize);
  if (!Packed)
    return Packed.takeError();
  Arguments.assign(ArgumentsSize / sizeof(uint64_t) + 1, 0);
  std::memcpy(Arguments.data(), (*Packed)->getBufferStart(), ArgumentsSize);
  for (Buffer &B : Buffers) {
    if (B.File.empty())
      continue;
    auto Bytes = ReadWhole(B.File, B.Size);
    if (!Bytes)
      return Bytes.takeError();
    B.Before = std::move(*Bytes);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Replay::~Replay() {
  if (!Context)
    return;
  auto Guard = ContextGuard::enter(*Drv, Context);
  if (!Guard) {
    consumeError(Guard.takeError());
    return;
  }
  for (CUdeviceptr P : Allocated)
    Drv->cuMemFree(P);
}

Error Replay::allocate(CUdeviceptr &To, uint64_t Size) {
  if (Error E = LJ_CUDA(*Drv, cuMemAlloc,
                        "cannot allocate " + Twine(Size) + " bytes", &To, Size))
    return E;
  Allocated.push_back(To);
  return LJ_CUDA(*Drv, cuMemsetD8, "cannot fill a buffer", To, 0, Size);
}

Error Replay::relocate(bool Force) {
  Relocated = Arguments;
  auto *Bytes = reinterpret_cast<char *>(Relocated.data());
  for (auto [I, N] : enumerate(Sig->slots())) {
    std::string What = Path + ": " + describeSlot(*Sig, I);
    if (N.Where.Kind == ParamKind::TensorMap && !Force)
      return makeError(Status::Unsupported,
                       What + ": a tensor map holds an address that cannot be "
                              "replaced in it; --force passes it as it was");
    if (N.Where.Kind != ParamKind::Pointer)
      continue;
    uint64_t P;
    std::memcpy(&P, Bytes + N.Where.Offset, sizeof P);
    if (!P)
      continue;
    auto B = find_if(Buffers, [&](const Buffer &Each) {
      return P - Each.Address < Each.Size;
    });
    if (B != Buffers.end() && (B->Before || Force)) {
      P = B->Now + (P - B->Address);
      std::memcpy(Bytes + N.Where.Offset, &P, sizeof P);
    } else if (!Force) {
      return makeError(
          Status::NotFound,
          What + ": the pointer 0x" + utohexstr(P, /*LowerCase=*/true) +
              (B == Buffers.end() ? " is in no buffer of the dump"
                                  : " is in a buffer that was not saved") +
              "; --force launches all the same");
    }
  }
  // Scratch memory was asked for behind the observer.
  unsigned Next = 0;
  for (unsigned I = 0; I != 2; ++I) {
    if (!(Sig->abi().scratch() & (I == 0 ? ScratchGlobal : ScratchProfile)))
      continue;
    uint32_t Offset = Sig->abi().scratchSlots()[Next++].Offset;
    uint64_t Size = ScratchSize[I];
    CUdeviceptr P;
    std::memcpy(&P, Bytes + Offset, sizeof P);
    if (!Size || P)
      continue;
    for (int64_t Axis : Grid)
      Size = SaturatingMultiply(Size, uint64_t(Axis));
    if (Error E = allocate(P, Size))
      return E;
    std::memcpy(Bytes + Offset, &P, sizeof P);
  }
  return Error::success();
}

Error Replay::prepare(const ReplayOptions &RO) {
  if (ModuleName.empty())
    return makeError(Status::Unsupported,
                     Path + ": the host owned the function '" + KernelName +
                         "', so its binary is not known and it cannot be "
                         "launched again");
  if (RO.Device >= 0)
    Options.Device = RO.Device;
  auto File = readFile(Path + "/../modules/" + ModuleName);
  if (!File) {
    Error E = File.takeError();
    File = readFile(Path + "/" + ModuleName);
    if (!File) {
      consumeError(File.takeError());
      return E;
    }
    consumeError(std::move(E));
  }
  auto Bytes = arrayRefFromStringRef((*File)->getBuffer());
  auto M = Module::create(Bytes, ModuleName);
  if (!M)
    return M.takeError();
  if (dumpedModuleName(Bytes, (*M)->binary().Format) != ModuleName)
    return makeError(Status::Binary, ModuleName + " is damaged: its bytes are "
                                                  "not those that its name "
                                                  "was made from");
  auto D = Driver::process();
  if (!D)
    return D.takeError();
  auto Made = Kernel::create(std::move(*M), KernelName, *Sig, Options);
  if (!Made)
    return Made.takeError();
  auto Primary = primaryContext(*D, Options.Device);
  if (!Primary)
    return Primary.takeError();
  Drv = &*D;
  auto Guard = ContextGuard::enter(*Drv, *Primary);
  if (!Guard)
    return Guard.takeError();
  Context = *Primary;
  for (Buffer &B : Buffers)
    if (B.Before || RO.Force)
      if (Error E = allocate(B.Now, B.Size))
        return E;
  if (Error E = relocate(RO.Force))
    return E;
  K = std::move(*Made);
  return K->load(Options.Device);
}

Expected<uint64_t> Replay::launch() {
  const Driver &D = *Drv;
  CUevent Events[2] = {};
  auto Destroy = make_scope_exit([&] {
    for (CUevent E : Events)
      if (E)
        D.cuEventDestroy(E);
  });
  // The entry that tells came with CUDA 12.8.
  const bool Timed = D.cuEventCreate && D.cuEventRecord && D.cuEventElapsedTime;
  for (CUevent &E : Events)
    if (Timed)
      if (Error Failed = D.check(D.cuEventCreate(&E, CU_EVENT_DEFAULT),
                                 "cannot make an event"))
        return std::move(Failed);
  uint64_t Begin = nowNs();
  if (Timed)
    D.cuEventRecord(Events[0], nullptr);
  if (launchByTable(&K->data(), Grid[0], Grid[1], Grid[2], nullptr,
                    Relocated.data()))
    return makeError(*lastLaunchError());
  if (Timed)
    D.cuEventRecord(Events[1], nullptr);
  if (Error E = LJ_CUDA(D, cuCtxSynchronize,
                        "kernel '" + KernelName + "' failed while it ran"))
    return std::move(E);
  float Milliseconds = 0;
  if (!Timed ||
      D.cuEventElapsedTime(&Milliseconds, Events[0], Events[1]) != CUDA_SUCCESS)
    return nowNs() - Begin;
  return uint64_t(double(Milliseconds) * 1e6);
}

Expected<uint64_t> Replay::run(const ReplayOptions &RO) {
  if (!K)
    if (Error E = prepare(RO))
      return std::move(E);
  auto Guard = ContextGuard::enter(*Drv, Context);
  if (!Guard)
    return Guard.takeError();
  for (const Buffer &B : Buffers)
    if (B.Before)
      if (Error E = LJ_CUDA(*Drv, cuMemcpyHtoD, "cannot fill a buffer", B.Now,
                            B.Before->getBufferStart(), B.Size))
        return std::move(E);
  auto Time = launch();
  if (!Time)
    return Time;
  for (Buffer &B : Buffers) {
    if (!B.Before)
      continue;
    B.After.resize(B.Size);
    if (Error E = LJ_CUDA(*Drv, cuMemcpyDtoH, "cannot read a buffer",
                          B.After.data(), B.Now, B.Size))
      return std::move(E);
    B.BytesChanged = B.FirstChanged = 0;
    const char *Before = B.Before->getBufferStart();
    for (uint64_t I = 0; I != B.Size; ++I)
      if (Before[I] != B.After[I] && !B.BytesChanged++)
        B.FirstChanged = I;
  }
  return Time;
}
