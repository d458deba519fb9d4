//===- Stream.cpp - The stream of a launch from Python --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stream.h"
#include "Convert.h"
#include "DLPack.h"
#include "Raise.h"
#include "launchjit/Launch/KernelState.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

static constexpr Subject TheStream = {nullptr, 0, "stream"};

/// The handle behind a stream that is neither int nor None: a new reference.
/// Null without an exception where \p O is no stream.
static PyObject *streamHandle(PyObject *O) {
  Ref Method(Py.PyObject_GetAttr(O, Py.Names.__cuda_stream__));
  if (Method) {
    Ref Pair(Py.PyObject_CallFunctionObjArgs(Method.get(), nullptr));
    if (!Pair)
      return nullptr;
    if (!hasFlag(Pair.get(), Py_TPFLAGS_TUPLE_SUBCLASS) ||
        Py.PyTuple_Size(Pair.get()) < 2) {
      raise(TheStream, Status::ArgumentType,
            "expected __cuda_stream__() to return (version, handle)");
      return nullptr;
    }
    PyObject *Handle = Py.PyTuple_GetItem(Pair.get(), 1);
    Py.Py_IncRef(Handle);
    return Handle;
  }
  if (!Py.PyErr_ExceptionMatches(Py.PyExc_AttributeError))
    return nullptr;
  Py.PyErr_Clear();
  PyObject *Handle = Py.PyObject_GetAttr(O, Py.Names.cuda_stream);
  if (!Handle && Py.PyErr_ExceptionMatches(Py.PyExc_AttributeError))
    Py.PyErr_Clear();
  return Handle;
}

int launchjit::python::beginStream(StubPythonLaunch *L, PyObject *O) {
  static constexpr char Expected[] =
      "an int, None or an object with __cuda_stream__() or cuda_stream";
  uint64_t Handle = 0;
  L->WantsStream = isNone(O);
  if (L->WantsStream) {
    // finishStream knows.
  } else if (isInt(O)) {
    if (toAddress(TheStream, O, Expected, Handle))
      return -1;
  } else {
    Ref Object(streamHandle(O));
    if (!Object)
      return Py.PyErr_Occurred() ? -1 : raiseWrongType(TheStream, Expected, O);
    if (toAddress(TheStream, Object.get(), "the stream's handle to be an int",
                  Handle))
      return -1;
  }
  L->Stream = reinterpret_cast<void *>(Handle);
  return 0;
}

/// An attribute of what \p Owner, which is taken, refers to; null without an
/// exception where something is missing.
static PyObject *attributeOf(PyObject *Owner, PyObject *Name) {
  if (!Owner)
    return nullptr;
  Ref Object(Owner);
  PyObject *Attribute = Py.PyObject_GetAttr(Object.get(), Name);
  if (!Attribute)
    Py.PyErr_Clear();
  return Attribute;
}

/// torch's current stream where torch is loaded and uses CUDA: 0, or -1 with
/// an exception.
static int torchStream(StubPythonLaunch *L) {
  Ref Torch(Py.PyImport_GetModule(Py.Names.torch));
  if (!Torch)
    return Py.PyErr_Occurred() ? -1 : 0;
  Py.Py_IncRef(Torch.get());
  Ref IsInitialized(attributeOf(attributeOf(Torch.get(), Py.Names.cuda),
                                Py.Names.is_initialized));
  if (!IsInitialized)
    return 0;
  Ref Answer(Py.PyObject_CallFunctionObjArgs(IsInitialized.get(), nullptr));
  int Initialized = Answer ? Py.PyObject_IsTrue(Answer.get()) : -1;
  if (Initialized <= 0)
    return Initialized;
  Py.Py_IncRef(Torch.get());
  Ref RawStream(attributeOf(attributeOf(Torch.get(), Py.Names._C),
                            Py.Names._cuda_getCurrentRawStream));
  if (!RawStream)
    return 0;
  const auto &D = *static_cast<const KernelData *>(L->Kernel);
  CUdevice Device = L->Device;
  if (Device < 0) {
    // It is not open before the first launch.
    Error E = D.State->bindDriver();
    if (E || D.State->driver()->cuCtxGetDevice(&Device) != CUDA_SUCCESS)
      Device = D.Owner->options().Device;
    consumeError(std::move(E)); // the launch itself will tell
  }
  Ref Index(Py.PyLong_FromLongLong(Device));
  Ref Handle(Index ? Py.PyObject_CallFunctionObjArgs(RawStream.get(),
                                                     Index.get(), nullptr)
                   : nullptr);
  uint64_t Address;
  if (!Handle ||
      toAddress(TheStream, Handle.get(), "torch's to be an int", Address))
    return -1;
  L->Stream = reinterpret_cast<void *>(Address);
  return 0;
}

/// Makes \p Waiter wait for all that \p Producer was given so far.
static Error wait(const Driver &D, CUdevice Device, CUstream Waiter,
                  CUstream Producer) {
  CUcontext Context = nullptr;
  bool OfAnyContext = isSpecialStream(Producer);
  if (!OfAnyContext)
    if (Error E = D.check(D.cuStreamGetCtx(Producer, &Context),
                          "cannot tell the context of an argument's stream"))
      return E;
  auto Guard = OfAnyContext ? ContextGuard::enterAny(D, Device)
                            : ContextGuard::enter(D, Context);
  if (!Guard)
    return Guard.takeError();
  CUevent Event;
  if (Error E = D.check(D.cuEventCreate(&Event, CU_EVENT_DISABLE_TIMING),
                        "cannot create an event"))
    return E;
  Error E = D.check(D.cuEventRecord(Event, Producer),
                    "cannot record an event in an argument's stream");
  if (!E)
    E = D.check(D.cuStreamWaitEvent(Waiter, Event, CU_EVENT_WAIT_DEFAULT),
                "the launch's stream cannot wait for an argument's");
  D.cuEventDestroy(Event);
  return E;
}

/// 0, or -1 with an exception.
static int waitFor(const StubPythonLaunch *L, CUstream Waiter,
                   CUstream Producer) {
  const auto &D = *static_cast<const KernelData *>(L->Kernel);
  KernelState &S = *D.State;
  Error E = S.bindDriver();
  if (!E)
    E = wait(*S.driver(), D.Owner->options().Device, Waiter, Producer);
  if (!E)
    return 0;
  raise(takeDetail(std::move(E)));
  return -1;
}

int launchjit::python::finishStream(StubPythonLaunch *L) {
  if (L->WantsStream) {
    if (!L->WorkStream) {
      if (torchStream(L))
        return -1;
    } else if (L->WorkStream(kDLCUDA, L->Device, &L->Stream)) {
      return Py.PyErr_Occurred()
                 ? -1
                 : raise(TheStream, Status::ArgumentValue,
                         "the framework of a tensor did not tell its current "
                         "stream");
    }
  }
  // 0 is the legacy stream, which the interface calls 1.
  if (L->After &&
      L->After != (L->Stream ? L->Stream : (void *)CU_STREAM_LEGACY))
    return waitFor(L, static_cast<CUstream>(L->Stream),
                   static_cast<CUstream>(L->After));
  return 0;
}

int launchjit::python::launchAfter(StubPythonLaunch *L, void *Stream) {
  if (!L->After || L->After == Stream) {
    L->After = Stream;
    return 0;
  }
  return waitFor(L, static_cast<CUstream>(L->After),
                 static_cast<CUstream>(Stream));
}
