//===- Bound.cpp - Bound launches and batches in Python -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bound.h"
#include "Convert.h"
#include "Entry.h"
#include "Pointer.h"
#include "Raise.h"
#include "Stream.h"
#include "launchjit/Launch/Batch.h"
#include "launchjit/Launch/KernelState.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

namespace {

/// What the package's BoundLaunch begins with. All is null in one that Python
/// code made.
struct PythonBound {
  char Header[PythonSelfKernelOffset]; ///< CPython's, at most so large.
  BoundLaunch *Launch;                 ///< Retained.
  PyObject *Callable;  ///< Owned: it has the kernel and the pointer types.
  PyObject *Arguments; ///< Owned: a list, which keeps them alive.
  PyObject *Stream;    ///< Owned: the object that was given, for its handle.
  /// As it was when the arguments were converted; it knows the framework whose
  /// current stream is wanted.
  StubPythonLaunch L;
};

/// What the package's Batch begins with; likewise.
struct PythonBatch {
  char Header[PythonSelfKernelOffset];
  Batch *All;         ///< Retained.
  PyObject *Launches; ///< Owned: a tuple of PythonBound.
};

} // namespace

/// The object behind \p O; null with an exception where it was not made by us.
template <typename T> static T *madeBy(PyObject *O, const char *Maker) {
  auto *Object = reinterpret_cast<T *>(O);
  bool Made;
  if constexpr (std::is_same_v<T, PythonBound>)
    Made = Object->Launch;
  else
    Made = Object->All;
  if (LLVM_LIKELY(Made))
    return Object;
  raise({Status::InvalidArgument,
         std::string("this object is empty; make it by ") + Maker, -1, -1, 0});
  return nullptr;
}

static PythonBound *boundOf(PyObject *O) {
  return madeBy<PythonBound>(O, "Kernel.bind");
}

static const Signature &signatureOf(const PythonBound &B) {
  return B.Launch->data().Owner->signature();
}

//===----------------------------------------------------------------------===//
// BoundLaunch
//===----------------------------------------------------------------------===//

static int traverseBound(PyObject *O, visitproc Visit, void *Data) {
  auto *B = reinterpret_cast<PythonBound *>(O);
  return visitAll(O, {B->Callable, B->Arguments, B->Stream}, Visit, Data);
}

static void deallocBound(PyObject *O) {
  Py.PyObject_GC_UnTrack(O);
  auto *B = reinterpret_cast<PythonBound *>(O);
  // The kernel, whose end may wait for the device, ends with the callable.
  if (B->Launch)
    B->Launch->Release();
  PyObject *Owned[] = {B->Callable, B->Arguments, B->Stream};
  freeObject(O);
  for (PyObject *Each : Owned)
    if (Each)
      Py.Py_DecRef(Each);
}

/// Checks what is known when all arguments are converted, and waits for those
/// who still produce one. The framework's current stream is asked for at each
/// launch again; now it tells the context. 0, or -1 with an exception.
static int finishArguments(StubPythonLaunch &L, const void *Parameters) {
  if (selfOf(&L).Checks & CheckStrict && checkHints(&L, Parameters))
    return -1;
  if ((L.After || L.WorkStream) && finishStream(&L))
    return -1;
  L.After = nullptr;
  return 0;
}

/// Takes over what the conversion of arguments told.
static void setLaunch(PythonBound &B, const StubPythonLaunch &L) {
  B.L = L;
  B.Launch->setDevice(selfOf(&L).Checks & CheckDevice ? L.Device : -1,
                      L.DeviceSlot);
}

static PyObject *launchBound(PyObject *O, PyObject *) {
  PythonBound *B = boundOf(O);
  if (!B)
    return nullptr;
  void *Stream = B->L.Stream;
  if (B->L.WantsStream) {
    StubPythonLaunch L = B->L;
    if (finishStream(&L))
      return nullptr;
    Stream = L.Stream;
  }
  void *ThreadState = Py.PyEval_SaveThread();
  int Failed = B->Launch->launch(static_cast<CUstream>(Stream));
  Py.PyEval_RestoreThread(ThreadState);
  if (Failed) {
    raiseLaunchError();
    return nullptr;
  }
  return newNone();
}

