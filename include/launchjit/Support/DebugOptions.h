//===- DebugOptions.h - What LAUNCHJIT_DEBUG asks for ---------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SUPPORT_DEBUGOPTIONS_H
#define LAUNCHJIT_SUPPORT_DEBUGOPTIONS_H

#include <cstdint>
#include <string>

namespace launchjit {

// member, name in LAUNCHJIT_DEBUG
#define LAUNCHJIT_DEBUG_OPTIONS(X)                                             \
  X(GDB, "gdb")     /* tell gdb of stubs */                                    \
  X(NVTX, "nvtx")   /* an NVTX range around each launch */                     \
  X(Perf, "perf")   /* tell perf of stubs */                                   \
  X(Print, "print") /* write each launch to stderr */                          \
  X(Sync, "sync")   /* wait for each launch, and name the one that failed */

struct DebugOptions {
#define X(Member, Name) bool Member = false;
  LAUNCHJIT_DEBUG_OPTIONS(X)
#undef X

  /// dump=DIR: the folder that launches are saved in; empty for none.
  std::string Dump;
  /// dump-max=SIZE: of the buffers of one launch, bytes; K, M and G multiply.
  uint64_t DumpMax = 4ull << 30;

  /// What the environment says, read once; an unknown name is logged.
  /// Thread-safe.
  static const DebugOptions &get();
};

} // namespace launchjit

#endif // LAUNCHJIT_SUPPORT_DEBUGOPTIONS_H
