//===- Pointer.cpp - From Python objects to device pointers ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pointer.h"
#include "Convert.h"
#include "DLPack.h"
#include "Raise.h"
#include "Stream.h"
#include "launchjit/Launch/KernelState.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Compiler.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

/// How objects of one type give their address. Immutable.
struct launchjit::python::PointerType {
  PyObject *Type; ///< A strong reference: no other type gets its address.
  int (*Convert)(const PointerType &, StubPythonLaunch *L, PyObject *O,
                 uint64_t &Address, uint32_t Slot);
  const DLPackExchangeAPI *API; ///< Of tensors.
};

static constexpr char ExpectedPointer[] =
    "an int, None, or an object with __dlpack_c_exchange_api__, data_ptr(), "
    "__cuda_array_interface__ or handle";

static const NamedSlot &slotOf(const StubPythonLaunch *L, uint32_t Slot) {
  return static_cast<const KernelData *>(L->Kernel)
      ->Owner->signature()
      .slots()[Slot];
}

static bool checks(const StubPythonLaunch *L, PythonChecks Check) {
  return selfOf(L).Checks & Check;
}

//===----------------------------------------------------------------------===//
// Where memory is
//===----------------------------------------------------------------------===//

/// Turns the address of memory that is not said to be a device's into the one
/// that the GPU uses for it: pinned memory has one.
static int toDeviceAddress(const StubPythonLaunch *L, uint32_t Slot,
                           uint64_t &Address, const char *What) {
  if (!Address || !checks(L, CheckMemory))
    return 0;
  const auto &D = *static_cast<const KernelData *>(L->Kernel);
  KernelState &S = *D.State;
  auto Ask = [&] {
    auto *Get = S.driver()->cuPointerGetAttribute;
    CUdeviceptr Device; // written where it fails, too
    if (!Get || Get(&Device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, Address))
      return false;
    Address = Device;
    return true;
  };
  if (LLVM_LIKELY(Ask()))
    return 0;
  // It is not open before the first launch.
  if (Error E = S.bindDriver()) {
    consumeError(std::move(E)); // the launch itself will tell
    return 0;
  }
  // Nor does the driver answer where no context is current.
  auto Current = ContextGuard::enterAny(*S.driver(), D.Owner->options().Device);
  if (!Current)
    consumeError(Current.takeError());
  if (Ask())
    return 0;
  return raise({L->Kernel, Slot}, Status::ArgumentValue,
               Twine(What) + " 0x" + utohexstr(Address) +
                   ", which is no memory that the GPU can access; pass a "
                   "tensor on the GPU or in pinned memory");
}

/// A tensor says that it is on \p Device.
static int checkDevice(StubPythonLaunch *L, uint32_t Slot, int32_t Device) {
  if (L->Device < 0) {
    L->Device = Device;
    L->DeviceSlot = Slot;
    return 0;
  }
  if (L->Device == Device || !checks(L, CheckDevice))
    return 0;
  return raise(
      {L->Kernel, Slot}, Status::ArgumentValue,
      "it is on device " + Twine(Device) + ", but " +
          describeSlot(
              static_cast<const KernelData *>(L->Kernel)->Owner->signature(),
              L->DeviceSlot) +
          " is on device " + Twine(L->Device) +
          "; peer_access=True allows that");
}

//===----------------------------------------------------------------------===//
// Strict mode
//===----------------------------------------------------------------------===//

/// The DLPack type of a signature's element; bits 0 for one that has none.
static DLDataType elementType(StringRef Spelling) {
  Spelling.consume_front("*");
  Spelling.consume_front("k");
  // The codes are dlpack.h's DLDataTypeCode.
  return StringSwitch<DLDataType>(Spelling)
      .Case("i1", {6, 8, 1})
      .Case("u1", {6, 8, 1})
      .Case("i8", {0, 8, 1})
      .Case("i16", {0, 16, 1})
      .Case("i32", {0, 32, 1})
      .Case("i64", {0, 64, 1})
      .Case("u8", {1, 8, 1})
      .Case("u16", {1, 16, 1})
      .Case("u32", {1, 32, 1})
      .Case("u64", {1, 64, 1})
      .Case("fp16", {2, 16, 1})
      .Case("fp32", {2, 32, 1})
      .Case("fp64", {2, 64, 1})
      .Case("bf16", {4, 16, 1})
      .Case("fp8e4b15", {9, 8, 1})
      .Case("fp8e4nv", {10, 8, 1})
      .Case("fp8e4b8", {11, 8, 1})
      .Case("fp8e5", {12, 8, 1})
      .Case("fp8e5b16", {13, 8, 1})
      .Default({0, 0, 0});
}

