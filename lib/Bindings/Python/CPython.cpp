//===- CPython.cpp - CPython's functions, found at run time ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPython.h"
#include <cstring>
#include <dlfcn.h>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

CPython launchjit::python::Py;

namespace {

/// Where one exported symbol goes.
struct Symbol {
  const char *Name;
  size_t Offset; ///< In CPython.
};

constexpr Symbol Symbols[] = {
#define X(Return, Name, Parameters) {#Name, offsetof(CPython, Name)},
    LJ_PYTHON_FUNCTIONS(X)
#undef X
#define X(Name) {#Name, offsetof(CPython, Name)},
        LJ_PYTHON_OBJECTS(X) LJ_PYTHON_EXCEPTIONS(X)
#undef X
};

} // namespace

/// The layout that reads ints of all kinds as CPython's own function does.
static CPython::IntLayout findIntLayout(CPython C) {
  for (auto Layout : {CPython::TaggedSize, CPython::SignedSize}) {
    C.Ints = Layout;
    bool Right = true;
    for (int64_t Value :
         {int64_t(0), int64_t(1), int64_t(-1), int64_t(7), int64_t(300),
          int64_t(-300), int64_t(65536), (int64_t(1) << 30) - 1,
          1 - (int64_t(1) << 30), int64_t(1) << 30, -(int64_t(1) << 30),
          int64_t(1) << 32, int64_t(1) << 60, INT64_MIN}) {
      PyObject *Int = C.PyLong_FromLongLong(Value);
      int64_t Read = 0;
      bool IsSmall = Value > -(int64_t(1) << 30) && Value < int64_t(1) << 30;
      Right &= Int && peekInt(C, Int, Read) == IsSmall &&
               (!IsSmall || Read == Value);
      if (Int)
        C.Py_DecRef(Int);
    }
    if (Right)
      return Layout;
  }
  C.PyErr_Clear();
  return CPython::Unknown;
}

Error launchjit::python::findCPython(CPython &C) {
  CPython Found = {};
  for (const Symbol &S : Symbols) {
    void *Address = dlsym(RTLD_DEFAULT, S.Name);
    if (!Address)
      return makeError(Status::Unsupported,
                       Twine("this process has no CPython 3.9 or later: ") +
                           S.Name + " was not found");
    std::memcpy(reinterpret_cast<char *>(&Found) + S.Offset, &Address,
                sizeof(Address));
  }
#define X(Name) Found.Name = *reinterpret_cast<PyObject **>(Found.Name);
  LJ_PYTHON_EXCEPTIONS(X)
#undef X
#define X(Name)                                                                \
  if (!(Found.Names.Name = Found.PyUnicode_InternFromString(#Name)))           \
    return makeError(Status::Internal, "CPython cannot make a string");
  LJ_PYTHON_NAMES(X)
#undef X

  PyObject *NoneType = Found.PyObject_Type(Found._Py_NoneStruct);
  for (size_t Offset : {8, 24})
    if (!std::memcmp(reinterpret_cast<char *>(Found._Py_NoneStruct) + Offset,
                     &NoneType, sizeof(void *))) {
      Found.TypeOffset = Offset;
      break; // a smaller object ends before the next
    }
  Found.Py_DecRef(NoneType);
  if (!Found.TypeOffset)
    return makeError(Status::Unsupported,
                     "this CPython's object header is unknown");
  Found.Ints = findIntLayout(Found);
  C = Found;
  return Error::success();
}
