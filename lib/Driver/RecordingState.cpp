//===- RecordingState.cpp - What the recording driver knows ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingState.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

namespace {

struct Global {
  std::mutex Lock;
  bool Configured = false;
  State S;
};

Global &global() {
  static Global *G = new Global;
  return *G;
}

/// How many launches are kept.
constexpr size_t MaxLaunches = 65536;

} // namespace

Locked::Locked() : S(global().S), Guard(global().Lock) {}

ContextStack &recording::contextStack() {
  static thread_local ContextStack Stack;
  return Stack;
}

CUstreamCaptureMode &recording::captureMode() {
  static thread_local CUstreamCaptureMode Mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return Mode;
}

Error recording::configure() {
  Locked S;
  if (global().Configured)
    return Error::success();
  std::string Text = getEnvironment("LAUNCHJIT_RECORDING").value_or("90");
  auto [Arch, Count] = StringRef(Text).split(',');
  unsigned A, N = 1;
  if (Arch.getAsInteger(10, A) || A < 50 || A > 199 ||
      (Arch.size() != Text.size() &&
       (Count.getAsInteger(10, N) || N < 1 || N > 64)))
    return makeError(Status::InvalidArgument,
                     "LAUNCHJIT_RECORDING is '" + Text +
                         "'; it takes an architecture from 50 to 199 and, "
                         "behind a comma, 1 to 64 devices, such as 90,2");
  S->Arch = A;
  S->Devices = int(N);
  S->Primary.resize(N);
  global().Configured = true;
  return Error::success();
}

std::vector<RecordedLaunch> launchjit::takeRecordedLaunches() {
  std::deque<RecordedLaunch> Taken;
  {
    Locked S;
    Taken.swap(S->Launches);
  }
  return {std::make_move_iterator(Taken.begin()),
          std::make_move_iterator(Taken.end())};
}

void launchjit::failRecordedLaunches(CUresult Result, unsigned Count) {
  Locked S;
  S->FailWith = Result;
  S->FailCount = Count;
}

CUresult State::current(CUcontext &Out) {
  CUcontext C = contextStack().top();
  if (!C)
    return CUDA_ERROR_INVALID_CONTEXT;
  Context *Found = Contexts.find(C);
  if (!Found || (Found->Primary && !Found->Uses))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  Out = C;
  return CUDA_SUCCESS;
}

CUresult State::contextOf(CUstream S, CUcontext &Out) {
  if (!S || S == CU_STREAM_LEGACY || S == CU_STREAM_PER_THREAD)
    return current(Out);
  Stream *Found = Streams.find(S);
  if (!Found)
    return CUDA_ERROR_INVALID_HANDLE;
  Out = Found->Owner;
  return CUDA_SUCCESS;
}

void State::destroyContents(CUcontext C) {
  SmallVector<CUmodule, 8> Gone;
  for (const auto &[H, M] : Modules.Map)
    if (M->Owner == C)
      Gone.push_back(H);
  for (CUmodule M : Gone)
    dropModule(M);
  for (const auto &[H, L] : Libraries.Map)
    L->Modules.erase(C);
  Streams.eraseIf([&](CUstream, const Stream &S) { return S.Owner == C; });
  Events.eraseIf([&](CUevent, const Event &E) { return E.Owner == C; });
  for (auto It = Memory.begin(); It != Memory.end();) {
    auto Next = std::next(It);
    if (It->second.Owner == C)
      release(It);
    It = Next;
  }
}

void State::dropGraph(CUgraph G) {
  for (CUgraphNode N : Graphs.find(G)->Nodes)
    Nodes.erase(N);
  Graphs.erase(G);
}

CUresult State::unsafeCall() {
  CUresult Result = CUDA_SUCCESS;
  for (const auto &[H, S] : Streams.Map) {
    if (!S->Captured)
      continue;
    Capture &C = *S->Captured;
    bool Forbids = C.Begun == std::this_thread::get_id()
                       ? captureMode() != CU_STREAM_CAPTURE_MODE_RELAXED &&
                             C.Mode != CU_STREAM_CAPTURE_MODE_RELAXED
                       : captureMode() == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                             C.Mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!Forbids)
      continue;
    C.Invalid = true;
    Result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return Result;
}

