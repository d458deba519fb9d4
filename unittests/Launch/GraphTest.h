//===- GraphTest.h - What tests of captures and graphs share --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_LAUNCH_GRAPHTEST_H
#define LAUNCHJIT_UNITTESTS_LAUNCH_GRAPHTEST_H

#include "TestHelpers.h"
#include "launchjit/Launch/BoundLaunch.h"

namespace launchjit::launchtest {

/// Has a stream of the current context to be captured.
class GraphTest : public RecordingTest {
protected:
  void SetUp() override {
    RecordingTest::SetUp();
    ASSERT_EQ(D.cuStreamCreate(&Stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    for (CUgraphExec E : Execs)
      EXPECT_EQ(D.cuGraphExecDestroy(E), CUDA_SUCCESS);
    for (CUgraph G : Graphs)
      EXPECT_EQ(D.cuGraphDestroy(G), CUDA_SUCCESS);
    EXPECT_EQ(D.cuStreamDestroy(Stream), CUDA_SUCCESS);
    RecordingTest::TearDown();
  }

  void begin(CUstreamCaptureMode Mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_EQ(D.cuStreamBeginCapture(Stream, Mode), CUDA_SUCCESS);
  }
  /// Instantiates what was captured; null and a failed test where it is broken.
  CUgraphExec end() {
    CUgraph G = nullptr;
    CUgraphExec E = nullptr;
    EXPECT_EQ(D.cuStreamEndCapture(Stream, &G), CUDA_SUCCESS);
    EXPECT_EQ(D.cuGraphInstantiateWithFlags(&E, G, 0), CUDA_SUCCESS);
    Graphs.push_back(G);
    Execs.push_back(E);
    return E;
  }
  /// What one launch of the graph launches.
  std::vector<RecordedLaunch> run(CUgraphExec E) {
    takeRecordedLaunches();
    EXPECT_EQ(D.cuGraphLaunch(E, Stream), CUDA_SUCCESS);
    return takeRecordedLaunches();
  }

  static BoundLaunchRef bind(const KernelRef &K, std::vector<Value> Values,
                             CUstream S = nullptr) {
    return valueOf(BoundLaunch::create(K->data(), {1, 1, 1}, S, Values));
  }

  const Driver &D = recording();
  CUstream Stream = nullptr;

private:
  std::vector<CUgraph> Graphs;
  std::vector<CUgraphExec> Execs;
};

} // namespace launchjit::launchtest

#endif // LAUNCHJIT_UNITTESTS_LAUNCH_GRAPHTEST_H
