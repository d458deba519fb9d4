//===- Glue.h - What CPython calls ----------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C++ side of launchjit-c/python.h. Nothing here is linked with Python:
// initializePython looks CPython's functions up in the process.
//
// CPython up to 3.13 ends daemon threads by a forced unwinding out of the call
// that takes the GIL back. Whatever such a call may unwind through is
// therefore never noexcept, destructors included, and catches nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_BINDINGS_PYTHON_GLUE_H
#define LAUNCHJIT_BINDINGS_PYTHON_GLUE_H

#include "launchjit/Launch/Observers.h"
#include "launchjit/Signature/Signature.h"
#include <cstddef>

struct _object; // CPython's PyObject

namespace launchjit {

/// Finds CPython, keeps the exception classes, which Status indexes, and fills
/// the Python part of stubTable(). The one at Status::Internal serves those
/// that are null. May be called again: the last call counts. Needs the GIL.
llvm::Error initializePython(_object *const *Exceptions, size_t Count);

/// A new reference to the base class of the package's Kernel: its subscript
/// makes kernel[grid](...) of the attribute `launch`, a pythonCallable, and of
/// the method `_launch` for what that does not take. Null without an exception
/// before initializePython.
_object *pythonKernelBase();

/// What a callable checks besides types and ranges.
enum PythonChecks : unsigned {
  CheckMemory = 1, ///< The GPU can access the memory behind a pointer.
  CheckDevice = 2, ///< Tensors are on the launch's device.
  CheckStrict = 4, ///< Element types, contiguity, and divisibility as promised.
};

/// A new reference to a callable (grid, stream, *arguments) that launches the
/// kernel of \p D and keeps it alive. Null with a Python exception set where
/// that fails, or \p D is null or has overrides; null without one before
/// initializePython. Needs the GIL, and lets go of it while the launcher is
/// made.
_object *pythonCallable(const KernelData *D,
                        unsigned Checks = CheckMemory | CheckDevice);

/// New references to the base classes of the package's BoundLaunch and Batch,
/// which have the methods that are native. Null without an exception before
/// initializePython.
_object *pythonBoundBase();
_object *pythonBatchBase();

/// A new \p Class, one of BoundLaunch, of the arguments that \p Callable, a
/// pythonCallable, would be called with: a tuple. The list \p Arguments has the
/// kernel's ones once more; it is kept and changed, and the stream is kept.
/// Null with an exception.
_object *pythonBind(_object *Class, _object *Callable, _object *CallArguments,
                    _object *Arguments);
/// A new \p Class, one of Batch, of a tuple of BoundLaunches. Null with an
/// exception.
_object *pythonBatch(_object *Class, _object *Launches);

/// What one of Triton's launchers is.
struct TritonOptions {
  unsigned Minor; ///< Of Triton 3.x: the contract.
  bool Cooperative, PDL;
};
/// A new reference to the base class of the package's Triton launcher; null
/// without an exception before initializePython.
_object *pythonTritonBase();
/// A new reference to the callable that launches kernels of \p S by the
/// contract: see TritonLaunch.cpp. \p Devices is a dictionary from CUfunctions
/// to the devices on which they are loaded; \p HookChain is Triton's class of
/// that name, or None. Null with an exception; null without one before
/// initializePython. Needs the GIL, and lets go of it while the launcher is
/// made.
_object *pythonTritonLaunch(const Signature &S, llvm::StringRef Name,
                            const TritonOptions &Options, _object *Devices,
                            _object *HookChain);
/// A new tuple of the class of tensor maps and the functions that make them:
/// see lj_python_triton_tensor_maps.
_object *pythonTritonTensorMaps();
/// A new tuple of functions: see lj_python_triton_devices.
_object *pythonTritonDevices();

/// Calls the Python functions \p Enter and \p Exit, either of which may be
/// None, around every launch, with a \p Class of (kernel, grid, block, shared,
/// stream, arguments, error). They run with the GIL; what they raise, whoever
/// launched gets. Null before initializePython. Needs the GIL.
LaunchObserverRef addPythonHook(_object *Class, _object *Enter, _object *Exit);

/// Removes one of addPythonHook, once: see removeLaunchObserver. Needs the GIL,
/// and lets go of it.
void removePythonHook(LaunchObserver &O, bool Wait);

} // namespace launchjit

#endif // LAUNCHJIT_BINDINGS_PYTHON_GLUE_H
