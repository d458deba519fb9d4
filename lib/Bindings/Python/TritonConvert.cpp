//===- TritonConvert.cpp - Arguments by the rules of Triton's launchers ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contracts triton-3.4 to triton-3.9. An integer fits where its width holds
// it as signed or as unsigned; i1 and u1 are 8 bits wide.
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Pointer.h"
#include "TensorMap.h"
#include "Triton.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Launch/Values.h"
#include <limits>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

static std::string describe(const TritonCall &C, uint32_t Slot) {
  return C.Launch.Name + ", " + describeSlot(C.Launch.Sig, Slot);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// What an integer of some width may be.
struct Range {
  int64_t Min;
  uint64_t Max;
  bool TakesIndex;
};
} // namespace

/// All that is not a small int: to bits of which the caller takes those it
/// wants.
static int convertAnyInteger(const TritonCall &C, PyObject *O, uint64_t &Bits,
                             const Range &R, uint32_t Slot) {
  if (!R.TakesIndex && !isInt(O))
    return raisePlain(Py.PyExc_TypeError, describe(C, Slot) +
                                              ": expected an int, got " +
                                              typeName(O));
  Ref Int(Py.PyNumber_Index(O));
  if (!Int)
    return -1;
  int64_t Value;
  Fit F = toSigned(Int.get(), Value);
  Bits = Value;
  const bool IsNegative = F == Fit::Yes && Value < 0;
  if (F == Fit::No)
    F = toUnsigned(Int.get(), Bits);
  if (F == Fit::Failed)
    return -1;
  if (F == Fit::Yes && (IsNegative ? Value >= R.Min : Bits <= R.Max))
    return 0;
  return raisePlain(Py.PyExc_OverflowError,
                    describe(C, Slot) + ": " + valueText(Int.get()) +
                        " does not fit; allowed is " + Twine(R.Min) + " to " +
                        Twine(R.Max));
}

template <typename T>
static int convertInteger(StubPythonLaunch *L, PyObject *O, void *To,
                          uint32_t Slot) {
  // CPython's own functions, which Triton's launchers call, take __index__ for
  // these types only.
  constexpr bool IsSigned = std::is_signed_v<T>;
  const TritonCall &C = tritonCall(L);
  const Range R = {std::numeric_limits<std::make_signed_t<T>>::min(),
                   std::numeric_limits<std::make_unsigned_t<T>>::max(),
                   IsSigned || (C.Launch.isEarly() && sizeof(T) < 8)};
  int64_t Value;
  uint64_t Bits;
  if (LLVM_LIKELY(typeOf(O) == Py.PyLong_Type && peekInt(Py, O, Value) &&
                  Value >= R.Min && (Value < 0 || uint64_t(Value) <= R.Max)))
    Bits = Value;
  else if (convertAnyInteger(C, O, Bits, R, Slot))
    return -1;
  std::memcpy(To, &Bits, sizeof(T)); // little-endian
  return 0;
}

int launchjit::python::raiseHalfOverflow(const TritonCall &C, uint32_t Slot) {
  return raisePlain(Py.PyExc_OverflowError,
                    describe(C, Slot) +
                        ": float too large to pack with e format: the largest "
                        "fp16 is 65504");
}