static int refuseArgument(const PythonBound &B, Status Code,
                          const Twine &What) {
  const KernelState &S = *B.Launch->data().State;
  raise({Code, S.describe() + What.str(), -1, -1, 0});
  return -1;
}

/// The argument that \p O names or counts; 0, or -1 with an exception.
static int findArgument(const PythonBound &B, PyObject *O, size_t &Index) {
  ArrayRef<Parameter> Parameters = signatureOf(B).parameters();
  if (hasFlag(O, Py_TPFLAGS_UNICODE_SUBCLASS)) {
    Py_ssize_t Size;
    const char *Data = Py.PyUnicode_AsUTF8AndSize(O, &Size);
    if (!Data)
      return -1;
    StringRef Name(Data, Size);
    const auto *Found =
        find_if(Parameters, [&](const Parameter &P) { return P.Name == Name; });
    Index = Found - Parameters.begin();
    if (Found != Parameters.end() && !Name.empty())
      return 0;
    std::string Known;
    for (const Parameter &P : Parameters)
      if (!P.Name.empty())
        Known += (Known.empty() ? "" : ", ") + P.Name;
    return refuseArgument(B, Status::ArgumentValue,
                          " has no argument '" + Name + "'; it has " +
                              (Known.empty() ? "none with a name" : Known));
  }
  static constexpr Subject Which = {nullptr, 0, "index"};
  int64_t Value;
  Ref Int(asInt(Which, O));
  if (!Int)
    return -1;
  Fit F = toSigned(Int.get(), Value);
  if (F == Fit::Failed)
    return -1;
  Index = Value;
  if (F == Fit::Yes && Index < Parameters.size())
    return 0;
  return refuseArgument(B, Status::ArgumentValue,
                        " has no argument " + valueText(Int.get()) +
                            "; it has " + Twine(Parameters.size()) +
                            ", counted from 0");
}

static PyObject *setBound(PyObject *O, PyObject *const *Args, Py_ssize_t N) {
  PythonBound *B = boundOf(O);
  if (!B)
    return nullptr;
  if (N != 2) {
    raise({Status::ArgumentType,
           "set() takes 2 arguments, an index or a name and a value (" +
               std::to_string(N) + " given)",
           -1, -1, 0});
    return nullptr;
  }
  size_t Index;
  if (findArgument(*B, Args[0], Index))
    return nullptr;
  const Signature &S = signatureOf(*B);
  const ABI &A = S.abi();
  uint32_t First = 0;
  for (const Parameter &P : S.parameters().take_front(Index))
    First += countSlots(P);

  // What fails must change nothing.
  const auto *Now = reinterpret_cast<uint64_t *>(B->Launch->parameters());
  SmallVector<uint64_t, 64> Buffer(
      Now, Now + divideCeil(A.size(), sizeof(uint64_t)));
  auto *Bytes = reinterpret_cast<char *>(Buffer.data());
  StubPythonLaunch L = B->L;
  Packer P{L, A.slots(), Bytes, First};
  if (P.pack(A.parameters().slice(Index, 1), Args + 1) ||
      finishArguments(L, Bytes))
    return nullptr;
  for (const Slot &Each : A.slots().slice(First, P.NextSlot - First))
    std::memcpy(B->Launch->parameters() + Each.Offset, Bytes + Each.Offset,
                Each.Size);
  setLaunch(*B, L);
  B->Launch->changed();
  // The old one goes last: its end may run Python code.
  Py.Py_IncRef(Args[1]);
  return Py.PyList_SetItem(B->Arguments, Index, Args[1]) ? nullptr : newNone();
}

static PyObject *setBoundGrid(PyObject *O, PyObject *Grid) {
  PythonBound *B = boundOf(O);
  int64_t Value[3];
  if (!B || convertGrid(Grid, Value))
    return nullptr;
  B->Launch->setGrid({Value[0], Value[1], Value[2]});
  return newNone();
}

