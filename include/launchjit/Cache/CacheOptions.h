//===- CacheOptions.h - Where the object cache is, and how it is used -----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_CACHE_CACHEOPTIONS_H
#define LAUNCHJIT_CACHE_CACHEOPTIONS_H

#include "launchjit/Cache/FileCalls.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace launchjit {

/// The values are those of lj_cache_mode.
enum class CacheMode : int { Off = 0, ReadOnly = 1, ReadWrite = 2 };

/// As LAUNCHJIT_CACHE spells it: "off", "ro" or "rw".
llvm::StringRef cacheModeName(CacheMode Mode);

struct CacheOptions {
  CacheMode Mode = CacheMode::ReadWrite;
  /// The user's own cache, an absolute path; empty where there is no place for
  /// one.
  std::string Directory;
  /// Searched before it, never written.
  std::vector<std::string> Layers;
  /// Above this, entries that were not used for the longest time go. Bytes.
  uint64_t MaxBytes = uint64_t(256) << 20;
  /// The system; tests put faults here.
  const FileCalls *Calls = &systemFileCalls();

  /// What LAUNCHJIT_CACHE, _DIR, _PATH and _MAX_SIZE, XDG_CACHE_HOME and HOME
  /// say. Off in a program that runs with more rights than its user has
  /// (AT_SECURE, see getauxval(3)): its user would choose what it runs.
  static CacheOptions fromEnvironment();
};

/// Reads "4096", "64K", "256M" or "1G". The error says what is allowed.
llvm::Expected<uint64_t> parseCacheSize(llvm::StringRef Text);

} // namespace launchjit

#endif // LAUNCHJIT_CACHE_CACHEOPTIONS_H
