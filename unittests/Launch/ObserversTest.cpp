//===- ObserversTest.cpp - Watching launches ------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Observers.h"
#include "../Rerun.h"
#include "CCall.h"
#include "TestHelpers.h"
#include "llvm/ADT/StringExtras.h"
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::vector<std::string> Events;

/// Calls functions of the test's.
class Watcher final : public LaunchObserver {
public:
  std::function<Error(const LaunchInfo &)> OnEnter;
  std::function<Error(const LaunchInfo &, const ErrorDetail *)> OnExit;

  Error enter(const LaunchInfo &L) override {
    return OnEnter ? OnEnter(L) : Error::success();
  }
  Error exit(const LaunchInfo &L, const ErrorDetail *Failure) override {
    return OnExit ? OnExit(L, Failure) : Error::success();
  }
};

/// Observes until it dies.
class Watch {
public:
  Watch() : O(new Watcher) {}
  /// Writes "enter NAME", "exit NAME" and why a launch failed into Events.
  explicit Watch(std::string Name) : Watch() {
    O->OnEnter = [=](const LaunchInfo &) {
      Events.push_back("enter " + Name);
      return Error::success();
    };
    O->OnExit = [=](const LaunchInfo &, const ErrorDetail *Failure) {
      Events.push_back("exit " + Name +
                       (Failure ? ": " + Failure->Message : ""));
      return Error::success();
    };
    start();
  }
  ~Watch() { stop(); }
  void start() { addLaunchObserver(O); }
  void stop() { EXPECT_TRUE(removeLaunchObserver(*O)); }
  Watcher *operator->() { return O.get(); }
  Watcher &operator*() { return *O; }

private:
  IntrusiveRefCntPtr<Watcher> O;
};

Error refuse(const Twine &Why) { return makeError(Status::NotFound, Why); }

class ObserversTest : public RecordingTest {
protected:
  void SetUp() override {
    RecordingTest::SetUp();
    Events.clear();
    ASSERT_FALSE(isObserved());
  }
  void TearDown() override {
    EXPECT_FALSE(isObserved());
    RecordingTest::TearDown();
  }

  /// Whether a launch does more than launch.
  static bool isObserved() { return stubTable().Launch != launchPacked; }

  KernelRef K = makeKernel("a: *fp32, n: i32");

  ErrorDetail launch(int64_t X = 1) {
    return errorOf(K->launch(X, 1, 1, nullptr,
                             {Value::ofPointer(0x1000), Value::ofInt(-3)}));
  }
};

//===----------------------------------------------------------------------===//
// What is seen
//===----------------------------------------------------------------------===//

TEST_F(ObserversTest, SeeEveryEntryKind) {
  if (!isRerun()) {
    for (const char *JIT : {"LAUNCHJIT_JIT=on", "LAUNCHJIT_JIT=off"}) {
      Exited E = rerun({JIT});
      EXPECT_EQ(E.Status, 0) << E.Output;
    }
  }
  KernelOptions O;
  O.Block[0] = 64;
  O.Shared = 256;
  KernelRef K = makeKernel("a: *fp32, n: i32", O);
  OwnContext Context(1);
  CUstream Stream = Context.makeStream();
  uint32_t Block[3] = {32, 2, 1};
  alignas(8) char Storage[256];
  ASSERT_LE(Kernel::storageSize(K->data(), 0), sizeof Storage);
  LaunchOverrides Overrides;
  Overrides.Block = Block;
  const KernelData *With = valueOf(
      Kernel::withOverrides(K->data(), Storage, sizeof Storage, Overrides));
  uint64_t A = 0x1000;
  int32_t N = -3;
  const void *Arguments[] = {&A, &N};
  ArrayRef<Slot> Slots = K->signature().abi().slots();

  Watch W;
  W->OnEnter = [](const LaunchInfo &L) {
    EXPECT_EQ(L.BeginNs, 0u);
    Events.push_back(describeLaunch(L));
    return Error::success();
  };
  W->OnExit = [](const LaunchInfo &L, const ErrorDetail *Failure) {
    EXPECT_EQ(Failure, nullptr);
    EXPECT_GT(L.BeginNs, 0u);
    EXPECT_GE(L.EndNs, L.BeginNs);
    Events.push_back("exit");
    return Error::success();
  };
  W.start();
  EXPECT_EQ(callC(valueOf(K->launcher(EntryKind::C))->entry(),
                  {&K->data(), {1, 2, 3}, nullptr}, Slots, Arguments),
            0);
  EXPECT_EQ(packedEntry(*K)(&K->data(), 4, 1, 1, Stream, Arguments), 0);
  EXPECT_EQ(packedEntry(*K)(With, 5, 1, 1, nullptr, Arguments), 0);
  EXPECT_EQ(errorOf(K->launch(6, 1, 1, nullptr,
                              {Value::ofPointer(A), Value::ofInt(N)}))
                .Code,
            Status::Success);
  std::string Handle = utohexstr(reinterpret_cast<uintptr_t>(Stream), true);
  EXPECT_THAT(
      Events,
      ElementsAre("k grid=(1,2,3) block=(64,1,1) shared=256 stream=0x0 (a: "
                  "*fp32 = 0x1000, n: i32 = -3)",
                  "exit",
                  "k grid=(4,1,1) block=(64,1,1) shared=256 stream=0x" +
                      Handle + " (a: *fp32 = 0x1000, n: i32 = -3)",
                  "exit",
                  "k grid=(5,1,1) block=(32,2,1) shared=256 stream=0x0 (a: "
                  "*fp32 = 0x1000, n: i32 = -3)",
                  "exit",
                  "k grid=(6,1,1) block=(64,1,1) shared=256 stream=0x0 (a: "
                  "*fp32 = 0x1000, n: i32 = -3)",
                  "exit"));
  EXPECT_EQ(countLaunches(), 4u);
}

