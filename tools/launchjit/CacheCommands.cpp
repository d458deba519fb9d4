//===- CacheCommands.cpp - launchjit cache path, ls, verify, prune... -----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit::tool;

namespace {

void writeEntry(JSONStream &J, const lj_cache_file &F) {
  J.attribute("key", str(F.key));
  J.attribute("bytes", F.bytes);
  J.attribute("last_used", F.last_used);
  J.attribute("path", json::fixUTF8(str(F.path)));
}

//===----------------------------------------------------------------------===//
// cache
//===----------------------------------------------------------------------===//

/// What "launchjit cache" is without one of its commands.
class CacheHelp final : public Command {
public:
  CacheHelp()
      : Command("cache", "Look into the object cache; see cache --help",
                "Looks into and after the object cache: the folder in which "
                "launchers are kept\nfor the next process. LAUNCHJIT_CACHE=ro "
                "only reads it, off leaves it alone;\nLAUNCHJIT_CACHE_DIR "
                "places it; LAUNCHJIT_CACHE_PATH names read-only caches that\n"
                "are searched before it; LAUNCHJIT_CACHE_MAX_SIZE bounds it.\n"
                "\n"
                "  path    where it is\n"
                "  ls      the entries\n"
                "  stats   how many entries and bytes\n"
                "  show    one entry: header, key and code\n"
                "  verify  read every entry\n"
                "  prune   remove what was not used for the longest time\n"
                "  clear   remove everything\n"
                "  bundle  make a read-only cache of what a program uses"),
        Words(cl::Positional, cl::desc("<command>"), cl::sub(Sub),
              cl::cat(category())) {}

  Expected<int> run() override {
    StringRef Known = "path, ls, stats, show, verify, prune, clear, bundle";
    if (Words.empty())
      return usageError("cache needs a command: " + Known);
    return usageError("unknown command 'cache " + Words.front() +
                      "'; known are " + Known);
  }

private:
  cl::list<std::string> Words;
};

//===----------------------------------------------------------------------===//
// path
//===----------------------------------------------------------------------===//

class CachePath final : public Command {
public:
  CachePath()
      : Command("cache path", "Say where the object cache is",
                "Prints the folders in the order in which they are searched: "
                "the read-only layers\n(LAUNCHJIT_CACHE_PATH), then the user's "
                "own cache, which is made when a launcher\nis first stored.") {}

  Expected<int> run() override {
    Expected<CacheView> V = CacheView::read();
    if (!V)
      return V.takeError();
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J, *V); });
    else
      writeText(*V);
    return ExitSuccess;
  }

private:
  static void writeJSON(JSONStream &J, const CacheView &V) {
    J.attribute("mode", V.mode());
    J.attribute("directory", orNull(str(V.Info.directory)));
    J.attribute("why_none", orNull(V.whyNone()));
    J.attributeArray("layers", [&] {
      for (const CacheFolder &F : V.Folders)
        if (!F.Own)
          J.value(json::fixUTF8(F.Path));
    });
    J.attribute("max_bytes", V.Info.max_bytes);
  }

  static void writeText(const CacheView &V) {
    Table T{Table::Left, Table::Left};
    for (const CacheFolder &F : V.Folders)
      T.row({F.Own ? "own" : "layer", F.Path});
    if (!V.Info.directory.size)
      T.row({"own", "none: " + V.whyNone()});
    T.row({"mode", V.mode()});
    T.print(outs(), /*Heading=*/false);
  }
};

//===----------------------------------------------------------------------===//
// ls and stats
//===----------------------------------------------------------------------===//

/// What both have; a subclass writes what can be read. Folders that cannot be
/// are an error behind it.
class ViewingCommand : public Command {
public:
  Expected<int> run() override {
    Expected<CacheView> V = CacheView::read();
    if (!V)
      return V.takeError();
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J, *V); });
    else
      writeText(*V);
    if (Error E = V->problems())
      return E;
    return ExitSuccess;
  }

protected:
  using Command::Command;

private:
  virtual void writeJSON(JSONStream &J, const CacheView &V) const = 0;
  virtual void writeText(const CacheView &V) const = 0;
};

