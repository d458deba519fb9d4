//===- Trace.h - A Chrome trace of builds and launches --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LAUNCHJIT_TRACE=FILE writes what the process does as a trace that Perfetto
// and chrome://tracing open: the JSON array format, whose closing bracket may
// be missing where the process was killed. In the name, %p is the process; a
// child of fork, and a process that finds the file in use by another, adds its
// own number to the name instead. A process that is killed, or ends by _exit,
// loses what waits to be written, 64 KiB at most; a child of fork lets nothing
// wait, since such processes often end so.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SUPPORT_TRACE_H
#define LAUNCHJIT_SUPPORT_TRACE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace launchjit {

/// The clock of traces and build times: CLOCK_MONOTONIC, nanoseconds.
uint64_t nowNs();

/// Whether LAUNCHJIT_TRACE names a file.
bool isTracing();

/// Adds one event that ran on this thread from \p BeginNs to \p EndNs;
/// \p Arguments writes the members of its "args", in UTF-8. Does nothing where
/// the file cannot be written, which is logged once. Thread-safe.
void trace(llvm::StringRef Category, llvm::StringRef Name, uint64_t BeginNs,
           uint64_t EndNs,
           llvm::function_ref<void(llvm::json::OStream &)> Arguments);

} // namespace launchjit

#endif // LAUNCHJIT_SUPPORT_TRACE_H
