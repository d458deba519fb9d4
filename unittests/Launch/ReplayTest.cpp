//===- ReplayTest.cpp - Launches that are saved and repeated --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Replay.h"
#include "../Rerun.h"
#include "TestHelpers.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;
using testing::HasSubstr;

namespace {

class ReplayTest : public RecordingTest {
protected:
  /// Runs the test again with its launches saved in a folder that is new, or
  /// in \p Folder. False in the process that was started.
  bool runsElsewhere(std::string Folder = "", std::string *Output = nullptr) {
    if (isRerun())
      return false;
    SmallString<128> New;
    EXPECT_FALSE(sys::fs::createUniqueDirectory("launchjit-dump", New));
    if (Folder.empty())
      Folder = New.str().str();
    Exited E = rerun({"LAUNCHJIT_DEBUG=dump=" + Folder + ",dump-max=4K",
                      "LAUNCHJIT_DRIVER=recording", "DUMP_FOLDER=" + Folder});
    EXPECT_EQ(E.Status, 0) << E.Output;
    if (Output)
      *Output = E.Output;
    sys::fs::remove_directories(New);
    return true;
  }

  static std::string folder() { return getenv("DUMP_FOLDER"); }
  static std::vector<std::string> saved() {
    std::vector<std::string> Found;
    std::error_code EC;
    for (sys::fs::directory_iterator I(folder(), EC), End; I != End && !EC;
         I.increment(EC))
      if (!StringRef(I->path()).ends_with("/modules"))
        Found.push_back(I->path());
    llvm::sort(Found);
    return Found;
  }

  static CUdeviceptr memory(size_t Size) {
    CUdeviceptr P = 0;
    EXPECT_EQ(recording().cuMemAlloc(&P, Size), CUDA_SUCCESS);
    EXPECT_EQ(recording().cuMemsetD8(P, 0x5A, Size), CUDA_SUCCESS);
    return P;
  }

  static ErrorDetail launch(const KernelRef &K, CUdeviceptr A, CUdeviceptr B,
                            CUstream Stream = nullptr) {
    return errorOf(K->launch(2, 3, 1, Stream,
                             {Value::ofPointer(A), Value::ofPointer(B),
                              Value::ofPointer(0), Value::ofInt(-7)}));
  }
  KernelRef kernel() {
    KernelOptions O;
    O.Block[0] = 32;
    O.Shared = 16;
    O.Attributes = {clusterAttribute(1, 1, 1)};
    return makeKernel("a: *fp32, b: *fp32, none: *i8, n: i32", O);
  }
};

TEST_F(ReplayTest, RepeatsWhatWasSaved) {
  if (runsElsewhere())
    return;
  KernelRef K = kernel();
  CUdeviceptr P = memory(64);
  EXPECT_EQ(launch(K, P + 16, P + 32).Message, "no error");
  failRecordedLaunches(CUDA_ERROR_LAUNCH_FAILED, 1);
  EXPECT_EQ(launch(K, P, P).Code, Status::Cuda);
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 8; ++T)
    Threads.emplace_back([&] {
      for (unsigned I = 0; I != 5; ++I)
        EXPECT_EQ(launch(K, P, P).Code, Status::Success);
    });
  for (std::thread &T : Threads)
    T.join();
  pid_t Child = fork();
  if (!Child)
    _exit(launch(K, P, P).Code != Status::Success);
  int ExitStatus = -1;
  waitpid(Child, &ExitStatus, 0);
  EXPECT_EQ(ExitStatus, 0);

  std::vector<std::string> Saved = saved();
  ASSERT_EQ(Saved.size(), 43u);
  for (const std::string &Each : Saved)
    EXPECT_EQ(errorOf(Replay::open(Each)).Message, "no error");
  auto Mine = find_if(
      Saved, [](StringRef Name) { return Name.ends_with("-000000-k"); });
  ASSERT_NE(Mine, Saved.end());
  auto R = cantFail(Replay::open(*Mine));
  ASSERT_EQ(R->buffers().size(), 1u);
  EXPECT_EQ(R->buffers()[0].Before->getBuffer(), std::string(64, 0x5A));
  takeRecordedLaunches();
  for (unsigned I = 0; I != 2; ++I) {
    EXPECT_EQ(errorOf(R->run({})).Message, "no error");
    CUdeviceptr Now = R->buffers()[0].Now;
    EXPECT_NE(Now, P);
    RecordedLaunch L = onlyLaunch();
    EXPECT_EQ(L.Parameters[0], bytesOf(Now + 16));
    EXPECT_EQ(L.Parameters[1], bytesOf(Now + 32));
    EXPECT_EQ(L.Parameters[2], bytesOf(uint64_t(0)));
    EXPECT_EQ(L.Parameters[3], bytesOf(int32_t(-7)));
    EXPECT_EQ(L.Grid, (std::array<uint32_t, 3>{2, 3, 1}));
    EXPECT_EQ(L.Block[0], 32u);
    EXPECT_EQ(L.Shared, 16u);
    EXPECT_EQ(L.Attributes.size(), 1u);
    EXPECT_EQ(R->buffers()[0].BytesChanged, 0u);
  }
}