CUresult State::useDefaultStream(CUcontext C, bool Break) {
  CUresult Result = CUDA_SUCCESS;
  for (const auto &[H, S] : Streams.Map)
    if (S->Captured && S->Owner == C && !(S->Flags & CU_STREAM_NON_BLOCKING)) {
      S->Captured->Invalid |= Break;
      Result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  return Result;
}

CUresult State::enqueue(CUstream S, CUcontext C, GraphNode Work) {
  Stream *Found = Streams.find(S);
  if (!Found || !Found->Captured) {
    if (!Found)
      if (CUresult R = useDefaultStream(C, /*Break=*/true))
        return R;
    for (RecordedLaunch &L : Work.Launches)
      keep(*this, std::move(L));
    return CUDA_SUCCESS;
  }
  if (Found->Captured->Invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  CUgraphNode N = Nodes.add(newHandle(), std::move(Work));
  Graphs.find(Found->Captured->Into)->Nodes.push_back(N);
  Found->Captured->Last = N;
  return CUDA_SUCCESS;
}

void State::dropModule(CUmodule M) {
  Module *Found = Modules.find(M);
  for (const auto &Entry : Found->Functions)
    Functions.erase(Entry.second);
  for (const auto &Entry : Found->Globals)
    if (auto It = Memory.find(Entry.second); It != Memory.end())
      release(It);
  Modules.erase(M);
}

Settings State::initialSettings(const BinaryKernel &K) const {
  Settings Set;
  Set.MaxDynamicShared =
      std::max(0, DefaultShared - int(K.StaticShared.value_or(0)));
  return Set;
}

CUmodule State::moduleIn(CUlibrary L, CUcontext C) {
  Library *Found = Libraries.find(L);
  CUmodule &M = Found->Modules[C];
  if (!M)
    M = Modules.add(newHandle(),
                    Module{C, Found->Code, /*OfLibrary=*/true, {}, {}});
  return M;
}

CUfunction State::functionOf(CUmodule M, const BinaryKernel &K) {
  Module *In = Modules.find(M);
  CUfunction &F = In->Functions[K.Name];
  if (!F)
    F = Functions.add(newHandle(),
                      Function{In->Owner, M, &K, initialSettings(K)});
  return F;
}

CUfunction State::functionIn(CUkernel K, CUcontext C) {
  Kernel *Found = Kernels.find(K);
  CUmodule M = moduleIn(Found->In, C);
  bool Known = Modules.find(M)->Functions.count(Found->Code->Name);
  CUfunction F = functionOf(M, *Found->Code);
  if (!Known)
    Functions.find(F)->Set = Found->Set[deviceOf(C)];
  return F;
}

CUresult State::globalOf(CUmodule M, StringRef Name, CUdeviceptr *Pointer,
                         size_t *Size) {
  if (!Pointer && !Size)
    return CUDA_ERROR_INVALID_VALUE;
  Module *In = Modules.find(M);
  for (const BinaryVariable &V : In->Code->Binary.Variables) {
    if (V.Name != Name)
      continue;
    CUdeviceptr &P = In->Globals[Name];
    if (!P)
      P = allocate(std::max<size_t>(V.Size, 1), In->Owner);
    if (!P)
      return CUDA_ERROR_OUT_OF_MEMORY;
    if (Pointer)
      *Pointer = P;
    if (Size)
      *Size = V.Size;
    return CUDA_SUCCESS;
  }
  return In->Code->Binary.find(Name) ? CUDA_ERROR_INVALID_VALUE
                                     : CUDA_ERROR_NOT_FOUND;
}

CUdeviceptr State::allocate(size_t Size, CUcontext Owner) {
  // As the driver aligns.
  constexpr size_t Alignment = 512;
  if (Size > DeviceMemory - std::min(DeviceMemory, Allocated))
    return 0;
  // Pages come when they are touched, so that a large one costs nothing.
  std::unique_ptr<void, Free> Bytes(calloc(1, Size + Alignment));
  if (!Bytes)
    return 0;
  CUdeviceptr P =
      alignTo(reinterpret_cast<CUdeviceptr>(Bytes.get()), Alignment);
  Allocated += Size;
  Memory.emplace(P,
                 Allocation{Size, Owner, ++LastAllocation, std::move(Bytes)});
  return P;
}

void State::release(std::map<CUdeviceptr, Allocation>::iterator It) {
  Allocated -= It->second.Size;
  Memory.erase(It);
}

std::pair<const CUdeviceptr, Allocation> *State::allocationAt(CUdeviceptr P) {
  auto It = Memory.upper_bound(P);
  if (It == Memory.begin())
    return nullptr;
  --It;
  return P - It->first < It->second.Size ? &*It : nullptr;
}

void recording::keep(State &S, RecordedLaunch Launch) {
  if (S.Launches.size() == MaxLaunches)
    S.Launches.pop_front();
  S.Launches.push_back(std::move(Launch));
}
