//===- Cache.cpp - The object cache for C ---------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "launchjit/Cache/Entry.h"
#include "launchjit/Cache/ObjectCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace launchjit;

#define SAME(C, CXX) static_assert(int(C) == int(CXX))
SAME(LJ_CACHE_OFF, CacheMode::Off);
SAME(LJ_CACHE_READ_ONLY, CacheMode::ReadOnly);
SAME(LJ_CACHE_READ_WRITE, CacheMode::ReadWrite);
#undef SAME

struct lj_cache_listing {
  std::vector<CacheFile> Files;   ///< Entries only.
  std::vector<std::string> Paths; ///< Parallel to them.

  static lj_cache_listing *create(std::vector<CacheFile> Files) {
    auto L = std::make_unique<lj_cache_listing>();
    for (CacheFile &F : Files)
      if (!F.name().empty()) {
        L->Paths.push_back(F.Directory + "/" + F.FileName);
        L->Files.push_back(std::move(F));
      }
    return L.release();
  }
};

struct lj_cache_entry {
  ObjectStore::Object Bytes;
  DecodedEntry Entry; ///< Points into them.
};

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

lj_error *lj_cache_get_info(lj_cache_info *info) {
  LJ_REQUIRE_STRUCT(lj_cache_info, info);
  const CacheOptions &O = ObjectCache::process().options();
  lj_cache_info Info = {};
  Info.mode = static_cast<lj_cache_mode>(O.Mode);
  Info.directory = toC(StringRef(O.Directory));
  Info.num_layers = O.Layers.size();
  Info.max_bytes = O.MaxBytes;
  fillStruct(info, Info);
  return nullptr;
}

lj_error *lj_cache_layer(size_t index, lj_string *directory) {
  LJ_REQUIRE(directory);
  const auto &Layers = ObjectCache::process().options().Layers;
  LJ_REQUIRE_INDEX(index, Layers.size());
  *directory = toC(StringRef(Layers[index]));
  return nullptr;
}

