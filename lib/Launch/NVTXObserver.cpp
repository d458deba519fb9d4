//===- NVTXObserver.cpp - NVTX ranges around launches ---------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVTX is headers alone, which load the profiler's library when it says where
// that is. No other file includes them.
//
//===----------------------------------------------------------------------===//

#include "DebugObservers.h"
#include "launchjit/Support/Log.h"

using namespace llvm;
using namespace launchjit;

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace {

class NVTXObserver final : public LaunchObserver {
  Error enter(const LaunchInfo &L) override {
    nvtxRangePushA(L.kernelName().str().c_str());
    return Error::success();
  }
  Error exit(const LaunchInfo &, const ErrorDetail *) override {
    nvtxRangePop();
    return Error::success();
  }
};

} // namespace

LaunchObserverRef launchjit::makeNVTXObserver() { return new NVTXObserver; }

#else

LaunchObserverRef launchjit::makeNVTXObserver() {
  log(LogLevel::Warn, "debug",
      "LAUNCHJIT_DEBUG names 'nvtx', but this build was made without NVTX's "
      "headers; install CUDA's nvtx or the nvidia-nvtx wheel and build again");
  return nullptr;
}

#endif
