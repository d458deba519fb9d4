//===- ProcessTest.cpp - Launchers where a process is restricted or forks -===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rerun.h"
#include "TestHelpers.h"
#include "llvm/ADT/StringExtras.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#ifndef PR_MDWE_REFUSE_EXEC_GAIN
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

namespace {

unsigned count(StringRef Text, StringRef What) { return Text.count(What); }

class ProcessTest : public RecordingTest {
protected:
  /// Launchers of several ABIs and both kinds come from \p Expected and do
  /// what they should.
  static void expectLaunchers(Origin Expected) {
    for (unsigned N : {1, 5, 70}) {
      KernelRef K = makeKernel(nthSignature(N, "u8"));
      LauncherRef C = valueOf(K->launcher(EntryKind::C));
      EXPECT_EQ(C->origin(), Expected);
      LauncherRef Packed = valueOf(K->launcher(EntryKind::Packed));
      EXPECT_EQ(Packed->origin(), Expected);
      EXPECT_TRUE(launchesRightly(Packed->entry(), *K, N));
    }
  }
};

constexpr char Warning[] = "launches go through the interpreter";

//===----------------------------------------------------------------------===//
// No driver
//===----------------------------------------------------------------------===//

TEST_F(ProcessTest, WithoutADriverOnlyALaunchIsAnError) {
  if (!isRerun()) {
    Exited E = rerun({"LAUNCHJIT_LIBCUDA=/nonexistent/libcuda.so.1"});
    EXPECT_EQ(E.Status, 0) << E.Output;
    return;
  }
  unsetenv("LAUNCHJIT_DRIVER");
  Signature S = nthSignature(2, "u8");
  std::string Text = ptx(S);
  KernelRef K = valueOf(Kernel::create(
      valueOf(Module::create(arrayRefFromStringRef<uint8_t>(Text), "m")), "k",
      S));
  std::vector<Value> Values;
  const uint8_t Zero[16] = {};
  for (const Slot &Where : S.abi().slots())
    Values.push_back(Value::ofBytes(Zero, Where.Size));
  auto Launch = [&](int64_t X) {
    return errorOf(K->launch(X, 1, 1, nullptr, Values));
  };
  EXPECT_EQ(Launch(0).Code, Status::Success);
  EXPECT_EQ(Launch(-1).Code, Status::ArgumentValue);
  EXPECT_EQ(Driver::processIfOpen(), nullptr);
  for (unsigned Again = 0; Again != 2; ++Again) {
    ErrorDetail D = Launch(1);
    EXPECT_EQ(D.Code, Status::NoDriver);
    EXPECT_THAT(D.Message,
                testing::AllOf(testing::HasSubstr("/nonexistent/libcuda.so.1"),
                               testing::HasSubstr("LAUNCHJIT_DRIVER")));
  }
  EXPECT_EQ(countLaunches(), 0u);
  // It is looked for anew; what is wrong is told again.
  setenv("LAUNCHJIT_DRIVER", "cuba", 1);
  EXPECT_EQ(Launch(1).Message,
            "LAUNCHJIT_DRIVER is 'cuba'; it may be cuda, recording or null");
  setenv("LAUNCHJIT_DRIVER", "recording", 1);
  EXPECT_EQ(Launch(1).Message, "no error");
  EXPECT_EQ(countLaunches(), 1u);
  EXPECT_NE(Driver::processIfOpen(), nullptr);
}

//===----------------------------------------------------------------------===//
// No executable memory
//===----------------------------------------------------------------------===//

TEST_F(ProcessTest, JITOffIsInterpretedWithoutAWord) {
  if (isRerun())
    return expectLaunchers(Origin::Interpreted);
  Exited E = rerun({"LAUNCHJIT_JIT=off"});
  EXPECT_EQ(E.Status, 0) << E.Output;
  EXPECT_EQ(count(E.Output, Warning), 0u) << E.Output;
}

/// From now on this process and its children cannot make memory executable,
/// as under systemd's MemoryDenyWriteExecute or SELinux.
bool refuseExecutableMemory() {
  constexpr auto Number = offsetof(seccomp_data, nr);
  constexpr auto Protection = offsetof(seccomp_data, args) + 2 * 8;
  sock_filter Code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, Number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pkey_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, Protection),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog Filter = {static_cast<unsigned short>(std::size(Code)), Code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &Filter) == 0;
}

