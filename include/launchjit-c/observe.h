/*===- observe.h - Watching launches -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_OBSERVE_H
#define LAUNCHJIT_C_OBSERVE_H

#include "launchjit-c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One launch, valid while the observer that it was given to runs. */
typedef struct lj_launch_info {
  size_t struct_size; /* how much of this the library filled */
  /* With the overrides of this launch: ask lj_kernel_name,
   * lj_kernel_get_options (block, shared memory, attributes) and
   * lj_kernel_get_signature. */
  const lj_kernel *kernel;
  int64_t grid[3];
  struct CUstream_st *stream;
  /* The packed parameters, where lj_signature_parameter says of each. Hidden
   * ones are null before the launch. */
  const void *arguments;
  size_t arguments_size; /* bytes */
  /* The launch itself without its observers, CLOCK_MONOTONIC, nanoseconds; 0
   * where there was none, or not yet. */
  uint64_t begin_ns, end_ns;
  /* In exit: why nothing was launched; or, though it was, the error of an exit
   * that came before: what LAUNCHJIT_DEBUG=sync found wrong in the kernel, what
   * a Python hook raised. Null where all went well. */
  const lj_error *error;
} lj_launch_info;

/* Called before each launch: 0, or an lj_status, which stops the launch and is
 * what the caller gets. */
typedef int (*lj_launch_enter)(void *context, const lj_launch_info *launch);
/* Called after each launch whose enter gave 0, whether it failed or not. */
typedef void (*lj_launch_exit)(void *context, const lj_launch_info *launch);

/* One pair of functions that sees every launch of the process. */
typedef struct lj_launch_observer lj_launch_observer;

/* From now on the functions, either of which may be null, are called around
 * every launch of every entry kind, on the launching thread, from several
 * threads at a time, with no lock held. Enter functions run in the order in
 * which they were added, exit functions in the reverse one. A launch with an
 * empty grid is none, an lj_batch or another graph is not seen, and what an
 * observer launches itself is not observed.
 * While nobody observes, launches cost what they cost without this. */
LJ_API lj_error *lj_add_launch_observer(lj_launch_enter enter,
                                        lj_launch_exit exit, void *context,
                                        lj_launch_observer **observer);

/* The functions may be called until this returns and never after: it waits for
 * those that run in other threads, so the caller must not hold what they wait
 * for (a lock, Python's GIL). It may be called from an observer, the removed
 * one's own functions included, but does not wait there: calls in other threads
 * and the caller's own may go on, so `context` must outlive them. Gives the
 * handle up; null is accepted. */
LJ_API void lj_remove_launch_observer(lj_launch_observer *observer);

/* A new handle of the kernel's signature. */
LJ_API lj_error *lj_kernel_get_signature(const lj_kernel *kernel,
                                         lj_signature **signature);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_OBSERVE_H */
