//===- CachedLauncherTest.cpp - Launchers right whatever the cache does ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test spoils a warm cache in one way, and shows that a launcher is made
// all the same, that its launches are right, and that a miss was counted.
//
//===----------------------------------------------------------------------===//

#include "../Rerun.h"
#include "TestHelpers.h"
#include "launchjit/Cache/Entry.h"
#include "launchjit/Cache/ObjectCache.h"
#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Log.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <elf.h>
#include <grp.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

/// A fault of the nth call that a test lets fail.
struct Fault {
  static inline int Countdown = -1; ///< 0: now; negative: never.
  static inline int Errno;          ///< 0: the process is killed there.

  static bool strikes() {
    if (Countdown < 0 || Countdown-- > 0)
      return false;
    if (!Errno)
      kill(getpid(), SIGKILL);
    errno = Errno;
    return true;
  }

  static const FileCalls &calls() {
    static constexpr FileCalls Calls = {
        [](int Dir, const char *Name, int Flags, mode_t Mode) {
          return strikes() ? -1
                           : systemFileCalls().OpenAt(Dir, Name, Flags, Mode);
        },
        [](int FD, struct stat *S) {
          return strikes() ? -1 : systemFileCalls().FStat(FD, S);
        },
        [](int FD, void *To, size_t Size) {
          return strikes() ? -1 : systemFileCalls().Read(FD, To, Size);
        },
        [](int FD, const void *From, size_t Size) {
          // In pieces, so that a fault can come between two.
          return strikes() ? -1
                           : systemFileCalls().Write(
                                 FD, From, std::min<size_t>(Size, 300));
        },
        [](int Dir, const char *From, const char *To) {
          return strikes() ? -1 : systemFileCalls().RenameAt(Dir, From, To);
        },
        [](int Dir, const char *Name) {
          return strikes() ? -1 : systemFileCalls().UnlinkAt(Dir, Name);
        },
        [](int FD) {
          int Result = systemFileCalls().Close(FD);
          return strikes() ? -1 : Result;
        }};
    return Calls;
  }
};

class CachedLauncherTest : public RecordingTest {
protected:
  void SetUp() override {
    RecordingTest::SetUp();
    SmallString<128> Path;
    ASSERT_FALSE(sys::fs::createUniqueDirectory("launchjit-test", Path));
    Root = Path.str().str();
    // Others pass through it in the tests of other users.
    ASSERT_EQ(chmod(Root.c_str(), 0755), 0);
    Options.Directory = Root + "/cache";
    setLogLevels("off"); // every fault below has its warning
    K = makeKernel(nthSignature(5, "i16"));
  }
  void TearDown() override {
    setLogLevels("warn");
    sys::fs::remove_directories(Root);
    RecordingTest::TearDown();
  }

  /// What one engine, as in a new process, does for a kernel.
  struct Outcome {
    Origin From;
    bool Right; ///< Its launch recorded what it was given.
    CacheCounters Counters;
  };
  Outcome launch(const CacheOptions &O, const Kernel &Kernel) const {
    ObjectCache Cache(O);
    EngineOptions EO;
    EO.Store = [&]() -> ObjectStore & { return Cache; };
    if (FastCompile)
      EO.Compile = FastCompile;
    Engine E(EO);
    auto Found =
        valueOf(E.getStub(Kernel.signature().abi(), EntryKind::Packed));
    return {Found.From, launchesRightly(Found.TheStub->entry(), Kernel, 9),
            Cache.counters()};
  }
  Outcome launch() const { return launch(Options, *K); }

  std::string entryPath() const {
    return Options.Directory + "/" +
           Key::get(K->signature().abi(), EntryKind::Packed, "launchjit")
               .str() +
           ".stub";
  }
  static std::string readFile(const std::string &Path) {
    auto Buffer = MemoryBuffer::getFile(Path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false,
                                        /*IsVolatile=*/true);
    return Buffer ? (*Buffer)->getBuffer().str() : "";
  }
  static void writeFile(const std::string &Path, StringRef Bytes) {
    std::error_code EC;
    raw_fd_ostream(Path, EC) << Bytes;
    ASSERT_FALSE(EC);
  }

