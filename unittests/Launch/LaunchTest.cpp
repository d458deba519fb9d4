//===- LaunchTest.cpp - One launch: its order, grid, scratch and errors ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

//===----------------------------------------------------------------------===//
// The grid and the order of effects
//===----------------------------------------------------------------------===//

class LaunchTest : public RecordingTest {
protected:
  void SetUp() override {
    RecordingTest::SetUp();
    K = makeKernel("on: i1");
    Call = packedEntry(*K);
  }
  int launch(int64_t X, int64_t Y, int64_t Z, uint8_t Byte = 1,
             CUstream Stream = nullptr) {
    const void *Arguments[] = {&Byte};
    return Call(&K->data(), X, Y, Z, Stream, Arguments);
  }
  void expectGridError(int64_t X, int64_t Y, int64_t Z, StringRef What) {
    SCOPED_TRACE(What.str());
    EXPECT_EQ(launch(X, Y, Z), int(Status::ArgumentValue));
    EXPECT_EQ(lastError().Message,
              "kernel 'k': grid " + What.str() + ", and nothing was launched");
    EXPECT_EQ(lastError().Argument, -1);
    EXPECT_EQ(countLaunches(), 0u);
  }

  KernelRef K;
  PackedEntry Call = nullptr;
};

TEST_F(LaunchTest, AZeroDimensionIsSuccessAndNothingElse) {
  for (auto [X, Y, Z] : {std::array<int64_t, 3>{0, 1, 1},
                         {1, 0, 1},
                         {1, 1, 0},
                         {0, 0, 0},
                         {0, 70000, 1},
                         {INT64_MAX, INT64_MAX, 0},
                         {0, -1, -1}})
    EXPECT_EQ(launch(X, Y, Z), 0);
  EXPECT_EQ(countLaunches(), 0u);
  // Also where the stream is none.
  EXPECT_EQ(launch(0, 1, 1, 1, reinterpret_cast<CUstream>(0x123450)), 0);
}

TEST_F(LaunchTest, ArgumentsAreCheckedBeforeTheGrid) {
  for (int64_t X : {int64_t(0), int64_t(-1), int64_t(1), INT64_MAX}) {
    EXPECT_EQ(launch(X, 1, 1, 2), int(Status::ArgumentValue));
    EXPECT_EQ(lastError().Argument, 0);
    EXPECT_EQ(lastError().Message, "kernel 'k', argument 0 ('on', i1): the "
                                   "byte is 2; allowed are 0 and 1");
  }
  EXPECT_EQ(countLaunches(), 0u);
}

TEST_F(LaunchTest, GridsThatNoDeviceRunsNameTheDimensionAndItsLimit) {
  // The first launch finds the limits out; both ways are to be right.
  for (bool First : {true, false}) {
    SCOPED_TRACE(First);
    K = makeKernel("on: i1");
    if (!First) {
      ASSERT_EQ(launch(1, 1, 1), 0);
    }
    takeRecordedLaunches();
    expectGridError(-1, 1, 1, "x is -1; allowed is 0 to 2147483647");
    expectGridError(1, -5, 1, "y is -5; allowed is 0 to 65535");
    expectGridError(1, 1, INT64_MIN,
                    "z is -9223372036854775808; allowed is 0 to 65535");
    expectGridError(2147483648, 1, 1,
                    "x is 2147483648; allowed is 0 to 2147483647");
    expectGridError(1, 65536, 1, "y is 65536; allowed is 0 to 65535");
    expectGridError(1, 1, 65536, "z is 65536; allowed is 0 to 65535");
    // What is right modulo 2^32 is not right.
    expectGridError((int64_t(1) << 32) + 1, 1, 1,
                    "x is 4294967297; allowed is 0 to 2147483647");
    expectGridError(1, int64_t(1) << 32, 1,
                    "y is 4294967296; allowed is 0 to 65535");
    expectGridError(1, (int64_t(1) << 32) + 1, 1,
                    "y is 4294967297; allowed is 0 to 65535");
    expectGridError(1, 1, (int64_t(1) << 32) + 1,
                    "z is 4294967297; allowed is 0 to 65535");
    expectGridError(1, 1, INT64_MAX,
                    "z is 9223372036854775807; allowed is 0 to 65535");
    expectGridError(65536, 65536, 1, "y is 65536; allowed is 0 to 65535");
  }
}

