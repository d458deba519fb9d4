//===- ObjectCache.h - Objects that outlive the process -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cache is a folder with a file for each entry, named by its key. Entries
// are code, so they are read only from where nobody but root and the user can
// write. Read-only layers (an image ships a warm one) stand before the user's
// own cache.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_CACHE_OBJECTCACHE_H
#define LAUNCHJIT_CACHE_OBJECTCACHE_H

#include "launchjit/Cache/CacheOptions.h"
#include "launchjit/Cache/ObjectStore.h"
#include <string>
#include <vector>

namespace launchjit {

/// One file of a cache.
struct CacheFile {
  std::string Directory;
  std::string FileName;
  uint64_t Bytes;
  int64_t LastUsed; ///< Seconds since the epoch, to within an hour.

  /// The key's 32 digits; empty for a temporary, which is an entry that is
  /// being written, or that nobody writes any more.
  llvm::StringRef name() const;
};

/// Thread-safe.
class ObjectCache final : public ObjectStore {
public:
  explicit ObjectCache(CacheOptions Options) : Options(std::move(Options)) {}

  /// The process's cache: made from the environment on first use.
  static ObjectCache &process();

  const CacheOptions &options() const { return Options; }

  /// The folders that get() searches, in its order.
  std::vector<std::string> searchPath() const;
  /// The entries and temporaries of a folder; none where it does not exist, an
  /// error where it cannot be read or is refused.
  llvm::Expected<std::vector<CacheFile>> list(llvm::StringRef Directory) const;
  /// An entry's bytes behind a header that fits them, the rest unchecked; an
  /// error where it cannot be read or is refused, and Status::Binary for
  /// another header.
  llvm::Expected<Object> read(llvm::StringRef Directory,
                              llvm::StringRef Name) const;

  /// What prune() and clear() removed, or would remove.
  struct Removed {
    std::vector<CacheFile> Entries;
    uint64_t Temporaries = 0;
    bool Busy = false; ///< Another process was pruning, so nothing was done.
  };
  /// Removes from the user's own cache what was not used for the longest time
  /// until at most \p MaxBytes are left, and temporaries that nobody writes
  /// any more.
  llvm::Expected<Removed> prune(uint64_t MaxBytes, bool DryRun = false);
  /// Removes every entry and temporary.
  llvm::Expected<Removed> clear(bool DryRun = false);

private:
  bool isOff() const override { return Options.Mode == CacheMode::Off; }
  std::optional<Object> find(llvm::StringRef Name,
                             llvm::StringRef KeyText) override;
  llvm::Expected<bool> keep(llvm::StringRef Name,
                            llvm::ArrayRef<char> Entry) override;
  std::string explain(llvm::StringRef KeyText) override;

  llvm::Expected<Object> findIn(const std::string &Directory,
                                llvm::StringRef Name,
                                llvm::StringRef KeyText) const;
  llvm::Expected<int> openDirectory(const std::string &Directory) const;
  llvm::Expected<int> openOrMakeOwn() const;
  llvm::Expected<Object> readFile(int Dir, llvm::StringRef Name,
                                  const llvm::Twine &Where, bool Touch) const;
  llvm::Error publish(llvm::StringRef Name, llvm::ArrayRef<char> Entry) const;

  struct Limits {
    uint64_t Above;   ///< Bytes from which on entries are removed...
    uint64_t DownTo;  ///< ...until so many are left.
    int64_t StaleAge; ///< Temporaries older than this go. Seconds.
    bool All = false; ///< Everything goes, even what has no bytes.
  };
  llvm::Expected<Removed> sweep(const Limits &L, bool DryRun);
  void sweepNowAndThen();

  const CacheOptions Options;
  std::atomic<uint64_t> Puts{0};
};

} // namespace launchjit

#endif // LAUNCHJIT_CACHE_OBJECTCACHE_H
