//===- NVTXInjection.cpp - What a profiler loads into NVTX ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the ranges that it is told of. The library of a profiler, which
// NVTX_INJECTION64_PATH names, exports one function; NVTX calls it and gives
// access to its tables of callbacks.
//
//===----------------------------------------------------------------------===//

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <cstdio>
#include <nvtx3/nvToolsExt.h>

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t GetTable) {
  auto *Callbacks = static_cast<const NvtxExportTableCallbacks *>(
      GetTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable Table = nullptr;
  unsigned Size = 0;
  if (!Callbacks ||
      !Callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &Table, &Size))
    return 0;
  int (*Push)(const char *) = [](const char *Name) {
    std::fprintf(stderr, "nvtx push %s\n", Name);
    return 0;
  };
  int (*Pop)() = [] {
    std::fprintf(stderr, "nvtx pop\n");
    return 0;
  };
  *Table[NVTX_CBID_CORE_RangePushA] =
      reinterpret_cast<NvtxFunctionPointer>(Push);
  *Table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(Pop);
  return 1;
}
#endif
