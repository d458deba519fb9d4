//===- GridLaunch.cpp - kernel[grid](...) without a Python frame ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridLaunch.h"
#include "Self.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Compiler.h"
#include <atomic>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

namespace {

/// What the package's Kernel begins with.
struct KernelBase {
  char Header[PythonSelfKernelOffset]; ///< CPython's, at most so large.
  /// The attribute `launch`; null until it is asked for.
  std::atomic<PyObject *> Launch;
};

/// kernel[grid]. All references are owned.
struct GridLaunch {
  char Header[PythonSelfKernelOffset];
  vectorcallfunc Call; ///< What CPython calls.
  PyObject *Kernel, *Launch, *Grid;
  /// The grid is a function of the arguments, or `launch` is not ours.
  bool IsSlow;
};

void deallocKernel(PyObject *O) {
  PyObject *Launch = reinterpret_cast<KernelBase *>(O)->Launch;
  freeObject(O);
  if (Launch)
    Py.Py_DecRef(Launch);
}

int traverseGridLaunch(PyObject *O, visitproc Visit, void *Data) {
  auto *G = reinterpret_cast<GridLaunch *>(O);
  return visitAll(O, {G->Kernel, G->Launch, G->Grid}, Visit, Data);
}

void deallocGridLaunch(PyObject *O) {
  Py.PyObject_GC_UnTrack(O);
  auto *G = reinterpret_cast<GridLaunch *>(O);
  PyObject *Owned[] = {G->Kernel, G->Launch, G->Grid};
  freeObject(O);
  for (PyObject *Each : Owned)
    if (Each)
      Py.Py_DecRef(Each);
}

/// The launch that a Python function can tell more of: a grid that is a
/// function, arguments by name, and a wrong count.
PyObject *callSlowly(const GridLaunch &G, PyObject *const *Args, size_t N,
                     PyObject *Names) {
  size_t Named = Names ? Py.PyTuple_Size(Names) : 0;
  SmallVector<PyObject *, 64> All = {G.Kernel, G.Grid};
  All.append(Args, Args + N + Named);
  return Py.PyObject_VectorcallMethod(Py.Names._launch, All.data(), N + 2,
                                      Names);
}

PyObject *callGridLaunch(PyObject *O, PyObject *const *Args, size_t NumAndFlag,
                         PyObject *Names) {
  const auto &G = *reinterpret_cast<GridLaunch *>(O);
  size_t N = PyVectorcall_NARGS(NumAndFlag);
  if (LLVM_UNLIKELY(G.IsSlow))
    return callSlowly(G, Args, N, Names);
  auto *Self = reinterpret_cast<PythonSelf *>(Py.PyCFunction_GetSelf(G.Launch));
  PyObject *Stream = Py._Py_NoneStruct;
  bool IsPlain = true;
  if (Names && Py.PyTuple_Size(Names) != 0) {
    IsPlain = Py.PyTuple_Size(Names) == 1 &&
              Py.PyTuple_GetItem(Names, 0) == Py.Names.stream;
    Stream = Args[N];
  }
  if (LLVM_UNLIKELY(!IsPlain || N != Self->NumArguments))
    return callSlowly(G, Args, N, Names);
  SmallVector<PyObject *, 64> All = {G.Grid, Stream};
  All.append(Args, Args + N);
  return reinterpret_cast<PyCFunctionFast>(Self->Method.ml_meth)(
      reinterpret_cast<PyObject *>(Self), All.data(), All.size());
}

/// Whether \p Launch is a callable of pythonCallable: a subclass may define
/// another, and a test put one in its place.
bool isOurs(PyObject *Launch) {
  if (typeOf(Launch) != Py.PyCFunction_Type)
    return false;
  PyObject *Self = Py.PyCFunction_GetSelf(Launch);
  return Self && typeOf(Self) == Py.SelfType;
}

/// Kernel.__getitem__.
PyObject *subscript(PyObject *Kernel, PyObject *Grid) {
  auto *Base = reinterpret_cast<KernelBase *>(Kernel);
  PyObject *Launch = Base->Launch.load(std::memory_order_acquire);
  if (LLVM_UNLIKELY(!Launch)) {
    PyObject *Own = Py.PyObject_GetAttr(Kernel, Py.Names.launch);
    if (!Own)
      return nullptr;
    // Other threads may have run meanwhile: the first one's stays.
    if (Base->Launch.compare_exchange_strong(Launch, Own))
      Launch = Own;
    else
      Py.Py_DecRef(Own);
  }
  PyObject *O = Py.PyType_GenericAlloc(Py.GridLaunchType, 0);
  if (!O)
    return nullptr;
  auto *G = reinterpret_cast<GridLaunch *>(O);
  G->Call = callGridLaunch;
  G->Kernel = Kernel;
  G->Launch = Launch;
  G->Grid = Grid;
  for (PyObject *Each : {G->Kernel, G->Launch, G->Grid})
    Py.Py_IncRef(Each);
  G->IsSlow = (typeOf(Grid) != Py.PyTuple_Type && Py.PyCallable_Check(Grid)) ||
              !isOurs(G->Launch);
  return O;
}

} // namespace

PyObject *launchjit::python::makeKernelBase(const CPython &C) {
  PyType_Slot Slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(deallocKernel)},
      {Py_mp_subscript, reinterpret_cast<void *>(subscript)},
      {0, nullptr}};
  PyType_Spec Spec = {"launchjit.KernelBase", sizeof(KernelBase), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, Slots};
  return C.PyType_FromSpec(&Spec);
}

PyObject *launchjit::python::makeGridLaunchType(const CPython &C) {
  // A member of this name is how a type made from a spec has vectorcall.
  PyMemberDef Members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                            offsetof(GridLaunch, Call), READONLY, nullptr},
                           {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot Slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(deallocGridLaunch)},
      {Py_tp_traverse, reinterpret_cast<void *>(traverseGridLaunch)},
      {Py_tp_call, reinterpret_cast<void *>(C.PyVectorcall_Call)},
      {Py_tp_members, Members},
      {0, nullptr}};
  PyType_Spec Spec = {"launchjit.GridLaunch", sizeof(GridLaunch), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                          Py_TPFLAGS_HAVE_VECTORCALL,
                      Slots};
  return C.PyType_FromSpec(&Spec);
}
