//===- BoundLaunchTest.cpp - Tests of bound launches ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/BoundLaunch.h"
#include "GraphTest.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;
using testing::ElementsAre;

namespace {

class BoundLaunchTest : public GraphTest {
protected:
  /// Captures \p Launches of \p B in a graph, which it instantiates.
  CUgraphExec capture(BoundLaunch &B, unsigned Launches = 1) {
    begin();
    for (unsigned I = 0; I != Launches; ++I)
      EXPECT_EQ(B.launch(Stream), 0) << lastError().Message;
    return end();
  }
};

TEST_F(BoundLaunchTest, RepeatsWhatKernelLaunchDoes) {
  KernelRef K = makeKernel("p: *fp32, s: struct<3,1>, n: i16, f: fp16");
  const char Bytes[] = {1, 2, 3};
  std::vector<Value> Values = {Value::ofPointer(0x1234),
                               Value::ofBytes(Bytes, 3), Value::ofInt(-5),
                               Value::ofFloat(1.5)};
  ASSERT_FALSE(bool(K->launch(3, 2, 1, Stream, Values)));
  RecordedLaunch Expected = onlyLaunch();
  BoundLaunchRef B =
      valueOf(BoundLaunch::create(K->data(), {3, 2, 1}, Stream, Values));
  K.reset();
  for (int I = 0; I != 3; ++I) {
    ASSERT_EQ(B->launch(), 0);
    RecordedLaunch L = onlyLaunch();
    EXPECT_EQ(L.Parameters, Expected.Parameters);
    EXPECT_EQ(L.Grid, Expected.Grid);
    EXPECT_EQ(L.Stream, Expected.Stream);
    EXPECT_EQ(L.Context, Expected.Context);
  }
}

TEST_F(BoundLaunchTest, ChecksWhatItBinds) {
  KernelRef K = makeKernel("on: i1, n: i8");
  ErrorDetail D = errorOf(BoundLaunch::create(
      K->data(), {1, 1, 1}, nullptr, {Value::ofInt(1), Value::ofInt(128)}));
  EXPECT_EQ(D.Code, Status::ArgumentRange);
  EXPECT_EQ(D.Argument, 1);
  EXPECT_EQ(
      errorOf(BoundLaunch::create(K->data(), {1, 1, 1}, nullptr, {})).Message,
      "kernel 'k' takes 2 arguments, but 0 were given");
  EXPECT_EQ(countLaunches(), 0u);
}

TEST_F(BoundLaunchTest, SetChangesOneArgumentOrNothing) {
  BoundLaunchRef B =
      bind(makeKernel("a: i32, b: fp16"), {Value::ofInt(1), Value::ofFloat(1)});
  EXPECT_FALSE(bool(B->set(0, Value::ofInt(-2))));
  EXPECT_EQ(errorOf(B->set(0, Value::ofInt(1ll << 40))).Code,
            Status::ArgumentRange);
  EXPECT_EQ(errorOf(B->set(1, Value::ofFloat(1e6))).Argument, 1);
  EXPECT_EQ(errorOf(B->set(2, Value::ofInt(1))).Message,
            "kernel 'k' has 2 arguments, so there is none of index 2");
  ASSERT_EQ(B->launch(), 0);
  EXPECT_THAT(onlyLaunch().Parameters,
              ElementsAre(bytesOf(-2), bytesOf<uint16_t>(0x3c00)));
}

TEST_F(BoundLaunchTest, TheGridIsCheckedAtEachLaunch) {
  BoundLaunchRef B = bind(makeKernel(""), {});
  B->setGrid({0, 1, 1});
  EXPECT_EQ(B->launch(), 0);
  EXPECT_EQ(countLaunches(), 0u);
  B->setGrid({1, 65536, 1});
  EXPECT_EQ(B->launch(), int(Status::ArgumentValue));
  EXPECT_THAT(lastError().Message, testing::HasSubstr("grid y is 65536"));
  B->setGrid({5, 1, 1});
  EXPECT_EQ(B->launch(), 0);
  EXPECT_THAT(onlyLaunch().Grid, ElementsAre(5, 1, 1));
}

TEST_F(BoundLaunchTest, CopiesOverrides) {
  KernelRef K = makeKernel("");
  BoundLaunchRef B;
  {
    std::vector<uint64_t> Storage(Kernel::storageSize(K->data(), 1) / 8 + 1);
    uint32_t Block[] = {32, 2, 1};
    CUlaunchAttribute A = intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -1);
    LaunchOverrides O;
    O.Block = Block;
    O.Attributes = A;
    const KernelData *D = valueOf(Kernel::withOverrides(
        K->data(), Storage.data(), Storage.size() * 8, O));
    B = valueOf(BoundLaunch::create(*D, {1, 1, 1}, nullptr, {}));
    std::fill(Storage.begin(), Storage.end(), ~uint64_t(0));
  }
  ASSERT_EQ(B->launch(), 0);
  RecordedLaunch L = onlyLaunch();
  EXPECT_THAT(L.Block, ElementsAre(32, 2, 1));
  ASSERT_EQ(L.Attributes.size(), 1u);
  EXPECT_EQ(L.Attributes[0].Value.priority, -1);
}