TEST_F(ObserversTest, AreNestedInTheOrderOfAdding) {
  {
    Watch A("a"), B("b");
    EXPECT_EQ(launch().Code, Status::Success);
  }
  EXPECT_EQ(launch().Code, Status::Success);
  EXPECT_THAT(Events, ElementsAre("enter a", "enter b", "exit b", "exit a"));
  EXPECT_EQ(countLaunches(), 2u);
}

TEST_F(ObserversTest, DoNotSeeWhatIsNoLaunch) {
  Watch A("a");
  EXPECT_EQ(launch(0).Code, Status::Success);
  EXPECT_EQ(errorOf(K->launch(1, 1, 1, nullptr, {})).Code,
            Status::ArgumentType);
  EXPECT_THAT(Events, IsEmpty());
}

TEST_F(ObserversTest, DoNotSeeTheirOwnLaunches) {
  Watch W;
  W->OnExit = [&](const LaunchInfo &, const ErrorDetail *Failure) {
    Events.push_back(Failure->Message);
    EXPECT_EQ(launch().Code, Status::Success);
    EXPECT_EQ(launch(-2).Code, Status::ArgumentValue);
    return Error::success();
  };
  W.start();
  ErrorDetail D = launch(-1);
  EXPECT_THAT(Events, ElementsAre(D.Message));
  EXPECT_THAT(D.Message, testing::HasSubstr("grid x is -1"));
  EXPECT_EQ(lastError().Message, D.Message);
  EXPECT_EQ(countLaunches(), 1u);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(ObserversTest, MayStopALaunch) {
  Watch A("a"), B, C("c");
  B->OnEnter = [](const LaunchInfo &) { return refuse("not today"); };
  B->OnExit = [](const LaunchInfo &, const ErrorDetail *) {
    ADD_FAILURE() << "it did not enter";
    return Error::success();
  };
  B.start();
  C.stop();
  Watch Late("late");
  ErrorDetail D = launch();
  EXPECT_EQ(D.Code, Status::NotFound);
  EXPECT_EQ(D.Message, "not today");
  EXPECT_THAT(Events, ElementsAre("enter a", "exit a: not today"));
  EXPECT_EQ(countLaunches(), 0u);
}

TEST_F(ObserversTest, MayFailALaunchAfterwards) {
  Watch A("a"), B;
  B->OnExit = [](const LaunchInfo &, const ErrorDetail *Failure) {
    return refuse(Failure ? "not so" : "too late");
  };
  B.start();
  EXPECT_EQ(launch().Message, "too late");
  EXPECT_EQ(countLaunches(), 1u);
  EXPECT_EQ(launch(-1).Message, "not so");
  EXPECT_EQ(lastError().Message, "not so");
  EXPECT_THAT(Events, ElementsAre("enter a", "exit a: too late", "enter a",
                                  "exit a: not so"));
}

//===----------------------------------------------------------------------===//
// Removal
//===----------------------------------------------------------------------===//

TEST_F(ObserversTest, MayRemoveThemselvesAndEachOther) {
  Watch A("a"), B;
  B->OnEnter = [&](const LaunchInfo &) {
    A.stop();
    B.stop();
    return Error::success();
  };
  B->OnExit = [](const LaunchInfo &, const ErrorDetail *) {
    ADD_FAILURE() << "it is removed";
    return Error::success();
  };
  B.start();
  EXPECT_EQ(launch().Code, Status::Success);
  EXPECT_THAT(Events, ElementsAre("enter a"));
  EXPECT_FALSE(isObserved());
}

TEST_F(ObserversTest, RunToTheirEndBeforeRemovalReturns) {
  std::promise<void> Begun, Go;
  std::atomic<bool> Ended{false};
  Watch W;
  W->OnEnter = [&](const LaunchInfo &) {
    Begun.set_value();
    Go.get_future().wait();
    Ended = true;
    return Error::success();
  };
  W.start();
  std::thread Launching([&] { EXPECT_EQ(launch().Code, Status::Success); });
  Begun.get_future().wait();
  EXPECT_FALSE(removeLaunchObserver(*W, /*Wait=*/false));
  EXPECT_FALSE(isObserved()); // for launches to come
  std::thread Removing([&] {
    EXPECT_TRUE(removeLaunchObserver(*W));
    EXPECT_TRUE(Ended);
  });
  Go.set_value();
  Removing.join();
  Launching.join();
}

TEST_F(ObserversTest, ComeAndGoWhileThreadsLaunch) {
  constexpr unsigned Rounds = 300;
  std::atomic<bool> Stop{false};
  std::atomic<unsigned> Launched{0};
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 3; ++T)
    Threads.emplace_back([&] {
      ASSERT_EQ(recording().cuCtxSetCurrent(Primary[0]), CUDA_SUCCESS);
      while (!Stop) {
        EXPECT_EQ(launch().Code, Status::Success);
        ++Launched;
      }
    });
  std::vector<std::thread> Changing;
  for (unsigned T = 0; T != 2; ++T)
    Changing.emplace_back([&] {
      ASSERT_EQ(recording().cuCtxSetCurrent(Primary[0]), CUDA_SUCCESS);
      for (unsigned Round = 0; Round != Rounds; ++Round) {
        // What an observer uses is gone at once when it is removed.
        auto Calls = std::make_unique<std::atomic<unsigned>>(0);
        auto *Raw = Calls.get();
        Watch W;
        W->OnEnter = [Raw](const LaunchInfo &) {
          ++*Raw;
          return Error::success();
        };
        W.start();
        EXPECT_EQ(launch().Code, Status::Success);
        EXPECT_GE(*Calls, 1u);
        W.stop();
      }
    });
  for (std::thread &T : Changing)
    T.join();
  while (Launched < 10)
    std::this_thread::yield();
  Stop = true;
  for (std::thread &T : Threads)
    T.join();
}

