//===- DriverTest.cpp - Which driver is opened, and what it says ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The process's driver is opened once, so what chooses it is tested in
// processes of their own.
//
//===----------------------------------------------------------------------===//

#include "DriverFixture.h"

using namespace llvm;
using namespace launchjit;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

std::string messageOf(Error E) { return takeDetail(std::move(E)).Message; }

/// Runs \p Body in a process where nothing was opened yet; it prints what the
/// test then matches.
#define EXPECT_FRESH(Body, Printed)                                            \
  do {                                                                         \
    testing::FLAGS_gtest_death_test_style = "threadsafe";                      \
    EXPECT_EXIT(                                                               \
        {                                                                      \
          Body;                                                                \
          exit(0);                                                             \
        },                                                                     \
        testing::ExitedWithCode(0), Printed);                                  \
  } while (false)

void printProcess() {
  Expected<const Driver &> D = Driver::process();
  if (D)
    errs() << "open: " << driverKindName(D->kind()) << " " << D->path();
  else
    errs() << "error " << int(D.errorIsA<StatusError>()) << ": "
           << messageOf(D.takeError());
}

using DriverDeathTest = testing::Test;

TEST(DriverDeathTest, TheVariableChooses) {
  EXPECT_FRESH(
      {
        setenv("LAUNCHJIT_DRIVER", "recording", 1);
        printProcess();
      },
      "open: recording");
  EXPECT_FRESH(
      {
        setenv("LAUNCHJIT_DRIVER", "null", 1);
        printProcess();
      },
      "open: null");
  EXPECT_FRESH(
      {
        setenv("LAUNCHJIT_DRIVER", "cuda", 1);
        setenv("LAUNCHJIT_LIBCUDA", LAUNCHJIT_TEST_LIBCUDA_PATH, 1);
        printProcess();
      },
      "open: cuda .*libcuda.so.1");
  EXPECT_FRESH(
      {
        setenv("LAUNCHJIT_DRIVER", "cdua", 1);
        printProcess();
      },
      "LAUNCHJIT_DRIVER is 'cdua'; it may be cuda, recording or null");
}

