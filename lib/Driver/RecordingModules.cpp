//===- RecordingModules.cpp - Libraries, modules and their functions ------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingEntries.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

/// What cuFuncGetAttribute tells.
static std::optional<int> attribute(const State &S, const BinaryKernel &K,
                                    const KernelBinary &In, const Settings &Set,
                                    CUfunction_attribute Id) {
  auto ClusterDim = [&](unsigned I) {
    return K.RequiredCluster ? int((*K.RequiredCluster)[I]) : Set.Cluster[I];
  };
  switch (Id) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return maxThreads(K);
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    return int(K.StaticShared.value_or(0));
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: {
    uint64_t Sum = 0;
    for (const BinaryVariable &V : In.Variables)
      Sum += V.Constant ? V.Size : 0;
    return int(Sum);
  }
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    return int(K.Local.value_or(0));
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    return int(K.Registers.value_or(32));
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    return int(In.Arch ? In.Arch : S.Arch);
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    return 0;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return Set.MaxDynamicShared;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return Set.Carveout;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    return K.RequiredCluster && !K.BlocksAreClusters;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    return ClusterDim(0);
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    return ClusterDim(1);
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    return ClusterDim(2);
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    return Set.NonPortable;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    return Set.Policy;
  default:
    return std::nullopt;
  }
}