TEST_F(ProcessTest, RefusedExecutableMemoryIsInterpretedWithOneWarning) {
  if (isRerun()) {
    ASSERT_TRUE(refuseExecutableMemory()) << std::strerror(errno);
    ErrorDetail D = errorOf(Engine::checkExecutableMemory());
    EXPECT_EQ(D.Code, Status::Unsupported);
    EXPECT_EQ(D.Message, "executable memory is refused: mmap with PROT_EXEC: "
                         "Operation not permitted");
    return expectLaunchers(Origin::Interpreted);
  }
  Exited E = rerun();
  EXPECT_EQ(E.Status, 0) << E.Output;
  EXPECT_EQ(count(E.Output, Warning), 1u) << E.Output;
  EXPECT_EQ(count(E.Output, "executable memory is refused"), 1u) << E.Output;
}

TEST_F(ProcessTest, WhatWasCompiledBeforeARefusalStays) {
  if (isRerun()) {
    expectLaunchers(Origin::Compiled);
    KernelRef K = makeKernel(nthSignature(9, "i8"));
    LauncherRef L = valueOf(K->launcher(EntryKind::Packed));
    ASSERT_TRUE(refuseExecutableMemory()) << std::strerror(errno);
    EXPECT_TRUE(launchesRightly(L->entry(), *K, 1));
    // There is room in memory that is executable already.
    KernelRef Other = makeKernel(nthSignature(10, "i8"));
    LauncherRef More = valueOf(Other->launcher(EntryKind::Packed));
    EXPECT_TRUE(launchesRightly(More->entry(), *Other, 2));
    return;
  }
  Exited E = rerun();
  EXPECT_EQ(E.Status, 0) << E.Output;
}

// With this set no page becomes executable that was not so from the start:
// the library maps one file twice instead.
TEST_F(ProcessTest, TheJITWorksUnderMDWE) {
  if (isRerun()) {
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)) {
      ASSERT_EQ(errno, EINVAL); // Linux before 6.3
      std::puts("this kernel has no PR_SET_MDWE");
    } else {
      size_t Page = sysconf(_SC_PAGESIZE);
      void *P = mmap(nullptr, Page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(P, MAP_FAILED);
      EXPECT_EQ(mprotect(P, Page, PROT_READ | PROT_EXEC), -1);
      EXPECT_EQ(errno, EACCES);
      munmap(P, Page);
    }
    EXPECT_EQ(errorOf(Engine::checkExecutableMemory()).Message, "no error");
    return expectLaunchers(Origin::Compiled);
  }
  Exited E = rerun();
  EXPECT_EQ(E.Status, 0) << E.Output;
  EXPECT_EQ(count(E.Output, Warning), 0u) << E.Output;
}

//===----------------------------------------------------------------------===//
// Forks
//===----------------------------------------------------------------------===//

/// Forks; the child runs \p Body, which says whether all is well, and is
/// killed when it hangs.
template <typename Fn> pid_t start(Fn Body) {
  pid_t Child = fork();
  if (Child == 0) {
    alarm(60);
    _exit(Body() ? 0 : 1);
  }
  return Child;
}

bool endedWell(pid_t Child) {
  int Status = -1;
  return Child > 0 && waitpid(Child, &Status, 0) == Child && Status == 0;
}

/// A stub with a kernel to launch, and its code as it was linked.
struct Linked {
  KernelRef K;
  StubRef S;
  std::string Code;

  Linked(Engine &E, unsigned N, StringRef Family)
      : K(makeKernel(nthSignature(N, Family))),
        S(cantFail(E.getStub(K->signature().abi(), EntryKind::Packed)).TheStub),
        Code(code()) {}
  std::string code() const {
    return {static_cast<const char *>(S->entry()), S->codeSize()};
  }
  bool isWhole() const {
    return code() == Code && launchesRightly(S->entry(), *K, 3);
  }
};

/// Compiles, launches and frees, over and over.
bool churn(Engine &E, StringRef Family) {
  bool Right = true;
  for (unsigned N = 1; N != 30; ++N)
    Right &= Linked(E, N, Family).isWhole();
  return Right;
}

class LaunchForkTest : public RecordingTest {};

// A sanitizer makes a fork cost milliseconds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned NumForks = 30;
#else
constexpr unsigned NumForks = 200;
#endif

