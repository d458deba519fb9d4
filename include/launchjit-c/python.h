/*===- python.h - The glue that CPython calls -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_PYTHON_H
#define LAUNCHJIT_C_PYTHON_H

#include "launchjit-c/observe.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _object; /* CPython's PyObject */

/* For the launchjit package; all of it needs the GIL (an attached thread
 * state). */

/* Finds CPython in the process and keeps the package's exception classes,
 * indexed by lj_status (references are taken; null entries mean lj.Error at
 * index LJ_ERROR_INTERNAL, which must be set). May be called again: the last
 * call counts. */
LJ_API lj_error *lj_python_initialize(struct _object *const *exceptions,
                                      size_t count);

/* A new reference to the base class of the package's Kernel, whose subscript
 * makes kernel[grid](...) fast. Null before lj_python_initialize. */
LJ_API struct _object *lj_python_kernel_base(void);

/* What a callable checks besides types and ranges. */
typedef enum lj_python_checks {
  LJ_PYTHON_CHECK_MEMORY = 1, /* the GPU can access what a pointer leads to */
  LJ_PYTHON_CHECK_DEVICE = 2, /* tensors are on the launch's device */
  LJ_PYTHON_CHECK_STRICT = 4  /* element types, contiguity and divisibility are
                                 as the signature says */
} lj_python_checks;

/* A new reference to a callable (grid, stream, *arguments) that launches the
 * kernel and keeps it alive; `checks` are of lj_python_checks. Needs
 * lj_python_initialize first: before it, null and no exception. Otherwise null
 * comes with a Python exception set; so does a null kernel, and one of
 * lj_kernel_with, whose overrides would be lost. */
LJ_API struct _object *lj_python_callable(lj_kernel *kernel, unsigned checks);

/* New references to the base classes of the package's BoundLaunch and Batch,
 * with their native methods. Null before lj_python_initialize. */
LJ_API struct _object *lj_python_bound_base(void);
LJ_API struct _object *lj_python_batch_base(void);

/* A new object of a class made of the first base: what `callable`, which is of
 * lj_python_callable, would launch if called with the tuple `call_arguments`.
 * The list `arguments` holds the kernel's of them once more; it is kept, and
 * follows what is set; the stream is kept, too. Null with a Python exception
 * set where that fails. */
LJ_API struct _object *lj_python_bind(struct _object *bound_class,
                                      struct _object *callable,
                                      struct _object *call_arguments,
                                      struct _object *arguments);
/* A new object of a class made of the second base, of a tuple of such objects.
 * Null with a Python exception set where that fails. */
LJ_API struct _object *lj_python_batch(struct _object *batch_class,
                                       struct _object *launches);

/* A new reference to the base class of launchjit.triton's launcher: called as
 * Triton calls a launcher, it launches by its attribute `_native`, one of
 * lj_python_triton_launch that is set once, while `_direct` is true; else it
 * calls its method `_call` with the same arguments. Null before
 * lj_python_initialize. */
LJ_API struct _object *lj_python_triton_base(void);
/* A new reference to a callable that launches kernels of a signature as Triton
 * 3.`minor` (4 to 9) does: (gridX, gridY, gridZ, stream, function, cooperative,
 * pdl, global_scratch, profile_scratch, kernel_metadata, launch_metadata,
 * enter_hook, exit_hook, *arguments), with as many scratch arguments as the
 * signature has hidden parameters. `name` is for messages. `devices` is a dict
 * of the devices on which CUfunctions are loaded, kept and asked when no
 * context is current; `hook_chain` is Triton's class HookChain or None. Null
 * with a Python exception set; null without one before lj_python_initialize. */
LJ_API struct _object *lj_python_triton_launch(const lj_signature *signature,
                                               const char *name, unsigned minor,
                                               bool cooperative, bool pdl,
                                               struct _object *devices,
                                               struct _object *hook_chain);
/* A new reference to (PyCUtensorMap, fill_tiled, fill_im2col): the class of
 * tensor maps that such a launch takes, and what makes them, with the arguments
 * of Triton's fill_tma_descriptor_tiled and fill_tma_descriptor_im2col behind
 * two more: the minor version of Triton (4 to 9), and where to put the 128
 * bytes: an address, or None for a new object. Null with a Python exception
 * set; null without one before lj_python_initialize. */
LJ_API struct _object *lj_python_triton_tensor_maps(void);
/* A new reference to (get_default_stream, get_current_device), as Triton's
 * helpers have them. Null as above. */
LJ_API struct _object *lj_python_triton_devices(void);

/* Calls the Python functions, either of which may be None, around every launch
 * as lj_add_launch_observer does. They get an info_class(kernel, grid, block,
 * shared, stream, arguments, error); what they raise, a Python launch raises
 * unchanged. References are taken. Null before lj_python_initialize. */
LJ_API lj_launch_observer *lj_python_add_hook(struct _object *info_class,
                                              struct _object *enter,
                                              struct _object *exit);
/* As lj_remove_launch_observer, for one of lj_python_add_hook. Lets go of the
 * GIL; waits for hooks that run in other threads only if told to. */
LJ_API void lj_python_remove_hook(lj_launch_observer *hook, bool wait);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_PYTHON_H */
