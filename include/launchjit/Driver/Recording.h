//===- Recording.h - A driver that keeps launches instead of running them -===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The recording driver loads real binaries, knows their parameters, enforces
// the CUDA driver's documented limits with its error codes, and keeps every
// launch. Memory is the host's: cuMemAlloc and the copies work. Its device is
// an H200 unless LAUNCHJIT_RECORDING=arch,count says otherwise (90,2). It is
// one per process, shared by all who open it.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_DRIVER_RECORDING_H
#define LAUNCHJIT_DRIVER_RECORDING_H

#include "launchjit/Driver/Driver.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace launchjit {

struct RecordedAttribute {
  CUlaunchAttributeID Id;
  CUlaunchAttributeValue Value;
};

/// One launch that the recording driver accepted.
struct RecordedLaunch {
  std::string Kernel;
  std::array<uint32_t, 3> Grid;
  std::array<uint32_t, 3> Block;
  uint32_t Shared;  ///< Dynamic shared memory in bytes.
  uint64_t Stream;  ///< The handle as it was given.
  uint64_t Context; ///< The context that the driver would launch in.
  int Device;       ///< Of that context.
  std::vector<RecordedAttribute> Attributes;
  /// Each parameter's bytes.
  std::vector<std::vector<uint8_t>> Parameters;
};

/// Takes and forgets the launches recorded so far, oldest first. The list
/// holds the last 65,536. Thread-safe.
std::vector<RecordedLaunch> takeRecordedLaunches();

/// Makes the next \p Count launches fail with \p Result, so that a test can
/// see what a caller does.
void failRecordedLaunches(CUresult Result, unsigned Count);

} // namespace launchjit

#endif // LAUNCHJIT_DRIVER_RECORDING_H
