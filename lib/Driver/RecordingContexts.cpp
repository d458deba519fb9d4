//===- RecordingContexts.cpp - Devices, contexts, streams, events ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingEntries.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

/// The driver's sentences for the codes that this one gives; what a code is
/// called for others.
static const char *sentence(CUresult Result) {
  switch (Result) {
  case CUDA_SUCCESS:
    return "no error";
  case CUDA_ERROR_INVALID_VALUE:
    return "invalid argument";
  case CUDA_ERROR_OUT_OF_MEMORY:
    return "out of memory";
  case CUDA_ERROR_NOT_INITIALIZED:
    return "initialization error";
  case CUDA_ERROR_INVALID_DEVICE:
    return "invalid device ordinal";
  case CUDA_ERROR_INVALID_IMAGE:
    return "device kernel image is invalid";
  case CUDA_ERROR_INVALID_CONTEXT:
    return "invalid device context";
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    return "no kernel image is available for execution on the device";
  case CUDA_ERROR_INVALID_PTX:
    return "a PTX JIT compilation failed";
  case CUDA_ERROR_INVALID_HANDLE:
    return "invalid resource handle";
  case CUDA_ERROR_NOT_FOUND:
    return "named symbol not found";
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    return "an illegal memory access was encountered";
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    return "too many resources requested for launch";
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    return "context is destroyed";
  case CUDA_ERROR_LAUNCH_FAILED:
    return "unspecified launch failure";
  case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    return "too many blocks in cooperative launch";
  case CUDA_ERROR_NOT_PERMITTED:
    return "operation not permitted";
  case CUDA_ERROR_NOT_SUPPORTED:
    return "operation not supported";
  case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    return "a kernel launch error has occurred due to cluster "
           "misconfiguration";
  default:
    return Driver::errorName(Result).data();
  }
}

static bool knownError(CUresult Result) {
  return Driver::errorName(Result).starts_with("CUDA_");
}

