//===- ModuleTest.cpp - A kernel binary, and where it is loaded -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Module.h"
#include "TestHelpers.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

constexpr char Text[] = ".version 8.5\n.target sm_90\n.address_size 64\n"
                        ".global .align 4 .b8 table[64];\n"
                        ".const .align 8 .f64 factor;\n"
                        ".visible .entry k() { ret; }\n";

TEST(Module, TellsWhatItIs) {
  ModuleRef M = loadPTX(Text);
  EXPECT_EQ(M->name(), "test.ptx");
  EXPECT_EQ(toStringRef(M->bytes()), Text);
  EXPECT_EQ(M->binary().Format, BinaryFormat::PTX);
  ASSERT_EQ(M->binary().Kernels.size(), 1u);
  auto D = M->driver();
  ASSERT_TRUE(bool(D));
  EXPECT_EQ(&*D, &recording());
}

TEST(Module, BytesThatAreNoBinaryAreAnError) {
  for (StringRef Bytes : {"", "hello",
                          "\x7f"
                          "ELF"}) {
    ErrorDetail D = errorOf(
        Module::create(arrayRefFromStringRef<uint8_t>(Bytes), "k.cubin"));
    EXPECT_EQ(D.Code, Status::Binary) << Bytes.str();
    EXPECT_THAT(D.Message, testing::HasSubstr("k.cubin"));
  }
}

TEST(Module, FilesAreReadWhole) {
  ErrorDetail D = errorOf(Module::createFromFile("/no/such/k.cubin"));
  EXPECT_EQ(D.Code, Status::IO);
  EXPECT_EQ(D.Message,
            "cannot read '/no/such/k.cubin': No such file or directory");
  EXPECT_EQ(errorOf(Module::createFromFile("/")).Code, Status::IO);

  std::string Path = testing::TempDir() + "launchjit-module-test.ptx";
  std::FILE *F = std::fopen(Path.c_str(), "w");
  ASSERT_TRUE(F);
  std::fputs(Text, F);
  std::fclose(F);
  ModuleRef M = valueOf(Module::createFromFile(Path, &recording()));
  std::remove(Path.c_str());
  EXPECT_EQ(M->name(), Path);
  EXPECT_EQ(toStringRef(M->bytes()), Text);
}

class FatbinTest : public RecordingTest {};

// What a fatbin has inside only the driver knows.
TEST_F(FatbinTest, IsTakenOnTrust) {
  const uint8_t Fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};
  ModuleRef M = valueOf(Module::create(Fatbin, "k.fatbin", &recording()));
  EXPECT_EQ(M->binary().Format, BinaryFormat::Fatbin);
  KernelRef K = valueOf(Kernel::create(M, "any", parse("i8, i32")));
  ASSERT_FALSE(
      bool(K->launch(1, 1, 1, nullptr, {Value::ofInt(1), Value::ofInt(2)})));
  RecordedLaunch L = onlyLaunch();
  EXPECT_EQ(L.Kernel, "any");
  ASSERT_EQ(L.Parameters.size(), 1u); // the buffer as it was given
  ASSERT_EQ(L.Parameters[0].size(), 8u);
  EXPECT_EQ(L.Parameters[0][0], 1);
  EXPECT_EQ(L.Parameters[0][4], 2);
  EXPECT_EQ(errorOf(M->getGlobal("table")).Code, Status::Cuda);
}

// Where the binary does not tell its parameters, the driver may.
TEST_F(FatbinTest, IsCheckedWithTheDriver) {
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuKernelGetParamInfo = [](CUkernel, size_t Index, size_t *Offset,
                                size_t *Size) {
      if (Index)
        return CUDA_ERROR_INVALID_VALUE;
      *Offset = 0;
      *Size = 4;
      return CUDA_SUCCESS;
    };
    return T;
  }();
  const uint8_t Fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};
  ModuleRef M = valueOf(Module::create(Fatbin, "k.fatbin", &openTable(Table)));
  KernelRef Good = valueOf(Kernel::create(M, "k", parse("i32")));
  KernelRef Bad = valueOf(Kernel::create(M, "k", parse("n: i64")));
  for (unsigned Again = 0; Again != 2; ++Again) {
    EXPECT_EQ(
        errorOf(Good->launch(1, 1, 1, nullptr, {Value::ofInt(1)})).Message,
        "no error");
    ErrorDetail D = errorOf(Bad->launch(1, 1, 1, nullptr, {Value::ofInt(1)}));
    EXPECT_EQ(D.Code, Status::Signature);
    EXPECT_EQ(D.Message, "argument 0 ('n', i64) has 8 bytes in the signature, "
                         "but 4 in kernel 'k'");
  }
  EXPECT_EQ(countLaunches(), 2u);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

class GlobalTest : public RecordingTest,
                   public testing::WithParamInterface<bool> {
protected:
  static const Driver &driver() {
    static const DriverTable Old = [] {
      DriverTable T = recording();
      T.cuLibraryLoadData = nullptr;
      return T;
    }();
    static const Driver &OldDriver = openTable(Old);
    return GetParam() ? recording() : OldDriver;
  }
};

