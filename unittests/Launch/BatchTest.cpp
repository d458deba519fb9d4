//===- BatchTest.cpp - Tests of batches of launches -----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Batch.h"
#include "GraphTest.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;
using testing::ElementsAre;

namespace {

class BatchTest : public GraphTest {
protected:
  BoundLaunchRef bindN(int N, CUstream S = nullptr) {
    return bind(makeKernel("n: i32"), {Value::ofInt(N)}, S);
  }
  /// The only parameter of each launch that a launch of \p B recorded.
  static std::vector<int> launched(Batch &B, CUstream S = nullptr) {
    takeRecordedLaunches();
    EXPECT_EQ(errorOf(B.launch(S)).Message, "no error");
    std::vector<int> Result;
    for (const RecordedLaunch &L : takeRecordedLaunches()) {
      int N;
      std::memcpy(&N, L.Parameters.at(0).data(), sizeof N);
      EXPECT_EQ(L.Stream, reinterpret_cast<uint64_t>(S));
      Result.push_back(N);
    }
    return Result;
  }
  static void set(BoundLaunch &B, int N) {
    EXPECT_FALSE(bool(B.set(0, Value::ofInt(N))));
  }
};

TEST_F(BatchTest, LaunchesInOrderAndFollowsWhatIsSet) {
  BoundLaunchRef A = bindN(1), B = bindN(2), C = bindN(3);
  BatchRef All = Batch::create({A, B, A, C});
  EXPECT_THAT(launched(*All), ElementsAre(1, 2, 1, 3));
  EXPECT_THAT(launched(*All, Stream), ElementsAre(1, 2, 1, 3));
  set(*A, 7);
  EXPECT_THAT(launched(*All), ElementsAre(7, 2, 7, 3));
  set(*B, 8);
  set(*C, 9);
  set(*B, 10);
  EXPECT_THAT(launched(*All), ElementsAre(7, 10, 7, 9));
  // A launch of two batches is followed by both.
  BatchRef Other = Batch::create(C);
  EXPECT_THAT(launched(*Other), ElementsAre(9));
  set(*C, 11);
  EXPECT_THAT(launched(*Other), ElementsAre(11));
  EXPECT_THAT(launched(*All), ElementsAre(7, 10, 7, 11));
}

TEST_F(BatchTest, OnlyWhatChangedIsWritten) {
  static unsigned Written, Made;
  Written = Made = 0;
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuGraphExecKernelNodeSetParams = [](CUgraphExec E, CUgraphNode N,
                                          const CUDA_KERNEL_NODE_PARAMS *P) {
      ++Written;
      return recording().cuGraphExecKernelNodeSetParams(E, N, P);
    };
    T.cuGraphInstantiateWithFlags = [](CUgraphExec *E, CUgraph G,
                                       unsigned long long Flags) {
      ++Made;
      return recording().cuGraphInstantiateWithFlags(E, G, Flags);
    };
    return T;
  }();
  static const Driver &Counting = openTable(Table);
  std::vector<BoundLaunchRef> Launches;
  for (int I = 0; I != 100; ++I)
    Launches.push_back(
        bind(makeKernel("n: i32", {}, "", Counting), {Value::ofInt(I)}));
  BatchRef B = Batch::create(Launches);
  EXPECT_EQ(launched(*B).size(), 100u);
  EXPECT_EQ(launched(*B).size(), 100u);
  EXPECT_EQ(Written, 0u);
  set(*Launches[50], -1);
  EXPECT_EQ(launched(*B)[50], -1);
  EXPECT_EQ(launched(*B)[50], -1);
  EXPECT_EQ(Written, 1u);
  EXPECT_EQ(Made, 1u);
}

TEST_F(BatchTest, AnEmptyGridIsSkipped) {
  BoundLaunchRef A = bindN(1), B = bindN(2);
  A->setGrid({0, 1, 1});
  BatchRef All = Batch::create({A, B});
  EXPECT_THAT(launched(*All), ElementsAre(2));
  set(*A, 3);
  EXPECT_THAT(launched(*All), ElementsAre(2));
  A->setGrid({1, 1, 1});
  EXPECT_THAT(launched(*All), ElementsAre(3, 2));
  B->setGrid({1, 0, 1});
  EXPECT_THAT(launched(*All), ElementsAre(3));
  set(*B, 4);
  EXPECT_THAT(launched(*All), ElementsAre(3));
  B->setGrid({1, 2, 1});
  EXPECT_THAT(launched(*All), ElementsAre(3, 4));
  A->setGrid({0, 1, 1});
  B->setGrid({0, 1, 1});
  EXPECT_THAT(launched(*All), ElementsAre());
  EXPECT_THAT(launched(*Batch::create({})), ElementsAre());
}