template <ParamKind Kind>
static int convertFloating(StubPythonLaunch *L, PyObject *O, void *To,
                           uint32_t Slot) {
  double Value = Py.PyFloat_AsDouble(O);
  if (Value == -1.0 && Py.PyErr_Occurred())
    return -1;
  if (storeFloat(Kind, Value, To))
    return 0;
  TritonCall &C = tritonCall(L);
  if (!C.Launch.isEarly())
    return raiseHalfOverflow(C, Slot);
  if (C.HalfOverflow < 0)
    C.HalfOverflow = Slot;
  return 0;
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

static Ref attribute(PyObject *O, const char *Name) {
  PyObject *Found = Py.PyObject_GetAttrString(O, Name);
  if (!Found)
    Py.PyErr_Clear();
  return Ref(Found);
}

/// The exchange API by which tensors of \p Type give the address that their
/// data_ptr() would give. Null for others: a class under the one that offers
/// the API may define that method anew, or have its own word in how it is
/// called (torch's __torch_dispatch__, __torch_function__).
static const DLPackExchangeAPI *usableAPI(PyObject *Type) {
  const DLPackExchangeAPI *API = exchangeAPI(Type);
  if (!API || !API->dltensor_from_py_object_no_sync)
    return nullptr;
  Ref Order = attribute(Type, "__mro__");
  PyObject *Base = Type;
  for (Py_ssize_t I = 1, N = Order ? Py.PyTuple_Size(Order.get()) : 0; I < N;
       ++I) {
    PyObject *Each = Py.PyTuple_GetItem(Order.get(), I);
    if (exchangeAPI(Each) == API)
      Base = Each;
  }
  if (Base == Type)
    return API;
  for (const char *Name : {"data_ptr", "__torch_dispatch__"})
    if (attribute(Type, Name).get() != attribute(Base, Name).get())
      return nullptr;
  // torch's parameters have a built-in function there, which does nothing.
  Ref Function = attribute(Type, "__torch_function__");
  return !Function || typeOf(Function.get()) == Py.PyCFunction_Type ? API
                                                                    : nullptr;
}

static const DLPackExchangeAPI *findAPI(TritonLaunch &L, PyObject *Type) {
  const TritonPointerType *Known = L.Pointers.find(Type);
  if (!Known && !L.Pointers.isFull())
    Known = L.Pointers.add({Type, usableAPI(Type)});
  // With so many types data_ptr() serves the others.
  return Known ? Known->API : nullptr;
}

/// The driver's address for \p Address, checked as Triton does.
static int checkAccess(TritonCall &C, uint64_t &Address, int Index) {
  const Driver *Drv = openDriver();
  if (!Drv)
    return -1;
  auto *Get = Drv->cuPointerGetAttribute;
  CUdeviceptr Device;
  CUresult R = Get ? Get(&Device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, Address)
                   : CUDA_ERROR_NOT_SUPPORTED;
  if (R == CUDA_ERROR_INVALID_CONTEXT || R == CUDA_ERROR_NOT_INITIALIZED ||
      R == CUDA_ERROR_INVALID_VALUE) {
    // It does not answer where no context is current.
    auto Current = ContextGuard::enterAny(*Drv, deviceOf(C.Launch, C.Function));
    if (!Current)
      consumeError(Current.takeError());
    else if (Current->changedContext() && Get)
      R = Get(&Device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, Address);
  }
  if (R == CUDA_ERROR_INVALID_VALUE) {
    std::string Where =
        C.Launch.isEarly() ? "(at " + std::to_string(Index) + ") " : "";
    return raisePlain(Py.PyExc_ValueError,
                      "Pointer argument " + Where +
                          "cannot be accessed from Triton (cpu tensor?)");
  }
  if (R != CUDA_SUCCESS)
    return raiseTriton(R);
  Address = Device;
  return 0;
}

int launchjit::python::convertTritonPointer(TritonCall &C, PyObject *O,
                                            uint64_t &Address, int Index) {
  if (isNone(O)) {
    Address = 0;
    return 0;
  }
  if (isInt(O)) {
    Address = Py.PyLong_AsUnsignedLongLong(O);
    return Address == std::numeric_limits<uint64_t>::max() &&
                   Py.PyErr_Occurred()
               ? -1
               : 0;
  }
  if (const DLPackExchangeAPI *API = findAPI(C.Launch, typeOf(O))) {
    DLTensor T;
    if (LLVM_UNLIKELY(API->dltensor_from_py_object_no_sync(O, &T))) {
      Py.PyErr_Clear(); // data_ptr() tells
    } else if (LLVM_LIKELY(T.device.device_type == kDLCUDA)) {
      Address = reinterpret_cast<uintptr_t>(T.data) + T.byte_offset;
      return 0;
    }
  }
  Ref Result(Py.PyObject_VectorcallMethod(Py.Names.data_ptr, &O, 1, nullptr));
  if (!Result) {
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_AttributeError))
      return -1;
    // Either it has none, or its own code raised that.
    PyObject *Type, *Value, *Traceback;
    Py.PyErr_Fetch(&Type, &Value, &Traceback);
    bool Has = bool(Ref(Py.PyObject_GetAttr(O, Py.Names.data_ptr)));
    if (Has) {
      Py.PyErr_Restore(Type, Value, Traceback);
      return -1;
    }
    for (PyObject *Each : {Type, Value, Traceback})
      Ref Owner(Each);
    return raisePlain(Py.PyExc_TypeError,
                      "Pointer argument must be either uint64 or have "
                      "data_ptr method");
  }
  if (!isInt(Result.get()))
    return raisePlain(Py.PyExc_TypeError, "data_ptr method of Pointer object "
                                          "must return 64-bit int");
  Address = Py.PyLong_AsUnsignedLongLong(Result.get());
  if (Address == std::numeric_limits<uint64_t>::max() && Py.PyErr_Occurred())
    return -1;
  return Address ? checkAccess(C, Address, Index) : 0;
}

