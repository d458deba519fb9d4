//===- Convert.cpp - From Python objects to parameters --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Pointer.h"
#include "launchjit/Launch/Kernel.h"
#include "launchjit/Launch/Values.h"
#include <limits>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

Fit launchjit::python::toSigned(PyObject *Int, int64_t &Value) {
  if (LLVM_LIKELY(peekInt(Py, Int, Value)))
    return Fit::Yes;
  int Overflow;
  Value = Py.PyLong_AsLongLongAndOverflow(Int, &Overflow);
  if (Overflow)
    return Fit::No;
  return Value == -1 && Py.PyErr_Occurred() ? Fit::Failed : Fit::Yes;
}

Fit launchjit::python::toUnsigned(PyObject *Int, uint64_t &Value) {
  Value = Py.PyLong_AsUnsignedLongLong(Int);
  if (Value != std::numeric_limits<uint64_t>::max() || !Py.PyErr_Occurred())
    return Fit::Yes;
  if (!Py.PyErr_ExceptionMatches(Py.PyExc_OverflowError))
    return Fit::Failed;
  Py.PyErr_Clear();
  return Fit::No;
}

PyObject *launchjit::python::simpleValue(PyObject *O) {
  Ref Code(Py.PyObject_GetAttr(typeOf(O), Py.Names._type_));
  PyObject *Value = Code && Py.PyUnicode_AsUTF8AndSize(Code.get(), nullptr)
                        ? Py.PyObject_GetAttr(O, Py.Names.value)
                        : nullptr;
  if (!Value)
    Py.PyErr_Clear();
  return Value;
}

/// Whether the exception that is set says no more than that a type is wrong:
/// then it is cleared.
static bool clearTypeError() {
  if (!Py.PyErr_ExceptionMatches(Py.PyExc_TypeError))
    return false;
  Py.PyErr_Clear();
  return true;
}

PyObject *launchjit::python::asInt(const Subject &S, PyObject *O) {
  if (isInt(O)) {
    Py.Py_IncRef(O);
    return O;
  }
  PyObject *Int = Py.PyNumber_Index(O);
  if (Int || !clearTypeError())
    return Int;
  Ref Value(simpleValue(O));
  if (Value && isInt(Value.get())) {
    Py.Py_IncRef(Value.get());
    return Value.get();
  }
  raiseWrongType(S, "an int", O);
  return nullptr;
}

int launchjit::python::toAddress(const Subject &S, PyObject *O,
                                 const char *Expected, uint64_t &Address) {
  if (!isInt(O) || isBool(O))
    return raiseWrongType(S, Expected, O);
  Fit F = toUnsigned(O, Address);
  if (F == Fit::No)
    raise(S, Status::ArgumentRange,
          valueText(O) + " does not fit; allowed is 0 to " +
              Twine(std::numeric_limits<uint64_t>::max()));
  return F == Fit::Yes ? 0 : -1;
}

namespace {

/// All that is not a small int, to the low bits of \p Bits.
int convertAnyInt(StubPythonLaunch *L, PyObject *O, uint64_t &Bits, int64_t Min,
                  uint64_t Max, uint32_t Slot) {
  Ref Int(asInt({L->Kernel, Slot}, O));
  if (!Int)
    return -1;
  int64_t Value;
  Fit F = toSigned(Int.get(), Value);
  Bits = Value;
  if (F == Fit::No && Max > static_cast<uint64_t>(INT64_MAX))
    F = toUnsigned(Int.get(), Bits);
  else if (F == Fit::Yes &&
           (Value < Min || (Value > 0 && static_cast<uint64_t>(Value) > Max)))
    F = Fit::No;
  if (F == Fit::No)
    raise({L->Kernel, Slot}, Status::ArgumentRange,
          valueText(Int.get()) + " does not fit; allowed is " + Twine(Min) +
              " to " + Twine(Max));
  return F == Fit::Yes ? 0 : -1;
}

template <typename T>
int convertInt(StubPythonLaunch *L, PyObject *O, void *To, uint32_t Slot) {
  using Limits = std::numeric_limits<T>;
  constexpr int64_t Min = Limits::min();
  constexpr uint64_t Max = Limits::max();
  int64_t Value;
  uint64_t Bits;
  if (LLVM_LIKELY(typeOf(O) == Py.PyLong_Type && peekInt(Py, O, Value) &&
                  Value >= Min &&
                  (Value < 0 || static_cast<uint64_t>(Value) <= Max)))
    Bits = Value;
  else if (convertAnyInt(L, O, Bits, Min, Max, Slot))
    return -1;
  std::memcpy(To, &Bits, sizeof(T)); // little-endian
  return 0;
}

/// The value of a C or NumPy bool, which have no __index__: a buffer of one
/// '?'. No where \p O is none.
Fit boolOfBuffer(PyObject *O, uint8_t &Value) {
  Py_buffer View;
  if (Py.PyObject_GetBuffer(O, &View, PyBUF_ND | PyBUF_FORMAT)) {
    // NumPy raises ValueError for what is not contiguous, and for dates.
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_TypeError) &&
        !Py.PyErr_ExceptionMatches(Py.PyExc_BufferError) &&
        !Py.PyErr_ExceptionMatches(Py.PyExc_ValueError))
      return Fit::Failed;
    Py.PyErr_Clear();
    return Fit::No;
  }
  StringRef Format = View.format ? View.format : "";
  bool IsBool = View.ndim == 0 && View.len == 1 && Format.ltrim("@=<>!") == "?";
  if (IsBool)
    Value = *static_cast<const char *>(View.buf) != 0;
  Py.PyBuffer_Release(&View);
  return IsBool ? Fit::Yes : Fit::No;
}

