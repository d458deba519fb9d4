//===- TritonLaunch.cpp - Triton's launchers, as Python callables ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two types. TritonLaunch is called as the C function `launch` of Triton 3.5
// and 3.6 is:
//   (gridX, gridY, gridZ, stream, function, cooperative, pdl, global_scratch,
//    profile_scratch, kernel_metadata, launch_metadata, enter_hook, exit_hook,
//    *arguments), without profile_scratch in 3.4.
// TritonLauncherBase is what the package's launcher class is made of; called as
// Triton calls a launcher,
//   (gridX, gridY, gridZ, stream, function, kernel_metadata, launch_metadata,
//    enter_hook, exit_hook, *arguments),
// it launches without a Python frame where it has a TritonLaunch for that and
// `_direct` is true, and else calls its method `_call`.
//
//===----------------------------------------------------------------------===//

#include "Entry.h"
#include "Triton.h"
#include "launchjit/Launch/KernelState.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

namespace {

struct LaunchObject {
  char Header[PythonSelfKernelOffset]; ///< CPython's, at most so large.
  vectorcallfunc Call;
  TritonLaunch *Launch; ///< Owned.
};

struct LauncherBase {
  char Header[PythonSelfKernelOffset];
  vectorcallfunc Call;
  /// Python's `_native`: a LaunchObject, or null. It is set once: a call in
  /// another thread may have read it and not have its reference yet.
  PyObject *Native;
  bool IsDirect; ///< Python's `_direct`: whether calls go to Native.
};

} // namespace

TritonLaunch::~TritonLaunch() noexcept(false) {
  const TritonPlan *P = Plans;
  Pointers.clear();
  while (P) {
    Py.Py_DecRef(P->Function);
    if (P->Metadata)
      Py.Py_DecRef(P->Metadata);
    delete std::exchange(P, P->Next);
  }
  for (PyObject *Each : {Devices, HookChain})
    if (Each)
      Py.Py_DecRef(Each);
}

const Driver *launchjit::python::openDriver() {
  auto Drv = Driver::process();
  if (Drv)
    return &*Drv;
  raise(takeDetail(Drv.takeError()));
  return nullptr;
}

int launchjit::python::raiseTriton(CUresult Code, const std::string &What,
                                   const Twine &Detail) {
  const char *Text = nullptr;
  if (auto Drv = Driver::process()) {
    if (Drv->cuGetErrorString)
      Drv->cuGetErrorString(Code, &Text);
  } else {
    consumeError(Drv.takeError());
  }
  std::string Message = "Triton Error [CUDA]: ", More = Detail.str();
  if (!What.empty())
    Message += What + ": ";
  Message += Text ? StringRef(Text) : Driver::errorName(Code);
  if (!More.empty())
    Message += "\n" + More;
  return raisePlain(Py.PyExc_RuntimeError, Message);
}

void launchjit::python::raiseFailure(const ErrorDetail &D) {
  if (D.HasException)
    return raiseLaunchError();
  raiseTriton(D.Code == Status::Cuda ? static_cast<CUresult>(D.Cuda)
                                     : CUDA_ERROR_INVALID_VALUE,
              "", D.Message);
}

//===----------------------------------------------------------------------===//
// What comes before the kernel's own arguments
//===----------------------------------------------------------------------===//

int launchjit::python::toInt(PyObject *O, int &Value) {
  int64_t Wide = 0;
  if (LLVM_UNLIKELY(typeOf(O) != Py.PyLong_Type || !peekInt(Py, O, Wide))) {
    Ref Int(Py.PyNumber_Index(O));
    if (!Int)
      return -1;
    int Overflow;
    Wide = Py.PyLong_AsLongLongAndOverflow(Int.get(), &Overflow);
    if (Overflow)
      Wide = Overflow > 0 ? INT64_MAX : INT64_MIN;
  }
  if (Wide > INT32_MAX)
    return raisePlain(Py.PyExc_OverflowError,
                      "signed integer is greater than maximum");
  if (Wide < INT32_MIN)
    return raisePlain(Py.PyExc_OverflowError,
                      "signed integer is less than minimum");
  Value = static_cast<int>(Wide);
  return 0;
}

