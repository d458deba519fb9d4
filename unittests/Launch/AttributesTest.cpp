//===- AttributesTest.cpp - Launch attributes reach the driver ------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

class AttributesTest : public RecordingTest {
protected:
  void SetUp() override {
    RecordingTest::SetUp();
    ASSERT_EQ(recording().cuEventCreate(&Event, CU_EVENT_DISABLE_TIMING),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(recording().cuEventDestroy(Event), CUDA_SUCCESS);
    RecordingTest::TearDown();
  }

  static ErrorDetail launch(ArrayRef<CUlaunchAttribute> Attributes,
                            const Driver &D = recording()) {
    // What belongs to one launch is given to it, and comes behind the rest.
    KernelOptions O;
    LaunchOverrides Overrides;
    SmallVector<CUlaunchAttribute, 2> Own;
    for (const CUlaunchAttribute &A : Attributes)
      (isPerLaunch(A) ? Own : O.Attributes).push_back(A);
    Overrides.Attributes = Own;
    KernelRef K = makeKernel("", O, "", D);
    std::vector<uint64_t> Storage(Kernel::storageSize(K->data(), Own.size()) /
                                  sizeof(uint64_t));
    const KernelData *Data = cantFail(
        Kernel::withOverrides(K->data(), Storage.data(),
                              Storage.size() * sizeof(uint64_t), Overrides));
    return errorOf(Kernel::launch(*Data, 8, 4, 2, nullptr, {}));
  }

  static bool isPerLaunch(const CUlaunchAttribute &A) {
    uint32_t Id = attributeId(A);
    return Id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
           Id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ||
           Id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  }

  CUevent Event = nullptr;
};

TEST_F(AttributesTest, EveryOneArrivesByteForByte) {
  std::vector<CUlaunchAttribute> All = {
      clusterAttribute(2, 2, 1),
      intAttribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                   CU_CLUSTER_SCHEDULING_POLICY_SPREAD),
      intAttribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1),
      intAttribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1),
      intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -2),
      intAttribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                   CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE),
      intAttribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 75),
      attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION),
      attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP),
      // By its number alone, with bytes that no type describes.
      attribute(16),
      attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT),
      attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT),
  };
  All[7].value.preferredClusterDim = {4, 2, 1};
  All[8].value.memSyncDomainMap.default_ = 1;
  All[8].value.memSyncDomainMap.remote = 3;
  std::memset(All[9].value.pad, 0xA7, sizeof All[9].value.pad);
  All[10].value.programmaticEvent.event = Event;
  All[10].value.programmaticEvent.triggerAtBlockStart = 1;
  All[11].value.launchCompletionEvent.event = Event;

  ErrorDetail D = launch(All);
  ASSERT_EQ(D.Code, Status::Success) << D.Message;
  RecordedLaunch L = onlyLaunch();
  ASSERT_EQ(L.Attributes.size(), All.size());
  for (unsigned I = 0; I != All.size(); ++I) {
    EXPECT_EQ(L.Attributes[I].Id, All[I].id);
    EXPECT_EQ(bytesOf(L.Attributes[I].Value), bytesOf(All[I].value)) << I;
  }
  // Each alone as well; a preferred cluster only makes sense with a cluster.
  for (unsigned I = 0; I != All.size(); ++I) {
    if (I == 7)
      continue;
    D = launch(All[I]);
    EXPECT_EQ(D.Code, Status::Success) << I << ": " << D.Message;
    EXPECT_EQ(onlyLaunch().Attributes.size(), 1u);
  }
}

TEST_F(AttributesTest, WhatBelongsToOneLaunchIsNoOption) {
  for (unsigned Id : {7u, 12u, 13u}) {
    KernelOptions O;
    O.Attributes.push_back(attribute(Id));
    auto K = makeKernel("", {})->withOptions(O);
    ASSERT_FALSE(bool(K)) << Id;
    EXPECT_THAT(takeDetail(K.takeError()).Message,
                testing::HasSubstr("belongs to one launch"));
  }
}

TEST_F(AttributesTest, AnIdThatTheDriverDoesNotKnowIsItsError) {
  for (unsigned Id : {15u, 1000u}) {
    ErrorDetail D = launch(attribute(Id));
    EXPECT_EQ(D.Code, Status::Cuda);
    EXPECT_EQ(D.Cuda, CUDA_ERROR_INVALID_VALUE);
    EXPECT_THAT(D.Message, testing::StartsWith("kernel 'k' was not launched: "
                                               "CUDA_ERROR_INVALID_VALUE"));
    EXPECT_EQ(countLaunches(), 0u);
  }
}

TEST_F(AttributesTest, AnEventThatCannotServeIsTheDriversError) {
  CUlaunchAttribute A = attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
  A.value.programmaticEvent.event = reinterpret_cast<CUevent>(0x777770);
  EXPECT_EQ(launch(A).Cuda, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(countLaunches(), 0u);
}

/// What the driver is really called with.
CUlaunchConfig LastConfig;
unsigned NumCalls;

TEST_F(AttributesTest, NoneSetCostsNothing) {
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuLaunchKernelEx = [](const CUlaunchConfig *C, CUfunction F, void **P,
                            void **E) {
      LastConfig = *C;
      ++NumCalls;
      return recording().cuLaunchKernelEx(C, F, P, E);
    };
    return T;
  }();
  const Driver &D = openTable(Table);
  NumCalls = 0;
  EXPECT_EQ(launch({}, D).Code, Status::Success);
  EXPECT_EQ(NumCalls, 1u);
  EXPECT_EQ(LastConfig.numAttrs, 0u);
  EXPECT_EQ(launch(intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, 0), D).Code,
            Status::Success);
  EXPECT_EQ(NumCalls, 2u);
  EXPECT_EQ(LastConfig.numAttrs, 1u);
}

// The handle of a device-updatable node belongs to one launch: it is in the
// storage of that launch's overrides, and the kernel stays what it was.
TEST_F(AttributesTest, AHandleComesBackInTheStorage) {
  KernelRef K = makeKernel("");
  CUlaunchAttribute A =
      attribute(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
  A.value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  LaunchOverrides O;
  O.Attributes = A;
  CUgraphDeviceNode Nodes[2];
  for (CUgraphDeviceNode &Node : Nodes) {
    alignas(8) char Storage[512];
    const KernelData *D =
        valueOf(Kernel::withOverrides(K->data(), Storage, sizeof Storage, O));
    ASSERT_EQ(D->Attributes[0].value.deviceUpdatableKernelNode.devNode,
              nullptr);
    ASSERT_FALSE(bool(Kernel::launch(*D, 1, 1, 1, nullptr, {})));
    ASSERT_EQ(D->NumAttributes, 1u);
    Node = D->Attributes[0].value.deviceUpdatableKernelNode.devNode;
    EXPECT_NE(Node, nullptr);
  }
  EXPECT_NE(Nodes[0], Nodes[1]);
  EXPECT_EQ(A.value.deviceUpdatableKernelNode.devNode, nullptr);
  EXPECT_EQ(K->data().NumAttributes, 0u);
  EXPECT_EQ(countLaunches(), 2u);
}

} // namespace
