//===- RecordingGraphs.cpp - Stream capture and graphs of kernels ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph is what one stream was given, in order: events that would join
// another stream to a capture do not.
//
//===----------------------------------------------------------------------===//

#include "RecordingEntries.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

/// The stream as one that can be captured: the legacy stream gives null.
static CUresult findStream(State &S, CUstream H, Stream *&Out) {
  CUcontext C;
  if (CUresult R = S.contextOf(H, C))
    return R;
  Out = S.Streams.find(H);
  return Out ? CUDA_SUCCESS : S.useDefaultStream(C, /*Break=*/false);
}

/// What \p H captures, if anything, and its status.
static CUresult findCapture(State &S, CUstream H, CUstreamCaptureStatus *Status,
                            const Capture *&Out) {
  if (!Status)
    return CUDA_ERROR_INVALID_VALUE;
  Stream *Found;
  if (CUresult R = findStream(S, H, Found))
    return R;
  Out = Found && Found->Captured ? &*Found->Captured : nullptr;
  *Status = !Out           ? CU_STREAM_CAPTURE_STATUS_NONE
            : Out->Invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

static GraphExec::Node *findNode(State &S, CUgraphExec E, CUgraphNode N) {
  GraphExec *Found = S.Execs.find(E);
  // A node that is gone with its graph is no name any more.
  if (!Found || !S.Nodes.find(N))
    return nullptr;
  auto It = find_if(Found->Nodes, [&](const auto &E) { return E.From == N; });
  return It == Found->Nodes.end() ? nullptr : &*It;
}

LJ_ENTRIES {

  LJ_ENTRY cuStreamBeginCapture(CUstream Stream, CUstreamCaptureMode Mode) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (Mode > CU_STREAM_CAPTURE_MODE_RELAXED)
      return CUDA_ERROR_INVALID_VALUE;
    recording::Stream *Found;
    if (CUresult R = findStream(*S, Stream, Found))
      return R;
    if (!Found)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (Found->Captured)
      return CUDA_ERROR_ILLEGAL_STATE;
    CUgraph G = S->Graphs.add(S->newHandle(), Graph{});
    Found->Captured =
        Capture{G, Mode, S->newHandle(), std::this_thread::get_id()};
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuStreamEndCapture(CUstream Stream, CUgraph * Out) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Out)
      return CUDA_ERROR_INVALID_VALUE;
    recording::Stream *Found;
    if (CUresult R = findStream(*S, Stream, Found))
      return R;
    if (!Found || !Found->Captured)
      return CUDA_ERROR_ILLEGAL_STATE;
    Capture C = *Found->Captured;
    if (C.Mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        C.Begun != std::this_thread::get_id())
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    Found->Captured.reset();
    *Out = C.Invalid ? nullptr : C.Into;
    if (!C.Invalid)
      return CUDA_SUCCESS;
    S->dropGraph(C.Into);
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }

  LJ_ENTRY cuStreamGetCaptureInfo(
      CUstream Stream, CUstreamCaptureStatus * Status, cuuint64_t * Id,
      CUgraph * Graph, const CUgraphNode **Nodes, const CUgraphEdgeData **Edges,
      size_t *NumNodes) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    const Capture *C;
    if (CUresult R = findCapture(*S, Stream, Status, C))
      return R;
    if (Edges && !Nodes)
      return CUDA_ERROR_INVALID_VALUE;
    if (*Status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
      return CUDA_SUCCESS;
    if (Id)
      *Id = C->Id;
    if (Graph)
      *Graph = C->Into;
    if (Nodes)
      *Nodes = &C->Last;
    if (Edges)
      *Edges = nullptr;
    if (NumNodes)
      *NumNodes = C->Last ? 1 : 0;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuStreamIsCapturing(CUstream Stream, CUstreamCaptureStatus * Out) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    const Capture *C;
    return findCapture(*S, Stream, Out, C);
  }

  LJ_ENTRY cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode * Mode) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Mode)
      return CUDA_ERROR_INVALID_VALUE;
    std::swap(*Mode, captureMode());
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuGraphInstantiateWithFlags(CUgraphExec * Out, CUgraph G,
                                       unsigned long long Flags) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Graph *Found = S->Graphs.find(G);
    if (!Out || !Found || Flags >= 16)
      return CUDA_ERROR_INVALID_VALUE;
    GraphExec E;
    for (CUgraphNode N : Found->Nodes)
      E.Nodes.push_back({N, *S->Nodes.find(N), /*Enabled=*/true});
    *Out = S->Execs.add(S->newHandle(), std::move(E));
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuGraphLaunch(CUgraphExec E, CUstream Stream) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    GraphExec *Found = S->Execs.find(E);
    if (!Found)
      return CUDA_ERROR_INVALID_VALUE;
    CUcontext C;
    if (CUresult R = S->contextOf(Stream, C))
      return R;
    if (launchjit::recording::Stream *To = S->Streams.find(Stream);
        To && To->Captured) {
      To->Captured->Invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (S->FailCount) {
      --S->FailCount;
      return S->FailWith;
    }
    GraphNode All = {nullptr, {}};
    for (const GraphExec::Node &N : Found->Nodes)
      if (N.Enabled)
        append_range(All.Launches, N.Work.Launches);
    for (RecordedLaunch &L : All.Launches)
      L.Stream = reinterpret_cast<uint64_t>(Stream);
    return S->enqueue(Stream, C, std::move(All));
  }

  LJ_ENTRY cuGraphExecKernelNodeSetParams(CUgraphExec E, CUgraphNode N,
                                          const CUDA_KERNEL_NODE_PARAMS *P) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    GraphExec::Node *Found = findNode(*S, E, N);
    if (!Found || !Found->Work.Kernel || !P)
      return CUDA_ERROR_INVALID_VALUE;
    RecordedLaunch &L = Found->Work.Launches.front();
    auto C = reinterpret_cast<CUcontext>(L.Context);
    std::vector<CUlaunchAttribute> Attributes;
    bool Cooperative = false;
    for (const RecordedAttribute &A : L.Attributes) {
      CUlaunchAttribute &To = Attributes.emplace_back();
      To.id = A.Id;
      To.value = A.Value;
      Cooperative |=
          A.Id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && A.Value.cooperative;
    }
    CUfunction F = P->func;
    if (!F) {
      CUcontext In = P->ctx;
      if (!In)
        if (CUresult R = S->current(In))
          return R;
      if (In != C || !S->Kernels.find(P->kern))
        return CUDA_ERROR_INVALID_VALUE;
      F = reinterpret_cast<CUfunction>(P->kern);
    }
    if (Cooperative && P->extra)
      return CUDA_ERROR_INVALID_VALUE;
    CUlaunchConfig Config = {
        P->gridDimX,       P->gridDimY,
        P->gridDimZ,       P->blockDimX,
        P->blockDimY,      P->blockDimZ,
        P->sharedMemBytes, reinterpret_cast<CUstream>(L.Stream),
        Attributes.data(), unsigned(Attributes.size())};
    RecordedLaunch Changed;
    if (CUresult R =
            checkLaunch(*S, Config, F, C, P->kernelParams, P->extra, Changed))
      return R;
    Found->Work = GraphNode{F, {std::move(Changed)}};
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuGraphNodeSetEnabled(CUgraphExec E, CUgraphNode N,
                                 unsigned Enabled) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    GraphExec::Node *Found = findNode(*S, E, N);
    if (!Found || !Found->Work.Kernel)
      return CUDA_ERROR_INVALID_VALUE;
    Found->Enabled = Enabled != 0;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuGraphExecDestroy(CUgraphExec E) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    return S->Execs.erase(E) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }

  LJ_ENTRY cuGraphDestroy(CUgraph G) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!S->Graphs.find(G))
      return CUDA_ERROR_INVALID_VALUE;
    S->dropGraph(G);
    return CUDA_SUCCESS;
  }

} // LJ_ENTRIES
