/*===- driver.h - The CUDA driver and its devices -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_DRIVER_H
#define LAUNCHJIT_C_DRIVER_H

#include "launchjit-c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Looks an entry point up: `symbol` is the exported name, `version` as
 * cuGetProcAddress takes it. Null where there is none. Called under the
 * library's locks, from whichever thread first needs the driver: it must not
 * call the library, nor wait for a lock (Python's GIL, say) that a caller of
 * the library or of fork may hold. */
typedef void *(*lj_driver_resolver)(void *context, const char *symbol,
                                    int version);
/* Makes the process's driver come from `resolver`. An error once the driver
 * has been opened. Where opening it fails, the next who needs the driver asks
 * the resolver again, so both must stay usable as long as the process lives. */
LJ_API lj_error *lj_driver_set_resolver(lj_driver_resolver resolver,
                                        void *context);

typedef struct lj_driver_info {
  size_t struct_size; /* set by the caller: sizeof(lj_driver_info) */
  const char *kind;   /* "cuda", "recording", "null" */
  lj_string path;     /* of the library; empty where there is none */
  int version;        /* 13000 is CUDA 13.0 */
  int num_devices;
} lj_driver_info;

/* Opens the process's driver, if it is not open yet, and tells what it is. */
LJ_API lj_error *lj_driver_get_info(lj_driver_info *info);

/* A device's name and a CUdevice_attribute of it. */
/* An entry point of the driver by its name in CUDA's headers ("cuMemAlloc"), of
 * those that the library uses; opens the driver. Its type is what CUDA's
 * headers declare for the newest version of it. LJ_ERROR_NOT_FOUND for another
 * name, LJ_ERROR_UNSUPPORTED where this driver does not have it. Thread-safe.
 */
LJ_API lj_error *lj_driver_function(const char *name, void **function);

LJ_API lj_error *lj_driver_device_name(int device, lj_buffer *name);
LJ_API lj_error *lj_driver_device_attribute(int device, int attribute,
                                            int *value);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_DRIVER_H */
