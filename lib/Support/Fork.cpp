//===- Fork.cpp - Staying right across fork -------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Fork.h"
#include <atomic>
#include <new>
#include <pthread.h>

using namespace launchjit;

namespace {

// Plain data without a constructor: this file must have no static initialiser.
pthread_rwlock_t Gate;
pthread_once_t Once = PTHREAD_ONCE_INIT;
std::atomic<uint64_t> Generation{0};
thread_local unsigned Depth = 0;
thread_local int FormerCancelState;

void initGate() {
  pthread_rwlockattr_t Attr;
  pthread_rwlockattr_init(&Attr);
#ifdef __GLIBC__
  // Else a steady stream of shields keeps fork waiting for ever.
  pthread_rwlockattr_setkind_np(&Attr,
                                PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  pthread_rwlock_init(&Gate, &Attr);
  pthread_rwlockattr_destroy(&Attr);
}

// The thread that forks counts as shielded for as long: a handler of somebody
// else's that runs meanwhile may call the library.
void prepareFork() {
  if (Depth++ == 0)
    pthread_rwlock_wrlock(&Gate);
}

void afterForkInParent() {
  Generation.fetch_add(1);
  if (--Depth == 0)
    pthread_rwlock_unlock(&Gate);
}

void afterForkInChild() {
  Generation.fetch_add(1);
  // The lock names its owner by thread, and the child's thread is another:
  // it cannot be unlocked here, only made anew.
  initGate();
  if (--Depth != 0)
    pthread_rwlock_rdlock(&Gate);
}

void watchForks() {
  pthread_once(&Once, [] {
    initGate();
    pthread_atfork(prepareFork, afterForkInParent, afterForkInChild);
  });
}

} // namespace

ForkShield::ForkShield() {
  watchForks();
  if (Depth++ != 0)
    return;
  // A thread that is cancelled in here would leave its locks taken.
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &FormerCancelState);
  pthread_rwlock_rdlock(&Gate);
}

ForkShield::~ForkShield() {
  if (--Depth != 0)
    return;
  pthread_rwlock_unlock(&Gate);
  pthread_setcancelstate(FormerCancelState, nullptr);
}

uint64_t launchjit::forkGeneration() {
  watchForks();
  return Generation.load(std::memory_order_acquire);
}