TEST(DriverDeathTest, NothingStandsInForCuda) {
  EXPECT_FRESH(
      {
        unsetenv("LAUNCHJIT_DRIVER");
        setenv("LAUNCHJIT_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
        printProcess();
      },
      "no CUDA driver: /nonexistent/libcuda.so.1 cannot be opened "
      ".*No such file.*; correct LAUNCHJIT_LIBCUDA.*, or set "
      "LAUNCHJIT_DRIVER=recording to check launches without a GPU");
}

TEST(DriverDeathTest, AFailureIsTriedAnew) {
  EXPECT_FRESH(
      {
        setenv("LAUNCHJIT_DRIVER", "cuda", 1);
        setenv("LAUNCHJIT_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
        printProcess();
        errs() << (Driver::processIfOpen() ? "open" : "closed") << "; ";
        setenv("LAUNCHJIT_DRIVER", "null", 1);
        printProcess();
        errs() << (Driver::processIfOpen() ? "; still open" : "; closed");
      },
      "no CUDA driver.*closed; open: null.*still open");
}

TEST(DriverDeathTest, OnlyOneIsOpened) {
  EXPECT_FRESH(
      {
        setenv("LAUNCHJIT_DRIVER", "null", 1);
        const Driver *First = &cantFail(Driver::process());
        setenv("LAUNCHJIT_DRIVER", "recording", 1);
        const Driver *Second = &cantFail(Driver::process());
        errs() << (First == Second ? "same" : "another");
      },
      "same");
}

/// A driver of the tests: cuInit gives what \p Context points to.
CUresult InitResult = CUDA_SUCCESS;
std::vector<std::pair<std::string, int>> *Asked = nullptr;

void *resolve(void *, const char *Symbol, int Version) {
  if (Asked)
    Asked->emplace_back(Symbol, Version);
  if (StringRef(Symbol) == "cuInit")
    return reinterpret_cast<void *>(
        +[](unsigned) -> CUresult { return InitResult; });
  if (StringRef(Symbol) == "cuDriverGetVersion")
    return reinterpret_cast<void *>(+[](int *Version) -> CUresult {
      *Version = 12020;
      return CUDA_SUCCESS;
    });
  return nullptr;
}

TEST(DriverDeathTest, AHostsResolverIsTheProcesss) {
  EXPECT_FRESH(
      {
        setenv("LAUNCHJIT_DRIVER", "null", 1);
        cantFail(Driver::setResolver(resolve, nullptr));
        const Driver &D = cantFail(Driver::process());
        errs() << driverKindName(D.kind()) << " " << D.version() << " "
               << bool(D.cuMemAlloc) << "; "
               << messageOf(Driver::setResolver(resolve, nullptr));
      },
      "cuda 12020 0; a driver resolver must be set before the process's "
      "driver is first used");
}

TEST(Driver, AResolverIsAskedForTheHeadersSymbols) {
  std::vector<std::pair<std::string, int>> Names;
  Asked = &Names;
  InitResult = CUDA_SUCCESS;
  Expected<const Driver &> D = Driver::open(resolve, nullptr);
  Asked = nullptr;
  ASSERT_TRUE(bool(D));
  EXPECT_EQ(D->path(), "");
  EXPECT_EQ(D->kind(), DriverKind::Cuda);
  using testing::Contains;
  EXPECT_THAT(Names, Contains(std::pair<std::string, int>("cuInit", 2000)));
  EXPECT_THAT(Names,
              Contains(std::pair<std::string, int>("cuMemAlloc_v2", 3020)));
  EXPECT_THAT(Names,
              Contains(std::pair<std::string, int>("cuLaunchKernelEx", 11060)));
}

TEST(Driver, SaysWhyItCannotBeInitialized) {
  auto Open = [](CUresult Result) {
    InitResult = Result;
    Expected<const Driver &> D = Driver::open(resolve, nullptr);
    EXPECT_FALSE(bool(D));
    ErrorDetail Detail = D ? ErrorDetail() : takeDetail(D.takeError());
    EXPECT_EQ(Detail.Code, Status::Cuda);
    EXPECT_EQ(Detail.Cuda, int(Result));
    return Detail.Message;
  };
  EXPECT_EQ(Open(CUDA_ERROR_NO_DEVICE),
            "cannot initialise the CUDA driver: CUDA_ERROR_NO_DEVICE (100)");
  EXPECT_THAT(Open(CUDA_ERROR_STUB_LIBRARY),
              AllOf(HasSubstr("the CUDA toolkit's stub"),
                    HasSubstr("install the NVIDIA driver"),
                    HasSubstr("LAUNCHJIT_LIBCUDA")));
  Expected<const Driver &> Empty = Driver::open(
      [](void *, const char *, int) -> void * { return nullptr; }, nullptr);
  ASSERT_FALSE(bool(Empty));
  EXPECT_EQ(messageOf(Empty.takeError()),
            "the host's CUDA driver has no cuInit, so it is no CUDA driver");
}

TEST(Driver, SaysWhatIsMissing) {
  InitResult = CUDA_SUCCESS;
  Expected<const Driver &> D = Driver::open(resolve, nullptr);
  ASSERT_TRUE(bool(D));
  Error E = D->missing("cuKernelGetParamInfo", 0);
  ErrorDetail Detail = takeDetail(std::move(E));
  EXPECT_EQ(Detail.Code, Status::NoDriver);
  EXPECT_EQ(Detail.Message,
            "the CUDA driver (CUDA 12.2) has no cuKernelGetParamInfo, which "
            "came with CUDA 12.4: update the NVIDIA driver");
  EXPECT_EQ(messageOf(D->missing("cuSomething", 13010)),
            "the CUDA driver (CUDA 12.2) has no cuSomething, which came with "
            "CUDA 13.1: update the NVIDIA driver");
  EXPECT_EQ(messageOf(LJ_CUDA(*D, cuMemFree, "cannot free", 0)),
            "the CUDA driver (CUDA 12.2) has no cuMemFree, which came with "
            "CUDA 3.2: update the NVIDIA driver");
}

TEST(Driver, ErrorsHaveNameAndSentence) {
  Expected<const Driver &> D = Driver::open(DriverKind::Recording);
  ASSERT_TRUE(bool(D));
  ErrorDetail Detail =
      takeDetail(D->error(CUDA_ERROR_INVALID_VALUE, "cannot launch axpy"));
  EXPECT_EQ(Detail.Code, Status::Cuda);
  EXPECT_EQ(Detail.Cuda, 1);
  EXPECT_EQ(Detail.Message, "cannot launch axpy: CUDA_ERROR_INVALID_VALUE "
                            "(1): invalid argument");
  EXPECT_EQ(messageOf(D->error(CUresult(1001), "cannot launch axpy")),
            "cannot launch axpy: an unknown CUresult (1001)");
  // A driver that is newer than our headers.
  launchjit::Driver Newer = *D;
  Newer.cuGetErrorName = [](CUresult, const char **Name) {
    *Name = "CUDA_ERROR_NEW";
    return CUDA_SUCCESS;
  };
  Detail = takeDetail(Newer.error(CUresult(1001), "cannot launch axpy"));
  EXPECT_EQ(Detail.Message, "cannot launch axpy: CUDA_ERROR_NEW (1001)");
  EXPECT_EQ(Detail.CudaName, "CUDA_ERROR_NEW");
  EXPECT_FALSE(bool(D->check(CUDA_SUCCESS, "unused")));
  EXPECT_EQ(messageOf(LJ_CUDA(*D, cuMemFree, "cannot free", 5)),
            "cannot free: CUDA_ERROR_INVALID_CONTEXT (201): invalid device "
            "context");
}

TEST(Driver, KnowsErrorNamesWithoutADriver) {
  EXPECT_EQ(Driver::errorName(CUDA_SUCCESS), "CUDA_SUCCESS");
  EXPECT_EQ(Driver::errorName(CUDA_ERROR_INVALID_CLUSTER_SIZE),
            "CUDA_ERROR_INVALID_CLUSTER_SIZE");
  EXPECT_EQ(Driver::errorName(CUDA_ERROR_UNKNOWN), "CUDA_ERROR_UNKNOWN");
  EXPECT_EQ(Driver::errorName(CUresult(1001)), "an unknown CUresult");
  EXPECT_EQ(*Driver::errorName(CUDA_SUCCESS).end(), '\0');
}

TEST(Driver, KindsHaveNames) {
  for (DriverKind K :
       {DriverKind::Cuda, DriverKind::Recording, DriverKind::Null})
    EXPECT_EQ(parseDriverKind(driverKindName(K)), K);
  EXPECT_EQ(parseDriverKind("Cuda"), std::nullopt);
  EXPECT_EQ(parseDriverKind(""), std::nullopt);
}

} // namespace
