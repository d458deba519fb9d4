//===- Engine.cpp - From a canonical ABI to running code ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/Engine.h"
#include "launchjit/JIT/DebugSupport.h"
#include "launchjit/JIT/Linker.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "launchjit/Support/Trace.h"
#include "llvm/ADT/DenseMap.h"
#include <condition_variable>
#include <list>
#include <optional>

using namespace llvm;
using namespace launchjit;

StringRef launchjit::originName(Origin O) {
  static constexpr StringLiteral Names[] = {"memory", "cache", "compiled",
                                            "interpreted"};
  return Names[static_cast<unsigned>(O)];
}

namespace launchjit {

/// All of it runs behind a ForkShield, so that a child finds the locks free
/// and nobody waiting.
class EngineImpl {
public:
  explicit EngineImpl(EngineOptions Options) : Options(std::move(Options)) {}
  ~EngineImpl() {
    for (auto &[K, E] : Entries) {
      assert(E.TheStub && !E.TheStub->References && "a stub is still in use");
      delete E.TheStub;
      E.Debug.reset();
      TheLinker.unlink(std::move(E.Code));
    }
  }

  Expected<Engine::Found> get(const ABI &A, EntryKind Entry,
                              StringRef Contract);
  void setMaxUnused(size_t N);
  void release(const Stub &S);
  Engine::Statistics statistics() const;

private:
  using FinalizedAlloc = jitlink::JITLinkMemoryManager::FinalizedAlloc;

  /// One key: being made while TheStub is null.
  struct Entry {
    Stub *TheStub = nullptr;
    FinalizedAlloc Code;
    std::unique_ptr<DebugRegistration> Debug;
    /// Where it stands in Unused, if nobody has it.
    std::optional<std::list<Key>::iterator> Place;
  };

  struct Made {
    std::unique_ptr<Stub> TheStub;
    FinalizedAlloc Code;
    std::unique_ptr<DebugRegistration> Debug;
    ObjectStore::Object Object;
  };
  /// What a stub is made of.
  struct Wanted {
    const ABI &A;
    EntryKind Kind;
    StringRef Contract, KeyText;
    Key K;
    std::string Name, Symbol;
  };
  static void traceStep(const Wanted &W, StringRef Step, uint64_t Start);
  /// None where the store has no such object. An error is Unsupported.
  Expected<std::optional<Made>> load(const Wanted &W, ObjectStore &Store);
  Expected<Made> compile(const Wanted &W);
  Expected<Made> link(const Wanted &W, ObjectStore::Object Object);
  /// Frees what is over the bound; Lock is held.
  void evict();

  EngineOptions Options;
  Linker TheLinker;
  mutable std::mutex Lock;
  std::condition_variable Changed;
  DenseMap<Key, Entry> Entries;
  std::list<Key> Unused; ///< Least recently used first.
  bool Refused = false;  ///< The last that was made was Unsupported.
  size_t Compiled = 0, Loaded = 0, Freed = 0;
};

} // namespace launchjit

/// Adds one step of a build, which ends now, to the trace.
void EngineImpl::traceStep(const Wanted &W, StringRef Step, uint64_t Start) {
  if (isTracing())
    trace("build", Step, Start, nowNs(), [&](json::OStream &J) {
      J.attribute("abi", W.A.str());
      J.attribute("entry", entryName(W.Kind));
      J.attribute("key", W.Name);
    });
}

Expected<EngineImpl::Made> EngineImpl::link(const Wanted &W,
                                            ObjectStore::Object Object) {
  uint64_t Start = nowNs();
  auto Linked = TheLinker.link(Object, W.Symbol);
  if (!Linked)
    return Linked.takeError();
  std::unique_ptr<Stub> S(new Stub(*this, W.K));
  S->Entry = Linked->Entry;
  S->LinkNs = nowNs() - Start;
  S->ObjectSize = Object.size();
  S->CodeSize = Linked->CodeSize;
  traceStep(W, "link", Start);
  auto Debug = registerForDebugging(
      Object, W.Symbol,
      ArrayRef(static_cast<const char *>(Linked->Entry), Linked->CodeSize));
  return Made{std::move(S), std::move(Linked->Code), std::move(Debug),
              std::move(Object)};
}

Expected<std::optional<EngineImpl::Made>> EngineImpl::load(const Wanted &W,
                                                           ObjectStore &Store) {
  uint64_t Start = nowNs();
  auto Object = Store.get(W.Name, W.KeyText);
  traceStep(W, Object ? "cache hit" : "cache miss", Start);
  if (!Object)
    return std::nullopt;
  auto M = link(W, std::move(*Object));
  if (M) {
    M->TheStub->LinkNs = nowNs() - Start;
    return std::move(*M);
  }
  // Refused memory is not the entry's fault, and would be refused again.
  ErrorDetail Why = takeDetail(M.takeError());
  if (Why.Code == Status::Unsupported)
    return makeError(std::move(Why));
  Store.reject(W.Name, makeError(std::move(Why)));
  return std::nullopt;
}