int convertBool(StubPythonLaunch *L, PyObject *O, void *To, uint32_t Slot) {
  auto *Byte = static_cast<uint8_t *>(To);
  if (isBool(O)) {
    *Byte = O == Py._Py_TrueStruct;
    return 0;
  }
  Fit F = isInt(O) ? Fit::No : boolOfBuffer(O, *Byte);
  if (F == Fit::No)
    return convertInt<bool>(L, O, To, Slot);
  return F == Fit::Yes ? 0 : -1;
}

int toDouble(StubPythonLaunch *L, PyObject *O, double &Value, uint32_t Slot) {
  Value = Py.PyFloat_AsDouble(O);
  if (LLVM_LIKELY(Value != -1.0 || !Py.PyErr_Occurred()))
    return 0;
  if (!isInt(O) || !Py.PyErr_ExceptionMatches(Py.PyExc_OverflowError)) {
    if (!clearTypeError())
      return -1;
    Ref Simple(simpleValue(O));
    return Simple && (isInt(Simple.get()) ||
                      typeOf(Simple.get()) == Py.PyFloat_Type)
               ? toDouble(L, Simple.get(), Value, Slot)
               : raiseWrongType({L->Kernel, Slot}, "a number", O);
  }
  Py.PyErr_Clear();
  return raise({L->Kernel, Slot}, Status::ArgumentRange,
               valueText(O) + " does not fit into a float");
}

template <ParamKind Kind>
int convertFloat(StubPythonLaunch *L, PyObject *O, void *To, uint32_t Slot) {
  double Value;
  if (toDouble(L, O, Value, Slot))
    return -1;
  if (storeFloat(Kind, Value, To))
    return 0;
  return raise({L->Kernel, Slot}, Status::ArgumentRange,
               valueText(O) + " does not fit; the largest fp16 is 65504");
}

/// Structs and tensor maps.
int convertBytes(StubPythonLaunch *L, PyObject *O, void *To, uint32_t Slot) {
  size_t Size = static_cast<const KernelData *>(L->Kernel)
                    ->Owner->signature()
                    .abi()
                    .slots()[Slot]
                    .Size;
  Py_buffer View;
  if (Py.PyObject_GetBuffer(O, &View, PyBUF_SIMPLE)) {
    // NumPy raises ValueError where BufferError is meant.
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_BufferError) &&
        !Py.PyErr_ExceptionMatches(Py.PyExc_ValueError))
      return raiseWrongType({L->Kernel, Slot},
                            "a bytes-like object of " + Twine(Size) + " bytes",
                            O);
    Py.PyErr_Clear();
    return raise({L->Kernel, Slot}, Status::ArgumentValue,
                 "its bytes are not contiguous");
  }
  size_t Given = View.len;
  if (Given == Size)
    std::memcpy(To, View.buf, Size);
  Py.PyBuffer_Release(&View);
  if (Given == Size)
    return 0;
  return raise({L->Kernel, Slot}, Status::ArgumentValue,
               "expected " + Twine(Size) + " bytes, got " + Twine(Given));
}

} // namespace

void launchjit::python::fillConversions(StubTable &Table) {
  auto Set = [&](ParamKind Kind, decltype(&convertBytes) Convert) {
    Table.PythonConvert[static_cast<unsigned>(Kind)] = Convert;
  };
  Set(ParamKind::I1, convertBool);
  Set(ParamKind::I8, convertInt<int8_t>);
  Set(ParamKind::I16, convertInt<int16_t>);
  Set(ParamKind::I32, convertInt<int32_t>);
  Set(ParamKind::I64, convertInt<int64_t>);
  Set(ParamKind::U1, convertBool);
  Set(ParamKind::U8, convertInt<uint8_t>);
  Set(ParamKind::U16, convertInt<uint16_t>);
  Set(ParamKind::U32, convertInt<uint32_t>);
  Set(ParamKind::U64, convertInt<uint64_t>);
  Set(ParamKind::FP16, convertFloat<ParamKind::FP16>);
  Set(ParamKind::BF16, convertFloat<ParamKind::BF16>);
  Set(ParamKind::FP32, convertFloat<ParamKind::FP32>);
  Set(ParamKind::FP64, convertFloat<ParamKind::FP64>);
  Set(ParamKind::Pointer, convertPointer);
  Set(ParamKind::Struct, convertBytes);
  Set(ParamKind::TensorMap, convertBytes);
}
