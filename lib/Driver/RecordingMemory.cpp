//===- RecordingMemory.cpp - Device memory that is the host's -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingEntries.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

/// Whether a copy of \p Size bytes at \p P stays within one allocation.
static CUresult checkRange(State &S, CUdeviceptr P, size_t Size) {
  CUcontext C;
  if (CUresult R = S.current(C))
    return R;
  if (!Size)
    return CUDA_SUCCESS;
  auto *Found = S.allocationAt(P);
  return Found && Size <= Found->second.Size - (P - Found->first)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

template <typename T> static CUresult give(void *Out, T Value) {
  memcpy(Out, &Value, sizeof Value);
  return CUDA_SUCCESS;
}

LJ_ENTRIES {

  LJ_ENTRY cuMemAlloc(CUdeviceptr * Out, size_t Size) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (!Out || !Size)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult R = S->unsafeCall())
      return R;
    CUdeviceptr P = S->allocate(Size, C);
    if (!P)
      return CUDA_ERROR_OUT_OF_MEMORY;
    *Out = P;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuMemFree(CUdeviceptr P) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (!P)
      return CUDA_SUCCESS;
    auto It = S->Memory.find(P);
    if (It == S->Memory.end())
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult R = S->unsafeCall())
      return R;
    S->release(It);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuMemcpyHtoD(CUdeviceptr To, const void *From, size_t Size) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (CUresult R = checkRange(*S, To, Size))
      return R;
    if (Size)
      memcpy(reinterpret_cast<void *>(To), From, Size);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuMemcpyDtoH(void *To, CUdeviceptr From, size_t Size) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (CUresult R = checkRange(*S, From, Size))
      return R;
    if (Size)
      memcpy(To, reinterpret_cast<void *>(From), Size);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuMemsetD8(CUdeviceptr To, unsigned char Value, size_t Size) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (CUresult R = checkRange(*S, To, Size))
      return R;
    if (Size)
      memset(reinterpret_cast<void *>(To), Value, Size);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuPointerGetAttribute(void *Out, CUpointer_attribute Id,
                                 CUdeviceptr P) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    auto *Found = S->allocationAt(P);
    if (!Out || !Found)
      return CUDA_ERROR_INVALID_VALUE;
    const auto &[Base, A] = *Found;
    switch (Id) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return give(Out, A.Owner);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(Out, unsigned(CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: {
      // Its answer is for kernels of the current context.
      CUcontext C;
      if (CUresult R = S->current(C)) {
        give(Out, CUdeviceptr(0)); // as the real one does
        return R;
      }
      return give(Out, P);
    }
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give(Out, false);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return give(Out, A.Id);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(Out, S->deviceOf(A.Owner));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give(Out, true);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return give(Out, Base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return give(Out, A.Size);
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  }

} // LJ_ENTRIES
