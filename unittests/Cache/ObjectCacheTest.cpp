//===- ObjectCacheTest.cpp - Objects that outlive the process -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/ObjectCache.h"
#include "launchjit/Cache/Entry.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Log.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <grp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

using namespace llvm;
using namespace launchjit;

namespace {

constexpr StringLiteral Name = "0123456789abcdef0123456789abcdef";
constexpr StringLiteral Other = "fedcba9876543210fedcba9876543210";
constexpr StringLiteral KeyText = "entry=c\nabi=pi32\n";
const ArrayRef<char> Object("an object of some bytes", 23);

/// The calls that fail for want of something; what is null goes to the system.
struct Faults {
  static inline int OpenErrno, ReadErrno, WriteErrno, CloseErrno, RenameErrno;
  static inline size_t WriteRoom;

  static void reset() {
    OpenErrno = ReadErrno = WriteErrno = CloseErrno = RenameErrno = 0;
    WriteRoom = SIZE_MAX;
  }

  static const FileCalls &calls() {
    static FileCalls C = [] {
      FileCalls C = systemFileCalls();
      C.OpenAt = [](int Dir, const char *Path, int Flags, mode_t Mode) {
        if (OpenErrno && Dir != AT_FDCWD)
          return errno = OpenErrno, -1;
        return systemFileCalls().OpenAt(Dir, Path, Flags, Mode);
      };
      C.Read = [](int FD, void *To, size_t Size) {
        if (ReadErrno)
          return errno = ReadErrno, ssize_t(-1);
        return systemFileCalls().Read(FD, To, std::min<size_t>(Size, 7));
      };
      C.Write = [](int FD, const void *From, size_t Size) {
        if (WriteErrno || !WriteRoom)
          return errno = WriteErrno ? WriteErrno : ENOSPC, ssize_t(-1);
        Size = std::min({Size, WriteRoom, size_t(5)});
        WriteRoom -= Size;
        return systemFileCalls().Write(FD, From, Size);
      };
      C.Close = [](int FD) {
        int Result = systemFileCalls().Close(FD);
        return CloseErrno ? (errno = CloseErrno, -1) : Result;
      };
      C.RenameAt = [](int Dir, const char *From, const char *To) {
        if (RenameErrno)
          return errno = RenameErrno, -1;
        return systemFileCalls().RenameAt(Dir, From, To);
      };
      return C;
    }();
    return C;
  }
};

class ObjectCacheTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("launchjit-cache", Root));
    Options.Directory = path("own");
    Faults::reset();
    setLogSink([](void *, LogLevel, const char *, const char *) {}, nullptr);
  }
  void TearDown() override {
    setLogSink(nullptr, nullptr);
    sys::fs::remove_directories(Root);
  }

  std::string path(StringRef Below) { return (Root + "/" + Below).str(); }
  std::string entry(StringRef Key = Name) {
    return Options.Directory + "/" + Key.str() + ".stub";
  }
  static bool has(ObjectCache &C, StringRef Key = Name) {
    auto Found = C.get(Key, KeyText);
    return Found && ArrayRef<char>(*Found) == Object;
  }
  /// As a new process sees it.
  bool hasNow() const {
    ObjectCache C(Options);
    return has(C);
  }
  unsigned numFiles() {
    std::error_code EC;
    unsigned N = 0;
    for (sys::fs::directory_iterator I(Options.Directory, EC), End;
         I != End && !EC; I.increment(EC))
      ++N;
    return N;
  }
  /// Nothing but a miss may come of a broken cache.
  void expectMiss(ObjectCache &C, uint64_t CacheCounters::*Counter) {
    CacheCounters Before = C.counters();
    EXPECT_FALSE(C.get(Name, KeyText));
    CacheCounters After = C.counters();
    EXPECT_EQ(After.Misses, Before.Misses + 1);
    EXPECT_EQ(After.*Counter, Before.*Counter + 1);
  }

  SmallString<128> Root;
  CacheOptions Options;
};

