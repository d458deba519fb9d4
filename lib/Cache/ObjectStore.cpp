//===- ObjectStore.cpp - Where objects go for other processes to find -----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/ObjectStore.h"
#include "launchjit/Cache/Entry.h"
#include "launchjit/Cache/ObjectCache.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include <mutex>

using namespace llvm;
using namespace launchjit;

std::optional<ObjectStore::Object> ObjectStore::get(StringRef Name,
                                                    StringRef KeyText) {
  if (isOff())
    return std::nullopt;
  std::optional<Object> Found = find(Name, KeyText);
  ++(Found ? Counters.Hits : Counters.Misses);
  if (!Found && logEnabled(LogLevel::Debug, "cache"))
    log(LogLevel::Debug, "cache",
        "miss of " + Name + ", which is\n" + KeyText.rtrim() +
            explain(KeyText));
  return Found;
}

void ObjectStore::put(StringRef Name, StringRef KeyText,
                      ArrayRef<char> Object) {
  if (isOff())
    return;
  auto Kept = keep(Name, encodeEntry(KeyText, Object));
  if (!Kept)
    account(Kept.takeError());
  else if (*Kept)
    ++Counters.Stored;
}

void ObjectStore::reject(StringRef Name, Error Why) {
  --Counters.Hits;
  ++Counters.Misses;
  account(makeError(Status::Binary, "the cache entry " + Name +
                                        " is of no use: " +
                                        takeDetail(std::move(Why)).Message));
}

Expected<ObjectStore::Object> ObjectStore::objectOf(ArrayRef<char> Bytes,
                                                    StringRef KeyText,
                                                    const Twine &Where) {
  auto Entry = decodeEntry(Bytes);
  if (!Entry)
    return makeError(Status::Binary, "the cache entry " + Where +
                                         " is damaged: " +
                                         takeDetail(Entry.takeError()).Message);
  if (Entry->KeyText != KeyText)
    return makeError(Status::Binary,
                     "the cache entry " + Where + " is of another key");
  return Object(Entry->Object.begin(), Entry->Object.end());
}

CacheCounters ObjectStore::counters() const {
  return {Counters.Hits,    Counters.Misses, Counters.Stored, Counters.Damaged,
          Counters.Foreign, Counters.Failed, Counters.Pruned};
}

void ObjectStore::account(Error E) {
  ErrorDetail D = takeDetail(std::move(E));
  unsigned Kind;
  switch (D.Code) {
  case Status::NotFound:
    return;
  case Status::Binary:
    ++Counters.Damaged;
    Kind = 0;
    break;
  case Status::Unsupported:
    ++Counters.Foreign;
    Kind = 1;
    break;
  default:
    ++Counters.Failed;
    Kind = 2;
    break;
  }
  bool First = !Said[Kind].exchange(true);
  log(First ? LogLevel::Warn : LogLevel::Debug, "cache", D.Message);
}

//===----------------------------------------------------------------------===//
// The host's
//===----------------------------------------------------------------------===//

namespace {

class HostObjectStore final : public ObjectStore {
public:
  HostObjectStore(const HostStore &Host, const HostObjectStore *Before)
      : Host(Host), Before(Before) {}

protected:
  std::optional<Object> find(StringRef Name, StringRef KeyText) override {
    std::optional<Object> Entry;
    Host.Get(
        Host.Context, Name.str().c_str(),
        [](void *To, const void *Bytes, size_t Size) {
          auto *Begin = static_cast<const char *>(Bytes);
          static_cast<std::optional<Object> *>(To)->emplace(Begin,
                                                            Begin + Size);
        },
        &Entry);
    if (!Entry)
      return std::nullopt;
    auto Found = objectOf(*Entry, KeyText, Name);
    if (Found)
      return std::move(*Found);
    account(Found.takeError());
    return std::nullopt;
  }

  Expected<bool> keep(StringRef Name, ArrayRef<char> Entry) override {
    if (Host.Put)
      Host.Put(Host.Context, Name.str().c_str(), Entry.data(), Entry.size());
    return Host.Put != nullptr;
  }

private:
  const HostStore Host;
  /// Never freed, since another thread may be in it.
  [[maybe_unused]] const HostObjectStore *const Before;
};

} // namespace

static std::atomic<HostObjectStore *> TheHostStore{nullptr};

ObjectStore &launchjit::processStore() {
  if (ObjectStore *Store = TheHostStore.load(std::memory_order_acquire))
    return *Store;
  return ObjectCache::process();
}

void launchjit::setHostStore(const HostStore *Store) {
  ForkShield Shield;
  static std::mutex Lock;
  static const HostObjectStore *Last;
  std::lock_guard<std::mutex> Guard(Lock);
  HostObjectStore *New = Store ? new HostObjectStore(*Store, Last) : nullptr;
  if (New)
    Last = New;
  TheHostStore.store(New, std::memory_order_release);
}