  void warm() {
    Outcome O = launch();
    ASSERT_EQ(O.From, Origin::Compiled);
    ASSERT_EQ(O.Counters.Stored, 1u);
    O = launch();
    ASSERT_EQ(O.From, Origin::Cache);
    ASSERT_TRUE(O.Right);
    ASSERT_EQ(O.Counters.Hits, 1u);
  }

  /// A launch that the cache could not help, and was right.
  CacheCounters expectMiss() {
    Outcome O = launch();
    EXPECT_EQ(O.From, Origin::Compiled);
    EXPECT_TRUE(O.Right);
    EXPECT_EQ(O.Counters.Hits, 0u);
    EXPECT_EQ(O.Counters.Misses, 1u);
    return O.Counters;
  }
  void expectHit() {
    Outcome O = launch();
    EXPECT_EQ(O.From, Origin::Cache);
    EXPECT_TRUE(O.Right);
    EXPECT_EQ(O.Counters.Hits, 1u);
    EXPECT_EQ(O.Counters.Misses, 0u);
  }

  /// Runs \p Body in a child of fork, as \p User if that is not 0; its exit
  /// status.
  template <typename Function> int inChild(Function Body, uid_t User = 0) {
    pid_t Child = fork();
    if (Child == 0) {
      alarm(60);
      if (User && (setgroups(0, nullptr) || setgid(User) || setuid(User)))
        _exit(99);
      Body();
      _exit(testing::Test::HasFailure());
    }
    int Status = -1;
    waitpid(Child, &Status, 0);
    return Status;
  }

  size_t countFiles(StringRef Prefix) const {
    size_t N = 0;
    std::error_code EC;
    for (sys::fs::directory_iterator I(Options.Directory, EC), End;
         I != End && !EC; I.increment(EC))
      N += sys::path::filename(I->path()).starts_with(Prefix);
    return N;
  }

  std::string Root;
  CacheOptions Options;
  KernelRef K;
  /// In place of the compiler, where a test makes one object very often.
  std::function<Expected<SmallVector<char, 0>>(const StubRequest &)>
      FastCompile;
};

//===----------------------------------------------------------------------===//
// What an entry may hold
//===----------------------------------------------------------------------===//

TEST_F(CachedLauncherTest, EveryFlippedByteAndEveryTruncation) {
  warm();
  const std::string Good = readFile(entryPath());
  ASSERT_GT(Good.size(), 500u);
  StringRef Object = StringRef(Good).take_back(
      cantFail(decodeEntry(ArrayRef(Good.data(), Good.size()))).Object.size());
  FastCompile = [&](const StubRequest &) -> Expected<SmallVector<char, 0>> {
    return SmallVector<char, 0>(Object.begin(), Object.end());
  };
  for (size_t I = 0; I != Good.size(); ++I) {
    std::string Bad = Good;
    Bad[I] ^= 1 << I % 8;
    writeFile(entryPath(), Bad);
    ASSERT_EQ(expectMiss().Damaged, 1u) << I;
  }
  for (size_t Size = 0; Size != Good.size(); ++Size) {
    writeFile(entryPath(), StringRef(Good).take_front(Size));
    ASSERT_EQ(expectMiss().Damaged, 1u) << Size;
  }
  expectHit(); // the compiled one took its place
}

TEST_F(CachedLauncherTest, AnEntryOfAnotherKey) {
  warm();
  KernelRef Other = makeKernel(nthSignature(6, "i16"));
  launch(Options, *Other);
  std::string Path =
      Options.Directory + "/" +
      Key::get(Other->signature().abi(), EntryKind::Packed, "launchjit").str() +
      ".stub";
  ASSERT_EQ(rename(Path.c_str(), entryPath().c_str()), 0);
  EXPECT_EQ(expectMiss().Damaged, 1u);
  expectHit();
}