TEST_P(GlobalTest, HasAnAddressAndASizeInEachContext) {
  ModuleRef M = loadPTX(Text, driver());
  Module::Global Table = valueOf(M->getGlobal("table"));
  EXPECT_NE(Table.Address, 0u);
  EXPECT_EQ(Table.Size, 64u);
  Module::Global Factor = valueOf(M->getGlobal("factor"));
  EXPECT_NE(Factor.Address, Table.Address);
  EXPECT_EQ(Factor.Size, 8u);
  EXPECT_EQ(valueOf(M->getGlobal("table", 1)).Address, Table.Address);

  OwnContext B(1);
  ASSERT_EQ(recording().cuCtxSetCurrent(B.get()), CUDA_SUCCESS);
  EXPECT_NE(valueOf(M->getGlobal("table", 0)).Address, Table.Address);
  // Without a current context, the device's primary one.
  ASSERT_EQ(recording().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(valueOf(M->getGlobal("table", 0)).Address, Table.Address);
  EXPECT_NE(valueOf(M->getGlobal("table", 1)).Address, Table.Address);
  EXPECT_EQ(current(), nullptr);
  ASSERT_EQ(recording().cuCtxSetCurrent(Primary[0]), CUDA_SUCCESS);
}

TEST_P(GlobalTest, AnUnknownOneListsTheKnown) {
  ErrorDetail D = errorOf(loadPTX(Text, driver())->getGlobal("tabel"));
  EXPECT_EQ(D.Code, Status::NotFound);
  EXPECT_EQ(D.Message,
            "test.ptx has no variable 'tabel'; it has factor, table");
  // A kernel is none.
  EXPECT_EQ(errorOf(loadPTX(Text, driver())->getGlobal("k")).Code,
            Status::NotFound);
  EXPECT_EQ(errorOf(loadPTX(ptx(parse("")), driver())->getGlobal("x")).Message,
            "test.ptx has no variable 'x'; it has none");
}

INSTANTIATE_TEST_SUITE_P(Both, GlobalTest, testing::Values(true, false),
                         [](const testing::TestParamInfo<bool> &I) {
                           return I.param ? "LibraryAPI" : "ModuleAPI";
                         });

//===----------------------------------------------------------------------===//
// Unloading
//===----------------------------------------------------------------------===//

std::string Calls;

class UnloadTest : public RecordingTest {
protected:
  void SetUp() override {
    RecordingTest::SetUp();
    Calls.clear();
  }
  static DriverTable logging() {
    DriverTable T = recording();
    T.cuLibraryUnload = [](CUlibrary L) {
      Calls += "library ";
      return recording().cuLibraryUnload(L);
    };
    T.cuModuleUnload = [](CUmodule M) {
      Calls += "module ";
      return recording().cuModuleUnload(M);
    };
    T.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode *Mode) {
      Calls += *Mode == CU_STREAM_CAPTURE_MODE_RELAXED ? "relax " : "restore ";
      return recording().cuThreadExchangeStreamCaptureMode(Mode);
    };
    return T;
  }
  static const Driver &driver() {
    static const DriverTable Table = logging();
    static const Driver &D = openTable(Table);
    return D;
  }
  static const Driver &oldDriver() {
    static const DriverTable Table = [] {
      DriverTable T = logging();
      T.cuLibraryLoadData = nullptr;
      return T;
    }();
    static const Driver &D = openTable(Table);
    return D;
  }
  static KernelRef launched(const Driver &D) {
    KernelRef K = valueOf(Kernel::create(loadPTX(Text, D), "k", parse("")));
    EXPECT_FALSE(bool(K->launch(1, 1, 1, nullptr, {})));
    return K;
  }
};

TEST_F(UnloadTest, HappensWhereACaptureMayGoOn) {
  KernelRef K = launched(driver());
  EXPECT_EQ(Calls, "");
  K.reset();
  EXPECT_EQ(Calls, "relax library restore ");
}

TEST_F(UnloadTest, WaitsForTheLastKernel) {
  ModuleRef M = loadPTX(Text, driver());
  KernelRef K = valueOf(Kernel::create(M, "k", parse("")));
  EXPECT_FALSE(bool(K->launch(1, 1, 1, nullptr, {})));
  M.reset();
  EXPECT_EQ(Calls, "");
  EXPECT_FALSE(bool(K->launch(1, 1, 1, nullptr, {})));
  K.reset();
  EXPECT_EQ(Calls, "relax library restore ");
}

TEST_F(UnloadTest, WhatWasNeverLoadedIsNot) {
  valueOf(Kernel::create(loadPTX(Text, driver()), "k", parse(""))).reset();
  EXPECT_EQ(Calls, "");
}

TEST_F(UnloadTest, OldDriversUnloadAModuleAContext) {
  OwnContext B(1), C(1);
  CUstream OfB = B.makeStream(), OfC = C.makeStream();
  KernelRef K = launched(oldDriver());
  EXPECT_FALSE(bool(K->launch(1, 1, 1, OfB, {})));
  EXPECT_FALSE(bool(K->launch(1, 1, 1, OfC, {})));
  B.destroy(); // and its module with it
  K.reset();
  EXPECT_EQ(Calls, "relax module module restore ");
}

TEST_F(UnloadTest, AForkedChildUnloadsNothing) {
  KernelRef K = launched(driver());
  pid_t Child = fork();
  if (Child == 0) {
    K.reset();
    _exit(Calls.empty() ? 0 : 1);
  }
  int Status = -1;
  ASSERT_EQ(waitpid(Child, &Status, 0), Child);
  EXPECT_EQ(Status, 0);
  K.reset();
  EXPECT_EQ(Calls, "relax library restore ");
}

} // namespace
