//===- Cache.cpp - What the cache commands and doctor read ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <ctime>
#include <sys/auxv.h>
#include <tuple>

using namespace llvm;
using namespace launchjit::tool;

Expected<std::vector<lj_cache_file>>
launchjit::tool::filesOf(const lj_cache_listing &Listing) {
  std::vector<lj_cache_file> Files(lj_cache_listing_size(&Listing),
                                   sized<lj_cache_file>());
  for (size_t I = 0; I != Files.size(); ++I)
    if (Error E = check(lj_cache_listing_get(&Listing, I, &Files[I])))
      return E;
  llvm::sort(Files, [](const lj_cache_file &A, const lj_cache_file &B) {
    return std::pair(A.last_used, str(A.key)) <
           std::pair(B.last_used, str(B.key));
  });
  return Files;
}

uint64_t launchjit::tool::totalBytes(ArrayRef<lj_cache_file> Files) {
  uint64_t Total = 0;
  for (const lj_cache_file &F : Files)
    Total += F.bytes;
  return Total;
}

Expected<CacheEntryPtr> launchjit::tool::readEntry(const lj_cache_file &File) {
  return make<CacheEntryPtr>(lj_cache_entry_read, File.path.data,
                             File.path.size);
}

StringRef launchjit::tool::keyField(StringRef KeyText, StringRef Label) {
  while (!KeyText.empty()) {
    StringRef Line;
    std::tie(Line, KeyText) = KeyText.split('\n');
    if (Line.consume_front(Label) && Line.consume_front("="))
      return Line;
  }
  return "";
}

Expected<Comparison>
launchjit::tool::compareWithFreshCode(const lj_cache_entry &Entry) {
  Buffer Fresh;
  if (ErrorPtr E{lj_cache_entry_recompile(&Entry, LJ_STUB_OBJECT, &Fresh)}) {
    switch (lj_error_status(E.get())) {
    case LJ_ERROR_UNSUPPORTED:
      return failure(lj_error_message(E.get()));
    case LJ_ERROR_INVALID_ARGUMENT:
      return Comparison{Comparison::OtherBuild, lj_error_message(E.get())};
    default:
      return Comparison{Comparison::Different, lj_error_message(E.get())};
    }
  }
  StringRef Cached = str(lj_cache_entry_object(&Entry));
  if (Cached == Fresh.str())
    return Comparison{Comparison::Same, ""};
  size_t At = std::mismatch(Cached.begin(), Cached.end(), Fresh.str().begin(),
                            Fresh.str().end())
                  .first -
              Cached.begin();
  return Comparison{Comparison::Different,
                    "its object (" + bytes(Cached.size()) +
                        ") is not what this build makes of its key (" +
                        bytes(Fresh.size) + "): they differ from byte " +
                        grouped(At) + " on"};
}

size_t CacheFolder::countDamaged() const {
  return count_if(Files, [](const lj_cache_file &F) {
    Expected<CacheEntryPtr> Entry = readEntry(F);
    if (!Entry)
      consumeError(Entry.takeError());
    return !Entry;
  });
}

static CacheFolder readFolder(lj_string Path, bool Own) {
  CacheFolder F{str(Path).str(), Own, {}, "", nullptr};
  Expected<ListingPtr> Listing =
      make<ListingPtr>(lj_cache_list, Path.data, Path.size);
  if (!Listing) {
    F.Problem = toString(Listing.takeError());
    return F;
  }
  F.Listing = std::move(*Listing);
  Expected<std::vector<lj_cache_file>> Files = filesOf(*F.Listing);
  if (Files)
    F.Files = std::move(*Files);
  else
    F.Problem = toString(Files.takeError());
  return F;
}

Expected<CacheView> CacheView::read() {
  CacheView V;
  if (Error E = check(lj_cache_get_info(&V.Info)))
    return E;
  for (size_t I = 0; I != V.Info.num_layers; ++I) {
    lj_string Path;
    if (Error E = check(lj_cache_layer(I, &Path)))
      return E;
    V.Folders.push_back(readFolder(Path, /*Own=*/false));
  }
  if (V.Info.directory.size)
    V.Folders.push_back(readFolder(V.Info.directory, /*Own=*/true));
  return V;
}

const char *CacheView::mode() const {
  switch (Info.mode) {
  case LJ_CACHE_OFF:
    return "off";
  case LJ_CACHE_READ_ONLY:
    return "ro";
  case LJ_CACHE_READ_WRITE:
    break;
  }
  return "rw";
}

std::string CacheView::whyNone() const {
  if (Info.directory.size)
    return "";
  if (getauxval(AT_SECURE))
    return "this program has more rights than its user (setuid)";
  const char *Home = std::getenv("HOME");
  std::string Text = "LAUNCHJIT_CACHE_DIR and XDG_CACHE_HOME name none, and "
                     "HOME is ";
  return Text + (Home && *Home ? "'" + std::string(Home) + "'" : "unset");
}

Error CacheView::problems() const {
  Error All = Error::success();
  for (const CacheFolder &F : Folders)
    if (!F.Problem.empty())
      All = joinErrors(std::move(All), failure(F.Problem));
  return All;
}

json::Value launchjit::tool::orNull(StringRef Text) {
  return Text.empty() ? json::Value(nullptr) : json::fixUTF8(Text);
}

std::string launchjit::tool::dateAndTime(int64_t SecondsSinceEpoch) {
  time_t Time = SecondsSinceEpoch;
  tm Parts;
  char Text[32] = "?";
  if (localtime_r(&Time, &Parts))
    std::strftime(Text, sizeof Text, "%Y-%m-%d %H:%M", &Parts);
  return Text;
}
