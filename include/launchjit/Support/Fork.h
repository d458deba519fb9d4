//===- Fork.h - Staying right across fork ---------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A child of fork has one thread and a copy of every lock as it stood. So
// fork waits until no thread is inside the library's locked regions: each
// such region is entered through a ForkShield, and pthread_atfork closes the
// gate for the moment of the fork. Locks taken inside a shield are then free
// in the child, and no condition variable has a waiter there.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SUPPORT_FORK_H
#define LAUNCHJIT_SUPPORT_FORK_H

#include <cstdint>

namespace launchjit {

/// While one lives, fork() in another thread waits, and this thread is not
/// cancelled. Nests within a thread.
/// fork() in the same thread goes through at once, and leaves the locks that
/// the thread holds to that thread, in parent and child.
class ForkShield {
public:
  ForkShield();
  ~ForkShield();
  ForkShield(const ForkShield &) = delete;
  ForkShield &operator=(const ForkShield &) = delete;
};

/// Grows in parent and in child with every fork. What must not be shared
/// between them (code memory) carries the generation that it was made in.
uint64_t forkGeneration();

} // namespace launchjit

#endif // LAUNCHJIT_SUPPORT_FORK_H
