//===- CPython.h - CPython's functions, found at run time -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of CPython's stable ABI that the glue uses, declared by hand: no
// Python header is needed, and one build serves every CPython from 3.9 on.
// (PyUnicode_AsUTF8AndSize and the buffer functions joined the stable ABI in
// 3.10 and 3.11; with the same layout every CPython 3.9 exports them.)
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_CPYTHON_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_CPYTHON_H

#include "launchjit/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

struct _object; // CPython's PyObject

namespace launchjit::python {

// CPython's names.
// NOLINTBEGIN(readability-identifier-naming)

using PyObject = ::_object;
using Py_ssize_t = ptrdiff_t;

struct Py_buffer {
  void *buf;
  PyObject *obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char *format;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  Py_ssize_t *suboffsets;
  void *internal;
};

using visitproc = int (*)(PyObject *, void *);
using PyCFunctionFast = PyObject *(*)(PyObject *, PyObject *const *,
                                      Py_ssize_t);
using vectorcallfunc = PyObject *(*)(PyObject *, PyObject *const *, size_t,
                                     PyObject *);
/// The number of positional arguments; the top bit is a flag.
inline Py_ssize_t PyVectorcall_NARGS(size_t N) { return N & (~size_t(0) >> 1); }

struct PyMethodDef {
  const char *ml_name;
  void *ml_meth;
  int ml_flags;
  const char *ml_doc;
};

struct PyType_Slot {
  int slot;
  void *pfunc;
};

struct PyType_Spec {
  const char *name;
  int basicsize;
  int itemsize;
  unsigned flags;
  PyType_Slot *slots;
};

struct PyMemberDef {
  const char *name;
  int type;
  Py_ssize_t offset;
  int flags;
  const char *doc;
};

enum : int {
  METH_KEYWORDS = 2,
  METH_NOARGS = 4,
  METH_O = 8,
  METH_FASTCALL = 0x80,
};
enum : int { T_OBJECT = 6, T_BOOL = 14, T_PYSSIZET = 19, READONLY = 1 };
enum : int {
  Py_mp_subscript = 5,
  Py_tp_call = 50,
  Py_tp_dealloc = 52,
  Py_tp_methods = 64,
  Py_tp_new = 65,
  Py_tp_traverse = 71,
  Py_tp_members = 72,
  Py_tp_free = 74,
};
enum : int { PyBUF_SIMPLE = 0, PyBUF_FORMAT = 4, PyBUF_ND = 8 };
enum : unsigned {
  Py_TPFLAGS_BASETYPE = 1u << 10,
  Py_TPFLAGS_HAVE_VECTORCALL = 1u << 11,
  Py_TPFLAGS_HAVE_GC = 1u << 14,
  Py_TPFLAGS_DEFAULT = 1u << 18, ///< HAVE_VERSION_TAG
};
enum : unsigned long {
  Py_TPFLAGS_LONG_SUBCLASS = 1ul << 24,
  Py_TPFLAGS_LIST_SUBCLASS = 1ul << 25,
  Py_TPFLAGS_TUPLE_SUBCLASS = 1ul << 26,
  Py_TPFLAGS_BYTES_SUBCLASS = 1ul << 27,
  Py_TPFLAGS_UNICODE_SUBCLASS = 1ul << 28,
};

// return type, name, parameters
#define LJ_PYTHON_FUNCTIONS(X)                                                 \
  X(PyObject *, Py_BuildValue, (const char *, ...))                            \
  X(void, PyBuffer_Release, (Py_buffer *))                                     \
  X(void *, PyCapsule_GetPointer, (PyObject *, const char *))                  \
  X(int, PyCallable_Check, (PyObject *))                                       \
  X(PyObject *, PyCFunction_GetSelf, (PyObject *))                             \
  X(PyObject *, PyBytes_FromStringAndSize, (const char *, Py_ssize_t))         \
  X(PyObject *, PyCFunction_NewEx, (PyMethodDef *, PyObject *, PyObject *))    \
  X(void, PyErr_Clear, ())                                                     \
  X(int, PyErr_ExceptionMatches, (PyObject *))                                 \
  X(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **))                \
  X(PyObject *, PyErr_NoMemory, ())                                            \
  X(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **))   \
  X(PyObject *, PyErr_Occurred, ())                                            \
  X(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *))                 \
  X(void, PyErr_SetObject, (PyObject *, PyObject *))                           \
  X(void, PyEval_RestoreThread, (void *))                                      \
  X(void *, PyEval_SaveThread, ())                                             \
  X(PyObject *, PyException_GetContext, (PyObject *))                          \
  X(void, PyException_SetContext, (PyObject *, PyObject *))                    \
  X(double, PyFloat_AsDouble, (PyObject *))                                    \
  X(PyObject *, PyImport_GetModule, (PyObject *))                              \
  X(int, PyGILState_Ensure, ())                                                \
  X(void *, PyGILState_GetThisThreadState, ())                                 \
  X(void, PyGILState_Release, (int))                                           \
  X(int, PyList_Append, (PyObject *, PyObject *))                              \
  X(PyObject *, PyList_AsTuple, (PyObject *))                                  \
  X(PyObject *, PyList_New, (Py_ssize_t))                                      \
  X(int, PyList_SetItem, (PyObject *, Py_ssize_t, PyObject *))                 \
  X(long long, PyLong_AsLongLongAndOverflow, (PyObject *, int *))              \
  X(unsigned long long, PyLong_AsUnsignedLongLong, (PyObject *))               \
  X(unsigned long long, PyLong_AsUnsignedLongLongMask, (PyObject *))           \
  X(PyObject *, PyLong_FromLongLong, (long long))                              \
  X(PyObject *, PyNumber_Index, (PyObject *))                                  \
  X(PyObject *, PyObject_CallFunctionObjArgs, (PyObject *, ...))               \
  X(PyObject *, PyObject_CallObject, (PyObject *, PyObject *))                 \
  X(PyObject *, PyObject_GetAttr, (PyObject *, PyObject *))                    \
  X(PyObject *, PyObject_GetAttrString, (PyObject *, const char *))            \
  X(int, PyObject_GetBuffer, (PyObject *, Py_buffer *, int))                   \
  X(PyObject *, PyObject_GetItem, (PyObject *, PyObject *))                    \
  X(void, PyObject_GC_UnTrack, (void *))                                       \
  X(int, PyObject_IsTrue, (PyObject *))                                        \
  X(int, PyObject_SetAttrString, (PyObject *, const char *, PyObject *))       \
  X(PyObject *, PyObject_Str, (PyObject *))                                    \
  X(PyObject *, PyObject_Type, (PyObject *))                                   \
  X(PyObject *, PyObject_VectorcallMethod,                                     \
    (PyObject *, PyObject *const *, size_t, PyObject *))                       \
  X(int, PySequence_Check, (PyObject *))                                       \
  X(PyObject *, PySequence_Tuple, (PyObject *))                                \
  X(PyObject *, PyTuple_GetItem, (PyObject *, Py_ssize_t))                     \
  X(Py_ssize_t, PyTuple_Size, (PyObject *))                                    \
  X(PyObject *, PyType_FromSpec, (PyType_Spec *))                              \
  X(PyObject *, PyType_GenericAlloc, (PyObject *, Py_ssize_t))                 \
  X(unsigned long, PyType_GetFlags, (PyObject *))                              \
  X(void *, PyType_GetSlot, (PyObject *, int))                                 \
  X(const char *, PyUnicode_AsUTF8AndSize, (PyObject *, Py_ssize_t *))         \
  X(PyObject *, PyUnicode_DecodeUTF8,                                          \
    (const char *, Py_ssize_t, const char *))                                  \
  X(PyObject *, PyUnicode_InternFromString, (const char *))                    \
  X(PyObject *, PyVectorcall_Call, (PyObject *, PyObject *, PyObject *))       \
  X(void, Py_DecRef, (PyObject *))                                             \
  X(void, Py_IncRef, (PyObject *))