static int convertPointerArgument(StubPythonLaunch *L, PyObject *O, void *To,
                                  uint32_t Slot) {
  TritonCall &C = tritonCall(L);
  if (C.Launch.isEarly()) {
    C.Pointers.push_back({O, To, Slot});
    return 0;
  }
  uint64_t Address;
  int Failed = convertTritonPointer(C, O, Address, Slot);
  std::memcpy(To, &Address, sizeof Address);
  return Failed;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static constexpr size_t TensorMapSize = 128;

/// 3.4: the address of the map is what a method gives.
static int convertMapAddress(PyObject *O, void *To) {
  Ref Method(Py.PyObject_GetAttrString(O, "tma_desc_cpu_ptr"));
  if (!Method) {
    if (!Py.PyErr_ExceptionMatches(Py.PyExc_AttributeError))
      return -1;
    return raisePlain(Py.PyExc_TypeError,
                      "tma_desc_cpu_ptr() method does not exist");
  }
  Ref Result(Py.PyObject_CallObject(Method.get(), nullptr));
  if (!Result)
    return -1;
  if (!isInt(Result.get()))
    return raisePlain(Py.PyExc_TypeError,
                      "tma_desc_cpu_ptr() must return 64-bit int");
  uint64_t Address = Py.PyLong_AsUnsignedLongLong(Result.get());
  if (Py.PyErr_Occurred())
    return -1;
  if (!Address)
    return raisePlain(Py.PyExc_ValueError,
                      "received NULL ptr from tma_desc_cpu_ptr()");
  if (Address % 64)
    return raisePlain(Py.PyExc_ValueError,
                      "tma_desc_cpu_ptr() must be 64-byte aligned");
  std::memcpy(To, reinterpret_cast<const void *>(Address), TensorMapSize);
  return 0;
}

int launchjit::python::convertTritonMap(TritonCall &C, PyObject *O, void *To) {
  if (C.Launch.Options.Minor == 4)
    return convertMapAddress(O, To);
  if (isTensorMap(O)) {
    std::memcpy(To, tensorMapOf(O), TensorMapSize);
    return 0;
  }
  return raisePlain(Py.PyExc_TypeError,
                    "object must be of type PyCUtensorMap, got " + typeName(O));
}

static int convertMapArgument(StubPythonLaunch *L, PyObject *O, void *To,
                              uint32_t Slot) {
  TritonCall &C = tritonCall(L);
  if (!C.Launch.isEarly())
    return convertTritonMap(C, O, To);
  C.Maps.push_back({O, To, Slot});
  return 0;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static int begin(PyObject *Self, PyObject *const *, ptrdiff_t,
                 StubPythonLaunch *L) {
  L->Self = Self;
  L->Kernel = tritonCall(L).Data;
  return 0;
}

/// What \p Object is as a tuple, which the call keeps; null with an exception.
/// Up to 3.6 any sequence but bytes of the right length is one, later any
/// iterable that is long enough.
static PyObject *takeTuple(TritonCall &C, PyObject *Object, Py_ssize_t Count) {
  const bool IsEarly = C.Launch.isEarly();
  auto Refuse = [&](const Twine &Got) -> PyObject * {
    raisePlain(Py.PyExc_TypeError, C.Launch.Name + ": expected a sequence of " +
                                       Twine(Count) + " for a tuple" + Got);
    return nullptr;
  };
  if (IsEarly && (!Py.PySequence_Check(Object) ||
                  hasFlag(Object, Py_TPFLAGS_BYTES_SUBCLASS)))
    return Refuse("");
  PyObject *Tuple = Object;
  if (hasFlag(Object, Py_TPFLAGS_TUPLE_SUBCLASS))
    Py.Py_IncRef(Tuple);
  else
    Tuple = Py.PySequence_Tuple(Object);
  if (!Tuple)
    return nullptr;
  C.Tuples.push_back(Tuple);
  Py_ssize_t Size = Py.PyTuple_Size(Tuple);
  if (Size < Count || (Size != Count && IsEarly))
    return Refuse(", got one of " + Twine(Size));
  return Tuple;
}

int launchjit::python::takeTritonTuples(TritonCall &C, ArrayRef<ABIType> Types,
                                        PyObject *const *Values) {
  for (auto [I, T] : enumerate(Types)) {
    if (T.Kind != ParamKind::Tuple)
      continue;
    PyObject *Tuple = takeTuple(C, Values[I], T.Elements.size());
    if (!Tuple)
      return -1;
    SmallVector<PyObject *, 8> Items;
    for (size_t J = 0; J != T.Elements.size(); ++J)
      Items.push_back(Py.PyTuple_GetItem(Tuple, J));
    if (takeTritonTuples(C, T.Elements, Items.data()))
      return -1;
  }
  return 0;
}

static int unpack(const StubPythonLaunch *L, PyObject *Object, uint32_t Count,
                  uint32_t, PyObject **Items) {
  TritonCall &C = tritonCall(L);
  PyObject *Tuple = C.Launch.isEarly() ? takeTuple(C, Object, Count)
                                       : C.Tuples[C.NextTuple++];
  if (!Tuple)
    return -1;
  for (uint32_t I = 0; I < Count; ++I)
    Items[I] = Py.PyTuple_GetItem(Tuple, I);
  return 0;
}

void launchjit::python::fillTritonConversions(StubTable &Table) {
  Table.PythonBegin = begin;
  Table.PythonUnpack = unpack;
  auto Set = [&](ParamKind Kind, decltype(&convertPointerArgument) Convert) {
    Table.PythonConvert[static_cast<unsigned>(Kind)] = Convert;
  };
  Set(ParamKind::I1, convertInteger<int8_t>);
  Set(ParamKind::I8, convertInteger<int8_t>);
  Set(ParamKind::I16, convertInteger<int16_t>);
  Set(ParamKind::I32, convertInteger<int32_t>);
  Set(ParamKind::I64, convertInteger<int64_t>);
  Set(ParamKind::U1, convertInteger<uint8_t>);
  Set(ParamKind::U8, convertInteger<uint8_t>);
  Set(ParamKind::U16, convertInteger<uint16_t>);
  Set(ParamKind::U32, convertInteger<uint32_t>);
  Set(ParamKind::U64, convertInteger<uint64_t>);
  Set(ParamKind::FP16, convertFloating<ParamKind::FP16>);
  Set(ParamKind::BF16, convertFloating<ParamKind::BF16>);
  Set(ParamKind::FP32, convertFloating<ParamKind::FP32>);
  Set(ParamKind::FP64, convertFloating<ParamKind::FP64>);
  Set(ParamKind::Pointer, convertPointerArgument);
  Set(ParamKind::TensorMap, convertMapArgument);
}