TEST_F(ObjectCacheTest, GivesBackWhatWasPut) {
  ObjectCache C(Options);
  EXPECT_FALSE(has(C));
  C.put(Name, KeyText, Object);
  EXPECT_TRUE(has(C));
  EXPECT_FALSE(C.get(Name, "entry=c\nabi=pi64\n"));
  CacheCounters N = C.counters();
  EXPECT_EQ(N.Hits, 1u);
  EXPECT_EQ(N.Misses, 2u);
  EXPECT_EQ(N.Stored, 1u);
  struct stat S;
  ASSERT_EQ(stat(entry().c_str(), &S), 0);
  EXPECT_EQ(S.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(Options.Directory.c_str(), &S), 0);
  EXPECT_EQ(S.st_mode & 0777, 0700u);
}

TEST_F(ObjectCacheTest, WorksWhereItIsMovedTo) {
  ObjectCache(Options).put(Name, KeyText, Object);
  ASSERT_EQ(rename(Options.Directory.c_str(), path("moved").c_str()), 0);
  Options.Directory = path("moved");
  ObjectCache Moved(Options);
  EXPECT_TRUE(has(Moved));
}

TEST_F(ObjectCacheTest, EveryDamageIsACountedMiss) {
  ObjectCache C(Options);
  C.put(Name, KeyText, Object);
  std::string Good;
  {
    std::ifstream In(entry(), std::ios::binary);
    Good.assign(std::istreambuf_iterator<char>(In), {});
  }
  auto Write = [&](StringRef Bytes) {
    std::ofstream(entry(), std::ios::binary).write(Bytes.data(), Bytes.size());
  };
  for (size_t I = 0; I != Good.size(); ++I) {
    std::string Bad = Good;
    Bad[I] ^= 0x10;
    Write(Bad);
    expectMiss(C, &CacheCounters::Damaged);
  }
  for (size_t Size = 0; Size != Good.size(); ++Size) {
    Write(StringRef(Good).take_front(Size));
    expectMiss(C, &CacheCounters::Damaged);
  }
  // The next store mends it.
  C.put(Name, KeyText, Object);
  EXPECT_TRUE(has(C));
  // An entry of another key under this name.
  C.put(Other, "entry=c\nabi=p\n", Object);
  ASSERT_EQ(rename(entry(Other).c_str(), entry().c_str()), 0);
  expectMiss(C, &CacheCounters::Damaged);
}

TEST_F(ObjectCacheTest, WhatOthersCanWriteIsRefused) {
  ObjectCache C(Options);
  C.put(Name, KeyText, Object);
  for (mode_t Mode : {0620, 0602, 0666}) {
    chmod(entry().c_str(), Mode);
    expectMiss(C, &CacheCounters::Foreign);
  }
  chmod(entry().c_str(), 0600);
  for (mode_t Mode : {0770, 0702, 01777}) {
    chmod(Options.Directory.c_str(), Mode);
    expectMiss(C, &CacheCounters::Foreign);
    C.put(Name, KeyText, Object); // refused too
    EXPECT_EQ(C.counters().Stored, 1u);
  }
  chmod(Options.Directory.c_str(), 0700);
  EXPECT_TRUE(has(C));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(entry().c_str(), 1234, 1234), 0);
    expectMiss(C, &CacheCounters::Foreign);
    ASSERT_EQ(chown(entry().c_str(), 0, 0), 0);
    ASSERT_EQ(chown(Options.Directory.c_str(), 1234, 1234), 0);
    expectMiss(C, &CacheCounters::Foreign);
  }
}

TEST_F(ObjectCacheTest, ALinkOrAPipeInPlaceOfAnEntryIsRefused) {
  ObjectCache C(Options);
  C.put(Name, KeyText, Object);
  ASSERT_EQ(rename(entry().c_str(), path("target").c_str()), 0);
  ASSERT_EQ(symlink(path("target").c_str(), entry().c_str()), 0);
  expectMiss(C, &CacheCounters::Foreign);
  ASSERT_EQ(unlink(entry().c_str()), 0);
  ASSERT_EQ(mkfifo(entry().c_str(), 0600), 0);
  expectMiss(C, &CacheCounters::Foreign);
  ASSERT_EQ(unlink(entry().c_str()), 0);
  ASSERT_EQ(mkdir(entry().c_str(), 0700), 0);
  expectMiss(C, &CacheCounters::Foreign);
}