static PyObject *updateBound(PyObject *O, PyObject *GraphExec) {
  static constexpr Subject Graph = {nullptr, 0, "graph_exec"};
  PythonBound *B = boundOf(O);
  uint64_t Handle;
  if (!B || toAddress(Graph, GraphExec,
                      "an int or an object with raw_cuda_graph_exec()", Handle))
    return nullptr;
  void *ThreadState = Py.PyEval_SaveThread();
  Error E = B->Launch->update(reinterpret_cast<CUgraphExec>(Handle));
  Py.PyEval_RestoreThread(ThreadState);
  if (!E)
    return newNone();
  raise(takeDetail(std::move(E)));
  return nullptr;
}

static PyObject *boundArguments(PyObject *O, PyObject *) {
  PythonBound *B = boundOf(O);
  return B ? Py.PyList_AsTuple(B->Arguments) : nullptr;
}

template <typename F> static void *address(F *Function) {
  return reinterpret_cast<void *>(Function);
}

PyObject *launchjit::python::makeBoundBase(const CPython &C) {
  // CPython keeps the addresses of the methods.
  static PyMethodDef Methods[] = {
      {"launch", address(launchBound), METH_NOARGS,
       "launch($self, /)\n--\n\n"
       "Launches with what is bound now, with the checks of any launch."},
      {"set", address(setBound), METH_FASTCALL,
       "set($self, index_or_name, value, /)\n--\n\n"
       "Changes one argument, checked as in any launch: where this "
       "raises, nothing has changed."},
      {"set_grid", address(setBoundGrid), METH_O,
       "set_grid($self, grid, /)\n--\n\n"
       "Changes the grid: an int, or 1 to 3 of them."},
      {"_update", address(updateBound), METH_O, nullptr},
      {"_arguments", address(boundArguments), METH_NOARGS, nullptr},
      {}};
  PyType_Slot Slots[] = {{Py_tp_dealloc, address(deallocBound)},
                         {Py_tp_traverse, address(traverseBound)},
                         {Py_tp_methods, Methods},
                         {0, nullptr}};
  PyType_Spec Spec = {
      "launchjit.BoundBase", sizeof(PythonBound), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, Slots};
  return C.PyType_FromSpec(&Spec);
}

_object *launchjit::pythonBoundBase() { return newReference(Py.BoundBase); }

_object *launchjit::pythonBind(_object *Class, _object *Callable,
                               _object *CallArguments, _object *Arguments) {
  SmallVector<PyObject *, 64> Args;
  for (Py_ssize_t I = 0, N = Py.PyTuple_Size(CallArguments); I < N; ++I)
    Args.push_back(Py.PyTuple_GetItem(CallArguments, I));
  PyObject *Self = Py.PyCFunction_GetSelf(Callable);
  if (!Self)
    return nullptr;
  const auto &D = *static_cast<const KernelData *>(
      reinterpret_cast<PythonSelf *>(Self)->Data);
  StubPythonLaunch L;
  if (begin(Self, Args.data(), Args.size(), &L))
    return nullptr;
  const ABI &A = D.Owner->signature().abi();
  SmallVector<uint64_t, 64> Buffer(divideCeil(A.size(), sizeof(uint64_t)));
  Packer P{L, A.slots(), reinterpret_cast<char *>(Buffer.data())};
  if (P.pack(A.parameters(), Args.data() + 2) ||
      finishArguments(L, Buffer.data()))
    return nullptr;

  Ref Object(Py.PyType_GenericAlloc(Class, 0));
  if (!Object)
    return nullptr;
  auto *B = reinterpret_cast<PythonBound *>(Object.get());
  BoundLaunchRef Launch =
      BoundLaunch::createPacked(D, {L.Grid[0], L.Grid[1], L.Grid[2]},
                                static_cast<CUstream>(L.Stream), Buffer.data());
  Launch->Retain();
  B->Launch = Launch.get();
  B->Callable = Callable;
  B->Arguments = Arguments;
  B->Stream = Args[1];
  for (PyObject *Each : {Object.get(), Callable, Arguments, B->Stream})
    Py.Py_IncRef(Each);
  setLaunch(*B, L);
  return Object.get();
}

//===----------------------------------------------------------------------===//
// Batch
//===----------------------------------------------------------------------===//

static int traverseBatch(PyObject *O, visitproc Visit, void *Data) {
  return visitAll(O, {reinterpret_cast<PythonBatch *>(O)->Launches}, Visit,
                  Data);
}

