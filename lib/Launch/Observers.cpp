//===- Observers.cpp - Watching launches ----------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Observers.h"
#include "DebugObservers.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Trace.h"
#include "llvm/ADT/STLExtras.h"
#include <sched.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

Error LaunchObserver::enter(const LaunchInfo &) { return Error::success(); }
Error LaunchObserver::exit(const LaunchInfo &, const ErrorDetail *) {
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Calling one observer
//===----------------------------------------------------------------------===//

namespace launchjit {

/// Calls observers, and knows which calls go on.
class ObserverCalls {
public:
  /// Whether this thread is in an observer.
  static bool here() { return Running; }

  /// Calls \p Function, unless \p O is removed.
  static Error call(LaunchObserver &O, function_ref<Error()> Function) {
    const uint64_t Mine = process();
    uint64_t N = O.Calls.load();
    while (!O.Calls.compare_exchange_weak(N, (of(N, Mine) ? N : Mine) + 1))
      ;
    // Removal sets Removed and then reads Calls: one of us sees the other.
    Error E = Error::success();
    if (!O.Removed.load()) {
      Running = &O;
      E = Function();
      Running = nullptr;
    }
    N = O.Calls.load();
    while (of(N, Mine) && !O.Calls.compare_exchange_weak(N, N - 1))
      ;
    return E;
  }

  /// True the first time.
  static bool remove(LaunchObserver &O) { return !O.Removed.exchange(true); }

  /// Whether another thread is in a call of \p O.
  static bool elsewhere(const LaunchObserver &O) {
    uint64_t N = O.Calls.load(), Mine = process();
    return of(N, Mine) && N - Mine > (Running == &O);
  }

private:
  // LaunchObserver::Calls counts in its low half. The high one tells whose
  // calls: a child of fork has none of its parent's threads to wait for.
  static uint64_t process() { return uint64_t(getpid()) << 32; }
  static bool of(uint64_t Calls, uint64_t Process) {
    return Calls >> 32 == Process >> 32;
  }

  static thread_local const LaunchObserver *Running;
};

thread_local const LaunchObserver *ObserverCalls::Running = nullptr;

} // namespace launchjit

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

namespace {

using ObserverList = std::vector<LaunchObserverRef>;

struct Registry {
  std::mutex Lock; ///< Taken behind a ForkShield; none is called under it.
  /// Launches under way keep the list that they began with.
  std::shared_ptr<const ObserverList> All =
      std::make_shared<const ObserverList>();
  size_t NumDebug = 0; ///< The environment's, at the end.

  static Registry &get() {
    static Registry *R = new Registry;
    return *R;
  }
  void publish(ObserverList New);
};

int launchObserved(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                   void *Stream, void *Buffer) {
  return observeLaunch(K, X, Y, Z, Stream, Buffer, [&] {
    return launchPacked(K, X, Y, Z, Stream, Buffer);
  });
}

} // namespace

void Registry::publish(ObserverList New) {
  auto *Launch = New.empty() ? launchPacked : launchObserved;
  All = std::make_shared<const ObserverList>(std::move(New));
  __atomic_store_n(&stubTable().Launch, Launch, __ATOMIC_RELEASE);
}

void launchjit::addLaunchObserver(LaunchObserverRef O) {
  ForkShield Shield;
  Registry &R = Registry::get();
  std::lock_guard<std::mutex> Guard(R.Lock);
  ObserverList New = *R.All;
  New.insert(New.end() - R.NumDebug, std::move(O));
  R.publish(std::move(New));
}

bool launchjit::removeLaunchObserver(LaunchObserver &O, bool Wait) {
  LaunchObserverRef Keep(&O);
  if (ObserverCalls::remove(O)) {
    ForkShield Shield;
    Registry &R = Registry::get();
    std::lock_guard<std::mutex> Guard(R.Lock);
    ObserverList New = *R.All;
    erase_if(New, [&](const LaunchObserverRef &Each) { return Each == &O; });
    R.publish(std::move(New));
  }
  // Not on a condition variable: a child of fork would find it in use.
  for (; ObserverCalls::elsewhere(O); usleep(50))
    if (!Wait || ObserverCalls::here())
      return false;
  return true;
}

void launchjit::startDebugObservers() {
  static std::atomic<bool> Done{false};
  if (Done.load(std::memory_order_acquire))
    return;
  ForkShield Shield;
  Registry &R = Registry::get();
  std::lock_guard<std::mutex> Guard(R.Lock);
  if (Done.load(std::memory_order_relaxed))
    return;
  ObserverList New = *R.All;
  for (LaunchObserverRef &O : makeDebugObservers()) {
    New.push_back(std::move(O));
    ++R.NumDebug;
  }
  R.publish(std::move(New));
  Done.store(true, std::memory_order_release);
}

int launchjit::observeLaunch(const StubKernel *K, int64_t X, int64_t Y,
                             int64_t Z, void *Stream, const void *Buffer,
                             function_ref<int()> Launch) {
  if (ObserverCalls::here() || X == 0 || Y == 0 || Z == 0)
    return Launch();
  std::shared_ptr<const ObserverList> All;
  {
    ForkShield Shield;
    Registry &R = Registry::get();
    std::lock_guard<std::mutex> Guard(R.Lock);
    All = R.All;
  }
  LaunchInfo L{*static_cast<const KernelData *>(K),
               {X, Y, Z},
               static_cast<CUstream>(Stream),
               static_cast<const char *>(Buffer)};
  // Kept apart from the thread's error, which an observer's own launch may
  // replace.
  std::optional<ErrorDetail> Failure;
  auto Call = [&](LaunchObserver &O, function_ref<Error()> Function) {
    if (Error E = ObserverCalls::call(O, Function))
      Failure = takeDetail(std::move(E));
  };
  size_t Entered = 0;
  for (; Entered != All->size() && !Failure; ++Entered)
    Call(*(*All)[Entered], [&] { return (*All)[Entered]->enter(L); });
  if (Failure) {
    --Entered;
  } else {
    L.BeginNs = nowNs();
    if (Launch())
      Failure = *lastLaunchError();
    L.EndNs = nowNs();
  }
  while (Entered--)
    Call(*(*All)[Entered], [&] {
      return (*All)[Entered]->exit(L, Failure ? &*Failure : nullptr);
    });
  return Failure ? setLastLaunchError(makeError(std::move(*Failure))) : 0;
}
