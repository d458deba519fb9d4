/*===- memory.h - Device memory for trying kernels -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_MEMORY_H
#define LAUNCHJIT_C_MEMORY_H

#include "launchjit-c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#endif /* LAUNCHJIT_C_MEMORY_H */
