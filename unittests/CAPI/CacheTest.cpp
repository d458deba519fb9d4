//===- CacheTest.cpp - The object cache through the C interface -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rerun.h"
#include "CAPITest.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <map>
#include <mutex>
#include <set>

using namespace capitest;
using namespace launchjit;
using testing::HasSubstr;

namespace {

using Listing =
    std::unique_ptr<lj_cache_listing, Deleter<lj_cache_listing_delete>>;
using Entry = std::unique_ptr<lj_cache_entry, Deleter<lj_cache_entry_delete>>;

Launcher launcher(const char *Text, lj_entry_kind Kind = LJ_ENTRY_PACKED) {
  lj_launcher *L = nullptr;
  EXPECT_OK(lj_launcher_create(parse(Text).get(), Kind, nullptr, &L));
  return Launcher(L);
}

lj_launcher_info infoOf(const Launcher &L) {
  lj_launcher_info Info = sized<lj_launcher_info>();
  EXPECT_OK(lj_launcher_get_info(L.get(), &Info));
  return Info;
}

lj_cache_stats stats() {
  lj_cache_stats S = sized<lj_cache_stats>();
  EXPECT_OK(lj_cache_get_stats(&S));
  return S;
}

Listing list() {
  lj_cache_listing *L = nullptr;
  EXPECT_OK(lj_cache_list(nullptr, 0, &L));
  return Listing(L);
}

lj_cache_file fileAt(const Listing &L, size_t Index) {
  lj_cache_file F = sized<lj_cache_file>();
  EXPECT_OK(lj_cache_listing_get(L.get(), Index, &F));
  return F;
}

/// Runs the calling test in a process that has an empty cache of its own.
void rerunWithCache() {
  llvm::SmallString<128> Root;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("launchjit-test", Root));
  Exited E =
      rerun({"LAUNCHJIT_CACHE=rw",
             "LAUNCHJIT_CACHE_DIR=" + Root.str().str() + "/cache",
             "LAUNCHJIT_CACHE_PATH=/absent", "LAUNCHJIT_CACHE_MAX_SIZE=1M"});
  EXPECT_EQ(E.Status, 0) << E.Output;
  llvm::sys::fs::remove_directories(Root);
}

//===----------------------------------------------------------------------===//
// The cache on disk
//===----------------------------------------------------------------------===//

TEST(CAPICache, TellsHowItIsSetUp) {
  if (!isRerun())
    return rerunWithCache();
  lj_cache_info Info = sized<lj_cache_info>();
  EXPECT_OK(lj_cache_get_info(&Info));
  EXPECT_EQ(Info.mode, LJ_CACHE_READ_WRITE);
  EXPECT_THAT(str(Info.directory), HasSubstr("/cache"));
  EXPECT_EQ(Info.max_bytes, 1u << 20);
  ASSERT_EQ(Info.num_layers, 1u);
  lj_string Layer;
  EXPECT_OK(lj_cache_layer(0, &Layer));
  EXPECT_EQ(str(Layer), "/absent");
  EXPECT_INVALID(lj_cache_layer(1, &Layer), "index is 1, but there are only 1");
  Info.struct_size = 8;
  EXPECT_INVALID(lj_cache_get_info(&Info), "struct_size is 8");
}

