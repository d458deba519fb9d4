//===- Log.h - The library's one way to speak -----------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LAUNCHJIT_LOG=level[:topic,...] chooses what is logged; warnings go to
// stderr when it is not set. A host's sink replaces stderr.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SUPPORT_LOG_H
#define LAUNCHJIT_SUPPORT_LOG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace launchjit {

/// The values are those of lj_log_level and never change.
enum class LogLevel : int { Trace, Debug, Info, Warn, Error, Off };

/// Receives every message that passes the level. Called under the logger's
/// lock, from whichever thread logs; see lj_log_sink in launchjit-c/host.h for
/// what it must not do.
using LogSink = void (*)(void *Context, LogLevel Level, const char *Topic,
                         const char *Message);

/// Whether a message of this level and topic would be written. Cheap: test it
/// before building a message that costs something.
bool logEnabled(LogLevel Level, llvm::StringRef Topic);

/// Writes one message, if it is enabled. Topics in use: cache, debug, driver,
/// engine, log, trace. Thread-safe.
void log(LogLevel Level, llvm::StringRef Topic, const llvm::Twine &Message);

/// Makes \p Sink the place that messages go to; null restores stderr.
void setLogSink(LogSink Sink, void *Context);

/// Parses what LAUNCHJIT_LOG may hold; false leaves the levels unchanged.
bool setLogLevels(llvm::StringRef Spec);

} // namespace launchjit

#endif // LAUNCHJIT_SUPPORT_LOG_H
