//===- Convert.cpp - From Python objects to parameters --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Rounding.h"
#include "launchjit/Launch/Kernel.h"
#include <limits>
#include <type_traits>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

Fit launchjit::python::toSigned(PyObject *Int, int64_t &Value) {
  int Overflow;
  Value = Py.PyLong_AsLongLongAndOverflow(Int, &Overflow);
  if (Overflow)
    return Fit::No;
  return Value == -1 && Py.PyErr_Occurred() ? Fit::Failed : Fit::Yes;
}

static Fit toUnsigned(PyObject *Int, uint64_t &Value) {
  Value = Py.PyLong_AsUnsignedLongLong(Int);
  if (Value != std::numeric_limits<uint64_t>::max() || !Py.PyErr_Occurred())
    return Fit::Yes;
  if (!Py.PyErr_ExceptionMatches(Py.PyExc_OverflowError))
    return Fit::Failed;
  Py.PyErr_Clear();
  return Fit::No;
}

PyObject *launchjit::python::asInt(const Subject &S, PyObject *O) {
  if (isInt(O)) {
    Py.Py_IncRef(O);
    return O;
  }
  PyObject *Int = Py.PyNumber_Index(O);
  if (!Int)
    raiseWrongType(S, "an int", O);
  return Int;
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

template <typename T>
int convertInt(const StubKernel *K, PyObject *O, void *To, uint32_t Slot) {
  Ref Int(asInt({K, Slot}, O));
  if (!Int)
    return -1;
  using Wide =
      std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>;
  using Limits = std::numeric_limits<T>;
  Wide Value;
  Fit F;
  if constexpr (std::is_same_v<Wide, uint64_t>)
    F = toUnsigned(Int.get(), Value);
  else
    F = toSigned(Int.get(), Value);
  if (F == Fit::Failed)
    return -1;
  if (F == Fit::No || Value < Wide(Limits::min()) ||
      Value > Wide(Limits::max()))
    return raise({K, Slot}, Status::ArgumentRange,
                 valueText(Int.get()) + " does not fit; allowed is " +
                     Twine(Limits::min()) + " to " + Twine(Limits::max()));
  T Narrow = static_cast<T>(Value);
  std::memcpy(To, &Narrow, sizeof(T));
  return 0;
}

/// The value of a C or NumPy bool, which have no __index__: a buffer of one
/// '?'. No where \p O is none.
Fit boolOfBuffer(PyObject *O, uint8_t &Value) {
  Py_buffer View;
  if (Py.PyObject_GetBuffer(O, &View, PyBUF_FORMAT)) {
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_TypeError) &&
        !Py.PyErr_ExceptionMatches(Py.PyExc_BufferError))
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

int convertBool(const StubKernel *K, PyObject *O, void *To, uint32_t Slot) {
  auto *Byte = static_cast<uint8_t *>(To);
  if (isBool(O)) {
    *Byte = O == Py._Py_TrueStruct;
    return 0;
  }
  if (!isInt(O)) {
    Fit F = boolOfBuffer(O, *Byte);
    if (F != Fit::No)
      return F == Fit::Yes ? 0 : -1;
  }
  Ref Int(asInt({K, Slot}, O));
  if (!Int)
    return -1;
  int64_t Value;
  Fit F = toSigned(Int.get(), Value);
  if (F == Fit::Failed)
    return -1;
  if (F == Fit::No || Value < 0 || Value > 1)
    return raise({K, Slot}, Status::ArgumentRange,
                 valueText(Int.get()) + " does not fit; allowed is 0 to 1");
  *Byte = static_cast<uint8_t>(Value);
  return 0;
}

/// The float that \p O is, by __float__ or __index__; false with an exception.
bool toDouble(const StubKernel *K, PyObject *O, uint32_t Slot, double &Value) {
  Value = Py.PyFloat_AsDouble(O);
  if (Value != -1.0 || !Py.PyErr_Occurred())
    return true;
  if (isInt(O) && Py.PyErr_ExceptionMatches(Py.PyExc_OverflowError)) {
    Py.PyErr_Clear();
    raise({K, Slot}, Status::ArgumentRange,
          valueText(O) + " is too large for a float");
  } else {
    raiseWrongType({K, Slot}, "a number", O);
  }
  return false;
}

template <typename T>
int convertFloat(const StubKernel *K, PyObject *O, void *To, uint32_t Slot) {
  double Value;
  if (!toDouble(K, O, Slot, Value))
    return -1;
  T Narrow = static_cast<T>(Value);
  std::memcpy(To, &Narrow, sizeof(T));
  return 0;
}

int convertHalf(const StubKernel *K, PyObject *O, void *To, uint32_t Slot) {
  double Value;
  if (!toDouble(K, O, Slot, Value))
    return -1;
  bool Overflow;
  uint16_t Bits = roundTo16(Value, 5, 10, Overflow);
  if (Overflow)
    return raise({K, Slot}, Status::ArgumentRange,
                 valueText(O) + " does not fit; allowed is -65504 to 65504");
  std::memcpy(To, &Bits, sizeof(Bits));
  return 0;
}

int convertBFloat(const StubKernel *K, PyObject *O, void *To, uint32_t Slot) {
  double Value;
  if (!toDouble(K, O, Slot, Value))
    return -1;
  bool Overflow;
  uint16_t Bits = roundTo16(Value, 8, 7, Overflow);
  std::memcpy(To, &Bits, sizeof(Bits));
  return 0;
}

int convertPointer(const StubKernel *K, PyObject *O, void *To, uint32_t Slot) {
  static constexpr char Expected[] =
      "an int, None or an object with data_ptr()";
  uint64_t Address = 0;
  if (isInt(O)) {
    if (toAddress({K, Slot}, O, Expected, Address))
      return -1;
  } else if (!isNone(O)) {
    Ref Method(Py.PyObject_GetAttr(O, Py.Names.data_ptr));
    if (!Method) {
      if (!Py.PyErr_ExceptionMatches(Py.PyExc_AttributeError))
        return -1;
      Py.PyErr_Clear();
      return raiseWrongType({K, Slot}, Expected, O);
    }
    Ref Result(Py.PyObject_CallFunctionObjArgs(Method.get(), nullptr));
    if (!Result || toAddress({K, Slot}, Result.get(),
                             "data_ptr() to return an int", Address))
      return -1;
  }
  std::memcpy(To, &Address, sizeof(Address));
  return 0;
}

/// Structs and tensor maps.
int convertBytes(const StubKernel *K, PyObject *O, void *To, uint32_t Slot) {
  size_t Size = static_cast<const KernelData *>(K)
                    ->Owner->signature()
                    .abi()
                    .slots()[Slot]
                    .Size;
  Py_buffer View;
  if (Py.PyObject_GetBuffer(O, &View, PyBUF_SIMPLE)) {
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_BufferError))
      return raiseWrongType(
          {K, Slot}, "a bytes-like object of " + Twine(Size) + " bytes", O);
    Py.PyErr_Clear();
    return raise({K, Slot}, Status::ArgumentValue,
                 "its bytes are not contiguous");
  }
  size_t Given = View.len;
  if (Given == Size)
    std::memcpy(To, View.buf, Size);
  Py.PyBuffer_Release(&View);
  if (Given == Size)
    return 0;
  return raise({K, Slot}, Status::ArgumentValue,
               "expected " + Twine(Size) + " bytes, got " + Twine(Given));
}

} // namespace

void launchjit::python::fillConversions(StubTable &Table) {
  auto Set = [&](ParamKind Kind, decltype(&convertBool) Convert) {
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
  Set(ParamKind::FP16, convertHalf);
  Set(ParamKind::BF16, convertBFloat);
  Set(ParamKind::FP32, convertFloat<float>);
  Set(ParamKind::FP64, convertFloat<double>);
  Set(ParamKind::Pointer, convertPointer);
  Set(ParamKind::Struct, convertBytes);
  Set(ParamKind::TensorMap, convertBytes);
}
