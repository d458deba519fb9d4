//===- Kernel.cpp - One GPU function with its launch configuration --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Kernel.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Launch/Observers.h"
#include "launchjit/Launch/Values.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// An architecture's parameter space begins at a multiple of this, in bytes: at
/// 0x160 on sm_80, 0x210 on sm_90, 0x380 on sm_100. The driver's offsets count
/// from there, but addresses are what is aligned, so a parameter of a larger
/// alignment has another offset on each architecture (seen: a tensor map that
/// comes first is at 32, 48 and 0).
static constexpr uint32_t AlignOfParameterSpace = 16;

/// Whether the binary has the layout of a parameter space that begins at
/// \p Base.
static bool isLayoutFrom(uint32_t Base, ArrayRef<NamedSlot> Ours,
                         ArrayRef<BinaryParameter> Actual) {
  uint64_t End = Base;
  for (auto [Slot, Parameter] : zip_equal(Ours, Actual)) {
    uint64_t Address = alignTo(End, Slot.Where.Align);
    if (Address - Base != Parameter.Offset)
      return false;
    End = Address + Slot.Where.Size;
  }
  return true;
}

Error launchjit::checkParameters(const Signature &S,
                                 ArrayRef<BinaryParameter> Actual,
                                 const Twine &Which) {
  ArrayRef<NamedSlot> Ours = S.slots();
  auto Fail = [](const Twine &Message) {
    return makeError(Status::Signature, Message);
  };
  if (Ours.size() != Actual.size()) {
    std::string Hint;
    // Triton's hidden pointers are what is forgotten most.
    if (Actual.size() > Ours.size() && Actual.size() - Ours.size() <= 2 &&
        all_of(Actual.drop_front(Ours.size()),
               [](const BinaryParameter &P) { return P.Size == 8; }))
      Hint = "; if the last are scratch pointers, ask for them with scratch";
    return Fail("the signature has " + Twine(Ours.size()) +
                " parameters, but " + Which + " has " + Twine(Actual.size()) +
                Hint);
  }
  for (unsigned I = 0; I != Ours.size(); ++I) {
    const Slot &W = Ours[I].Where;
    if (W.Size != Actual[I].Size)
      return Fail(describeSlot(S, I) + " has " + Twine(W.Size) +
                  " bytes in the signature, but " + Twine(Actual[I].Size) +
                  " in " + Which);
  }
  for (uint32_t Base = 0; Base < S.abi().align(); Base += AlignOfParameterSpace)
    if (isLayoutFrom(Base, Ours, Actual))
      return Error::success();
  for (unsigned I = 0; I != Ours.size(); ++I)
    if (Ours[I].Where.Offset != Actual[I].Offset)
      return Fail(describeSlot(S, I) + " is at byte " +
                  Twine(Ours[I].Where.Offset) +
                  " by the signature, but at byte " + Twine(Actual[I].Offset) +
                  " in " + Which);
  return Error::success();
}

static Error checkAttributes(ArrayRef<CUlaunchAttribute> Attributes) {
  for (unsigned I = 0; I != Attributes.size(); ++I)
    for (unsigned J = 0; J != I; ++J)
      if (attributeId(Attributes[I]) == attributeId(Attributes[J]))
        return makeError(Status::InvalidArgument,
                         "launch attribute " +
                             Twine(attributeId(Attributes[I])) +
                             " is given twice");
  return Error::success();
}

