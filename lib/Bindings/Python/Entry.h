//===- Entry.h - What python entries call, and the interpreted one --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_ENTRY_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_ENTRY_H

#include "CPython.h"
#include "launchjit/Signature/Signature.h"
#include "launchjit/StubABI.h"

namespace launchjit::python {

/// StubTable::PythonBegin, PythonUnpack and PythonLaunch.
int begin(PyObject *Self, PyObject *const *Args, ptrdiff_t N,
          StubPythonLaunch *L);
int unpack(const StubPythonLaunch *L, PyObject *Tuple, uint32_t Count,
           uint32_t Slot, PyObject **Items);
PyObject *launch(StubPythonLaunch *L, void *Buffer);

/// Reads a grid; 0, or -1 with an exception.
int convertGrid(PyObject *O, int64_t (&Grid)[3]);

/// How many of the kernel's parameters \p P has.
size_t countSlots(const Parameter &P);

/// Packs arguments into a buffer, beginning with parameter NextSlot.
struct Packer {
  StubPythonLaunch &L;
  llvm::ArrayRef<Slot> Slots;
  char *Buffer;
  uint32_t NextSlot = 0;

  /// 0, or -1 with an exception.
  int pack(llvm::ArrayRef<ABIType> Types, PyObject *const *Values);
};

/// What a python stub of \p A does.
PyObject *interpret(const ABI &A, PyObject *Self, PyObject *const *Args,
                    Py_ssize_t N);

/// The python entry of every ABI.
PyObject *interpretedEntry(PyObject *Self, PyObject *const *Args, Py_ssize_t N);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_ENTRY_H