TEST_F(ReplayTest, SaysWhatWasNotSaved) {
  if (runsElsewhere())
    return;
  KernelRef K = kernel();
  CUdeviceptr Large = memory(5000), Small = memory(16);
  EXPECT_EQ(launch(K, Large, Small).Code, Status::Success);
  EXPECT_EQ(launch(K, 0x7F00, Small).Code, Status::Success);
  CUstream Stream = nullptr;
  ASSERT_EQ(recording().cuStreamCreate(&Stream, CU_STREAM_NON_BLOCKING),
            CUDA_SUCCESS);
  ASSERT_EQ(
      recording().cuStreamBeginCapture(Stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
      CUDA_SUCCESS);
  EXPECT_EQ(launch(K, Small, Small, Stream).Code, Status::Success);
  CUgraph Graph = nullptr;
  EXPECT_EQ(recording().cuStreamEndCapture(Stream, &Graph), CUDA_SUCCESS);

  std::vector<std::string> Saved = saved();
  ASSERT_EQ(Saved.size(), 3u);
  const char *Why[] = {"not saved", "is in no buffer of the dump", "not saved"};
  for (unsigned I = 0; I != 3; ++I) {
    auto R = cantFail(Replay::open(Saved[I]));
    EXPECT_EQ(R->json().contains("\"captured\": true"), I == 2);
    EXPECT_THAT(errorOf(R->run({})).Message, HasSubstr(Why[I]));
    ReplayOptions Force;
    Force.Force = true;
    EXPECT_EQ(errorOf(cantFail(Replay::open(Saved[I]))->run(Force)).Message,
              "no error");
  }
}

TEST_F(ReplayTest, AFolderThatCannotBeWrittenChangesNothing) {
  std::string Output;
  if (runsElsewhere("/dev/null/dump", &Output)) {
    EXPECT_EQ(StringRef(Output).count("LAUNCHJIT_DEBUG=dump: a launch"), 1u)
        << Output;
    return;
  }
  KernelRef K = kernel();
  for (unsigned I = 0; I != 3; ++I)
    EXPECT_EQ(launch(K, memory(16), 0).Code, Status::Success);
  EXPECT_EQ(countLaunches(), 3u);
}

TEST_F(ReplayTest, RefusesDamagedDumps) {
  if (runsElsewhere())
    return;
  EXPECT_EQ(launch(kernel(), memory(16), 0).Code, Status::Success);
  std::string Folder = saved().front(), File = Folder + "/launch.json";
  std::string Text = cantFail(Replay::open(Folder))->json().str();
  auto Write = [](const std::string &Path, const std::string &Bytes) {
    std::ofstream(Path, std::ios::binary) << Bytes;
  };
  auto ErrorWith = [&](StringRef From, StringRef To) {
    std::string Changed = Text;
    size_t At = Changed.find(From.str());
    EXPECT_NE(At, std::string::npos) << From.str();
    if (At != std::string::npos)
      Changed.replace(At, From.size(), To.str());
    Write(File, Changed);
    return errorOf(Replay::open(Folder)).Message;
  };
  EXPECT_THAT(ErrorWith("\"version\": 1", "\"version\": 2"),
              HasSubstr("has the version 2"));
  EXPECT_THAT(ErrorWith("buffer-0.bin", "../buffer-0.bin"),
              HasSubstr("'file' must be"));
  EXPECT_THAT(ErrorWith("\"module\": \"", "\"module\": \"/"),
              HasSubstr("'module' must be"));
  EXPECT_THAT(ErrorWith("\"size\": 16", "\"size\": 17"),
              HasSubstr("has 16 bytes, but launch.json says 17"));
  EXPECT_THAT(ErrorWith("\"size\": 16", "\"size\": -1"),
              HasSubstr("'size' must be"));
  EXPECT_THAT(ErrorWith("\"shared\": 16", "\"shared\": \"16\""),
              HasSubstr("'shared' must be"));
  EXPECT_THAT(ErrorWith("n: i32", "n: i64"), HasSubstr("arguments_size"));
  EXPECT_THAT(ErrorWith("n: i32", "n: in32"), HasSubstr("in32"));
  EXPECT_THAT(ErrorWith("buffer-0.bin", "buffer-1.bin"),
              HasSubstr("cannot read"));
  for (const char *Wrong : {"", "[]", "{}", "{\"format\": 1}", "{"}) {
    Write(File, Wrong);
    EXPECT_THAT(errorOf(Replay::open(Folder)).Message, HasSubstr("is damaged"));
  }
  Write(File, std::string(100000, '['));
  EXPECT_THAT(errorOf(Replay::open(Folder)).Message, HasSubstr("nested"));
  for (size_t Size = 0; Size + 1 < Text.size(); Size += 7) {
    Write(File, Text.substr(0, Size));
    EXPECT_NE(errorOf(Replay::open(Folder)).Code, Status::Success);
  }
  Write(File, Text);
  EXPECT_EQ(errorOf(Replay::open(Folder)).Message, "no error");
  std::string Module;
  std::error_code EC;
  for (sys::fs::directory_iterator I(folder() + "/modules", EC), End;
       I != End && !EC; I.increment(EC))
    Module = I->path();
  Write(Module, ptx(parse("a: *fp32, b: *fp32, none: *i8, n: i32"), "k",
                    ".maxntid 32, 1, 1"));
  EXPECT_THAT(errorOf(cantFail(Replay::open(Folder))->run({})).Message,
              HasSubstr("is damaged"));
  sys::fs::remove(Module);
  EXPECT_THAT(errorOf(cantFail(Replay::open(Folder))->run({})).Message,
              HasSubstr("cannot read"));
  Write(Folder + "/arguments.bin", "short");
  EXPECT_THAT(errorOf(Replay::open(Folder)).Message, HasSubstr("5 bytes"));
  EXPECT_EQ(errorOf(Replay::open(folder() + "/none")).Code, Status::IO);
}

} // namespace
