//===- TritonDevice.cpp - Which device Triton works on, without torch -----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where torch is not loaded, Triton 3.8 and later ask these before each launch.
//
//===----------------------------------------------------------------------===//

#include "Triton.h"
#include "launchjit/Launch/KernelState.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

/// The primary contexts that were made current, by device: each is retained
/// once for as long as the process lives.
static std::atomic<CUcontext> Primaries[64];

static CUresult makeCurrent(const Driver &Drv, int Device) {
  CUcontext Context = nullptr;
  const bool Keeps = Device >= 0 && Device < int(std::size(Primaries));
  if (Keeps)
    Context = Primaries[Device].load(std::memory_order_relaxed);
  if (Context && Drv.cuCtxSetCurrent(Context) == CUDA_SUCCESS)
    return CUDA_SUCCESS;
  // The first one makes the context.
  void *ThreadState = Py.PyEval_SaveThread();
  CUresult R = Drv.cuDevicePrimaryCtxRetain(&Context, Device);
  if (R == CUDA_SUCCESS)
    R = Drv.cuCtxSetCurrent(Context);
  Py.PyEval_RestoreThread(ThreadState);
  if (R == CUDA_SUCCESS && Keeps)
    Primaries[Device].store(Context, std::memory_order_relaxed);
  return R;
}

/// Calls \p Use with the driver and gives \p Value if it succeeds.
template <typename Function>
static PyObject *withDriver(Function Use, const int &Value) {
  const Driver *Drv = openDriver();
  if (!Drv)
    return nullptr;
  if (CUresult R = Use(*Drv)) {
    raiseTriton(R);
    return nullptr;
  }
  return Py.PyLong_FromLongLong(Value);
}

/// 0, which is the default stream, with the device's primary context current.
static PyObject *getDefaultStream(PyObject *, PyObject *Device) {
  int Number;
  if (toInt(Device, Number))
    return nullptr;
  return withDriver([&](const Driver &Drv) { return makeCurrent(Drv, Number); },
                    0);
}

static PyObject *getCurrentDevice(PyObject *, PyObject *) {
  CUdevice Device = 0;
  return withDriver(
      [&](const Driver &Drv) {
        CUresult R = Drv.cuCtxGetDevice(&Device);
        if (R != CUDA_ERROR_INVALID_CONTEXT)
          return R;
        R = makeCurrent(Drv, 0);
        return R == CUDA_SUCCESS ? Drv.cuCtxGetDevice(&Device) : R;
      },
      Device);
}

_object *launchjit::pythonTritonDevices() {
  // CPython keeps the pointers.
  static PyMethodDef Methods[] = {
      {"get_default_stream", reinterpret_cast<void *>(getDefaultStream), METH_O,
       nullptr},
      {"get_current_device", reinterpret_cast<void *>(getCurrentDevice),
       METH_NOARGS, nullptr}};
  if (!Py.TritonBase)
    return nullptr;
  Ref Stream(Py.PyCFunction_NewEx(&Methods[0], nullptr, nullptr));
  Ref Device(Py.PyCFunction_NewEx(&Methods[1], nullptr, nullptr));
  return Stream && Device ? Py.Py_BuildValue("(OO)", Stream.get(), Device.get())
                          : nullptr;
}