TEST(CAPICache, EntriesAreListedReadAndRemoved) {
  if (!isRerun())
    return rerunWithCache();
  if (Error NoJIT{lj_jit_check()})
    return;
  EXPECT_EQ(lj_cache_listing_size(list().get()), 0u); // no folder yet
  launcher("*fp32, i32");
  launcher("*fp32, i32", LJ_ENTRY_C);
  EXPECT_EQ(stats().stored, 2u);
  EXPECT_EQ(stats().misses, 2u);
  Listing L = list();
  ASSERT_EQ(lj_cache_listing_size(L.get()), 2u);
  std::set<std::string> Texts;
  for (size_t I : {0, 1}) {
    lj_cache_file F = fileAt(L, I);
    EXPECT_EQ(str(F.path), str(F.directory) + "/" + str(F.key) + ".stub");
    lj_cache_entry *Raw = nullptr;
    EXPECT_OK(lj_cache_entry_read(F.path.data, F.path.size, &Raw));
    Entry E(Raw);
    lj_string Text = lj_cache_entry_key_text(Raw);
    lj_string Object = lj_cache_entry_object(Raw);
    Texts.insert(str(Text));
    EXPECT_EQ(F.bytes, 40 + Text.size + Object.size);
    uint32_t Format = 0;
    char Checksum[33];
    EXPECT_OK(lj_cache_entry_header(Raw, &Format, Checksum));
    EXPECT_EQ(Format, 1u);
    EXPECT_EQ(std::strlen(Checksum), 32u);
    lj_buffer Fresh;
    EXPECT_OK(lj_cache_entry_recompile(Raw, LJ_STUB_OBJECT, &Fresh));
    EXPECT_EQ(take(Fresh), str(Object));
    EXPECT_OK(lj_cache_entry_recompile(Raw, LJ_STUB_ASSEMBLY, &Fresh));
    EXPECT_THAT(take(Fresh), HasSubstr("lj_"));
    EXPECT_INVALID(lj_cache_entry_recompile(Raw, lj_stub_output(9), &Fresh),
                   "output is 9");
  }
  EXPECT_EQ(Texts.size(), 2u);
  EXPECT_INVALID(lj_cache_listing_get(L.get(), 2, nullptr), "file is null");
  lj_cache_file F = sized<lj_cache_file>();
  EXPECT_INVALID(lj_cache_listing_get(L.get(), 2, &F), "only 2");

  lj_cache_listing *Removed = nullptr;
  size_t Temporaries = 9;
  EXPECT_OK(lj_cache_prune(0, /*dry_run=*/1, &Removed, &Temporaries));
  EXPECT_EQ(lj_cache_listing_size(Listing(Removed).get()), 2u);
  EXPECT_EQ(Temporaries, 0u);
  EXPECT_OK(lj_cache_prune(std::max(fileAt(L, 0).bytes, fileAt(L, 1).bytes), 0,
                           &Removed, nullptr));
  EXPECT_EQ(lj_cache_listing_size(Listing(Removed).get()), 1u);
  EXPECT_OK(lj_cache_clear(0, nullptr, nullptr));
  EXPECT_EQ(lj_cache_listing_size(list().get()), 0u);
  EXPECT_EQ(stats().pruned, 2u);
  lj_cache_entry *Gone = nullptr;
  EXPECT_FAILS(lj_cache_entry_read(F.path.data, F.path.size, &Gone),
               LJ_ERROR_INVALID_ARGUMENT, "no name of an entry");
  F = fileAt(L, 0);
  EXPECT_FAILS(lj_cache_entry_read(F.path.data, F.path.size, &Gone),
               LJ_ERROR_NOT_FOUND, "cannot open");
  EXPECT_EQ(Gone, nullptr);
}

TEST(CAPICache, ADamagedOrRenamedEntryIsAnError) {
  if (!isRerun())
    return rerunWithCache();
  if (Error NoJIT{lj_jit_check()})
    return;
  launcher("*fp32, i32");
  Listing L = list();
  std::string Path = str(fileAt(L, 0).path);
  std::string Other = Path;
  Other[Other.size() - 6] = Other[Other.size() - 6] == '0' ? '1' : '0';
  ASSERT_FALSE(llvm::sys::fs::rename(Path, Other));
  lj_cache_entry *Read = nullptr;
  EXPECT_FAILS(lj_cache_entry_read(Other.data(), Other.size(), &Read),
               LJ_ERROR_BINARY, "its key is that of");
  int FD = 0;
  ASSERT_FALSE(llvm::sys::fs::openFileForWrite(Other, FD,
                                               llvm::sys::fs::CD_OpenExisting));
  ASSERT_FALSE(llvm::sys::fs::resize_file(FD, 100));
  llvm::sys::fs::file_t File = FD;
  ASSERT_FALSE(llvm::sys::fs::closeFile(File));
  EXPECT_FAILS(lj_cache_entry_read(Other.data(), Other.size(), &Read),
               LJ_ERROR_BINARY, "is damaged");
}

TEST(CAPICache, NothingIsRemovedFromOneThatIsOff) {
  // As it is in the tests.
  lj_cache_info Info = sized<lj_cache_info>();
  EXPECT_OK(lj_cache_get_info(&Info));
  ASSERT_EQ(Info.mode, LJ_CACHE_OFF);
  EXPECT_INVALID(lj_cache_clear(0, nullptr, nullptr), "LAUNCHJIT_CACHE=rw");
  EXPECT_EQ(lj_cache_listing_size(list().get()), 0u);
}

TEST(CAPICache, SizesAreRead) {
  uint64_t Bytes = 0;
  EXPECT_OK(lj_parse_cache_size("3M", 2, &Bytes));
  EXPECT_EQ(Bytes, 3u << 20);
  EXPECT_INVALID(lj_parse_cache_size("3T", 2, &Bytes), "'3T' is no size");
}

//===----------------------------------------------------------------------===//
// A store of the host's own
//===----------------------------------------------------------------------===//

/// Entries by name; what it gives back can be spoilt.
struct Store {
  std::mutex Lock;
  std::map<std::string, std::string> Entries;
  enum { Right, Damaged, Swapped, Lost } Give = Right;
  unsigned Gets = 0;

