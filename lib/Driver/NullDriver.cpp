//===- NullDriver.cpp - A driver whose every call succeeds at once --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For measuring the host's part of a launch: what a launch calls takes a
// nanosecond here.
//
//===----------------------------------------------------------------------===//

#include "DriverBuilder.h"
#include "RecordingDevice.h"
#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace launchjit;

namespace {

/// The one handle of each kind.
template <typename T> T handle() { return reinterpret_cast<T>(0x1000); }

template <typename F> struct Succeed;
template <typename... Args> struct Succeed<CUresult (*)(Args...)> {
  static CUresult call(Args...) { return CUDA_SUCCESS; }
};

/// An entry point whose first parameter takes the handle it makes.
template <typename F> struct Make;
template <typename T, typename... Args>
struct Make<CUresult (*)(T *, Args...)> {
  static CUresult call(T *Out, Args...) {
    *Out = handle<T>();
    return CUDA_SUCCESS;
  }
};

CUresult getVersion(int *Version) {
  *Version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult getErrorName(CUresult Result, const char **Name) {
  *Name = Driver::errorName(Result).data();
  return CUDA_SUCCESS;
}

CUresult getOne(int *Out) {
  *Out = 1;
  return CUDA_SUCCESS;
}

CUresult getDevice(CUdevice *Device, int) {
  *Device = 0;
  return CUDA_SUCCESS;
}

CUresult getCurrentDevice(CUdevice *Device) { return getDevice(Device, 0); }

CUresult getDeviceName(char *Name, int Size, CUdevice) {
  if (Size > 0) {
    strncpy(Name, "null", size_t(Size));
    Name[Size - 1] = 0;
  }
  return CUDA_SUCCESS;
}

CUresult getDeviceAttribute(int *Value, CUdevice_attribute Id, CUdevice) {
  *Value = recording::deviceAttribute(90, Id).value_or(0);
  return CUDA_SUCCESS;
}

CUresult getCurrent(CUcontext *Context) {
  *Context = handle<CUcontext>();
  return CUDA_SUCCESS;
}

CUresult getStreamContext(CUstream, CUcontext *Context) {
  *Context = handle<CUcontext>();
  return CUDA_SUCCESS;
}

/// A user's stream is never being captured; what asks for more is a capture of
/// ours.
CUresult isCapturing(CUstream, CUstreamCaptureStatus *Status) {
  *Status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult getCaptureInfo(CUstream, CUstreamCaptureStatus *Status, cuuint64_t *Id,
                        CUgraph *Graph, const CUgraphNode **Nodes,
                        const CUgraphEdgeData **Edges, size_t *NumNodes) {
  static const CUgraphNode Node = handle<CUgraphNode>();
  *Status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (Id)
    *Id = 1;
  if (Graph)
    *Graph = handle<CUgraph>();
  if (Nodes)
    *Nodes = &Node;
  if (Edges)
    *Edges = nullptr;
  if (NumNodes)
    *NumNodes = 1;
  return CUDA_SUCCESS;
}

CUresult endCapture(CUstream, CUgraph *Graph) {
  *Graph = handle<CUgraph>();
  return CUDA_SUCCESS;
}

CUresult getGlobal(CUdeviceptr *Pointer, size_t *Size) {
  if (Pointer)
    *Pointer = 0x1000;
  if (Size)
    *Size = 0;
  return CUDA_SUCCESS;
}

CUresult getLibraryGlobal(CUdeviceptr *Pointer, size_t *Size, CUlibrary,
                          const char *) {
  return getGlobal(Pointer, Size);
}

CUresult getModuleGlobal(CUdeviceptr *Pointer, size_t *Size, CUmodule,
                         const char *) {
  return getGlobal(Pointer, Size);
}

int functionAttribute(CUfunction_attribute Id) {
  switch (Id) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return 1024;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    return 32;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return 232448;
  default:
    return 0;
  }
}

CUresult getKernelAttribute(int *Value, CUfunction_attribute Id, CUkernel,
                            CUdevice) {
  *Value = functionAttribute(Id);
  return CUDA_SUCCESS;
}

CUresult getFunctionAttribute(int *Value, CUfunction_attribute Id, CUfunction) {
  *Value = functionAttribute(Id);
  return CUDA_SUCCESS;
}

/// It knows no parameters, as the last one's successor.
CUresult getKernelParamInfo(CUkernel, size_t, size_t *, size_t *) {
  return CUDA_ERROR_NOT_SUPPORTED; // any signature is as good
}

CUresult getFunctionParamInfo(CUfunction, size_t, size_t *, size_t *) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult getFunctionName(const char **Name, CUfunction) {
  *Name = "null";
  return CUDA_SUCCESS;
}

CUresult getMaxBlocks(int *Count, CUfunction, int, size_t) {
  return getOne(Count);
}

CUresult getMaxClusters(int *Count, CUfunction, const CUlaunchConfig *) {
  return getOne(Count);
}

/// Every pointer is its own device pointer.
CUresult getPointerAttribute(void *Value, CUpointer_attribute Id,
                             CUdeviceptr Pointer) {
  switch (Id) {
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    memcpy(Value, &Pointer, sizeof Pointer);
    break;
  case CU_POINTER_ATTRIBUTE_CONTEXT: {
    CUcontext Context = handle<CUcontext>();
    memcpy(Value, &Context, sizeof Context);
    break;
  }
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: {
    unsigned Type = CU_MEMORYTYPE_DEVICE;
    memcpy(Value, &Type, sizeof Type);
    break;
  }
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
    int Ordinal = 0;
    memcpy(Value, &Ordinal, sizeof Ordinal);
    break;
  }
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr *Pointer, size_t Size) {
  void *Memory = malloc(Size);
  *Pointer = reinterpret_cast<CUdeviceptr>(Memory);
  return Memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult deallocate(CUdeviceptr Pointer) {
  free(reinterpret_cast<void *>(Pointer));
  return CUDA_SUCCESS;
}

CUresult copyIn(CUdeviceptr To, const void *From, size_t Size) {
  memcpy(reinterpret_cast<void *>(To), From, Size);
  return CUDA_SUCCESS;
}

CUresult copyOut(void *To, CUdeviceptr From, size_t Size) {
  memcpy(To, reinterpret_cast<void *>(From), Size);
  return CUDA_SUCCESS;
}

/// Nobody knows how large anything is.
CUresult getAddressRange(CUdeviceptr *, size_t *, CUdeviceptr) {
  return CUDA_ERROR_NOT_FOUND;
}

CUresult getElapsedTime(float *Milliseconds, CUevent, CUevent) {
  *Milliseconds = 0;
  return CUDA_SUCCESS;
}

CUresult copyOutAsync(void *To, CUdeviceptr From, size_t Size, CUstream) {
  return copyOut(To, From, Size);
}

CUresult fill(CUdeviceptr To, unsigned char Value, size_t Size) {
  memset(reinterpret_cast<void *>(To), Value, Size);
  return CUDA_SUCCESS;
}

} // namespace

Expected<const Driver &> launchjit::openNullDriver() {
  DriverTable T;
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  T.Name = Succeed<decltype(&::Name)>::call;
#include "launchjit/Driver/Entries.def"
#define LJ_MAKE(Name) T.Name = Make<decltype(&::Name)>::call
  LJ_MAKE(cuDevicePrimaryCtxRetain);
  LJ_MAKE(cuCtxPopCurrent);
  LJ_MAKE(cuCtxCreate);
  LJ_MAKE(cuStreamCreate);
  LJ_MAKE(cuLibraryLoadData);
  LJ_MAKE(cuLibraryGetKernel);
  LJ_MAKE(cuKernelGetFunction);
  LJ_MAKE(cuModuleLoadData);
  LJ_MAKE(cuModuleGetFunction);
  LJ_MAKE(cuEventCreate);
  LJ_MAKE(cuGraphInstantiateWithFlags);
#undef LJ_MAKE
  T.cuDriverGetVersion = getVersion;
  T.cuGetErrorName = getErrorName;
  T.cuGetErrorString = getErrorName;
  T.cuDeviceGetCount = getOne;
  T.cuDeviceGet = getDevice;
  T.cuDeviceGetName = getDeviceName;
  T.cuDeviceGetAttribute = getDeviceAttribute;
  T.cuCtxGetCurrent = getCurrent;
  T.cuCtxGetDevice = getCurrentDevice;
  T.cuStreamGetCtx = getStreamContext;
  T.cuStreamEndCapture = endCapture;
  T.cuStreamIsCapturing = isCapturing;
  T.cuStreamGetCaptureInfo = getCaptureInfo;
  T.cuLibraryGetGlobal = getLibraryGlobal;
  T.cuModuleGetGlobal = getModuleGlobal;
  T.cuKernelGetAttribute = getKernelAttribute;
  T.cuFuncGetAttribute = getFunctionAttribute;
  T.cuKernelGetParamInfo = getKernelParamInfo;
  T.cuFuncGetParamInfo = getFunctionParamInfo;
  T.cuFuncGetName = getFunctionName;
  T.cuOccupancyMaxActiveBlocksPerMultiprocessor = getMaxBlocks;
  T.cuOccupancyMaxActiveClusters = getMaxClusters;
  T.cuPointerGetAttribute = getPointerAttribute;
  T.cuMemAlloc = allocate;
  T.cuMemFree = deallocate;
  T.cuMemcpyHtoD = copyIn;
  T.cuMemcpyDtoH = copyOut;
  T.cuMemcpyDtoHAsync = copyOutAsync;
  T.cuMemGetAddressRange = getAddressRange;
  T.cuEventElapsedTime = getElapsedTime;
  T.cuMemsetD8 = fill;
  return DriverBuilder::finish(DriverKind::Null, T, "");
}
