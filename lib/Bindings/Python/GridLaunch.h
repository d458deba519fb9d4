//===- GridLaunch.h - kernel[grid](...) without a Python frame ------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_GRIDLAUNCH_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_GRIDLAUNCH_H

#include "CPython.h"

namespace launchjit::python {

/// The base class of the package's Kernel, whose subscript gives an object of
/// the second type: calling that launches. Null with an exception.
PyObject *makeKernelBase(const CPython &C);
PyObject *makeGridLaunchType(const CPython &C);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_GRIDLAUNCH_H