TEST_F(BoundLaunchTest, AParameterOfALargeAlignment) {
  BoundLaunchRef B = bind(
      makeKernel("a: i8, t: nvTmaDesc<128>"),
      {Value::ofInt(1), Value::ofBytes(std::array<char, 128>{}.data(), 128)});
  CUgraphExec E = capture(*B);
  EXPECT_FALSE(bool(B->set(0, Value::ofInt(2))));
  std::array<char, 128> Map;
  Map.fill(7);
  EXPECT_FALSE(bool(B->set(1, Value::ofBytes(Map.data(), 128))));
  EXPECT_FALSE(bool(B->update(E)));
  EXPECT_THAT(run(E).front().Parameters,
              ElementsAre(bytesOf(char(2)), bytesOf(Map)));
}

//===----------------------------------------------------------------------===//
// Update
//===----------------------------------------------------------------------===//

TEST_F(BoundLaunchTest, UpdateWritesArgumentsAndGridIntoAUsersGraph) {
  KernelOptions O;
  O.Block[0] = 64;
  O.Shared = 100;
  O.Attributes.push_back(clusterAttribute(2, 1, 1));
  BoundLaunchRef B = bind(makeKernel("n: i32", O), {Value::ofInt(1)});
  B->setGrid({2, 1, 1});
  CUgraphExec E = capture(*B);
  EXPECT_EQ(countLaunches(), 0u);
  EXPECT_THAT(run(E).front().Parameters, ElementsAre(bytesOf(1)));

  EXPECT_FALSE(bool(B->set(0, Value::ofInt(2))));
  B->setGrid({8, 3, 1});
  // Only update() writes.
  EXPECT_THAT(run(E).front().Parameters, ElementsAre(bytesOf(1)));
  EXPECT_FALSE(bool(B->update(E)));
  RecordedLaunch L = run(E).front();
  EXPECT_THAT(L.Parameters, ElementsAre(bytesOf(2)));
  EXPECT_THAT(L.Grid, ElementsAre(8, 3, 1));
  EXPECT_THAT(L.Block, ElementsAre(64, 1, 1));
  EXPECT_EQ(L.Shared, 100u);
  ASSERT_EQ(L.Attributes.size(), 1u);
  EXPECT_EQ(L.Attributes[0].Value.clusterDim.x, 2u);
}

