//===- TensorMap.h - Triton's tensor maps, as Python objects --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_TENSORMAP_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_TENSORMAP_H

#include "CPython.h"
#include <cuda.h>

namespace launchjit::python {

inline bool isTensorMap(PyObject *O) { return typeOf(O) == Py.TensorMapType; }

/// The map in \p O, which is one; it is aligned as the driver wants it.
CUtensorMap *tensorMapOf(PyObject *O);

PyObject *makeTensorMapType(const CPython &C);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_TENSORMAP_H
