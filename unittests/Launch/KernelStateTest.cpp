//===- KernelStateTest.cpp - Contexts, and what a first launch prepares ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/KernelState.h"
#include "TestHelpers.h"
#include <thread>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

uint64_t number(const void *Handle) {
  return reinterpret_cast<uintptr_t>(Handle);
}

class LaunchContextTest : public RecordingTest {
protected:
  static ErrorDetail launch(const Kernel &K, CUstream Stream, int64_t X = 1) {
    return errorOf(K.launch(X, 1, 1, Stream, {Value::ofInt(7)}));
  }
  /// Launches into \p Context, on \p Device, and leaves what is current.
  static void expectIn(const Kernel &K, CUstream Stream, CUcontext Context,
                       int Device) {
    CUcontext Before = current();
    ErrorDetail D = launch(K, Stream);
    EXPECT_EQ(D.Code, Status::Success) << D.Message;
    RecordedLaunch L = onlyLaunch();
    EXPECT_EQ(L.Context, number(Context));
    EXPECT_EQ(L.Device, Device);
    EXPECT_EQ(L.Stream, number(Stream));
    EXPECT_EQ(current(), Before);
  }
  static void setCurrent(CUcontext C) {
    ASSERT_EQ(recording().cuCtxSetCurrent(C), CUDA_SUCCESS);
  }
  static std::array<CUstream, 3> special() {
    return {nullptr, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
  }
};

TEST_F(LaunchContextTest, AStreamDecidesWhateverIsCurrent) {
  OwnContext B(1), C(0);
  CUstream OfB = B.makeStream(), OfC = C.makeStream();
  KernelRef K = makeKernel("i32");
  for (unsigned Again = 0; Again != 3; ++Again) {
    SCOPED_TRACE(Again);
    expectIn(*K, OfB, B.get(), 1);
    expectIn(*K, nullptr, Primary[0], 0);
    expectIn(*K, OfC, C.get(), 0);
  }
  setCurrent(nullptr);
  expectIn(*K, OfB, B.get(), 1);
  setCurrent(C.get());
  expectIn(*K, OfB, B.get(), 1);
  expectIn(*K, nullptr, C.get(), 0);
  setCurrent(Primary[0]);
}

TEST_F(LaunchContextTest, TheFirstLaunchMayBeAnywhere) {
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  for (CUcontext Current : {Primary[0], Primary[1], CUcontext(nullptr)}) {
    setCurrent(Current);
    expectIn(*makeKernel("i32"), OfB, B.get(), 1);
  }
  setCurrent(Primary[0]);
}

TEST_F(LaunchContextTest, SpecialStreamsAreTheCurrentContexts) {
  OwnContext B(1);
  KernelOptions O;
  O.Device = 0; // says nothing where a context is current
  KernelRef K = makeKernel("i32", O);
  for (CUstream Stream : special()) {
    setCurrent(B.get());
    expectIn(*K, Stream, B.get(), 1);
    setCurrent(Primary[0]);
    expectIn(*K, Stream, Primary[0], 0);
  }
}

TEST_F(LaunchContextTest, WithoutACurrentOneTheDevicesPrimaryServes) {
  setCurrent(nullptr);
  for (int Device : {0, 1}) {
    KernelOptions O;
    O.Device = Device;
    KernelRef K = makeKernel("i32", O);
    for (CUstream Stream : special())
      for (unsigned Again = 0; Again != 2; ++Again)
        expectIn(*K, Stream, Primary[Device], Device);
  }
  setCurrent(Primary[0]);
}

TEST_F(LaunchContextTest, AFreshThreadLaunchesFirst) {
  KernelOptions O;
  O.Device = 1;
  KernelRef K = makeKernel("i32", O);
  std::thread([&] {
    EXPECT_EQ(current(), nullptr);
    expectIn(*K, nullptr, Primary[1], 1);
    EXPECT_EQ(current(), nullptr);
  }).join();
}

TEST_F(LaunchContextTest, ADeviceThatIsNotThereIsAnError) {
  setCurrent(nullptr);
  KernelOptions O;
  O.Device = 7;
  KernelRef K = makeKernel("i32", O);
  ErrorDetail D = launch(*K, nullptr);
  EXPECT_EQ(D.Cuda, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_THAT(D.Message,
              testing::StartsWith("cannot retain the primary context of device "
                                  "7: CUDA_ERROR_INVALID_DEVICE"));
  EXPECT_EQ(errorOf(K->load(-1)).Cuda, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(countLaunches(), 0u);
  setCurrent(Primary[0]);
}

TEST_F(LaunchContextTest, ErrorsLeaveTheCurrentContext) {
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  KernelOptions Refused;
  Refused.Block[0] = 2000;
  KernelOptions NoScratch;
  NoScratch.ScratchSize[0] = 1;
  NoScratch.Scratch = [](void *, char, uint64_t, uint64_t,
                         CUstream) -> uint64_t { return 0; };
  // Newer than the device.
  std::string Newer = ptx(parse("i32"));
  Newer.replace(Newer.find("sm_90"), 5, "sm_99");
  const KernelRef Failing[] = {
      makeKernel("i32", Refused),
      makeKernel(parseScratch("i32", ScratchGlobal), NoScratch),
      valueOf(Kernel::create(loadPTX(Newer), "k", parse("i32")))};
  for (CUcontext Current : {Primary[0], CUcontext(nullptr)}) {
    setCurrent(Current);
    for (const KernelRef &K : Failing)
      for (CUstream Stream : {CUstream(nullptr), OfB})
        for (unsigned Again = 0; Again != 2; ++Again) {
          EXPECT_NE(launch(*K, Stream).Code, Status::Success);
          EXPECT_EQ(current(), Current);
        }
    KernelRef K = makeKernel("i32");
    for (unsigned Again = 0; Again != 2; ++Again) {
      EXPECT_EQ(launch(*K, OfB, INT64_MAX).Code, Status::ArgumentValue);
      EXPECT_EQ(current(), Current);
      failRecordedLaunches(CUDA_ERROR_LAUNCH_FAILED, 5);
      EXPECT_EQ(launch(*K, OfB).Cuda, CUDA_ERROR_LAUNCH_FAILED);
      failRecordedLaunches(CUDA_SUCCESS, 0);
      EXPECT_EQ(current(), Current);
    }
  }
  EXPECT_EQ(countLaunches(), 0u);
  setCurrent(Primary[0]);
}

TEST_F(LaunchContextTest, AStreamOfADestroyedContextIsAnError) {
  KernelRef K = makeKernel("i32");
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  expectIn(*K, OfB, B.get(), 1);
  B.destroy();
  EXPECT_EQ(launch(*K, OfB).Code, Status::Cuda);
  EXPECT_EQ(current(), Primary[0]);
}

//===----------------------------------------------------------------------===//
// A context whose address is used again
//===----------------------------------------------------------------------===//

/// Seen from outside, Real has the handle alias(). The recording driver itself
/// uses no handle twice; the CUDA driver does.
CUcontext alias() { return reinterpret_cast<CUcontext>(0xA11A50); }
CUcontext Real;

DriverTable aliasing() {
  DriverTable T = recording();
  T.cuCtxGetCurrent = [](CUcontext *C) {
    CUresult R = recording().cuCtxGetCurrent(C);
    *C = *C == Real ? alias() : *C;
    return R;
  };
  T.cuStreamGetCtx = [](CUstream S, CUcontext *C) {
    CUresult R = recording().cuStreamGetCtx(S, C);
    if (R == CUDA_SUCCESS && *C == Real)
      *C = alias();
    return R;
  };
  T.cuCtxPushCurrent = [](CUcontext C) {
    return recording().cuCtxPushCurrent(C == alias() ? Real : C);
  };
  return T;
}

void hideLibraries(DriverTable &T) {
  T.cuLibraryLoadData = nullptr;
  T.cuLibraryUnload = nullptr;
  T.cuLibraryGetKernel = nullptr;
  T.cuLibraryGetGlobal = nullptr;
  T.cuKernelGetFunction = nullptr;
  T.cuKernelGetAttribute = nullptr;
  T.cuKernelSetAttribute = nullptr;
  T.cuKernelGetParamInfo = nullptr;
  T.cuFuncGetParamInfo = nullptr;
}

TEST_F(LaunchContextTest, AnAddressIsUsedAgainOnAnotherDevice) {
  static const DriverTable New = aliasing();
  static const DriverTable Old = [] {
    DriverTable T = aliasing();
    hideLibraries(T);
    return T;
  }();
  for (const DriverTable *Table : {&New, &Old}) {
    SCOPED_TRACE(Table == &New ? "library API" : "module API");
    KernelOptions O;
    O.Shared = 200000; // wants the limit raised on each device
    KernelRef K = makeKernel("i32", O, "", openTable(*Table));
    for (int Device : {0, 1, 0}) {
      OwnContext B(Device);
      Real = B.get();
      CUstream OfB = B.makeStream();
      for (unsigned Again = 0; Again != 2; ++Again)
        expectIn(*K, OfB, B.get(), Device);
      Real = nullptr;
    }
  }
}

//===----------------------------------------------------------------------===//
// What the host owns
//===----------------------------------------------------------------------===//

class HostFunctionTest : public LaunchContextTest {
protected:
  /// A CUmodule in \p C and its function.
  CUfunction load(CUcontext C) {
    const Driver &D = recording();
    CUmodule M = nullptr;
    CUfunction F = nullptr;
    EXPECT_EQ(D.cuCtxPushCurrent(C), CUDA_SUCCESS);
    EXPECT_EQ(D.cuModuleLoadData(&M, Text.c_str()), CUDA_SUCCESS);
    EXPECT_EQ(D.cuModuleGetFunction(&F, M, "k"), CUDA_SUCCESS);
    EXPECT_EQ(D.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
    return F;
  }
  CUkernel loadKernel() {
    const Driver &D = recording();
    CUlibrary L = nullptr;
    CUkernel K = nullptr;
    EXPECT_EQ(D.cuLibraryLoadData(&L, Text.c_str(), nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(D.cuLibraryGetKernel(&K, L, "k"), CUDA_SUCCESS);
    return K;
  }
  template <typename Handle>
  Expected<KernelRef> wrap(Handle H, StringRef S = "i32",
                           const KernelOptions &O = {},
                           const Driver &D = recording()) {
    return Kernel::wrap(H, "mine", parse(S), O, &D);
  }

  std::string Text = ptx(parse("i32"));
};

TEST_F(HostFunctionTest, AFunctionIsLaunchedInItsContext) {
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  KernelOptions O;
  O.Shared = 100000;
  KernelRef K = valueOf(wrap(load(B.get()), "i32", O));
  for (unsigned Again = 0; Again != 2; ++Again)
    expectIn(*K, OfB, B.get(), 1);
  setCurrent(B.get());
  expectIn(*K, nullptr, B.get(), 1);
  setCurrent(Primary[0]);
}

TEST_F(HostFunctionTest, AFunctionInAWrongContextIsAnError) {
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  KernelRef K = valueOf(wrap(load(B.get())));
  for (unsigned Again = 0; Again != 2; ++Again) {
    ErrorDetail D = launch(*K, nullptr); // device 0's primary context
    EXPECT_EQ(D.Cuda, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_THAT(D.Message,
                testing::StartsWith("kernel 'mine' was not launched: "
                                    "CUDA_ERROR_INVALID_HANDLE"));
    EXPECT_EQ(countLaunches(), 0u);
    expectIn(*K, OfB, B.get(), 1);
  }
}

// A driver may want a CUfunction's context to be current, not only its stream
// to be of it.
TEST_F(HostFunctionTest, AFunctionsContextIsMadeCurrentWhereItMustBe) {
  static const DriverTable Strict = [] {
    DriverTable T = recording();
    T.cuLaunchKernelEx = [](const CUlaunchConfig *C, CUfunction F, void **P,
                            void **E) {
      CUcontext OfStream = nullptr;
      recording().cuStreamGetCtx(C->hStream, &OfStream);
      return OfStream != current() ? CUDA_ERROR_INVALID_HANDLE
                                   : recording().cuLaunchKernelEx(C, F, P, E);
    };
    return T;
  }();
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  KernelRef K = valueOf(wrap(load(B.get()), "i32", {}, openTable(Strict)));
  for (unsigned Again = 0; Again != 3; ++Again)
    expectIn(*K, OfB, B.get(), 1);
}

TEST_F(HostFunctionTest, AKernelIsLaunchedInAnyContext) {
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  KernelOptions O;
  O.Shared = 200000;
  KernelRef K = valueOf(wrap(loadKernel(), "i32", O));
  for (unsigned Again = 0; Again != 2; ++Again) {
    expectIn(*K, OfB, B.get(), 1);
    expectIn(*K, nullptr, Primary[0], 0);
  }
}

TEST_F(HostFunctionTest, SignaturesAreCheckedWhereTheDriverTells) {
  constexpr char Message[] =
      "the signature has 2 parameters, but kernel 'mine' has 1";
  EXPECT_EQ(errorOf(wrap(load(Primary[0]), "i32, i32")).Message, Message);
  EXPECT_EQ(errorOf(wrap(loadKernel(), "i32, i32")).Message, Message);
  EXPECT_EQ(errorOf(wrap(load(Primary[0]), "x: i64")).Message,
            "argument 0 ('x', i64) has 8 bytes in the signature, but 4 in "
            "kernel 'mine'");
}

// The driver tells of a CUkernel only where a context is current.
TEST_F(HostFunctionTest, ACheckThatWasPutOffFailsEveryLaunch) {
  setCurrent(nullptr);
  KernelRef Good = valueOf(wrap(loadKernel()));
  expectIn(*Good, nullptr, Primary[0], 0);
  auto Bad = wrap(loadKernel(), "i32, i32");
  setCurrent(Primary[0]);
  if (!Bad) { // told at once: better still
    EXPECT_EQ(takeDetail(Bad.takeError()).Code, Status::Signature);
    return;
  }
  for (unsigned Again = 0; Again != 3; ++Again) {
    ErrorDetail D = errorOf(
        (*Bad)->launch(1, 1, 1, nullptr, {Value::ofInt(1), Value::ofInt(2)}));
    EXPECT_EQ(D.Code, Status::Signature);
    EXPECT_EQ(D.Message,
              "the signature has 2 parameters, but kernel 'mine' has 1");
  }
  EXPECT_EQ(countLaunches(), 0u);
}

//===----------------------------------------------------------------------===//
// What a first launch prepares
//===----------------------------------------------------------------------===//

unsigned NumLoads, NumSets, NumFunctionSets;
int LastSet;
/// What the kernel's static shared memory is said to be, bytes.
constexpr int StaticShared = 64;

DriverTable counting() {
  DriverTable T = recording();
  T.cuLibraryLoadData = [](CUlibrary *L, const void *Code, CUjit_option *J,
                           void **JV, unsigned N, CUlibraryOption *O, void **OV,
                           unsigned M) {
    ++NumLoads;
    return recording().cuLibraryLoadData(L, Code, J, JV, N, O, OV, M);
  };
  T.cuModuleLoadData = [](CUmodule *M, const void *Code) {
    ++NumLoads;
    return recording().cuModuleLoadData(M, Code);
  };
  T.cuKernelSetAttribute = [](CUfunction_attribute A, int V, CUkernel K,
                              CUdevice D) {
    ++NumSets;
    LastSet = V;
    return recording().cuKernelSetAttribute(A, V, K, D);
  };
  T.cuKernelGetAttribute = [](int *V, CUfunction_attribute A, CUkernel K,
                              CUdevice D) {
    CUresult R = recording().cuKernelGetAttribute(V, A, K, D);
    if (A == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
      *V = StaticShared;
    return R;
  };
  T.cuFuncSetAttribute = [](CUfunction F, CUfunction_attribute A, int V) {
    ++NumFunctionSets;
    return recording().cuFuncSetAttribute(F, A, V);
  };
  return T;
}

class PreparationTest : public LaunchContextTest {
protected:
  void SetUp() override {
    LaunchContextTest::SetUp();
    NumLoads = NumSets = NumFunctionSets = 0;
  }
  static const Driver &driver() {
    static const DriverTable Table = counting();
    static const Driver &D = openTable(Table);
    return D;
  }
  static const Driver &oldDriver() {
    static const DriverTable Table = [] {
      DriverTable T = counting();
      hideLibraries(T);
      return T;
    }();
    static const Driver &D = openTable(Table);
    return D;
  }
};

TEST_F(PreparationTest, SharedMemoryIsRaisedOnceADevice) {
  OwnContext B(1), C(1);
  CUstream OfB = B.makeStream(), OfC = C.makeStream();
  KernelOptions O;
  O.Shared = 232448 - StaticShared;
  KernelRef K = makeKernel("i32", O, "", driver());
  for (unsigned Again = 0; Again != 2; ++Again) {
    expectIn(*K, nullptr, Primary[0], 0);
    expectIn(*K, OfB, B.get(), 1);
    expectIn(*K, OfC, C.get(), 1);
  }
  EXPECT_EQ(NumLoads, 1u);
  EXPECT_EQ(NumSets, 2u);
  EXPECT_EQ(LastSet, 232448 - StaticShared);
  EXPECT_EQ(NumFunctionSets, 0u);
  // Siblings share that.
  O.Block[0] = 64;
  expectIn(*valueOf(K->withOptions(O)), OfB, B.get(), 1);
  EXPECT_EQ(NumSets, 2u);
}

TEST_F(PreparationTest, LoadTakesTheCostFromTheFirstLaunch) {
  KernelRef K = makeKernel("i32", {}, "", driver());
  EXPECT_EQ(errorOf(K->load(1)).Code, Status::Success);
  EXPECT_EQ(current(), Primary[0]);
  EXPECT_EQ(NumLoads, 1u);
  EXPECT_EQ(NumSets, 1u);
  EXPECT_EQ(errorOf(K->load(1)).Code, Status::Success);
  setCurrent(Primary[1]);
  expectIn(*K, nullptr, Primary[1], 1);
  EXPECT_EQ(NumSets, 1u);
  setCurrent(nullptr);
  EXPECT_EQ(errorOf(K->load(0)).Code, Status::Success);
  EXPECT_EQ(current(), nullptr);
  setCurrent(Primary[0]);
  EXPECT_EQ(NumLoads, 1u);
  EXPECT_EQ(NumSets, 2u);
}

TEST_F(PreparationTest, NonPortableClustersWhereTheyAreAskedFor) {
  KernelOptions O;
  O.Attributes = {clusterAttribute(16, 1, 1)};
  KernelRef K = makeKernel("i32", O, "", driver());
  EXPECT_EQ(launch(*K, nullptr, 16).Cuda, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  O.NonPortableCluster = true;
  KernelRef Asked = valueOf(K->withOptions(O));
  OwnContext B(1);
  CUstream OfB = B.makeStream();
  for (CUstream Stream : {CUstream(nullptr), OfB}) {
    ErrorDetail D = launch(*Asked, Stream, 32);
    EXPECT_EQ(D.Code, Status::Success) << D.Message;
  }
  EXPECT_EQ(countLaunches(), 2u);
}

TEST_F(PreparationTest, ThreadsThatLaunchFirstLoadOnce) {
  KernelRef K = makeKernel("i32", {}, "", driver());
  std::atomic<bool> Go{false};
  std::atomic<unsigned> Failed{0};
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 8; ++T)
    Threads.emplace_back([&] {
      while (!Go)
        std::this_thread::yield();
      Failed += launch(*K, nullptr).Code != Status::Success;
    });
  Go = true;
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Failed, 0u);
  EXPECT_EQ(countLaunches(), 8u);
  EXPECT_EQ(NumLoads, 1u);
  EXPECT_EQ(NumSets, 1u);
}

TEST_F(PreparationTest, OldDriversLoadAModuleAContext) {
  OwnContext B(1), C(1);
  CUstream OfB = B.makeStream(), OfC = C.makeStream();
  KernelOptions O;
  O.Shared = 200000;
  O.NonPortableCluster = true;
  KernelRef K = makeKernel("i32", O, "", oldDriver());
  for (unsigned Again = 0; Again != 2; ++Again) {
    expectIn(*K, OfB, B.get(), 1);
    expectIn(*K, nullptr, Primary[0], 0);
    expectIn(*K, OfC, C.get(), 1);
  }
  EXPECT_EQ(NumLoads, 3u);
  EXPECT_EQ(NumSets, 0u);
  EXPECT_EQ(NumFunctionSets, 6u); // two limits each
}

} // namespace