LJ_ENTRIES {

  LJ_ENTRY cuInit(unsigned Flags) {
    if (Flags)
      return CUDA_ERROR_INVALID_VALUE;
    if (Error E = configure()) {
      consumeError(std::move(E));
      return CUDA_ERROR_INVALID_VALUE;
    }
    Locked S;
    S->Initialized = true;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuDriverGetVersion(int *Version) {
    if (!Version)
      return CUDA_ERROR_INVALID_VALUE;
    *Version = CUDA_VERSION;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuGetErrorName(CUresult Result, const char **Name) {
    if (!Name)
      return CUDA_ERROR_INVALID_VALUE;
    bool Known = knownError(Result);
    *Name = Known ? Driver::errorName(Result).data() : nullptr;
    return Known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }

  LJ_ENTRY cuGetErrorString(CUresult Result, const char **Text) {
    if (!Text)
      return CUDA_ERROR_INVALID_VALUE;
    bool Known = knownError(Result);
    *Text = Known ? sentence(Result) : nullptr;
    return Known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }

  LJ_ENTRY cuDeviceGetCount(int *Count) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Count)
      return CUDA_ERROR_INVALID_VALUE;
    *Count = S->Devices;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuDeviceGet(CUdevice * Device, int Ordinal) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Device)
      return CUDA_ERROR_INVALID_VALUE;
    if (Ordinal < 0 || Ordinal >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    *Device = Ordinal;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuDeviceGetName(char *Name, int Size, CUdevice Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Name || Size <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (Device < 0 || Device >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    strncpy(Name, archLimits(S->Arch).Name, size_t(Size));
    Name[Size - 1] = 0;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuDeviceGetAttribute(int *Value, CUdevice_attribute Id,
                                CUdevice Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    std::optional<int> Known = deviceAttribute(S->Arch, Id);
    if (!Value || !Known)
      return CUDA_ERROR_INVALID_VALUE;
    if (Device < 0 || Device >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    *Value = *Known;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuDevicePrimaryCtxRetain(CUcontext * Out, CUdevice Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Out)
      return CUDA_ERROR_INVALID_VALUE;
    if (Device < 0 || Device >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    CUcontext &C = S->Primary[Device];
    if (!C)
      C = S->Contexts.add(S->newHandle(), Context{Device, /*Primary=*/true, 0});
    ++S->Contexts.find(C)->Uses;
    *Out = C;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuDevicePrimaryCtxRelease(CUdevice Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (Device < 0 || Device >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    CUcontext C = S->Primary[Device];
    if (!C || !S->Contexts.find(C)->Uses)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--S->Contexts.find(C)->Uses == 0)
      S->destroyContents(C);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxCreate(CUcontext * Out, CUctxCreateParams *, unsigned,
                       CUdevice Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Out)
      return CUDA_ERROR_INVALID_VALUE;
    if (Device < 0 || Device >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    CUcontext C =
        S->Contexts.add(S->newHandle(), Context{Device, /*Primary=*/false, 1});
    if (!contextStack().push(C)) {
      S->Contexts.erase(C);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *Out = C;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxDestroy(CUcontext C) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Context *Found = S->Contexts.find(C);
    if (!Found || Found->Primary)
      return CUDA_ERROR_INVALID_CONTEXT;
    S->destroyContents(C);
    S->Contexts.erase(C);
    if (contextStack().top() == C)
      --contextStack().Size;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxGetCurrent(CUcontext * Out) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Out)
      return CUDA_ERROR_INVALID_VALUE;
    *Out = contextStack().top();
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxSetCurrent(CUcontext C) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    ContextStack &Stack = contextStack();
    if (C && !S->Contexts.find(C))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (Stack.Size)
      --Stack.Size;
    if (C)
      Stack.push(C);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxPushCurrent(CUcontext C) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!C)
      return CUDA_ERROR_INVALID_VALUE;
    if (!S->Contexts.find(C))
      return CUDA_ERROR_INVALID_CONTEXT;
    return contextStack().push(C) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  }

  LJ_ENTRY cuCtxPopCurrent(CUcontext * Out) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    ContextStack &Stack = contextStack();
    if (!Stack.Size)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (Out)
      *Out = Stack.top();
    --Stack.Size;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxGetDevice(CUdevice * Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C = contextStack().top();
    if (!C)
      return CUDA_ERROR_INVALID_CONTEXT;
    Context *Found = S->Contexts.find(C);
    if (!Device)
      return CUDA_ERROR_INVALID_VALUE;
    if (!Found)
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *Device = Found->Device;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxSynchronize() {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    return S->unsafeCall();
  }

  LJ_ENTRY cuStreamCreate(CUstream * Out, unsigned Flags) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (!Out || Flags > CU_STREAM_NON_BLOCKING)
      return CUDA_ERROR_INVALID_VALUE;
    *Out = S->Streams.add(S->newHandle(), Stream{C, Flags, std::nullopt});
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuStreamDestroy(CUstream Stream) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    recording::Stream *Found = S->Streams.find(Stream);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (Found->Captured)
      S->dropGraph(Found->Captured->Into);
    S->Streams.erase(Stream);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuStreamSynchronize(CUstream Stream) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->contextOf(Stream, C))
      return R;
    recording::Stream *Found = S->Streams.find(Stream);
    if (!Found)
      return S->useDefaultStream(C, /*Break=*/true);
    if (!Found->Captured)
      return CUDA_SUCCESS;
    Found->Captured->Invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }

  LJ_ENTRY cuCtxGetLimit(size_t *Value, CUlimit Limit) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (!Value)
      return CUDA_ERROR_INVALID_VALUE;
    if (Limit != CU_LIMIT_PRINTF_FIFO_SIZE)
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *Value = S->Contexts.find(C)->PrintfFIFOSize;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuCtxSetLimit(CUlimit Limit, size_t Value) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (Limit != CU_LIMIT_PRINTF_FIFO_SIZE)
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
    S->Contexts.find(C)->PrintfFIFOSize = Value;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuStreamGetCtx(CUstream Stream, CUcontext * Out) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Out)
      return CUDA_ERROR_INVALID_VALUE;
    CUcontext C;
    if (CUresult R = S->contextOf(Stream, C))
      return R;
    *Out = C;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuEventCreate(CUevent * Out, unsigned Flags) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    constexpr unsigned All = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
                             CU_EVENT_INTERPROCESS;
    if (!Out || (Flags & ~All) ||
        ((Flags & CU_EVENT_INTERPROCESS) && !(Flags & CU_EVENT_DISABLE_TIMING)))
      return CUDA_ERROR_INVALID_VALUE;
    *Out = S->Events.add(S->newHandle(), Event{C, Flags});
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuEventRecord(CUevent Event, CUstream Stream) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    const launchjit::recording::Event *E = S->Events.find(Event);
    CUcontext C;
    if (!E)
      return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult R = S->contextOf(Stream, C))
      return R;
    return E->Owner == C ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  }

  /// Nothing runs, so nothing takes time.
  LJ_ENTRY cuEventElapsedTime(float *Milliseconds, CUevent Start, CUevent End) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Milliseconds)
      return CUDA_ERROR_INVALID_VALUE;
    for (CUevent Each : {Start, End}) {
      const launchjit::recording::Event *E = S->Events.find(Each);
      if (!E || E->Flags & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *Milliseconds = 0;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuStreamWaitEvent(CUstream Stream, CUevent Event, unsigned Flags) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->contextOf(Stream, C))
      return R;
    if (!S->Events.find(Event))
      return CUDA_ERROR_INVALID_HANDLE;
    return Flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL) ? CUDA_ERROR_INVALID_VALUE
                                                     : CUDA_SUCCESS;
  }

  LJ_ENTRY cuEventDestroy(CUevent Event) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    return S->Events.erase(Event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  }

} // LJ_ENTRIES