// Objects that CPython exports as variables.
#define LJ_PYTHON_OBJECTS(X)                                                   \
  X(PyCFunction_Type)                                                          \
  X(PyBool_Type)                                                               \
  X(PyFloat_Type)                                                              \
  X(PyLong_Type)                                                               \
  X(PyTuple_Type)                                                              \
  X(_Py_NoneStruct)                                                            \
  X(_Py_TrueStruct)

// Exception classes, which CPython exports as variables that point to them.
#define LJ_PYTHON_EXCEPTIONS(X)                                                \
  X(PyExc_AttributeError)                                                      \
  X(PyExc_BufferError)                                                         \
  X(PyExc_KeyError)                                                            \
  X(PyExc_OverflowError)                                                       \
  X(PyExc_RuntimeError)                                                        \
  X(PyExc_TypeError)                                                           \
  X(PyExc_ValueError)

// Names of attributes, interned.
#define LJ_PYTHON_NAMES(X)                                                     \
  X(_C)                                                                        \
  X(__cuda_array_interface__)                                                  \
  X(__cuda_stream__)                                                           \
  X(__int__)                                                                   \
  X(__dlpack_c_exchange_api__)                                                 \
  X(_call)                                                                     \
  X(_cuda_getCurrentRawStream)                                                 \
  X(calls)                                                                     \
  X(cuda)                                                                      \
  X(cuda_stream)                                                               \
  X(data)                                                                      \
  X(data_ptr)                                                                  \
  X(handle)                                                                    \
  X(_launch)                                                                   \
  X(is_initialized)                                                            \
  X(_type_)                                                                    \
  X(value)                                                                     \
  X(launch)                                                                    \
  X(shape)                                                                     \
  X(stream)                                                                    \
  X(strides)                                                                   \
  X(torch)                                                                     \
  X(typestr)