TEST_F(ObjectCacheTest, FaultsOfTheFileSystemAreMisses) {
  ObjectCache(Options).put(Name, KeyText, Object);
  Options.Calls = &Faults::calls();
  ObjectCache C(Options);
  EXPECT_TRUE(has(C)); // reads come in pieces
  for (int Errno : {ESTALE, EIO, EACCES, ENFILE}) {
    Faults::reset();
    Faults::OpenErrno = Errno;
    expectMiss(C, &CacheCounters::Failed);
    Faults::reset();
    Faults::ReadErrno = Errno;
    expectMiss(C, &CacheCounters::Failed);
  }
  Faults::reset();
  // A store that fails leaves the old entry and no temporary.
  uint64_t Failed = C.counters().Failed;
  for (auto [Where, Errno] : {std::pair(&Faults::WriteErrno, EIO),
                              {&Faults::CloseErrno, ENOSPC},
                              {&Faults::RenameErrno, ESTALE},
                              {&Faults::OpenErrno, EROFS}}) {
    Faults::reset();
    *Where = Errno;
    C.put(Name, "another key", Object);
    EXPECT_EQ(C.counters().Failed, ++Failed) << Errno;
  }
  for (size_t Room = 0; Room != 60; Room += 3) {
    Faults::reset();
    Faults::WriteRoom = Room;
    C.put(Name, "another key", Object);
    EXPECT_EQ(C.counters().Failed, ++Failed);
  }
  Faults::reset();
  EXPECT_EQ(C.counters().Stored, 0u);
  EXPECT_EQ(numFiles(), 2u); // the entry and the lock of the first store
  EXPECT_TRUE(has(C));
}

TEST_F(ObjectCacheTest, MissingAndVanishingDirectories) {
  Options.Directory = path("a/b/c/own");
  ObjectCache C(Options);
  EXPECT_FALSE(has(C));
  C.put(Name, KeyText, Object);
  EXPECT_TRUE(has(C));
  sys::fs::remove_directories(path("a"));
  EXPECT_FALSE(has(C));
  C.put(Name, KeyText, Object);
  EXPECT_TRUE(has(C));
  EXPECT_EQ(C.counters().Failed, 0u);
}

TEST_F(ObjectCacheTest, NoPlaceIsNoCache) {
  Options.Directory = "";
  ObjectCache C(Options);
  C.put(Name, KeyText, Object);
  EXPECT_FALSE(has(C));
  // A file where the folder should be.
  std::ofstream(path("file")) << "x";
  Options.Directory = path("file/own");
  ObjectCache D(Options);
  D.put(Name, KeyText, Object);
  EXPECT_FALSE(has(D));
}

TEST_F(ObjectCacheTest, ModesAreKept) {
  Options.Mode = CacheMode::ReadOnly;
  ObjectCache RO(Options);
  RO.put(Name, KeyText, Object);
  EXPECT_FALSE(sys::fs::exists(Options.Directory));
  Options.Mode = CacheMode::ReadWrite;
  ObjectCache(Options).put(Name, KeyText, Object);
  EXPECT_TRUE(has(RO));
  Options.Mode = CacheMode::Off;
  ObjectCache Off(Options);
  EXPECT_FALSE(has(Off));
  EXPECT_EQ(Off.counters().Misses, 0u);
}

