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

void launchjit::python::raise(const ErrorDetail &Detail) {
  Py.PyErr_Clear();
  PyObject *Class = Py.Exceptions[static_cast<int>(Detail.Code)];
  Ref Message(newText(Detail.Message));
  if (!Message)
    return;

  // CudaError takes the driver's code and its name.
  bool IsCuda = Detail.Code == Status::Cuda;
  Ref Code(IsCuda ? Py.PyLong_FromLongLong(Detail.Cuda) : nullptr);
  StringRef CudaName =
      Detail.CudaName.empty()
          ? Driver::errorName(static_cast<CUresult>(Detail.Cuda))
          : StringRef(Detail.CudaName);
  Ref Name(IsCuda ? newText(CudaName) : nullptr);
  if (IsCuda && (!Code || !Name))
    return;
  Ref Exception(Py.PyObject_CallFunctionObjArgs(
      Class, Message.get(), Code.get(), Name.get(), nullptr));
  if (!Exception)
    return;
  if (Detail.Argument >= 0) {
    Ref Argument(Py.PyLong_FromLongLong(Detail.Argument));
    if (!Argument ||
        Py.PyObject_SetAttrString(Exception.get(), "argument", Argument.get()))
      return;
  }
  Py.PyErr_SetObject(typeOf(Exception.get()), Exception.get());
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

std::string launchjit::python::valueText(PyObject *O) {
  std::string Text = takeText(Py.PyObject_Str(O));
  return Text.empty() || Text.size() > 60 ? "the value" : Text;
}

int launchjit::python::raiseWrongType(const Subject &S, const Twine &Expected,
                                      PyObject *O) {
  if (Py.PyErr_Occurred()) {
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_TypeError))
      return -1;
    Py.PyErr_Clear();
  }
  std::string Type = takeText(Py.PyObject_GetAttrString(typeOf(O), "__name__"));
  return raise(S, Status::ArgumentType,
               "expected " + Expected + ", got " + Type);
}