inline constexpr size_t NumStatuses = static_cast<size_t>(Status::Internal) + 1;

/// CPython, and what initializePython made there.
struct CPython {
#define X(Return, Name, Parameters) Return(*Name) Parameters;
  LJ_PYTHON_FUNCTIONS(X)
#undef X
#define X(Name) PyObject *Name;
  LJ_PYTHON_OBJECTS(X)
  LJ_PYTHON_EXCEPTIONS(X)
#undef X
  struct {
#define X(Name) PyObject *Name;
    LJ_PYTHON_NAMES(X)
#undef X
  } Names;
  /// The classes that Status indexes.
  PyObject *Exceptions[NumStatuses];
  /// Where an object keeps its type, bytes: free-threaded builds have a larger
  /// header.
  size_t TypeOffset;
  /// How an int of one digit lies behind its type. CPython has had two ways;
  /// Unknown is one that none of them reads rightly.
  enum IntLayout { Unknown, SignedSize, TaggedSize } Ints;
  /// The type of a callable's `self`, see Callable.cpp.
  PyObject *SelfType;
  /// See GridLaunch.h.
  PyObject *KernelBase, *GridLaunchType;
  /// See Bound.h.
  PyObject *BoundBase, *BatchBase;
  /// See TritonLaunch.cpp.
  PyObject *TritonLaunchType, *TritonBase;
  /// See TensorMap.cpp.
  PyObject *TensorMapType;
};

// NOLINTEND(readability-identifier-naming)

/// Written by initializePython only.
extern CPython Py;

/// Looks everything up; \p C is unchanged on failure.
llvm::Error findCPython(CPython &C);

inline PyObject *typeOf(PyObject *O) {
  return *reinterpret_cast<PyObject **>(reinterpret_cast<char *>(O) +
                                        Py.TypeOffset);
}
inline bool hasFlag(PyObject *O, unsigned long Flag) {
  return Py.PyType_GetFlags(typeOf(O)) & Flag;
}
inline bool isBool(PyObject *O) { return typeOf(O) == Py.PyBool_Type; }
/// The value of an exact int of one digit (below 2^30), read where it lies:
/// with many arguments the calls are what a launch costs. False for others.
inline bool peekInt(const CPython &C, PyObject *O, int64_t &Value) {
  // Since 3.12 the low bits of the size tell the sign, before it was the
  // size's.
  const char *Body =
      reinterpret_cast<char *>(O) + C.TypeOffset + sizeof(void *);
  intptr_t Size;
  uint32_t Digit;
  std::memcpy(&Size, Body, sizeof Size);
  std::memcpy(&Digit, Body + sizeof Size, sizeof Digit);
  switch (C.Ints) {
  case CPython::TaggedSize:
    if (static_cast<uintptr_t>(Size) >= 16)
      return false;
    Value = (1 - (Size & 3)) * int64_t(Digit);
    return true;
  case CPython::SignedSize:
    if (Size < -1 || Size > 1)
      return false;
    Value = Size * int64_t(Digit);
    return true;
  case CPython::Unknown:
    break;
  }
  return false;
}

/// An int or one of a subclass, bool included.
inline bool isInt(PyObject *O) {
  return typeOf(O) == Py.PyLong_Type || hasFlag(O, Py_TPFLAGS_LONG_SUBCLASS);
}
/// A new reference to \p O, which may be null.
inline PyObject *newReference(PyObject *O) {
  if (O)
    Py.Py_IncRef(O);
  return O;
}
inline PyObject *newNone() { return newReference(Py._Py_NoneStruct); }
/// A tp_traverse of an object that owns \p Held, each of which may be null. Our
/// types need no tp_clear: no cycle is made of them, tuples and functions
/// alone, and what closes it (a list, a dictionary, a cell) has one.
inline int visitAll(PyObject *O, std::initializer_list<PyObject *> Held,
                    visitproc Visit, void *Data) {
  for (PyObject *Each : Held)
    if (Each)
      if (int Stop = Visit(Each, Data))
        return Stop;
  return Visit(typeOf(O), Data);
}
/// The end of a tp_dealloc.
inline void freeObject(PyObject *O) {
  PyObject *Type = typeOf(O);
  reinterpret_cast<void (*)(void *)>(Py.PyType_GetSlot(Type, Py_tp_free))(O);
  Py.Py_DecRef(Type);
}
inline bool isNone(PyObject *O) { return O == Py._Py_NoneStruct; }

/// An owned reference. Giving it up may run Python code, which may unwind.
class Ref {
public:
  explicit Ref(PyObject *Owned) : Object(Owned) {}
  Ref(const Ref &) = delete;
  Ref &operator=(const Ref &) = delete;
  ~Ref() noexcept(false) {
    if (Object)
      Py.Py_DecRef(Object);
  }

  PyObject *get() const { return Object; }
  explicit operator bool() const { return Object; }

private:
  PyObject *Object;
};

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_CPYTHON_H
