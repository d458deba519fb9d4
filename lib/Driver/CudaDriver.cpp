//===- CudaDriver.cpp - Opens libcuda -------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverBuilder.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Error.h"
#include <dlfcn.h>

using namespace llvm;
using namespace launchjit;

namespace {

// Both ways in, by the names that the library exports: cuda.h makes one the
// other.
using GetProcAddressV2 = CUresult (*)(const char *, void **, int, cuuint64_t,
                                      CUdriverProcAddressQueryResult *);
using GetProcAddressV1 = CUresult (*)(const char *, void **, int, cuuint64_t);

struct Library {
  void *Handle;
  GetProcAddressV2 V2;
  GetProcAddressV1 V1;

  /// \p Name as cuGetProcAddress knows it, \p Symbol as the headers spell it.
  void *find(const char *Name, const char *Symbol, int Version) const {
    void *Function = nullptr;
    constexpr cuuint64_t Legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    if (V2 && V2(Name, &Function, Version, Legacy, nullptr) == CUDA_SUCCESS &&
        Function)
      return Function;
    if (!V2 && V1 && V1(Name, &Function, Version, Legacy) == CUDA_SUCCESS &&
        Function)
      return Function;
    return dlsym(Handle, Symbol);
  }
};

} // namespace

Expected<const Driver &> launchjit::openCudaDriver() {
  std::optional<std::string> Named = getEnvironment("LAUNCHJIT_LIBCUDA");
  std::string Path = Named.value_or("libcuda.so.1");
  // Never closed: kernels hold its functions.
  Library L = {dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr, nullptr};
  if (!L.Handle) {
    const char *Why = dlerror();
    return makeError(
        Status::NoDriver,
        "no CUDA driver: " + Path + " cannot be opened (" +
            (Why ? Why : "no reason given") + "); " +
            (Named ? "correct LAUNCHJIT_LIBCUDA, which names it"
                   : "install the NVIDIA driver, name the library in "
                     "LAUNCHJIT_LIBCUDA") +
            ", or set LAUNCHJIT_DRIVER=recording to check launches without a "
            "GPU");
  }
  L.V2 = reinterpret_cast<GetProcAddressV2>(
      dlsym(L.Handle, "cuGetProcAddress_v2"));
  L.V1 =
      reinterpret_cast<GetProcAddressV1>(dlsym(L.Handle, "cuGetProcAddress"));

  DriverTable Table;
#define LJ_STRING_(Symbol) #Symbol
#define LJ_STRING(Symbol) LJ_STRING_(Symbol)
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  Table.Name = reinterpret_cast<decltype(&::Name)>(                            \
      L.find(#Name, LJ_STRING(Name), Version));
#include "launchjit/Driver/Entries.def"

  // What was opened may be a link, or found on the loader's path.
  Dl_info Info;
  if (Table.cuInit && dladdr(reinterpret_cast<void *>(Table.cuInit), &Info) &&
      Info.dli_fname)
    Path = Info.dli_fname;
  return DriverBuilder::finish(DriverKind::Cuda, Table, std::move(Path));
}