static std::string nameOf(DLDataType T) {
  static constexpr const char *Codes[] = {
      "int",       "uint",        "float",   "handle",     "bfloat",
      "complex",   "bool",        "e3m4 fp", "e4m3 fp",    "e4m3b11fnuz fp",
      "e4m3fn fp", "e4m3fnuz fp", "e5m2 fp", "e5m2fnuz fp"};
  std::string Name = T.code < std::size(Codes) ? Codes[T.code]
                                               : "type " + utostr(T.code) + " ";
  Name += utostr(T.bits);
  return T.lanes == 1 ? Name : Name + "x" + utostr(T.lanes);
}

static int checkElements(const StubPythonLaunch *L, uint32_t Slot,
                         DLDataType Given) {
  StringRef Spelling = slotOf(L, Slot).Spelling;
  DLDataType Wanted = elementType(Spelling);
  if (!Wanted.bits || !std::memcmp(&Wanted, &Given, sizeof Wanted))
    return 0;
  return raise({L->Kernel, Slot}, Status::ArgumentType,
               "its elements are " + nameOf(Given) + ", not " + nameOf(Wanted));
}

/// \p Unit is the innermost stride: 1 where \p Strides count elements, an
/// element's size where they count bytes.
static int checkContiguous(const StubPythonLaunch *L, uint32_t Slot,
                           ArrayRef<int64_t> Shape, ArrayRef<int64_t> Strides,
                           int64_t Unit) {
  int64_t Next = Unit;
  for (size_t I = Shape.size(); I--;) {
    if (Shape[I] == 0)
      return 0;
    if (Shape[I] != 1 && Strides[I] != Next)
      return raise({L->Kernel, Slot}, Status::ArgumentValue,
                   "it is not contiguous: dimension " + Twine(I) +
                       " has stride " + Twine(Strides[I] / Unit) + ", not " +
                       Twine(Next / Unit));
    Next *= Shape[I];
  }
  return 0;
}