TEST_F(CachedLauncherTest, AnEntryOfAnotherFormat) {
  warm();
  std::string Bytes = readFile(entryPath());
  for (uint32_t Format : {CacheFormatVersion - 1, CacheFormatVersion + 1}) {
    std::memcpy(&Bytes[offsetof(EntryHeader, Format)], &Format, sizeof Format);
    writeFile(entryPath(), Bytes);
    EXPECT_EQ(expectMiss().Damaged, 1u);
  }
}

/// Its checksum is right and its key is too, but it is no object.
TEST_F(CachedLauncherTest, AnEntryThatDoesNotLink) {
  warm();
  const std::string Good = readFile(entryPath());
  DecodedEntry D = cantFail(decodeEntry(ArrayRef(Good.data(), Good.size())));
  SmallVector<char, 0> Object(D.Object.begin(), D.Object.end());
  for (size_t Size : {size_t(0), size_t(1), size_t(64), Object.size() / 2}) {
    auto Bytes = encodeEntry(D.KeyText, ArrayRef(Object).take_front(Size));
    writeFile(entryPath(), StringRef(Bytes.data(), Bytes.size()));
    EXPECT_EQ(expectMiss().Damaged, 1u) << Size;
  }
  // Another class, byte order, type or architecture.
  for (size_t At : {EI_CLASS, EI_DATA, int(offsetof(Elf64_Ehdr, e_type)),
                    int(offsetof(Elf64_Ehdr, e_machine))}) {
    SmallVector<char, 0> Other = Object;
    Other[At] ^= 3;
    auto Bytes = encodeEntry(D.KeyText, Other);
    writeFile(entryPath(), StringRef(Bytes.data(), Bytes.size()));
    EXPECT_EQ(expectMiss().Damaged, 1u) << At;
  }
  StringRef Symbol = "lj_packed_";
  size_t At = StringRef(Object.data(), Object.size()).find(Symbol);
  ASSERT_NE(At, StringRef::npos);
  Object[At] = 'x'; // it does not define the stub
  auto Bytes = encodeEntry(D.KeyText, Object);
  writeFile(entryPath(), StringRef(Bytes.data(), Bytes.size()));
  EXPECT_EQ(expectMiss().Damaged, 1u);
  expectHit();
}

//===----------------------------------------------------------------------===//
// Who may have written it
//===----------------------------------------------------------------------===//

TEST_F(CachedLauncherTest, WhatOthersCanWriteIsNotRun) {
  warm();
  for (mode_t Mode : {0770, 0702, 01777}) {
    chmod(Options.Directory.c_str(), Mode);
    EXPECT_EQ(expectMiss().Foreign, 2u); // to read, and to write
  }
  chmod(Options.Directory.c_str(), 0700);
  for (mode_t Mode : {0620, 0602, 0666}) {
    chmod(entryPath().c_str(), Mode);
    EXPECT_EQ(expectMiss().Foreign, 1u);
    expectHit(); // the compiled one took its place
  }
}

TEST_F(CachedLauncherTest, AForeignOwnerIsNotTrusted) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  warm();
  ASSERT_EQ(chown(entryPath().c_str(), 1234, 1234), 0);
  EXPECT_EQ(expectMiss().Foreign, 1u);
  ASSERT_EQ(chown(Options.Directory.c_str(), 1234, 1234), 0);
  EXPECT_EQ(expectMiss().Foreign, 2u);
}

TEST_F(CachedLauncherTest, ALinkInPlaceOfAnEntry) {
  warm();
  std::string Target = Root + "/target";
  ASSERT_EQ(rename(entryPath().c_str(), Target.c_str()), 0);
  ASSERT_EQ(symlink(Target.c_str(), entryPath().c_str()), 0);
  EXPECT_EQ(expectMiss().Foreign, 1u);
  expectHit(); // the link was replaced, what it led to was not
  EXPECT_TRUE(sys::fs::exists(Target));
}

//===----------------------------------------------------------------------===//
// What a folder may do
//===----------------------------------------------------------------------===//

