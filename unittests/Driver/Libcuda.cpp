//===- Libcuda.cpp - The tests' libcuda.so.1 ------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The recording driver as a shared object that exports the driver's names, so
// that programs which know nothing of it (the library with
// LAUNCHJIT_LIBCUDA, Triton with TRITON_LIBCUDA_PATH and LD_LIBRARY_PATH) run
// over it. Here is what only such a library needs: cuGetProcAddress, the
// entry points that peers use and we do not, and
//
//   char *lj_recorded(void);
//
// It gives the launches since the last call, oldest first, as JSON, which the
// caller frees; null only where memory is short:
//
//   [{"kernel": "axpy", "grid": [1, 1, 1], "block": [128, 1, 1],
//     "shared": 0, "stream": 0, "context": 4112, "device": 0,
//     "attributes": [{"id": 4, "value": "02000000..."}],
//     "parameters": ["0010...", ...]}, ...]
//
// An attribute's value is its 64 bytes and a parameter what was passed, both
// as hexadecimal digits in the order of memory.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Driver/RecordingEntries.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

#undef cuGetProcAddress

LJ_ENTRIES {

  __attribute__((visibility("default"))) char *lj_recorded(void) {
    std::string Text;
    raw_string_ostream OS(Text);
    json::OStream J(OS);
    auto Hex = [](ArrayRef<uint8_t> Bytes) {
      return toHex(Bytes, /*LowerCase=*/true);
    };
    J.array([&] {
      for (const RecordedLaunch &L : takeRecordedLaunches())
        J.object([&] {
          J.attribute("kernel", json::fixUTF8(L.Kernel));
          J.attribute("grid", json::Array(L.Grid));
          J.attribute("block", json::Array(L.Block));
          J.attribute("shared", L.Shared);
          J.attribute("stream", L.Stream);
          J.attribute("context", L.Context);
          J.attribute("device", L.Device);
          J.attributeArray("attributes", [&] {
            for (const RecordedAttribute &A : L.Attributes)
              J.object([&] {
                J.attribute("id", int(A.Id));
                J.attribute("value",
                            Hex({reinterpret_cast<const uint8_t *>(&A.Value),
                                 sizeof A.Value}));
              });
          });
          J.attributeArray("parameters", [&] {
            for (const std::vector<uint8_t> &P : L.Parameters)
              J.value(Hex(P));
          });
        });
    });
    return strdup(Text.c_str());
  }

  LJ_ENTRY cuLaunchKernel(CUfunction F, unsigned GridX, unsigned GridY,
                          unsigned GridZ, unsigned BlockX, unsigned BlockY,
                          unsigned BlockZ, unsigned Shared, CUstream Stream,
                          void **Pointers, void **Extra) {
    CUlaunchConfig C = {};
    C.gridDimX = GridX;
    C.gridDimY = GridY;
    C.gridDimZ = GridZ;
    C.blockDimX = BlockX;
    C.blockDimY = BlockY;
    C.blockDimZ = BlockZ;
    C.sharedMemBytes = Shared;
    C.hStream = Stream;
    return launch(&C, F, Pointers, Extra);
  }

  LJ_ENTRY cuDeviceTotalMem(size_t *Size, CUdevice) {
    *Size = DeviceMemory;
    return CUDA_SUCCESS;
  }

  /// Pinned memory, which the device sees at another address.
  LJ_ENTRY cuMemHostAlloc(void **Out, size_t Size, unsigned) {
    CUdeviceptr P;
    if (CUresult R = cuMemAlloc(Out ? &P : nullptr, Size))
      return R;
    Locked S;
    S->allocationAt(P)->second.SeenAt = P ^ (CUdeviceptr(1) << 50);
    *Out = reinterpret_cast<void *>(P);
    return CUDA_SUCCESS;
  }

  /// Leaves what it cannot tell as 0, and never fails for the pointer.
  LJ_ENTRY cuPointerGetAttributes(unsigned Count, CUpointer_attribute *Ids,
                                  void **Out, CUdeviceptr P) {
    for (unsigned I = 0; I != Count; ++I)
      if (cuPointerGetAttribute(Out[I], Ids[I], P))
        memset(Out[I], 0,
               Ids[I] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                       Ids[I] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
                   ? 4
               : Ids[I] == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
                       Ids[I] == CU_POINTER_ATTRIBUTE_MAPPED
                   ? 1
                   : 8);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuGetProcAddress_v2(const char *Name, void **Out, int Version,
                               cuuint64_t Flags,
                               CUdriverProcAddressQueryResult *Status) {
    if (!Name || !Out || Version > CUDA_VERSION ||
        Flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
      return CUDA_ERROR_INVALID_VALUE;
    struct Entry {
      const char *Name;
      void *Function;
      int Version;
    };
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  {#Name, reinterpret_cast<void *>(&::Name), Version},
    const Entry Entries[] = {
#include "launchjit/Driver/Entries.def"
        {"cuGetProcAddress", reinterpret_cast<void *>(&::cuGetProcAddress_v2),
         12000},
        {"cuLaunchKernel", reinterpret_cast<void *>(&::cuLaunchKernel), 4000},
    };
    *Out = nullptr;
    auto Found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (const Entry &E : Entries)
      if (StringRef(Name) == E.Name) {
        bool Old = unsigned(Version) < unsigned(E.Version);
        Found = Old ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                    : CU_GET_PROC_ADDRESS_SUCCESS;
        *Out = Old ? nullptr : E.Function;
      }
    if (Status)
      *Status = Found;
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuGetProcAddress(const char *Name, void **Out, int Version,
                            cuuint64_t Flags) {
    CUdriverProcAddressQueryResult Status;
    if (CUresult R = cuGetProcAddress_v2(Name, Out, Version, Flags, &Status))
      return R;
    return *Out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  }

} // LJ_ENTRIES