TEST_F(BoundLaunchTest, UpdateWritesAllNodesOfTheLastCapture) {
  BoundLaunchRef B = bind(makeKernel("n: i32"), {Value::ofInt(1)});
  CUgraphExec First = capture(*B);
  CUgraphExec Second = capture(*B, 3);
  EXPECT_FALSE(bool(B->set(0, Value::ofInt(2))));
  EXPECT_FALSE(bool(B->update(Second)));
  for (const RecordedLaunch &L : run(Second))
    EXPECT_THAT(L.Parameters, ElementsAre(bytesOf(2)));
  ErrorDetail D = errorOf(B->update(First));
  EXPECT_EQ(D.Cuda, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(D.Message,
              testing::StartsWith("kernel 'k' was not written into the graph"));
  EXPECT_THAT(run(First).front().Parameters, ElementsAre(bytesOf(1)));
}

TEST_F(BoundLaunchTest, UpdateWithAnEmptyGridDisablesTheNode) {
  BoundLaunchRef B = bind(makeKernel("n: i32"), {Value::ofInt(1)});
  CUgraphExec E = capture(*B);
  B->setGrid({0, 1, 1});
  EXPECT_FALSE(bool(B->update(E)));
  EXPECT_EQ(run(E).size(), 0u);
  B->setGrid({3, 1, 1});
  EXPECT_FALSE(bool(B->update(E)));
  EXPECT_THAT(run(E).front().Grid, ElementsAre(3, 1, 1));
}

TEST_F(BoundLaunchTest, UpdateSaysWhatIsWrong) {
  BoundLaunchRef B = bind(makeKernel("n: i32"), {Value::ofInt(1)});
  EXPECT_THAT(errorOf(B->update(nullptr)).Message,
              testing::HasSubstr("while its stream is being captured"));
  // A launch that is none makes no node, whatever the stream was given last.
  begin();
  EXPECT_EQ(bind(makeKernel(""), {})->launch(Stream), 0);
  B->setGrid({0, 1, 1});
  EXPECT_EQ(B->launch(Stream), 0);
  CUgraphExec E = end();
  EXPECT_EQ(errorOf(B->update(E)).Code, Status::InvalidArgument);

  B->setGrid({1, 1, 1});
  E = capture(*B);
  B->setGrid({1, 1, -1});
  EXPECT_THAT(errorOf(B->update(E)).Message,
              testing::HasSubstr("grid z is -1; allowed is 0 to 65535"));
  EXPECT_EQ(run(E).size(), 1u);
}

TEST_F(BoundLaunchTest, ScratchMemoryIsOfEachLaunch) {
  KernelOptions O;
  O.ScratchSize[0] = 16;
  static uint64_t Address;
  Address = 0x1000;
  O.Scratch = [](void *, char, uint64_t Size, uint64_t, CUstream) {
    return Address += Size;
  };
  BoundLaunchRef B = bind(makeKernel(parseScratch("n: i32", ScratchGlobal), O),
                          {Value::ofInt(1)});
  for (uint64_t Expected : {0x1010, 0x1020}) {
    ASSERT_EQ(B->launch(), 0);
    EXPECT_THAT(onlyLaunch().Parameters,
                ElementsAre(bytesOf(1), bytesOf(Expected)));
  }
  CUgraphExec E = capture(*B);
  EXPECT_EQ(errorOf(B->update(E)).Code, Status::Unsupported);
}

TEST_F(BoundLaunchTest, AHostsFunctionInItsContext) {
  ModuleRef M = loadPTX(ptx(parse("n: i32")));
  CUmodule Module;
  CUfunction F;
  ASSERT_EQ(D.cuModuleLoadData(&Module, M->bytes().data()), CUDA_SUCCESS);
  ASSERT_EQ(D.cuModuleGetFunction(&F, Module, "k"), CUDA_SUCCESS);
  BoundLaunchRef B =
      bind(valueOf(Kernel::wrap(F, "mine", parse("n: i32"), {}, &D)),
           {Value::ofInt(1)});
  CUgraphExec E = capture(*B);
  EXPECT_FALSE(bool(B->set(0, Value::ofInt(2))));
  EXPECT_FALSE(bool(B->update(E)));
  EXPECT_THAT(run(E).front().Parameters, ElementsAre(bytesOf(2)));
  D.cuModuleUnload(Module);
}

TEST_F(BoundLaunchTest, OnlyStreamsThatCanBeCapturedAreAsked) {
  static int Asked;
  Asked = 0;
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuStreamIsCapturing = [](CUstream S, CUstreamCaptureStatus *Status) {
      ++Asked;
      return recording().cuStreamIsCapturing(S, Status);
    };
    return T;
  }();
  static const Driver &Counting = openTable(Table);
  BoundLaunchRef B = bind(makeKernel("", {}, "", Counting), {});
  EXPECT_EQ(B->launch(nullptr), 0);
  EXPECT_EQ(B->launch(CU_STREAM_LEGACY), 0);
  EXPECT_EQ(Asked, 0);
  EXPECT_EQ(B->launch(CU_STREAM_PER_THREAD), 0);
  EXPECT_EQ(B->launch(Stream), 0);
  EXPECT_EQ(Asked, 2);
}

} // namespace