TEST_F(ObjectCacheTest, LayersComeFirstAndAreNotWritten) {
  CacheOptions Builder = Options;
  Builder.Directory = path("layer");
  ObjectCache(Builder).put(Name, KeyText, Object);
  chmod(path("layer").c_str(), 0755);
  chmod((path("layer/") + Name.str() + ".stub").c_str(), 0644);
  Options.Layers = {path("absent"), path("layer")};
  ObjectCache C(Options);
  EXPECT_TRUE(has(C));
  C.put(Other, KeyText, Object);
  EXPECT_TRUE(has(C, Other));
  EXPECT_FALSE(sys::fs::exists(path("layer/") + Other.str() + ".stub"));
}

TEST_F(ObjectCacheTest, ALayerOfRootServesAnyUser) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  CacheOptions Builder = Options;
  Builder.Directory = path("layer");
  ObjectCache(Builder).put(Name, KeyText, Object);
  chmod(Root.c_str(), 0755);
  chmod(path("layer").c_str(), 0755);
  chmod((path("layer/") + Name.str() + ".stub").c_str(), 0644);
  pid_t Child = fork();
  if (Child == 0) {
    if (setgroups(0, nullptr) || setgid(54321) || setuid(54321))
      _exit(2);
    Options.Layers = {path("layer")};
    ObjectCache C(Options);
    bool Right = has(C);
    _exit(Right ? 0 : 1);
  }
  int Exit = 1;
  waitpid(Child, &Exit, 0);
  EXPECT_EQ(Exit, 0);
}

TEST_F(ObjectCacheTest, AFullDiskIsAMiss) {
  ASSERT_EQ(mkdir(Options.Directory.c_str(), 0700), 0);
  // Where it is skipped, the calls' faults above stand for this.
  if (mount("tmpfs", Options.Directory.c_str(), "tmpfs", MS_NOEXEC,
            "size=64k,mode=0700"))
    GTEST_SKIP() << "this process may not mount: " << strerror(errno);
  ObjectCache C(Options);
  C.put(Name, KeyText, Object);
  std::vector<char> Large(100 << 10, 'x');
  C.put(Other, KeyText, Large);
  EXPECT_EQ(C.counters().Failed, 1u);
  EXPECT_TRUE(has(C)); // and the mount may be noexec
  EXPECT_FALSE(C.get(Other, KeyText));
  EXPECT_EQ(numFiles(), 2u);
  umount(Options.Directory.c_str());
}

TEST_F(ObjectCacheTest, PrunesWhatWasNotUsedForLongest) {
  ObjectCache C(Options);
  auto NthName = [](unsigned I) {
    std::string N(32, '0');
    N[31] = 'a' + I;
    return N;
  };
  for (unsigned I = 0; I != 6; ++I) {
    C.put(NthName(I), KeyText, Object);
    utimbuf T{time_t(1000 + I), time_t(1000 + I)};
    ASSERT_EQ(utime(entry(NthName(I)).c_str(), &T), 0);
  }
  EXPECT_TRUE(has(C, NthName(0))); // now the newest
  std::ofstream(Options.Directory + "/somebody's") << "file";
  uint64_t Each = encodeEntry(KeyText, Object).size();
  auto Would = C.prune(3 * Each, /*DryRun=*/true);
  ASSERT_TRUE(bool(Would));
  EXPECT_EQ(Would->Entries.size(), 3u);
  EXPECT_EQ(cantFail(C.list(Options.Directory)).size(), 6u);
  auto Did = C.prune(3 * Each);
  ASSERT_TRUE(bool(Did));
  EXPECT_EQ(Did->Entries.size(), 3u);
  for (unsigned I : {1u, 2u, 3u})
    EXPECT_FALSE(has(C, NthName(I))) << I;
  for (unsigned I : {0u, 4u, 5u})
    EXPECT_TRUE(has(C, NthName(I))) << I;
  std::ofstream(entry(Other)); // what a power cut leaves
  ASSERT_TRUE(bool(C.clear()));
  EXPECT_TRUE(cantFail(C.list(Options.Directory)).empty());
  std::ofstream(entry(Other));
  ASSERT_TRUE(bool(C.clear()));
  EXPECT_TRUE(cantFail(C.list(Options.Directory)).empty());
  EXPECT_TRUE(sys::fs::exists(Options.Directory + "/somebody's"));
}

