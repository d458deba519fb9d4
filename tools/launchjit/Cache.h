//===- Cache.h - What the cache commands and doctor read ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_TOOLS_CACHE_H
#define LAUNCHJIT_TOOLS_CACHE_H

#include "Tool.h"

namespace launchjit::tool {

using ListingPtr =
    std::unique_ptr<lj_cache_listing, Deleter<lj_cache_listing_delete>>;
using CacheEntryPtr =
    std::unique_ptr<lj_cache_entry, Deleter<lj_cache_entry_delete>>;

/// A listing's files; they point into it.
llvm::Expected<std::vector<lj_cache_file>>
filesOf(const lj_cache_listing &Listing);
uint64_t totalBytes(llvm::ArrayRef<lj_cache_file> Files);

/// The error says what is wrong with the entry.
llvm::Expected<CacheEntryPtr> readEntry(const lj_cache_file &File);

/// A field of a key text, such as "abi"; empty where it has none.
llvm::StringRef keyField(llvm::StringRef KeyText, llvm::StringRef Label);

/// What came of making an entry's code anew.
struct Comparison {
  enum { Same, Different, OtherBuild } Result;
  std::string Text; ///< How it differs, or of which build it is.
};
/// An error where there is no code generator.
llvm::Expected<Comparison> compareWithFreshCode(const lj_cache_entry &Entry);

/// One folder of the search.
struct CacheFolder {
  std::string Path;
  bool Own; ///< The user's; others are layers.
  /// The least recently used first.
  std::vector<lj_cache_file> Files;
  std::string Problem; ///< Why Files are not known; empty where they are.
  ListingPtr Listing;

  /// How many of Files cannot be used.
  size_t countDamaged() const;
};

/// The process's cache: its settings, and its folders in the order of the
/// search. A cache that is off is looked into all the same.
struct CacheView {
  lj_cache_info Info = sized<lj_cache_info>();
  std::vector<CacheFolder> Folders;

  static llvm::Expected<CacheView> read();

  /// As LAUNCHJIT_CACHE spells it.
  const char *mode() const;
  /// Why the user has no cache of his own; empty where he has one.
  std::string whyNone() const;
  /// The folders that cannot be read, as one error.
  llvm::Error problems() const;
};

/// Null for the empty text.
llvm::json::Value orNull(llvm::StringRef Text);

/// "2026-01-31 09:05", the local time.
std::string dateAndTime(int64_t SecondsSinceEpoch);

} // namespace launchjit::tool

#endif // LAUNCHJIT_TOOLS_CACHE_H
