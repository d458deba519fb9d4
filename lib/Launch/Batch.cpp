//===- Batch.cpp - Bound launches as one CUDA graph -----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph is captured from a stream of our own, not put together node by
// node: so each launch is checked, loaded and reported as any other, and every
// attribute (programmatic serialization, which is an edge, included) means what
// it means in a stream.
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Batch.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Support/Fork.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Compiler.h"
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

Batch::Batch(ArrayRef<BoundLaunchRef> Launches) {
  for (const BoundLaunchRef &L : Launches)
    Items.push_back({L});
}

BatchRef Batch::create(ArrayRef<BoundLaunchRef> Launches) {
  return BatchRef(new Batch(Launches));
}

Batch::~Batch() { destroyGraph(); }

void Batch::destroyGraph() {
  if (MadeBy == getpid()) {
    RelaxedCapture Relaxed(*Drv);
    if (Exec)
      Drv->cuGraphExecDestroy(Exec);
    if (Graph)
      Drv->cuGraphDestroy(Graph);
  }
  Exec = nullptr;
  Graph = nullptr;
}

Error Batch::findDriver() {
  if (Drv)
    return Error::success();
  KernelState &S = *Items.front().Launch->data().State;
  if (Error E = S.bindDriver())
    return E;
  Drv = S.driver();
  return Error::success();
}

/// Sets the driver and the context that all launches have.
Error Batch::findContext() {
  CUcontext First = nullptr;
  for (const auto &[Index, I] : enumerate(Items)) {
    const KernelData &D = I.Launch->data();
    if (Error E = I.Launch->checkNode())
      return E;
    if (Error E = D.State->bindDriver())
      return E;
    Drv = D.State->driver();
    auto C = launchContext(D, I.Launch->stream());
    if (!C)
      return C.takeError();
    if (Index == 0)
      First = *C;
    if (*C != First)
      return makeError(Status::InvalidArgument,
                       "launch " + Twine(Index) + " of the batch, " +
                           D.State->describe() +
                           ", has a stream of another context than launch 0; "
                           "a batch is of one context, so make one for each");
  }
  Context = First;
  return Error::success();
}

/// Launches all into \p Stream, which is being captured.
Error Batch::capture(CUstream Stream) {
  for (Item &I : Items) {
    I.Node = nullptr;
    I.Version = I.Launch->version();
    I.Enabled = true;
    if (I.Launch->isEmpty())
      continue;
    if (I.Launch->capture(Stream))
      return makeError(*lastLaunchError());
    uint64_t Id;
    I.Node = lastCapturedNode(*Drv, Stream, Id);
    if (!I.Node)
      return makeError(Status::Unsupported,
                       "a batch needs a driver of CUDA 12.3 or later, which "
                       "tells the nodes of captured launches");
  }
  return Error::success();
}

Error Batch::build() {
  destroyGraph();
  if (Error E = findContext())
    return E;
  auto Current = ContextGuard::enter(*Drv, Context);
  if (!Current)
    return Current.takeError();
  // Another capture of this thread or process is none of this one's business.
  RelaxedCapture Relaxed(*Drv);
  CUstream Stream = nullptr;
  if (Error E =
          LJ_CUDA(*Drv, cuStreamCreate, "cannot make a stream for a batch",
                  &Stream, CU_STREAM_NON_BLOCKING))
    return E;
  MadeBy = getpid();
  Error E = LJ_CUDA(*Drv, cuStreamBeginCapture, "cannot capture a batch",
                    Stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (!E) {
    E = capture(Stream);
    CUresult R = Drv->cuStreamEndCapture(Stream, &Graph);
    if (!E)
      E = Drv->check(R, "cannot capture a batch");
  }
  Drv->cuStreamDestroy(Stream);
  if (!E) {
    // Otherwise priorities that launches ask for are not heeded.
    bool HasPriority = any_of(Items, [](const Item &I) {
      const KernelData &D = I.Launch->data();
      return any_of(ArrayRef(D.Attributes, D.NumAttributes),
                    [](const CUlaunchAttribute &A) {
                      return attributeId(A) == CU_LAUNCH_ATTRIBUTE_PRIORITY;
                    });
    });
    E = LJ_CUDA(
        *Drv, cuGraphInstantiateWithFlags, "cannot instantiate a batch", &Exec,
        Graph, HasPriority ? CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0);
  }
  if (E)
    destroyGraph();
  return E;
}

/// Brings the nodes up to date.
Error Batch::follow() {
  for (Item &I : Items) {
    if (I.Version == I.Launch->version())
      continue;
    if (!I.Node) {
      if (!I.Launch->isEmpty())
        return build();
    } else if (Error E =
                   I.Launch->writeNode(Exec, I.Node, Context, I.Enabled)) {
      return E;
    }
    I.Version = I.Launch->version();
  }
  return Error::success();
}

Error Batch::launch(CUstream Stream) {
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Items.empty())
    return Error::success();
  if (Error E = findDriver())
    return E;
  // The driver puts no graph into a graph that is being captured (tried: it
  // breaks the capture), so the launches go there one by one.
  if (LLVM_UNLIKELY(isCapturing(*Drv, Stream))) {
    for (Item &I : Items)
      if (!I.Launch->isEmpty() && I.Launch->capture(Stream))
        return makeError(*lastLaunchError());
    return Error::success();
  }
  if (Error E = Exec ? follow() : build())
    return E;
  auto Current = ContextGuard::enter(*Drv, Context);
  if (!Current)
    return Current.takeError();
  return LJ_CUDA(*Drv, cuGraphLaunch, "a batch was not launched", Exec, Stream);
}