static int parseLaunch(TritonCall &C, PyObject *const *Args) {
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    int Size = 0;
    if (toInt(Args[Axis], Size))
      return -1;
    C.Grid[Axis] = Size;
  }
  // Like PyArg_ParseTuple's `K`: the low 64 bits of an int.
  C.Function = Args[4];
  for (PyObject *Handle : {Args[3], Args[4]})
    if (!isInt(Handle))
      return raisePlain(Py.PyExc_TypeError,
                        "stream and function must be int, not " +
                            typeName(Handle));
  C.Stream =
      reinterpret_cast<void *>(Py.PyLong_AsUnsignedLongLongMask(Args[3]));
  return 0;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

/// Calls a hook, unless nobody listens; 0, or -1 with its exception.
static int callHook(const TritonCall &C, PyObject *Hook) {
  if (isNone(Hook))
    return 0;
  if (C.Launch.HookChain && typeOf(Hook) == C.Launch.HookChain) {
    Ref Calls(Py.PyObject_GetAttr(Hook, Py.Names.calls));
    if (!Calls)
      return -1;
    int Any = Py.PyObject_IsTrue(Calls.get());
    if (Any <= 0)
      return Any;
  }
  return Ref(Py.PyObject_CallFunctionObjArgs(Hook, C.LaunchMetadata, nullptr))
             ? 0
             : -1;
}

/// What 3.6 and earlier do between the hook and the launch.
static int convertWaiting(TritonCall &C) {
  for (const TritonCall::Waiting &W : C.Pointers) {
    uint64_t Address;
    if (convertTritonPointer(C, W.Object, Address,
                             C.Launch.ArgumentIndex[W.Slot]))
      return -1;
    std::memcpy(W.To, &Address, sizeof Address);
  }
  for (const TritonCall::Waiting &W : C.Maps)
    if (convertTritonMap(C, W.Object, W.To))
      return -1;
  return C.HalfOverflow < 0 ? 0 : raiseHalfOverflow(C, C.HalfOverflow);
}

static int convertScratch(TritonCall &C, void *Buffer) {
  // The stub made the hidden parameters null.
  for (auto [I, Where] : enumerate(C.Launch.Sig.abi().scratchSlots())) {
    uint64_t Address;
    if (!C.Scratch[I])
      continue;
    if (convertTritonPointer(C, C.Scratch[I], Address, -1))
      return -1;
    std::memcpy(static_cast<char *>(Buffer) + Where.Offset, &Address,
                sizeof Address);
  }
  return 0;
}

/// StubTable::PythonLaunch.
static PyObject *launchTriton(StubPythonLaunch *L, void *Buffer) {
  TritonCall &C = tritonCall(L);
  if (C.Launch.isEarly()) {
    C.Plan = knownPlan(C);
    if ((!C.Plan && parseMetadata(C)) || callHook(C, C.Enter) ||
        convertScratch(C, Buffer) || convertWaiting(C))
      return nullptr;
  } else if (convertScratch(C, Buffer)) {
    return nullptr;
  }
  if (all_of(C.Grid, [](int64_t Size) { return Size > 0; })) {
    std::unique_ptr<TritonPlan> Own;
    const TritonPlan *P = C.Plan ? C.Plan : findPlan(C, Own);
    if (!P)
      return nullptr;
    void *ThreadState = Py.PyEval_SaveThread();
    int Failed =
        launchFromDevice(&P->TheKernel->data(), C.Grid[0] * P->Blocks[0],
                         C.Grid[1] * P->Blocks[1], C.Grid[2] * P->Blocks[2],
                         C.Stream, Buffer, -1, 0);
    Py.PyEval_RestoreThread(ThreadState);
    if (Failed) {
      raiseFailure(*lastLaunchError());
      return nullptr;
    }
  }
  return callHook(C, C.Exit) ? nullptr : newNone();
}

static StubTable TritonTable = {nullptr, nullptr, nullptr, nullptr};

void launchjit::python::fillTritonTable() {
  fillTritonConversions(TritonTable);
  TritonTable.PythonLaunch = launchTriton;
}

