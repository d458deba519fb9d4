//===- Raise.cpp - From an error to a Python exception --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Raise.h"
#include "launchjit/Launch/Kernel.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

static PyObject *newText(StringRef Text) {
  return Py.PyUnicode_DecodeUTF8(Text.data(), Text.size(), "replace");
}

/// The UTF-8 of \p Text, which is taken and may be null; empty if it has none.
static std::string takeText(PyObject *Text) {
  Ref Owner(Text);
  Py_ssize_t Size;
  const char *Data = Text ? Py.PyUnicode_AsUTF8AndSize(Text, &Size) : nullptr;
  if (Data)
    return std::string(Data, Size);
  Py.PyErr_Clear();
  return "";
}

PyObject *launchjit::python::newException(const ErrorDetail &Detail) {
  PyObject *Class = Py.Exceptions[static_cast<int>(Detail.Code)];
  Ref Message(newText(Detail.Message));
  if (!Message)
    return nullptr;

  // CudaError takes the driver's code and its name.
  bool IsCuda = Detail.Code == Status::Cuda;
  Ref Code(IsCuda ? Py.PyLong_FromLongLong(Detail.Cuda) : nullptr);
  StringRef CudaName =
      Detail.CudaName.empty()
          ? Driver::errorName(static_cast<CUresult>(Detail.Cuda))
          : StringRef(Detail.CudaName);
  Ref Name(IsCuda ? newText(CudaName) : nullptr);
  if (IsCuda && (!Code || !Name))
    return nullptr;
  PyObject *Exception = Py.PyObject_CallFunctionObjArgs(
      Class, Message.get(), Code.get(), Name.get(), nullptr);
  if (!Exception || Detail.Argument < 0)
    return Exception;
  Ref Argument(Py.PyLong_FromLongLong(Detail.Argument));
  if (Argument &&
      !Py.PyObject_SetAttrString(Exception, "argument", Argument.get()))
    return Exception;
  Py.Py_DecRef(Exception);
  return nullptr;
}

void launchjit::python::raise(const ErrorDetail &Detail) {
  Py.PyErr_Clear();
  Ref Exception(newException(Detail));
  if (Exception)
    Py.PyErr_SetObject(typeOf(Exception.get()), Exception.get());
}

//===----------------------------------------------------------------------===//
// Exceptions of hooks
//===----------------------------------------------------------------------===//

namespace {
/// An exception on its way from a hook to whoever launched. Plain data: a
/// thread may end without the GIL.
struct Exception {
  PyObject *Type, *Value, *Traceback; ///< Owned.
};
} // namespace
static thread_local Exception Kept;

ErrorDetail launchjit::python::takeException(bool Keep, PyObject *Context) {
  Exception E;
  Py.PyErr_Fetch(&E.Type, &E.Value, &E.Traceback);
  Py.PyErr_NormalizeException(&E.Type, &E.Value, &E.Traceback);
  if (Context && Context != E.Value &&
      !Ref(Py.PyException_GetContext(E.Value))) {
    Py.Py_IncRef(Context);
    Py.PyException_SetContext(E.Value, Context);
  }
  ErrorDetail D;
  D.Message = "a launch hook raised " +
              takeText(Py.PyObject_GetAttrString(E.Type, "__name__")) + ": " +
              takeText(Py.PyObject_Str(E.Value));
  D.HasException = Keep;
  if (Keep)
    std::swap(E, Kept); // one that nobody asked for goes
  for (PyObject *O : {E.Type, E.Value, E.Traceback})
    Ref Owner(O);
  return D;
}

PyObject *launchjit::python::launchException(const ErrorDetail &Failure) {
  if (!Failure.HasException || !Kept.Value)
    return newException(Failure);
  Py.Py_IncRef(Kept.Value);
  return Kept.Value;
}

void launchjit::python::raiseLaunchError() {
  const ErrorDetail &D = *lastLaunchError();
  if (!D.HasException || !Kept.Type)
    return raise(D);
  Py.PyErr_Restore(Kept.Type, Kept.Value, Kept.Traceback);
  Kept = {};
}

std::string Subject::str() const {
  return Name ? Name
              : describeSlot(
                    static_cast<const KernelData *>(K)->Owner->signature(),
                    Slot);
}

int launchjit::python::raise(const Subject &S, Status Code, const Twine &What) {
  raise({Code, (S.str() + ": " + What).str(), S.Name ? -1 : int64_t(S.Slot), -1,
         0});
  return -1;
}

std::string launchjit::python::valueText(PyObject *O) {
  std::string Text = takeText(Py.PyObject_Str(O));
  return Text.empty() || Text.size() > 60 ? "the value" : Text;
}

int launchjit::python::raisePlain(PyObject *Class, const Twine &What) {
  Py.PyErr_Clear();
  Ref Message(newText(What.str()));
  if (Message)
    Py.PyErr_SetObject(Class, Message.get());
  return -1;
}

std::string launchjit::python::typeName(PyObject *O) {
  return takeText(Py.PyObject_GetAttrString(typeOf(O), "__name__"));
}

int launchjit::python::raiseWrongType(const Subject &S, const Twine &Expected,
                                      PyObject *O) {
  if (Py.PyErr_Occurred()) {
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_TypeError))
      return -1;
    Py.PyErr_Clear();
  }
  return raise(S, Status::ArgumentType,
               "expected " + Expected + ", got " + typeName(O));
}
