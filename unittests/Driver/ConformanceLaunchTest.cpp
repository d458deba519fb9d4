//===- ConformanceLaunchTest.cpp - Which launches the drivers refuse ------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverFixture.h"

using namespace llvm;
using namespace launchjit;

namespace {

using Dims = std::array<unsigned, 3>;

CUlaunchAttribute attributeOf(int Id) {
  CUlaunchAttribute A = {};
  A.id = CUlaunchAttributeID(Id);
  return A;
}

CUlaunchAttribute cluster(unsigned X, unsigned Y = 1, unsigned Z = 1) {
  CUlaunchAttribute A = attributeOf(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  A.value.clusterDim = {X, Y, Z};
  return A;
}

CUlaunchAttribute preferredCluster(unsigned X) {
  CUlaunchAttribute A =
      attributeOf(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
  A.value.preferredClusterDim = {X, 1, 1};
  return A;
}

CUlaunchAttribute cooperative(int On) {
  CUlaunchAttribute A = attributeOf(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  A.value.cooperative = On;
  return A;
}

class ConformanceLaunch : public ConformanceLibrary {
protected:
  void SetUp() override {
    ConformanceLibrary::SetUp();
    if (HasFatalFailure())
      return;
    ASSERT_EQ(D->cuMemAlloc(&Memory, 1 << 20), CUDA_SUCCESS);
    ASSERT_EQ(D->cuMemsetD8(Memory, 0, 1 << 20), CUDA_SUCCESS);
    Axpy = get("axpy");
    Nothing = get("nothing");
  }

  void TearDown() override {
    if (Memory)
      D->cuMemFree(Memory);
    ConformanceLibrary::TearDown();
  }

  CUfunction get(const char *Name) {
    CUkernel K = nullptr;
    CUfunction F = nullptr;
    EXPECT_EQ(D->cuLibraryGetKernel(&K, L, Name), CUDA_SUCCESS);
    EXPECT_EQ(D->cuKernelGetFunction(&F, K), CUDA_SUCCESS);
    return F;
  }

  /// Launches with a buffer of \p Size bytes that has Memory wherever one of
  /// our kernels wants a pointer.
  CUresult launch(CUfunction F, Dims Grid, Dims Block, size_t Size,
                  std::vector<CUlaunchAttribute> Attributes = {},
                  unsigned Shared = 0, CUstream Stream = nullptr) {
    CUlaunchConfig C = {Grid[0],
                        Grid[1],
                        Grid[2],
                        Block[0],
                        Block[1],
                        Block[2],
                        Shared,
                        Stream,
                        Attributes.data(),
                        unsigned(Attributes.size())};
    std::vector<char> Buffer(8192);
    for (size_t Place : {0, 8, 32, 5000})
      memcpy(&Buffer[Place], &Memory, sizeof Memory);
    void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, Buffer.data(),
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
    CUresult Result = D->cuLaunchKernelEx(&C, F, nullptr, Extra);
    EXPECT_EQ(D->cuCtxSynchronize(), CUDA_SUCCESS);
    return Result;
  }

  CUdeviceptr Memory = 0;
  CUfunction Axpy = nullptr, Nothing = nullptr;
};
LJ_CONFORMANCE(ConformanceLaunch);

TEST_P(ConformanceLaunch, Dimensions) {
  struct {
    Dims Grid, Block;
    CUresult Result;
  } Cases[] = {
      {{0, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 0, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 0}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{0x80000000u, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 65535, 1}, {1, 1, 1}, CUDA_SUCCESS},
      {{1, 65536, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 65535}, {1, 1, 1}, CUDA_SUCCESS},
      {{1, 1, 65536}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 1}, {0, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 1}, {1, 0, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 1}, {1, 1, 0}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 1}, {1024, 1, 1}, CUDA_SUCCESS},
      {{1, 1, 1}, {1025, 1, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 1}, {1, 1024, 1}, CUDA_SUCCESS},
      {{1, 1, 1}, {1, 1, 64}, CUDA_SUCCESS},
      {{1, 1, 1}, {1, 1, 65}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 1}, {32, 33, 1}, CUDA_ERROR_INVALID_VALUE},
      {{1, 1, 1}, {65536, 65536, 1}, CUDA_ERROR_INVALID_VALUE},
  };
  for (const auto &C : Cases)
    EXPECT_EQ(launch(Nothing, C.Grid, C.Block, 0), C.Result)
        << testing::PrintToString(C.Grid) << testing::PrintToString(C.Block);
}

TEST_P(ConformanceLaunch, ThreadsOfABlock) {
  CUfunction Bounded = get("bounded"), Heavy = get("heavy");
  EXPECT_EQ(launch(Bounded, {1, 1, 1}, {64, 2, 1}, 8), CUDA_SUCCESS);
  EXPECT_EQ(launch(Bounded, {1, 1, 1}, {129, 1, 1}, 8),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(Heavy, {1, 1, 1}, {896, 1, 1}, 8), CUDA_SUCCESS);
  EXPECT_EQ(launch(Heavy, {1, 1, 1}, {897, 1, 1}, 8),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(launch(Heavy, {1, 1, 1}, {1024, 1, 1}, 8),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CUfunction Required = get("required");
  EXPECT_EQ(launch(Required, {1, 1, 1}, {64, 2, 1}, 8), CUDA_SUCCESS);
  EXPECT_EQ(launch(Required, {1, 1, 1}, {128, 1, 1}, 8),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(Required, {1, 1, 1}, {64, 1, 1}, 8),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_P(ConformanceLaunch, SharedMemory) {
  CUfunction Bounded = get("bounded");
  auto With = [&](CUfunction F, unsigned Shared) {
    return launch(F, {1, 1, 1}, {1, 1, 1}, F == Bounded ? 8 : 0, {}, Shared);
  };
  constexpr auto Limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(With(Nothing, 49152), CUDA_SUCCESS);
  EXPECT_EQ(With(Nothing, 49153), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(With(Bounded, 48128), CUDA_SUCCESS);
  EXPECT_EQ(With(Bounded, 48129), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(With(Nothing, 300000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuFuncSetAttribute(Nothing, Limit, 100000), CUDA_SUCCESS);
  EXPECT_EQ(With(Nothing, 100000), CUDA_SUCCESS);
  EXPECT_EQ(With(Nothing, 100001), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuFuncSetAttribute(Nothing, Limit, 10), CUDA_SUCCESS);
  EXPECT_EQ(With(Nothing, 11), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(ConformanceLaunch, Clusters) {
  constexpr CUresult Refused = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  auto With = [&](Dims Grid, std::vector<CUlaunchAttribute> Attributes) {
    return launch(Nothing, Grid, {32, 1, 1}, 0, std::move(Attributes));
  };
  for (auto [Size, Result] : {std::pair(1u, CUDA_SUCCESS),
                              {2u, CUDA_SUCCESS},
                              {3u, CUDA_SUCCESS},
                              {8u, CUDA_SUCCESS},
                              {9u, Refused},
                              {16u, Refused},
                              {17u, Refused}})
    EXPECT_EQ(With({Size, 1, 1}, {cluster(Size)}), Result) << Size;
  EXPECT_EQ(With({1, 1, 1}, {cluster(0, 1, 1)}), Refused);
  EXPECT_EQ(With({1, 1, 1}, {cluster(0, 0, 0)}), CUDA_SUCCESS);
  EXPECT_EQ(With({3, 1, 1}, {cluster(2)}), Refused);
  EXPECT_EQ(With({4, 4, 1}, {cluster(2, 2, 2)}), Refused);
  EXPECT_EQ(With({2, 2, 2}, {cluster(2, 2, 2)}), CUDA_SUCCESS);
  EXPECT_EQ(With({4, 4, 4}, {cluster(4, 4, 1)}), Refused);
  EXPECT_EQ(With({4, 1, 1}, {cluster(2), cluster(4)}), CUDA_SUCCESS);

  EXPECT_EQ(With({4, 1, 1}, {preferredCluster(4)}), Refused);
  EXPECT_EQ(With({4, 1, 1}, {preferredCluster(4), cluster(2)}), CUDA_SUCCESS);
  EXPECT_EQ(With({12, 1, 1}, {preferredCluster(4), cluster(3)}), Refused);

  EXPECT_EQ(
      D->cuFuncSetAttribute(
          Nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
      CUDA_SUCCESS);
  EXPECT_EQ(With({16, 1, 1}, {cluster(16)}), CUDA_SUCCESS);
  EXPECT_EQ(With({12, 1, 1}, {cluster(12)}), CUDA_SUCCESS);
  EXPECT_EQ(With({17, 1, 1}, {cluster(17)}), Refused);
  EXPECT_EQ(With({32, 1, 1}, {cluster(32)}), Refused);
}

TEST_P(ConformanceLaunch, ClustersThatAKernelRequires) {
  constexpr CUresult Refused = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  CUfunction Clustered = get("clustered"), Required = get("required");
  auto With = [&](unsigned Grid, std::vector<CUlaunchAttribute> Attributes) {
    return launch(Clustered, {Grid, 1, 1}, {32, 1, 1}, 8,
                  std::move(Attributes));
  };
  EXPECT_EQ(With(2, {}), CUDA_SUCCESS);
  EXPECT_EQ(With(3, {}), Refused);
  EXPECT_EQ(With(1, {}), Refused);
  EXPECT_EQ(With(4, {cluster(4)}), Refused);
  EXPECT_EQ(With(4, {cluster(2)}), CUDA_SUCCESS);
  EXPECT_EQ(With(4, {cluster(1)}), Refused);
  EXPECT_EQ(With(4, {cluster(0, 0, 0)}), CUDA_SUCCESS);
  // Its grid counts clusters.
  for (unsigned Grid : {1, 2, 3})
    EXPECT_EQ(launch(Required, {Grid, 1, 1}, {64, 2, 1}, 8), CUDA_SUCCESS);
  EXPECT_EQ(launch(Required, {1, 1, 1}, {64, 2, 1}, 8, {cluster(2)}),
            CUDA_SUCCESS);
}

TEST_P(ConformanceLaunch, Cooperative) {
  auto With = [&](unsigned Grid, unsigned Block, int On) {
    return launch(Nothing, {Grid, 1, 1}, {Block, 1, 1}, 0, {cooperative(On)});
  };
  EXPECT_EQ(With(264, 1024, 1), CUDA_SUCCESS);
  EXPECT_EQ(With(265, 1024, 1), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(With(265, 1024, 0), CUDA_SUCCESS);
  EXPECT_EQ(With(4224, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(With(4225, 1, 1), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_P(ConformanceLaunch, AttributesWithoutAValue) {
  for (int Id = 0; Id != 40; ++Id) {
    if (Id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
      continue;
    CUresult Want = CUDA_ERROR_INVALID_VALUE;
    if (Id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
        Id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      Want = CUDA_ERROR_INVALID_HANDLE;
    else if (Id != CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY &&
             (Id <= CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ||
              Id == 16))
      Want = CUDA_SUCCESS;
    EXPECT_EQ(launch(Nothing, {2, 1, 1}, {32, 1, 1}, 0, {attributeOf(Id)}),
              Want)
        << Id;
  }
  EXPECT_EQ(launch(Nothing, {2, 1, 1}, {32, 1, 1}, 0, {attributeOf(-1)}),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_P(ConformanceLaunch, AttributesWithAValue) {
  CUstream S;
  ASSERT_EQ(D->cuStreamCreate(&S, 0), CUDA_SUCCESS);
  CUlaunchAttribute A;
  auto Run = [&] {
    return launch(Nothing, {2, 1, 1}, {32, 1, 1}, 0, {A}, 0, S);
  };
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  for (int Priority : {-6, 0, 5}) {
    A.value.priority = Priority;
    EXPECT_EQ(Run(), CUDA_SUCCESS) << Priority;
  }
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
  for (int Domain = 0; Domain != 4; ++Domain) {
    A.value.memSyncDomain = CUlaunchMemSyncDomain(Domain);
    EXPECT_EQ(Run(), Domain < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  }
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
  for (unsigned char Domain : {3, 4}) {
    A.value.memSyncDomainMap.default_ = Domain;
    EXPECT_EQ(Run(), Domain < 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  }
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  for (int Policy : {2, 3}) {
    A.value.clusterSchedulingPolicyPreference =
        CUclusterSchedulingPolicy(Policy);
    EXPECT_EQ(Run(), Policy < 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  }
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  for (unsigned Percent : {0u, 100u, 101u, unsigned(-1)}) {
    A.value.sharedMemCarveout = Percent;
    EXPECT_EQ(Run(), Percent <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  }
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  A.value.programmaticStreamSerializationAllowed = 1;
  EXPECT_EQ(Run(), CUDA_SUCCESS);
  CUevent Timed, Untimed;
  ASSERT_EQ(D->cuEventCreate(&Timed, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuEventCreate(&Untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
  A.value.launchCompletionEvent.event = Untimed;
  EXPECT_EQ(Run(), CUDA_SUCCESS);
  A.value.launchCompletionEvent.event = Timed;
  EXPECT_EQ(Run(), CUDA_ERROR_NOT_SUPPORTED);
  A = attributeOf(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
  A.value.programmaticEvent.event = Untimed;
  EXPECT_EQ(Run(), CUDA_SUCCESS);
  A.value.programmaticEvent.event = Timed;
  EXPECT_EQ(Run(), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(D->cuEventDestroy(Timed), CUDA_SUCCESS);
  EXPECT_EQ(D->cuEventDestroy(Untimed), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamDestroy(S), CUDA_SUCCESS);
}

/// A buffer that is too short is left out: a device reads behind it.
TEST_P(ConformanceLaunch, ParameterBuffers) {
  auto With = [&](CUfunction F, size_t Size) {
    return launch(F, {1, 1, 1}, {1, 1, 1}, Size);
  };
  EXPECT_EQ(With(Axpy, 20), CUDA_SUCCESS);
  EXPECT_EQ(With(Axpy, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(With(Axpy, 21), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(With(Axpy, 24), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(With(Nothing, 0), CUDA_SUCCESS);
  EXPECT_EQ(With(Nothing, 1), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(With(get("mixed"), 40), CUDA_SUCCESS);
  EXPECT_EQ(With(get("mixed"), 41), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(With(get("large"), 5008), CUDA_SUCCESS);
}

TEST_P(ConformanceLaunch, WaysToPassParameters) {
  char Buffer[20] = {};
  memcpy(Buffer, &Memory, 8);
  memcpy(Buffer + 8, &Memory, 8);
  void *Pointers[] = {Buffer, Buffer + 8, Buffer + 16};
  size_t Size = sizeof Buffer;
  void *Pointer = CU_LAUNCH_PARAM_BUFFER_POINTER,
       *SizeOf = CU_LAUNCH_PARAM_BUFFER_SIZE, *End = CU_LAUNCH_PARAM_END;
  void *Extra[] = {Pointer, Buffer, SizeOf, &Size, End};
  void *Swapped[] = {SizeOf, &Size, Pointer, Buffer, End};
  void *NoSize[] = {Pointer, Buffer, End};
  void *Neither[] = {End};
  void *Unknown[] = {reinterpret_cast<void *>(9), Buffer, End};
  CUlaunchConfig C = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
  auto Run = [&](CUfunction F, void **P, void **E) {
    return D->cuLaunchKernelEx(&C, F, P, E);
  };
  EXPECT_EQ(Run(Axpy, Pointers, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Run(Axpy, nullptr, Extra), CUDA_SUCCESS);
  EXPECT_EQ(Run(Axpy, nullptr, Swapped), CUDA_SUCCESS);
  EXPECT_EQ(Run(Axpy, Pointers, Extra), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(Axpy, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(Axpy, nullptr, NoSize), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(Axpy, nullptr, Neither), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(Axpy, nullptr, Unknown), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(Nothing, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Run(Nothing, Pointers, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Run(Nothing, nullptr, Neither), CUDA_SUCCESS);
  EXPECT_EQ(D->cuLaunchKernelEx(nullptr, Axpy, Pointers, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(nullptr, Pointers, nullptr), CUDA_ERROR_INVALID_HANDLE);
  C.numAttrs = 1;
  EXPECT_EQ(Run(Nothing, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_P(ConformanceLaunch, Contexts) {
  CUcontext Other;
  CUstream Own, Foreign;
  CUkernel K;
  ASSERT_EQ(D->cuStreamCreate(&Own, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuLibraryGetKernel(&K, L, "axpy"), CUDA_SUCCESS);
  auto Run = [&](CUfunction F, CUstream Stream) {
    return launch(F, {1, 1, 1}, {1, 1, 1}, 20, {}, 0, Stream);
  };
  auto *Kernel = reinterpret_cast<CUfunction>(K);
  ASSERT_EQ(D->cuCtxCreate(&Other, nullptr, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuStreamCreate(&Foreign, 0), CUDA_SUCCESS);
  EXPECT_EQ(Run(Axpy, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Run(Axpy, Foreign), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Run(Axpy, Own), CUDA_SUCCESS);
  EXPECT_EQ(Run(Kernel, Own), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamSynchronize(Own), CUDA_SUCCESS);
  CUfunction InOther;
  EXPECT_EQ(D->cuKernelGetFunction(&InOther, K), CUDA_SUCCESS);
  EXPECT_NE(InOther, Axpy);
  // Kernels take a handle of the other kind in launches only.
  int Value;
  const char *Name;
  EXPECT_EQ(D->cuFuncGetAttribute(&Value, CU_FUNC_ATTRIBUTE_NUM_REGS, Kernel),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(D->cuFuncGetName(&Name, Kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(
      D->cuOccupancyMaxActiveBlocksPerMultiprocessor(&Value, Kernel, 128, 0),
      CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxDestroy(Other), CUDA_SUCCESS);

  // Without any context current, a stream's own still serves.
  CUcontext C;
  ASSERT_EQ(D->cuCtxPopCurrent(&C), CUDA_SUCCESS);
  CUlaunchConfig Config = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
  CUkernel Nothing;
  ASSERT_EQ(D->cuLibraryGetKernel(&Nothing, L, "nothing"), CUDA_SUCCESS);
  auto *N = reinterpret_cast<CUfunction>(Nothing);
  EXPECT_EQ(D->cuLaunchKernelEx(&Config, N, nullptr, nullptr),
            CUDA_ERROR_INVALID_CONTEXT);
  Config.hStream = Own;
  EXPECT_EQ(D->cuLaunchKernelEx(&Config, N, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
  EXPECT_EQ(C, nullptr);
  EXPECT_EQ(D->cuCtxPushCurrent(Primary), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamDestroy(Own), CUDA_SUCCESS);
}

} // namespace