lj_error *lj_cache_get_stats(lj_cache_stats *stats) {
  LJ_REQUIRE_STRUCT(lj_cache_stats, stats);
  const CacheCounters N = processStore().counters();
  fillStruct(stats, lj_cache_stats{0, N.Hits, N.Misses, N.Stored, N.Damaged,
                                   N.Foreign, N.Failed, N.Pruned});
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Its files
//===----------------------------------------------------------------------===//

size_t lj_cache_listing_size(const lj_cache_listing *listing) {
  return listing ? listing->Files.size() : 0;
}

lj_error *lj_cache_listing_get(const lj_cache_listing *listing, size_t index,
                               lj_cache_file *file) {
  LJ_REQUIRE(listing);
  LJ_REQUIRE_STRUCT(lj_cache_file, file);
  LJ_REQUIRE_INDEX(index, listing->Files.size());
  const CacheFile &F = listing->Files[index];
  fillStruct(file, lj_cache_file{0, toC(StringRef(F.Directory)),
                                 toC(StringRef(listing->Paths[index])),
                                 toC(F.name()), F.Bytes, F.LastUsed});
  return nullptr;
}

void lj_cache_listing_delete(lj_cache_listing *listing) { delete listing; }

lj_error *lj_cache_list(const char *directory, size_t directory_size,
                        lj_cache_listing **listing) {
  LJ_REQUIRE_ARRAY(directory, directory_size);
  LJ_REQUIRE(listing);
  const ObjectCache &Cache = ObjectCache::process();
  std::vector<std::string> Directories = Cache.searchPath();
  if (directory_size)
    Directories = {std::string(directory, directory_size)};
  std::vector<CacheFile> All;
  for (const std::string &Directory : Directories) {
    auto Files = Cache.list(Directory);
    if (!Files)
      return toC(Files.takeError());
    All.insert(All.end(), Files->begin(), Files->end());
  }
  *listing = lj_cache_listing::create(std::move(All));
  return nullptr;
}

static lj_error *giveRemoved(Expected<ObjectCache::Removed> R,
                             lj_cache_listing **removed,
                             size_t *num_temporaries) {
  if (!R)
    return toC(R.takeError());
  if (R->Busy)
    return toC(makeError(Status::Unsupported,
                         "another process is pruning the cache just now, so "
                         "nothing was removed; try again"));
  if (num_temporaries)
    *num_temporaries = R->Temporaries;
  if (removed)
    *removed = lj_cache_listing::create(std::move(R->Entries));
  return nullptr;
}

lj_error *lj_cache_prune(uint64_t max_bytes, int dry_run,
                         lj_cache_listing **removed, size_t *num_temporaries) {
  return giveRemoved(ObjectCache::process().prune(max_bytes, dry_run), removed,
                     num_temporaries);
}

lj_error *lj_cache_clear(int dry_run, lj_cache_listing **removed,
                         size_t *num_temporaries) {
  return giveRemoved(ObjectCache::process().clear(dry_run), removed,
                     num_temporaries);
}

lj_error *lj_parse_cache_size(const char *text, size_t size, uint64_t *bytes) {
  LJ_REQUIRE_ARRAY(text, size);
  LJ_REQUIRE(bytes);
  auto Size = parseCacheSize(StringRef(text, size));
  if (!Size)
    return toC(Size.takeError());
  *bytes = *Size;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// One entry
//===----------------------------------------------------------------------===//

lj_error *lj_cache_entry_read(const char *path, size_t path_size,
                              lj_cache_entry **entry) {
  LJ_REQUIRE_ARRAY(path, path_size);
  LJ_REQUIRE(entry);
  StringRef Path(path, path_size);
  CacheFile File{sys::path::parent_path(Path).str(),
                 sys::path::filename(Path).str(), 0, 0};
  if (File.Directory.empty())
    File.Directory = ".";
  if (File.name().empty())
    return invalid(__func__, "path is '" + Path +
                                 "', which is no name of an entry: 32 digits "
                                 "and .stub");
  auto Bytes = ObjectCache::process().read(File.Directory, File.name());
  if (!Bytes)
    return toC(Bytes.takeError());
  auto E = std::make_unique<lj_cache_entry>();
  E->Bytes = std::move(*Bytes);
  auto Damaged = [&](const Twine &What) {
    return toC(makeError(Status::Binary,
                         "the cache entry " + Path + " is damaged: " + What));
  };
  auto Entry = decodeEntry(E->Bytes);
  if (!Entry)
    return Damaged(takeDetail(Entry.takeError()).Message);
  if (Key::hash(Entry->KeyText).str() != File.name())
    return Damaged("its key is that of " + Key::hash(Entry->KeyText).str());
  E->Entry = *Entry;
  *entry = E.release();
  return nullptr;
}

void lj_cache_entry_delete(lj_cache_entry *entry) { delete entry; }

lj_string lj_cache_entry_key_text(const lj_cache_entry *entry) {
  return entry ? toC(entry->Entry.KeyText) : lj_string{nullptr, 0};
}

lj_string lj_cache_entry_object(const lj_cache_entry *entry) {
  return entry ? toC(StringRef(entry->Entry.Object.data(),
                               entry->Entry.Object.size()))
               : lj_string{nullptr, 0};
}

lj_error *lj_cache_entry_header(const lj_cache_entry *entry, uint32_t *format,
                                char checksum[33]) {
  LJ_REQUIRE(entry);
  LJ_REQUIRE(format);
  LJ_REQUIRE(checksum);
  EntryHeader H;
  std::memcpy(&H, entry->Bytes.data(), sizeof H);
  *format = H.Format;
  std::string Digits = Key{H.ChecksumHigh, H.ChecksumLow}.str();
  std::memcpy(checksum, Digits.c_str(), Digits.size() + 1);
  return nullptr;
}

lj_error *lj_cache_entry_recompile(const lj_cache_entry *entry,
                                   lj_stub_output output, lj_buffer *bytes) {
  LJ_REQUIRE(entry);
  LJ_REQUIRE_OUTPUT(output);
  LJ_REQUIRE(bytes);
  auto Code = emitStub(entry->Entry.KeyText, static_cast<StubOutput>(output));
  if (!Code)
    return toC(Code.takeError());
  return toC(StringRef(Code->data(), Code->size()), bytes);
}

//===----------------------------------------------------------------------===//
// The host's own
//===----------------------------------------------------------------------===//

lj_error *lj_set_cache_store(const lj_cache_store *store) {
  if (!store) {
    setHostStore(nullptr);
    return nullptr;
  }
  LJ_REQUIRE_STRUCT(lj_cache_store, store);
  const lj_cache_store S = readStruct(store);
  if (!S.get)
    return invalid(__func__, "store->get is null");
  const HostStore Host{S.get, S.put, S.context};
  setHostStore(&Host);
  return nullptr;
}
