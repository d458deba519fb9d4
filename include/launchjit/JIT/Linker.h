//===- Linker.h - An object to code, by JITLink ---------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rationale. This is JITLink, the linker below ORC, without ORC's session. A
// stub has no symbol to look up and no relocation to apply, so a dylib, a
// resource tracker and a materialisation would only cost: measured, 30 us a
// stub with an ExecutionSession and an ObjectLinkingLayer, a third without.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_JIT_LINKER_H
#define LAUNCHJIT_JIT_LINKER_H

#include "launchjit/JIT/CodeMemory.h"

namespace launchjit {

/// Links objects into code memory of its own. Thread-safe.
class Linker {
public:
  explicit Linker(size_t SlabBytes = CodeMemory::DefaultSlabBytes)
      : Memory(SlabBytes) {}

  struct Linked {
    llvm::jitlink::JITLinkMemoryManager::FinalizedAlloc
        Code; ///< Owed to unlink.
    void *Entry;
    size_t CodeSize; ///< Bytes of executable memory.
  };
  /// Links \p Object and gives the address of \p Symbol in it. An error is
  /// Status::Unsupported where executable memory is refused.
  llvm::Expected<Linked> link(llvm::ArrayRef<char> Object,
                              llvm::StringRef Symbol);
  /// Frees the code; no thread may run it.
  void unlink(llvm::jitlink::JITLinkMemoryManager::FinalizedAlloc Code);

  CodeMemory::Usage usage() const { return Memory.usage(); }

private:
  CodeMemory Memory;
};

} // namespace launchjit

#endif // LAUNCHJIT_JIT_LINKER_H
