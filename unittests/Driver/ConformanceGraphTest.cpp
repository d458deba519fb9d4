//===- ConformanceGraphTest.cpp - Captures and graphs of the drivers ------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverFixture.h"
#include <thread>

using namespace llvm;
using namespace launchjit;

namespace {

class ConformanceGraph : public ConformanceLibrary {
protected:
  void SetUp() override {
    ConformanceLibrary::SetUp();
    if (HasFatalFailure())
      return;
    ASSERT_EQ(D->cuLibraryGetKernel(&K, L, "nothing"), CUDA_SUCCESS);
    ASSERT_EQ(D->cuStreamCreate(&S, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    // Loading is not what these tests are about.
    ASSERT_EQ(launch(S), CUDA_SUCCESS);
    ASSERT_EQ(D->cuStreamSynchronize(S), CUDA_SUCCESS);
    takeRecordedLaunches();
  }

  void TearDown() override {
    if (S)
      D->cuStreamDestroy(S);
    ConformanceLibrary::TearDown();
  }

  CUresult launch(CUstream Into, unsigned Grid = 1) {
    CUlaunchConfig C = {Grid, 1, 1, 1, 1, 1, 0, Into, nullptr, 0};
    return D->cuLaunchKernelEx(&C, reinterpret_cast<CUfunction>(K), nullptr,
                               nullptr);
  }
  CUgraphNode lastNode(CUstream Of) {
    CUstreamCaptureStatus Status;
    const CUgraphNode *Nodes = nullptr;
    const CUgraphEdgeData *Edges = nullptr;
    size_t N = 0;
    EXPECT_EQ(D->cuStreamGetCaptureInfo(Of, &Status, nullptr, nullptr, &Nodes,
                                        &Edges, &N),
              CUDA_SUCCESS);
    EXPECT_EQ(Status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    return N == 1 ? Nodes[0] : nullptr;
  }
  CUstreamCaptureStatus status(CUstream Of) {
    CUstreamCaptureStatus Status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(D->cuStreamIsCapturing(Of, &Status), CUDA_SUCCESS);
    return Status;
  }
  /// Ends a capture that must have been broken.
  void endBroken() {
    EXPECT_EQ(status(S), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CUgraph G = reinterpret_cast<CUgraph>(1);
    EXPECT_EQ(D->cuStreamEndCapture(S, &G),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(G, nullptr);
    EXPECT_EQ(status(S), CU_STREAM_CAPTURE_STATUS_NONE);
  }

  CUkernel K = nullptr;
  CUstream S = nullptr;
};
LJ_CONFORMANCE(ConformanceGraph);

TEST_P(ConformanceGraph, ALaunchBecomesANode) {
  EXPECT_EQ(status(S), CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  EXPECT_EQ(lastNode(S), nullptr);
  CUcontext C;
  EXPECT_EQ(D->cuStreamGetCtx(S, &C), CUDA_SUCCESS);
  EXPECT_EQ(launch(S), CUDA_SUCCESS);
  CUgraphNode First = lastNode(S);
  EXPECT_NE(First, nullptr);
  EXPECT_EQ(launch(S), CUDA_SUCCESS);
  CUgraphNode Second = lastNode(S);
  EXPECT_NE(Second, First);
  CUgraph G = nullptr;
  CUgraphExec E = nullptr;
  ASSERT_EQ(D->cuStreamEndCapture(S, &G), CUDA_SUCCESS);
  ASSERT_EQ(D->cuGraphInstantiateWithFlags(&E, G, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphLaunch(E, S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphLaunch(E, nullptr), CUDA_SUCCESS);

  CUDA_KERNEL_NODE_PARAMS P = {};
  P.kern = K;
  P.ctx = Primary;
  P.gridDimX = 5;
  P.gridDimY = P.gridDimZ = P.blockDimX = P.blockDimY = P.blockDimZ = 1;
  EXPECT_EQ(D->cuGraphExecKernelNodeSetParams(E, Second, &P), CUDA_SUCCESS);
  P.ctx = nullptr; // the current one
  EXPECT_EQ(D->cuGraphExecKernelNodeSetParams(E, Second, &P), CUDA_SUCCESS);
  P.gridDimX = 0;
  EXPECT_EQ(D->cuGraphExecKernelNodeSetParams(E, Second, &P),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuGraphNodeSetEnabled(E, First, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphLaunch(E, S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphNodeSetEnabled(E, First, 1), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamSynchronize(S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphExecDestroy(E), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphDestroy(G), CUDA_SUCCESS);
}

TEST_P(ConformanceGraph, NoGraphIsLaunchedIntoACapture) {
  CUgraph Inner = nullptr, Outer = nullptr;
  CUgraphExec E = nullptr;
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(launch(S), CUDA_SUCCESS);
  ASSERT_EQ(D->cuStreamEndCapture(S, &Inner), CUDA_SUCCESS);
  ASSERT_EQ(D->cuGraphInstantiateWithFlags(&E, Inner, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphLaunch(E, S), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(D->cuStreamEndCapture(S, &Outer),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(D->cuGraphLaunch(E, S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamSynchronize(S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphExecDestroy(E), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphDestroy(Inner), CUDA_SUCCESS);
}

TEST_P(ConformanceGraph, ACooperativeNodeTakesNoBuffer) {
  CUkernel WithParameters = nullptr;
  ASSERT_EQ(D->cuLibraryGetKernel(&WithParameters, L, "axpy"), CUDA_SUCCESS);
  CUlaunchAttribute Cooperative = {};
  Cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  Cooperative.value.cooperative = 1;
  CUlaunchConfig C = {1, 1, 1, 1, 1, 1, 0, S, &Cooperative, 1};
  // x, y, a and n, which is 0: nothing is read or written.
  uint64_t Parameters[8] = {};
  void *Pointers[] = {Parameters, Parameters, Parameters, Parameters};
  size_t Size = 0;
  for (size_t I = 0, Offset, Bytes;
       D->cuKernelGetParamInfo(WithParameters, I, &Offset, &Bytes) ==
       CUDA_SUCCESS;
       ++I)
    Size = Offset + Bytes;
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, Parameters,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
  auto Function = reinterpret_cast<CUfunction>(WithParameters);
  EXPECT_EQ(D->cuLaunchKernelEx(&C, Function, nullptr, Extra), CUDA_SUCCESS);
  for (bool ByPointers : {true, false}) {
    ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_SUCCESS);
    EXPECT_EQ(D->cuLaunchKernelEx(&C, Function, ByPointers ? Pointers : nullptr,
                                  ByPointers ? nullptr : Extra),
              ByPointers ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (!ByPointers) {
      endBroken();
      break;
    }
    CUgraph G = nullptr;
    EXPECT_EQ(D->cuStreamEndCapture(S, &G), CUDA_SUCCESS);
    EXPECT_EQ(D->cuGraphDestroy(G), CUDA_SUCCESS);
  }
}

TEST_P(ConformanceGraph, AnEmptyGraph) {
  CUgraph G = nullptr;
  CUgraphExec E = nullptr;
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  ASSERT_EQ(D->cuStreamEndCapture(S, &G), CUDA_SUCCESS);
  ASSERT_EQ(D->cuGraphInstantiateWithFlags(&E, G, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphLaunch(E, S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphExecDestroy(E), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphDestroy(G), CUDA_SUCCESS);
}

TEST_P(ConformanceGraph, TheLegacyStreamIsNotCaptured) {
  for (CUstream Legacy : {CUstream(nullptr), CU_STREAM_LEGACY})
    EXPECT_EQ(D->cuStreamBeginCapture(Legacy, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_P(ConformanceGraph, TheLegacyStreamWaitsForACapture) {
  CUstream Blocking;
  ASSERT_EQ(D->cuStreamCreate(&Blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  std::swap(S, Blocking);
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  CUstreamCaptureStatus Status;
  EXPECT_EQ(D->cuStreamIsCapturing(nullptr, &Status),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(S), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(launch(nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  endBroken();
  EXPECT_EQ(D->cuStreamDestroy(Blocking), CUDA_SUCCESS);
}

TEST_P(ConformanceGraph, WhatACaptureCannotSeeBreaksIt) {
  for (auto Mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    ASSERT_EQ(D->cuStreamBeginCapture(S, Mode), CUDA_SUCCESS);
    EXPECT_EQ(D->cuLibraryUnload(L), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(launch(S), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    endBroken();
    ASSERT_EQ(D->cuStreamBeginCapture(S, Mode), CUDA_SUCCESS);
    EXPECT_EQ(D->cuStreamSynchronize(S), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    endBroken();
  }
}

TEST_P(ConformanceGraph, ARelaxedThreadMayUnload) {
  CUlibrary Other;
  ASSERT_EQ(loadLibrary(&Other, Bytes), CUDA_SUCCESS);
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  CUstreamCaptureMode Mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_EQ(D->cuThreadExchangeStreamCaptureMode(&Mode), CUDA_SUCCESS);
  EXPECT_EQ(D->cuLibraryUnload(Other), CUDA_SUCCESS);
  ASSERT_EQ(D->cuThreadExchangeStreamCaptureMode(&Mode), CUDA_SUCCESS);
  CUgraph G = nullptr;
  EXPECT_EQ(D->cuStreamEndCapture(S, &G), CUDA_SUCCESS);
  EXPECT_EQ(D->cuGraphDestroy(G), CUDA_SUCCESS);
}

TEST_P(ConformanceGraph, ThreadsAndCaptures) {
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  CUgraph G = nullptr;
  std::thread([&] {
    CUlibrary Other;
    EXPECT_EQ(D->cuCtxPushCurrent(Primary), CUDA_SUCCESS);
    EXPECT_EQ(loadLibrary(&Other, Bytes), CUDA_SUCCESS);
    EXPECT_EQ(D->cuLibraryUnload(Other), CUDA_SUCCESS);
    EXPECT_EQ(D->cuStreamEndCapture(S, &G),
              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  D->cuStreamEndCapture(S, &G);
  if (G)
    D->cuGraphDestroy(G);
}

} // namespace
