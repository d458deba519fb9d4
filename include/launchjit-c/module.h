/*===- module.h - Kernel binaries -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_MODULE_H
#define LAUNCHJIT_C_MODULE_H

#include "launchjit-c/error.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A cubin, fatbin or PTX. Making one reads the binary and needs no driver;
 * the driver loads it at the first launch, once for all contexts. Kernels
 * keep their module alive. */
typedef struct lj_module lj_module;

/* Copies `bytes`; `name` (may be null) is for messages. */
LJ_API lj_error *lj_module_create(const void *bytes, size_t size,
                                  const char *name, lj_module **module);
LJ_API lj_error *lj_module_create_from_file(const char *path,
                                            lj_module **module);
/* Gives the handle up; the module ends with its last kernel. */
LJ_API void lj_module_delete(lj_module *module);

/* "cubin", "ptx", "fatbin"; the architecture as 90 for sm_90, 0 unknown. */
LJ_API const char *lj_module_format(const lj_module *module);
LJ_API unsigned lj_module_arch(const lj_module *module);
/* The binary as it was given: the module owns it. */
LJ_API lj_string lj_module_bytes(const lj_module *module);

/* What the binary says of one kernel; -1 where it does not say. */
typedef struct lj_kernel_info {
  size_t struct_size; /* set by the caller: sizeof(lj_kernel_info) */
  lj_string name;
  int64_t num_parameters;
  int64_t registers;     /* a thread */
  int64_t static_shared; /* bytes a block */
  int64_t local;         /* bytes a thread */
  int64_t max_threads;   /* a block */
  int64_t required_block[3];
  int64_t required_cluster[3];
} lj_kernel_info;

LJ_API size_t lj_module_num_kernels(const lj_module *module);
LJ_API lj_error *lj_module_kernel_info(const lj_module *module, size_t index,
                                       lj_kernel_info *info);
/* Offset and size of a kernel's parameter, in bytes. */
LJ_API lj_error *lj_module_kernel_parameter(const lj_module *module,
                                            size_t kernel, size_t parameter,
                                            uint32_t *offset, uint32_t *size);

/* A __device__ or __constant__ variable, as the binary says. */
typedef struct lj_variable_info {
  size_t struct_size; /* set by the caller: sizeof(lj_variable_info) */
  lj_string name;
  uint64_t size; /* bytes */
  bool constant; /* __constant__ */
} lj_variable_info;

LJ_API size_t lj_module_num_variables(const lj_module *module);
LJ_API lj_error *lj_module_variable_info(const lj_module *module, size_t index,
                                         lj_variable_info *info);

/* A __device__ or __constant__ variable in the current context, or in the
 * primary context of `device` where none is current: its address and size in
 * bytes. Loads the module there. */
LJ_API lj_error *lj_module_get_global(lj_module *module, const char *name,
                                      int device, uint64_t *address,
                                      size_t *size);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_MODULE_H */
