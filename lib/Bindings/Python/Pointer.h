//===- Pointer.h - From Python objects to device pointers -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_POINTER_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_POINTER_H

#include "DLPack.h"
#include "Self.h"

namespace launchjit::python {

/// StubTable::PythonConvert of pointers.
int convertPointer(StubPythonLaunch *L, PyObject *O, void *To, uint32_t Slot);

/// Checks what the packed parameters themselves promise: in strict mode every
/// value is divisible as the signature says. 0, or -1 with an exception.
int checkHints(const StubPythonLaunch *L, const void *Buffer);

/// The exchange API that a type gives, if we know its version. Null without an
/// exception where it has none.
const DLPackExchangeAPI *exchangeAPI(PyObject *Type);

/// Gives up the types that \p Self knows.
void forgetPointerTypes(PythonSelf &Self);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_POINTER_H
