/*===- bound.h - Bound launches and batches of them -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_BOUND_H
#define LAUNCHJIT_C_BOUND_H

#include "launchjit-c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUgraphExec_st;

/* An lj_bound is a kernel with a grid, a stream and its arguments as the driver
 * takes them, to be launched again and again. It keeps the kernel (with the
 * overrides of lj_kernel_with, which are copied), but not what pointers point
 * to. One thread at a time may use it. */
typedef struct lj_bound lj_bound;

/* Converts and checks the values as lj_kernel_launch does, and launches
 * nothing. The handle is owned by the caller, who must keep it, as a kernel's,
 * until the GPU has finished its launches, and as long as a graph exists that
 * captured one. */
LJ_API lj_error *lj_kernel_bind(const lj_kernel *kernel, int64_t grid_x,
                                int64_t grid_y, int64_t grid_z,
                                struct CUstream_st *stream,
                                const lj_value *values, size_t count,
                                lj_bound **bound);
LJ_API void lj_bound_delete(lj_bound *bound);

/* Launches, with the checks of any launch. */
LJ_API lj_error *lj_bound_launch(lj_bound *bound);

/* Changes one argument, counted as lj_kernel_launch does; on failure nothing is
 * changed. */
LJ_API lj_error *lj_bound_set(lj_bound *bound, size_t index,
                              const lj_value *value);
/* Changes the grid, which the next launch checks. */
LJ_API lj_error *lj_bound_set_grid(lj_bound *bound, int64_t grid_x,
                                   int64_t grid_y, int64_t grid_z);

/* Writes the arguments and the grid as they are now into a graph of the
 * caller's. A launch whose stream is being captured remembers its node; `exec`
 * must have been instantiated from the graph of the last such capture, all of
 * whose nodes of this bound launch are written, and that graph must not have
 * been destroyed. An empty grid disables the nodes, another one enables them.
 * What was launched before is not affected. An error where there is no node,
 * and for a kernel with a scratch allocator. */
LJ_API lj_error *lj_bound_update(lj_bound *bound, struct CUgraphExec_st *exec);

/* Bound launches that run one after the other, as one CUDA graph. One thread at
 * a time may use it and its launches. */
typedef struct lj_batch lj_batch;

/* Keeps the bound launches, whose handles may be deleted. One may be there
 * several times. Needs no driver. */
LJ_API lj_error *lj_batch_create(lj_bound *const *bounds, size_t count,
                                 lj_batch **batch);
LJ_API void lj_batch_delete(lj_batch *batch);

/* Launches all into `stream`, whatever their own streams are, with what is set
 * in them now. The first call makes the graph, in the context that their
 * streams belong to: an error if that is more than one. The streams 0, 1 and 2
 * are those of that context. */
LJ_API lj_error *lj_batch_launch(lj_batch *batch, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_BOUND_H */
