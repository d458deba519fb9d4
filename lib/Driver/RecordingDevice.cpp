//===- RecordingDevice.cpp - The devices that no driver stands behind -----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingDevice.h"
#include <iterator>

using namespace launchjit;
using namespace launchjit::recording;

static constexpr ArchLimits Limits[] = {
    {75, "recording sm_75", 40, 1024, 16, 65536, 65536, 0},
    {80, "recording sm_80", 108, 2048, 32, 167936, 166912, 1024},
    {86, "recording sm_86", 84, 1536, 16, 102400, 101376, 1024},
    {87, "recording sm_87", 16, 1536, 16, 167936, 166912, 1024},
    {89, "recording sm_89", 142, 1536, 24, 102400, 101376, 1024},
    {90, "NVIDIA H200", 132, 2048, 32, 233472, 232448, 1024},
    {100, "recording sm_100", 148, 2048, 32, 233472, 232448, 1024},
    {120, "recording sm_120", 188, 1536, 24, 102400, 101376, 1024},
};

/// Every attribute of an H200 under driver 580 by its id, as it told them,
/// with a bus of our own.
static constexpr int H200[] = {
    0,       1024,   1024,  1024,       64,       2147483647, 65535,    65535,
    49152,   65536,  32,    2147483647, 65536,    1980000,    512,      1,
    132,     0,      0,     1,          0,        131072,     131072,   65536,
    16384,   16384,  16384, 32768,      32768,    2048,       512,      1,
    1,       0,      1,     0,          3201000,  6016,       62914560, 2048,
    3,       1,      32768, 2048,       1,        32768,      32768,    8192,
    8192,    32768,  0,     32,         32768,    32768,      2046,     32768,
    131072,  65536,  16384, 16384,      16384,    32768,      2048,     32768,
    32768,   2048,   32768, 32768,      2046,     268435456,  131072,   65000,
    2097120, 32768,  32768, 9,          0,        32768,      1,        1,
    1,       233472, 65536, 1,          0,        0,          0,        2,
    0,       1,      1,     1,          0,        0,          0,        1,
    1,       232448, 0,     1,          0,        0,          1,        1,
    0,       0,      32,    1,          39321600, 134217728,  1,        1024,
    1,       1,      1,     1,          1,        1,          100,      9,
    1,       1,      1,     1,          1,        1,          4,        1,
    1,       1,      0,     -1,         0,        0,          0,        0,
    0,       0,      0,     0,          0,        1,          1,        0,
    1,       1,      0,     0,
};

const ArchLimits &recording::archLimits(unsigned Arch) {
  const ArchLimits *Best = std::begin(Limits);
  for (const ArchLimits &L : Limits)
    if (L.Arch <= Arch)
      Best = &L;
  return *Best;
}

std::optional<int> recording::deviceAttribute(unsigned Arch,
                                              CUdevice_attribute Id) {
  if (Id < 1 || size_t(Id) >= std::size(H200))
    return std::nullopt;
  const ArchLimits &L = archLimits(Arch);
  switch (Id) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return int(Arch / 10);
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return int(Arch % 10);
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return L.Processors;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return L.ThreadsPerProcessor;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return L.BlocksPerProcessor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return L.SharedPerProcessor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return L.SharedPerBlock;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    return L.ReservedShared;
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
    return Arch >= 90;
  default:
    return H200[Id];
  }
}
