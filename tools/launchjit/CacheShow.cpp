//===- CacheShow.cpp - launchjit cache show -------------------------------===//
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

class CacheShow final : public Command {
public:
  CacheShow()
      : Command("cache show", "Show one entry of the cache",
                "Shows an entry's header, the fields of its key and its code. "
                "The assembly is made\nanew from the key, and shown where the "
                "same way gives the cached object to the last\nbyte.\n\n"
                "The key may be cut down to 4 digits or more, if no other "
                "begins so."),
        Key(cl::Positional, cl::Required, cl::desc("<key>"), cl::sub(Sub),
            cl::cat(category())),
        ObjectPath("object", cl::value_desc("file"),
                   cl::desc("Write the ELF object there"), cl::sub(Sub),
                   cl::cat(category())) {}

  Expected<int> run() override {
    if (Key.size() < 4 || Key.size() > 32 || !all_of(Key, isHexDigit))
      return usageError("'" + Key +
                        "' is no key: 4 to 32 hexadecimal digits are one; "
                        "launchjit cache ls lists them");
    Expected<CacheView> V = CacheView::read();
    if (!V)
      return V.takeError();
    Expected<lj_cache_file> Found = find(*V);
    if (!Found)
      return Found.takeError();
    File = *Found;

    Expected<CacheEntryPtr> Read = readEntry(File);
    if (!Read)
      return Read.takeError();
    Entry = std::move(*Read);
    if (Error E = check(lj_cache_entry_header(Entry.get(), &Format, Checksum)))
      return E;
    if (ObjectPath.getNumOccurrences())
      if (Error E = writeFile(ObjectPath, object()))
        return E;
    bool Differs = false;
    if (Error E = disassemble(Differs))
      return E;
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J); });
    else
      writeText();
    return Differs ? ExitFailure : ExitSuccess;
  }

private:
  StringRef keyText() const {
    return str(lj_cache_entry_key_text(Entry.get()));
  }
  StringRef object() const { return str(lj_cache_entry_object(Entry.get())); }

  /// The file that a process would take first.
  Expected<lj_cache_file> find(const CacheView &V) const {
    std::string Prefix = StringRef(Key).lower();
    std::vector<std::string> Keys;
    lj_cache_file First{};
    for (const CacheFolder &F : V.Folders)
      for (const lj_cache_file &File : F.Files) {
        StringRef Name = str(File.key);
        if (!Name.starts_with(Prefix) || is_contained(Keys, Name))
          continue;
        if (Keys.empty())
          First = File;
        Keys.push_back(Name.str());
      }
    if (Keys.size() > 1)
      return failure("'" + Key + "' is ambiguous: " +
                     join(ArrayRef(Keys).take_front(4), ", ") +
                     (Keys.size() > 4 ? "... begin so" : " begin so"));
    if (Keys.empty()) {
      if (Error E = V.problems())
        return E;
      return failure("no entry's key begins with '" + Key +
                     "'; launchjit cache ls lists them");
    }
    return First;
  }

  Error disassemble(bool &Differs) {
    Expected<Comparison> C = compareWithFreshCode(*Entry);
    if (!C) {
      Note = toString(C.takeError());
      return Error::success();
    }
    if (C->Result == Comparison::Same)
      return check(
          lj_cache_entry_recompile(Entry.get(), LJ_STUB_ASSEMBLY, &Assembly));
    Differs = C->Result == Comparison::Different;
    Note = C->Text;
    return Error::success();
  }

  void writeJSON(JSONStream &J) const {
    J.attribute("key", str(File.key));
    J.attribute("path", json::fixUTF8(str(File.path)));
    J.attribute("directory", json::fixUTF8(str(File.directory)));
    J.attribute("bytes", File.bytes);
    J.attribute("last_used", File.last_used);
    J.attribute("format", Format);
    J.attribute("checksum", Checksum);
    J.attributeObject("fields", [&] {
      for (auto [Label, Value] : fields())
        J.attribute(Label, json::fixUTF8(Value));
    });
    J.attribute("object_size", object().size());
    if (ObjectPath.getNumOccurrences())
      J.attribute("object", json::fixUTF8(ObjectPath));
    J.attribute("assembly", orNull(Assembly.str()));
    J.attribute("note", orNull(Note));
  }

  void writeText() const {
    Table T{Table::Left, Table::Left};
    T.row({"key", str(File.key).str()});
    T.row({"file", str(File.path).str()});
    T.row({"size", bytes(File.bytes) + ", " + grouped(keyText().size()) +
                       " of them the key, " + grouped(object().size()) +
                       " the object"});
    T.row({"last used", dateAndTime(File.last_used)});
    T.row({"layout", "version " + std::to_string(Format)});
    T.row({"checksum", Checksum});
    T.row({});
    for (auto [Label, Value] : fields())
      T.row({Label.str(), Value.str()});
    T.print(outs(), /*Heading=*/false);
    outs() << '\n';
    if (Note.empty()) {
      outs() << Assembly.str();
      return;
    }
    outs() << "No assembly: " << Note << ".\nTo see the cached code: ";
    if (ObjectPath.getNumOccurrences())
      outs() << "objdump -d " << ObjectPath << '\n';
    else
      outs() << "launchjit cache show " << str(File.key).take_front(8)
             << " --object F && objdump -d F\n";
  }

  SmallVector<std::pair<StringRef, StringRef>> fields() const {
    SmallVector<std::pair<StringRef, StringRef>> Fields;
    SmallVector<StringRef> Lines;
    keyText().split(Lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef Line : Lines)
      Fields.push_back(Line.split('='));
    return Fields;
  }

  cl::opt<std::string> Key;
  cl::opt<std::string> ObjectPath;
  lj_cache_file File{};
  CacheEntryPtr Entry;
  uint32_t Format = 0;
  char Checksum[33];
  Buffer Assembly;
  std::string Note; ///< Why there is no Assembly.
};

} // namespace

CommandPtr launchjit::tool::makeCacheShow() {
  return std::make_unique<CacheShow>();
}
