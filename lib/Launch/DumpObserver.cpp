//===- DumpObserver.cpp - LAUNCHJIT_DEBUG=dump=DIR ------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replay.h says what a dump looks like.
//
//===----------------------------------------------------------------------===//

#include "DebugObservers.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Launch/Replay.h"
#include "launchjit/Support/FileLimit.h"
#include "launchjit/Support/Log.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

static Error systemError(const Twine &What) {
  int Number = errno;
  return makeError(Status::IO, What + ": " + std::strerror(Number));
}

namespace {

/// A file that is written piece by piece.
class Output {
public:
  explicit Output(std::string Path)
      : Path(std::move(Path)),
        FD(open(this->Path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                S_IRUSR | S_IWUSR)) {}
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;
  ~Output() {
    if (FD >= 0)
      ::close(FD);
  }

  Error write(ArrayRef<char> Rest) {
    if (FD < 0)
      return systemError("cannot make " + Path);
    if ((Size += Rest.size()) > fileSizeLimit()) {
      errno = EFBIG;
      return systemError("cannot write " + Path);
    }
    while (!Rest.empty()) {
      ssize_t N = ::write(FD, Rest.data(), Rest.size());
      if (N < 0 && errno == EINTR)
        continue;
      if (N <= 0)
        return systemError("cannot write " + Path);
      Rest = Rest.drop_front(N);
    }
    return Error::success();
  }

  Error close() {
    return ::close(std::exchange(FD, -1)) ? systemError("cannot write " + Path)
                                          : Error::success();
  }

private:
  std::string Path;
  int FD;
  uint64_t Size = 0;
};

Error writeWhole(std::string Path, ArrayRef<char> Bytes) {
  Output Out(std::move(Path));
  if (Error E = Out.write(Bytes))
    return E;
  return Out.close();
}

/// Among all processes and machines that share the folder.
std::string temporaryName() {
  return (".tmp-" + Twine(getpid()) + "-" +
          utohexstr(sys::Process::GetRandomNumber()) +
          utohexstr(sys::Process::GetRandomNumber()))
      .str();
}

/// With zeros before it, so that names sort as numbers.
std::string padded(uint64_t N, size_t Width) {
  std::string Text = utostr(N);
  return std::string(Width - std::min(Width, Text.size()), '0') + Text;
}

/// A kernel's name as a part of a file's.
std::string plainName(StringRef Name) {
  std::string Plain = Name.take_front(64).str();
  for (char &C : Plain)
    if (!isAlnum(C) && C != '_')
      C = '_';
  return Plain.empty() ? "unnamed" : Plain;
}

std::string hex(uint64_t N) { return "0x" + utohexstr(N, /*LowerCase=*/true); }

/// An allocation that arguments point into.
struct DumpedBuffer {
  CUdeviceptr Base;
  size_t Size;
  const char *Kind;
  std::string File;     ///< Empty where it is not saved, and then
  std::string NotSaved; ///< says why.
};

class DumpObserver final : public LaunchObserver {
public:
  DumpObserver(StringRef Dir, uint64_t MaxBytes) : MaxBytes(MaxBytes) {
    SmallString<128> Absolute(Dir);
    sys::fs::make_absolute(Absolute);
    Folder = Absolute.str().str();
  }

  Error enter(const LaunchInfo &L) override {
    std::string Temporary = Folder + "/" + temporaryName();
    if (Error E = save(L, Temporary)) {
      sys::fs::remove_directories(Temporary);
      std::string Why = takeDetail(std::move(E)).Message;
      if (!Complained.exchange(true))
        log(LogLevel::Warn, "debug",
            "LAUNCHJIT_DEBUG=dump: a launch of '" + L.kernelName() +
                "' is not saved, and others may not be: " + Why);
    }
    return Error::success();
  }

private:
  Error save(const LaunchInfo &L, const std::string &Temporary) const;
  Error saveBuffers(const LaunchInfo &L, const Driver &D,
                    const std::string &Temporary, bool Capturing,
                    std::vector<DumpedBuffer> &Buffers) const;
  Expected<std::string> saveModule(const Module &M) const;
  Error publish(const std::string &Temporary, StringRef Kernel) const;

  std::string Folder;
  const uint64_t MaxBytes;
  std::atomic<bool> Complained{false};
  mutable std::atomic<unsigned> Sequence{0};
};

} // namespace

/// Copied in the launch's own stream, which cannot disturb another's capture.
static Error saveBuffer(const Driver &D, CUstream Stream, const DumpedBuffer &B,
                        std::string Path) {
  constexpr size_t Piece = 16 << 20;
  std::vector<char> Bytes(std::min(B.Size, Piece));
  Output Out(std::move(Path));
  for (size_t Done = 0; Done != B.Size;) {
    size_t N = std::min(B.Size - Done, Piece);
    std::string What = "cannot read the buffer at " + hex(B.Base);
    if (Error E = LJ_CUDA(D, cuMemcpyDtoHAsync, What, Bytes.data(),
                          B.Base + Done, N, Stream))
      return E;
    if (Error E = LJ_CUDA(D, cuStreamSynchronize, What, Stream))
      return E;
    if (Error E = Out.write(ArrayRef(Bytes).take_front(N)))
      return E;
    Done += N;
  }
  return Out.close();
}

