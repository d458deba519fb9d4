//===- ForkTest.cpp - Staying right across fork ---------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <mutex>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace launchjit;

namespace {

/// Forks; the child runs \p Body, which gives its exit code, and is killed
/// when that takes long. Gives the child's exit code, or -1.
template <typename Fn> int inChild(Fn Body) {
  pid_t Child = fork();
  if (Child == 0) {
    alarm(20);
    _exit(Body());
  }
  int Status = -1;
  if (Child < 0 || waitpid(Child, &Status, 0) != Child || !WIFEXITED(Status))
    return -1;
  return WEXITSTATUS(Status);
}

// Registered before the library's handlers, so that these run while the
// library's gate is closed.
std::atomic<bool> ShieldInHandlers{false};
void takeShield() {
  if (ShieldInHandlers)
    ForkShield Shield;
}
const int Registered = pthread_atfork(takeShield, takeShield, takeShield);

} // namespace

TEST(ForkTest, GenerationGrowsOnBothSides) {
  uint64_t Before = forkGeneration();
  EXPECT_EQ(inChild([&] { return forkGeneration() > Before ? 0 : 1; }), 0);
  EXPECT_GT(forkGeneration(), Before);
}

TEST(ForkTest, ShieldsNest) {
  ForkShield A;
  {
    ForkShield B;
    ForkShield C;
  }
  EXPECT_EQ(inChild([] {
              ForkShield D;
              return 0;
            }),
            0);
}

TEST(ForkTest, ForkWaitsForOtherThreads) {
  std::atomic<bool> Inside{false}, Forked{false}, SawFork{false};
  std::thread Other([&] {
    ForkShield Shield;
    Inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    SawFork = Forked.load();
  });
  while (!Inside)
    std::this_thread::yield();
  EXPECT_EQ(inChild([] { return 0; }), 0);
  Forked = true;
  Other.join();
  EXPECT_FALSE(SawFork);
}

TEST(ForkTest, ForkInsideTheShieldKeepsTheThreadsLocks) {
  std::mutex Lock;
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  EXPECT_EQ(inChild([&] {
              bool Held = !Lock.try_lock();
              // A fork of the child's own.
              return Held && inChild([] { return 3; }) == 3 ? 0 : 1;
            }),
            0);
}

TEST(ForkTest, HandlersOfOthersMayTakeAShield) {
  ASSERT_EQ(Registered, 0);
  ShieldInHandlers = true;
  for (unsigned I = 0; I != 3; ++I) {
    EXPECT_EQ(inChild([] { return inChild([] { return 0; }); }), 0);
    ForkShield Shield;
    EXPECT_EQ(inChild([] { return 0; }), 0);
  }
  ShieldInHandlers = false;
}

TEST(ForkTest, LocksInsideShieldsAreFreeInTheChild) {
  std::atomic<bool> Stop{false};
  std::atomic<unsigned> Count{0};
  setLogSink([](void *C, LogLevel, const char *,
                const char *) { ++*static_cast<std::atomic<unsigned> *>(C); },
             &Count);
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 3; ++T)
    Threads.emplace_back([&] {
      while (!Stop)
        log(LogLevel::Warn, "engine", "busy");
    });
  for (unsigned I = 0; I != 200; ++I)
    ASSERT_EQ(inChild([&] {
                unsigned Before = Count;
                log(LogLevel::Warn, "engine", "child");
                return Count == Before + 1 ? 0 : 1;
              }),
              0)
        << "fork " << I;
  Stop = true;
  for (std::thread &T : Threads)
    T.join();
  setLogSink(nullptr, nullptr);
}
