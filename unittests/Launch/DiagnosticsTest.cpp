//===- DiagnosticsTest.cpp - Why the driver refused a launch --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

KernelOptions block(uint32_t X, uint32_t Y, uint32_t Z) {
  KernelOptions O;
  O.Block[0] = X;
  O.Block[1] = Y;
  O.Block[2] = Z;
  return O;
}

class DiagnosticsTest : public RecordingTest,
                        public testing::WithParamInterface<bool> {
protected:
  /// With the library API or, as old drivers have it, the module API.
  static const Driver &driver() {
    static const DriverTable Old = [] {
      DriverTable T = recording();
      T.cuLibraryLoadData = nullptr;
      T.cuKernelGetAttribute = nullptr;
      T.cuKernelGetFunction = nullptr;
      return T;
    }();
    static const Driver &OldDriver = openTable(Old);
    return GetParam() ? recording() : OldDriver;
  }

  /// The driver refuses with \p Result, and the message is about \p Why; the
  /// second time as well.
  static void expectRefusal(const KernelOptions &O, std::array<int64_t, 3> Grid,
                            CUresult Result, StringRef Why,
                            StringRef Tuning = "", CUstream Stream = nullptr) {
    SCOPED_TRACE(Why.str());
    KernelRef K = makeKernel("", O, Tuning, driver());
    std::string Expected = "kernel 'k' was not launched: ";
    if (!Why.empty())
      Expected += Why.str() + ": ";
    Expected += Driver::errorName(Result).str() + " (";
    for (unsigned Again = 0; Again != 2; ++Again) {
      ErrorDetail D = errorOf(K->launch(Grid[0], Grid[1], Grid[2], Stream, {}));
      EXPECT_EQ(D.Code, Status::Cuda);
      EXPECT_EQ(D.Cuda, Result);
      EXPECT_THAT(D.Message, testing::StartsWith(Expected));
      EXPECT_EQ(countLaunches(), 0u);
    }
  }
  static void expectLaunch(const KernelOptions &O, std::array<int64_t, 3> Grid,
                           StringRef Tuning = "") {
    KernelRef K = makeKernel("", O, Tuning, driver());
    EXPECT_EQ(
        errorOf(K->launch(Grid[0], Grid[1], Grid[2], nullptr, {})).Message,
        "no error");
    EXPECT_EQ(countLaunches(), 1u);
  }
};

TEST_P(DiagnosticsTest, Blocks) {
  constexpr CUresult Invalid = CUDA_ERROR_INVALID_VALUE;
  expectLaunch(block(1024, 1, 1), {1, 1, 1});
  expectRefusal(block(1025, 1, 1), {1, 1, 1}, Invalid,
                "block x is 1025; the device allows 1024");
  expectRefusal(block(1, 1025, 1), {1, 1, 1}, Invalid,
                "block y is 1025; the device allows 1024");
  expectLaunch(block(1, 16, 64), {1, 1, 1});
  expectRefusal(block(1, 1, 65), {1, 1, 1}, Invalid,
                "block z is 65; the device allows 64");
  expectRefusal(block(41, 25, 1), {1, 1, 1}, Invalid,
                "the block has 1025 threads; the device allows 1024");
  // Modulo 2^32 that is 0.
  expectRefusal(block(1024, 1024, 64), {1, 1, 1}, Invalid,
                "the block has 67108864 threads; the device allows 1024");
}

TEST_P(DiagnosticsTest, TheKernelsOwnBounds) {
  expectLaunch(block(256, 1, 1), {1, 1, 1}, ".maxntid 64, 4, 1");
  expectRefusal(block(257, 1, 1), {1, 1, 1}, CUDA_ERROR_INVALID_VALUE,
                "the block has 257 threads; this kernel allows 256, with 32 "
                "registers a thread and its launch bounds",
                ".maxntid 64, 4, 1");
  expectLaunch(block(32, 2, 1), {1, 1, 1}, ".reqntid 32, 2");
  expectRefusal(block(64, 1, 1), {1, 1, 1}, CUDA_ERROR_INVALID_VALUE,
                "the block is (64, 1, 1); this kernel requires (32, 2, 1)",
                ".reqntid 32, 2");
}

TEST_P(DiagnosticsTest, SharedMemory) {
  KernelOptions O;
  O.Shared = 232448;
  expectLaunch(O, {1, 1, 1});
  for (uint32_t Shared : {232449u, UINT32_MAX}) {
    O.Shared = Shared;
    expectRefusal(O, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE,
                  "the block wants " + std::to_string(Shared) +
                      " bytes of dynamic shared memory beside 0 static ones; "
                      "the device allows 232448 together");
  }
}

