//===- BoundTest.cpp - Bound launches of the C interface ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPITest.h"
#include "launchjit/Driver/Driver.h"

using namespace capitest;

using Bound = std::unique_ptr<lj_bound, Deleter<lj_bound_delete>>;
using Batch = std::unique_ptr<lj_batch, Deleter<lj_batch_delete>>;

static lj_value intValue(int64_t I) {
  lj_value V = {LJ_VALUE_INT, 0, {}};
  V.as.i = I;
  return V;
}

static Bound bound(const Kernel &K, int64_t N) {
  lj_value Values[3] = {
      {LJ_VALUE_POINTER, 0, {}}, {LJ_VALUE_FLOAT, 0, {}}, intValue(N)};
  Values[0].as.u = 0x1000;
  Values[1].as.f = 0.5;
  lj_bound *B = nullptr;
  EXPECT_OK(lj_kernel_bind(K.get(), 2, 1, 1, nullptr, Values, 3, &B));
  return Bound(B);
}

namespace {
class CAPIBound : public RecordingTest {};
} // namespace

TEST_F(CAPIBound, LaunchesAgain) {
  Kernel K = axpy();
  Bound B = bound(K, 3);
  K.reset();
  EXPECT_EQ(lj_recorded_count(recorded().get()), 0u);
  EXPECT_OK(lj_bound_launch(B.get()));
  lj_value N = intValue(4);
  EXPECT_OK(lj_bound_set(B.get(), 2, &N));
  EXPECT_OK(lj_bound_set_grid(B.get(), 5, 6, 1));
  EXPECT_OK(lj_bound_launch(B.get()));
  Recorded R = recorded();
  ASSERT_EQ(lj_recorded_count(R.get()), 2u);
  EXPECT_EQ(as<int>(get(R, 0).parameters[2]), 3);
  EXPECT_EQ(get(R, 0).grid[0], 2u);
  EXPECT_EQ(as<uint64_t>(get(R, 1).parameters[0]), 0x1000u);
  EXPECT_EQ(as<float>(get(R, 1).parameters[1]), 0.5f);
  EXPECT_EQ(as<int>(get(R, 1).parameters[2]), 4);
  EXPECT_EQ(get(R, 1).grid[1], 6u);
}

TEST_F(CAPIBound, Errors) {
  Kernel K = axpy();
  Bound B = bound(K, 3);
  lj_value N = intValue(int64_t(1) << 40);
  EXPECT_FAILS(lj_bound_set(B.get(), 2, &N), LJ_ERROR_ARGUMENT_RANGE,
               "argument 2 ('n', i32)");
  EXPECT_INVALID(lj_bound_set(B.get(), 3, &N),
                 "kernel 'axpy' has 3 arguments, so there is none of index 3");
  EXPECT_OK(lj_bound_set_grid(B.get(), -1, 1, 1));
  EXPECT_FAILS(lj_bound_launch(B.get()), LJ_ERROR_ARGUMENT_VALUE,
               "grid x is -1");
  EXPECT_INVALID(
      lj_bound_update(B.get(), reinterpret_cast<CUgraphExec_st *>(1)),
      "is in no graph that could be updated");

  lj_bound *Bad = nullptr;
  lj_batch *All = nullptr;
  EXPECT_FAILS(lj_kernel_bind(K.get(), 1, 1, 1, nullptr, nullptr, 0, &Bad),
               LJ_ERROR_ARGUMENT_TYPE, "takes 3 arguments, but 0 were given");
  EXPECT_INVALID(lj_kernel_bind(nullptr, 1, 1, 1, nullptr, nullptr, 0, &Bad),
                 "kernel is null");
  EXPECT_INVALID(lj_kernel_bind(K.get(), 1, 1, 1, nullptr, nullptr, 3, &Bad),
                 "values is null");
  EXPECT_INVALID(lj_bound_launch(nullptr), "bound is null");
  EXPECT_INVALID(lj_bound_set(B.get(), 0, nullptr), "value is null");
  EXPECT_INVALID(lj_bound_update(B.get(), nullptr), "exec is null");
  EXPECT_INVALID(lj_batch_create(&Bad, 1, &All), "bounds[0] is null");
  EXPECT_INVALID(lj_batch_create(nullptr, 1, &All), "bounds is null");
  EXPECT_INVALID(lj_batch_launch(nullptr, nullptr), "batch is null");
  EXPECT_EQ(Bad, nullptr);
  EXPECT_EQ(All, nullptr);
  EXPECT_EQ(lj_recorded_count(recorded().get()), 0u);
}

TEST_F(CAPIBound, ABatchKeepsItsLaunches) {
  Kernel K = axpy();
  Bound A = bound(K, 1), B = bound(K, 2);
  lj_bound *Launches[] = {A.get(), B.get(), A.get()};
  lj_batch *Made = nullptr;
  EXPECT_OK(lj_batch_create(Launches, 3, &Made));
  Batch All(Made);
  B.reset();
  K.reset();
  EXPECT_OK(lj_batch_launch(All.get(), nullptr));
  lj_value N = intValue(7);
  EXPECT_OK(lj_bound_set(A.get(), 2, &N));
  A.reset();
  EXPECT_OK(lj_batch_launch(All.get(), nullptr));
  Recorded R = recorded();
  ASSERT_EQ(lj_recorded_count(R.get()), 6u);
  int Expected[] = {1, 2, 1, 7, 2, 7};
  for (int I = 0; I != 6; ++I)
    EXPECT_EQ(as<int>(get(R, I).parameters[2]), Expected[I]);
}

TEST_F(CAPIBound, UpdatesAUsersGraph) {
  llvm::Expected<const launchjit::Driver &> D = launchjit::Driver::process();
  ASSERT_TRUE(bool(D));
  CUcontext C;
  CUstream S;
  CUgraph G;
  CUgraphExec Exec;
  ASSERT_EQ(D->cuDevicePrimaryCtxRetain(&C, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuCtxPushCurrent(C), CUDA_SUCCESS);
  ASSERT_EQ(D->cuStreamCreate(&S, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  lj_value Values[3] = {
      {LJ_VALUE_POINTER, 0, {}}, {LJ_VALUE_FLOAT, 0, {}}, intValue(1)};
  lj_bound *Made = nullptr;
  EXPECT_OK(lj_kernel_bind(axpy().get(), 1, 1, 1, S, Values, 3, &Made));
  Bound B(Made);
  ASSERT_EQ(D->cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  EXPECT_OK(lj_bound_launch(B.get()));
  ASSERT_EQ(D->cuStreamEndCapture(S, &G), CUDA_SUCCESS);
  ASSERT_EQ(D->cuGraphInstantiateWithFlags(&Exec, G, 0), CUDA_SUCCESS);
  lj_value N = intValue(2);
  EXPECT_OK(lj_bound_set(B.get(), 2, &N));
  EXPECT_OK(lj_bound_update(B.get(), Exec));
  recorded();
  EXPECT_EQ(D->cuGraphLaunch(Exec, S), CUDA_SUCCESS);
  EXPECT_EQ(as<int>(get(recorded(), 0).parameters[2]), 2);
  D->cuGraphExecDestroy(Exec);
  D->cuGraphDestroy(G);
  D->cuStreamDestroy(S);
  D->cuCtxPopCurrent(&C);
  D->cuDevicePrimaryCtxRelease(0);
}
