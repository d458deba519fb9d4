/*===- driver.h - The CUDA driver, and what was recorded -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_DRIVER_H
#define LAUNCHJIT_C_DRIVER_H

#include "launchjit-c/attribute.h"
#include "launchjit-c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Looks an entry point up: `symbol` is the exported name, `version` as
 * cuGetProcAddress takes it. Null where there is none. */
typedef void *(*lj_driver_resolver)(void *context, const char *symbol,
                                    int version);
/* Makes the process's driver come from `resolver`. An error once the driver
 * has been opened. */
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
LJ_API lj_error *lj_driver_device_name(int device, lj_buffer *name);
LJ_API lj_error *lj_driver_device_attribute(int device, int attribute,
                                            int *value);

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

typedef enum lj_log_level {
  LJ_LOG_TRACE = 0,
  LJ_LOG_DEBUG = 1,
  LJ_LOG_INFO = 2,
  LJ_LOG_WARN = 3,
  LJ_LOG_ERROR = 4
} lj_log_level;

/* Receives what the library logs, instead of stderr, from whichever thread
 * logs; it must neither log nor fork. `level` is an lj_log_level. Null
 * restores stderr. When lj_set_log_sink returns, the sink before is out of
 * use. */
typedef void (*lj_log_sink)(void *context, int level, const char *topic,
                            const char *message);
LJ_API void lj_set_log_sink(lj_log_sink sink, void *context);

/* The environment variables that this build reads. */
LJ_API size_t lj_num_environment_variables(void);
LJ_API lj_error *lj_environment_variable(size_t index, const char **name,
                                         const char **default_value,
                                         const char **help);

/* Memory of the process's driver, in the current context or the primary one
 * of device 0, so that a program can try a kernel without a binding of its
 * own. Bytes. */
LJ_API lj_error *lj_memory_allocate(size_t size, uint64_t *address);
LJ_API lj_error *lj_memory_free(uint64_t address);
LJ_API lj_error *lj_memory_write(uint64_t to, const void *from, size_t size);
LJ_API lj_error *lj_memory_read(void *to, uint64_t from, size_t size);
/* Waits for all work of the current context, or the primary one of device 0. */
LJ_API lj_error *lj_synchronize(void);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_DRIVER_H */
