//===- Convert.h - From Python objects to parameters ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_CONVERT_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_CONVERT_H

#include "Raise.h"

namespace launchjit::python {

/// Fills StubTable::PythonConvert.
void fillConversions(StubTable &Table);

/// Failed leaves an exception.
enum class Fit { Yes, No, Failed };

/// The value of a simple object of ctypes (c_int, c_void_p, ...), a new
/// reference; null without an exception for anything else.
PyObject *simpleValue(PyObject *O);
/// A new reference to \p O as an int, by __index__; null with an exception.
PyObject *asInt(const Subject &S, PyObject *O);
/// \p Int, of any size, as a signed number.
Fit toSigned(PyObject *Int, int64_t &Value);
/// The same as an unsigned one.
Fit toUnsigned(PyObject *Int, uint64_t &Value);
/// The address or handle that \p O is, which must be an int and no bool; 0, or
/// -1 with an exception.
int toAddress(const Subject &S, PyObject *O, const char *Expected,
              uint64_t &Address);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_CONVERT_H
