//===- KernelData.h - The data that one launch reads ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lj_kernel points to, and a Kernel holds: not for hosts to touch. A copy
// with changed configuration (lj_kernel_with) is as good as the kernel's own,
// so it holds pointers only to what the kernel keeps alive.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_KERNELDATA_H
#define LAUNCHJIT_LAUNCH_KERNELDATA_H

#include "launchjit/StubABI.h"
#include <cstring>
#include <cuda.h>

namespace launchjit {

class Kernel;
class KernelState;

struct KernelData : StubKernel {
  /// What all configurations of one function share; kept alive by Owner.
  KernelState *State;
  /// The kernel that this is, or was copied from.
  const Kernel *Owner;
  uint32_t Block[3];
  uint32_t Shared; ///< Dynamic shared memory, bytes.
  /// The exact size of the parameter buffer, bytes.
  uint32_t ParameterBytes;
  uint32_t NumAttributes;
  /// Whether hidden parameters want memory before each launch.
  bool HasScratch;
  /// Whether the driver gets a pointer to each parameter instead of the buffer:
  /// it alone knows where it puts those of a large alignment, and it refuses a
  /// buffer for a cooperative launch that is being captured.
  bool ByPointers;
  /// The driver hands some attributes' results back here.
  CUlaunchAttribute *Attributes;
};

/// The streams that belong to no context of their own: 0, CU_STREAM_LEGACY and
/// CU_STREAM_PER_THREAD.
inline bool isSpecialStream(const void *Stream) {
  return reinterpret_cast<uintptr_t>(Stream) <= 2;
}

/// The id of \p A, which may be of a later CUDA than the enumeration.
inline uint32_t attributeId(const CUlaunchAttribute &A) {
  uint32_t Id;
  std::memcpy(&Id, &A.id, sizeof Id);
  return Id;
}

/// The process's table for stubs: filled once, but for its Python part and for
/// Launch, see Observers.h.
StubTable &stubTable();

/// What serves the python entry without generated code; the Python glue sets
/// it, since only that knows CPython. Null until then.
void setInterpretedPython(void *Entry);

/// StubTable::Launch and StubTable::Fail: see there.
int launchPacked(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                 void *Stream, void *Buffer);
/// The same, for arguments that lie on \p Device, as parameter \p Slot told: a
/// launch on another one is an error. Negative: nothing told.
int launchFromDevice(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                     void *Stream, void *Buffer, int Device, uint32_t Slot);
/// The same where no observer sees it: it goes into a graph that is made.
int launchUnobserved(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                     void *Stream, void *Buffer, int Device, uint32_t Slot);
int failArgument(const StubKernel *K, StubError Code, uint32_t Slot,
                 uint64_t Value);

/// Launches as generated code does: by the table, where observers come in.
inline int launchByTable(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                         void *Stream, void *Buffer) {
  return __atomic_load_n(&K->Table->Launch, __ATOMIC_RELAXED)(K, X, Y, Z,
                                                              Stream, Buffer);
}

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_KERNELDATA_H