TEST_F(LaunchTest, GridsWhoseProductIsLargeAreLaunchedAsTheyAre) {
  for (auto [X, Y, Z] : {std::array<int64_t, 3>{16384, 16384, 16},
                         {2147483647, 65535, 65535},
                         {65536, 65535, 1},
                         {1, 65535, 65535}}) {
    EXPECT_EQ(launch(X, Y, Z), 0) << lastError().Message;
    RecordedLaunch L = onlyLaunch();
    EXPECT_THAT(L.Grid, testing::ElementsAre(X, Y, Z));
  }
}

TEST_F(LaunchTest, NothingIsSetUnlessAsked) {
  ASSERT_EQ(launch(4, 3, 2), 0);
  RecordedLaunch L = onlyLaunch();
  EXPECT_THAT(L.Grid, testing::ElementsAre(4, 3, 2));
  EXPECT_THAT(L.Block, testing::ElementsAre(1, 1, 1));
  EXPECT_EQ(L.Shared, 0u);
  EXPECT_EQ(L.Attributes.size(), 0u);
  EXPECT_EQ(L.Stream, 0u);
}

TEST_F(LaunchTest, TheDriversRefusalIsTold) {
  ASSERT_EQ(launch(1, 1, 1), 0);
  takeRecordedLaunches();
  failRecordedLaunches(CUDA_ERROR_ILLEGAL_ADDRESS, 1);
  EXPECT_EQ(launch(1, 1, 1), int(Status::Cuda));
  ErrorDetail D = lastError();
  EXPECT_EQ(D.Code, Status::Cuda);
  EXPECT_EQ(D.Cuda, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(D.Message,
              testing::StartsWith("kernel 'k' was not launched: "
                                  "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
  // One refusal, one try: nothing was launched behind the caller's back.
  EXPECT_EQ(countLaunches(), 0u);
  EXPECT_EQ(launch(1, 1, 1), 0);
  EXPECT_EQ(countLaunches(), 1u);
}

TEST_F(LaunchTest, ALaunchThatIsRefusedIsTriedOnce) {
  for (CUcontext Current : {Primary[0], CUcontext(nullptr)}) {
    ASSERT_EQ(recording().cuCtxSetCurrent(Current), CUDA_SUCCESS);
    K = makeKernel("on: i1");
    for (bool First : {true, false}) {
      SCOPED_TRACE(First);
      failRecordedLaunches(CUDA_ERROR_LAUNCH_FAILED, 1);
      EXPECT_EQ(launch(1, 1, 1), int(Status::Cuda));
      EXPECT_EQ(lastError().Cuda, CUDA_ERROR_LAUNCH_FAILED);
      EXPECT_EQ(countLaunches(), 0u);
      EXPECT_EQ(launch(1, 1, 1), 0);
      EXPECT_EQ(countLaunches(), 1u);
    }
  }
  ASSERT_EQ(recording().cuCtxSetCurrent(Primary[0]), CUDA_SUCCESS);
}

TEST_F(LaunchTest, AnUnknownStreamIsAnError) {
  CUstream Stream = reinterpret_cast<CUstream>(0x7ead0000);
  for (bool First : {true, false}) {
    EXPECT_EQ(launch(1, 1, 1, 1, Stream), int(Status::Cuda)) << First;
    EXPECT_EQ(lastError().Cuda, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_THAT(
        lastError().Message,
        testing::StartsWith("kernel 'k' was not launched: cannot tell the "
                            "context of its stream: "
                            "CUDA_ERROR_INVALID_HANDLE"));
    EXPECT_EQ(countLaunches(), 0u);
    ASSERT_EQ(launch(1, 1, 1), 0);
    takeRecordedLaunches();
  }
}

TEST_F(LaunchTest, SuccessLeavesTheLastErrorAlone) {
  EXPECT_EQ(launch(1, 1, 1, 9), int(Status::ArgumentValue));
  const ErrorDetail *Before = lastLaunchError();
  EXPECT_EQ(launch(1, 1, 1), 0);
  EXPECT_EQ(launch(0, 1, 1), 0);
  EXPECT_EQ(lastLaunchError(), Before);
  EXPECT_EQ(setLastLaunchError(makeError(Status::IO, "gone")), int(Status::IO));
  EXPECT_EQ(lastError().Message, "gone");
}

TEST_F(LaunchTest, MessagesSayAddressOfWhat) {
  const void *None[] = {nullptr, nullptr};
  EXPECT_EQ(Call(&K->data(), 1, 1, 1, nullptr, None),
            int(Status::ArgumentValue));
  EXPECT_EQ(lastError().Message, "kernel 'k', argument 0 ('on', i1): its "
                                 "address is null; pass where its 1 bytes are");
  KernelRef Other = makeKernel("(i8, struct<12,4>)");
  uint8_t Byte = 0;
  const void *Arguments[] = {&Byte, nullptr};
  EXPECT_EQ(packedEntry(*Other)(&Other->data(), 1, 1, 1, nullptr, Arguments),
            int(Status::ArgumentValue));
  EXPECT_EQ(lastError().Argument, 1);
  EXPECT_EQ(lastError().Message,
            "kernel 'k', argument 1 (struct<12,4>): its address is null; pass "
            "where its 12 bytes are");
}

/// How the driver was last given the parameters.
struct Passed {
  void **Pointers = nullptr;
  bool HasExtra = false;
  size_t Size = 0;
} LastPassed;

TEST_F(LaunchTest, ParametersGoAsOneBufferWhereTheirPlacesAreKnown) {
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuLaunchKernelEx = [](const CUlaunchConfig *C, CUfunction F, void **P,
                            void **E) {
      LastPassed = {P, E != nullptr, 0};
      for (void **I = E; I && *I != CU_LAUNCH_PARAM_END; I += 2)
        if (*I == CU_LAUNCH_PARAM_BUFFER_SIZE)
          LastPassed.Size = *static_cast<size_t *>(I[1]);
      return recording().cuLaunchKernelEx(C, F, P, E);
    };
    return T;
  }();
  const Driver &D = openTable(Table);
  struct {
    const char *Text;
    size_t Size; ///< Exactly to the last one's end.
    bool ByPointers;
  } Cases[] = {{"", 0, false},
               {"i64, i8", 9, false},
               {"i8, struct<3,16>", 19, false},
               {"i8, struct<3,32>", 0, true},
               {"nvTmaDesc", 0, true},
               {"i8, nvTmaDesc<128>, i16", 0, true}};
  for (const auto &C : Cases) {
    SCOPED_TRACE(C.Text);
    KernelRef Kernel = makeKernel(C.Text, {}, "", D);
    const uint8_t Bytes[128] = {1};
    std::vector<const void *> Arguments(
        Kernel->signature().abi().slots().size(), Bytes);
    EXPECT_EQ(packedEntry(*Kernel)(&Kernel->data(), 1, 1, 1, nullptr,
                                   Arguments.data()),
              0);
    EXPECT_EQ(LastPassed.HasExtra, C.Size != 0);
    EXPECT_EQ(LastPassed.Size, C.Size);
    EXPECT_EQ(LastPassed.Pointers != nullptr, C.ByPointers);
    EXPECT_EQ(countLaunches(), 1u);
  }
}

/// A driver that cannot be had: every entry point but these is missing.
TEST(LaunchWithoutDriver, IsAnErrorUnlessThereIsNothingToDo) {
  static const DriverTable Table = [] {
    DriverTable T;
    T.cuInit = [](unsigned) { return CUDA_SUCCESS; };
    return T;
  }();
  const Driver &D = openTable(Table);
  KernelRef K = makeKernel("on: i1", {}, "", D);
  PackedEntry Call = packedEntry(*K);
  uint8_t Byte = 1;
  const void *Arguments[] = {&Byte};
  EXPECT_EQ(Call(&K->data(), 0, 1, 1, nullptr, Arguments), 0);
  EXPECT_EQ(Call(&K->data(), -1, 1, 1, nullptr, Arguments),
            int(Status::ArgumentValue));
  EXPECT_EQ(Call(&K->data(), 1, 1, 1, nullptr, Arguments),
            int(Status::NoDriver));
  EXPECT_EQ(lastError().Message,
            "the CUDA driver has no cuLaunchKernelEx, which came with CUDA "
            "11.6: update the NVIDIA driver");
  Byte = 3;
  EXPECT_EQ(Call(&K->data(), 1, 1, 1, nullptr, Arguments),
            int(Status::ArgumentValue));
  EXPECT_EQ(errorOf(K->load(0)).Code, Status::NoDriver);
  // What the host owns needs a driver that can launch it as well.
  EXPECT_EQ(errorOf(Kernel::wrap(reinterpret_cast<CUfunction>(0x1000), "f",
                                 parse("i1"), {}, &D))
                .Code,
            Status::NoDriver);
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

struct Request {
  char Which;
  uint64_t Size, Align;
  CUstream Stream;
  bool operator==(const Request &O) const {
    return Which == O.Which && Size == O.Size && Align == O.Align &&
           Stream == O.Stream;
  }
};

/// A host's allocator that remembers.
struct Allocator {
  std::vector<Request> Requests;
  char Refuses = 0;

  static uint64_t allocate(void *Context, char Which, uint64_t Size,
                           uint64_t Align, CUstream Stream) {
    auto &A = *static_cast<Allocator *>(Context);
    A.Requests.push_back({Which, Size, Align, Stream});
    return Which == A.Refuses ? 0 : Which == 'g' ? 0x10000 : 0x20000;
  }
};

class ScratchTest : public RecordingTest {
protected:
  KernelRef make(unsigned Scratch, uint64_t Global, uint64_t Profile) {
    KernelOptions O;
    O.Scratch = Allocator::allocate;
    O.ScratchContext = &Host;
    O.ScratchSize[0] = Global;
    O.ScratchSize[1] = Profile;
    O.ScratchAlign[0] = 128;
    O.ScratchAlign[1] = 16;
    return makeKernel(parseScratch("i32", Scratch), O);
  }
  static int launch(const Kernel &K, int64_t X, int64_t Y, int64_t Z,
                    CUstream Stream = nullptr) {
    int Value = 5;
    const void *Arguments[] = {&Value};
    return packedEntry(K)(&K.data(), X, Y, Z, Stream, Arguments);
  }
  static std::vector<std::vector<uint8_t>> hidden() {
    RecordedLaunch L = onlyLaunch();
    EXPECT_EQ(L.Parameters.front(), bytesOf(5));
    return {L.Parameters.begin() + 1, L.Parameters.end()};
  }

  Allocator Host;
};

TEST_F(ScratchTest, SizesCountTheBlocksOfTheGrid) {
  KernelRef K = make(ScratchGlobal | ScratchProfile, 100, 7);
  for (unsigned Again : {0, 1}) {
    SCOPED_TRACE(Again);
    Host.Requests.clear();
    ASSERT_EQ(launch(*K, 10, 20, 30, CU_STREAM_PER_THREAD), 0);
    EXPECT_THAT(
        Host.Requests,
        testing::ElementsAre(Request{'g', 600000, 128, CU_STREAM_PER_THREAD},
                             Request{'p', 42000, 16, CU_STREAM_PER_THREAD}));
    EXPECT_THAT(hidden(), testing::ElementsAre(bytesOf(uint64_t(0x10000)),
                                               bytesOf(uint64_t(0x20000))));
  }
}

TEST_F(ScratchTest, OnlyWhatTheKernelHasAndWants) {
  struct {
    unsigned Scratch;
    uint64_t Global, Profile;
    std::vector<uint64_t> Expected;
  } Cases[] = {
      {0, 100, 100, {}},
      {ScratchGlobal, 0, 100, {0}},
      {ScratchGlobal, 100, 100, {0x10000}},
      {ScratchProfile, 100, 0, {0}},
      {ScratchProfile, 100, 100, {0x20000}},
      {ScratchGlobal | ScratchProfile, 0, 0, {0, 0}},
      {ScratchGlobal | ScratchProfile, 0, 1, {0, 0x20000}},
      {ScratchGlobal | ScratchProfile, 1, 0, {0x10000, 0}},
  };
  for (const auto &C : Cases) {
    Host.Requests.clear();
    KernelRef K = make(C.Scratch, C.Global, C.Profile);
    ASSERT_EQ(launch(*K, 1, 1, 1), 0);
    std::vector<std::vector<uint8_t>> Expected;
    Expected.reserve(C.Expected.size());
    for (uint64_t Address : C.Expected)
      Expected.push_back(bytesOf(Address));
    EXPECT_EQ(hidden(), Expected);
    EXPECT_EQ(Host.Requests.size(),
              C.Expected.size() - llvm::count(C.Expected, 0u));
  }
}

TEST_F(ScratchTest, NoneIsAskedForWhereNothingIsLaunched) {
  KernelRef K = make(ScratchGlobal, 100, 0);
  EXPECT_EQ(launch(*K, 0, 1, 1), 0);
  EXPECT_EQ(launch(*K, 1, 65536, 1), int(Status::ArgumentValue));
  EXPECT_EQ(launch(*K, -1, 1, 1), int(Status::ArgumentValue));
  EXPECT_EQ(Host.Requests.size(), 0u);
  EXPECT_EQ(countLaunches(), 0u);
}

TEST_F(ScratchTest, AFailureStopsTheLaunch) {
  KernelRef K = make(ScratchGlobal | ScratchProfile, 100, 7);
  Host.Refuses = 'p';
  EXPECT_EQ(launch(*K, 3, 1, 1), int(Status::ArgumentValue));
  EXPECT_EQ(lastError().Message, "kernel 'k': the host's allocator gave no "
                                 "profile scratch memory (21 bytes)");
  Host.Refuses = 'g';
  EXPECT_EQ(launch(*K, 3, 1, 1), int(Status::ArgumentValue));
  EXPECT_EQ(lastError().Message, "kernel 'k': the host's allocator gave no "
                                 "global scratch memory (300 bytes)");
  EXPECT_EQ(Host.Requests.size(), 3u);
  EXPECT_EQ(countLaunches(), 0u);
}

TEST_F(ScratchTest, SizesThatOverflowAreRefused) {
  constexpr uint64_t Grid = uint64_t(INT32_MAX) * 65535;
  // The largest that fits, and one byte a block more.
  KernelRef Fits = make(ScratchGlobal, UINT64_MAX / Grid, 0);
  EXPECT_EQ(launch(*Fits, INT32_MAX, 65535, 1), 0);
  ASSERT_EQ(Host.Requests.size(), 1u);
  EXPECT_EQ(Host.Requests[0].Size, UINT64_MAX / Grid * Grid);
  takeRecordedLaunches();
  for (uint64_t Size : {UINT64_MAX / Grid + 1, UINT64_MAX}) {
    KernelRef K = make(ScratchProfile, 0, Size);
    EXPECT_EQ(launch(*K, INT32_MAX, 65535, 1), int(Status::ArgumentValue));
    EXPECT_EQ(lastError().Message,
              "kernel 'k': the profile scratch memory of this grid is more "
              "than 2^64 bytes");
  }
  EXPECT_EQ(Host.Requests.size(), 1u);
  EXPECT_EQ(countLaunches(), 0u);
}

TEST_F(ScratchTest, NoMemoryWithoutAnAllocator) {
  KernelOptions O;
  O.ScratchSize[1] = 24;
  ErrorDetail D = errorOf(makeKernel("i32")->withOptions(O));
  EXPECT_EQ(D.Code, Status::InvalidArgument);
  EXPECT_EQ(D.Message, "profile scratch memory of 24 bytes a block is asked "
                       "for without an allocator");
}

TEST_F(ScratchTest, AlignmentsArePowersOfTwo) {
  KernelOptions O;
  O.ScratchAlign[1] = 24;
  ErrorDetail D =
      errorOf(Kernel::create(loadPTX(ptx(parse("i32"))), "k", parse("i32"), O));
  EXPECT_EQ(D.Code, Status::InvalidArgument);
  EXPECT_EQ(D.Message, "a scratch alignment is 24; allowed are powers of two");
}

} // namespace
