//===- Environment.cpp - The variables that the library reads -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Environment.h"
#include <cassert>
#include <cstdlib>

using namespace launchjit;

static const EnvironmentVariable Variables[] = {
    {"LAUNCHJIT_DRIVER", "cuda",
     "cuda, recording (keeps launches, runs nothing) or null (for measuring)"},
    {"LAUNCHJIT_LIBCUDA", "libcuda.so.1", "the CUDA driver library to open"},
    {"LAUNCHJIT_RECORDING", "90,1",
     "arch,count: the devices of the recording driver"},
    {"LAUNCHJIT_JIT", "on", "on, or off: launch without generated code"},
    {"LAUNCHJIT_CACHE", "rw", "rw, ro, or off: use of the object cache"},
    {"LAUNCHJIT_CACHE_DIR", "~/.cache/launchjit",
     "the object cache; else $XDG_CACHE_HOME/launchjit, if that is set"},
    {"LAUNCHJIT_CACHE_PATH", "none",
     "read-only caches to look into first, separated by colons"},
    {"LAUNCHJIT_CACHE_MAX_SIZE", "256M",
     "bytes, or with K, M, G: above it, the least recently used entries go"},
    {"LAUNCHJIT_DEBUG", "none",
     "gdb, nvtx, perf, print, sync, dump=DIR, dump-max=SIZE, separated by "
     "commas: tell debuggers and profilers of launchers, show launches, wait "
     "for each, save each (launchjit replay DIR)"},
    {"LAUNCHJIT_TRACE", "none",
     "a file, with %p for the process: a trace of builds and launches for "
     "Perfetto"},
    {"LAUNCHJIT_TRITON", "0",
     "1: Triton gets its launchers from here; require: or cannot be imported"},
    {"LAUNCHJIT_LOG", "warn",
     "level[:topic,...]: trace, debug, info, warn, error or off"},
};

llvm::ArrayRef<EnvironmentVariable> launchjit::environmentVariables() {
  return Variables;
}

std::optional<std::string> launchjit::getEnvironment(llvm::StringRef Name) {
#ifndef NDEBUG
  // Two that are not ours say where the user's cache is.
  bool Listed = Name == "HOME" || Name == "XDG_CACHE_HOME";
  for (const EnvironmentVariable &V : Variables)
    Listed |= Name == V.Name;
  assert(Listed && "an environment variable that doctor would not list");
#endif
  // In a program that runs with more rights than its user has, its user must
  // not choose what is loaded or written.
  const char *Value = secure_getenv(Name.str().c_str());
  if (!Value || !*Value)
    return std::nullopt;
  return std::string(Value);
}