  static void get(void *Context, const char *Name, lj_cache_receive Receive,
                  void *To) {
    auto &S = *static_cast<Store *>(Context);
    std::lock_guard<std::mutex> Guard(S.Lock);
    ++S.Gets;
    auto It = S.Entries.find(Name);
    if (It == S.Entries.end() || S.Give == Lost)
      return;
    std::string Bytes = It->second;
    if (S.Give == Damaged)
      Bytes.back() ^= 1;
    if (S.Give == Swapped)
      for (const auto &[Other, Value] : S.Entries)
        if (Other != Name)
          Bytes = Value;
    Receive(To, Bytes.data(), Bytes.size());
  }
  static void put(void *Context, const char *Name, const void *Bytes,
                  size_t Size) {
    auto &S = *static_cast<Store *>(Context);
    std::lock_guard<std::mutex> Guard(S.Lock);
    S.Entries[Name].assign(static_cast<const char *>(Bytes), Size);
  }

  lj_cache_store interface() {
    return {sizeof(lj_cache_store), get, put, this};
  }
};

class CAPICacheStore : public testing::Test {
protected:
  void SetUp() override {
    lj_set_max_unused_launchers(0); // each launcher is looked for
    lj_cache_store I = TheStore.interface();
    EXPECT_OK(lj_set_cache_store(&I));
  }
  void TearDown() override {
    EXPECT_OK(lj_set_cache_store(nullptr));
    lj_set_max_unused_launchers(1024);
  }

  Store TheStore;
};

TEST_F(CAPICacheStore, ServesByKey) {
  if (Error NoJIT{lj_jit_check()})
    return;
  constexpr char Text[] = "*fp32, i64, i64, u8, bf16"; // no other test's
  EXPECT_EQ(infoOf(launcher(Text)).origin, LJ_ORIGIN_COMPILED);
  ASSERT_EQ(TheStore.Entries.size(), 1u);
  lj_launcher_info Info = infoOf(launcher(Text));
  EXPECT_EQ(Info.origin, LJ_ORIGIN_CACHE);
  EXPECT_EQ(Info.compile_ns, 0u);
  EXPECT_GT(Info.link_ns, 0u);
  EXPECT_EQ(TheStore.Entries.begin()->first, Info.key);
  lj_cache_stats S = stats();
  EXPECT_EQ(S.hits, 1u);
  EXPECT_EQ(S.misses, 1u);
  EXPECT_EQ(S.stored, 1u);
}

TEST_F(CAPICacheStore, WhatItSpoilsCostsACompile) {
  if (Error NoJIT{lj_jit_check()})
    return;
  constexpr char Text[] = "*fp32, i64, i64, u16, bf16";
  launcher("*fp32, i64, i64, u32, bf16");
  launcher(Text);
  uint64_t Damaged = 0, Misses = stats().misses;
  for (auto Give : {Store::Damaged, Store::Swapped, Store::Lost}) {
    TheStore.Give = Give;
    EXPECT_EQ(infoOf(launcher(Text)).origin, LJ_ORIGIN_COMPILED);
    EXPECT_EQ(stats().damaged, Damaged += Give != Store::Lost);
    EXPECT_EQ(stats().misses, ++Misses);
  }
  TheStore.Give = Store::Right;
  EXPECT_EQ(infoOf(launcher(Text)).origin, LJ_ORIGIN_CACHE);
}

TEST_F(CAPICacheStore, MayBeReadOnly) {
  if (Error NoJIT{lj_jit_check()})
    return;
  lj_cache_store I = TheStore.interface();
  I.put = nullptr;
  EXPECT_OK(lj_set_cache_store(&I));
  launcher("*fp32, i64, i64, u64, bf16");
  EXPECT_EQ(stats().stored, 0u);
  EXPECT_EQ(TheStore.Gets, 1u);
  I.get = nullptr;
  EXPECT_INVALID(lj_set_cache_store(&I), "store->get is null");
}

TEST_F(CAPICacheStore, UnusedLaunchersAreKeptUpToTheBound) {
  if (Error NoJIT{lj_jit_check()})
    return;
  lj_set_max_unused_launchers(2);
  constexpr const char *Texts[] = {"i8, i8, bf16", "i8, i16, bf16",
                                   "i8, i32, bf16"};
  for (const char *Text : Texts)
    launcher(Text);
  EXPECT_EQ(infoOf(launcher(Texts[2])).origin, LJ_ORIGIN_MEMORY);
  EXPECT_EQ(infoOf(launcher(Texts[1])).origin, LJ_ORIGIN_MEMORY);
  EXPECT_EQ(infoOf(launcher(Texts[0])).origin, LJ_ORIGIN_CACHE); // was freed
  Launcher Used = launcher(Texts[0]);
  lj_set_max_unused_launchers(0);
  EXPECT_EQ(infoOf(launcher(Texts[0])).origin, LJ_ORIGIN_MEMORY); // in use
  EXPECT_EQ(infoOf(launcher(Texts[1])).origin, LJ_ORIGIN_CACHE);
}

} // namespace
