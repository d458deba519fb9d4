//===- RecordingMemory.cpp - Device memory that is the host's -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingEntries.h"
#include "llvm/Support/xxhash.h"
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

/// The bits of a real tensor map are nobody's to know: this one has the
/// address, the rank, the type and the sizes as 64 bits each, then a hash of \p
/// All that was asked for. Bit 85, which some clear, is set.
static CUresult encode(CUtensorMap *Map, CUtensorMapDataType Type,
                       unsigned Rank, void *Address, const cuuint64_t *Dims,
                       const cuuint64_t *Strides,
                       const cuuint32_t *ElementStrides,
                       SmallVector<uint64_t> All) {
  if (!Map || reinterpret_cast<uintptr_t>(Map) % 64 || Rank < 1 || Rank > 5 ||
      reinterpret_cast<uintptr_t>(Address) % 16 || Type > 15 ||
      any_of(ArrayRef(Dims, Rank),
             [](cuuint64_t Size) { return !Size || Size > 1ull << 32; }) ||
      any_of(ArrayRef(Strides, Rank - 1),
             [](cuuint64_t Size) { return Size % 16 || Size >= 1ull << 40; }) ||
      any_of(ArrayRef(ElementStrides, Rank),
             [](cuuint32_t Step) { return !Step || Step > 8; }))
    return CUDA_ERROR_INVALID_VALUE;
  All.append(Strides, Strides + Rank - 1);
  All.append(ElementStrides, ElementStrides + Rank);
  cuuint64_t Words[16] = {reinterpret_cast<cuuint64_t>(Address),
                          Rank | 1u << 21, cuuint64_t(Type)};
  std::copy_n(Dims, Rank, Words + 3);
  Words[8] = xxh3_64bits(ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(All.data()), All.size() * 8));
  static_assert(sizeof Words == sizeof *Map);
  memcpy(Map, Words, sizeof Words);
  return CUDA_SUCCESS;
}

LJ_ENTRIES {

  LJ_ENTRY cuTensorMapEncodeTiled(
      CUtensorMap * Map, CUtensorMapDataType Type, cuuint32_t Rank,
      void *Address, const cuuint64_t *Dims, const cuuint64_t *Strides,
      const cuuint32_t *Box, const cuuint32_t *ElementStrides,
      CUtensorMapInterleave Interleave, CUtensorMapSwizzle Swizzle,
      CUtensorMapL2promotion Promotion, CUtensorMapFloatOOBfill Fill) {
    SmallVector<uint64_t> All = {Interleave, Swizzle, Promotion, Fill};
    if (Rank && Rank <= 5) {
      if (any_of(ArrayRef(Box, Rank),
                 [](cuuint32_t Size) { return !Size || Size > 256; }))
        return CUDA_ERROR_INVALID_VALUE;
      All.append(Box, Box + Rank);
    }
    return encode(Map, Type, Rank, Address, Dims, Strides, ElementStrides, All);
  }

  LJ_ENTRY cuTensorMapEncodeIm2col(
      CUtensorMap * Map, CUtensorMapDataType Type, cuuint32_t Rank,
      void *Address, const cuuint64_t *Dims, const cuuint64_t *Strides,
      const int *Lower, const int *Upper, cuuint32_t Channels,
      cuuint32_t Pixels, const cuuint32_t *ElementStrides,
      CUtensorMapInterleave Interleave, CUtensorMapSwizzle Swizzle,
      CUtensorMapL2promotion Promotion, CUtensorMapFloatOOBfill Fill) {
    SmallVector<uint64_t> All = {Channels, Pixels,    Interleave,
                                 Swizzle,  Promotion, Fill};
    if (Rank && Rank <= 5) {
      if (!Channels || Channels > 256 || !Pixels || Pixels > 1024)
        return CUDA_ERROR_INVALID_VALUE;
      All.append(Lower, Lower + (Rank > 2 ? Rank - 2 : 0));
      All.append(Upper, Upper + (Rank > 2 ? Rank - 2 : 0));
    }
    return encode(Map, Type, Rank, Address, Dims, Strides, ElementStrides, All);
  }

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

  LJ_ENTRY cuMemcpyDtoHAsync(void *To, CUdeviceptr From, size_t Size,
                             CUstream Stream) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->contextOf(Stream, C))
      return R;
    auto *Found = S->allocationAt(From);
    if (Size && (!Found || Size > Found->second.Size - (From - Found->first)))
      return CUDA_ERROR_INVALID_VALUE;
    if (Size)
      memcpy(To, reinterpret_cast<void *>(From), Size);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuMemGetAddressRange(CUdeviceptr * Base, size_t *Size,
                                CUdeviceptr P) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    auto *Found = S->allocationAt(P);
    if (!Found)
      return CUDA_ERROR_NOT_FOUND;
    if (Base)
      *Base = Found->first;
    if (Size)
      *Size = Found->second.Size;
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
      return give(
          Out, unsigned(A.SeenAt ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: {
      // Its answer is for kernels of the current context.
      CUcontext C;
      if (CUresult R = S->current(C)) {
        give(Out, CUdeviceptr(0)); // as the real one does
        return R;
      }
      return give(Out, A.SeenAt ? A.SeenAt + (P - Base) : P);
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
