//===- DebugObservers.h - The observers that the environment asks for -----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_LAUNCH_DEBUGOBSERVERS_H
#define LAUNCHJIT_LIB_LAUNCH_DEBUGOBSERVERS_H

#include "launchjit/Launch/Observers.h"

namespace launchjit {

/// Those of LAUNCHJIT_DEBUG and LAUNCHJIT_TRACE, the outermost first.
std::vector<LaunchObserverRef> makeDebugObservers();

/// Puts an NVTX range around each launch. Null, and logged, where this build
/// has no NVTX.
LaunchObserverRef makeNVTXObserver();

/// Saves each launch in \p Folder before it begins, with at most \p MaxBytes of
/// buffers.
LaunchObserverRef makeDumpObserver(llvm::StringRef Folder, uint64_t MaxBytes);

} // namespace launchjit

#endif // LAUNCHJIT_LIB_LAUNCH_DEBUGOBSERVERS_H
