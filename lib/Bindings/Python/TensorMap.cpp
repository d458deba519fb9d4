//===- TensorMap.cpp - Triton's tensor maps, as Python objects ------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Triton makes one for each tensor descriptor at each launch, so they are made
// here. The sizes come in Python's order, and go to the driver in the reverse
// one.
//
//===----------------------------------------------------------------------===//

#include "TensorMap.h"
#include "Convert.h"
#include "Triton.h"
#include "launchjit/Driver/Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

namespace {

/// CPython's allocator aligns to 16 bytes only.
struct TensorMap {
  char Header[PythonSelfKernelOffset]; ///< CPython's, at most so large.
  char Storage[2 * sizeof(CUtensorMap)];
};

constexpr unsigned MaxRank = 5;

/// What both functions take.
struct Request {
  int Minor; ///< Of Triton 3.x.
  void *Address;
  int Swizzle, ElementSize, Type, Padding;
  SmallVector<int64_t, MaxRank> Block, Shape, Strides; ///< In bytes.

  unsigned rank() const { return Shape.size(); }
  CUtensorMapFloatOOBfill fill() const {
    return Padding == 1 ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                        : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  }
};

} // namespace

CUtensorMap *launchjit::python::tensorMapOf(PyObject *O) {
  auto *Storage = reinterpret_cast<TensorMap *>(O)->Storage;
  return reinterpret_cast<CUtensorMap *>(
      alignTo(reinterpret_cast<uintptr_t>(Storage), sizeof(CUtensorMap)));
}

static void dealloc(PyObject *O) { freeObject(O); }

PyObject *launchjit::python::makeTensorMapType(const CPython &C) {
  PyType_Slot Slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
                         {0, nullptr}};
  PyType_Spec Spec = {"triton.backends.nvidia.PyCUtensorMap", sizeof(TensorMap),
                      0, Py_TPFLAGS_DEFAULT, Slots};
  return C.PyType_FromSpec(&Spec);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The ints of a sequence, reversed and without the \p NumLeft last ones; it
/// has at most MaxRank of them, or as many as \p Wanted says. 0, or -1 with an
/// exception.
static int toReversed(PyObject *O, const char *What,
                      SmallVectorImpl<int64_t> &Values,
                      std::optional<size_t> Wanted = {},
                      const char *Mismatch = "Rank mismatch",
                      unsigned NumLeft = 0) {
  Ref Tuple(Py.PySequence_Tuple(O));
  if (!Tuple)
    return -1;
  size_t Size = Py.PyTuple_Size(Tuple.get());
  if (Wanted && Size != *Wanted)
    return raisePlain(Py.PyExc_RuntimeError,
                      Twine(Mismatch) + ": " + What + " has " + Twine(Size) +
                          " dimensions, not " + Twine(*Wanted));
  if (Size > MaxRank)
    return raisePlain(Py.PyExc_RuntimeError,
                      Twine(What) + " has " + Twine(Size) +
                          " dimensions; a tensor map has 1 to 5");
  for (size_t I = Size - std::min<size_t>(NumLeft, Size); I--;) {
    PyObject *Item = Py.PyTuple_GetItem(Tuple.get(), I);
    int64_t Value;
    if (!isInt(Item))
      return raisePlain(Py.PyExc_TypeError,
                        Twine(What) + " must be an int, not " + typeName(Item));
    Fit F = toSigned(Item, Value);
    if (F == Fit::No)
      return raisePlain(Py.PyExc_OverflowError,
                        Twine(What) + " does not fit into 64 bits");
    if (F != Fit::Yes)
      return -1;
    Values.push_back(Value);
  }
  return 0;
}

/// The version, where to put the map (which is left alone), address, swizzle,
/// element size, element type, block, shape, strides, padding. The sequences
/// come after all numbers.
static int parse(PyObject *const *Args, Request &R) {
  if (toInt(Args[0], R.Minor))
    return -1;
  Args += 2;
  if (!isInt(Args[0]))
    return raisePlain(Py.PyExc_TypeError,
                      "the address must be int, not " + typeName(Args[0]));
  R.Address =
      reinterpret_cast<void *>(Py.PyLong_AsUnsignedLongLongMask(Args[0]));
  return toInt(Args[1], R.Swizzle) || toInt(Args[2], R.ElementSize) ||
                 toInt(Args[3], R.Type) || toInt(Args[7], R.Padding)
             ? -1
             : 0;
}

