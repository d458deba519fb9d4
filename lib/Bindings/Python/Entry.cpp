//===- Entry.cpp - What python entries call, and the interpreted one ------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Entry.h"
#include "Convert.h"
#include "Pointer.h"
#include "Raise.h"
#include "Self.h"
#include "Stream.h"
#include "launchjit/Launch/Kernel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

static const Kernel &kernelOf(const StubKernel *K) {
  return *static_cast<const KernelData *>(K)->Owner;
}

static const StubKernel *stubKernelOf(PyObject *Self) {
  return *reinterpret_cast<const StubKernel **>(reinterpret_cast<char *>(Self) +
                                                PythonSelfKernelOffset);
}

/// Says of \p N arguments, grid and stream included, what CPython would of a
/// function with the kernel's parameters, as Kernel._bind does of named ones.
static int raiseCount(const StubKernel *K, size_t N) {
  const Kernel &Owner = kernelOf(K);
  SmallVector<std::string, 16> Names = {"'grid'", "'stream'"};
  for (auto [I, P] : enumerate(Owner.signature().parameters()))
    Names.push_back(P.Name.empty()
                        ? ("number " + Twine(I) + " (" + P.Spelling + ")").str()
                        : "'" + P.Name + "'");
  std::string Text;
  raw_string_ostream OS(Text);
  OS << (Owner.name().empty() ? "kernel" : Owner.name()) << "() ";
  if (N > Names.size()) {
    size_t Wanted = Names.size() - 2, Given = N - 2;
    OS << "takes " << Wanted << " positional argument"
       << (Wanted == 1 ? "" : "s") << " but " << Given
       << (Given == 1 ? " was" : " were") << " given";
  } else {
    auto Missing = ArrayRef(Names).drop_front(N);
    OS << "missing " << Missing.size() << " required positional argument"
       << (Missing.size() == 1 ? ": " : "s: ");
    for (auto [I, Name] : enumerate(Missing))
      OS << (I == 0                    ? ""
             : I + 1 != Missing.size() ? ", "
             : I == 1                  ? " and "
                                       : ", and ")
         << Name;
  }
  raise({Status::ArgumentType, std::move(Text), -1, -1, 0});
  return -1;
}

static int convertDimension(const Subject &S, PyObject *O, int64_t &Value) {
  if (LLVM_LIKELY(typeOf(O) == Py.PyLong_Type) &&
      toSigned(O, Value) == Fit::Yes)
    return 0;
  Ref Int(asInt(S, O));
  if (!Int)
    return -1;
  Fit F = toSigned(Int.get(), Value);
  if (F == Fit::No)
    raise(S, Status::ArgumentRange,
          valueText(Int.get()) + " does not fit into 64 bits");
  return F == Fit::Yes ? 0 : -1;
}

static constexpr char ExpectedGrid[] = "an int or a tuple of 1 to 3 ints";
static constexpr Subject WholeGrid = {nullptr, 0, "grid"};

static int convertDimensions(PyObject *Tuple, int64_t (&Grid)[3]) {
  static constexpr Subject Each[] = {{nullptr, 0, "grid[0]"},
                                     {nullptr, 0, "grid[1]"},
                                     {nullptr, 0, "grid[2]"}};
  Py_ssize_t Size = Py.PyTuple_Size(Tuple);
  if (Size < 1 || Size > 3)
    return raise(WholeGrid, Status::ArgumentType,
                 Twine("expected ") + ExpectedGrid + ", got " + Twine(Size));
  for (Py_ssize_t I = 0; I < Size; ++I)
    if (convertDimension(Each[I], Py.PyTuple_GetItem(Tuple, I), Grid[I]))
      return -1;
  return 0;
}

int launchjit::python::convertGrid(PyObject *O, int64_t (&Grid)[3]) {
  Grid[0] = Grid[1] = Grid[2] = 1;
  if (LLVM_LIKELY(typeOf(O) == Py.PyTuple_Type))
    return convertDimensions(O, Grid);
  // A list can change while its items are converted.
  bool IsList = hasFlag(O, Py_TPFLAGS_LIST_SUBCLASS);
  Ref Copy(IsList ? Py.PyList_AsTuple(O) : nullptr);
  if (IsList && !Copy)
    return -1;
  PyObject *Tuple = IsList ? Copy.get() : O;
  if (!IsList && !hasFlag(O, Py_TPFLAGS_TUPLE_SUBCLASS)) {
    Ref Int(isInt(O) ? nullptr : Py.PyNumber_Index(O));
    if (!isInt(O) && !Int)
      return raiseWrongType(WholeGrid, ExpectedGrid, O);
    return convertDimension(WholeGrid, Int ? Int.get() : O, Grid[0]);
  }
  return convertDimensions(Tuple, Grid);
}

int launchjit::python::begin(PyObject *Object, PyObject *const *Args,
                             ptrdiff_t N, StubPythonLaunch *L) {
  const auto *Self = reinterpret_cast<PythonSelf *>(Object);
  L->Self = Object;
  L->Kernel = Self->Data;
  L->WorkStream = nullptr;
  L->After = nullptr;
  L->Device = -1;
  if (N < 2 || size_t(N) - 2 != Self->NumArguments)
    return raiseCount(L->Kernel, N);
  return convertGrid(Args[0], L->Grid) || beginStream(L, Args[1]) ? -1 : 0;
}

