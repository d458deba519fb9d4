//===- Engine.h - From a canonical ABI to running code --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine looks for a stub among those alive in the process, then for its
// object in a store, and compiles one where there is none. Threads that ask for
// one key at the same time share one search and compile. It works before, after
// and during fork().
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_JIT_ENGINE_H
#define LAUNCHJIT_JIT_ENGINE_H

#include "launchjit/Cache/ObjectStore.h"
#include "launchjit/Codegen/Request.h"
#include "launchjit/JIT/Key.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include <atomic>
#include <functional>
#include <memory>

namespace launchjit {

/// Where a launcher came from. The values are those of lj_origin.
enum class Origin { Memory = 0, Cache = 1, Compiled = 2, Interpreted = 3 };

llvm::StringRef originName(Origin O);

class EngineImpl;

/// Linked code for one key. It stays mapped while a reference lives; after
/// that the engine keeps it for the next who asks, up to a bound.
class Stub {
public:
  void *entry() const { return Entry; }
  const Key &key() const { return TheKey; }
  /// 0 for one from the store.
  uint64_t compileNs() const { return CompileNs; }
  /// Reading it from the store included.
  uint64_t linkNs() const { return LinkNs; }
  size_t objectSize() const { return ObjectSize; }
  size_t codeSize() const { return CodeSize; }

  void Retain() const;
  void Release() const;

private:
  friend class EngineImpl;
  Stub(EngineImpl &Owner, Key K) : Owner(Owner), TheKey(K) {}

  EngineImpl &Owner;
  Key TheKey;
  void *Entry = nullptr;
  uint64_t CompileNs = 0, LinkNs = 0;
  size_t ObjectSize = 0, CodeSize = 0;
  mutable std::atomic<unsigned> References{0};
};

using StubRef = llvm::IntrusiveRefCntPtr<const Stub>;

struct EngineOptions {
  /// Unused stubs that are kept linked for the next who asks.
  size_t MaxUnused = 1024;
  /// Where objects are looked for and kept; asked anew for each. Empty for
  /// nowhere.
  std::function<ObjectStore &()> Store = {};
  /// What makes an object; tests put their own here.
  std::function<llvm::Expected<llvm::SmallVector<char, 0>>(const StubRequest &)>
      Compile = compileStub;
};

class Engine {
public:
  /// The process's engine, with processStore(): made on first use, never
  /// destroyed.
  static Engine &process();

  explicit Engine(EngineOptions Options = {});
  /// No stub may be in use any more.
  ~Engine();

  struct Found {
    StubRef TheStub;
    Origin From;
  };

  /// The stub of an ABI, contract and entry. An error is Status::Unsupported
  /// where this process may not have executable memory or there is no code
  /// generator. Thread-safe.
  llvm::Expected<Found> getStub(const ABI &A, EntryKind Entry,
                                llvm::StringRef Contract = "launchjit");

  /// Frees what is over the new bound. Thread-safe.
  void setMaxUnused(size_t N);

  /// Tries whether this process may have executable memory.
  static llvm::Error checkExecutableMemory();

  struct Statistics {
    size_t Alive;     ///< Stubs that somebody uses.
    size_t Unused;    ///< Stubs kept for the next.
    size_t Compiled;  ///< Objects made so far.
    size_t Loaded;    ///< Objects that came from the store.
    size_t Freed;     ///< Stubs whose code is gone.
    size_t CodeBytes; ///< Executable memory that stubs take.
    size_t Slabs;     ///< Pairs of mappings that hold it.
  };
  Statistics statistics() const;

private:
  std::unique_ptr<EngineImpl> Impl;
};

} // namespace launchjit

#endif // LAUNCHJIT_JIT_ENGINE_H