static bool addressRange(const Driver &D, CUdeviceptr P, DumpedBuffer &B) {
  if (D.cuMemGetAddressRange &&
      D.cuMemGetAddressRange(&B.Base, &B.Size, P) == CUDA_SUCCESS && B.Size)
    return true;
  // That promises nothing of the host's memory.
  auto Get = [&](void *To, CUpointer_attribute Id) {
    return D.cuPointerGetAttribute &&
           D.cuPointerGetAttribute(To, Id, P) == CUDA_SUCCESS;
  };
  return Get(&B.Base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) &&
         Get(&B.Size, CU_POINTER_ATTRIBUTE_RANGE_SIZE) && B.Size &&
         P - B.Base < B.Size;
}

Error DumpObserver::saveBuffers(const LaunchInfo &L, const Driver &D,
                                const std::string &Temporary, bool Capturing,
                                std::vector<DumpedBuffer> &Buffers) const {
  uint64_t Total = 0;
  for (const NamedSlot &N : L.signature().slots()) {
    CUdeviceptr P = 0;
    if (N.Where.Kind != ParamKind::Pointer)
      continue;
    std::memcpy(&P, L.Arguments + N.Where.Offset, sizeof P);
    if (!P || any_of(Buffers, [&](const DumpedBuffer &B) {
          return P - B.Base < B.Size;
        }))
      continue;
    DumpedBuffer B{0, 0, "device", "", ""};
    if (!addressRange(D, P, B))
      continue; // no memory of the driver's: replay will say so
    unsigned Type = 0;
    bool Managed = false;
    if (D.cuPointerGetAttribute) {
      D.cuPointerGetAttribute(&Type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, P);
      D.cuPointerGetAttribute(&Managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, P);
    }
    B.Kind = Managed                      ? "managed"
             : Type == CU_MEMORYTYPE_HOST ? "host"
                                          : "device";
    if (Capturing)
      B.NotSaved = "the stream was being captured";
    else if (B.Size > MaxBytes - Total)
      B.NotSaved = "the buffers of one launch may have " +
                   std::to_string(MaxBytes) + " bytes (dump-max)";
    if (B.NotSaved.empty()) {
      B.File = "buffer-" + std::to_string(Buffers.size()) + ".bin";
      Total += B.Size;
      if (Error E = saveBuffer(D, L.Stream, B, Temporary + "/" + B.File))
        return E;
    }
    Buffers.push_back(std::move(B));
  }
  return Error::success();
}

/// Gives the name in modules/. A file of that name has those bytes.
Expected<std::string> DumpObserver::saveModule(const Module &M) const {
  std::string Name = dumpedModuleName(M.bytes(), M.binary().Format),
              Modules = Folder + "/modules", Path = Modules + "/" + Name;
  if (sys::fs::exists(Path))
    return Name;
  if (mkdir(Modules.c_str(), S_IRWXU) && errno != EEXIST)
    return systemError("cannot make " + Modules);
  std::string Temporary = Modules + "/" + temporaryName();
  ArrayRef Bytes(reinterpret_cast<const char *>(M.bytes().data()),
                 M.bytes().size());
  Error E = writeWhole(Temporary, Bytes);
  if (!E && rename(Temporary.c_str(), Path.c_str()))
    E = systemError("cannot make " + Path);
  if (!E)
    return Name;
  unlink(Temporary.c_str());
  return std::move(E);
}

Error DumpObserver::publish(const std::string &Temporary,
                            StringRef Kernel) const {
  for (;;) {
    std::string Path =
        (Twine(Folder) + "/" + padded(getpid(), 7) + "-" +
         padded(Sequence.fetch_add(1), 6) + "-" + plainName(Kernel))
            .str();
    // Over a folder that has files rename does nothing: an earlier process
    // had this number.
    if (rename(Temporary.c_str(), Path.c_str()) == 0)
      return Error::success();
    if (errno != ENOTEMPTY && errno != EEXIST)
      return systemError("cannot make " + Path);
  }
}

