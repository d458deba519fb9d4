//===- Launch.cpp - The launch itself, and the thread's last error --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/KernelState.h"
#include "launchjit/Launch/Observers.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;

//===----------------------------------------------------------------------===//
// The thread's last error
//===----------------------------------------------------------------------===//

static thread_local std::unique_ptr<ErrorDetail> LastError;

const ErrorDetail *launchjit::lastLaunchError() { return LastError.get(); }

int launchjit::setLastLaunchError(Error E) {
  LastError = std::make_unique<ErrorDetail>(takeDetail(std::move(E)));
  return static_cast<int>(LastError->Code);
}

std::string launchjit::describeSlot(const Signature &S, uint32_t Slot) {
  const NamedSlot &N = S.slots()[Slot];
  std::string Text = "argument " + std::to_string(Slot);
  return N.Name.empty() ? Text + " (" + N.Spelling + ")"
                        : Text + " ('" + N.Name + "', " + N.Spelling + ")";
}

int launchjit::failArgument(const StubKernel *K, StubError Code, uint32_t Slot,
                            uint64_t Value) {
  const KernelState &S = *static_cast<const KernelData *>(K)->State;
  ErrorDetail D;
  D.Code = Status::ArgumentValue;
  D.Argument = Slot;
  D.Message = S.describe() + ", " + describeSlot(S.Sig, Slot);
  switch (Code) {
  case StubError::NotBool:
    D.Message +=
        ": the byte is " + std::to_string(Value) + "; allowed are 0 and 1";
    break;
  case StubError::NullArgument:
    D.Message += ": its address is null; pass where its " +
                 std::to_string(S.Sig.slots()[Slot].Where.Size) + " bytes are";
    break;
  }
  return setLastLaunchError(makeError(std::move(D)));
}

static int checkAddresses(const StubKernel *K, const void *const *Arguments,
                          size_t Count) {
  for (size_t I = 0; I != Count; ++I)
    if (LLVM_UNLIKELY(!Arguments[I]))
      return failArgument(K, StubError::NullArgument, I, 0);
  return 0;
}