TEST_F(ObserversTest, AChildOfForkDoesNotWaitForItsParentsThreads) {
  std::promise<void> Begun, Go;
  std::shared_future<void> Wait(Go.get_future());
  bool First = true;
  Watch W;
  W->OnEnter = [&](const LaunchInfo &) {
    if (std::exchange(First, false)) {
      Begun.set_value();
      Wait.wait();
    }
    return Error::success();
  };
  W.start();
  std::thread Launching([&] { EXPECT_EQ(launch().Code, Status::Success); });
  Begun.get_future().wait();
  pid_t Child = fork();
  if (Child == 0) {
    alarm(30);
    bool Good = launch().Code == Status::Success && removeLaunchObserver(*W) &&
                launch().Code == Status::Success;
    _exit(Good ? 0 : 1);
  }
  int Status = -1;
  EXPECT_EQ(waitpid(Child, &Status, 0), Child);
  EXPECT_EQ(Status, 0);
  Go.set_value();
  Launching.join();
}

TEST_F(ObserversTest, MayFork) {
  Watch W;
  pid_t Child = -1;
  W->OnEnter = [&](const LaunchInfo &) {
    Child = fork();
    return Error::success();
  };
  W.start();
  EXPECT_EQ(launch().Code, Status::Success);
  if (Child == 0) {
    alarm(30);
    W->OnEnter = nullptr;
    bool Good = launch().Code == Status::Success && removeLaunchObserver(*W) &&
                !isObserved();
    _exit(Good ? 0 : 1);
  }
  int Status = -1;
  EXPECT_EQ(waitpid(Child, &Status, 0), Child);
  EXPECT_EQ(Status, 0);
}

} // namespace
