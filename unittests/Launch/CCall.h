//===- CCall.h - Calls a `c` entry of any signature, through libffi -------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_LAUNCH_CCALL_H
#define LAUNCHJIT_UNITTESTS_LAUNCH_CCALL_H

#include "launchjit/StubABI.h"
#include <cuda.h>

namespace launchjit::launchtest {

/// What every entry takes before a kernel's own arguments.
struct CallHead {
  const StubKernel *Kernel;
  int64_t Grid[3];
  CUstream Stream;
};

/// How the caller leaves the bits of a register or of a stack slot that an
/// argument does not fill: both ABIs leave that to it.
enum class UpperBits { Extended, Noise };

/// Calls \p Entry with the arguments whose bytes lie at \p Arguments, one a
/// slot; a struct's or a tensor map's address may be null.
int callC(void *Entry, const CallHead &Head, llvm::ArrayRef<Slot> Slots,
          llvm::ArrayRef<const void *> Arguments,
          UpperBits Upper = UpperBits::Extended);

} // namespace launchjit::launchtest

#endif // LAUNCHJIT_UNITTESTS_LAUNCH_CCALL_H
