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

/// What is known of the types that objects had, each a T with a member `Type`:
/// filled from the front, never changed. It belongs to one interpreter, as the
/// types do, whose references it owns. All zero when it begins.
template <typename T> struct TypeCache {
  std::atomic<const T *> Known[4];

  const T *find(PyObject *Type) const {
    for (const auto &Place : Known) {
      const T *Each = Place.load(std::memory_order_acquire);
      if (!Each || Each->Type == Type)
        return Each;
    }
    return nullptr;
  }
  bool isFull() const {
    return std::end(Known)[-1].load(std::memory_order_acquire);
  }
  /// Keeps \p Found; null where no place is left.
  const T *add(const T &Found) {
    auto *New = new T(Found);
    Py.Py_IncRef(Found.Type);
    for (auto &Place : Known) {
      const T *Old = nullptr;
      if (Place.compare_exchange_strong(Old, New, std::memory_order_acq_rel))
        return New;
    }
    Py.Py_DecRef(Found.Type);
    delete New;
    return nullptr;
  }
  void clear() {
    for (auto &Place : Known)
      if (const T *Each = Place.exchange(nullptr)) {
        PyObject *Type = Each->Type;
        delete Each;
        Py.Py_DecRef(Type);
      }
  }
};

/// The `self` of a python entry.
struct PythonSelf {
  char Header[PythonSelfKernelOffset]; ///< CPython's, at most so large.
  const StubKernel *Data;
  const Kernel *Owner; ///< Retained; null in one that Python code made.
  char *Name;          ///< Allocated by malloc.
  PyMethodDef Method;  ///< The function refers to it.
  size_t NumArguments;
  unsigned Checks; ///< Of PythonChecks.
  /// How objects of some types are converted to pointers.
  TypeCache<PointerType> Pointers;
};
static_assert(offsetof(PythonSelf, Data) == PythonSelfKernelOffset);

inline PythonSelf &selfOf(const StubPythonLaunch *L) {
  return *reinterpret_cast<PythonSelf *>(L->Self);
}

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_SELF_H
