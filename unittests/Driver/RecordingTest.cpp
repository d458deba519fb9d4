//===- RecordingTest.cpp - What the recording driver keeps ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverFixture.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

namespace {

class Recording : public DriverFixture {
protected:
  void SetUp() override {
    open(DriverKind::Recording);
    usePrimary();
    takeRecordedLaunches();
    Bytes = readInput("kernels.sm_90.cubin");
    ASSERT_EQ(D->cuModuleLoadData(&M, Bytes.data()), CUDA_SUCCESS);
    ASSERT_EQ(D->cuModuleGetFunction(&Axpy, M, "axpy"), CUDA_SUCCESS);
    ASSERT_EQ(D->cuModuleGetFunction(&Nothing, M, "nothing"), CUDA_SUCCESS);
  }

  void TearDown() override {
    D->cuModuleUnload(M);
    takeRecordedLaunches();
    DriverFixture::TearDown();
  }

  CUresult launchNothing(unsigned Grid = 1) {
    CUlaunchConfig C = {Grid, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
    return D->cuLaunchKernelEx(&C, Nothing, nullptr, nullptr);
  }

  CUresult launch(CUfunction F, void *Buffer, size_t Size) {
    CUlaunchConfig C = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
    void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, Buffer,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
    return D->cuLaunchKernelEx(&C, F, nullptr, Extra);
  }

  std::string Bytes;
  CUmodule M = nullptr;
  CUfunction Axpy = nullptr, Nothing = nullptr;
};

using ByteList = std::vector<uint8_t>;

TEST_F(Recording, KeepsAllOfALaunch) {
  CUstream S;
  ASSERT_EQ(D->cuStreamCreate(&S, 0), CUDA_SUCCESS);
  CUlaunchAttribute A[2] = {};
  A[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  A[0].value.priority = -3;
  A[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  A[1].value.clusterDim = {2, 1, 1};
  CUlaunchConfig C = {4, 5, 6, 32, 2, 1, 1000, S, A, 2};
  uint64_t X = 0x0102030405060708, Y = 9;
  int32_t N = -2;
  void *Pointers[] = {&X, &Y, &N};
  ASSERT_EQ(D->cuLaunchKernelEx(&C, Axpy, Pointers, nullptr), CUDA_SUCCESS);
  char Packed[20];
  memcpy(Packed, &Y, 8);
  memcpy(Packed + 8, &X, 8);
  memcpy(Packed + 16, &N, 4);
  ASSERT_EQ(launch(Axpy, Packed, 20), CUDA_SUCCESS);

  std::vector<RecordedLaunch> L = takeRecordedLaunches();
  ASSERT_EQ(L.size(), 2u);
  EXPECT_EQ(L[0].Kernel, "axpy");
  EXPECT_EQ(L[0].Grid, (std::array<uint32_t, 3>{4, 5, 6}));
  EXPECT_EQ(L[0].Block, (std::array<uint32_t, 3>{32, 2, 1}));
  EXPECT_EQ(L[0].Shared, 1000u);
  EXPECT_EQ(L[0].Stream, reinterpret_cast<uint64_t>(S));
  EXPECT_EQ(L[0].Context, reinterpret_cast<uint64_t>(Primary));
  EXPECT_EQ(L[0].Device, 0);
  ASSERT_EQ(L[0].Attributes.size(), 2u);
  EXPECT_EQ(L[0].Attributes[0].Id, CU_LAUNCH_ATTRIBUTE_PRIORITY);
  EXPECT_EQ(L[0].Attributes[0].Value.priority, -3);
  EXPECT_EQ(L[0].Attributes[1].Value.clusterDim.x, 2u);
  ByteList XBytes = {8, 7, 6, 5, 4, 3, 2, 1}, YBytes = {9, 0, 0, 0, 0, 0, 0, 0},
           NBytes = {0xfe, 0xff, 0xff, 0xff};
  EXPECT_EQ(L[0].Parameters, (std::vector<ByteList>{XBytes, YBytes, NBytes}));
  EXPECT_EQ(L[1].Stream, 0u);
  EXPECT_TRUE(L[1].Attributes.empty());
  EXPECT_EQ(L[1].Parameters, (std::vector<ByteList>{YBytes, XBytes, NBytes}));
  EXPECT_TRUE(takeRecordedLaunches().empty());
}

TEST_F(Recording, RefusesAShortBuffer) {
  char Buffer[20] = {};
  EXPECT_EQ(launch(Axpy, Buffer, 19), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(Axpy, Buffer, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(takeRecordedLaunches().empty());
}

TEST_F(Recording, KeepsTheWholeBufferOfAnUnknownKernel) {
  std::string Fatbin = readInput("small.fatbin");
  CUmodule Other;
  CUfunction F;
  ASSERT_EQ(D->cuModuleLoadData(&Other, Fatbin.data()), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&F, Other, "anything"), CUDA_SUCCESS);
  char Buffer[] = {1, 2, 3};
  ASSERT_EQ(launch(F, Buffer, 3), CUDA_SUCCESS);
  std::vector<RecordedLaunch> L = takeRecordedLaunches();
  ASSERT_EQ(L.size(), 1u);
  EXPECT_EQ(L[0].Kernel, "anything");
  EXPECT_EQ(L[0].Parameters, (std::vector<ByteList>{{1, 2, 3}}));
  EXPECT_EQ(D->cuModuleUnload(Other), CUDA_SUCCESS);
}

TEST_F(Recording, FailsWhenToldTo) {
  failRecordedLaunches(CUDA_ERROR_LAUNCH_FAILED, 2);
  EXPECT_EQ(launchNothing(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(launchNothing(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(launchNothing(), CUDA_SUCCESS);
  EXPECT_EQ(takeRecordedLaunches().size(), 1u);
}

TEST_F(Recording, ForgetsTheOldest) {
  for (unsigned I = 1; I <= 65536 + 3; ++I)
    ASSERT_EQ(launchNothing(I), CUDA_SUCCESS);
  std::vector<RecordedLaunch> L = takeRecordedLaunches();
  ASSERT_EQ(L.size(), 65536u);
  EXPECT_EQ(L.front().Grid[0], 4u);
  EXPECT_EQ(L.back().Grid[0], 65539u);
}

TEST_F(Recording, HandsTheDeviceNodeBack) {
  CUlaunchAttribute A = {};
  A.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  A.value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  CUlaunchConfig C = {1, 1, 1, 1, 1, 1, 0, nullptr, &A, 1};
  EXPECT_EQ(D->cuLaunchKernelEx(&C, Nothing, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_NE(A.value.deviceUpdatableKernelNode.devNode, nullptr);
}

TEST_F(Recording, StaleHandlesAreRefused) {
  CUstream S;
  CUmodule Other;
  CUfunction F;
  CUcontext C;
  CUevent E;
  CUdeviceptr P;
  ASSERT_EQ(D->cuStreamCreate(&S, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamDestroy(S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamDestroy(S), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(D->cuStreamGetCtx(S, &C), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(D->cuEventCreate(&E, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuEventDestroy(E), CUDA_SUCCESS);
  EXPECT_EQ(D->cuEventDestroy(E), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(D->cuModuleLoadData(&Other, Bytes.data()), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&F, Other, "nothing"), CUDA_SUCCESS);
  EXPECT_EQ(D->cuModuleUnload(Other), CUDA_SUCCESS);
  EXPECT_EQ(D->cuModuleUnload(Other), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(F, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);

  ASSERT_EQ(D->cuCtxCreate(&C, nullptr, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuStreamCreate(&S, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuMemAlloc(&P, 16), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleLoadData(&Other, Bytes.data()), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxPushCurrent(C), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxDestroy(C), CUDA_SUCCESS);
  CUcontext Current;
  EXPECT_EQ(D->cuCtxGetCurrent(&Current), CUDA_SUCCESS);
  EXPECT_EQ(Current, C);
  EXPECT_EQ(D->cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(D->cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxPushCurrent(C), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuStreamGetCtx(S, &Current), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(D->cuMemFree(P), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuModuleUnload(Other), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Recording, AThreadHasItsOwnContexts) {
  std::thread([&] {
    CUcontext C = Primary;
    EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
    EXPECT_EQ(C, nullptr);
    EXPECT_EQ(launchNothing(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(D->cuCtxSetCurrent(Primary), CUDA_SUCCESS);
    EXPECT_EQ(launchNothing(), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(launchNothing(), CUDA_SUCCESS);
  EXPECT_EQ(takeRecordedLaunches().size(), 2u);
}

TEST_F(Recording, ThreadsMayDoAnythingAtOnce) {
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 8; ++T)
    Threads.emplace_back([&] {
      D->cuCtxSetCurrent(Primary);
      for (unsigned I = 0; I != 50; ++I) {
        CUstream S;
        CUlibrary L;
        CUkernel K;
        CUdeviceptr P;
        EXPECT_EQ(D->cuStreamCreate(&S, 0), CUDA_SUCCESS);
        EXPECT_EQ(loadLibrary(&L, Bytes), CUDA_SUCCESS);
        EXPECT_EQ(D->cuLibraryGetKernel(&K, L, "nothing"), CUDA_SUCCESS);
        EXPECT_EQ(D->cuMemAlloc(&P, 256), CUDA_SUCCESS);
        CUlaunchConfig C = {1, 1, 1, 1, 1, 1, 0, S, nullptr, 0};
        EXPECT_EQ(D->cuLaunchKernelEx(&C, reinterpret_cast<CUfunction>(K),
                                      nullptr, nullptr),
                  CUDA_SUCCESS);
        EXPECT_EQ(launchNothing(), CUDA_SUCCESS);
        EXPECT_EQ(D->cuMemFree(P), CUDA_SUCCESS);
        EXPECT_EQ(D->cuLibraryUnload(L), CUDA_SUCCESS);
        EXPECT_EQ(D->cuStreamDestroy(S), CUDA_SUCCESS);
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(takeRecordedLaunches().size(), 800u);
}

TEST_F(Recording, AChildGoesOn) {
  std::atomic<bool> Stop{false};
  std::thread Other([&] {
    D->cuCtxSetCurrent(Primary);
    while (!Stop)
      launchNothing();
  });
  for (unsigned I = 0; I != 20; ++I) {
    pid_t Child = fork();
    if (!Child) {
      bool Good =
          launchNothing() == CUDA_SUCCESS && !takeRecordedLaunches().empty();
      _exit(Good ? 0 : 1);
    }
    int Status = -1;
    waitpid(Child, &Status, 0);
    EXPECT_EQ(Status, 0);
  }
  Stop = true;
  Other.join();
}

/// What LAUNCHJIT_RECORDING says is taken once, so each is its own process.
void printDevices(const char *Variable) {
  setenv("LAUNCHJIT_RECORDING", Variable, 1);
  Expected<const Driver &> D = Driver::open(DriverKind::Recording);
  if (!D) {
    errs() << takeDetail(D.takeError()).Message;
    return;
  }
  int Count = 0, Major = 0, Minor = 0, Shared = 0;
  D->cuDeviceGetCount(&Count);
  D->cuDeviceGetAttribute(&Major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                          Count - 1);
  D->cuDeviceGetAttribute(&Minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                          Count - 1);
  D->cuDeviceGetAttribute(
      &Shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0);
  errs() << Count << " of " << Major << "." << Minor << " with " << Shared;
  for (const char *File :
       {"small.11.8.sm_90.cubin", "small.13.0.sm_90a.cubin",
        "small.13.0.sm_80.cubin", "small.12.9.sm_100a.cubin", "small.ptx"}) {
    CUcontext C;
    CUmodule M;
    D->cuDevicePrimaryCtxRetain(&C, Count - 1);
    D->cuCtxSetCurrent(C);
    std::string Bytes = readInput(File);
    errs() << " " << D->cuModuleLoadData(&M, Bytes.c_str());
  }
}

#define EXPECT_DEVICES(Variable, Printed)                                      \
  EXPECT_EXIT(                                                                 \
      {                                                                        \
        printDevices(Variable);                                                \
        exit(0);                                                               \
      },                                                                       \
      testing::ExitedWithCode(0), Printed)

TEST(RecordingDeathTest, TheVariableDescribesTheDevices) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEVICES("90,2", "2 of 9.0 with 232448 0 0 209 209 0");
  EXPECT_DEVICES("90", "1 of 9.0 with 232448 0 0 209 209 0");
  EXPECT_DEVICES("86,3", "3 of 8.6 with 101376 209 209 0 209 0");
  EXPECT_DEVICES("75", "1 of 7.5 with 65536 209 209 209 209 218");
  EXPECT_DEVICES("100", "1 of 10.0 with 232448 209 209 209 0 0");
  EXPECT_DEVICES("103", "1 of 10.3 with 232448 209 209 209 209 0");
  for (const char *Bad : {"sm_90", "90,", "90,0", "90,65", "9", "90,2,3", ","})
    EXPECT_DEVICES(Bad, std::string("LAUNCHJIT_RECORDING is '") + Bad +
                            "'; it takes an architecture from 50 to 199 and, "
                            "behind a comma, 1 to 64 devices, such as 90,2");
}

void launchOnTwoDevices() {
  setenv("LAUNCHJIT_RECORDING", "90,2", 1);
  const Driver &D = cantFail(Driver::open(DriverKind::Recording));
  std::string Bytes = readInput("kernels.sm_90.cubin");
  CUcontext First, Second;
  CUstream S;
  CUlibrary L;
  CUkernel K;
  CUdeviceptr P;
  D.cuDevicePrimaryCtxRetain(&First, 0);
  D.cuDevicePrimaryCtxRetain(&Second, 1);
  D.cuLibraryLoadData(&L, Bytes.data(), nullptr, nullptr, 0, nullptr, nullptr,
                      0);
  D.cuLibraryGetKernel(&K, L, "nothing");
  D.cuCtxSetCurrent(Second);
  D.cuStreamCreate(&S, 0);
  D.cuMemAlloc(&P, 16);
  D.cuCtxSetCurrent(First);
  for (CUstream In : {S, CUstream(nullptr)}) {
    CUlaunchConfig C = {1, 1, 1, 1, 1, 1, 0, In, nullptr, 0};
    D.cuLaunchKernelEx(&C, reinterpret_cast<CUfunction>(K), nullptr, nullptr);
  }
  int Ordinal = -1;
  D.cuPointerGetAttribute(&Ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, P);
  errs() << "memory on " << Ordinal << ", launches on";
  for (const RecordedLaunch &Launch : takeRecordedLaunches())
    errs() << " " << Launch.Device
           << (Launch.Context == reinterpret_cast<uint64_t>(Second));
}

TEST(RecordingDeathTest, DevicesHaveTheirOwnContexts) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        launchOnTwoDevices();
        exit(0);
      },
      testing::ExitedWithCode(0), "memory on 1, launches on 11 00");
}

} // namespace