Error DumpObserver::save(const LaunchInfo &L,
                         const std::string &Temporary) const {
  KernelState &S = *L.Data.State;
  if (Error E = S.bindDriver())
    return E;
  const Driver &D = *S.driver();
  auto Context = launchContext(L.Data, L.Stream);
  if (!Context)
    return Context.takeError();
  auto Guard = ContextGuard::enter(D, *Context);
  if (!Guard)
    return Guard.takeError();
  RelaxedCapture Relaxed(D);
  CUstreamCaptureStatus Capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult Asked = D.cuStreamIsCapturing
                       ? D.cuStreamIsCapturing(L.Stream, &Capture)
                       : CUDA_SUCCESS;
  bool Capturing = Asked == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
                   Capture != CU_STREAM_CAPTURE_STATUS_NONE;

  if (std::error_code EC = sys::fs::create_directories(
          Folder, /*IgnoreExisting=*/true, sys::fs::owner_all))
    return makeError(Status::IO,
                     "cannot make " + Twine(Folder) + ": " + EC.message());
  if (mkdir(Temporary.c_str(), S_IRWXU))
    return systemError("cannot make " + Temporary);
  std::string ModuleName;
  if (S.Mod) {
    auto Saved = saveModule(*S.Mod);
    if (!Saved)
      return Saved.takeError();
    ModuleName = std::move(*Saved);
  }
  if (Error E = writeWhole(Temporary + "/" + DumpedArgumentsName,
                           {L.Arguments, L.Data.ParameterBytes}))
    return E;
  std::vector<DumpedBuffer> Buffers;
  if (Error E = saveBuffers(L, D, Temporary, Capturing, Buffers))
    return E;

  CUdevice Device = 0;
  int Major = 0, Minor = 0;
  if (D.cuCtxGetDevice)
    D.cuCtxGetDevice(&Device);
  if (D.cuDeviceGetAttribute) {
    D.cuDeviceGetAttribute(&Major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                           Device);
    D.cuDeviceGetAttribute(&Minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                           Device);
  }
  const KernelOptions &O = L.Data.Owner->options();
  const Signature &Sig = L.signature();
  time_t Now = time(nullptr);
  struct tm UTC;
  char Time[32];
  strftime(Time, sizeof Time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&Now, &UTC));

  std::string Text;
  raw_string_ostream OS(Text);
  json::OStream J(OS, 2);
  auto Numbers = [&](StringRef Name, const auto &Values) {
    J.attributeArray(Name, [&] {
      for (int64_t V : Values)
        J.value(V);
    });
  };
  J.object([&] {
    J.attribute("format", DumpFormat);
    J.attribute("version", DumpVersion);
    J.attribute("kernel", json::fixUTF8(L.kernelName()));
    J.attribute("signature", json::fixUTF8(Sig.str()));
    J.attribute("hidden_parameters", int64_t(Sig.options().Scratch));
    J.attribute("large_parameters", Sig.options().LargeParameters);
    Numbers("scratch_size", O.ScratchSize);
    Numbers("grid", L.Grid);
    Numbers("block", L.Data.Block);
    J.attribute("shared", int64_t(L.Data.Shared));
    J.attributeArray("attributes", [&] {
      for (const CUlaunchAttribute &A :
           ArrayRef(L.Data.Attributes, L.Data.NumAttributes))
        J.object([&] {
          J.attribute("id", int64_t(attributeId(A)));
          J.attribute(
              "value",
              toHex(ArrayRef(reinterpret_cast<const uint8_t *>(&A.value),
                             sizeof A.value),
                    /*LowerCase=*/true));
        });
    });
    J.attribute("nonportable_cluster", O.NonPortableCluster);
    J.attribute("stream", hex(reinterpret_cast<uintptr_t>(L.Stream)));
    J.attribute("captured", Capturing);
    J.attribute("device", int64_t(Device));
    J.attribute("architecture", "sm_" + std::to_string(10 * Major + Minor));
    J.attribute("driver", driverKindName(D.kind()));
    J.attribute("driver_version", D.version());
    J.attribute("library_version", LAUNCHJIT_VERSION);
    J.attribute("process", int64_t(getpid()));
    J.attribute("time", Time);
    J.attribute("module", ModuleName.empty() ? json::Value(nullptr)
                                             : json::Value(ModuleName));
    J.attribute("arguments_size", int64_t(L.Data.ParameterBytes));
    J.attributeArray("buffers", [&] {
      for (const DumpedBuffer &B : Buffers)
        J.object([&] {
          J.attribute("address", hex(B.Base));
          J.attribute("size", uint64_t(B.Size));
          J.attribute("kind", B.Kind);
          if (B.NotSaved.empty())
            J.attribute("file", B.File);
          else
            J.attribute("not_saved", B.NotSaved);
        });
    });
  });
  J.flush();
  OS << '\n';
  if (Error E = writeWhole(Temporary + "/" + DumpedLaunchName,
                           {Text.data(), Text.size()}))
    return E;
  return publish(Temporary, L.kernelName());
}

LaunchObserverRef launchjit::makeDumpObserver(StringRef Folder,
                                              uint64_t MaxBytes) {
  return new DumpObserver(Folder, MaxBytes);
}
