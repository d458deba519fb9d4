//===- BoundLaunch.cpp - A launch with its arguments bound ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/BoundLaunch.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Launch/Values.h"
#include "launchjit/Support/Fork.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace launchjit;

BoundLaunchRef BoundLaunch::createPacked(const KernelData &D, GridSize Grid,
                                         CUstream Stream,
                                         const void *Parameters) {
  BoundLaunchRef B(new BoundLaunch);
  B->Owner = KernelRef(const_cast<Kernel *>(D.Owner));
  size_t Size = Kernel::storageSize(D, 0);
  B->Storage.resize(divideCeil(Size, sizeof(uint64_t)));
  B->Data = cantFail(Kernel::withOverrides(D, B->Storage.data(), Size, {}));
  B->Grid = Grid;
  B->Stream = Stream;
  B->Buffer.resize(D.ParameterBytes / sizeof(uint64_t) + 1);
  std::memcpy(B->Buffer.data(), Parameters, D.ParameterBytes);
  return B;
}

Expected<BoundLaunchRef> BoundLaunch::create(const KernelData &D, GridSize Grid,
                                             CUstream Stream,
                                             ArrayRef<Value> Values) {
  SmallVector<uint64_t, 64> Parameters;
  if (Error E = packValues(*D.State, Values, Parameters))
    return std::move(E);
  return createPacked(D, Grid, Stream, Parameters.data());
}

Error BoundLaunch::set(size_t Index, const Value &V) {
  const Signature &S = Data->State->Sig;
  ArrayRef<Slot> Slots = S.abi().slots();
  if (Index >= Slots.size())
    return makeError(Status::InvalidArgument,
                     Data->State->describe() + " has " + Twine(Slots.size()) +
                         " arguments, so there is none of index " +
                         Twine(Index));
  if (Error E = storeValue(S, Index, V, parameters() + Slots[Index].Offset))
    return E;
  changed();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Launching, and captures
//===----------------------------------------------------------------------===//

bool launchjit::isCapturing(const Driver &Drv, CUstream Stream) {
  // The legacy stream cannot be captured. Of others the question takes 0.02 us,
  // which a launch that nobody asked to bind does not pay.
  CUstreamCaptureStatus Status;
  return reinterpret_cast<uintptr_t>(Stream) >
             reinterpret_cast<uintptr_t>(CU_STREAM_LEGACY) &&
         Drv.cuStreamIsCapturing &&
         Drv.cuStreamIsCapturing(Stream, &Status) == CUDA_SUCCESS &&
         Status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

int BoundLaunch::launch(CUstream On) {
  if (int Failed = launchFromDevice(Data, Grid[0], Grid[1], Grid[2], On,
                                    Buffer.data(), Device, DeviceSlot))
    return Failed;
  if (!isEmpty() && LLVM_UNLIKELY(isCapturing(*Data->State->driver(), On)))
    rememberNode(On);
  return 0;
}

CUgraphNode launchjit::lastCapturedNode(const Driver &Drv, CUstream Stream,
                                        uint64_t &Id) {
  CUstreamCaptureStatus Capturing;
  cuuint64_t TheId = 0;
  const CUgraphNode *Nodes = nullptr;
  // Without a place for the edges' data, nodes that have some are not told.
  const CUgraphEdgeData *Edges = nullptr;
  size_t NumNodes = 0;
  if (!Drv.cuStreamGetCaptureInfo ||
      Drv.cuStreamGetCaptureInfo(Stream, &Capturing, &TheId, nullptr, &Nodes,
                                 &Edges, &NumNodes) != CUDA_SUCCESS ||
      Capturing != CU_STREAM_CAPTURE_STATUS_ACTIVE || NumNodes != 1)
    return nullptr;
  Id = TheId;
  return Nodes[0];
}

void BoundLaunch::rememberNode(CUstream On) {
  uint64_t Id;
  CUgraphNode Node = lastCapturedNode(*Data->State->driver(), On, Id);
  auto Context = launchContext(*Data, On);
  if (!Context)
    consumeError(Context.takeError());
  if (!Node || !Context)
    return;
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Id != CaptureId)
    Nodes.clear();
  CaptureId = Id;
  Nodes.push_back({Node, *Context});
}

//===----------------------------------------------------------------------===//
// Nodes of graphs
//===----------------------------------------------------------------------===//

Error BoundLaunch::checkNode() const {
  if (!Data->HasScratch)
    return Error::success();
  return makeError(Status::Unsupported,
                   Data->State->describe() +
                       " has scratch memory of each launch's own, which a "
                       "graph's node would use again after it is gone; launch "
                       "it by itself");
}

Error BoundLaunch::update(CUgraphExec Exec) {
  const KernelState &S = *Data->State;
  if (Error E = checkNode())
    return E;
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Nodes.empty())
    return makeError(Status::InvalidArgument,
                     S.describe() +
                         " is in no graph that could be updated; launch it "
                         "while its stream is being captured (CUDA 12.3 or "
                         "later tells its node)");
  for (const CapturedNode &N : Nodes) {
    // Whoever has the graph may have enabled or disabled the node.
    bool Enabled = isEmpty();
    if (Error E = writeNode(Exec, N.Node, N.Context, Enabled))
      return E;
  }
  return Error::success();
}

Error BoundLaunch::writeNode(CUgraphExec Exec, CUgraphNode Node,
                             CUcontext Context, bool &Enabled) const {
  const KernelState &S = *Data->State;
  const Driver &Drv = *S.driver();
  const bool Enable = !isEmpty();
  if (Enable) {
    const PreparedFunction &P = *S.find(Context);
    if (Error E = checkGrid(S, P, Grid.data()))
      return E;
    CUDA_KERNEL_NODE_PARAMS Params = {};
    if (CUkernel K = S.asKernel(P)) {
      Params.kern = K;
      Params.ctx = Context;
    } else {
      Params.func = P.Function;
    }
    Params.gridDimX = static_cast<unsigned>(Grid[0]);
    Params.gridDimY = static_cast<unsigned>(Grid[1]);
    Params.gridDimZ = static_cast<unsigned>(Grid[2]);
    Params.blockDimX = Data->Block[0];
    Params.blockDimY = Data->Block[1];
    Params.blockDimZ = Data->Block[2];
    Params.sharedMemBytes = Data->Shared;
    // A cooperative kernel's node takes no packed buffer.
    SmallVector<void *, 64> Pointers = parameterPointers(S, Buffer.data());
    Params.kernelParams = Pointers.data();
    if (!Drv.cuGraphExecKernelNodeSetParams)
      return Drv.missing("cuGraphExecKernelNodeSetParams", 12000);
    if (CUresult R = Drv.cuGraphExecKernelNodeSetParams(Exec, Node, &Params)) {
      auto Current = ContextGuard::enter(Drv, Context);
      if (!Current)
        return Current.takeError();
      return diagnoseLaunch(*Data, P, R, Grid.data(),
                            "was not written into the graph");
    }
  }
  if (Enabled == Enable)
    return Error::success();
  if (Error E = LJ_CUDA(Drv, cuGraphNodeSetEnabled,
                        "cannot enable or disable the node of " + S.describe(),
                        Exec, Node, Enable))
    return E;
  Enabled = Enable;
  return Error::success();
}