/// The rest of a call: \p Args are those behind the hooks.
static PyObject *callStub(TritonCall &C, PyObject *const *Args, Py_ssize_t N) {
  TritonLaunch &L = C.Launch;
  const Py_ssize_t Wanted = L.Sig.abi().parameters().size();
  if (N < Wanted || (N > Wanted && L.isEarly())) {
    raisePlain(Py.PyExc_TypeError, L.Name + " takes " + Twine(Wanted) +
                                       " arguments (" + Twine(N) + " given)");
    return nullptr;
  }
  if (!L.isEarly()) {
    C.Plan = knownPlan(C);
    if ((!C.Plan && parseMetadata(C)) || callHook(C, C.Enter) ||
        (L.HasTuples && takeTritonTuples(C, L.Sig.abi().parameters(), Args)))
      return nullptr;
  }
  // The stub takes the first two for a grid and a stream, and leaves them
  // alone.
  auto *Self = reinterpret_cast<PyObject *>(static_cast<TritonSelf *>(&C));
  if (L.Entry->origin() == Origin::Interpreted)
    return interpret(L.Sig.abi(), Self, Args - 2, Wanted + 2);
  return reinterpret_cast<PyCFunctionFast>(L.Entry->entry())(Self, Args - 2,
                                                             Wanted + 2);
}

/// A TritonLaunch as a function.
static PyObject *callLaunch(PyObject *O, PyObject *const *Args,
                            size_t NumAndFlag, PyObject *Names) {
  TritonLaunch &L = *reinterpret_cast<LaunchObject *>(O)->Launch;
  Py_ssize_t N = PyVectorcall_NARGS(NumAndFlag);
  const Py_ssize_t NumScratch = L.Sig.abi().numScratch();
  const Py_ssize_t Leading = 11 + NumScratch;
  if ((Names && Py.PyTuple_Size(Names)) || N < Leading) {
    raisePlain(Py.PyExc_TypeError,
               L.Name + ": launch takes at least " + Twine(Leading) +
                   " positional arguments, and none by name");
    return nullptr;
  }
  TritonCall C(L);
  if (parseLaunch(C, Args))
    return nullptr;
  int Cooperative = Py.PyObject_IsTrue(Args[5]);
  int PDL = Cooperative < 0 ? -1 : Py.PyObject_IsTrue(Args[6]);
  if (PDL < 0)
    return nullptr;
  C.Cooperative = Cooperative;
  C.PDL = PDL;
  std::copy_n(Args + 7, NumScratch, C.Scratch);
  PyObject *const *Rest = Args + 7 + NumScratch;
  C.Metadata = Rest[0];
  C.LaunchMetadata = Rest[1];
  C.Enter = Rest[2];
  C.Exit = Rest[3];
  return callStub(C, Rest + 4, N - Leading);
}

/// A launcher as a function.
static PyObject *callLauncher(PyObject *O, PyObject *const *Args,
                              size_t NumAndFlag, PyObject *Names) {
  constexpr Py_ssize_t Leading = 9;
  const auto &Base = *reinterpret_cast<LauncherBase *>(O);
  PyObject *Native = Base.Native;
  Py_ssize_t N = PyVectorcall_NARGS(NumAndFlag);
  if (LLVM_UNLIKELY(!__atomic_load_n(&Base.IsDirect, __ATOMIC_RELAXED) ||
                    !Native || typeOf(Native) != Py.TritonLaunchType ||
                    N < Leading || (Names && Py.PyTuple_Size(Names)))) {
    SmallVector<PyObject *, 64> All = {O};
    All.append(Args, Args + N + (Names ? Py.PyTuple_Size(Names) : 0));
    return Py.PyObject_VectorcallMethod(Py.Names._call, All.data(), N + 1,
                                        Names);
  }
  // The launcher may go while it is called: no reference to it is held.
  Py.Py_IncRef(Native);
  Ref Hold(Native);
  TritonCall C(*reinterpret_cast<LaunchObject *>(Native)->Launch);
  if (parseLaunch(C, Args))
    return nullptr;
  C.Cooperative = C.Launch.Options.Cooperative;
  C.PDL = C.Launch.Options.PDL;
  C.Metadata = Args[5];
  C.LaunchMetadata = Args[6];
  C.Enter = Args[7];
  C.Exit = Args[8];
  return callStub(C, Args + Leading, N - Leading);
}

//===----------------------------------------------------------------------===//
// The types
//===----------------------------------------------------------------------===//