TEST_F(ObjectCacheTest, SweepsAtMostOnceAMinute) {
  Options.MaxBytes = 1;
  ObjectCache(Options).put(Name, KeyText, Object); // too large, so swept
  EXPECT_FALSE(hasNow());
  ObjectCache(Options).put(Name, KeyText, Object); // too soon for another
  EXPECT_TRUE(hasNow());
  // Long ago, or in what is the future since the clock was set back.
  for (time_t When : {time_t(1000), time(nullptr) + 100000}) {
    utimbuf T{When, When};
    ASSERT_EQ(utime((Options.Directory + "/.lock").c_str(), &T), 0);
    ObjectCache(Options).put(Name, KeyText, Object);
    EXPECT_FALSE(hasNow()) << When;
  }
}

TEST_F(ObjectCacheTest, SweepsTemporariesThatNobodyWrites) {
  ObjectCache C(Options);
  C.put(Name, KeyText, Object);
  std::string Old = Options.Directory + "/.tmp-1-A",
              New = Options.Directory + "/.tmp-1-B";
  std::ofstream(Old) << "x";
  std::ofstream(New) << "x";
  utimbuf T{1000, 1000};
  ASSERT_EQ(utime(Old.c_str(), &T), 0);
  auto Removed = C.prune(UINT64_MAX);
  ASSERT_TRUE(bool(Removed));
  EXPECT_EQ(Removed->Temporaries, 1u);
  EXPECT_FALSE(sys::fs::exists(Old));
  EXPECT_TRUE(sys::fs::exists(New));
  EXPECT_TRUE(has(C));
}

TEST_F(ObjectCacheTest, KilledWritersLeaveACacheThatWorks) {
  for (unsigned Delay = 0; Delay != 40; ++Delay) {
    pid_t Child = fork();
    if (Child == 0) {
      ObjectCache C(Options);
      for (;;)
        C.put(Name, KeyText, Object);
    }
    usleep(Delay * 50);
    kill(Child, SIGKILL);
    waitpid(Child, nullptr, 0);
    ObjectCache C(Options);
    bool Hit = C.get(Name, KeyText).has_value();
    EXPECT_EQ(C.counters().Damaged, 0u);
    C.put(Name, KeyText, Object);
    EXPECT_TRUE(has(C)) << Hit;
  }
  ObjectCache C(Options);
  ASSERT_TRUE(bool(C.clear()));
  EXPECT_EQ(numFiles(), 1u); // the lock
}

TEST_F(ObjectCacheTest, ManyProcessesWhileOneClears) {
  std::vector<pid_t> Children;
  for (unsigned I = 0; I != 64; ++I) {
    pid_t Child = fork();
    if (Child == 0) {
      ObjectCache C(Options);
      for (unsigned J = 0; J != 20; ++J) {
        C.put(Name, KeyText, Object);
        auto Found = C.get(Name, KeyText);
        if (Found && ArrayRef<char>(*Found) != Object)
          _exit(1);
      }
      CacheCounters N = C.counters();
      _exit(N.Damaged || N.Foreign ? 2 : 0);
    }
    Children.push_back(Child);
  }
  pid_t Cleaner = fork();
  if (Cleaner == 0)
    for (ObjectCache C(Options);;) {
      for (bool Clear : {true, false}) {
        auto Removed = Clear ? C.clear() : C.prune(10);
        if (!Removed)
          consumeError(Removed.takeError());
      }
    }
  for (pid_t Child : Children) {
    int Exit = 1;
    waitpid(Child, &Exit, 0);
    EXPECT_EQ(Exit, 0);
  }
  kill(Cleaner, SIGKILL);
  waitpid(Cleaner, nullptr, 0);
  ObjectCache C(Options);
  for (const CacheFile &F : cantFail(C.list(Options.Directory)))
    EXPECT_FALSE(F.name().empty()) << F.FileName;
}

} // namespace