TEST_F(CachedLauncherTest, AReadOnlyDirectory) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can become a user for whom it is read-only";
  warm();
  ASSERT_EQ(chmod(Options.Directory.c_str(), 0755), 0);
  ASSERT_EQ(chmod(entryPath().c_str(), 0644), 0);
  // What root left there is used, and nothing else can be kept.
  int Status = inChild(
      [&] {
        expectHit();
        K = makeKernel(nthSignature(7, "i16"));
        EXPECT_EQ(expectMiss().Failed, 1u);
      },
      54321);
  EXPECT_EQ(Status, 0);
}

TEST_F(CachedLauncherTest, AMissingAndAVanishingDirectory) {
  expectMiss();
  // Between the search and the store.
  sys::fs::remove_directories(Options.Directory);
  FastCompile = [&](const StubRequest &R) {
    sys::fs::remove_directories(Options.Directory);
    return compileStub(R);
  };
  expectMiss();
  // Under the feet of a process that had it open before.
  ObjectCache Cache(Options);
  EngineOptions EO;
  EO.Store = [&]() -> ObjectStore & { return Cache; };
  Engine E(EO);
  for (unsigned N = 20; N != 24; ++N) {
    sys::fs::remove_directories(Options.Directory);
    KernelRef Nth = makeKernel(nthSignature(N, "i16"));
    auto Found = valueOf(E.getStub(Nth->signature().abi(), EntryKind::Packed));
    EXPECT_TRUE(launchesRightly(Found.TheStub->entry(), *Nth, 1));
  }
  EXPECT_EQ(Cache.counters().Misses, 4u);
  EXPECT_EQ(Cache.counters().Stored, 4u);
}

TEST_F(CachedLauncherTest, AFullDiskAndANoexecMount) {
  ASSERT_EQ(mkdir(Options.Directory.c_str(), 0700), 0);
  if (mount("tmpfs", Options.Directory.c_str(), "tmpfs", MS_NOEXEC | MS_NOSUID,
            "size=16k,mode=0700"))
    GTEST_SKIP() << "mounting is not allowed here: " << std::strerror(errno);
  warm(); // noexec is nothing to it
  writeFile(Options.Directory + "/ballast", std::string(12 << 10, 'x'));
  K = makeKernel(nthSignature(8, "i16"));
  EXPECT_EQ(expectMiss().Failed, 1u);
  EXPECT_EQ(countFiles(".tmp-"), 0u);
  K = makeKernel(nthSignature(5, "i16"));
  expectHit();
  EXPECT_EQ(umount(Options.Directory.c_str()), 0);
}

/// A larger file would end the process.
TEST_F(CachedLauncherTest, AFileSizeLimit) {
  int Status = inChild([&] {
    // Code memory is a file too, and comes first.
    Options.Mode = CacheMode::Off;
    EXPECT_TRUE(launch().Right);
    Options.Mode = CacheMode::ReadWrite;
    ObjectCache Cache(Options);
    const rlimit Limit = {100, 100};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &Limit), 0);
    Cache.put("0123456789abcdef0123456789abcdef", "key", std::vector<char>(99));
    EXPECT_EQ(Cache.counters().Failed, 1u);
  });
  EXPECT_EQ(Status, 0);
}

/// As a network file system does, in any of the calls.
TEST_F(CachedLauncherTest, StaleHandlesAndIOErrors) {
  warm();
  const std::string Good = readFile(entryPath());
  Options.Calls = &Fault::calls();
  for (int Errno : {ESTALE, EIO, ENOSPC, EACCES, ENFILE}) {
    unsigned Misses = 0;
    bool Struck = true;
    for (int Nth = 0; Struck; ++Nth) {
      sys::fs::remove_directories(Options.Directory);
      if (Nth % 2 == 0) { // with the entry, and without
        ASSERT_EQ(mkdir(Options.Directory.c_str(), 0700), 0);
        writeFile(entryPath(), Good);
        chmod(entryPath().c_str(), 0600);
      }
      Fault::Errno = Errno;
      Fault::Countdown = Nth / 2;
      Outcome O = launch();
      Struck = Fault::Countdown < 0;
      Fault::Countdown = -1;
      EXPECT_TRUE(O.Right) << Errno << " at call " << Nth / 2;
      EXPECT_EQ(O.Counters.Hits + O.Counters.Misses, 1u);
      EXPECT_EQ(O.From == Origin::Cache, O.Counters.Hits == 1);
      Misses += O.Counters.Misses && O.Counters.Failed;
    }
    EXPECT_GE(Misses, 4u) << Errno;
  }
}