/// What cuFuncSetAttribute does.
static CUresult setAttribute(const State &S, const BinaryKernel &K,
                             Settings &Set, CUfunction_attribute Id,
                             int Value) {
  switch (Id) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (Value < 0 || Value > archLimits(S.Arch).SharedPerBlock -
                                 int(K.StaticShared.value_or(0)))
      return CUDA_ERROR_INVALID_VALUE;
    Set.MaxDynamicShared = Value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    if (Value < -1 || Value > 100)
      return CUDA_ERROR_INVALID_VALUE;
    Set.Carveout = Value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    if (K.RequiredCluster || Value < 0)
      return CUDA_ERROR_INVALID_VALUE;
    Set.Cluster[Id - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = Value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    Set.NonPortable = Value != 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    Set.Policy = Value;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

static CUresult paramInfo(const BinaryKernel &K, size_t Index, size_t *Offset,
                          size_t *Size) {
  if (!K.Parameters) // a member of a fatbin, which is not read
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!Offset || Index >= K.Parameters->size())
    return CUDA_ERROR_INVALID_VALUE;
  *Offset = (*K.Parameters)[Index].Offset;
  if (Size)
    *Size = (*K.Parameters)[Index].Size;
  return CUDA_SUCCESS;
}

LJ_ENTRIES {

  LJ_ENTRY cuLibraryLoadData(CUlibrary * Out, const void *Code, CUjit_option *,
                             void **, unsigned, CUlibraryOption *, void **,
                             unsigned) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Out || !Code)
      return CUDA_ERROR_INVALID_VALUE;
    // What is wrong with the code is told when it is asked for: libraries load
    // lazily.
    *Out = S->Libraries.add(S->newHandle(), Library(readImage(Code, S->Arch)));
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuLibraryUnload(CUlibrary L) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Library *Found = S->Libraries.find(L);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult R = S->unsafeCall())
      return R;
    for (auto [C, M] : Found->Modules)
      S->dropModule(M);
    for (const auto &Entry : Found->Kernels)
      S->Kernels.erase(Entry.second);
    S->Libraries.erase(L);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuLibraryGetKernel(CUkernel * Out, CUlibrary L, const char *Name) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Library *Found = S->Libraries.find(L);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!Out || !Name)
      return CUDA_ERROR_INVALID_VALUE;
    if (Found->Code->Result)
      return Found->Code->Result;
    const BinaryKernel *Code = Found->Code->find(Name);
    if (!Code)
      return CUDA_ERROR_NOT_FOUND;
    CUkernel &K = Found->Kernels[Name];
    if (!K)
      K = S->Kernels.add(
          S->newHandle(),
          Kernel{L, Code,
                 std::vector<Settings>(S->Devices, S->initialSettings(*Code))});
    *Out = K;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuLibraryGetGlobal(CUdeviceptr * Pointer, size_t *Size, CUlibrary L,
                              const char *Name) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    Library *Found = S->Libraries.find(L);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!Name)
      return CUDA_ERROR_INVALID_VALUE;
    if (Found->Code->Result)
      return Found->Code->Result;
    return S->globalOf(S->moduleIn(L, C), Name, Pointer, Size);
  }

  LJ_ENTRY cuKernelGetFunction(CUfunction * Out, CUkernel K) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!S->Kernels.find(K))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!Out)
      return CUDA_ERROR_INVALID_VALUE;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    *Out = S->functionIn(K, C);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuKernelGetAttribute(int *Value, CUfunction_attribute Id, CUkernel K,
                                CUdevice Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Kernel *Found = S->Kernels.find(K);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (Device < 0 || Device >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    std::optional<int> Known =
        attribute(*S, *Found->Code, S->Libraries.find(Found->In)->Code->Binary,
                  Found->Set[Device], Id);
    if (!Value || !Known)
      return CUDA_ERROR_INVALID_VALUE;
    *Value = *Known;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuKernelSetAttribute(CUfunction_attribute Id, int Value, CUkernel K,
                                CUdevice Device) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Kernel *Found = S->Kernels.find(K);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (Device < 0 || Device >= S->Devices)
      return CUDA_ERROR_INVALID_DEVICE;
    if (CUresult R =
            setAttribute(*S, *Found->Code, Found->Set[Device], Id, Value))
      return R;
    // The kernel's functions of that device follow.
    for (auto [C, M] : S->Libraries.find(Found->In)->Modules) {
      const auto &Functions = S->Modules.find(M)->Functions;
      auto It = Functions.find(Found->Code->Name);
      if (It != Functions.end() && S->deviceOf(C) == Device)
        setAttribute(*S, *Found->Code, S->Functions.find(It->second)->Set, Id,
                     Value);
    }
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuKernelGetParamInfo(CUkernel K, size_t Index, size_t *Offset,
                                size_t *Size) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Kernel *Found = S->Kernels.find(K);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    return paramInfo(*Found->Code, Index, Offset, Size);
  }

  LJ_ENTRY cuModuleLoadData(CUmodule * Out, const void *Code) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (!Out || !Code)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Image> I = readImage(Code, S->Arch);
    if (I->Result)
      return I->Result;
    *Out = S->Modules.add(S->newHandle(),
                          Module{C, std::move(I), /*OfLibrary=*/false, {}, {}});
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuModuleUnload(CUmodule M) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Module *Found = S->Modules.find(M);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (Found->OfLibrary)
      return CUDA_ERROR_NOT_PERMITTED;
    if (CUresult R = S->unsafeCall())
      return R;
    S->dropModule(M);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuModuleGetFunction(CUfunction * Out, CUmodule M, const char *Name) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Module *Found = S->Modules.find(M);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!Out || !Name)
      return CUDA_ERROR_INVALID_VALUE;
    const BinaryKernel *Code = Found->Code->find(Name);
    if (!Code)
      return CUDA_ERROR_NOT_FOUND;
    *Out = S->functionOf(M, *Code);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuModuleGetGlobal(CUdeviceptr * Pointer, size_t *Size, CUmodule M,
                             const char *Name) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!S->Modules.find(M))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!Name)
      return CUDA_ERROR_INVALID_VALUE;
    return S->globalOf(M, Name, Pointer, Size);
  }

  LJ_ENTRY cuFuncGetAttribute(int *Value, CUfunction_attribute Id,
                              CUfunction F) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Function *Found = S->Functions.find(F);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    std::optional<int> Known =
        attribute(*S, *Found->Code, S->Modules.find(Found->In)->Code->Binary,
                  Found->Set, Id);
    if (!Value || !Known)
      return CUDA_ERROR_INVALID_VALUE;
    *Value = *Known;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuFuncSetAttribute(CUfunction F, CUfunction_attribute Id,
                              int Value) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    Function *Found = S->Functions.find(F);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    return setAttribute(*S, *Found->Code, Found->Set, Id, Value);
  }

  LJ_ENTRY cuFuncSetCacheConfig(CUfunction F, CUfunc_cache) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    return S->Functions.find(F) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  }

  LJ_ENTRY cuFuncGetParamInfo(CUfunction F, size_t Index, size_t *Offset,
                              size_t *Size) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!F)
      return CUDA_ERROR_INVALID_VALUE;
    Function *Found = S->Functions.find(F);
    return Found ? paramInfo(*Found->Code, Index, Offset, Size)
                 : CUDA_ERROR_INVALID_HANDLE;
  }

  LJ_ENTRY cuFuncGetName(const char **Name, CUfunction F) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!Name || !F)
      return CUDA_ERROR_INVALID_VALUE;
    Function *Found = S->Functions.find(F);
    if (!Found)
      return CUDA_ERROR_INVALID_HANDLE;
    *Name = Found->Code->Name.c_str();
    return CUDA_SUCCESS;
  }

} // LJ_ENTRIES
