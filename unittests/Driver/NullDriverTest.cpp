//===- NullDriverTest.cpp - The driver for measuring ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverFixture.h"

using namespace llvm;
using namespace launchjit;

namespace {

TEST(NullDriver, HasEveryEntryPoint) {
  Expected<const Driver &> D = Driver::open(DriverKind::Null);
  ASSERT_TRUE(bool(D));
  EXPECT_EQ(D->kind(), DriverKind::Null);
  EXPECT_EQ(D->path(), "");
  EXPECT_EQ(D->version(), CUDA_VERSION);
#define LAUNCHJIT_ENTRY(Name, Version) EXPECT_NE(D->Name, nullptr);
#include "launchjit/Driver/Entries.def"
}

TEST(NullDriver, AnswersPlausibly) {
  Expected<const Driver &> D = Driver::open(DriverKind::Null);
  ASSERT_TRUE(bool(D));
  int Value = 0;
  CUcontext C = nullptr, Other = nullptr;
  CUstream S = nullptr;
  CUlibrary L = nullptr;
  CUkernel K = nullptr;
  CUfunction F = nullptr;
  EXPECT_EQ(D->cuDeviceGetCount(&Value), CUDA_SUCCESS);
  EXPECT_EQ(Value, 1);
  EXPECT_EQ(D->cuDeviceGetAttribute(
                &Value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(Value, 9);
  EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
  EXPECT_NE(C, nullptr);
  EXPECT_EQ(D->cuStreamCreate(&S, 0), CUDA_SUCCESS);
  EXPECT_NE(S, nullptr);
  EXPECT_EQ(D->cuStreamGetCtx(S, &Other), CUDA_SUCCESS);
  EXPECT_EQ(C, Other);
  EXPECT_EQ(
      D->cuLibraryLoadData(&L, "", nullptr, nullptr, 0, nullptr, nullptr, 0),
      CUDA_SUCCESS);
  EXPECT_EQ(D->cuLibraryGetKernel(&K, L, "k"), CUDA_SUCCESS);
  EXPECT_EQ(D->cuKernelGetFunction(&F, K), CUDA_SUCCESS);
  EXPECT_NE(F, nullptr);
  EXPECT_EQ(D->cuLaunchKernelEx(nullptr, F, nullptr, nullptr), CUDA_SUCCESS);
  CUdeviceptr P = 0;
  char Bytes[] = "0123456";
  EXPECT_EQ(D->cuMemAlloc(&P, 8), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemcpyHtoD(P, Bytes, 8), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemsetD8(P, '!', 2), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemcpyDtoH(Bytes, P, 8), CUDA_SUCCESS);
  EXPECT_STREQ(Bytes, "!!23456");
  CUdeviceptr Q = 0;
  EXPECT_EQ(
      D->cuPointerGetAttribute(&Q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, P + 3),
      CUDA_SUCCESS);
  EXPECT_EQ(Q, P + 3);
  EXPECT_EQ(D->cuMemFree(P), CUDA_SUCCESS);
  EXPECT_EQ(takeDetail(D->error(CUDA_ERROR_INVALID_VALUE, "what")).Message,
            "what: CUDA_ERROR_INVALID_VALUE (1): CUDA_ERROR_INVALID_VALUE");
}

} // namespace