TEST_F(CachedLauncherTest, NoHomeIsNoCache) {
  if (isRerun()) {
    for (unsigned Again = 0; Again != 2; ++Again) {
      Outcome O = launch(CacheOptions::fromEnvironment(), *K);
      EXPECT_EQ(O.From, Origin::Compiled);
      EXPECT_TRUE(O.Right);
      EXPECT_EQ(O.Counters.Misses, 1u);
      EXPECT_EQ(O.Counters.Failed, 0u);
    }
    return;
  }
  for (const char *Home : {"HOME=", "HOME=/", "HOME=relative/path"}) {
    Exited E = rerun({"LAUNCHJIT_CACHE=rw",
                      "XDG_CACHE_HOME=", "LAUNCHJIT_CACHE_DIR=", Home});
    EXPECT_EQ(E.Status, 0) << Home << "\n" << E.Output;
  }
}

/// Its user must not choose what a program of another user's rights loads.
TEST(CachedLauncherProcess, NothingIsReadUnderSetuid) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "LeakSanitizer cannot trace such a program";
#endif
  if (isRerun()) {
    ASSERT_NE(getauxval(AT_SECURE), 0u);
    EXPECT_EQ(CacheOptions::fromEnvironment().Mode, CacheMode::Off);
    EXPECT_FALSE(getEnvironment("LAUNCHJIT_LIBCUDA"));
    return;
  }
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a program setuid";
  SmallString<128> Root;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("launchjit-test", Root));
  ASSERT_EQ(chmod(Root.c_str(), 0755), 0);
  struct statvfs FS;
  bool Possible = statvfs(Root.c_str(), &FS) || !(FS.f_flag & ST_NOSUID);
  if (Possible) {
    std::string Program = (Root + "/setuid").str();
    ASSERT_FALSE(sys::fs::copy_file("/proc/self/exe", Program));
    ASSERT_EQ(chown(Program.c_str(), 54321, 54321), 0);
    ASSERT_EQ(chmod(Program.c_str(), 04755), 0);
    Exited E =
        rerun({"LAUNCHJIT_CACHE=rw", "LAUNCHJIT_LIBCUDA=/evil.so"}, Program);
    EXPECT_EQ(E.Status, 0) << E.Output;
  }
  sys::fs::remove_directories(Root);
  if (!Possible)
    GTEST_SKIP() << Root.c_str() << " is mounted nosuid";
}

//===----------------------------------------------------------------------===//
// Where it may go
//===----------------------------------------------------------------------===//

TEST_F(CachedLauncherTest, AMovedAndACopiedDirectory) {
  warm();
  std::string Moved = Root + "/moved";
  ASSERT_EQ(rename(Options.Directory.c_str(), Moved.c_str()), 0);
  Options.Directory = Moved;
  expectHit();
  const std::string Bytes = readFile(entryPath());
  Options.Directory = Root + "/copied";
  ASSERT_EQ(mkdir(Options.Directory.c_str(), 0700), 0);
  writeFile(entryPath(), Bytes);
  chmod(entryPath().c_str(), 0600);
  expectHit();
  // No path, no user and no CPU beyond the baseline is in it.
  EXPECT_EQ(Bytes.find(Root), std::string::npos);
  StringRef Text =
      cantFail(decodeEntry(ArrayRef(Bytes.data(), Bytes.size()))).KeyText;
  EXPECT_TRUE(Text.contains(
      ("\ncpu=" + baselineCPU(hostTriple()) + "\nfeatures=\n").str()));
}