TEST_F(BatchTest, AttributesAreInTheGraph) {
  KernelOptions O;
  O.Attributes.push_back(
      intAttribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1));
  O.Attributes.push_back(intAttribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1));
  O.Block[1] = 3;
  O.Shared = 8;
  BoundLaunchRef A = bind(makeKernel("n: i32", O), {Value::ofInt(1)});
  BatchRef B = Batch::create(A);
  for (int N : {1, 2}) {
    set(*A, N);
    ASSERT_FALSE(bool(B->launch(nullptr)));
    RecordedLaunch L = onlyLaunch();
    EXPECT_THAT(L.Parameters, ElementsAre(bytesOf(N)));
    EXPECT_EQ(L.Attributes.size(), 2u);
    EXPECT_THAT(L.Block, ElementsAre(1, 3, 1));
    EXPECT_EQ(L.Shared, 8u);
  }
}

TEST_F(BatchTest, APriorityIsHeeded) {
  static unsigned long long Seen;
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuGraphInstantiateWithFlags = [](CUgraphExec *E, CUgraph G,
                                       unsigned long long Flags) {
      Seen = Flags;
      return recording().cuGraphInstantiateWithFlags(E, G, Flags);
    };
    return T;
  }();
  static const Driver &Driver = openTable(Table);
  KernelOptions O;
  EXPECT_FALSE(bool(
      Batch::create(bind(makeKernel("", O, "", Driver), {}))->launch(nullptr)));
  EXPECT_EQ(Seen, 0u);
  O.Attributes.push_back(intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -1));
  EXPECT_FALSE(bool(
      Batch::create(bind(makeKernel("", O, "", Driver), {}))->launch(nullptr)));
  EXPECT_EQ(Seen, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
}

TEST_F(BatchTest, IsOfOneContext) {
  OwnContext Own(1);
  BatchRef Both = Batch::create({bindN(1), bindN(2, Own.makeStream())});
  ErrorDetail Error = errorOf(Both->launch(nullptr));
  EXPECT_EQ(Error.Code, Status::InvalidArgument);
  EXPECT_THAT(Error.Message,
              testing::StartsWith("launch 1 of the batch, kernel 'k', has a "
                                  "stream of another context than launch 0"));
  EXPECT_EQ(countLaunches(), 0u);
  EXPECT_EQ(current(), Primary[0]);

  // The current context does not matter where the streams tell.
  BatchRef Other = Batch::create(bindN(3, Own.makeStream()));
  ASSERT_FALSE(bool(Other->launch(nullptr)));
  RecordedLaunch L = onlyLaunch();
  EXPECT_EQ(L.Device, 1);
  EXPECT_EQ(L.Context, reinterpret_cast<uint64_t>(Own.get()));
  EXPECT_EQ(current(), Primary[0]);
}