class CacheList final : public ViewingCommand {
public:
  CacheList()
      : ViewingCommand(
            "cache ls", "List the cache's entries",
            "Lists the entries of every cache that is searched, the most "
            "recently used first.\nAn entry counts as used when a process "
            "first loads it, to within an hour.") {}

private:
  struct Row {
    lj_cache_file File;
    std::string Entry, ABI, Contract;
    std::string Damage; ///< What is wrong; the strings before are then empty.
  };

  static Row read(const lj_cache_file &F) {
    Expected<CacheEntryPtr> Entry = readEntry(F);
    if (!Entry)
      return {F, "", "", "", toString(Entry.takeError())};
    StringRef Key = str(lj_cache_entry_key_text(Entry->get()));
    return {F, keyField(Key, "entry").str(), keyField(Key, "abi").str(),
            keyField(Key, "contract").str(), ""};
  }

  void writeJSON(JSONStream &J, const CacheView &V) const override {
    J.attribute("mode", V.mode());
    J.attributeArray("entries", [&] {
      for (const CacheFolder &F : V.Folders)
        for (const lj_cache_file &File : reverse(F.Files)) {
          Row R = read(File);
          J.object([&] {
            writeEntry(J, File);
            J.attribute("directory", json::fixUTF8(F.Path));
            J.attribute("entry", orNull(R.Entry));
            J.attribute("contract", orNull(R.Contract));
            // A signature without parameters has an empty one.
            J.attribute("abi", R.Damage.empty() ? json::fixUTF8(R.ABI)
                                                : json::Value(nullptr));
            J.attribute("damage", orNull(R.Damage));
          });
        }
    });
  }

  void writeText(const CacheView &V) const override {
    Table T{Table::Left,  Table::Left, Table::Left,
            Table::Right, Table::Left, Table::Left};
    T.row({"key", "entry", "ABI", "bytes", "last used", "cache"});
    size_t Entries = 0, Damaged = 0;
    for (const CacheFolder &F : V.Folders)
      for (const lj_cache_file &File : reverse(F.Files)) {
        Row R = read(File);
        ++Entries;
        Damaged += !R.Damage.empty();
        constexpr size_t Shown = 32;
        if (R.ABI.size() > Shown)
          R.ABI = R.ABI.substr(0, Shown - 3) + "...";
        T.row({str(File.key).str(), R.Damage.empty() ? R.Entry : "DAMAGED",
               R.ABI, grouped(File.bytes), dateAndTime(File.last_used),
               F.Path});
      }
    if (Entries)
      T.print(outs(), /*Heading=*/true);
    else
      outs() << "no entries\n";
    if (Damaged)
      outs() << '\n'
             << grouped(Damaged)
             << " damaged: launchjit cache verify says what is wrong\n";
    if (V.Info.mode == LJ_CACHE_OFF)
      outs() << "\nThe cache is off: LAUNCHJIT_CACHE=ro or rw makes use of "
                "it.\n";
  }
};

class CacheStats final : public ViewingCommand {
public:
  CacheStats()
      : ViewingCommand(
            "cache stats", "Show how full the cache is",
            "Shows the entries and bytes of every cache that is searched, "
            "when they were used,\nand how many of them are damaged. What "
            "exceeds the bound of the user's own cache\nis removed in "
            "passing, when launchers are stored.") {}

private:
  void writeJSON(JSONStream &J, const CacheView &V) const override {
    J.attribute("mode", V.mode());
    J.attribute("max_bytes", V.Info.max_bytes);
    J.attributeArray("caches", [&] {
      for (const CacheFolder &F : V.Folders)
        J.object([&] {
          bool Empty = F.Files.empty();
          J.attribute("directory", json::fixUTF8(F.Path));
          J.attribute("own", F.Own);
          J.attribute("entries", F.Files.size());
          J.attribute("bytes", totalBytes(F.Files));
          J.attribute("damaged", F.countDamaged());
          J.attribute("oldest_use",
                      Empty ? json::Value(nullptr) : F.Files.front().last_used);
          J.attribute("newest_use",
                      Empty ? json::Value(nullptr) : F.Files.back().last_used);
          J.attribute("problem", orNull(F.Problem));
        });
    });
  }