size_t launchjit::python::countSlots(const Parameter &P) {
  if (P.Type.Kind == ParamKind::Constexpr)
    return 0;
  if (P.Type.Kind != ParamKind::Tuple)
    return 1;
  size_t Count = 0;
  for (const Parameter &Element : P.Elements)
    Count += countSlots(Element);
  return Count;
}

/// Whether \p P, whose first slot is \p First, is or has a tuple of \p Count
/// elements that begins at \p Slot.
static bool hasTuple(const Parameter &P, size_t First, uint32_t Slot,
                     uint32_t Count) {
  if (P.Type.Kind != ParamKind::Tuple)
    return false;
  if (First == Slot && P.Elements.size() == Count)
    return true;
  for (const Parameter &Element : P.Elements) {
    if (hasTuple(Element, First, Slot, Count))
      return true;
    First += countSlots(Element);
  }
  return false;
}

/// "argument 0 ('pair', (i32, *fp16))": the argument with such a tuple.
static std::string describeTuple(const StubKernel *K, uint32_t Slot,
                                 uint32_t Count) {
  size_t First = 0;
  for (const Parameter &P : kernelOf(K).signature().parameters()) {
    if (hasTuple(P, First, Slot, Count)) {
      std::string Name = P.Name.empty() ? "" : "'" + P.Name + "', ";
      return ("argument " + Twine(First) + " (" + Name + P.Spelling + ")")
          .str();
    }
    First += countSlots(P);
  }
  return "argument " + std::to_string(Slot);
}

int launchjit::python::unpack(const StubPythonLaunch *L, PyObject *Tuple,
                              uint32_t Count, uint32_t Slot, PyObject **Items) {
  const StubKernel *K = L->Kernel;
  bool IsTuple = hasFlag(Tuple, Py_TPFLAGS_TUPLE_SUBCLASS);
  Py_ssize_t Size = IsTuple ? Py.PyTuple_Size(Tuple) : 0;
  if (!IsTuple || Size != Py_ssize_t(Count)) {
    std::string Name = describeTuple(K, Slot, Count);
    Subject S = {K, Slot, Name.c_str()};
    std::string Expected = "a tuple of " + std::to_string(Count);
    return IsTuple
               ? raise(S, Status::ArgumentType,
                       "expected " + Expected + ", got one of " + Twine(Size))
               : raiseWrongType(S, Expected, Tuple);
  }
  for (uint32_t I = 0; I < Count; ++I)
    Items[I] = Py.PyTuple_GetItem(Tuple, I);
  return 0;
}

PyObject *launchjit::python::launch(StubPythonLaunch *L, void *Buffer) {
  if (L->WantsStream || L->After)
    if (finishStream(L))
      return nullptr;
  unsigned Checks = selfOf(L).Checks;
  if (LLVM_UNLIKELY(Checks & CheckStrict) && checkHints(L, Buffer))
    return nullptr;
  int Device = Checks & CheckDevice ? L->Device : -1;
  void *ThreadState = Py.PyEval_SaveThread();
  int Failed = launchFromDevice(L->Kernel, L->Grid[0], L->Grid[1], L->Grid[2],
                                L->Stream, Buffer, Device, L->DeviceSlot);
  Py.PyEval_RestoreThread(ThreadState);
  if (Failed) {
    raiseLaunchError();
    return nullptr;
  }
  return newNone();
}

int Packer::pack(ArrayRef<ABIType> Types, PyObject *const *Values) {
  for (auto [I, Type] : enumerate(Types)) {
    if (Type.Kind == ParamKind::Constexpr)
      continue;
    if (Type.Kind == ParamKind::Tuple) {
      SmallVector<PyObject *, 8> Items(Type.Elements.size());
      if (L.Kernel->Table->PythonUnpack(&L, Values[I], Items.size(), NextSlot,
                                        Items.data()) ||
          pack(Type.Elements, Items.data()))
        return -1;
      continue;
    }
    auto *Convert =
        L.Kernel->Table->PythonConvert[static_cast<unsigned>(Type.Kind)];
    if (Convert(&L, Values[I], Buffer + Slots[NextSlot].Offset, NextSlot))
      return -1;
    ++NextSlot;
  }
  return 0;
}

PyObject *launchjit::python::interpret(const ABI &A, PyObject *Self,
                                       PyObject *const *Args, Py_ssize_t N) {
  const StubKernel *K = stubKernelOf(Self);
  StubPythonLaunch L;
  if (K->Table->PythonBegin(Self, Args, N, &L))
    return nullptr;
  // The hidden parameters are null, and larger buffers are on the heap.
  SmallVector<uint64_t, MaxParameterBytes / sizeof(uint64_t)> Buffer(
      llvm::divideCeil(A.size(), sizeof(uint64_t)));
  Packer P{L, A.slots(), reinterpret_cast<char *>(Buffer.data())};
  if (P.pack(A.parameters(), Args + 2))
    return nullptr;
  return K->Table->PythonLaunch(&L, Buffer.data());
}

PyObject *launchjit::python::interpretedEntry(PyObject *Self,
                                              PyObject *const *Args,
                                              Py_ssize_t N) {
  return interpret(kernelOf(stubKernelOf(Self)).signature().abi(), Self, Args,
                   N);
}
