//===- ConformanceTest.cpp - The recording driver does as the real one ----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contexts, memory and code; ConformanceLaunchTest.cpp has launches.
//
//===----------------------------------------------------------------------===//

#include "DriverFixture.h"

using namespace llvm;
using namespace launchjit;

namespace {

class Conformance : public ConformanceFixture {};
LJ_CONFORMANCE(Conformance);

TEST_P(Conformance, Initialization) {
#define LAUNCHJIT_ENTRY(Name, Version) EXPECT_NE(D->Name, nullptr) << #Name;
#include "launchjit/Driver/Entries.def"
  EXPECT_EQ(D->cuInit(1), CUDA_ERROR_INVALID_VALUE);
  const char *Text = nullptr;
  EXPECT_EQ(D->cuGetErrorName(CUDA_ERROR_NOT_FOUND, &Text), CUDA_SUCCESS);
  EXPECT_STREQ(Text, "CUDA_ERROR_NOT_FOUND");
  EXPECT_EQ(D->cuGetErrorName(CUresult(1001), &Text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Text, nullptr);
  for (int Code : {0, 1, 2, 3, 101, 200, 201, 209, 218, 400, 500, 700, 701, 709,
                   719, 720, 800, 801, 912}) {
    Expected<const Driver &> Recording = Driver::open(DriverKind::Recording);
    ASSERT_TRUE(bool(Recording));
    const char *Ours = nullptr;
    EXPECT_EQ(D->cuGetErrorString(CUresult(Code), &Text), CUDA_SUCCESS);
    EXPECT_EQ(Recording->cuGetErrorString(CUresult(Code), &Ours), CUDA_SUCCESS);
    EXPECT_STREQ(Text, Ours);
  }
}

TEST_P(Conformance, Devices) {
  int Count = 0, Value = 0;
  CUdevice Device = -1;
  EXPECT_EQ(D->cuDeviceGetCount(&Count), CUDA_SUCCESS);
  ASSERT_GE(Count, 1);
  EXPECT_EQ(D->cuDeviceGet(&Device, 0), CUDA_SUCCESS);
  EXPECT_EQ(Device, 0);
  EXPECT_EQ(D->cuDeviceGet(&Device, Count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(D->cuDeviceGet(&Device, -1), CUDA_ERROR_INVALID_DEVICE);
  auto Attribute = [&](int Id, CUdevice Of) {
    return D->cuDeviceGetAttribute(&Value, CUdevice_attribute(Id), Of);
  };
  EXPECT_EQ(Attribute(250, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Attribute(0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Attribute(1, Count), CUDA_ERROR_INVALID_DEVICE);
  struct {
    CUdevice_attribute Id;
    int Value;
  } Known[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
  };
  for (const auto &K : Known) {
    EXPECT_EQ(Attribute(K.Id, 0), CUDA_SUCCESS);
    EXPECT_EQ(Value, K.Value) << K.Id;
  }
  char Name[64];
  EXPECT_EQ(D->cuDeviceGetName(Name, sizeof Name, 0), CUDA_SUCCESS);
  EXPECT_STREQ(Name, "NVIDIA H200");
  EXPECT_EQ(D->cuDeviceGetName(Name, 5, 0), CUDA_SUCCESS);
  EXPECT_STREQ(Name, "NVID");
}

TEST_P(Conformance, NothingWorksWithoutAContext) {
  CUcontext C = reinterpret_cast<CUcontext>(5);
  CUstream S;
  CUdeviceptr P;
  CUdevice Device;
  CUevent E;
  CUmodule M;
  EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
  EXPECT_EQ(C, nullptr);
  EXPECT_EQ(D->cuCtxGetDevice(&Device), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuStreamCreate(&S, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuEventCreate(&E, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuMemAlloc(&P, 16), CUDA_ERROR_INVALID_CONTEXT);
  C = reinterpret_cast<CUcontext>(5);
  for (CUstream Special :
       {CUstream(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    EXPECT_EQ(D->cuStreamGetCtx(Special, &C), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(C, reinterpret_cast<CUcontext>(5));
  }
  EXPECT_EQ(D->cuStreamSynchronize(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuCtxPopCurrent(&C), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxPushCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuDevicePrimaryCtxRetain(&C, 99), CUDA_ERROR_INVALID_DEVICE);
  std::string Code = readInput("kernels.sm_90.cubin");
  EXPECT_EQ(D->cuModuleLoadData(&M, Code.data()), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_P(Conformance, AllocationsHaveARange) {
  CUdeviceptr P = 0, Base = 0;
  size_t Size = 0;
  EXPECT_EQ(D->cuMemGetAddressRange(&Base, &Size, 0x1000),
            CUDA_ERROR_INVALID_CONTEXT);
  usePrimary();
  ASSERT_EQ(D->cuMemAlloc(&P, 1000), CUDA_SUCCESS);
  ASSERT_EQ(D->cuMemsetD8(P, 7, 1000), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemGetAddressRange(&Base, &Size, P + 999), CUDA_SUCCESS);
  EXPECT_EQ(Base, P);
  EXPECT_EQ(Size, 1000u);
  char Bytes[2] = {};
  EXPECT_EQ(D->cuMemcpyDtoHAsync(Bytes, P + 998, 2, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Bytes[1], 7);
  EXPECT_EQ(D->cuMemFree(P), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemGetAddressRange(&Base, &Size, P), CUDA_ERROR_NOT_FOUND);
}

TEST_P(Conformance, EventsTellTime) {
  usePrimary();
  CUevent A, B;
  ASSERT_EQ(D->cuEventCreate(&A, 0), CUDA_SUCCESS);
  ASSERT_EQ(D->cuEventCreate(&B, 0), CUDA_SUCCESS);
  for (CUevent E : {A, B})
    EXPECT_EQ(D->cuEventRecord(E, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxSynchronize(), CUDA_SUCCESS);
  float Milliseconds = -1;
  EXPECT_EQ(D->cuEventElapsedTime(&Milliseconds, A, B), CUDA_SUCCESS);
  EXPECT_GE(Milliseconds, 0);
  EXPECT_EQ(D->cuEventElapsedTime(nullptr, A, B), CUDA_ERROR_INVALID_VALUE);
  for (CUevent E : {A, B})
    EXPECT_EQ(D->cuEventDestroy(E), CUDA_SUCCESS);
}

TEST_P(Conformance, ContextsAreAStack) {
  usePrimary();
  CUcontext C, Other;
  CUdevice Device = -1;
  EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
  EXPECT_EQ(C, Primary);
  EXPECT_EQ(D->cuCtxGetDevice(&Device), CUDA_SUCCESS);
  EXPECT_EQ(Device, 0);
  EXPECT_EQ(D->cuStreamGetCtx(nullptr, &C), CUDA_SUCCESS);
  EXPECT_EQ(C, Primary);
  EXPECT_EQ(D->cuCtxDestroy(Primary), CUDA_ERROR_INVALID_CONTEXT);

  ASSERT_EQ(D->cuCtxCreate(&Other, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
  EXPECT_EQ(C, Other);
  EXPECT_EQ(D->cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
  EXPECT_EQ(C, Primary);
  EXPECT_EQ(D->cuCtxSetCurrent(Other), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxPushCurrent(Primary), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxPopCurrent(&C), CUDA_SUCCESS);
  EXPECT_EQ(C, Primary);
  EXPECT_EQ(D->cuCtxDestroy(Other), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxGetCurrent(&C), CUDA_SUCCESS);
  EXPECT_EQ(C, nullptr);
  EXPECT_EQ(D->cuCtxPopCurrent(&C), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_P(Conformance, PrimaryContextsAreCounted) {
  CUcontext A, B;
  EXPECT_EQ(D->cuDevicePrimaryCtxRetain(&A, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuDevicePrimaryCtxRetain(&B, 0), CUDA_SUCCESS);
  EXPECT_EQ(A, B);
  EXPECT_EQ(D->cuCtxGetCurrent(&B), CUDA_SUCCESS);
  EXPECT_EQ(B, nullptr);
  EXPECT_EQ(D->cuCtxPushCurrent(A), CUDA_SUCCESS);
  EXPECT_EQ(D->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(D->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_P(Conformance, StreamsAndEvents) {
  usePrimary();
  CUstream S;
  CUevent E;
  CUcontext C;
  EXPECT_EQ(D->cuStreamCreate(&S, 7), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(D->cuStreamCreate(&S, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamGetCtx(S, &C), CUDA_SUCCESS);
  EXPECT_EQ(C, Primary);
  EXPECT_EQ(D->cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamGetCtx(S, &C), CUDA_SUCCESS);
  EXPECT_EQ(C, Primary);
  EXPECT_EQ(D->cuStreamSynchronize(S), CUDA_SUCCESS);
  auto Capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  EXPECT_EQ(D->cuStreamIsCapturing(S, &Capture), CUDA_SUCCESS);
  EXPECT_EQ(Capture, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(D->cuStreamDestroy(S), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxPushCurrent(Primary), CUDA_SUCCESS);
  EXPECT_EQ(D->cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(D->cuStreamDestroy(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(D->cuEventCreate(&E, 256), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuEventCreate(&E, CU_EVENT_INTERPROCESS),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(D->cuEventCreate(&E, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(D->cuEventDestroy(E), CUDA_SUCCESS);
  CUstreamCaptureMode Mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_EQ(D->cuThreadExchangeStreamCaptureMode(&Mode), CUDA_SUCCESS);
  EXPECT_EQ(Mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(D->cuThreadExchangeStreamCaptureMode(&Mode), CUDA_SUCCESS);
  EXPECT_EQ(Mode, CU_STREAM_CAPTURE_MODE_RELAXED);
}

TEST_P(Conformance, Memory) {
  usePrimary();
  CUdeviceptr P, Q;
  char Bytes[16] = "0123456789";
  EXPECT_EQ(D->cuMemAlloc(&P, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuMemAlloc(&P, size_t(1) << 50), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(D->cuMemAlloc(&P, 64), CUDA_SUCCESS);
  EXPECT_EQ(P % 256, 0u);
  EXPECT_EQ(D->cuMemcpyHtoD(P, Bytes, 16), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemsetD8(P + 4, '!', 2), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemcpyDtoH(Bytes, P + 2, 14), CUDA_SUCCESS);
  EXPECT_EQ(StringRef(Bytes), "23!!6789");
  EXPECT_EQ(D->cuMemcpyHtoD(P, Bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemcpyDtoH(Bytes, 12, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuMemsetD8(12, 0, 4), CUDA_ERROR_INVALID_VALUE);

  auto Get = [&](void *Out, CUpointer_attribute Id, CUdeviceptr Of) {
    return D->cuPointerGetAttribute(Out, Id, Of);
  };
  unsigned Type = 0;
  int Ordinal = -1;
  CUcontext C;
  EXPECT_EQ(Get(&Q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, P + 5), CUDA_SUCCESS);
  EXPECT_EQ(Q, P + 5);
  EXPECT_EQ(Get(&Type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, P), CUDA_SUCCESS);
  EXPECT_EQ(Type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(Get(&Ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, P),
            CUDA_SUCCESS);
  EXPECT_EQ(Ordinal, 0);
  EXPECT_EQ(Get(&C, CU_POINTER_ATTRIBUTE_CONTEXT, P), CUDA_SUCCESS);
  EXPECT_EQ(C, Primary);
  EXPECT_EQ(Get(&Q, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, P + 5),
            CUDA_SUCCESS);
  EXPECT_EQ(Q, P);
  size_t Size = 0;
  EXPECT_EQ(Get(&Size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, P), CUDA_SUCCESS);
  EXPECT_EQ(Size, 64u);
  void *Host;
  EXPECT_EQ(Get(&Host, CU_POINTER_ATTRIBUTE_HOST_POINTER, P),
            CUDA_ERROR_INVALID_VALUE);
  for (CUdeviceptr Foreign :
       {CUdeviceptr(0), reinterpret_cast<CUdeviceptr>(Bytes)}) {
    EXPECT_EQ(Get(&Q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, Foreign),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Get(&Type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, Foreign),
              CUDA_ERROR_INVALID_VALUE);
  }

  // The address is for the current context's kernels, so there must be one.
  EXPECT_EQ(D->cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Get(&Q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, P),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Get(&Type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, P), CUDA_SUCCESS);
  EXPECT_EQ(D->cuCtxSetCurrent(Primary), CUDA_SUCCESS);

  EXPECT_EQ(D->cuMemFree(P + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuMemFree(P), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemFree(0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuMemFree(12345), CUDA_ERROR_INVALID_VALUE);
}

/// A binary, and what the driver answers when its code is asked for.
struct Code {
  const char *File;
  CUresult Result;
};
const Code Codes[] = {
    {"kernels.sm_90.cubin", CUDA_SUCCESS},
    {"kernels.ptx", CUDA_SUCCESS},
    {"small.11.8.sm_90.cubin", CUDA_SUCCESS},
    {"small.12.0.sm_90a.cubin", CUDA_SUCCESS},
    {"small.13.0.sm_90a.cubin", CUDA_SUCCESS},
    {"small.11.8.sm_52.cubin", CUDA_ERROR_NO_BINARY_FOR_GPU},
    {"small.13.0.sm_80.cubin", CUDA_ERROR_NO_BINARY_FOR_GPU},
    {"small.12.9.sm_100a.cubin", CUDA_ERROR_NO_BINARY_FOR_GPU},
    {"small.13.0.sm_120.cubin", CUDA_ERROR_NO_BINARY_FOR_GPU},
    {"small.ptx", CUDA_SUCCESS},
    {"small.fatbin", CUDA_SUCCESS},
};
const std::pair<std::string, CUresult> Texts[] = {
    {"", CUDA_ERROR_INVALID_IMAGE},
    {"#include", CUDA_ERROR_INVALID_IMAGE},
    {"int x;", CUDA_ERROR_INVALID_IMAGE},
    {"\x7f"
     "ELF and then nonsense .........................................",
     CUDA_ERROR_INVALID_IMAGE},
    {".version 8.0\n.target sm_90\n.address_size 64\n garbage!",
     CUDA_ERROR_INVALID_PTX},
    {".version 8.7\n.target sm_100\n.address_size 64\n.entry k() { ret; }",
     CUDA_ERROR_INVALID_PTX},
    {".version 8.7\n.target sm_100a\n.address_size 64\n.entry k() { ret; }",
     CUDA_ERROR_INVALID_PTX},
    {".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { ret; }",
     CUDA_SUCCESS},
};

TEST_P(Conformance, LibrariesTellWhatIsWrongWhenAsked) {
  usePrimary();
  auto Try = [&](const std::string &Bytes, CUresult Result, const char *Name) {
    CUlibrary L = nullptr;
    CUkernel K = nullptr;
    CUdeviceptr P;
    size_t Size;
    ASSERT_EQ(loadLibrary(&L, Bytes), CUDA_SUCCESS);
    EXPECT_EQ(D->cuLibraryGetKernel(&K, L, Name), Result);
    EXPECT_EQ(D->cuLibraryGetGlobal(&P, &Size, L, "none"),
              Result ? Result : CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(D->cuLibraryUnload(L), CUDA_SUCCESS);
  };
  for (const Code &C : Codes) {
    SCOPED_TRACE(C.File);
    Try(readInput(C.File), C.Result,
        StringRef(C.File).starts_with("kernels") ? "axpy" : "k");
  }
  for (const auto &[Text, Result] : Texts) {
    SCOPED_TRACE(Text);
    Try(Text, Result, "k");
  }
  CUlibrary L;
  EXPECT_EQ(D->cuLibraryLoadData(&L, nullptr, nullptr, nullptr, 0, nullptr,
                                 nullptr, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_P(Conformance, ModulesTellAtOnce) {
  usePrimary();
  auto Try = [&](const std::string &Bytes, CUresult Result) {
    CUmodule M = nullptr;
    EXPECT_EQ(D->cuModuleLoadData(&M, Bytes.c_str()), Result);
    if (M) {
      EXPECT_EQ(D->cuModuleUnload(M), CUDA_SUCCESS);
    }
  };
  for (const Code &C : Codes) {
    SCOPED_TRACE(C.File);
    Try(readInput(C.File), C.Result);
  }
  for (const auto &[Text, Result] : Texts) {
    SCOPED_TRACE(Text);
    Try(Text, Result);
  }
  CUmodule M;
  EXPECT_EQ(D->cuModuleLoadData(&M, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(Conformance, LibrariesNeedNoContext) {
  std::string Bytes = readInput("kernels.sm_90.cubin");
  CUlibrary L;
  CUkernel K, Again;
  CUfunction F;
  CUdeviceptr P;
  size_t Size;
  int Value = 0;
  ASSERT_EQ(loadLibrary(&L, Bytes), CUDA_SUCCESS);
  ASSERT_EQ(D->cuLibraryGetKernel(&K, L, "axpy"), CUDA_SUCCESS);
  EXPECT_EQ(D->cuLibraryGetKernel(&Again, L, "axpy"), CUDA_SUCCESS);
  EXPECT_EQ(K, Again);
  EXPECT_EQ(D->cuLibraryGetKernel(&Again, L, "nope"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(D->cuLibraryGetGlobal(&P, &Size, L, "Counter"),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuKernelGetFunction(&F, K), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuKernelGetParamInfo(K, 0, &Size, &Size),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(D->cuKernelGetAttribute(&Value, CU_FUNC_ATTRIBUTE_NUM_REGS, K, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(Value, 12);
  constexpr auto Shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(D->cuKernelSetAttribute(Shared, 100000, K, 0), CUDA_SUCCESS);
  EXPECT_EQ(D->cuKernelGetAttribute(&Value, Shared, K, 0), CUDA_SUCCESS);
  EXPECT_EQ(Value, 100000);
  EXPECT_EQ(D->cuKernelGetAttribute(&Value, Shared, K, 99),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(D->cuKernelSetAttribute(Shared, 1, K, 99),
            CUDA_ERROR_INVALID_DEVICE);

  usePrimary();
  ASSERT_EQ(D->cuKernelGetFunction(&F, K), CUDA_SUCCESS);
  EXPECT_EQ(attribute(F, Shared), 100000);
  EXPECT_EQ(D->cuKernelSetAttribute(Shared, 90000, K, 0), CUDA_SUCCESS);
  EXPECT_EQ(attribute(F, Shared), 90000);
  EXPECT_EQ(D->cuFuncSetAttribute(F, Shared, 80000), CUDA_SUCCESS);
  EXPECT_EQ(D->cuKernelGetAttribute(&Value, Shared, K, 0), CUDA_SUCCESS);
  EXPECT_EQ(Value, 90000);
  CUfunction Same;
  EXPECT_EQ(D->cuKernelGetFunction(&Same, K), CUDA_SUCCESS);
  EXPECT_EQ(F, Same);
  EXPECT_EQ(D->cuLibraryUnload(L), CUDA_SUCCESS);
}

TEST_P(Conformance, Globals) {
  usePrimary();
  std::string Bytes = readInput("kernels.sm_90.cubin");
  CUlibrary L;
  CUmodule M;
  CUdeviceptr P = 0, Q = 0;
  size_t Size = 0;
  ASSERT_EQ(loadLibrary(&L, Bytes), CUDA_SUCCESS);
  EXPECT_EQ(D->cuLibraryGetGlobal(&P, &Size, L, "Counter"), CUDA_SUCCESS);
  EXPECT_EQ(Size, 16u);
  int Value = 7;
  EXPECT_EQ(D->cuMemcpyHtoD(P, &Value, 4), CUDA_SUCCESS);
  EXPECT_EQ(D->cuLibraryGetGlobal(&Q, nullptr, L, "Counter"), CUDA_SUCCESS);
  EXPECT_EQ(P, Q);
  EXPECT_EQ(D->cuLibraryGetGlobal(nullptr, &Size, L, "Scale"), CUDA_SUCCESS);
  EXPECT_EQ(Size, 12u);
  EXPECT_EQ(D->cuLibraryGetGlobal(nullptr, nullptr, L, "Scale"),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuLibraryGetGlobal(&P, &Size, L, "nope"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(D->cuLibraryGetGlobal(&P, &Size, L, "axpy"),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(D->cuModuleLoadData(&M, Bytes.data()), CUDA_SUCCESS);
  EXPECT_EQ(D->cuModuleGetGlobal(&P, &Size, M, "Counter"), CUDA_SUCCESS);
  EXPECT_EQ(Size, 16u);
  EXPECT_NE(P, Q);
  unsigned Type = 0;
  EXPECT_EQ(
      D->cuPointerGetAttribute(&Type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, P),
      CUDA_SUCCESS);
  EXPECT_EQ(Type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(D->cuModuleGetGlobal(&P, &Size, M, "nope"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(D->cuModuleUnload(M), CUDA_SUCCESS);
  EXPECT_EQ(D->cuLibraryUnload(L), CUDA_SUCCESS);
}

TEST_P(Conformance, FunctionsTellOfThemselves) {
  usePrimary();
  std::string Bytes = readInput("kernels.sm_90.cubin");
  CUmodule M;
  ASSERT_EQ(D->cuModuleLoadData(&M, Bytes.data()), CUDA_SUCCESS);
  // In the order of CUfunction_attribute.
  struct {
    const char *Name;
    std::vector<int> Attributes;
    std::vector<std::pair<size_t, size_t>> Parameters;
  } Cases[] = {
      {"axpy",
       {1024, 0, 12, 0, 12, 90, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0},
       {{0, 8}, {8, 8}, {16, 4}}},
      {"nothing",
       {1024, 0, 12, 0, 4, 90, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0},
       {}},
      {"bounded",
       {128, 1024, 12, 0, 10, 90, 90, 0, 48128, -1, 0, 0, 0, 0, 0, 0},
       {{0, 8}}},
      {"clustered",
       {1024, 0, 12, 0, 8, 90, 90, 0, 49152, -1, 1, 2, 1, 1, 0, 0},
       {{0, 8}}},
      {"required",
       {1024, 0, 12, 0, 8, 90, 90, 0, 49152, -1, 0, 2, 1, 1, 0, 0},
       {{0, 8}}},
      {"local",
       {1024, 0, 12, 528, 10, 90, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0},
       {{0, 8}, {8, 4}}},
      {"heavy",
       {896, 0, 12, 0, 72, 90, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0},
       {{0, 8}}},
      {"large",
       {1024, 0, 12, 0, 8, 90, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0},
       {{0, 5000}, {5000, 8}}},
  };
  for (const auto &Case : Cases) {
    SCOPED_TRACE(Case.Name);
    CUfunction F;
    ASSERT_EQ(D->cuModuleGetFunction(&F, M, Case.Name), CUDA_SUCCESS);
    for (size_t I = 0; I != Case.Attributes.size(); ++I)
      EXPECT_EQ(attribute(F, CUfunction_attribute(I)), Case.Attributes[I]) << I;
    const char *Name = nullptr;
    EXPECT_EQ(D->cuFuncGetName(&Name, F), CUDA_SUCCESS);
    EXPECT_STREQ(Name, Case.Name);
    size_t Offset, Size;
    for (size_t I = 0; I != Case.Parameters.size(); ++I) {
      EXPECT_EQ(D->cuFuncGetParamInfo(F, I, &Offset, &Size), CUDA_SUCCESS);
      EXPECT_EQ(Offset, Case.Parameters[I].first);
      EXPECT_EQ(Size, Case.Parameters[I].second);
    }
    EXPECT_EQ(D->cuFuncGetParamInfo(F, Case.Parameters.size(), &Offset, &Size),
              CUDA_ERROR_INVALID_VALUE);
  }
  CUfunction F;
  int Value;
  EXPECT_EQ(D->cuModuleGetFunction(&F, M, "nope"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(D->cuModuleGetFunction(&F, nullptr, "axpy"),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(D->cuFuncGetAttribute(&Value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(D->cuModuleGetFunction(&F, M, "axpy"), CUDA_SUCCESS);
  EXPECT_EQ(D->cuFuncGetAttribute(&Value, CUfunction_attribute(16), F),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(D->cuModuleUnload(M), CUDA_SUCCESS);
  EXPECT_EQ(D->cuModuleUnload(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_P(Conformance, FunctionAttributesHaveLimits) {
  usePrimary();
  std::string Bytes = readInput("kernels.sm_90.cubin");
  CUmodule M;
  CUfunction Nothing, Bounded, Clustered;
  ASSERT_EQ(D->cuModuleLoadData(&M, Bytes.data()), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&Nothing, M, "nothing"), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&Bounded, M, "bounded"), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&Clustered, M, "clustered"), CUDA_SUCCESS);
  struct {
    CUfunction F;
    int Id, Value;
    CUresult Result;
  } Cases[] = {
      {Nothing, CU_FUNC_ATTRIBUTE_NUM_REGS, 1, CUDA_ERROR_INVALID_VALUE},
      {Nothing, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1,
       CUDA_ERROR_INVALID_VALUE},
      {Nothing, 16, 1, CUDA_ERROR_INVALID_VALUE},
      {Nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448,
       CUDA_SUCCESS},
      {Nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449,
       CUDA_ERROR_INVALID_VALUE},
      {Bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 231424,
       CUDA_SUCCESS},
      {Bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 231425,
       CUDA_ERROR_INVALID_VALUE},
      {Bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1,
       CUDA_ERROR_INVALID_VALUE},
      {Nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100,
       CUDA_SUCCESS},
      {Nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101,
       CUDA_ERROR_INVALID_VALUE},
      {Nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1,
       CUDA_SUCCESS},
      {Nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2,
       CUDA_ERROR_INVALID_VALUE},
      {Nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
       CUDA_SUCCESS},
      {Clustered, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4,
       CUDA_ERROR_INVALID_VALUE},
      {Nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 1, CUDA_SUCCESS},
  };
  for (const auto &C : Cases) {
    EXPECT_EQ(D->cuFuncSetAttribute(C.F, CUfunction_attribute(C.Id), C.Value),
              C.Result)
        << C.Id << " " << C.Value;
    if (!C.Result) {
      EXPECT_EQ(attribute(C.F, CUfunction_attribute(C.Id)), C.Value);
    }
  }
  EXPECT_EQ(D->cuModuleUnload(M), CUDA_SUCCESS);
}

TEST_P(Conformance, Occupancy) {
  usePrimary();
  std::string Bytes = readInput("kernels.sm_90.cubin");
  CUmodule M;
  CUfunction Nothing, Bounded, Heavy;
  ASSERT_EQ(D->cuModuleLoadData(&M, Bytes.data()), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&Nothing, M, "nothing"), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&Bounded, M, "bounded"), CUDA_SUCCESS);
  ASSERT_EQ(D->cuModuleGetFunction(&Heavy, M, "heavy"), CUDA_SUCCESS);
  auto Blocks = [&](CUfunction F, int Threads, size_t Shared) {
    int Count = -7;
    EXPECT_EQ(D->cuOccupancyMaxActiveBlocksPerMultiprocessor(&Count, F, Threads,
                                                             Shared),
              CUDA_SUCCESS);
    return Count;
  };
  EXPECT_EQ(Blocks(Nothing, 1, 0), 32);
  EXPECT_EQ(Blocks(Nothing, 128, 0), 16);
  EXPECT_EQ(Blocks(Nothing, 1024, 0), 2);
  EXPECT_EQ(Blocks(Nothing, 2048, 0), 0);
  EXPECT_EQ(Blocks(Nothing, 128, 1000), 16);
  EXPECT_EQ(Blocks(Nothing, 128, 49152), 4);
  EXPECT_EQ(Blocks(Nothing, 128, 100000), 0);
  EXPECT_EQ(Blocks(Bounded, 256, 0), 8);
  EXPECT_EQ(Blocks(Bounded, 128, 49152), 0);
  // 28 warps of 72 registers.
  EXPECT_EQ(Blocks(Heavy, 896, 0), 1);
  EXPECT_EQ(Blocks(Heavy, 897, 0), 0);
  EXPECT_EQ(Blocks(Heavy, 128, 0), 7);
  int Count;
  EXPECT_EQ(
      D->cuOccupancyMaxActiveBlocksPerMultiprocessor(&Count, Nothing, 0, 0),
      CUDA_ERROR_INVALID_VALUE);

  CUlaunchAttribute A = {};
  A.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  CUlaunchConfig C = {64, 1, 1, 128, 1, 1, 0, nullptr, &A, 1};
  for (auto [Size, Result] : {std::pair(2u, CUDA_SUCCESS),
                              {8u, CUDA_SUCCESS},
                              {16u, CUDA_ERROR_INVALID_CLUSTER_SIZE},
                              {3u, CUDA_ERROR_INVALID_CLUSTER_SIZE}}) {
    A.value.clusterDim = {Size, 1, 1};
    Count = 0;
    EXPECT_EQ(D->cuOccupancyMaxActiveClusters(&Count, Nothing, &C), Result);
    EXPECT_EQ(Count > 0, Result == CUDA_SUCCESS) << Size;
  }
  EXPECT_EQ(D->cuModuleUnload(M), CUDA_SUCCESS);
}

} // namespace
