//===- RecordingDevice.h - The devices that no driver stands behind -------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_DRIVER_RECORDINGDEVICE_H
#define LAUNCHJIT_LIB_DRIVER_RECORDINGDEVICE_H

#include <cuda.h>
#include <optional>

namespace launchjit::recording {

/// What an architecture's chips offer; the CUDA C++ Programming Guide,
/// "Compute Capabilities". Shared memory is in bytes.
struct ArchLimits {
  unsigned Arch;
  const char *Name;
  int Processors;
  int ThreadsPerProcessor;
  int BlocksPerProcessor;
  int SharedPerProcessor;
  int SharedPerBlock; ///< With the opt-in.
  int ReservedShared; ///< The hardware's own, a block.
};

/// Those of the nearest listed architecture that is not above \p Arch.
const ArchLimits &archLimits(unsigned Arch);

/// As cuDeviceGetAttribute has it; none for an id that it refuses.
std::optional<int> deviceAttribute(unsigned Arch, CUdevice_attribute Id);

/// An H200's memory, in bytes.
inline constexpr size_t DeviceMemory = 150109880320;

// The same in all: bytes without the opt-in, registers of a block and of a
// multiprocessor, threads of a block and of a warp.
inline constexpr int DefaultShared = 49152;
inline constexpr int RegistersPerBlock = 65536;
inline constexpr int ThreadsPerBlock = 1024;
inline constexpr int WarpSize = 32;

} // namespace launchjit::recording

#endif // LAUNCHJIT_LIB_DRIVER_RECORDINGDEVICE_H
