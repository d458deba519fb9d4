//===- Replay.h - A launch that was saved, again --------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What LAUNCHJIT_DEBUG=dump=DIR leaves (DumpObserver.cpp):
//
//   DIR/<process>-<number>-<kernel>/launch.json     see DumpObserver::save
//                                   arguments.bin   the packed parameters
//                                   buffer-<n>.bin  an allocation, whole
//   DIR/modules/<xxh3-128>.cubin, .ptx, .fatbin     shared by the launches
//
// A launch's folder gets its name when it is complete. A folder that is handed
// on alone may have the module's file in it. Nothing of it is trusted.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_REPLAY_H
#define LAUNCHJIT_LAUNCH_REPLAY_H

#include "launchjit/Launch/Kernel.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace launchjit {

inline constexpr char DumpFormat[] = "launchjit-dump";
inline constexpr int64_t DumpVersion = 1;
inline constexpr char DumpedLaunchName[] = "launch.json";
inline constexpr char DumpedArgumentsName[] = "arguments.bin";

/// What the file of a module is called.
std::string dumpedModuleName(llvm::ArrayRef<uint8_t> Bytes, BinaryFormat F);

struct ReplayOptions {
  int Device = -1; ///< Negative: the one that it ran on.
  /// Buffers that were not saved are zeros, and pointers into none, and tensor
  /// maps, are passed as they are.
  bool Force = false;
};

/// One saved launch. Not thread-safe.
class Replay {
public:
  /// Reads and checks a launch's folder; needs no driver.
  static llvm::Expected<std::unique_ptr<Replay>> open(llvm::StringRef Path);
  ~Replay();

  struct Buffer {
    uint64_t Address, Size; ///< When it was saved.
    std::string File;       ///< Empty where it was not saved.
    std::unique_ptr<llvm::MemoryBuffer> Before;
    std::vector<char> After; ///< Empty before a run.
    uint64_t BytesChanged = 0, FirstChanged = 0;
    CUdeviceptr Now = 0;
  };

  /// Fills the buffers anew, launches, waits, reads the buffers. Nanoseconds
  /// of the launch by the driver's events.
  llvm::Expected<uint64_t> run(const ReplayOptions &Options);

  llvm::StringRef json() const { return JSON; }
  llvm::ArrayRef<Buffer> buffers() const { return Buffers; }
  /// What cannot be repeated and was left out, a line each.
  llvm::StringRef notes() const { return Notes; }

private:
  Replay() = default;
  llvm::Error read(llvm::StringRef Path);
  llvm::Error prepare(const ReplayOptions &Options);
  llvm::Error relocate(bool Force);
  llvm::Expected<uint64_t> launch();
  llvm::Error allocate(CUdeviceptr &To, uint64_t Size);

  std::string Path, JSON, Notes, KernelName;
  llvm::SmallVector<uint64_t> Arguments; ///< As saved.
  llvm::SmallVector<uint64_t> Relocated;
  size_t ArgumentsSize = 0;
  std::vector<Buffer> Buffers;
  std::optional<Signature> Sig;
  KernelOptions Options;
  uint64_t ScratchSize[2] = {0, 0};
  int64_t Grid[3];
  std::string ModuleName; ///< Empty where the host owned the function.
  const Driver *Drv = nullptr;
  CUcontext Context = nullptr;
  KernelRef K;
  std::vector<CUdeviceptr> Allocated;
};

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_REPLAY_H
