/*===- recording.h - Launches that were recorded -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_RECORDING_H
#define LAUNCHJIT_C_RECORDING_H

#include "launchjit-c/attribute.h"
#include "launchjit-c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The launches that the recording driver kept, oldest first. */
typedef struct lj_recorded lj_recorded;

/* Takes what was recorded so far; the driver forgets it. An error with
 * another driver than the recording one. */
LJ_API lj_error *lj_driver_take_recorded(lj_recorded **recorded);
LJ_API void lj_recorded_delete(lj_recorded *recorded);

typedef struct lj_recorded_launch {
  size_t struct_size; /* set by the caller: sizeof(lj_recorded_launch) */
  lj_string kernel;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared; /* dynamic shared memory, bytes */
  int device;
  uint64_t stream;
  uint64_t context;
  const lj_attribute *attributes;
  size_t num_attributes;
  const lj_string *parameters; /* each parameter's bytes */
  size_t num_parameters;
} lj_recorded_launch;

LJ_API size_t lj_recorded_count(const lj_recorded *recorded);
LJ_API lj_error *lj_recorded_get(const lj_recorded *recorded, size_t index,
                                 lj_recorded_launch *launch);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_RECORDING_H */