  void writeText(const CacheView &V) const override {
    bool First = true;
    for (const CacheFolder &F : V.Folders) {
      if (!First)
        outs() << '\n';
      First = false;
      Table T{Table::Left, Table::Left};
      T.row({F.Own ? "own cache" : "layer", F.Path});
      if (!F.Problem.empty()) {
        T.row({"problem", F.Problem});
      } else {
        std::string Bytes = bytes(totalBytes(F.Files));
        if (F.Own)
          Bytes += " of at most " + grouped(V.Info.max_bytes);
        T.row({"entries", grouped(F.Files.size()) + ", " + Bytes});
        T.row({"damaged", grouped(F.countDamaged())});
        if (!F.Files.empty())
          T.row({"used", dateAndTime(F.Files.front().last_used) + " to " +
                             dateAndTime(F.Files.back().last_used)});
      }
      T.print(outs(), /*Heading=*/false);
    }
    if (!V.Info.directory.size)
      outs() << (First ? "" : "\n")
             << "There is no cache of the user's own: " << V.whyNone() << '\n';
  }
};

//===----------------------------------------------------------------------===//
// verify
//===----------------------------------------------------------------------===//

class CacheVerify final : public Command {
public:
  CacheVerify()
      : Command(
            "cache verify", "Check every entry of the cache",
            "Reads every entry of every cache that is searched, and tells what "
            "is wrong: exit\nstatus 1 if anything is. A damaged entry costs a "
            "compile and is never run; in the\nuser's own cache it is replaced "
            "then."),
        Recompile("recompile", cl::desc("Compare each with freshly made code"),
                  cl::sub(Sub), cl::cat(category())) {}

  Expected<int> run() override {
    Expected<CacheView> V = CacheView::read();
    if (!V)
      return V.takeError();
    for (const CacheFolder &F : V->Folders) {
      if (!F.Problem.empty())
        Problems.push_back({F.Path, F.Problem});
      for (const lj_cache_file &File : F.Files)
        if (Error E = verify(File))
          return E;
    }
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J); });
    else
      writeText();
    return Problems.empty() ? ExitSuccess : ExitFailure;
  }

private:
  struct Problem {
    std::string Path;
    std::string Text; ///< Names the path, too.
  };

  Error verify(const lj_cache_file &File) {
    ++Entries;
    Expected<CacheEntryPtr> Entry = readEntry(File);
    if (!Entry) {
      Problems.push_back({str(File.path).str(), toString(Entry.takeError())});
      return Error::success();
    }
    if (!Recompile)
      return Error::success();
    Expected<Comparison> C = compareWithFreshCode(**Entry);
    if (!C)
      return C.takeError();
    if (C->Result == Comparison::Same)
      ++Same;
    else if (C->Result == Comparison::OtherBuild)
      ++OtherBuild;
    else
      Problems.push_back(
          {str(File.path).str(),
           ("the cache entry " + str(File.path) + ": " + C->Text).str()});
    return Error::success();
  }

  void writeJSON(JSONStream &J) const {
    J.attribute("ok", Problems.empty());
    J.attribute("entries", Entries);
    if (Recompile) {
      J.attribute("same", Same);
      J.attribute("other_build", OtherBuild);
    }
    J.attributeArray("problems", [&] {
      for (const Problem &P : Problems)
        J.object([&] {
          J.attribute("path", json::fixUTF8(P.Path));
          J.attribute("text", json::fixUTF8(P.Text));
        });
    });
  }

  void writeText() const {
    for (const Problem &P : Problems) {
      WithColor(outs(), raw_ostream::RED) << "problem  ";
      outs() << P.Text << '\n';
    }
    outs() << count(Entries, "entry", "entries") << " read, "
           << count(Problems.size(), "problem", "problems") << '\n';
    if (Recompile)
      outs() << grouped(Same) << " made anew with the same bytes, "
             << grouped(OtherBuild)
             << " of another build, which this one does not use\n";
  }

  cl::opt<bool> Recompile;
  std::vector<Problem> Problems;
  size_t Entries = 0, Same = 0, OtherBuild = 0;
};

//===----------------------------------------------------------------------===//
// prune and clear
//===----------------------------------------------------------------------===//

/// What both have; a subclass calls the library.
class RemovingCommand : public Command {
public:
  Expected<int> run() override {
    lj_cache_listing *Listing = nullptr;
    Removed R;
    if (Error E = remove(DryRun, &Listing, &R.Temporaries))
      return E;
    R.Listing.reset(Listing);
    Expected<std::vector<lj_cache_file>> Files = filesOf(*Listing);
    if (!Files)
      return Files.takeError();
    R.Files = std::move(*Files);
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J, R); });
    else
      writeText(R);
    return ExitSuccess;
  }