Expected<EngineImpl::Made> EngineImpl::compile(const Wanted &W) {
  std::string ABIText = W.A.str();
  StubRequest R;
  R.ABI = ABIText;
  R.Entry = W.Kind;
  R.Contract = W.Contract;
  R.Symbol = W.Symbol;
  uint64_t Start = nowNs();
  auto Object = Options.Compile(R);
  if (!Object)
    return Object.takeError();
  uint64_t CompileNs = nowNs() - Start;
  traceStep(W, "compile", Start);
  auto M = link(W, std::move(*Object));
  if (M)
    M->TheStub->CompileNs = CompileNs;
  return M;
}

Expected<Engine::Found> EngineImpl::get(const ABI &A, EntryKind Kind,
                                        StringRef Contract) {
  if (Error E = checkContract(Contract))
    return std::move(E);
  std::string KeyText = KeyFields::get(A, Kind, Contract).text();
  Key K = Key::hash(KeyText);
  ForkShield Shield;
  std::unique_lock<std::mutex> Guard(Lock);
  for (;;) {
    auto [It, Inserted] = Entries.try_emplace(K);
    if (Inserted)
      break;
    Entry &E = It->second;
    if (E.TheStub) {
      if (E.Place) {
        Unused.erase(*E.Place);
        E.Place.reset();
      }
      return Engine::Found{StubRef(E.TheStub), Origin::Memory};
    }
    Changed.wait(Guard); // another thread makes it; if it fails, we try
  }

  bool Probe = Refused;
  Guard.unlock();
  const Wanted W{A, Kind, Contract, KeyText, K, K.str(), stubSymbol(Kind, K)};
  ObjectStore *Store = Options.Store ? &Options.Store() : nullptr;
  Origin From = Origin::Cache;
  auto M = [&]() -> Expected<Made> {
    // What was refused a moment ago is tried before it is compiled for.
    if (Probe)
      if (Error E = CodeMemory::check())
        return std::move(E);
    if (Store) {
      auto M = load(W, *Store);
      if (!M)
        return M.takeError();
      if (*M)
        return std::move(**M);
    }
    From = Origin::Compiled;
    return compile(W);
  }();
  Guard.lock();
  Changed.notify_all();
  if (!M) {
    Entries.erase(K);
    ErrorDetail Why = takeDetail(M.takeError());
    Refused = Why.Code == Status::Unsupported;
    return makeError(std::move(Why));
  }
  Refused = false;
  ++(From == Origin::Cache ? Loaded : Compiled);
  Entry &E = Entries[K];
  E.TheStub = M->TheStub.release();
  E.Code = std::move(M->Code);
  E.Debug = std::move(M->Debug);
  Engine::Found Result{StubRef(E.TheStub), From};
  Guard.unlock();
  if (Store && From == Origin::Compiled)
    Store->put(W.Name, W.KeyText, M->Object); // nobody waits for this
  return Result;
}

void EngineImpl::setMaxUnused(size_t N) {
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  Options.MaxUnused = N;
  evict();
}

void EngineImpl::release(const Stub &S) {
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  // Only here does a count become 0, and only get(), under the same lock,
  // makes it more than 0 again.
  if (S.References.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  Unused.push_back(S.TheKey);
  Entries[S.TheKey].Place = std::prev(Unused.end());
  evict();
}

void EngineImpl::evict() {
  while (Unused.size() > Options.MaxUnused) {
    auto It = Entries.find(Unused.front());
    delete It->second.TheStub;
    It->second.Debug.reset();
    TheLinker.unlink(std::move(It->second.Code));
    Entries.erase(It);
    Unused.pop_front();
    ++Freed;
  }
}

Engine::Statistics EngineImpl::statistics() const {
  ForkShield Shield;
  CodeMemory::Usage U = TheLinker.usage();
  std::lock_guard<std::mutex> Guard(Lock);
  return {Entries.size() - Unused.size(),
          Unused.size(),
          Compiled,
          Loaded,
          Freed,
          U.Bytes,
          U.Slabs};
}

void Stub::Retain() const {
  References.fetch_add(1, std::memory_order_relaxed);
}

void Stub::Release() const {
  unsigned N = References.load(std::memory_order_relaxed);
  while (N > 1)
    if (References.compare_exchange_weak(N, N - 1, std::memory_order_acq_rel))
      return;
  Owner.release(*this);
}

Engine::Engine(EngineOptions Options)
    : Impl(std::make_unique<EngineImpl>(std::move(Options))) {}
Engine::~Engine() = default;

Engine &Engine::process() {
  ForkShield Shield;
  static Engine *E = [] {
    EngineOptions Options;
    Options.Store = processStore;
    return new Engine(std::move(Options));
  }();
  return *E;
}

Expected<Engine::Found> Engine::getStub(const ABI &A, EntryKind Entry,
                                        StringRef Contract) {
  return Impl->get(A, Entry, Contract);
}

Engine::Statistics Engine::statistics() const { return Impl->statistics(); }

void Engine::setMaxUnused(size_t N) { Impl->setMaxUnused(N); }

Error Engine::checkExecutableMemory() { return CodeMemory::check(); }
