//===- TraceTest.cpp - A Chrome trace of builds and launches --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Trace.h"
#include "../Rerun.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

void event(StringRef Name) {
  uint64_t Now = nowNs();
  trace("test", Name, Now - 1500, Now,
        [](json::OStream &J) { J.attribute("n", 1); });
}

class TraceTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("launchjit-trace", Folder));
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  std::string path(const Twine &Name = "t.json") const {
    return (Folder + "/" + Name).str();
  }
  Exited rerunTraced(const Twine &Name = "t.json") {
    return rerun({"LAUNCHJIT_TRACE=" + path(Name)});
  }
  /// The names of the events in a file, of which only the closing bracket may
  /// be missing.
  std::vector<std::string> names(const std::string &Path, bool Closed = true) {
    auto Buffer = MemoryBuffer::getFile(Path);
    if (!Buffer)
      return {"no file " + Path};
    std::string Text = (*Buffer)->getBuffer().str();
    EXPECT_EQ(StringRef(Text).ends_with("\n]\n"), Closed) << Text;
    auto Trace = json::parse(Closed ? Text : Text + "]");
    if (!Trace)
      return {toString(Trace.takeError())};
    std::vector<std::string> Names;
    for (const json::Value &V : *Trace->getAsArray()) {
      const json::Object &E = *V.getAsObject();
      Names.push_back(E.getString("name")->str());
      EXPECT_EQ(E.getString("ph"), "X");
      EXPECT_EQ(E.getString("cat"), "test");
      EXPECT_EQ(E.getNumber("dur"), 1.5);
      EXPECT_EQ(E.getObject("args")->getInteger("n"), 1);
    }
    return Names;
  }
  std::vector<std::string> files() {
    std::vector<std::string> Names;
    std::error_code EC;
    for (sys::fs::directory_iterator I(Folder, EC), End; I != End && !EC;
         I.increment(EC))
      Names.push_back(sys::path::filename(I->path()).str());
    llvm::sort(Names);
    return Names;
  }

  SmallString<128> Folder;
};

TEST_F(TraceTest, IsWrittenAtTheEnd) {
  if (isRerun()) {
    EXPECT_TRUE(isTracing());
    event("a");
    event("quote \" and newline \n and \xFF");
    return;
  }
  EXPECT_FALSE(isTracing());
  event("nobody wants it");
  EXPECT_EQ(rerunTraced().Status, 0);
  EXPECT_THAT(names(path()),
              ElementsAre("a", "quote \" and newline \n and \xEF\xBF\xBD"));
}

TEST_F(TraceTest, IsWholeWhereTheProcessIsKilled) {
  if (isRerun()) {
    for (unsigned I = 0; I != 5000; ++I)
      event("e" + std::to_string(I));
    raise(SIGKILL);
  }
  EXPECT_TRUE(WIFSIGNALED(rerunTraced().Status));
  std::vector<std::string> Names = names(path(), /*Closed=*/false);
  ASSERT_GT(Names.size(), 1000u);
  for (unsigned I = 0; I != Names.size(); ++I)
    EXPECT_EQ(Names[I], "e" + std::to_string(I));
}

// An event that ended before the file was opened is not an old one.
TEST_F(TraceTest, IsNotWrittenAtEachEvent) {
  if (isRerun()) {
    uint64_t Size = 1;
    event("a");
    EXPECT_FALSE(sys::fs::file_size(getenv("LAUNCHJIT_TRACE"), Size));
    EXPECT_EQ(Size, 0u);
    return;
  }
  Exited E = rerunTraced();
  EXPECT_EQ(E.Status, 0) << E.Output;
}

TEST_F(TraceTest, OutlivesTheReaderOfItsPipe) {
  if (isRerun()) {
    int Pipe[2];
    ASSERT_EQ(pipe(Pipe), 0);
    setenv("LAUNCHJIT_TRACE",
           ("/proc/self/fd/" + std::to_string(Pipe[1])).c_str(), 1);
    event("a");
    close(Pipe[0]);
    close(Pipe[1]);
    for (unsigned I = 0; I != 1000; ++I) // more than waits
      event("b");
    sigset_t Pending, Blocked;
    sigpending(&Pending);
    pthread_sigmask(SIG_SETMASK, nullptr, &Blocked);
    EXPECT_FALSE(sigismember(&Pending, SIGPIPE));
    EXPECT_FALSE(sigismember(&Blocked, SIGPIPE));
    return;
  }
  Exited E = rerun();
  EXPECT_EQ(E.Status, 0) << E.Output;
  EXPECT_EQ(StringRef(E.Output).count(
                "LAUNCHJIT_TRACE ends here: cannot write: Broken pipe"),
            1u)
      << E.Output;
}

TEST_F(TraceTest, HasTheEventsOfAllThreads) {
  if (isRerun()) {
    std::vector<std::thread> Threads;
    for (unsigned T = 0; T != 4; ++T)
      Threads.emplace_back([] {
        for (unsigned I = 0; I != 1000; ++I)
          event("e");
      });
    for (std::thread &T : Threads)
      T.join();
    return;
  }
  EXPECT_EQ(rerunTraced().Status, 0);
  EXPECT_EQ(names(path()), std::vector<std::string>(4000, "e"));
}

TEST_F(TraceTest, IsAChildsOwn) {
  if (isRerun()) {
    event("before");
    if (pid_t Child = fork()) {
      int Status;
      waitpid(Child, &Status, 0);
      std::printf("child=%d;\n", Child);
      event("after");
      if (fork() == 0)
        exit(0); // one that has nothing to tell
      wait(&Status);
      return;
    }
    event("child");
    _exit(0);
  }
  Exited E = rerunTraced();
  EXPECT_EQ(E.Status, 0) << E.Output;
  StringRef Child = StringRef(E.Output).split("child=").second.split(';').first;
  EXPECT_THAT(files(), ElementsAre("t.json", ("t.json." + Child).str()));
  EXPECT_THAT(names(path()), ElementsAre("before", "after"));
  EXPECT_THAT(names(path("t.json." + Child), /*Closed=*/false),
              ElementsAre("child"));
}

TEST_F(TraceTest, IsNamedByTheProcess) {
  if (isRerun()) {
    event("a");
    std::printf("child=%d;\n", getpid());
    return;
  }
  Exited E = rerunTraced("t%p.json");
  StringRef Process =
      StringRef(E.Output).split("child=").second.split(';').first;
  EXPECT_THAT(files(), ElementsAre(("t" + Process + ".json").str()));
}

TEST_F(TraceTest, IsNotOverwrittenWhileItIsInUse) {
  if (isRerun()) {
    event("a");
    if (!getenv("LAUNCHJIT_TEST_INNER")) {
      setenv("LAUNCHJIT_TEST_INNER", "1", 1);
      Exited E = rerun();
      EXPECT_EQ(E.Status, 0) << E.Output;
    }
    return;
  }
  EXPECT_EQ(rerunTraced().Status, 0);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_THAT(names(path()), ElementsAre("a"));
  // The next run begins anew.
  EXPECT_EQ(rerunTraced().Status, 0);
  EXPECT_THAT(names(path()), ElementsAre("a"));
}

TEST_F(TraceTest, SaysOnceThatItCannotBeWritten) {
  if (isRerun()) {
    event("a");
    event("b");
    return;
  }
  Exited E = rerunTraced("missing/t.json");
  EXPECT_EQ(E.Status, 0);
  EXPECT_EQ(StringRef(E.Output).count("LAUNCHJIT_TRACE: cannot write " +
                                      path("missing/t.json") +
                                      ": No such file or directory"),
            1u)
      << E.Output;
}

} // namespace