protected:
  RemovingCommand(const char *Name, const char *Summary, const char *Help)
      : Command(Name, Summary, Help),
        DryRun("dry-run", cl::desc("Only tell what would be removed"),
               cl::sub(Sub), cl::cat(category())) {}

  virtual Error remove(bool DryRun, lj_cache_listing **Removed,
                       size_t *Temporaries) = 0;

private:
  struct Removed {
    ListingPtr Listing;
    std::vector<lj_cache_file> Files;
    size_t Temporaries = 0;
  };

  void writeJSON(JSONStream &J, const Removed &R) const {
    J.attribute("dry_run", DryRun.getValue());
    J.attribute("bytes", totalBytes(R.Files));
    J.attribute("temporaries", R.Temporaries);
    J.attributeArray("removed", [&] {
      for (const lj_cache_file &F : R.Files)
        J.object([&] { writeEntry(J, F); });
    });
  }

  void writeText(const Removed &R) const {
    if (DryRun) {
      Table T{Table::Left, Table::Right, Table::Left};
      for (const lj_cache_file &F : R.Files)
        T.row({str(F.key).str(), grouped(F.bytes), dateAndTime(F.last_used)});
      T.print(outs(), /*Heading=*/false);
    }
    outs() << (DryRun ? "would remove " : "removed ")
           << count(R.Files.size(), "entry", "entries") << ", "
           << bytes(totalBytes(R.Files));
    if (R.Temporaries)
      outs() << ", and "
             << count(R.Temporaries, "unfinished file", "unfinished files");
    outs() << '\n';
  }

  cl::opt<bool> DryRun;
};

class CachePrune final : public RemovingCommand {
public:
  CachePrune()
      : RemovingCommand(
            "cache prune", "Remove what was not used for the longest time",
            "Removes entries from the user's own cache, the least recently "
            "used first, until\nat most as many bytes are left as "
            "LAUNCHJIT_CACHE_MAX_SIZE or --max-size says, and\nfiles that a "
            "process which is gone left unfinished."),
        MaxSize("max-size", cl::value_desc("bytes"),
                cl::desc("How much may stay: a number, or one with K, M or G"),
                cl::sub(Sub), cl::cat(category())) {}

private:
  Error remove(bool DryRun, lj_cache_listing **Removed,
               size_t *Temporaries) override {
    auto Info = sized<lj_cache_info>();
    if (Error E = check(lj_cache_get_info(&Info)))
      return E;
    uint64_t Max = Info.max_bytes;
    if (MaxSize.getNumOccurrences()) {
      const std::string &Text = MaxSize;
      if (ErrorPtr E{lj_parse_cache_size(Text.data(), Text.size(), &Max)})
        return usageError("--max-size: " + Twine(lj_error_message(E.get())));
    }
    return check(lj_cache_prune(Max, DryRun, Removed, Temporaries));
  }

  cl::opt<std::string> MaxSize;
};

class CacheClear final : public RemovingCommand {
public:
  CacheClear()
      : RemovingCommand("cache clear", "Remove all of the cache's entries",
                        "Removes every entry of the user's own cache. A "
                        "process that uses the cache goes\non, and stores what "
                        "it compiles from then on.") {}

private:
  Error remove(bool DryRun, lj_cache_listing **Removed,
               size_t *Temporaries) override {
    return check(lj_cache_clear(DryRun, Removed, Temporaries));
  }
};

} // namespace

CommandPtr launchjit::tool::makeCache() {
  return std::make_unique<CacheHelp>();
}
CommandPtr launchjit::tool::makeCachePath() {
  return std::make_unique<CachePath>();
}
CommandPtr launchjit::tool::makeCacheList() {
  return std::make_unique<CacheList>();
}
CommandPtr launchjit::tool::makeCacheStats() {
  return std::make_unique<CacheStats>();
}
CommandPtr launchjit::tool::makeCacheVerify() {
  return std::make_unique<CacheVerify>();
}
CommandPtr launchjit::tool::makeCachePrune() {
  return std::make_unique<CachePrune>();
}
CommandPtr launchjit::tool::makeCacheClear() {
  return std::make_unique<CacheClear>();
}
