//===- Observers.h - Watching launches ------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While somebody observes, StubTable::Launch is another function, which calls
// the observers around the launch; so every entry kind is seen, and a process
// without observers pays nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_OBSERVERS_H
#define LAUNCHJIT_LAUNCH_OBSERVERS_H

#include "launchjit/Launch/Kernel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace launchjit {

/// One launch, while its observers are called.
struct LaunchInfo {
  /// The kernel with its configuration, overrides of this launch included.
  const KernelData &Data;
  int64_t Grid[3];
  CUstream Stream;
  /// The packed parameters, Data.ParameterBytes of them, as the signature's
  /// ABI lays them out. Hidden ones are null before the launch.
  const char *Arguments;
  /// The launch itself without its observers, as nowNs() tells time; 0 before
  /// it.
  uint64_t BeginNs = 0, EndNs = 0;

  llvm::StringRef kernelName() const { return Data.Owner->name(); }
  const Signature &signature() const { return Data.Owner->signature(); }
};

/// "axpy grid=(8,1,1) block=(128,1,1) shared=0 stream=0x0 (x: *fp32 = 0x7f00,
/// n: i32 = 5)": one line; bytes are given in hexadecimal.
std::string describeLaunch(const LaunchInfo &L);

/// Is called around every launch in the process, on the launching thread, with
/// no lock held; from several threads at a time. A launch with an empty grid is
/// none, a Batch or another graph is not seen, and what an observer launches
/// itself is not observed. Neither function may be noexcept where it calls
/// CPython, see Bindings/Python/Glue.h.
class LaunchObserver : public llvm::ThreadSafeRefCountedBase<LaunchObserver> {
public:
  virtual ~LaunchObserver() = default;
  /// An error stops the launch and is what the caller gets: nothing is
  /// launched.
  virtual llvm::Error enter(const LaunchInfo &L);
  /// Is called for each enter() that succeeded, in reverse order. \p Failure
  /// says why nothing was launched, or, though it was, is the error of an
  /// exit() that came before; null where all went well. An error is what the
  /// caller gets, in place of \p Failure.
  virtual llvm::Error exit(const LaunchInfo &L, const ErrorDetail *Failure);

private:
  friend class ObserverCalls;
  std::atomic<bool> Removed{false};
  std::atomic<uint64_t> Calls{0};
};

using LaunchObserverRef = llvm::IntrusiveRefCntPtr<LaunchObserver>;

/// From now on \p O sees launches; its enter() comes after those of earlier
/// ones. LAUNCHJIT_DEBUG's come last, next to the launch. Thread-safe.
void addLaunchObserver(LaunchObserverRef O);

/// No call of \p O begins after this returns, and none goes on in another
/// thread: it waits for those. With \p Wait false, and in an observer, where
/// waiting could be for ever, it does not. Gives whether no call goes on but,
/// in an observer, the caller's own. Do not hold what an observer may wait for
/// (a lock, Python's GIL). Thread-safe; a second removal does nothing.
bool removeLaunchObserver(LaunchObserver &O, bool Wait = true);

/// Calls the observers around \p Launch, which gives 0 or leaves the thread's
/// error and gives its status, as this does.
int observeLaunch(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                  void *Stream, const void *Buffer,
                  llvm::function_ref<int()> Launch);

/// Adds the observers that LAUNCHJIT_DEBUG and LAUNCHJIT_TRACE ask for, once.
/// Whoever makes a kernel calls it.
void startDebugObservers();

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_OBSERVERS_H
