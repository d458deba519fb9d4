//===- DebugObserversTest.cpp - LAUNCHJIT_DEBUG's observers ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rerun.h"
#include "TestHelpers.h"
#include "launchjit/Launch/Values.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <thread>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

template <typename T> std::string printed(StringRef Type, T V) {
  Signature S = parse(Type);
  const Slot &Where = S.abi().slots()[0];
  EXPECT_EQ(Where.Size, sizeof V);
  std::string Text;
  raw_string_ostream OS(Text);
  printValue(OS, Where, &V);
  return Text;
}

TEST(PrintValue, ShowsWhatPeopleRead) {
  EXPECT_EQ(printed("i1", uint8_t(1)), "1");
  EXPECT_EQ(printed("i8", int8_t(-128)), "-128");
  EXPECT_EQ(printed("u8", uint8_t(200)), "200");
  EXPECT_EQ(printed("i16", int16_t(-2)), "-2");
  EXPECT_EQ(printed("i32", INT32_MIN), "-2147483648");
  EXPECT_EQ(printed("i64", INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(printed("u64", UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(printed("fp16", uint16_t(0x3E00)), "1.5");
  EXPECT_EQ(printed("fp16", uint16_t(0x7BFF)), "65504");
  EXPECT_EQ(printed("fp16", uint16_t(0xFC00)), "-Inf");
  EXPECT_EQ(printed("bf16", uint16_t(0xC020)), "-2.5");
  EXPECT_EQ(printed("fp32", 0.1f), "0.100000001");
  EXPECT_EQ(printed("fp32", -0.0f), "-0");
  EXPECT_EQ(printed("fp64", 1e300), "1.0000000000000001E+300");
  EXPECT_EQ(printed("fp64", __builtin_nan("")), "NaN");
  EXPECT_EQ(printed("*fp32", uint64_t(0xABC0)), "0xabc0");
  EXPECT_EQ(printed("struct<3,1>", std::array<uint8_t, 3>{1, 0xFF, 16}),
            "0x01ff10");
  EXPECT_EQ(printed("struct<40,8>", std::array<uint8_t, 40>{}),
            "0x" + std::string(64, '0') + "... (40 bytes)");
}

class DebugObserversTest : public RecordingTest {
protected:
  /// The lines of \p Output that begin with \p Start, without it.
  static std::vector<std::string> linesOf(StringRef Output, StringRef Start) {
    std::vector<std::string> Lines;
    SmallVector<StringRef> All;
    Output.split(All, '\n');
    for (StringRef Line : All)
      if (Line.consume_front(Start))
        Lines.push_back(Line.str());
    return Lines;
  }
};

TEST_F(DebugObserversTest, PrintShowsEachLaunchInALine) {
  if (!isRerun()) {
    Exited E = rerun({"LAUNCHJIT_DEBUG=print"});
    EXPECT_EQ(E.Status, 0) << E.Output;
    std::vector<std::string> Lines = linesOf(E.Output, "launchjit: launch ");
    EXPECT_EQ(Lines.size(), 401u);
    EXPECT_EQ(Lines[0],
              "k grid=(2,3,1) block=(32,1,1) shared=16 stream=0x0 "
              "attributes=2,4 (a: *fp32 = 0x7f00, 1: fp16 = 1.5, n: i32 = -7)");
    for (const std::string &Line : ArrayRef(Lines).drop_front())
      EXPECT_EQ(Line, "k grid=(1,1,1) block=(1,1,1) shared=0 stream=0x0 (n: "
                      "i32 = 5)");
    return;
  }
  KernelOptions O;
  O.Block[0] = 32;
  O.Shared = 16;
  O.Attributes = {intAttribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 0),
                  clusterAttribute(1, 1, 1)};
  KernelRef K = makeKernel("a: *fp32, fp16, n: i32", O);
  EXPECT_EQ(errorOf(K->launch(2, 3, 1, nullptr,
                              {Value::ofPointer(0x7F00), Value::ofFloat(1.5),
                               Value::ofInt(-7)}))
                .Message,
            "no error");
  KernelRef Small = makeKernel("n: i32");
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 4; ++T)
    Threads.emplace_back([&] {
      for (unsigned I = 0; I != 100; ++I)
        EXPECT_EQ(
            errorOf(Small->launch(1, 1, 1, nullptr, {Value::ofInt(5)})).Code,
            Status::Success);
    });
  for (std::thread &T : Threads)
    T.join();
}

CUstreamCaptureStatus Capture = CU_STREAM_CAPTURE_STATUS_NONE;
CUresult CaptureResult = CUDA_SUCCESS, SyncResult = CUDA_SUCCESS;
std::vector<CUstream> Synchronised;

TEST_F(DebugObserversTest, SyncMakesAFaultTheLaunchsError) {
  if (!isRerun()) {
    Exited E = rerun({"LAUNCHJIT_DEBUG=sync"});
    EXPECT_EQ(E.Status, 0) << E.Output;
    return;
  }
  static const DriverTable Table = [] {
    DriverTable T = recording();
    T.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus *Status) {
      *Status = Capture;
      return CaptureResult;
    };
    T.cuStreamSynchronize = [](CUstream Stream) {
      Synchronised.push_back(Stream);
      return SyncResult;
    };
    return T;
  }();
  KernelRef K = makeKernel("n: i32", {}, "", openTable(Table));
  auto Launch = [&](int64_t X, CUstream Stream = nullptr) {
    return errorOf(K->launch(X, 1, 1, Stream, {Value::ofInt(5)}));
  };
  OwnContext Context(1);
  CUstream Stream = Context.makeStream();
  EXPECT_EQ(Launch(1).Code, Status::Success);
  EXPECT_EQ(Launch(1, Stream).Code, Status::Success);
  EXPECT_THAT(Synchronised, ElementsAre(nullptr, Stream));
  EXPECT_EQ(countLaunches(), 2u);

  // No context is current: the kernel's device's serves.
  ASSERT_EQ(recording().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Launch(1).Code, Status::Success);
  EXPECT_EQ(current(), nullptr);
  ASSERT_EQ(recording().cuCtxSetCurrent(Primary[0]), CUDA_SUCCESS);

  constexpr char Message[] =
      "kernel 'k' failed while it ran, or something before it did: k "
      "grid=(2,1,1) block=(1,1,1) shared=0 stream=0x0 (n: i32 = 5): "
      "CUDA_ERROR_ILLEGAL_ADDRESS (700";
  SyncResult = CUDA_ERROR_ILLEGAL_ADDRESS;
  ErrorDetail D = Launch(2);
  EXPECT_EQ(D.Code, Status::Cuda);
  EXPECT_EQ(D.Cuda, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(D.Message, HasSubstr(Message));
  CaptureResult = CUDA_ERROR_ILLEGAL_ADDRESS; // found by the first who asks
  EXPECT_THAT(Launch(2).Message, HasSubstr(Message));
  CaptureResult = CUDA_SUCCESS;

  Synchronised.clear();
  EXPECT_THAT(Launch(-1).Message, HasSubstr("grid x is -1"));
  Capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_EQ(Launch(1).Code, Status::Success);
  Capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CaptureResult = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; // the legacy stream
  EXPECT_EQ(Launch(1).Code, Status::Success);
  EXPECT_THAT(Synchronised, testing::IsEmpty());
}

TEST_F(DebugObserversTest, NVTXSeesRanges) {
  if (!isRerun()) {
    Exited E = rerun({"LAUNCHJIT_DEBUG=nvtx",
                      "NVTX_INJECTION64_PATH=" LAUNCHJIT_TEST_INJECTION});
    EXPECT_EQ(E.Status, 0) << E.Output;
    if (StringRef(E.Output).contains("without NVTX's headers"))
      GTEST_SKIP() << E.Output;
    EXPECT_THAT(linesOf(E.Output, "nvtx "),
                ElementsAre("push k", "pop", "push k", "pop"));
    return;
  }
  KernelRef K = makeKernel("");
  EXPECT_EQ(errorOf(K->launch(1, 1, 1, nullptr, {})).Code, Status::Success);
  EXPECT_EQ(errorOf(K->launch(-1, 1, 1, nullptr, {})).Code,
            Status::ArgumentValue);
}

TEST_F(DebugObserversTest, ATraceHasBuildsAndLaunches) {
  if (isRerun()) {
    KernelOptions O;
    O.Block[0] = 32;
    KernelRef K = makeKernel("n: i32", O);
    int32_t N = 5;
    const void *Arguments[] = {&N};
    EXPECT_EQ(packedEntry(*K)(&K->data(), 2, 1, 1, nullptr, Arguments), 0);
    EXPECT_NE(packedEntry(*K)(&K->data(), -2, 1, 1, nullptr, Arguments), 0);
    return;
  }
  SmallString<128> Folder;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("launchjit-trace", Folder));
  std::string Path = (Folder + "/t.json").str();
  auto Run = [&] {
    Exited E = rerun({"LAUNCHJIT_TRACE=" + Path, "LAUNCHJIT_CACHE=rw",
                      ("LAUNCHJIT_CACHE_DIR=" + Folder).str()});
    EXPECT_EQ(E.Status, 0) << E.Output;
    auto Buffer = cantFail(errorOrToExpected(MemoryBuffer::getFile(Path)));
    return cantFail(json::parse(Buffer->getBuffer()));
  };
  auto NamesOf = [](const json::Value &Trace) {
    std::vector<std::string> Names;
    double Before = 0;
    for (const json::Value &V : *Trace.getAsArray()) {
      const json::Object &Event = *V.getAsObject();
      Names.push_back(
          (*Event.getString("cat") + " " + *Event.getString("name")).str());
      EXPECT_EQ(Event.getString("ph"), "X");
      EXPECT_EQ(Event.getInteger("pid"), Event.getInteger("tid"));
      double End = *Event.getNumber("ts") + *Event.getNumber("dur");
      EXPECT_GE(End, Before);
      Before = End;
    }
    return Names;
  };
  json::Value Trace = Run();
  ASSERT_THAT(NamesOf(Trace),
              ElementsAre("build cache miss", "build compile", "build link",
                          "launch k", "launch k"));
  auto Arguments = [&](unsigned I) {
    return *(*Trace.getAsArray())[I].getAsObject()->getObject("args");
  };
  EXPECT_EQ(Arguments(1).getString("abi"), "i32");
  EXPECT_EQ(Arguments(1).getString("entry"), "packed");
  EXPECT_EQ(Arguments(1).getString("key")->size(), 32u);
  EXPECT_TRUE(Arguments(3) == (json::Object{{"grid", json::Array{2, 1, 1}},
                                            {"block", json::Array{32, 1, 1}},
                                            {"shared", 0},
                                            {"stream", "0x0"}}));
  EXPECT_THAT(Arguments(4).getString("error")->str(),
              HasSubstr("grid x is -2"));
  EXPECT_THAT(NamesOf(Run()), ElementsAre("build cache hit", "build link",
                                          "launch k", "launch k"));
  sys::fs::remove_directories(Folder);
}

} // namespace
