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

/// A new exception for \p Detail; null with another one set where that fails.
PyObject *newException(const ErrorDetail &Detail);

/// Raises what made this thread's last launch fail: the exception of a hook
/// unchanged, or the package's for lastLaunchError().
void raiseLaunchError();

/// Takes the exception that is set, and describes it. With \p Keep, this
/// thread's raiseLaunchError() can give it back. \p Context, if any, is the
/// exception that it stands in the place of, as in a Python `finally`.
ErrorDetail takeException(bool Keep, PyObject *Context);
/// A new reference to the exception of a failed launch, as raiseLaunchError()
/// would raise it; null with another one set where that fails.
PyObject *launchException(const ErrorDetail &Failure);

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
/// The name of O's type, for messages.
std::string typeName(PyObject *O);

/// Sets an exception of a class that is Python's own; -1.
int raisePlain(PyObject *Class, const llvm::Twine &What);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_RAISE_H
