//===- InterpreterTest.cpp - Launching without generated code -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DifferentialTest has the random signatures; here a C++ compiler makes the
// calls, so that the caller's side of the convention is nobody's imitation.
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include "launchjit/Launch/Launcher.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

struct Point {
  float X, Y, Z;
};

class InterpreterTest : public RecordingTest,
                        public testing::WithParamInterface<bool> {
protected:
  /// The `c` entry of a kernel: the compiled or the interpreted one.
  template <typename... Arguments>
  int callC(const KernelRef &K, Arguments... A) {
    using Entry = int (*)(const StubKernel *, int64_t, int64_t, int64_t,
                          CUstream, Arguments...);
    LauncherRef L = valueOf(K->launcher(EntryKind::C));
    void *Function =
        GetParam() ? L->entry() : Launcher::interpretedEntry(EntryKind::C);
    return reinterpret_cast<Entry>(Function)(&K->data(), 3, 2, 1, nullptr,
                                             A...);
  }
};

TEST_P(InterpreterTest, EveryTypeAsItsCType) {
  KernelRef K = makeKernel("i1, i8, i16, i32, i64, u1, u8, u16, u32, u64, fp16,"
                           "bf16, fp32, fp64, *fp32, struct<12,4>");
  Point P = {1, 2, 3};
  ASSERT_EQ(callC(K, uint8_t(1), int8_t(-2), int16_t(-3), int32_t(-4),
                  int64_t(-5), uint8_t(0), uint8_t(250), uint16_t(65000),
                  uint32_t(4000000000u), ~uint64_t(0), uint16_t(0x3C00),
                  uint16_t(0x3F80), 1.5f, -2.5, CUdeviceptr(0x7F0012345678),
                  static_cast<const void *>(&P)),
            0)
      << lastError().Message;
  RecordedLaunch L = onlyLaunch();
  EXPECT_THAT(L.Grid, testing::ElementsAre(3, 2, 1));
  EXPECT_THAT(
      L.Parameters,
      testing::ElementsAre(
          bytesOf(uint8_t(1)), bytesOf(int8_t(-2)), bytesOf(int16_t(-3)),
          bytesOf(int32_t(-4)), bytesOf(int64_t(-5)), bytesOf(uint8_t(0)),
          bytesOf(uint8_t(250)), bytesOf(uint16_t(65000)),
          bytesOf(uint32_t(4000000000u)), bytesOf(~uint64_t(0)),
          bytesOf(uint16_t(0x3C00)), bytesOf(uint16_t(0x3F80)), bytesOf(1.5f),
          bytesOf(-2.5), bytesOf(uint64_t(0x7F0012345678)), bytesOf(P)));
}

TEST_P(InterpreterTest, MoreFloatsAndIntegersThanRegisters) {
  KernelRef K = makeKernel("fp32, i8, fp64, i16, fp32, i32, fp64, i64, fp32, "
                           "i8, fp64, i16, fp32, i32, fp64, i64, fp32, i8, "
                           "fp64, i16, fp32, i32, fp64, i64");
  ASSERT_EQ(callC(K, 1.f, int8_t(2), 3., int16_t(4), 5.f, 6, 7., int64_t(8),
                  9.f, int8_t(10), 11., int16_t(12), 13.f, 14, 15., int64_t(16),
                  17.f, int8_t(18), 19., int16_t(20), 21.f, 22, 23.,
                  int64_t(24)),
            0);
  RecordedLaunch L = onlyLaunch();
  ASSERT_EQ(L.Parameters.size(), 24u);
  for (unsigned I = 0; I != 24; ++I) {
    const std::vector<uint8_t> &P = L.Parameters[I];
    double Value = 0;
    if (I % 2 == 0 && P.size() == 4) {
      float F;
      std::memcpy(&F, P.data(), 4);
      Value = F;
    } else if (I % 2 == 0) {
      std::memcpy(&Value, P.data(), 8);
    } else {
      for (unsigned J = P.size(); J-- != 0;)
        Value = Value * 256 + P[J];
    }
    EXPECT_EQ(Value, I + 1) << I;
  }
}

TEST_P(InterpreterTest, HiddenParametersAreNullWithoutAnAllocator) {
  KernelRef K = makeKernel(
      parseScratch("i8, (i32, constexpr)", ScratchGlobal | ScratchProfile));
  poisonStack(0xEE);
  ASSERT_EQ(callC(K, int8_t(1), 2), 0);
  EXPECT_THAT(onlyLaunch().Parameters,
              testing::ElementsAre(bytesOf(int8_t(1)), bytesOf(2),
                                   bytesOf(uint64_t(0)), bytesOf(uint64_t(0))));
}

INSTANTIATE_TEST_SUITE_P(Both, InterpreterTest, testing::Values(true, false),
                         [](const testing::TestParamInfo<bool> &I) {
                           return I.param ? "Compiled" : "Interpreted";
                         });

TEST(Interpreter, ServesPythonOnlyWhereTheGlueIs) {
  void *Before = Launcher::interpretedEntry(EntryKind::Python);
  int Entry = 0;
  setInterpretedPython(&Entry);
  EXPECT_EQ(Launcher::interpretedEntry(EntryKind::Python), &Entry);
  setInterpretedPython(nullptr);
  EXPECT_EQ(Launcher::interpretedEntry(EntryKind::Python), nullptr);
  setInterpretedPython(Before);
}

} // namespace
