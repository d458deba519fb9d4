//===- Hooks.cpp - Launch hooks in Python ---------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPython.h"
#include "Raise.h"
#include "launchjit/Bindings/Python/Glue.h"
#include "launchjit/Launch/Observers.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

namespace {

/// Calls Python functions around each launch. It is no Ref that owns them: the
/// last reference to an observer may go where no GIL can be had.
class HookObserver final : public LaunchObserver {
public:
  HookObserver(PyObject *Class, PyObject *Enter, PyObject *Exit)
      : Class(Class), Enter(isNone(Enter) ? nullptr : Enter),
        Exit(isNone(Exit) ? nullptr : Exit) {
    for (PyObject *O : {this->Class, this->Enter, this->Exit})
      if (O)
        Py.Py_IncRef(O);
  }

  Error enter(const LaunchInfo &L) override { return call(Enter, L, nullptr); }
  Error exit(const LaunchInfo &L, const ErrorDetail *Failure) override {
    return call(Exit, L, Failure);
  }

  /// Nobody calls it any more, but for a hook that does this.
  void drop() {
    for (PyObject *O : {Class, Enter, Exit})
      Ref Owner(O);
  }

private:
  Error call(PyObject *Hook, const LaunchInfo &L, const ErrorDetail *Failure);

  PyObject *const Class, *const Enter, *const Exit;
};

} // namespace

/// What hooks get; null with an exception.
static PyObject *newInfo(PyObject *Class, const LaunchInfo &L, PyObject *Why) {
  Ref Arguments(Py.PyList_New(0));
  if (!Arguments)
    return nullptr;
  for (const Slot &S : L.signature().abi().slots()) {
    Ref Bytes(Py.PyBytes_FromStringAndSize(L.Arguments + S.Offset, S.Size));
    if (!Bytes || Py.PyList_Append(Arguments.get(), Bytes.get()))
      return nullptr;
  }
  StringRef Name = L.kernelName();
  const uint32_t *Block = L.Data.Block;
  Ref Values(Py.Py_BuildValue(
      "(N(LLL)(III)IKOO)",
      Py.PyUnicode_DecodeUTF8(Name.data(), Name.size(), "replace"),
      (long long)L.Grid[0], (long long)L.Grid[1], (long long)L.Grid[2],
      Block[0], Block[1], Block[2], L.Data.Shared,
      (unsigned long long)reinterpret_cast<uintptr_t>(L.Stream),
      Arguments.get(), Why ? Why : Py._Py_NoneStruct));
  return Values ? Py.PyObject_CallObject(Class, Values.get()) : nullptr;
}

Error HookObserver::call(PyObject *Hook, const LaunchInfo &L,
                         const ErrorDetail *Failure) {
  if (!Hook)
    return Error::success();
  // An exception is of use only to a thread that has Python code below.
  bool Known = Py.PyGILState_GetThisThreadState();
  int State = Py.PyGILState_Ensure();
  ErrorDetail Raised;
  Raised.Code = Status::Success;
  {
    // The hook may remove itself.
    Py.Py_IncRef(Hook);
    Ref Owner(Hook);
    Ref Why(Failure ? launchException(*Failure) : nullptr);
    Ref Info(Failure && !Why ? nullptr : newInfo(Class, L, Why.get()));
    Ref Result(Info ? Py.PyObject_CallFunctionObjArgs(Hook, Info.get(), nullptr)
                    : nullptr);
    if (!Result)
      Raised = takeException(Known, Why.get());
  }
  Py.PyGILState_Release(State);
  return Raised.Code == Status::Success ? Error::success()
                                        : makeError(std::move(Raised));
}

LaunchObserverRef launchjit::addPythonHook(_object *Class, _object *Enter,
                                           _object *Exit) {
  if (!Py.SelfType)
    return nullptr;
  LaunchObserverRef O(new HookObserver(Class, Enter, Exit));
  addLaunchObserver(O);
  return O;
}

void launchjit::removePythonHook(LaunchObserver &O, bool Wait) {
  // A hook that runs in another thread needs the GIL to end.
  void *ThreadState = Py.PyEval_SaveThread();
  bool Quiet = removeLaunchObserver(O, Wait);
  Py.PyEval_RestoreThread(ThreadState);
  // One that may still be called keeps its functions for good.
  if (Quiet)
    static_cast<HookObserver &>(O).drop();
}
