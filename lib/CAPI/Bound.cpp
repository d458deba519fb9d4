//===- Bound.cpp - Bound launches and batches of them for C ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "launchjit/Launch/Batch.h"

using namespace llvm;
using namespace launchjit;

struct lj_bound {
  BoundLaunchRef B;
};

struct lj_batch {
  BatchRef B;
};

lj_error *lj_kernel_bind(const lj_kernel *kernel, int64_t grid_x,
                         int64_t grid_y, int64_t grid_z,
                         struct CUstream_st *stream, const lj_value *values,
                         size_t count, lj_bound **bound) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE_ARRAY(values, count);
  LJ_REQUIRE(bound);
  Expected<BoundLaunchRef> B = BoundLaunch::create(
      dataOf(kernel), {grid_x, grid_y, grid_z}, stream,
      ArrayRef<Value>(reinterpret_cast<const Value *>(values), count));
  if (!B)
    return toC(B.takeError());
  *bound = new lj_bound{std::move(*B)};
  return nullptr;
}

void lj_bound_delete(lj_bound *bound) { delete bound; }

lj_error *lj_bound_launch(lj_bound *bound) {
  LJ_REQUIRE(bound);
  return bound->B->launch() ? toC(makeError(*lastLaunchError())) : nullptr;
}

lj_error *lj_bound_set(lj_bound *bound, size_t index, const lj_value *value) {
  LJ_REQUIRE(bound);
  LJ_REQUIRE(value);
  return toC(bound->B->set(index, *reinterpret_cast<const Value *>(value)));
}

lj_error *lj_bound_set_grid(lj_bound *bound, int64_t grid_x, int64_t grid_y,
                            int64_t grid_z) {
  LJ_REQUIRE(bound);
  bound->B->setGrid({grid_x, grid_y, grid_z});
  return nullptr;
}

lj_error *lj_bound_update(lj_bound *bound, struct CUgraphExec_st *exec) {
  LJ_REQUIRE(bound);
  LJ_REQUIRE(exec);
  return toC(bound->B->update(exec));
}

lj_error *lj_batch_create(lj_bound *const *bounds, size_t count,
                          lj_batch **batch) {
  LJ_REQUIRE_ARRAY(bounds, count);
  LJ_REQUIRE(batch);
  std::vector<BoundLaunchRef> Launches;
  for (size_t I = 0; I != count; ++I) {
    if (!bounds[I])
      return invalid(__func__, "bounds[" + Twine(I) + "] is null");
    Launches.push_back(bounds[I]->B);
  }
  *batch = new lj_batch{Batch::create(Launches)};
  return nullptr;
}

void lj_batch_delete(lj_batch *batch) { delete batch; }

lj_error *lj_batch_launch(lj_batch *batch, struct CUstream_st *stream) {
  LJ_REQUIRE(batch);
  return toC(batch->B->launch(stream));
}