TEST_P(DiagnosticsTest, Clusters) {
  constexpr CUresult Invalid = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  auto Cluster = [](unsigned X, unsigned Y, unsigned Z) {
    KernelOptions O;
    O.Attributes = {clusterAttribute(X, Y, Z)};
    return O;
  };
  expectLaunch(Cluster(2, 1, 4), {4, 1, 8});
  expectRefusal(Cluster(2, 1, 4), {4, 1, 9}, Invalid,
                "cluster z is 4, which does not divide grid z 9");
  expectRefusal(Cluster(3, 1, 1), {4, 1, 1}, Invalid,
                "cluster x is 3, which does not divide grid x 4");
  expectRefusal(Cluster(2, 0, 1), {4, 1, 1}, Invalid,
                "cluster y is 0, which does not divide grid y 1");
  expectRefusal(Cluster(9, 1, 1), {9, 1, 1}, Invalid,
                "the cluster has 9 blocks; 8 are allowed unless the kernel has "
                "the non-portable cluster option");
  expectLaunch(Cluster(0, 0, 0), {5, 1, 1}); // none
  KernelOptions Large = Cluster(16, 1, 1);
  Large.NonPortableCluster = true;
  expectLaunch(Large, {16, 1, 1});
  Large = Cluster(17, 1, 1);
  Large.NonPortableCluster = true;
  expectRefusal(Large, {17, 1, 1}, Invalid,
                "the cluster has 17 blocks; the largest that hardware has is "
                "16");
}

TEST_P(DiagnosticsTest, ClustersThatTheKernelRequires) {
  constexpr CUresult Invalid = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  constexpr char Tuning[] = ".reqnctapercluster 2, 2";
  expectLaunch({}, {4, 4, 1}, Tuning);
  expectRefusal({}, {4, 4, 1}, Invalid,
                "cluster x is 0, which does not divide grid x 4",
                ".reqnctapercluster 0, 2");
  expectRefusal({}, {4, 5, 1}, Invalid,
                "cluster y is 2, which does not divide grid y 5", Tuning);
  KernelOptions O;
  O.Attributes = {clusterAttribute(4, 1, 1)};
  expectRefusal(O, {4, 4, 1}, Invalid,
                "the cluster is (4, 1, 1); this kernel requires (2, 2, 1)",
                Tuning);
}

TEST_P(DiagnosticsTest, PreferredClusters) {
  constexpr CUresult Invalid = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  KernelOptions O;
  O.Attributes = {clusterAttribute(2, 1, 1),
                  attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION)};
  O.Attributes[1].value.preferredClusterDim = {4, 1, 1};
  expectLaunch(O, {8, 1, 1});
  expectRefusal(O, {6, 1, 1}, Invalid,
                "preferred cluster x is 4, which does not divide grid x 6");
  O.Attributes[1].value.preferredClusterDim = {3, 1, 1};
  expectRefusal(O, {6, 1, 1}, Invalid,
                "preferred cluster x is 3, which is no multiple of cluster x "
                "2");
}

TEST_P(DiagnosticsTest, CooperativeGrids) {
  KernelOptions O = block(1024, 1, 1);
  O.Attributes = {intAttribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1)};
  expectLaunch(O, {264, 1, 1});
  OwnContext B(1);
  for (CUstream Stream : {CUstream(nullptr), B.makeStream()})
    expectRefusal(O, {53, 5, 1}, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                  "a cooperative grid must be resident at once: it has 265 "
                  "blocks, and 2 on each of 132 multiprocessors make 264",
                  "", Stream);
  // The kernel may not be resident even once.
  O.Shared = 232448;
  expectRefusal(O, {133, 1, 1}, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                "a cooperative grid must be resident at once: it has 133 "
                "blocks, and 1 on each of 132 multiprocessors make 132");
}

TEST_P(DiagnosticsTest, WhatHasNoExplanationIsToldAsItIs) {
  failRecordedLaunches(CUDA_ERROR_ILLEGAL_ADDRESS, 2);
  expectRefusal({}, {1, 1, 1}, CUDA_ERROR_ILLEGAL_ADDRESS, "");
  KernelOptions O;
  O.Attributes = {attribute(99)};
  expectRefusal(O, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE, "");
}

INSTANTIATE_TEST_SUITE_P(Both, DiagnosticsTest, testing::Values(true, false),
                         [](const testing::TestParamInfo<bool> &I) {
                           return I.param ? "LibraryAPI" : "ModuleAPI";
                         });

class MuteDriverTest : public RecordingTest {};

// The second look may meet a driver that does not answer.
TEST_F(MuteDriverTest, ADriverThatTellsNothingMoreIsStillReported) {
  static bool Mute;
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuDeviceGetAttribute = [](int *V, CUdevice_attribute A, CUdevice D) {
      return Mute ? CUDA_ERROR_UNKNOWN
                  : recording().cuDeviceGetAttribute(V, A, D);
    };
    T.cuKernelGetAttribute = [](int *V, CUfunction_attribute A, CUkernel K,
                                CUdevice D) {
      return Mute ? CUDA_ERROR_UNKNOWN
                  : recording().cuKernelGetAttribute(V, A, K, D);
    };
    T.cuOccupancyMaxActiveBlocksPerMultiprocessor = nullptr;
    T.cuGetErrorString = nullptr;
    return T;
  }();
  KernelOptions O = block(2000, 1, 1);
  O.Attributes = {intAttribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1)};
  KernelRef K = makeKernel("", O, "", openTable(Table));
  ASSERT_FALSE(bool(K->load(0)));
  Mute = true;
  EXPECT_EQ(errorOf(K->launch(1, 1, 1, nullptr, {})).Message,
            "kernel 'k' was not launched: CUDA_ERROR_INVALID_VALUE (1)");
}

} // namespace