TEST_F(BatchTest, WithoutACurrentContextThePrimaryOneServes) {
  ASSERT_EQ(D.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  KernelOptions O;
  O.Device = 1;
  BatchRef B = Batch::create(bind(makeKernel("n: i32", O), {Value::ofInt(1)}));
  for (int I = 0; I != 2; ++I) {
    ASSERT_FALSE(bool(B->launch(nullptr)));
    EXPECT_EQ(onlyLaunch().Device, 1);
    EXPECT_EQ(current(), nullptr);
  }
  ASSERT_EQ(D.cuCtxSetCurrent(Primary[0]), CUDA_SUCCESS);
}

TEST_F(BatchTest, WhatIsWrongIsToldAndCanBeMended) {
  BoundLaunchRef A = bindN(1), B = bindN(2);
  B->setGrid({1, 1, 70000});
  BatchRef All = Batch::create({A, B});
  EXPECT_THAT(errorOf(All->launch(nullptr)).Message,
              testing::HasSubstr("grid z is 70000; allowed is 0 to 65535"));
  B->setGrid({1, 1, 1});
  EXPECT_THAT(launched(*All), ElementsAre(1, 2));
  B->setGrid({-1, 1, 1});
  EXPECT_THAT(errorOf(All->launch(nullptr)).Message,
              testing::HasSubstr("grid x is -1"));
  EXPECT_EQ(countLaunches(), 0u);
  B->setGrid({2, 1, 1});
  EXPECT_THAT(launched(*All), ElementsAre(1, 2));
  failRecordedLaunches(CUDA_ERROR_ILLEGAL_ADDRESS, 1);
  EXPECT_EQ(errorOf(All->launch(nullptr)).Cuda, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(launched(*All), ElementsAre(1, 2));

  KernelOptions O;
  O.ScratchSize[0] = 1;
  O.Scratch = [](void *, char, uint64_t, uint64_t, CUstream) -> uint64_t {
    return 1;
  };
  BoundLaunchRef Scratch = bind(
      makeKernel(parseScratch("n: i32", ScratchGlobal), O), {Value::ofInt(1)});
  EXPECT_EQ(errorOf(Batch::create(Scratch)->launch(nullptr)).Code,
            Status::Unsupported);
}

TEST_F(BatchTest, LeavesNothingBehind) {
  static int Alive;
  Alive = 0;
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuStreamCreate = [](CUstream *S, unsigned Flags) {
      ++Alive;
      return recording().cuStreamCreate(S, Flags);
    };
    T.cuStreamDestroy = [](CUstream S) {
      --Alive;
      return recording().cuStreamDestroy(S);
    };
    T.cuStreamEndCapture = [](CUstream S, CUgraph *G) {
      CUresult R = recording().cuStreamEndCapture(S, G);
      Alive += *G != nullptr;
      return R;
    };
    T.cuGraphDestroy = [](CUgraph G) {
      --Alive;
      return recording().cuGraphDestroy(G);
    };
    T.cuGraphInstantiateWithFlags = [](CUgraphExec *E, CUgraph G,
                                       unsigned long long Flags) {
      ++Alive;
      return recording().cuGraphInstantiateWithFlags(E, G, Flags);
    };
    T.cuGraphExecDestroy = [](CUgraphExec E) {
      --Alive;
      return recording().cuGraphExecDestroy(E);
    };
    return T;
  }();
  static const Driver &Counting = openTable(Table);
  BoundLaunchRef A =
      bind(makeKernel("n: i32", {}, "", Counting), {Value::ofInt(1)});
  BatchRef B = Batch::create(A);
  EXPECT_EQ(launched(*B).size(), 1u);
  EXPECT_EQ(Alive, 2);
  B.reset();
  EXPECT_EQ(Alive, 0);
  A->setGrid({-1, 1, 1});
  EXPECT_EQ(errorOf(Batch::create(A)->launch(nullptr)).Code,
            Status::ArgumentValue);
  EXPECT_EQ(Alive, 0);
}

//===----------------------------------------------------------------------===//
// While somebody captures
//===----------------------------------------------------------------------===//

TEST_F(BatchTest, BecomesPartOfAUsersGraph) {
  BoundLaunchRef A = bindN(1), B = bindN(2);
  BatchRef All = Batch::create({A, B});
  // Even by its first launch, with first loads.
  begin();
  EXPECT_FALSE(bool(All->launch(Stream)));
  CUgraphExec E = end();
  EXPECT_EQ(countLaunches(), 0u);
  EXPECT_EQ(run(E).size(), 2u);
  // The user's graph has nodes of its own.
  set(*A, 5);
  EXPECT_THAT(launched(*All, Stream), ElementsAre(5, 2));
  EXPECT_THAT(run(E).front().Parameters, ElementsAre(bytesOf(1)));
}

TEST_F(BatchTest, EndsWhileAnotherStreamIsCaptured) {
  BatchRef All = Batch::create({bindN(1)});
  EXPECT_THAT(launched(*All), ElementsAre(1));
  begin();
  EXPECT_EQ(bindN(2)->launch(Stream), 0);
  All.reset(); // and its kernel, and that one's module
  EXPECT_EQ(run(end()).size(), 1u);
}

TEST_F(BatchTest, ModulesMayBeUnloadedDuringACapture) {
  KernelRef K = makeKernel("n: i32");
  ASSERT_FALSE(bool(K->launch(1, 1, 1, nullptr, Value::ofInt(1))));
  begin();
  EXPECT_EQ(bindN(2)->launch(Stream), 0);
  K.reset();
  EXPECT_EQ(run(end()).size(), 1u);
  // That it is the exchange which makes it so.
  CUlibrary L;
  ModuleRef M = loadPTX(ptx(parse("")));
  ASSERT_EQ(D.cuLibraryLoadData(&L, M->bytes().data(), nullptr, nullptr, 0,
                                nullptr, nullptr, 0),
            CUDA_SUCCESS);
  begin();
  EXPECT_EQ(D.cuLibraryUnload(L), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph G;
  EXPECT_EQ(D.cuStreamEndCapture(Stream, &G),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(D.cuLibraryUnload(L), CUDA_SUCCESS);
}

TEST_F(BatchTest, FirstLaunchesAreFineDuringACapture) {
  for (auto Mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    KernelRef K = makeKernel("n: i32");
    begin(Mode);
    EXPECT_FALSE(bool(K->launch(1, 1, 1, Stream, Value::ofInt(3))));
    EXPECT_THAT(run(end()).front().Parameters, ElementsAre(bytesOf(3)));
  }
}

} // namespace
