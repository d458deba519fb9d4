//===- Callable.cpp - Start-up, and a kernel as a Python callable ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The callable is a built-in function whose method is the kernel's python
// entry itself: CPython calls the generated code, and nothing stands between.
// Its `self` is an object of a type of ours that owns the kernel and holds
// what the entry and CPython read.
//
//===----------------------------------------------------------------------===//

#include "Bound.h"
#include "CPython.h"
#include "Convert.h"
#include "Entry.h"
#include "GridLaunch.h"
#include "Pointer.h"
#include "Raise.h"
#include "TensorMap.h"
#include "Triton.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

namespace {

void deallocSelf(PyObject *O) {
  auto *Self = reinterpret_cast<PythonSelf *>(O);
  const Kernel *Owner = Self->Owner;
  free(Self->Name);
  forgetPointerTypes(*Self);
  freeObject(O);
  if (!Owner)
    return;
  // The last reference unloads the kernel's module, which can wait for the
  // device. Nothing is left to do where taking the GIL back unwinds.
  void *ThreadState = Py.PyEval_SaveThread();
  Owner->Release();
  Py.PyEval_RestoreThread(ThreadState);
}

PyObject *makeSelfType(const CPython &C) {
  PyType_Slot Slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocSelf)},
                         {0, nullptr}};
  PyType_Spec Spec = {"launchjit.KernelEntry", sizeof(PythonSelf), 0, 0, Slots};
  return C.PyType_FromSpec(&Spec);
}

} // namespace

Error launchjit::initializePython(_object *const *Exceptions, size_t Count) {
  constexpr auto Fallback = static_cast<size_t>(Status::Internal);
  if (Count <= Fallback || !Exceptions[Fallback])
    return makeError(Status::InvalidArgument,
                     "the exception class at LJ_ERROR_INTERNAL is missing");
  CPython C;
  if (Error E = findCPython(C))
    return E;
  for (size_t I = 0; I < NumStatuses; ++I) {
    C.Exceptions[I] = Exceptions[I] ? Exceptions[I] : Exceptions[Fallback];
    C.Py_IncRef(C.Exceptions[I]);
  }
  C.SelfType = makeSelfType(C);
  C.KernelBase = makeKernelBase(C);
  C.GridLaunchType = makeGridLaunchType(C);
  C.BoundBase = makeBoundBase(C);
  C.BatchBase = makeBatchBase(C);
  C.TritonLaunchType = makeTritonLaunchType(C);
  C.TritonBase = makeTritonBase(C);
  C.TensorMapType = makeTensorMapType(C);
  if (!C.SelfType || !C.KernelBase || !C.GridLaunchType || !C.BoundBase ||
      !C.BatchBase || !C.TritonLaunchType || !C.TritonBase ||
      !C.TensorMapType) {
    C.PyErr_Clear();
    return makeError(Status::Internal, "CPython cannot make a type");
  }
  // What an earlier call left is not given up: it may be of an interpreter
  // that has ended, or in use by another thread.
  Py = C;

  StubTable &Table = stubTable();
  Table.PythonBegin = begin;
  Table.PythonUnpack = unpack;
  Table.PythonLaunch = python::launch;
  fillConversions(Table);
  fillTritonTable();
  setInterpretedPython(reinterpret_cast<void *>(interpretedEntry));
  return Error::success();
}

_object *launchjit::pythonKernelBase() { return newReference(Py.KernelBase); }

_object *launchjit::pythonCallable(const KernelData *D, unsigned Checks) {
  if (!Py.SelfType)
    return nullptr;
  if (!D || D != &D->Owner->data()) {
    raise({Status::InvalidArgument,
           D ? "the kernel has overrides of one launch, which a callable would "
               "lose; make a sibling with lj_kernel_with_config"
             : "the kernel is null",
           -1, -1, 0});
    return nullptr;
  }
  const Kernel &K = *D->Owner;
  void *ThreadState = Py.PyEval_SaveThread();
  Expected<LauncherRef> L = K.launcher(EntryKind::Python);
  Py.PyEval_RestoreThread(ThreadState);
  if (!L) {
    raise(takeDetail(L.takeError()));
    return nullptr;
  }
  Ref Object(Py.PyType_GenericAlloc(Py.SelfType, 0));
  if (!Object)
    return nullptr;
  auto *Self = reinterpret_cast<PythonSelf *>(Object.get());
  Self->Name = strdup(K.name().empty() ? "kernel" : K.name().str().c_str());
  if (!Self->Name)
    return Py.PyErr_NoMemory();
  K.Retain();
  Self->Owner = &K;
  Self->Data = &K.data();
  Self->NumArguments = K.signature().parameters().size();
  Self->Checks = Checks;
  Self->Method = {Self->Name, (*L)->entry(), METH_FASTCALL, nullptr};
  return Py.PyCFunction_NewEx(&Self->Method, Object.get(), nullptr);
}