static Error checkOptions(const KernelOptions &O) {
  if (Error E = checkAttributes(O.Attributes))
    return E;
  for (const CUlaunchAttribute &A : O.Attributes)
    if (is_contained({CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                      CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                      CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE},
                     attributeId(A)))
      return makeError(Status::InvalidArgument,
                       "launch attribute " + Twine(attributeId(A)) +
                           " names an event or hands a handle back, so it "
                           "belongs to one launch: give it to lj_kernel_with");
  for (unsigned I = 0; I != 2; ++I)
    if (O.ScratchSize[I] && !O.Scratch)
      return makeError(Status::InvalidArgument,
                       Twine(I == 0 ? "global" : "profile") +
                           " scratch memory of " + Twine(O.ScratchSize[I]) +
                           " bytes a block is asked for without an allocator");
  for (uint64_t Align : O.ScratchAlign)
    if (!isPowerOf2_64(Align))
      return makeError(Status::InvalidArgument,
                       "a scratch alignment is " + Twine(Align) +
                           "; allowed are powers of two");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Making kernels
//===----------------------------------------------------------------------===//

/// See KernelData::ByPointers.
static bool launchesByPointers(const ABI &A,
                               ArrayRef<CUlaunchAttribute> Attributes) {
  return A.align() > AlignOfParameterSpace ||
         any_of(Attributes, [](const CUlaunchAttribute &Each) {
           return attributeId(Each) == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
                  Each.value.cooperative;
         });
}

Kernel::Kernel(IntrusiveRefCntPtr<KernelState> TheState, KernelOptions O)
    : State(std::move(TheState)), Options(std::move(O)) {
  startDebugObservers();
  Data.Table = &stubTable();
  Data.State = State.get();
  Data.Owner = this;
  for (auto [To, From] : zip(Data.Block, Options.Block))
    To = std::max(From, 1u);
  Data.Shared = Options.Shared;
  const ABI &A = State->Sig.abi();
  Data.ParameterBytes = A.size();
  Data.ByPointers = launchesByPointers(A, Options.Attributes);
  Data.Attributes = Options.Attributes.data();
  Data.NumAttributes = Options.Attributes.size();
  Data.HasScratch = Options.Scratch &&
                    ((A.scratch() & ScratchGlobal && Options.ScratchSize[0]) ||
                     (A.scratch() & ScratchProfile && Options.ScratchSize[1]));
}

Kernel::~Kernel() = default;

Expected<KernelRef> Kernel::create(ModuleRef M, StringRef Name,
                                   const Signature &S,
                                   const KernelOptions &Options) {
  const KernelBinary &Binary = M->binary();
  const BinaryKernel *Known = Binary.find(Name);
  if (Binary.Format != BinaryFormat::Fatbin) {
    if (!Known) {
      SmallVector<StringRef> Names;
      for (const BinaryKernel &K : Binary.Kernels)
        Names.push_back(K.Name);
      return makeError(Status::NotFound,
                       M->name() + " has no kernel '" + Name + "'; it has " +
                           (Names.empty() ? "none" : join(Names, ", ")));
    }
    if (Known->Parameters)
      if (Error E = checkParameters(S, *Known->Parameters,
                                    "kernel '" + Name + "' of " + M->name()))
        return std::move(E);
  }
  if (Error E = checkOptions(Options))
    return std::move(E);
  IntrusiveRefCntPtr<KernelState> State(
      new KernelState(Name.str(), S, nullptr));
  State->Checked = Known && Known->Parameters;
  State->Mod = std::move(M);
  State->NonPortableCluster = Options.NonPortableCluster;
  return KernelRef(new Kernel(std::move(State), Options));
}

template <typename Handle>
static Expected<IntrusiveRefCntPtr<KernelState>>
wrapState(Handle H, StringRef Name, const Signature &S,
          const KernelOptions &Options, const Driver *Drv) {
  constexpr bool IsKernel = std::is_same_v<Handle, CUkernel>;
  if (!H)
    return makeError(Status::InvalidArgument,
                     Twine("the ") + (IsKernel ? "CUkernel" : "CUfunction") +
                         " to wrap is null");
  if (Error E = checkOptions(Options))
    return std::move(E);
  IntrusiveRefCntPtr<KernelState> State(
      new KernelState(Name.str(), S, nullptr));
  if (Error E = Drv ? State->bind(*Drv) : State->bindDriver())
    return std::move(E);
  if constexpr (IsKernel)
    State->HostKernel = H;
  else
    State->HostFunction = H;
  if (Error E =
          State->checkWithDriver({State->HostFunction, State->HostKernel}))
    return std::move(E);
  State->NonPortableCluster = Options.NonPortableCluster;
  return State;
}

Expected<KernelRef> Kernel::wrap(CUfunction Function, StringRef Name,
                                 const Signature &S,
                                 const KernelOptions &Options,
                                 const Driver *Drv) {
  auto State = wrapState(Function, Name, S, Options, Drv);
  if (!State)
    return State.takeError();
  return KernelRef(new Kernel(std::move(*State), Options));
}

Expected<KernelRef> Kernel::wrap(CUkernel K, StringRef Name, const Signature &S,
                                 const KernelOptions &Options,
                                 const Driver *Drv) {
  auto State = wrapState(K, Name, S, Options, Drv);
  if (!State)
    return State.takeError();
  return KernelRef(new Kernel(std::move(*State), Options));
}

Expected<KernelRef> Kernel::withOptions(const KernelOptions &NewOptions) const {
  if (Error E = checkOptions(NewOptions))
    return std::move(E);
  if (NewOptions.NonPortableCluster == State->NonPortableCluster)
    return KernelRef(new Kernel(State, NewOptions));
  // The function is prepared another way, so nothing prepared can be shared.
  IntrusiveRefCntPtr<KernelState> Other(new KernelState(
      State->Name, State->Sig, State->isBound() ? State->driver() : nullptr));
  Other->Mod = State->Mod;
  Other->HostFunction = State->HostFunction;
  Other->HostKernel = State->HostKernel;
  Other->NonPortableCluster = NewOptions.NonPortableCluster;
  return KernelRef(new Kernel(std::move(Other), NewOptions));
}

StringRef Kernel::name() const { return State->Name; }
const Signature &Kernel::signature() const { return State->Sig; }

Expected<CUcontext> Kernel::primary(const Driver &Drv) const {
  if (CUcontext Known = knownPrimary())
    return Known;
  auto Retained = primaryContext(Drv, Options.Device);
  if (Retained)
    Primary.store(*Retained, std::memory_order_release);
  return Retained;
}

Expected<LauncherRef> Kernel::launcher(EntryKind Kind) const {
  return State->launcher(Kind);
}

//===----------------------------------------------------------------------===//
// Using kernels
//===----------------------------------------------------------------------===//

Error launchjit::packValues(const KernelState &S, ArrayRef<Value> Values,
                            SmallVectorImpl<uint64_t> &Buffer) {
  const ABI &A = S.Sig.abi();
  if (Values.size() != A.slots().size())
    return makeError(Status::ArgumentType,
                     S.describe() + " takes " + Twine(A.slots().size()) +
                         " arguments, but " + Twine(Values.size()) +
                         " were given");
  Buffer.assign(A.size() / sizeof(uint64_t) + 1, 0);
  auto *Bytes = reinterpret_cast<char *>(Buffer.data());
  for (unsigned I = 0; I != Values.size(); ++I)
    if (Error E = storeValue(S.Sig, I, Values[I], Bytes + A.slots()[I].Offset))
      return E;
  return Error::success();
}

Error Kernel::launch(const KernelData &D, int64_t X, int64_t Y, int64_t Z,
                     CUstream Stream, ArrayRef<Value> Values) {
  SmallVector<uint64_t, 64> Buffer;
  if (Error E = packValues(*D.State, Values, Buffer))
    return E;
  if (launchByTable(&D, X, Y, Z, Stream, Buffer.data()))
    return makeError(*lastLaunchError());
  return Error::success();
}

Error Kernel::load(int Device) const {
  if (Error E = State->bindDriver())
    return E;
  const Driver &D = *State->driver();
  auto Context = primaryContext(D, Device);
  if (!Context)
    return Context.takeError();
  auto Guard = ContextGuard::enter(D, *Context);
  if (!Guard)
    return Guard.takeError();
  return State->prepare(*Context).takeError();
}

size_t Kernel::storageSize(const KernelData &D, size_t NumAttributes) {
  return sizeof(KernelData) +
         (D.NumAttributes + NumAttributes) * sizeof(CUlaunchAttribute);
}

Expected<const KernelData *>
Kernel::withOverrides(const KernelData &D, void *Storage, size_t Size,
                      const LaunchOverrides &Overrides) {
  size_t Needed = storageSize(D, Overrides.Attributes.size());
  auto Address = reinterpret_cast<uintptr_t>(Storage);
  if (!Storage || Size < Needed || Address % 8)
    return makeError(Status::InvalidArgument,
                     "the storage has " + Twine(Size) + " bytes at 0x" +
                         utohexstr(Address, /*LowerCase=*/true) +
                         "; needed are " + Twine(Needed) +
                         " bytes, aligned to 8");
  if (Error E = checkAttributes(Overrides.Attributes))
    return std::move(E);
  auto *Copy = new (Storage) KernelData(D);
  Copy->Attributes = reinterpret_cast<CUlaunchAttribute *>(Copy + 1);
  if (Overrides.Block)
    for (unsigned I = 0; I != 3; ++I)
      Copy->Block[I] = std::max(Overrides.Block[I], 1u);
  if (Overrides.Shared)
    Copy->Shared = *Overrides.Shared;
  unsigned N = 0;
  for (const CUlaunchAttribute &A : ArrayRef(D.Attributes, D.NumAttributes))
    if (none_of(Overrides.Attributes, [&](const CUlaunchAttribute &O) {
          return attributeId(O) == attributeId(A);
        }))
      Copy->Attributes[N++] = A;
  for (const CUlaunchAttribute &A : Overrides.Attributes)
    Copy->Attributes[N++] = A;
  Copy->NumAttributes = N;
  Copy->ByPointers =
      launchesByPointers(D.State->Sig.abi(), ArrayRef(Copy->Attributes, N));
  return Copy;
}
