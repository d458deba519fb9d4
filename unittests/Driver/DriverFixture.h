//===- DriverFixture.h - Tests that run over one driver or several --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_DRIVER_DRIVERFIXTURE_H
#define LAUNCHJIT_UNITTESTS_DRIVER_DRIVERFIXTURE_H

#include "../Binary/Inputs.h"
#include "launchjit/Driver/Driver.h"
#include "launchjit/Driver/Recording.h"
#include <cstring>
#include <gmock/gmock.h>

namespace launchjit {

/// A test over a driver that begins with no context current, and leaves the
/// thread's contexts as they were.
class DriverFixture : public testing::Test {
protected:
  void open(DriverKind Kind) {
    llvm::Expected<const Driver &> Opened = Driver::open(Kind);
    if (!Opened)
      FAIL() << takeDetail(Opened.takeError()).Message;
    D = &*Opened;
    CUcontext C;
    while (D->cuCtxPopCurrent(&C) == CUDA_SUCCESS)
      Outside.push_back(C);
  }

  void usePrimary() {
    ASSERT_EQ(D->cuDevicePrimaryCtxRetain(&Primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(D->cuCtxPushCurrent(Primary), CUDA_SUCCESS);
  }

  void TearDown() override {
    if (!D)
      return;
    while (D->cuCtxPopCurrent(nullptr) == CUDA_SUCCESS)
      ;
    for (; !Outside.empty(); Outside.pop_back())
      D->cuCtxPushCurrent(Outside.back());
    if (Primary)
      D->cuDevicePrimaryCtxRelease(0);
  }

  CUresult loadLibrary(CUlibrary *L, const std::string &Code) {
    return D->cuLibraryLoadData(L, Code.c_str(), nullptr, nullptr, 0, nullptr,
                                nullptr, 0);
  }

  int attribute(CUfunction F, CUfunction_attribute Id) {
    int Value = -77;
    EXPECT_EQ(D->cuFuncGetAttribute(&Value, Id, F), CUDA_SUCCESS);
    return Value;
  }

  const Driver *D = nullptr;
  CUcontext Primary = nullptr;

private:
  std::vector<CUcontext> Outside;
};

/// What the CUDA driver does and what the recording one does are the same:
/// with an H200 in the machine these run over both.
class ConformanceFixture : public DriverFixture,
                           public testing::WithParamInterface<DriverKind> {
protected:
  void SetUp() override { open(GetParam()); }
};

/// The same with the primary context current, and a library of small kernels.
class ConformanceLibrary : public ConformanceFixture {
protected:
  void SetUp() override {
    ConformanceFixture::SetUp();
    if (HasFatalFailure())
      return;
    usePrimary();
    Bytes = readInput("kernels.sm_90.cubin");
    ASSERT_EQ(loadLibrary(&L, Bytes), CUDA_SUCCESS);
  }

  void TearDown() override {
    if (L)
      D->cuLibraryUnload(L);
    takeRecordedLaunches();
    ConformanceFixture::TearDown();
  }

  std::string Bytes;
  CUlibrary L = nullptr;
};

inline std::string kindName(const testing::TestParamInfo<DriverKind> &Info) {
  return driverKindName(Info.param).str();
}

/// The drivers whose answers are compared: the recording one is modelled on an
/// H200's, so that is the machine which the real one is asked on.
inline std::vector<DriverKind> conformingDrivers() {
  std::vector<DriverKind> Kinds = {DriverKind::Recording};
  llvm::Expected<const Driver &> Cuda = Driver::open(DriverKind::Cuda);
  if (!Cuda) {
    llvm::consumeError(Cuda.takeError());
    return Kinds;
  }
  char Name[64] = "";
  Cuda->cuDeviceGetName(Name, sizeof Name, 0);
  if (llvm::StringRef(Name) == "NVIDIA H200")
    Kinds.push_back(DriverKind::Cuda);
  return Kinds;
}

#define LJ_CONFORMANCE(Suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(Drivers, Suite,                                     \
                           testing::ValuesIn(conformingDrivers()), kindName)

} // namespace launchjit

#endif // LAUNCHJIT_UNITTESTS_DRIVER_DRIVERFIXTURE_H