static void deallocBatch(PyObject *O) {
  Py.PyObject_GC_UnTrack(O);
  auto *B = reinterpret_cast<PythonBatch *>(O);
  Batch *All = B->All;
  PyObject *Launches = B->Launches;
  freeObject(O);
  if (!All)
    return;
  // The launches' kernels live as long as the tuple does.
  void *ThreadState = Py.PyEval_SaveThread();
  All->Release();
  Py.PyEval_RestoreThread(ThreadState);
  Py.Py_DecRef(Launches);
}

/// The stream in a call of launch(stream=None); null with an exception.
static PyObject *streamArgument(PyObject *const *Args, Py_ssize_t N,
                                PyObject *Names) {
  Py_ssize_t Named = Names ? Py.PyTuple_Size(Names) : 0;
  if (N + Named == 0)
    return Py._Py_NoneStruct;
  bool IsStream = N + Named == 1;
  if (IsStream && Named) {
    Py_ssize_t Size;
    const char *Name =
        Py.PyUnicode_AsUTF8AndSize(Py.PyTuple_GetItem(Names, 0), &Size);
    if (!Name)
      return nullptr;
    IsStream = StringRef(Name, Size) == "stream";
  }
  if (IsStream)
    return Args[0];
  raise({Status::ArgumentType, "launch() takes a stream and nothing else", -1,
         -1, 0});
  return nullptr;
}

static PyObject *launchBatch(PyObject *O, PyObject *const *Args, Py_ssize_t N,
                             PyObject *Names) {
  auto *B = madeBy<PythonBatch>(O, "Batch([...])");
  PyObject *Stream = B ? streamArgument(Args, N, Names) : nullptr;
  if (!Stream)
    return nullptr;
  if (Py.PyTuple_Size(B->Launches) == 0)
    return newNone();
  // The first launch says which framework's current stream is meant.
  StubPythonLaunch L =
      reinterpret_cast<PythonBound *>(Py.PyTuple_GetItem(B->Launches, 0))->L;
  if (beginStream(&L, Stream) || (L.WantsStream && finishStream(&L)))
    return nullptr;
  void *ThreadState = Py.PyEval_SaveThread();
  Error E = B->All->launch(static_cast<CUstream>(L.Stream));
  Py.PyEval_RestoreThread(ThreadState);
  if (!E)
    return newNone();
  raise(takeDetail(std::move(E)));
  return nullptr;
}

PyObject *launchjit::python::makeBatchBase(const CPython &C) {
  static PyMethodDef Methods[] = {
      {"launch", address(launchBatch), METH_FASTCALL | METH_KEYWORDS,
       "launch($self, /, stream=None)\n--\n\n"
       "Launches all of them in order, with what is bound now. The "
       "stream is as in any launch; those of the launches do not "
       "count."},
      {}};
  PyType_Slot Slots[] = {{Py_tp_dealloc, address(deallocBatch)},
                         {Py_tp_traverse, address(traverseBatch)},
                         {Py_tp_methods, Methods},
                         {0, nullptr}};
  PyType_Spec Spec = {
      "launchjit.BatchBase", sizeof(PythonBatch), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, Slots};
  return C.PyType_FromSpec(&Spec);
}

_object *launchjit::pythonBatchBase() { return newReference(Py.BatchBase); }

_object *launchjit::pythonBatch(_object *Class, _object *Launches) {
  std::vector<BoundLaunchRef> All;
  for (Py_ssize_t I = 0, N = Py.PyTuple_Size(Launches); I < N; ++I) {
    PythonBound *B = boundOf(Py.PyTuple_GetItem(Launches, I));
    if (!B)
      return nullptr;
    All.emplace_back(B->Launch);
  }
  Ref Object(Py.PyType_GenericAlloc(Class, 0));
  if (!Object)
    return nullptr;
  auto *B = reinterpret_cast<PythonBatch *>(Object.get());
  BatchRef Made = Batch::create(All);
  Made->Retain();
  B->All = Made.get();
  B->Launches = Launches;
  for (PyObject *Each : {Object.get(), Launches})
    Py.Py_IncRef(Each);
  return Object.get();
}
