//===- Python.cpp - The Python glue's way in ------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "launchjit/Bindings/Python/Glue.h"

using namespace launchjit;

static_assert(int(LJ_PYTHON_CHECK_MEMORY) == CheckMemory);
static_assert(int(LJ_PYTHON_CHECK_DEVICE) == CheckDevice);
static_assert(int(LJ_PYTHON_CHECK_STRICT) == CheckStrict);

lj_error *lj_python_initialize(struct _object *const *exceptions,
                               size_t count) {
  LJ_REQUIRE_ARRAY(exceptions, count);
  return toC(initializePython(exceptions, count));
}

struct _object *lj_python_kernel_base(void) { return pythonKernelBase(); }

struct _object *lj_python_callable(lj_kernel *kernel, unsigned checks) {
  return pythonCallable(kernel ? &dataOf(kernel) : nullptr, checks);
}

struct _object *lj_python_bound_base(void) { return pythonBoundBase(); }

struct _object *lj_python_batch_base(void) { return pythonBatchBase(); }

struct _object *lj_python_bind(struct _object *bound_class,
                               struct _object *callable,
                               struct _object *call_arguments,
                               struct _object *arguments) {
  return pythonBind(bound_class, callable, call_arguments, arguments);
}

struct _object *lj_python_batch(struct _object *batch_class,
                                struct _object *launches) {
  return pythonBatch(batch_class, launches);
}

struct _object *lj_python_triton_base(void) { return pythonTritonBase(); }

struct _object *lj_python_triton_launch(const lj_signature *signature,
                                        const char *name, unsigned minor,
                                        bool cooperative, bool pdl,
                                        struct _object *devices,
                                        struct _object *hook_chain) {
  return pythonTritonLaunch(signature->S, name, {minor, cooperative, pdl},
                            devices, hook_chain);
}

struct _object *lj_python_triton_tensor_maps(void) {
  return pythonTritonTensorMaps();
}

struct _object *lj_python_triton_devices(void) { return pythonTritonDevices(); }

lj_launch_observer *lj_python_add_hook(struct _object *info_class,
                                       struct _object *enter,
                                       struct _object *exit) {
  LaunchObserverRef O = addPythonHook(info_class, enter, exit);
  return O ? new lj_launch_observer{std::move(O)} : nullptr;
}

void lj_python_remove_hook(lj_launch_observer *hook, bool wait) {
  if (hook)
    removePythonHook(*hook->O, wait);
  delete hook;
}
