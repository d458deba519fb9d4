//===- Linker.h - An object to code, by JITLink ---------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_JIT_LINKER_H
#define LAUNCHJIT_JIT_LINKER_H

#include "launchjit/JIT/CodeMemory.h"
#include "launchjit/Support/Error.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include <mutex>
#include <optional>

namespace launchjit {

/// Links one object at a time: one dylib, a tracker per stub.
class Linker {
public:
  explicit Linker(size_t SlabBytes = CodeMemory::DefaultSlabBytes);
  ~Linker();

  struct Linked {
    llvm::orc::ResourceTrackerSP Tracker; ///< Hand it to unlink.
    void *Entry;
    size_t CodeSize; ///< Bytes of executable memory.
  };
  /// Links \p Object and gives the address of \p Symbol in it. Thread-safe.
  llvm::Expected<Linked> link(llvm::ArrayRef<char> Object,
                              llvm::StringRef Symbol);
  /// Frees the code; no thread may run it. Thread-safe.
  void unlink(llvm::orc::ResourceTrackerSP Tracker);

  CodeMemory::Usage usage() const { return Memory.usage(); }

private:
  mutable std::mutex Lock;
  CodeMemory Memory;
  llvm::orc::ExecutionSession Session;
  llvm::orc::ObjectLinkingLayer Layer;
  llvm::orc::JITDylib &Dylib;
  /// What Session reported while linking: the cause of a failed look-up.
  std::optional<ErrorDetail> Reported;
  unsigned Unlinked = 0;
};

} // namespace launchjit

#endif // LAUNCHJIT_JIT_LINKER_H