// Each side compiles, launches and frees while the other waits, in turns;
// after each turn, whatever a side still has is as it was.
TEST_F(LaunchForkTest, NeitherSideSeesTheOthersCodeChange) {
  EngineOptions Options;
  Options.MaxUnused = 0; // what is unused is freed at once
  Engine E(Options);
  std::vector<Linked> Old;
  for (unsigned N = 0; N != 8; ++N)
    Old.emplace_back(E, N, "u8");
  EXPECT_TRUE(churn(E, "u16"));

  int Ends[2]; // the parent's, the child's
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, Ends), 0);
  auto Say = [](int End) {
    char C = 0;
    return send(End, &C, 1, MSG_NOSIGNAL) == 1;
  };
  // Fails, and does not wait, where the other side is gone.
  auto Hear = [](int End) {
    char C;
    return read(End, &C, 1) == 1;
  };
  auto AllWhole = [](const std::vector<Linked> &L) {
    return all_of(L, [](const Linked &S) { return S.isWhole(); });
  };
  pid_t Child = start([&] {
    close(Ends[0]);
    bool Right = Hear(Ends[1]);
    for (unsigned Round = 0; Round != 3; ++Round) {
      Old.erase(Old.begin()); // freed here, still in use there
      std::vector<Linked> Mine;
      for (unsigned N = 0; N != 8; ++N)
        Mine.emplace_back(E, N, "i16");
      Right &= churn(E, "i8");
      Right &= Say(Ends[1]) && Hear(Ends[1]);
      Right &= AllWhole(Old) && AllWhole(Mine);
    }
    return Right;
  });
  close(Ends[1]);
  for (unsigned Round = 0; Round != 3; ++Round) {
    std::vector<Linked> Mine;
    for (unsigned N = 0; N != 8; ++N)
      Mine.emplace_back(E, N, "i32");
    EXPECT_TRUE(Say(Ends[0]) && Hear(Ends[0])) << Round;
    EXPECT_TRUE(AllWhole(Old)) << Round;
    EXPECT_TRUE(AllWhole(Mine)) << Round;
    Old.pop_back(); // freed here, still in use there
    EXPECT_TRUE(churn(E, "i64"));
  }
  EXPECT_TRUE(Say(Ends[0]));
  EXPECT_TRUE(endedWell(Child));
  EXPECT_TRUE(AllWhole(Old));
  close(Ends[0]);
}

TEST_F(LaunchForkTest, BeforeTheFirstLauncherOfBothSides) {
  if (isRerun()) {
    auto Body = [] {
      KernelRef K = makeKernel(nthSignature(3, "u32"));
      auto L = K->launcher(EntryKind::Packed);
      return L && (*L)->origin() == Origin::Compiled &&
             launchesRightly((*L)->entry(), *K, 1);
    };
    pid_t Child = start(Body);
    EXPECT_TRUE(Body());
    EXPECT_TRUE(endedWell(Child));
    return;
  }
  Exited E = rerun();
  EXPECT_EQ(E.Status, 0) << E.Output;
}

TEST_F(LaunchForkTest, WhileOtherThreadsCompileAndLaunch) {
  EngineOptions Options;
  Options.MaxUnused = 4;
  Engine E(Options);
  std::vector<KernelRef> Kernels;
  for (unsigned N = 0; N != 12; ++N)
    Kernels.push_back(makeKernel(nthSignature(N, "u64")));
  std::atomic<bool> Stop{false};
  std::atomic<unsigned> Failed{0}, Rounds{0};
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 2; ++T)
    Threads.emplace_back([&, T] {
      for (unsigned I = T; !Stop; ++I, ++Rounds) {
        const Kernel &K = *Kernels[I * 5 % Kernels.size()];
        auto Found = E.getStub(K.signature().abi(), EntryKind::Packed);
        if (!Found) {
          consumeError(Found.takeError());
          ++Failed;
          continue;
        }
        const uint64_t Zero[4] = {};
        std::vector<const void *> Arguments(K.signature().abi().slots().size(),
                                            Zero);
        Failed += reinterpret_cast<PackedEntry>(Found->TheStub->entry())(
                      &K.data(), 1, 1, 1, nullptr, Arguments.data()) != 0;
      }
    });
  unsigned Hung = 0;
  for (unsigned I = 0; I != NumForks; ++I) {
    takeRecordedLaunches(); // else each child copies and drops them all
    pid_t Child = start([&] {
      KernelRef K = makeKernel(nthSignature(I + 100, "i64"));
      auto L = K->launcher(EntryKind::Packed);
      bool Right = L && launchesRightly((*L)->entry(), *K, I) &&
                   Linked(E, 1000, "fp32").isWhole();
      return Right && (*L)->origin() == Origin::Compiled;
    });
    Hung += !endedWell(Child);
  }
  Stop = true;
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Hung, 0u);
  EXPECT_EQ(Failed, 0u);
  EXPECT_GT(Rounds, 0u);
}

} // namespace
