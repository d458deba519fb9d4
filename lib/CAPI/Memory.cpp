//===- Memory.cpp - Device memory for C -----------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "launchjit/Launch/KernelState.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;

/// Calls \p Function with the process's driver and a current context.
static lj_error *inContext(function_ref<Error(const Driver &Drv)> Function) {
  Expected<const Driver &> Drv = Driver::process();
  if (!Drv)
    return toC(Drv.takeError());
  Expected<ContextGuard> Guard = ContextGuard::enterAny(*Drv, 0);
  if (!Guard)
    return toC(Guard.takeError());
  return toC(Function(*Drv));
}

lj_error *lj_memory_allocate(size_t size, uint64_t *address) {
  LJ_REQUIRE(address);
  return inContext([&](const Driver &Drv) -> Error {
    CUdeviceptr Result = 0;
    if (Error E =
            LJ_CUDA(Drv, cuMemAlloc,
                    "cannot allocate " + Twine(size) + " bytes", &Result, size))
      return E;
    *address = Result;
    return Error::success();
  });
}

lj_error *lj_memory_free(uint64_t address) {
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuMemFree,
                   "cannot free the memory at 0x" + Twine::utohexstr(address),
                   address);
  });
}

lj_error *lj_memory_write(uint64_t to, const void *from, size_t size) {
  LJ_REQUIRE_ARRAY(from, size);
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuMemcpyHtoD,
                   "cannot write " + Twine(size) + " bytes to 0x" +
                       Twine::utohexstr(to),
                   to, from, size);
  });
}

lj_error *lj_memory_read(void *to, uint64_t from, size_t size) {
  LJ_REQUIRE_ARRAY(to, size);
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuMemcpyDtoH,
                   "cannot read " + Twine(size) + " bytes from 0x" +
                       Twine::utohexstr(from),
                   to, from, size);
  });
}

lj_error *lj_synchronize(void) {
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuCtxSynchronize, "work of the context has failed");
  });
}
