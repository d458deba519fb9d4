//===- CodeMemory.h - Executable memory for many small stubs --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stubs are packed into slabs. A slab is one memfd, mapped writable here and
// executable there: W^X holds, it works where the kernel denies making a page
// executable later (PR_SET_MDWE), and a stub costs no mapping of its own.
//
// Such memory stays shared after fork. So parent and child both retire every
// slab made before it: what is in there keeps running and is never written or
// reused again.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_JIT_CODEMEMORY_H
#define LAUNCHJIT_JIT_CODEMEMORY_H

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace launchjit {

/// Gives JITLink the memory of stubs: graphs of one executable segment and
/// nothing else. Thread-safe.
class CodeMemory : public llvm::jitlink::JITLinkMemoryManager {
public:
  static constexpr size_t DefaultSlabBytes = size_t(2) << 20;

  explicit CodeMemory(size_t SlabBytes = DefaultSlabBytes);
  ~CodeMemory() override;

  void allocate(const llvm::jitlink::JITLinkDylib *JD,
                llvm::jitlink::LinkGraph &G,
                OnAllocatedFunction OnAllocated) override;
  void deallocate(std::vector<FinalizedAlloc> Allocs,
                  OnDeallocatedFunction OnDeallocated) override;
  using JITLinkMemoryManager::allocate;
  using JITLinkMemoryManager::deallocate;

  /// The bytes of executable memory that an allocation has.
  static size_t sizeOf(const FinalizedAlloc &A);

  struct Usage {
    size_t Bytes; ///< That stubs take.
    size_t Slabs; ///< Each two mappings.
  };
  Usage usage() const;

  /// Tries whether this process may have executable memory; the error is
  /// Status::Unsupported and says what refused it.
  static llvm::Error check();

private:
  class Slab;
  class InFlight;
  /// A piece of a slab that one stub has.
  struct Range {
    Slab *Owner;
    size_t Offset, Size;
    bool Reused; ///< It had other code before.
  };

  llvm::Expected<Range> take(size_t Size);
  void giveBack(const Range &R);

  const size_t SlabBytes;
  mutable std::mutex Lock;
  std::vector<std::unique_ptr<Slab>> Slabs;
};

} // namespace launchjit

#endif // LAUNCHJIT_JIT_CODEMEMORY_H
