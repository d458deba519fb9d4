//===- Self.h - What a kernel's callable is bound to ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_SELF_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_SELF_H

#include "CPython.h"
#include "launchjit/Bindings/Python/Glue.h"
#include "launchjit/Launch/Kernel.h"
#include <atomic>

namespace launchjit::python {

struct PointerType;

/// The `self` of a python entry.
struct PythonSelf {
  char Header[PythonSelfKernelOffset]; ///< CPython's, at most so large.
  const StubKernel *Data;
  const Kernel *Owner; ///< Retained; null in one that Python code made.
  char *Name;          ///< Allocated by malloc.
  PyMethodDef Method;  ///< The function refers to it.
  size_t NumArguments;
  unsigned Checks; ///< Of PythonChecks.
  /// How objects of some types are converted to pointers; filled from the
  /// front, never changed. It belongs to one interpreter, as the types do.
  std::atomic<const PointerType *> Pointers[4];
};
static_assert(offsetof(PythonSelf, Data) == PythonSelfKernelOffset);

inline PythonSelf &selfOf(const StubPythonLaunch *L) {
  return *reinterpret_cast<PythonSelf *>(L->Self);
}

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_SELF_H
