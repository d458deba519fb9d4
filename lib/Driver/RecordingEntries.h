//===- RecordingEntries.h - How the entry points are named ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry points are compiled twice: into the library, in a namespace, so
// that it defines no name of the driver's, and into the tests' libcuda.so.1,
// which exports them.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_DRIVER_RECORDINGENTRIES_H
#define LAUNCHJIT_LIB_DRIVER_RECORDINGENTRIES_H

#include "RecordingState.h"

#ifdef LAUNCHJIT_TEST_LIBCUDA
#define LJ_ENTRIES extern "C"
#define LJ_ENTRY __attribute__((visibility("default"))) CUresult
#else
#define LJ_ENTRIES namespace launchjit::recording
#define LJ_ENTRY CUresult

namespace launchjit::recording {
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  std::remove_pointer_t<decltype(&::Name)> Name;
#include "launchjit/Driver/Entries.def"
} // namespace launchjit::recording
#endif

#endif // LAUNCHJIT_LIB_DRIVER_RECORDINGENTRIES_H
