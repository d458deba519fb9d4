//===- Bound.h - Bound launches and batches in Python ---------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_BOUND_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_BOUND_H

#include "CPython.h"

namespace launchjit::python {

/// The base classes of the package's BoundLaunch and Batch. Null with an
/// exception.
PyObject *makeBoundBase(const CPython &C);
PyObject *makeBatchBase(const CPython &C);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_BOUND_H