StubTable &launchjit::stubTable() {
  // Constant, so that no guard can be left half-way by a fork.
  static StubTable Table = {launchPacked, failArgument, checkAddresses, memcpy};
  return Table;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

SmallVector<void *, 64> launchjit::parameterPointers(const KernelState &S,
                                                     const void *Buffer) {
  SmallVector<void *, 64> Pointers;
  for (const Slot &P : S.Sig.abi().allSlots())
    Pointers.push_back(const_cast<char *>(static_cast<const char *>(Buffer)) +
                       P.Offset);
  return Pointers;
}

static CUresult callDriver(const Driver &Drv, const KernelData &D,
                           CUfunction Function, const int64_t Grid[3],
                           void *Stream, void *Buffer) {
  CUlaunchConfig Config;
  Config.gridDimX = static_cast<unsigned>(Grid[0]);
  Config.gridDimY = static_cast<unsigned>(Grid[1]);
  Config.gridDimZ = static_cast<unsigned>(Grid[2]);
  Config.blockDimX = D.Block[0];
  Config.blockDimY = D.Block[1];
  Config.blockDimZ = D.Block[2];
  Config.sharedMemBytes = D.Shared;
  Config.hStream = static_cast<CUstream>(Stream);
  Config.attrs = D.Attributes;
  Config.numAttrs = D.NumAttributes;
  if (LLVM_UNLIKELY(D.ByPointers)) {
    SmallVector<void *, 64> Pointers = parameterPointers(*D.State, Buffer);
    return Drv.cuLaunchKernelEx(&Config, Function, Pointers.data(), nullptr);
  }
  size_t Size = D.ParameterBytes;
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, Buffer,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
  return Drv.cuLaunchKernelEx(&Config, Function, nullptr,
                              Size ? Extra : nullptr);
}

static Error gridError(const KernelState &S, unsigned Axis, int64_t Value,
                       uint64_t Limit) {
  return makeError(Status::ArgumentValue,
                   S.describe() + ": grid " + Twine("xyz"[Axis]) + " is " +
                       Twine(Value) + "; allowed is 0 to " + Twine(Limit) +
                       ", and nothing was launched");
}

Error launchjit::checkGrid(const KernelState &S, const PreparedFunction &P,
                           const int64_t Grid[3]) {
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    if (Grid[Axis] < 0 || Grid[Axis] > static_cast<int64_t>(P.GridLimit[Axis]))
      return gridError(S, Axis, Grid[Axis], P.GridLimit[Axis]);
  return Error::success();
}

Expected<CUcontext> launchjit::launchContext(const KernelData &D,
                                             CUstream Stream) {
  const KernelState &S = *D.State;
  const Driver &Drv = *S.driver();
  CUcontext Context = nullptr;
  if (!isSpecialStream(Stream)) {
    if (Error E = Drv.check(Drv.cuStreamGetCtx(Stream, &Context),
                            S.describe() + " was not launched: cannot tell the "
                                           "context of its stream"))
      return std::move(E);
    return Context;
  }
  if (Error E = Drv.check(Drv.cuCtxGetCurrent(&Context),
                          "cannot tell the current context"))
    return std::move(E);
  return Context ? Context : D.Owner->primary(Drv);
}

/// Gets memory for the hidden parameters and puts its addresses into the
/// buffer.
static Error fillScratch(const KernelData &D, const int64_t Grid[3],
                         void *Stream, void *Buffer) {
  const KernelOptions &O = D.Owner->options();
  const ABI &A = D.State->Sig.abi();
  unsigned Next = 0;
  for (unsigned I = 0; I != 2; ++I) {
    if (!(A.scratch() & (I == 0 ? ScratchGlobal : ScratchProfile)))
      continue;
    const Slot &Where = A.scratchSlots()[Next++];
    uint64_t Size = O.ScratchSize[I];
    if (!Size)
      continue;
    bool Overflow = false;
    for (unsigned Axis = 0; Axis != 3; ++Axis) {
      bool Here = false;
      Size = SaturatingMultiply(Size, static_cast<uint64_t>(Grid[Axis]), &Here);
      Overflow |= Here;
    }
    const char *Which = I == 0 ? "global" : "profile";
    if (Overflow)
      return makeError(Status::ArgumentValue,
                       D.State->describe() + ": the " + Which +
                           " scratch memory of this grid is more than 2^64 "
                           "bytes");
    uint64_t Address =
        O.Scratch(O.ScratchContext, *Which, Size, O.ScratchAlign[I],
                  static_cast<CUstream>(Stream));
    if (!Address)
      return makeError(Status::ArgumentValue,
                       D.State->describe() + ": the host's allocator gave no " +
                           Which + " scratch memory (" + Twine(Size) +
                           " bytes)");
    std::memcpy(static_cast<char *>(Buffer) + Where.Offset, &Address,
                sizeof Address);
  }
  return Error::success();
}

/// The device that the arguments are on, and the parameter that told; negative
/// where nothing told.
struct Whence {
  int Device;
  uint32_t Slot;
};

/// The launch with everything that is rare: the driver is not open, the
/// function not loaded in the context, no context current, the grid too large,
/// the driver refused. \p Refusal is what it said to a first try, if there was
/// one; that is repeated only where this finds something to mend. \p Pushed
/// says that the first try had its context current.
static Error launchSlowly(const KernelData &D, const int64_t Grid[3],
                          void *Stream, void *Buffer, const Whence &From,
                          CUresult Refusal, bool Pushed) {
  KernelState &S = *D.State;
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    if (Grid[Axis] < 0)
      return gridError(S, Axis, Grid[Axis], Axis ? 65535 : INT32_MAX);
  if (Error E = S.bindDriver())
    return E;
  const Driver &Drv = *S.driver();

  auto Found = launchContext(D, static_cast<CUstream>(Stream));
  if (!Found)
    return Found.takeError();
  CUcontext Context = *Found;
  auto Guard = ContextGuard::enter(Drv, Context);
  if (!Guard)
    return Guard.takeError();

  const PreparedFunction *P = S.find(Context);
  CUdevice Device;
  // A context may have got the address of one that is gone.
  bool Stale =
      P && Drv.cuCtxGetDevice(&Device) == CUDA_SUCCESS && Device != P->Device;
  if (!P || Stale) {
    auto Prepared = S.prepare(Context, Stale);
    if (!Prepared)
      return Prepared.takeError();
    P = *Prepared;
  }
  if (Error E = checkGrid(S, *P, Grid))
    return E;
  if (From.Device >= 0 && From.Device != P->Device)
    return makeError(
        {Status::ArgumentValue,
         S.describe() + ", " + describeSlot(S.Sig, From.Slot) +
             ": it is on device " + std::to_string(From.Device) +
             ", but the launch's stream is on device " +
             std::to_string(P->Device) +
             "; launch on a stream of its device, or allow peer access",
         From.Slot});
  if (D.HasScratch)
    if (Error E = fillScratch(D, Grid, Stream, Buffer))
      return E;
  CUresult R = Refusal;
  if (R == CUDA_SUCCESS || Stale || (Guard->changedContext() && !Pushed))
    R = callDriver(Drv, D, P->Function, Grid, Stream, Buffer);
  return R == CUDA_SUCCESS ? Error::success() : diagnoseLaunch(D, *P, R, Grid);
}

LLVM_ATTRIBUTE_ALWAYS_INLINE
static int launch(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                  void *Stream, void *Buffer, Whence From) {
  const auto &D = *static_cast<const KernelData *>(K);
  if (X == 0 || Y == 0 || Z == 0)
    return 0;
  const KernelState &S = *D.State;
  const Driver &Drv = *S.driver();
  const int64_t Grid[3] = {X, Y, Z};
  CUcontext Context = nullptr;
  CUresult R =
      isSpecialStream(Stream)
          ? Drv.cuCtxGetCurrent(&Context)
          : Drv.cuStreamGetCtx(static_cast<CUstream>(Stream), &Context);
  // Where no context is current, the primary one is made so for the call.
  const bool Push = R == CUDA_SUCCESS && !Context;
  if (Push)
    Context = D.Owner->knownPrimary();
  const PreparedFunction *P = S.find(Context);
  CUresult Refusal = CUDA_SUCCESS;
  // A negative dimension is a large one here.
  if (LLVM_LIKELY(R == CUDA_SUCCESS && P && Context && !D.HasScratch &&
                  static_cast<uint64_t>(X) <= P->GridLimit[0] &&
                  static_cast<uint64_t>(Y) <= P->GridLimit[1] &&
                  static_cast<uint64_t>(Z) <= P->GridLimit[2] &&
                  (From.Device < 0 || From.Device == P->Device))) {
    if (LLVM_LIKELY(!Push || Drv.cuCtxPushCurrent(Context) == CUDA_SUCCESS)) {
      Refusal = callDriver(Drv, D, P->Function, Grid, Stream, Buffer);
      if (Push)
        Drv.cuCtxPopCurrent(&Context);
      if (LLVM_LIKELY(Refusal == CUDA_SUCCESS))
        return 0;
    }
  }
  if (Error E = launchSlowly(D, Grid, Stream, Buffer, From, Refusal, Push))
    return setLastLaunchError(std::move(E));
  return 0;
}

int launchjit::launchPacked(const StubKernel *K, int64_t X, int64_t Y,
                            int64_t Z, void *Stream, void *Buffer) {
  return launch(K, X, Y, Z, Stream, Buffer, {-1, 0});
}

int launchjit::launchFromDevice(const StubKernel *K, int64_t X, int64_t Y,
                                int64_t Z, void *Stream, void *Buffer,
                                int Device, uint32_t Slot) {
  auto Launch = [&] {
    return launch(K, X, Y, Z, Stream, Buffer, {Device, Slot});
  };
  if (LLVM_UNLIKELY(__atomic_load_n(&K->Table->Launch, __ATOMIC_RELAXED) !=
                    launchPacked))
    return observeLaunch(K, X, Y, Z, Stream, Buffer, Launch);
  return Launch();
}

int launchjit::launchUnobserved(const StubKernel *K, int64_t X, int64_t Y,
                                int64_t Z, void *Stream, void *Buffer,
                                int Device, uint32_t Slot) {
  return launch(K, X, Y, Z, Stream, Buffer, {Device, Slot});
}