TEST_F(CachedLauncherTest, ALayerOfRootServesAnyUser) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  warm();
  ASSERT_EQ(chmod(Options.Directory.c_str(), 0755), 0);
  ASSERT_EQ(chmod(entryPath().c_str(), 0644), 0);
  Options.Layers = {Root + "/absent", Options.Directory};
  Options.Directory = Root + "/another-user's";
  ASSERT_EQ(mkdir(Options.Directory.c_str(), 0700), 0);
  ASSERT_EQ(chown(Options.Directory.c_str(), 54321, 54321), 0);
  int Status = inChild(
      [&] {
        expectHit();
        EXPECT_EQ(countFiles(""), 0u);
        K = makeKernel(nthSignature(7, "i16"));
        expectMiss();
        expectHit(); // from the user's own
      },
      54321);
  EXPECT_EQ(Status, 0);
}

//===----------------------------------------------------------------------===//
// Many processes
//===----------------------------------------------------------------------===//

TEST_F(CachedLauncherTest, ManyProcessesWhileOneClearsAndPrunes) {
  std::vector<KernelRef> Kernels;
  for (unsigned N = 0; N != 6; ++N)
    Kernels.push_back(makeKernel(nthSignature(N, "u16")));
  std::vector<pid_t> Children;
  for (unsigned I = 0; I != 64; ++I) {
    pid_t Child = fork();
    if (Child == 0) {
      alarm(120);
      unsigned Wrong = 0;
      for (unsigned Round = 0; Round != 4; ++Round)
        for (const KernelRef &Each : Kernels) {
          Outcome O = launch(Options, *Each);
          Wrong += !O.Right || O.Counters.Damaged || O.Counters.Foreign;
        }
      _exit(Wrong != 0);
    }
    Children.push_back(Child);
  }
  pid_t Cleaner = fork();
  if (Cleaner == 0)
    for (ObjectCache Cache(Options);;)
      for (bool Clear : {true, false}) {
        auto Removed = Clear ? Cache.clear() : Cache.prune(2000);
        if (!Removed)
          consumeError(Removed.takeError());
        usleep(200);
      }
  for (pid_t Child : Children) {
    int Status = -1;
    waitpid(Child, &Status, 0);
    EXPECT_EQ(Status, 0);
  }
  kill(Cleaner, SIGKILL);
  waitpid(Cleaner, nullptr, 0);
  EXPECT_EQ(countFiles(".tmp-"), 0u);
}

/// Killed in each of the calls that publish an entry, between two pieces of it
/// among them.
TEST_F(CachedLauncherTest, KilledWhilePublishing) {
  Fault::Errno = 0;
  unsigned Killed = 0;
  for (int Nth = 0;; ++Nth) {
    K = makeKernel(nthSignature(Nth, "u32"));
    int Status = inChild([&] {
      Options.Calls = &Fault::calls();
      Fault::Countdown = Nth;
      launch();
    });
    Outcome O = launch();
    EXPECT_TRUE(O.Right) << Nth;
    EXPECT_EQ(O.Counters.Damaged + O.Counters.Foreign + O.Counters.Failed, 0u);
    expectHit();
    if (!WIFSIGNALED(Status))
      break;
    ++Killed;
  }
  EXPECT_GE(Killed, 10u);
  // What the dead left is swept, and nothing else is.
  size_t Left = countFiles(".tmp-");
  EXPECT_GE(Left, 3u);
  ObjectCache Cache(Options);
  EXPECT_EQ(valueOf(Cache.prune(UINT64_MAX)).Temporaries, 0u); // too young
  EXPECT_EQ(valueOf(Cache.clear()).Temporaries, Left);
  EXPECT_EQ(countFiles(".tmp-"), 0u);
}

/// At any moment, between the calls too.
TEST_F(CachedLauncherTest, KilledAtAnyMoment) {
  for (unsigned I = 0; I != 40; ++I) {
    pid_t Child = fork();
    if (Child == 0)
      for (unsigned N = 0;; ++N)
        launch(Options, *K), sys::fs::remove(entryPath());
    usleep(500 + I * 317 % 5000);
    kill(Child, SIGKILL);
    waitpid(Child, nullptr, 0);
    Outcome O = launch();
    EXPECT_TRUE(O.Right);
    EXPECT_EQ(O.Counters.Damaged, 0u);
    expectHit();
  }
}

} // namespace