/// The strides, in bytes. The innermost one is the element's, and neither
/// looked at nor the driver's to know.
static int parseStrides(PyObject *O, Request &R) {
  if (toReversed(O, "strides", R.Strides, R.rank(), "Rank mismatch", 1))
    return -1;
  for (int64_t &Stride : R.Strides)
    if (MulOverflow(Stride, int64_t(R.ElementSize), Stride))
      Stride = INT64_MAX; // which the driver refuses
  return 0;
}

/// What does not fit becomes a number that the driver refuses.
template <typename T>
static SmallVector<T, MaxRank> narrow(ArrayRef<int64_t> Values) {
  SmallVector<T, MaxRank> Narrow;
  for (int64_t Value : Values)
    Narrow.push_back(
        int64_t(T(Value)) == Value ? T(Value) : std::numeric_limits<T>::max());
  return Narrow;
}

//===----------------------------------------------------------------------===//
// Making maps
//===----------------------------------------------------------------------===//

static void list(raw_ostream &OS, StringRef Name, ArrayRef<int64_t> Reversed) {
  OS << "\n" << Name << "=[";
  ListSeparator Comma;
  for (int64_t Value : llvm::reverse(Reversed))
    OS << Comma << Value;
  OS << "]";
}

/// Calls \p Encode with the map to fill, and gives what the function gives.
static PyObject *
make(PyObject *To, const char *Kind, const Request &R,
     function_ref<CUresult(const Driver &, CUtensorMap *)> Encode) {
  const Driver *Drv = openDriver();
  if (!Drv)
    return nullptr;
  const bool IsNew = isNone(To);
  uint64_t Address = 0;
  if (!IsNew && toAddress({nullptr, 0, "the descriptor's address"}, To,
                          "an int or None", Address))
    return nullptr;
  PyObject *Object =
      IsNew ? Py.PyType_GenericAlloc(Py.TensorMapType, 0) : newNone();
  if (!Object)
    return nullptr;
  CUresult Result =
      Encode(*Drv, IsNew ? tensorMapOf(Object)
                         : reinterpret_cast<CUtensorMap *>(Address));
  if (Result == CUDA_SUCCESS)
    return Object;
  Py.Py_DecRef(Object);
  std::string Detail;
  raw_string_ostream OS(Detail);
  OS << "elemType=" << R.Type << " rank=" << R.rank() << " global_address=0x"
     << utohexstr(reinterpret_cast<uintptr_t>(R.Address))
     << " elemSize=" << R.ElementSize << " swizzle=" << R.Swizzle
     << " padding=" << R.Padding;
  list(OS, "shape", R.Shape);
  list(OS, "strides", R.Strides);
  list(OS, "blockSize", R.Block);
  raiseTriton(Result,
              R.Minor >= 6
                  ? std::string("Failed to create ") + Kind + " descriptor"
                  : "",
              Detail);
  return nullptr;
}

/// Drivers up to 13.1 want bit 85 clear for less than 128 KiB.
static void clearBit(const Driver &Drv, const Request &R, CUtensorMap *Map) {
  if (Drv.version() > 13010)
    return;
  uint64_t Last = 0; // the offset of the last element
  for (unsigned I = 0; I != R.rank(); ++I)
    Last = SaturatingMultiplyAdd<uint64_t>(
        uint64_t(R.Shape[I]) - 1, I ? R.Strides[I - 1] : R.ElementSize, Last);
  if (Last < 128 * 1024 - 1)
    Map->opaque[1] &= ~(uint64_t(1) << 21);
}

