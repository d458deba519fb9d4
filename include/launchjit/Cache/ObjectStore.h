//===- ObjectStore.h - Where objects go for other processes to find -------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A store can never change a result: whatever goes wrong in one is a miss, is
// counted, and is logged once.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_CACHE_OBJECTSTORE_H
#define LAUNCHJIT_CACHE_OBJECTSTORE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace launchjit {

/// What a store did so far in this process.
struct CacheCounters {
  uint64_t Hits, Misses;
  uint64_t Stored;
  uint64_t Damaged; ///< Entries that were refused for what they hold.
  uint64_t Foreign; ///< Files and folders refused for who may write them.
  uint64_t Failed;  ///< System calls that failed, other than for absence.
  uint64_t Pruned;  ///< Entries removed.
};

class ObjectStore {
public:
  using Object = llvm::SmallVector<char, 0>;

  /// The object that was stored under this key, checked to its last byte.
  /// \p Name is the key's 32 digits. Thread-safe.
  std::optional<Object> get(llvm::StringRef Name, llvm::StringRef KeyText);
  /// Stores an object; others see all of it or nothing. Thread-safe.
  void put(llvm::StringRef Name, llvm::StringRef KeyText,
           llvm::ArrayRef<char> Object);
  /// Takes a hit back: what get() gave does not link.
  void reject(llvm::StringRef Name, llvm::Error Why);

  CacheCounters counters() const;

protected:
  ~ObjectStore() = default;

  /// Where nothing is kept, nothing is looked for or counted.
  virtual bool isOff() const { return false; }
  virtual std::optional<Object> find(llvm::StringRef Name,
                                     llvm::StringRef KeyText) = 0;
  /// False where this store does not keep it.
  virtual llvm::Expected<bool> keep(llvm::StringRef Name,
                                    llvm::ArrayRef<char> Entry) = 0;
  /// What to say of a miss beyond its key, for LAUNCHJIT_LOG=cache.
  virtual std::string explain(llvm::StringRef /*KeyText*/) { return ""; }

  /// The object in the bytes of an entry, if it is this key's. \p Where is
  /// where they came from, for the error.
  static llvm::Expected<Object> objectOf(llvm::ArrayRef<char> Entry,
                                         llvm::StringRef KeyText,
                                         const llvm::Twine &Where);
  /// Counts a failure by its kind, and logs the first of each as a warning.
  void account(llvm::Error E);

  struct {
    std::atomic<uint64_t> Hits, Misses, Stored, Damaged, Foreign, Failed,
        Pruned;
  } Counters = {};

private:
  std::atomic<bool> Said[3] = {};
};

/// A store of the host's own: bytes by name. Both functions may be called from
/// any thread and must not fork. What comes back is checked as a file would
/// be, so a store that mixes entries up costs a compile and nothing else.
struct HostStore {
  /// Hands the bytes that were put under \p Name to \p Receive, or does not
  /// call it. \p Name is 32 hexadecimal digits.
  void (*Get)(void *Context, const char *Name,
              void (*Receive)(void *To, const void *Bytes, size_t Size),
              void *To);
  /// Null for a store that is only read.
  void (*Put)(void *Context, const char *Name, const void *Bytes, size_t Size);
  void *Context;
};

/// The process's store: the host's where there is one, else
/// ObjectCache::process().
ObjectStore &processStore();
/// Null restores the cache. A thread that is using the old store may go on
/// doing so for one more launcher. Thread-safe.
void setHostStore(const HostStore *Store);

} // namespace launchjit

#endif // LAUNCHJIT_CACHE_OBJECTSTORE_H
