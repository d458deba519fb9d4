//===- EngineTest.cpp - From a canonical ABI to running code --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/Engine.h"
#include "launchjit/Support/Error.h"
#include "gtest/gtest.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

namespace {

ABI abi(const Twine &Text) { return cantFail(ABI::parse(Text.str())); }

/// The nth of many distinct ABIs.
ABI nthABI(unsigned N) {
  std::string Text;
  for (; N; N /= 3)
    Text += N % 3 == 0 ? "i32" : N % 3 == 1 ? "p" : "fp64";
  return abi(Text);
}

TEST(Engine, SharesByABIAndEntry) {
  Engine E;
  auto First = cantFail(E.getStub(abi("pi32"), EntryKind::C));
  EXPECT_EQ(First.From, Origin::Compiled);
  EXPECT_GT(First.TheStub->compileNs(), 0u);
  EXPECT_GT(First.TheStub->objectSize(), First.TheStub->codeSize());
  auto Second = cantFail(E.getStub(abi("pi32"), EntryKind::C));
  EXPECT_EQ(Second.From, Origin::Memory);
  EXPECT_EQ(Second.TheStub.get(), First.TheStub.get());
  auto Flat = cantFail(E.getStub(abi("p_(i32)"), EntryKind::C));
  EXPECT_EQ(Flat.TheStub.get(), First.TheStub.get());
  auto Packed = cantFail(E.getStub(abi("pi32"), EntryKind::Packed));
  EXPECT_NE(Packed.TheStub->entry(), First.TheStub->entry());
  EXPECT_EQ(E.statistics().Alive, 2u);
}

TEST(Engine, ConcurrentRequestsShareOneCompile) {
  std::atomic<unsigned> Compiles{0};
  std::atomic<bool> Go{false};
  EngineOptions Options;
  Options.Compile = [&](const StubRequest &R) {
    ++Compiles;
    return compileStub(R);
  };
  Engine E(Options);
  std::vector<std::thread> Threads;
  std::vector<const Stub *> Got(16);
  std::vector<StubRef> Kept(16);
  for (unsigned I = 0; I != 16; ++I)
    Threads.emplace_back([&, I] {
      while (!Go)
        std::this_thread::yield();
      Kept[I] = cantFail(E.getStub(abi("pppi32"), EntryKind::Packed)).TheStub;
    });
  Go = true;
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Compiles, 1u);
  for (auto &S : Kept)
    EXPECT_EQ(S.get(), Kept[0].get());
}

TEST(Engine, AFailedCompileIsToldAndTriedAgain) {
  std::atomic<unsigned> Calls{0};
  EngineOptions Options;
  Options.Compile =
      [&](const StubRequest &R) -> Expected<SmallVector<char, 0>> {
    if (Calls++ == 0)
      return makeError(Status::Internal, "not today");
    return compileStub(R);
  };
  Engine E(Options);
  auto First = E.getStub(abi("p"), EntryKind::C);
  ASSERT_FALSE(bool(First));
  EXPECT_EQ(takeDetail(First.takeError()).Message, "not today");
  EXPECT_EQ(E.statistics().Alive, 0u);
  auto Second = E.getStub(abi("p"), EntryKind::C);
  EXPECT_TRUE(bool(Second));
}

TEST(Engine, NothingIsCompiledWhileMemoryIsRefused) {
  pid_t Child = fork(); // for a limit of its own
  if (Child == 0) {
    unsigned Calls = 0;
    EngineOptions Options;
    Options.Compile = [&](const StubRequest &R) {
      ++Calls;
      return compileStub(R);
    };
    Engine E(Options);
    rlimit Old, Small;
    getrlimit(RLIMIT_FSIZE, &Old);
    Small = {1 << 20, Old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &Small);
    bool Right = true;
    for (const char *Text : {"p", "p", "i32"}) {
      auto Found = E.getStub(abi(Text), EntryKind::C);
      Right &=
          !Found && takeDetail(Found.takeError()).Code == Status::Unsupported;
    }
    Right &= Calls == 1 && E.statistics().Alive == 0;
    setrlimit(RLIMIT_FSIZE, &Old);
    auto Found = E.getStub(abi("p"), EntryKind::C);
    Right &= Found && Found->From == Origin::Compiled;
    _exit(Right ? 0 : 1);
  }
  int Exit = 1;
  waitpid(Child, &Exit, 0);
  EXPECT_EQ(Exit, 0);
}

TEST(Engine, UnusedStubsAreKeptUpToTheBound) {
  EngineOptions Options;
  Options.MaxUnused = 8;
  Engine E(Options);
  for (unsigned I = 0; I != 50; ++I)
    cantFail(E.getStub(nthABI(I), EntryKind::C));
  Engine::Statistics S = E.statistics();
  EXPECT_EQ(S.Alive, 0u);
  EXPECT_EQ(S.Unused, 8u);
  EXPECT_EQ(S.Freed, 42u);
  EXPECT_EQ(S.Compiled, 50u);
  // The last is still there, the first is not.
  EXPECT_EQ(cantFail(E.getStub(nthABI(49), EntryKind::C)).From, Origin::Memory);
  EXPECT_EQ(cantFail(E.getStub(nthABI(0), EntryKind::C)).From,
            Origin::Compiled);
}

TEST(Engine, ThreadsMakeUseAndDropWhileOthersDo) {
  EngineOptions Options;
  Options.MaxUnused = 4;
  Engine E(Options);
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 8; ++T)
    Threads.emplace_back([&, T] {
      for (unsigned I = 0; I != 100; ++I) {
        auto Found =
            cantFail(E.getStub(nthABI((I * 7 + T) % 16), EntryKind::Packed));
        StubRef Copy = Found.TheStub;
        ASSERT_TRUE(Copy->entry());
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(E.statistics().Alive, 0u);
  EXPECT_EQ(E.statistics().Unused, 4u);
}

TEST(Engine, ForkWhileOthersCompile) {
  EngineOptions Options;
  Options.MaxUnused = 4;
  Engine E(Options);
  std::atomic<bool> Stop{false};
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 3; ++T)
    Threads.emplace_back([&, T] {
      for (unsigned I = T; !Stop; I += 3)
        cantFail(E.getStub(nthABI(I % 200), EntryKind::C));
    });
  for (unsigned I = 0; I != 50; ++I) {
    pid_t Child = fork();
    if (Child == 0) {
      alarm(60);
      for (unsigned J = 0; J != 10; ++J)
        cantFail(E.getStub(nthABI(1000 + J), EntryKind::Packed));
      _exit(0);
    }
    int Exit = 1;
    waitpid(Child, &Exit, 0);
    EXPECT_EQ(Exit, 0);
  }
  Stop = true;
  for (std::thread &T : Threads)
    T.join();
}

TEST(Engine, UnknownContract) {
  Engine E;
  auto Found = E.getStub(abi("p"), EntryKind::C, "triton-1");
  ASSERT_FALSE(bool(Found));
  EXPECT_EQ(takeDetail(Found.takeError()).Message,
            "unknown contract 'triton-1'; known are launchjit");
}

} // namespace