static PyObject *fillTiled(PyObject *, PyObject *const *Args, Py_ssize_t N) {
  Request R;
  if (N != 10) {
    raisePlain(Py.PyExc_TypeError, "function takes exactly 8 arguments (" +
                                       Twine(N - 2) + " given)");
    return nullptr;
  }
  if (parse(Args, R) || toReversed(Args[6], "block size", R.Block) ||
      toReversed(Args[7], "shape", R.Shape, R.Block.size()) ||
      parseStrides(Args[8], R))
    return nullptr;
  return make(Args[1], "tensor map", R,
              [&](const Driver &Drv, CUtensorMap *Map) {
                if (!Drv.cuTensorMapEncodeTiled)
                  return CUDA_ERROR_NOT_SUPPORTED;
                static constexpr cuuint32_t Ones[MaxRank] = {1, 1, 1, 1, 1};
                CUresult Result = Drv.cuTensorMapEncodeTiled(
                    Map, static_cast<CUtensorMapDataType>(R.Type), R.rank(),
                    R.Address, narrow<cuuint64_t>(R.Shape).data(),
                    narrow<cuuint64_t>(R.Strides).data(),
                    narrow<cuuint32_t>(R.Block).data(), Ones,
                    CU_TENSOR_MAP_INTERLEAVE_NONE,
                    static_cast<CUtensorMapSwizzle>(R.Swizzle),
                    CU_TENSOR_MAP_L2_PROMOTION_L2_128B, R.fill());
                if (Result == CUDA_SUCCESS && R.Minor >= 7)
                  clearBit(Drv, R, Map);
                return Result;
              });
}

/// Triton 3.7 gives channels and pixels; later they are the block's sizes.
static PyObject *fillIm2col(PyObject *, PyObject *const *Args, Py_ssize_t N) {
  const bool Given = N == 15;
  Request R;
  if (N != 13 && !Given) {
    raisePlain(Py.PyExc_TypeError, "function takes exactly 11 arguments (" +
                                       Twine(N - 2) + " given)");
    return nullptr;
  }
  SmallVector<int64_t, MaxRank> Lower, Upper, Steps;
  int Channels = 0, Pixels = 0;
  if (parse(Args, R) ||
      (Given && (toInt(Args[12], Channels) || toInt(Args[13], Pixels))) ||
      toReversed(Args[7], "shape", R.Shape) ||
      toReversed(Args[6], "block size", R.Block,
                 Given ? std::nullopt : std::optional<size_t>(2),
                 "blockSize must have exactly 2 dimensions for im2col") ||
      parseStrides(Args[8], R) ||
      toReversed(Args[10], "pixelBoxLower", Lower) ||
      toReversed(Args[11], "pixelBoxUpper", Upper, Lower.size(),
                 "Pixel box corner rank mismatch") ||
      toReversed(Args[N - 1], "elementStrides", Steps, R.rank(),
                 "elementStrides length must match tensor rank"))
    return nullptr;
  if (!Given) {
    const auto Block = narrow<int>(R.Block);
    Channels = Block[0];
    Pixels = Block[1];
  }
  // The driver reads a corner for each dimension between the outermost and the
  // innermost one.
  Lower.resize(MaxRank);
  Upper.resize(MaxRank);
  return make(Args[1], "im2col tensor map", R,
              [&](const Driver &Drv, CUtensorMap *Map) {
                if (!Drv.cuTensorMapEncodeIm2col)
                  return CUDA_ERROR_NOT_SUPPORTED;
                return Drv.cuTensorMapEncodeIm2col(
                    Map, static_cast<CUtensorMapDataType>(R.Type), R.rank(),
                    R.Address, narrow<cuuint64_t>(R.Shape).data(),
                    narrow<cuuint64_t>(R.Strides).data(),
                    narrow<int>(Lower).data(), narrow<int>(Upper).data(),
                    Channels, Pixels, narrow<cuuint32_t>(Steps).data(),
                    CU_TENSOR_MAP_INTERLEAVE_NONE,
                    static_cast<CUtensorMapSwizzle>(R.Swizzle),
                    CU_TENSOR_MAP_L2_PROMOTION_L2_128B, R.fill());
              });
}

_object *launchjit::pythonTritonTensorMaps() {
  // CPython keeps the pointers.
  static PyMethodDef Methods[] = {
      {"fill_tma_descriptor_tiled", reinterpret_cast<void *>(fillTiled),
       METH_FASTCALL, nullptr},
      {"fill_tma_descriptor_im2col", reinterpret_cast<void *>(fillIm2col),
       METH_FASTCALL, nullptr}};
  if (!Py.TensorMapType)
    return nullptr;
  Ref Tiled(Py.PyCFunction_NewEx(&Methods[0], nullptr, nullptr));
  Ref Im2col(Py.PyCFunction_NewEx(&Methods[1], nullptr, nullptr));
  return Tiled && Im2col ? Py.Py_BuildValue("(OOO)", Py.TensorMapType,
                                            Tiled.get(), Im2col.get())
                         : nullptr;
}