int launchjit::python::checkHints(const StubPythonLaunch *L,
                                  const void *Buffer) {
  ArrayRef<NamedSlot> Slots =
      static_cast<const KernelData *>(L->Kernel)->Owner->signature().slots();
  for (uint32_t I = 0; I != Slots.size(); ++I) {
    const NamedSlot &S = Slots[I];
    if (S.DivisibleBy < 2 || S.Where.Size > sizeof(uint64_t))
      continue;
    uint64_t Value = 0;
    std::memcpy(&Value, static_cast<const char *>(Buffer) + S.Where.Offset,
                S.Where.Size);
    // A negative value of a power of two divides as its unsigned bits do.
    if (Value % S.DivisibleBy)
      return raise({L->Kernel, I}, Status::ArgumentValue,
                   "0x" + utohexstr(Value) + " is not divisible by " +
                       Twine(S.DivisibleBy) + ", as the signature promises");
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// The ways in which objects tell
//===----------------------------------------------------------------------===//

static int useTensor(const PointerType &Type, StubPythonLaunch *L,
                     const DLTensor &T, uint64_t &Address, uint32_t Slot) {
  Address = reinterpret_cast<uintptr_t>(T.data) + T.byte_offset;
  if (LLVM_LIKELY(T.device.device_type == kDLCUDA)) {
    if (LLVM_UNLIKELY(L->Device != T.device.device_id)) {
      if (L->WantsStream && !L->WorkStream && L->Device < 0)
        L->WorkStream = Type.API->current_work_stream;
      if (checkDevice(L, Slot, T.device.device_id))
        return -1;
    }
  } else if (T.device.device_type != kDLCUDAHost &&
             T.device.device_type != kDLCUDAManaged) {
    if (toDeviceAddress(L, Slot, Address,
                        T.device.device_type == kDLCPU
                            ? "it is on the CPU, at"
                            : "it is on no device of CUDA, at"))
      return -1;
  }
  if (LLVM_LIKELY(!checks(L, CheckStrict)))
    return 0;
  if (checkElements(L, Slot, T.dtype))
    return -1;
  ArrayRef<int64_t> Shape(T.shape, T.ndim);
  return T.strides ? checkContiguous(L, Slot, Shape,
                                     ArrayRef<int64_t>(T.strides, T.ndim), 1)
                   : 0;
}

/// What the framework raised, if it did.
static int raiseNoTensor(const StubPythonLaunch *L, uint32_t Slot) {
  if (Py.PyErr_Occurred())
    return -1;
  return raise({L->Kernel, Slot}, Status::ArgumentValue,
               "its framework's DLPack exchange gave no tensor");
}

static int convertTensor(const PointerType &Type, StubPythonLaunch *L,
                         PyObject *O, uint64_t &Address, uint32_t Slot) {
  DLTensor T;
  if (LLVM_UNLIKELY(Type.API->dltensor_from_py_object_no_sync(O, &T)))
    return raiseNoTensor(L, Slot);
  return useTensor(Type, L, T, Address, Slot);
}

/// For a framework that only gives tensors away with their ownership.
static int convertManagedTensor(const PointerType &Type, StubPythonLaunch *L,
                                PyObject *O, uint64_t &Address, uint32_t Slot) {
  DLManagedTensorVersioned *T;
  if (Type.API->managed_tensor_from_py_object_no_sync(O, &T))
    return raiseNoTensor(L, Slot);
  int Failed = useTensor(Type, L, T->dl_tensor, Address, Slot);
  if (T->deleter)
    T->deleter(T);
  return Failed;
}

/// In strict mode, what says nothing of its elements is refused.
static int refuseUntyped(const StubPythonLaunch *L, uint32_t Slot,
                         PyObject *O) {
  if (!checks(L, CheckStrict))
    return 0;
  return raiseWrongType({L->Kernel, Slot},
                        "an object that tells its element type (strict=True)",
                        O);
}

static int convertDataPtr(const PointerType &, StubPythonLaunch *L, PyObject *O,
                          uint64_t &Address, uint32_t Slot) {
  Ref Result(Py.PyObject_VectorcallMethod(Py.Names.data_ptr, &O, 1, nullptr));
  if (!Result ||
      toAddress({L->Kernel, Slot}, Result.get(), "data_ptr() to return an int",
                Address) ||
      refuseUntyped(L, Slot, O))
    return -1;
  return toDeviceAddress(L, Slot, Address, "data_ptr() gave");
}

static int convertHandle(const PointerType &, StubPythonLaunch *L, PyObject *O,
                         uint64_t &Address, uint32_t Slot) {
  static constexpr char ExpectedHandle[] = "its handle to be an int";
  Ref Handle(Py.PyObject_GetAttr(O, Py.Names.handle));
  if (!Handle || refuseUntyped(L, Slot, O))
    return -1;
  if (isInt(Handle.get()))
    return toAddress({L->Kernel, Slot}, Handle.get(), ExpectedHandle, Address);
  // cuda.bindings' CUdeviceptr has __int__ and no __index__.
  PyObject *Object = Handle.get();
  Ref Int(Py.PyObject_VectorcallMethod(Py.Names.__int__, &Object, 1, nullptr));
  if (!Int) {
    if (Py.PyErr_ExceptionMatches(Py.PyExc_AttributeError)) {
      Py.PyErr_Clear();
      return raiseWrongType({L->Kernel, Slot}, ExpectedHandle, Object);
    }
    return -1;
  }
  return toAddress({L->Kernel, Slot}, Int.get(), ExpectedHandle, Address);
}

/// An item of a dictionary: a new reference; null where there is none, or with
/// an exception.
static PyObject *getItem(PyObject *Dict, PyObject *Name) {
  PyObject *Item = Py.PyObject_GetItem(Dict, Name);
  if (!Item && Py.PyErr_ExceptionMatches(Py.PyExc_KeyError))
    Py.PyErr_Clear();
  return Item;
}

static int raiseInterface(const StubPythonLaunch *L, uint32_t Slot,
                          const Twine &What) {
  if (Py.PyErr_Occurred())
    return -1;
  return raise({L->Kernel, Slot}, Status::ArgumentType,
               "__cuda_array_interface__ " + What);
}

/// "<f4" and the like; bits 0 for what DLPack has no name of.
static DLDataType typeOfTypestr(StringRef Text) {
  if (Text.size() < 3)
    return {0, 0, 0};
  unsigned Bytes = 0;
  if (Text.drop_front(2).getAsInteger(10, Bytes) || Bytes > 16)
    return {0, 0, 0};
  int Code = StringSwitch<int>(Text.substr(1, 1))
                 .Case("i", 0)
                 .Case("u", 1)
                 .Case("f", 2)
                 .Case("c", 5)
                 .Case("b", 6)
                 .Default(-1);
  if (Code < 0)
    return {0, 0, 0};
  return {uint8_t(Code), uint8_t(Bytes * 8), 1};
}

/// The numbers of a tuple of ints; false where it is none, or with an
/// exception.
static bool toNumbers(PyObject *Tuple, SmallVectorImpl<int64_t> &Numbers) {
  if (!hasFlag(Tuple, Py_TPFLAGS_TUPLE_SUBCLASS))
    return false;
  for (Py_ssize_t I = 0, N = Py.PyTuple_Size(Tuple); I != N; ++I) {
    Ref Int(Py.PyNumber_Index(Py.PyTuple_GetItem(Tuple, I))); // NumPy's, say
    int64_t Number;
    if (!Int || toSigned(Int.get(), Number) != Fit::Yes)
      return false;
    Numbers.push_back(Number);
  }
  return true;
}

static int checkInterface(const StubPythonLaunch *L, uint32_t Slot,
                          PyObject *Dict) {
  Ref Typestr(getItem(Dict, Py.Names.typestr));
  const char *Text =
      Typestr ? Py.PyUnicode_AsUTF8AndSize(Typestr.get(), nullptr) : nullptr;
  if (!Text)
    return raiseInterface(L, Slot, "has no typestr");
  DLDataType Type = typeOfTypestr(Text);
  if (checkElements(L, Slot, Type))
    return -1;
  Ref Strides(getItem(Dict, Py.Names.strides));
  if (!Strides && Py.PyErr_Occurred())
    return -1;
  if (!Strides || isNone(Strides.get()))
    return 0;
  Ref Shape(getItem(Dict, Py.Names.shape));
  SmallVector<int64_t, 8> Sizes, Steps;
  if (!Shape || !toNumbers(Shape.get(), Sizes) ||
      !toNumbers(Strides.get(), Steps) || Sizes.size() != Steps.size())
    return raiseInterface(L, Slot, "has a wrong shape or strides");
  return checkContiguous(L, Slot, Sizes, Steps, std::max(Type.bits / 8, 1));
}

/// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
static int convertInterface(const PointerType &, StubPythonLaunch *L,
                            PyObject *O, uint64_t &Address, uint32_t Slot) {
  Ref Dict(Py.PyObject_GetAttr(O, Py.Names.__cuda_array_interface__));
  if (!Dict)
    return -1;
  Ref Data(getItem(Dict.get(), Py.Names.data));
  if (!Data || !hasFlag(Data.get(), Py_TPFLAGS_TUPLE_SUBCLASS) ||
      Py.PyTuple_Size(Data.get()) != 2)
    return raiseInterface(L, Slot, "has no data of (address, read-only)");
  PyObject *Number = Py.PyTuple_GetItem(Data.get(), 0);
  if (isNone(Number))
    Address = 0; // some give None for what has no elements
  else if (toAddress({L->Kernel, Slot}, Number, "its address to be an int",
                     Address))
    return -1;
  int ReadOnly = Py.PyObject_IsTrue(Py.PyTuple_GetItem(Data.get(), 1));
  if (ReadOnly < 0)
    return -1;
  if (ReadOnly && !StringRef(slotOf(L, Slot).Spelling).starts_with("*k") &&
      checks(L, CheckMemory))
    return raise({L->Kernel, Slot}, Status::ArgumentValue,
                 "it is read-only; the signature must say so, as in " +
                     ("*k" + StringRef(slotOf(L, Slot).Spelling).drop_front()));

  Ref Stream(getItem(Dict.get(), Py.Names.stream));
  if (!Stream && Py.PyErr_Occurred())
    return -1;
  uint64_t Handle = 0;
  if (Stream && !isNone(Stream.get()) &&
      toAddress({L->Kernel, Slot}, Stream.get(), "its stream to be an int",
                Handle))
    return -1;
  if (Handle && launchAfter(L, reinterpret_cast<void *>(Handle)))
    return -1;
  return checks(L, CheckStrict) ? checkInterface(L, Slot, Dict.get()) : 0;
}

//===----------------------------------------------------------------------===//
// Which of them a type has
//===----------------------------------------------------------------------===//

const DLPackExchangeAPI *launchjit::python::exchangeAPI(PyObject *Type) {
  Ref Object(Py.PyObject_GetAttr(Type, Py.Names.__dlpack_c_exchange_api__));
  if (!Object) {
    Py.PyErr_Clear(); // a metaclass may raise anything
    return nullptr;
  }
  // The first frameworks to have it gave the address as an int.
  void *Address =
      isInt(Object.get())
          ? reinterpret_cast<void *>(Py.PyLong_AsUnsignedLongLong(Object.get()))
          : Py.PyCapsule_GetPointer(Object.get(), "dlpack_exchange_api");
  if (Py.PyErr_Occurred()) {
    Py.PyErr_Clear(); // not what we know by that name
    return nullptr;
  }
  auto *API = static_cast<const DLPackExchangeAPI *>(Address);
  while (API && API->version.major > 1)
    API = API->prev_api;
  return API && API->version.major == 1 ? API : nullptr;
}

/// How objects of O's type convert; Convert is null where they do not, or with
/// an exception of O's own code. What only the object itself has, as a proxy
/// does, is not its type's.
static PointerType examine(PyObject *Type, PyObject *O, bool &OfType) {
  OfType = true;
  if (const DLPackExchangeAPI *API = exchangeAPI(Type)) {
    if (API->dltensor_from_py_object_no_sync)
      return {Type, convertTensor, API};
    if (API->managed_tensor_from_py_object_no_sync)
      return {Type, convertManagedTensor, API};
  }
  // data_ptr() is asked first: torch's tensors have both, and the interface
  // refuses those that require a gradient.
  const std::pair<PyObject *, decltype(PointerType::Convert)> Ways[] = {
      {Py.Names.data_ptr, convertDataPtr},
      {Py.Names.__cuda_array_interface__, convertInterface},
      {Py.Names.handle, convertHandle}};
  for (PyObject *Where : {Type, O}) {
    for (auto [Name, Convert] : Ways) {
      if (Ref(Py.PyObject_GetAttr(Where, Name)))
        return {Type, Convert, nullptr};
      if (Where == O && !Py.PyErr_ExceptionMatches(Py.PyExc_AttributeError))
        return {Type, nullptr, nullptr};
      Py.PyErr_Clear();
    }
    OfType = false;
  }
  return {Type, nullptr, nullptr};
}

static int convertObject(StubPythonLaunch *L, PyObject *O, uint64_t &Address,
                         uint32_t Slot) {
  PyObject *Type = typeOf(O);
  bool OfType;
  PointerType Found = examine(Type, O, OfType);
  if (!Found.Convert) {
    if (Py.PyErr_Occurred())
      return -1;
    Ref Simple(simpleValue(O)); // a c_void_p
    if (Simple && isNone(Simple.get()))
      return 0;
    return Simple && isInt(Simple.get())
               ? toAddress({L->Kernel, Slot}, Simple.get(), ExpectedPointer,
                           Address)
               : raiseWrongType({L->Kernel, Slot}, ExpectedPointer, O);
  }
  if (!OfType)
    return Found.Convert(Found, L, O, Address, Slot);
  // A kernel that is called with more types than it keeps is rare.
  const PointerType *Kept = selfOf(L).Pointers.add(Found);
  return Found.Convert(Kept ? *Kept : Found, L, O, Address, Slot);
}

int launchjit::python::convertPointer(StubPythonLaunch *L, PyObject *O,
                                      void *To, uint32_t Slot) {
  uint64_t Address = 0;
  PyObject *Type = typeOf(O);
  const PointerType *Known =
      Type == Py.PyLong_Type ? nullptr : selfOf(L).Pointers.find(Type);
  int Failed = 0;
  if (LLVM_LIKELY(Known))
    Failed = Known->Convert(*Known, L, O, Address, Slot);
  else if (isInt(O))
    Failed = toAddress({L->Kernel, Slot}, O, ExpectedPointer, Address);
  else if (!isNone(O))
    Failed = convertObject(L, O, Address, Slot);
  std::memcpy(To, &Address, sizeof Address);
  return Failed;
}

void launchjit::python::forgetPointerTypes(PythonSelf &Self) {
  Self.Pointers.clear();
}
