//===- LibcudaTest.cpp - Opening a libcuda.so.1 ---------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverFixture.h"
#include "llvm/Support/JSON.h"
#include <dlfcn.h>

using namespace llvm;
using namespace launchjit;

namespace {

/// The tests' libcuda.so.1 and the machine's own cannot both be in a process,
/// so these open it in another.
class LibcudaDeathTest : public testing::Test {
protected:
  void open() {
    setenv("LAUNCHJIT_LIBCUDA", LAUNCHJIT_TEST_LIBCUDA_PATH, 1);
    D = &cantFail(Driver::open(DriverKind::Cuda));
    Handle = dlopen(LAUNCHJIT_TEST_LIBCUDA_PATH, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(Handle, nullptr);
  }
  void hasEveryEntryPoint();
  void findsEntryPointsByVersion();
  void tellsItsLaunchesAsJSON();

  const Driver *D = nullptr;
  void *Handle = nullptr;
};

#define LJ_FRESH_TEST(Name, Body)                                              \
  TEST_F(LibcudaDeathTest, Name) {                                             \
    testing::FLAGS_gtest_death_test_style = "threadsafe";                      \
    EXPECT_EXIT(                                                               \
        {                                                                      \
          open();                                                              \
          Body();                                                              \
          exit(HasFailure());                                                  \
        },                                                                     \
        testing::ExitedWithCode(0), "");                                       \
  }
LJ_FRESH_TEST(HasEveryEntryPoint, hasEveryEntryPoint)
LJ_FRESH_TEST(FindsEntryPointsByVersion, findsEntryPointsByVersion)
LJ_FRESH_TEST(TellsItsLaunchesAsJSON, tellsItsLaunchesAsJSON)

void LibcudaDeathTest::hasEveryEntryPoint() {
  EXPECT_EQ(D->kind(), DriverKind::Cuda);
  EXPECT_EQ(D->path(), LAUNCHJIT_TEST_LIBCUDA_PATH);
  EXPECT_EQ(D->version(), CUDA_VERSION);
#define LJ_STRING_(Symbol) #Symbol
#define LJ_STRING(Symbol) LJ_STRING_(Symbol)
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  EXPECT_EQ(reinterpret_cast<void *>(D->Name), dlsym(Handle, LJ_STRING(Name))) \
      << #Name;
#include "launchjit/Driver/Entries.def"
}

/// As driver 580 was seen to do.
void LibcudaDeathTest::findsEntryPointsByVersion() {
  using Get = CUresult (*)(const char *, void **, int, cuuint64_t,
                           CUdriverProcAddressQueryResult *);
  auto Find = reinterpret_cast<Get>(dlsym(Handle, "cuGetProcAddress_v2"));
  ASSERT_NE(Find, nullptr);
  struct {
    const char *Name;
    int Version;
    CUresult Result;
    int Status;
  } Cases[] = {
      {"cuMemAlloc", 3020, CUDA_SUCCESS, 0},
      {"cuMemAlloc", CUDA_VERSION, CUDA_SUCCESS, 0},
      {"cuMemAlloc", CUDA_VERSION + 10, CUDA_ERROR_INVALID_VALUE, 3},
      {"cuMemAlloc_v2", 3020, CUDA_SUCCESS, 1},
      {"cuCtxCreate", 12050, CUDA_SUCCESS, 0},
      {"cuLibraryLoadData", 11000, CUDA_SUCCESS, 2},
      {"nonsense", 12000, CUDA_SUCCESS, 1},
      {"cuGetProcAddress", 12000, CUDA_SUCCESS, 0},
  };
  for (const auto &C : Cases) {
    void *Function = nullptr;
    auto Status = CUdriverProcAddressQueryResult(3);
    EXPECT_EQ(Find(C.Name, &Function, C.Version, 1, &Status), C.Result)
        << C.Name << " " << C.Version;
    EXPECT_EQ(int(Status), C.Status) << C.Name << " " << C.Version;
    EXPECT_EQ(Function != nullptr, C.Status == 0);
  }
}

void LibcudaDeathTest::tellsItsLaunchesAsJSON() {
  using Take = char *(*)();
  auto Recorded = reinterpret_cast<Take>(dlsym(Handle, "lj_recorded"));
  ASSERT_NE(Recorded, nullptr);
  auto TakeAll = [&] {
    char *Text = Recorded();
    Expected<json::Value> Value = json::parse(Text);
    free(Text);
    return cantFail(std::move(Value));
  };
  TakeAll();
  std::string Bytes = readInput("kernels.sm_90.cubin");
  CUcontext C, Outside = nullptr;
  CUmodule M;
  CUfunction F;
  D->cuCtxGetCurrent(&Outside);
  ASSERT_EQ(D->cuDevicePrimaryCtxRetain(&C, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuCtxPushCurrent(C), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleLoadData(&M, Bytes.data()), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&F, M, "axpy"), CUDA_SUCCESS);
  CUlaunchAttribute A = {};
  A.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  A.value.priority = 3;
  CUlaunchConfig Config = {2, 3, 4, 32, 1, 1, 64, nullptr, &A, 1};
  uint64_t X = 0xff00, Y = 1;
  int N = 7;
  void *Pointers[] = {&X, &Y, &N};
  ASSERT_EQ(D->cuLaunchKernelEx(&Config, F, Pointers, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(
      TakeAll(),
      json::Value(json::Array{json::Object{
          {"kernel", "axpy"},
          {"grid", json::Array{2, 3, 4}},
          {"block", json::Array{32, 1, 1}},
          {"shared", 64},
          {"stream", 0},
          {"context", int64_t(reinterpret_cast<uintptr_t>(C))},
          {"device", 0},
          {"attributes",
           json::Array{json::Object{
               {"id", 8}, {"value", "03000000" + std::string(120, '0')}}}},
          {"parameters",
           json::Array{"00ff000000000000", "0100000000000000", "07000000"}},
      }}));
  EXPECT_EQ(TakeAll(), json::Value(json::Array{}));
  EXPECT_EQ(D->cuModuleUnload(M), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  // It is another one than the recording driver within the process.
  EXPECT_TRUE(takeRecordedLaunches().empty());
}

TEST(LibcudaFile, ThatIsNoDriverIsRefused) {
  setenv("LAUNCHJIT_LIBCUDA", "libc.so.6", 1);
  Expected<const Driver &> D = Driver::open(DriverKind::Cuda);
  unsetenv("LAUNCHJIT_LIBCUDA");
  ASSERT_FALSE(bool(D));
  ErrorDetail Detail = takeDetail(D.takeError());
  EXPECT_EQ(Detail.Code, Status::NoDriver);
  EXPECT_EQ(Detail.Message, "libc.so.6 has no cuInit, so it is no CUDA driver");
}

} // namespace