static void deallocLaunch(PyObject *O) {
  TritonLaunch *L = reinterpret_cast<LaunchObject *>(O)->Launch;
  freeObject(O);
  delete L;
}

static void deallocLauncher(PyObject *O) {
  PyObject *Native = reinterpret_cast<LauncherBase *>(O)->Native;
  freeObject(O);
  if (Native)
    Py.Py_DecRef(Native);
}

static PyObject *newLauncher(PyObject *Type, PyObject *, PyObject *) {
  PyObject *O = Py.PyType_GenericAlloc(Type, 0);
  if (O)
    reinterpret_cast<LauncherBase *>(O)->Call = callLauncher;
  return O;
}

PyObject *launchjit::python::makeTritonLaunchType(const CPython &C) {
  PyMemberDef Members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                            offsetof(LaunchObject, Call), READONLY, nullptr},
                           {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot Slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(deallocLaunch)},
      {Py_tp_call, reinterpret_cast<void *>(C.PyVectorcall_Call)},
      {Py_tp_members, Members},
      {0, nullptr}};
  PyType_Spec Spec = {"launchjit.triton.Launch", sizeof(LaunchObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, Slots};
  return C.PyType_FromSpec(&Spec);
}

PyObject *launchjit::python::makeTritonBase(const CPython &C) {
  PyMemberDef Members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherBase, Call),
       READONLY, nullptr},
      {"_native", T_OBJECT, offsetof(LauncherBase, Native), 0, nullptr},
      {"_direct", T_BOOL, offsetof(LauncherBase, IsDirect), 0, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot Slots[] = {
      {Py_tp_new, reinterpret_cast<void *>(newLauncher)},
      {Py_tp_dealloc, reinterpret_cast<void *>(deallocLauncher)},
      {Py_tp_call, reinterpret_cast<void *>(C.PyVectorcall_Call)},
      {Py_tp_members, Members},
      {0, nullptr}};
  PyType_Spec Spec = {"launchjit.triton.LauncherBase", sizeof(LauncherBase), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                          Py_TPFLAGS_HAVE_VECTORCALL,
                      Slots};
  return C.PyType_FromSpec(&Spec);
}

/// Each parameter's place among the arguments with tuples flattened.
static void placeArguments(ArrayRef<ABIType> Types, int &Next,
                           SmallVectorImpl<int> &Places) {
  for (const ABIType &T : Types) {
    if (T.Kind == ParamKind::Tuple)
      placeArguments(T.Elements, Next, Places);
    else if (T.Kind == ParamKind::Constexpr)
      ++Next;
    else
      Places.push_back(Next++);
  }
}

_object *launchjit::pythonTritonBase() {
  if (Py.TritonBase)
    Py.Py_IncRef(Py.TritonBase);
  return Py.TritonBase;
}

_object *launchjit::pythonTritonLaunch(const Signature &S, StringRef Name,
                                       const TritonOptions &Options,
                                       _object *Devices, _object *HookChain) {
  if (!Py.TritonLaunchType)
    return nullptr;
  void *ThreadState = Py.PyEval_SaveThread();
  Expected<LauncherRef> Made = Launcher::get(S.abi(), EntryKind::Python);
  Py.PyEval_RestoreThread(ThreadState);
  if (!Made) {
    raise(takeDetail(Made.takeError()));
    return nullptr;
  }
  PyObject *O = Py.PyType_GenericAlloc(Py.TritonLaunchType, 0);
  if (!O)
    return nullptr;
  auto *L = new TritonLaunch(S);
  reinterpret_cast<LaunchObject *>(O)->Call = callLaunch;
  reinterpret_cast<LaunchObject *>(O)->Launch = L;
  L->Options = Options;
  L->Name = Name.str();
  L->Entry = *Made;
  L->Stub.Table = &TritonTable;
  int Next = 0;
  placeArguments(S.abi().parameters(), Next, L->ArgumentIndex);
  L->HasTuples = any_of(S.abi().parameters(), [](const ABIType &T) {
    return T.Kind == ParamKind::Tuple;
  });
  L->Devices = Devices;
  Py.Py_IncRef(Devices);
  if (HookChain && !isNone(HookChain)) {
    L->HookChain = HookChain;
    Py.Py_IncRef(HookChain);
  }
  return O;
}
