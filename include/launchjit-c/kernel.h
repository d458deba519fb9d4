/*===- kernel.h - Kernels and launches -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_KERNEL_H
#define LAUNCHJIT_C_KERNEL_H

#include "launchjit-c/attribute.h"
#include "launchjit-c/launcher.h"
#include "launchjit-c/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An lj_kernel is one GPU function with its launch configuration: the data
 * that a launcher reads, contents private. A handle from lj_module_get_kernel,
 * lj_kernel_from_... or lj_kernel_with_config is owned by its caller, who must
 * keep it until the GPU has finished the launches of it, and as long as a graph
 * exists that captured one; one from lj_kernel_with lives in the caller's
 * storage. */

/* Gives a kernel's hidden scratch memory for one launch: `size` bytes (the
 * kernel's per-block size times the blocks of the grid), aligned to `align`,
 * usable on `stream` until the kernel has run. Returns the device address, or
 * 0 for failure, which stops the launch. `which` is 'g' or 'p'. Called on the
 * launching thread, with the launch's context current and no lock held. */
typedef uint64_t (*lj_scratch_allocator)(void *context, char which,
                                         uint64_t size, uint64_t align,
                                         struct CUstream_st *stream);

typedef struct lj_kernel_options {
  size_t struct_size; /* sizeof(lj_kernel_options) */
  uint32_t block[3];  /* threads; 0 counts as 1 */
  uint32_t shared;    /* dynamic shared memory, bytes */
  /* Copied; no id twice. Events and the device-updatable node (7, 12, 13)
   * belong to one launch and are refused here: give them to lj_kernel_with. */
  const lj_attribute *attributes;
  size_t num_attributes;
  int device; /* whose primary context serves where no context is current */
  bool nonportable_cluster; /* allow clusters of more than 8 blocks */
  /* Scratch per block, bytes, and alignment; used only if the signature has
   * the hidden parameter. A size without an allocator is an error. */
  uint64_t global_scratch_size, global_scratch_align;
  uint64_t profile_scratch_size, profile_scratch_align;
  lj_scratch_allocator scratch_allocator; /* null: hidden parameters are 0 */
  void *scratch_context;
} lj_kernel_options;

/* `options` may be null: one thread, nothing else. The signature is checked
 * with what the binary says: a wrong count or size is LJ_ERROR_SIGNATURE. Makes
 * no launcher and needs no driver. */
LJ_API lj_error *lj_module_get_kernel(lj_module *module, const char *name,
                                      const lj_signature *signature,
                                      const lj_kernel_options *options,
                                      lj_kernel **kernel);

/* Wraps a CUfunction or a CUkernel that the host owns and keeps loaded. `name`
 * is for messages and may be null. Opens the process's driver, and checks the
 * signature with what the driver says: LJ_ERROR_SIGNATURE where it does not
 * fit. Of a CUkernel the driver tells only where a context is current; without
 * one the first launch or load checks. */
LJ_API lj_error *lj_kernel_from_function(void *cu_function, const char *name,
                                         const lj_signature *signature,
                                         const lj_kernel_options *options,
                                         lj_kernel **kernel);
LJ_API lj_error *lj_kernel_from_cukernel(void *cu_kernel, const char *name,
                                         const lj_signature *signature,
                                         const lj_kernel_options *options,
                                         lj_kernel **kernel);

/* A sibling: the same function with other options. */
LJ_API lj_error *lj_kernel_with_config(const lj_kernel *kernel,
                                       const lj_kernel_options *options,
                                       lj_kernel **sibling);
LJ_API void lj_kernel_delete(lj_kernel *kernel);

LJ_API lj_string lj_kernel_name(const lj_kernel *kernel);
/* The options in force, pointers into the kernel; set struct_size first. */
LJ_API lj_error *lj_kernel_get_options(const lj_kernel *kernel,
                                       lj_kernel_options *options);

/* The kernel's entry point of a kind, made when it is first asked for, and
 * valid while a kernel that asked for it lives. Call it with this kernel, or
 * with any that shares its signature. Cast it to the type that lj_entry_kind
 * describes. */
LJ_API lj_error *lj_kernel_entry(const lj_kernel *kernel, lj_entry_kind entry,
                                 void (**function)(void));
/* The launcher behind it: a new handle. */
LJ_API lj_error *lj_kernel_get_launcher(const lj_kernel *kernel,
                                        lj_entry_kind entry,
                                        lj_launcher **launcher);

/* One argument with its type, for lj_kernel_launch. */
typedef enum lj_value_type {
  LJ_VALUE_INT = 0,     /* i: range-checked for the parameter */
  LJ_VALUE_UINT = 1,    /* u: likewise */
  LJ_VALUE_FLOAT = 2,   /* f: rounded to the parameter's type */
  LJ_VALUE_POINTER = 3, /* u: a device address */
  LJ_VALUE_BYTES = 4    /* p and size: exactly the parameter's bytes */
} lj_value_type;

typedef struct lj_value {
  lj_value_type type;
  uint32_t size; /* of LJ_VALUE_BYTES; 0 otherwise */
  union {
    int64_t i;
    uint64_t u;
    double f;
    const void *p;
  } as;
} lj_value;

/* The checked launch: `values` are the kernel's parameters in order. Every
 * type, range and the count are checked before anything is launched. */
LJ_API lj_error *lj_kernel_launch(const lj_kernel *kernel, int64_t grid_x,
                                  int64_t grid_y, int64_t grid_z,
                                  struct CUstream_st *stream,
                                  const lj_value *values, size_t count);

/* What one launch changes. */
typedef struct lj_launch_overrides {
  size_t struct_size;     /* sizeof(lj_launch_overrides) */
  const uint32_t *block;  /* three, or null to keep */
  const uint32_t *shared; /* one, or null to keep */
  /* Replace those of the kernel with the same id, and come after the rest. */
  const lj_attribute *attributes;
  size_t num_attributes;
} lj_launch_overrides;

/* Fills the caller's storage, of lj_kernel_storage_size bytes aligned to 8,
 * with a kernel that has the overrides; nothing is allocated. It may be used
 * while `kernel` lives and the storage is unchanged. */
LJ_API size_t lj_kernel_storage_size(const lj_kernel *kernel,
                                     size_t num_attributes);
LJ_API lj_error *lj_kernel_with(const lj_kernel *kernel, void *storage,
                                size_t size,
                                const lj_launch_overrides *overrides,
                                const lj_kernel **overridden);
/* The attributes of a kernel as the driver gets them. Where it hands something
 * back (LJ_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE), it is there after the
 * launch, so such an attribute belongs into an lj_kernel_with of one thread. */
LJ_API const lj_attribute *lj_kernel_attributes(const lj_kernel *kernel,
                                                size_t *count);

/* Loads the kernel on a device before its first launch there. */
LJ_API lj_error *lj_kernel_load(const lj_kernel *kernel, int device);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_KERNEL_H */
