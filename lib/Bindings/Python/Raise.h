//===- Raise.h - From an error to a Python exception ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_RAISE_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_RAISE_H

#include "CPython.h"
#include "launchjit/StubABI.h"

namespace launchjit::python {

/// Sets the package's exception for \p Detail, in place of any other.
void raise(const ErrorDetail &Detail);

/// What a message is about.
struct Subject {
  const StubKernel *K;        ///< Null where it is none of the parameters:
  uint32_t Slot;              ///< Which parameter of the kernel.
  const char *Name = nullptr; ///< "grid", "stream".

  std::string str() const;
};

/// Raises that something is wrong with \p S; -1.
int raise(const Subject &S, Status Code, const llvm::Twine &What);
/// Raises that \p S wants \p Expected ("an int") and got \p O; -1. An exception
/// that is set and is no TypeError stays: \p O's own code raised it.
int raiseWrongType(const Subject &S, const llvm::Twine &Expected, PyObject *O);

/// What \p O prints as, or words where that is long.
std::string valueText(PyObject *O);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_RAISE_H
