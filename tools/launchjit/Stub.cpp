//===- Stub.cpp - launchjit ir, asm and obj -------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

using namespace llvm;
using namespace launchjit::tool;

namespace {

/// One form of a stub's code: each is a command.
struct Form {
  const char *Command;
  const char *Summary;
  const char *Help;
  lj_stub_output Output;
  bool isText() const { return Output != LJ_STUB_OBJECT; }
};

constexpr Form IRForm = {
    "ir", "Print a launcher as LLVM IR",
    "Prints the LLVM IR of a signature's launcher. Nothing is linked or run.",
    LJ_STUB_IR};
constexpr Form AssemblyForm = {
    "asm", "Print a launcher as this machine's assembly",
    "Prints the assembly of a signature's launcher. Nothing is linked or run.",
    LJ_STUB_ASSEMBLY};
constexpr Form ObjectForm = {
    "obj", "Write a launcher as an ELF object",
    "Writes the relocatable ELF object of a signature's launcher, which has "
    "neither\nrelocations nor undefined symbols, to a file or a pipe.",
    LJ_STUB_OBJECT};

class StubCommand final : public SignatureCommand {
public:
  explicit StubCommand(const Form &F)
      : SignatureCommand(F.Command, F.Summary, F.Help), F(F),
        Entry("entry", cl::init("c"), cl::value_desc("c|packed|python"),
              cl::desc("Who calls the launcher (c unless given)"), cl::sub(Sub),
              cl::cat(category())),
        Contract("contract", cl::init("launchjit"), cl::value_desc("name"),
                 cl::desc("How arguments are converted (launchjit unless "
                          "given)"),
                 cl::sub(Sub), cl::cat(category())),
        Path("o", cl::value_desc("file"),
             cl::desc("Write there; - is the standard output"), cl::sub(Sub),
             cl::cat(category())) {}

  Expected<int> run() override {
    if (ErrorPtr E{lj_entry_kind_parse(Entry.c_str(), &Kind)})
      return usageError(lj_error_message(E.get()));
    bool ToFile = Path.getNumOccurrences() && Path != "-";
    if (!F.isText() && !ToFile && !JSON && outs().is_displayed())
      return usageError("an object is not written to a terminal; give -o FILE, "
                        "or pipe it");

    Expected<SignaturePtr> S = parse();
    if (!S)
      return S.takeError();
    const char *Name = Contract.c_str();
    if (Error E = check(lj_launcher_key(S->get(), Kind, Name, Key)))
      return E;
    if (Error E = check(lj_stub_emit(S->get(), Kind, Name, F.Output, &Code)))
      return E;
    if (ToFile)
      if (Error E = writeFile(Path, Code.str()))
        return E;
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J, **S, ToFile); });
    else if (!ToFile)
      outs() << Code.str();
    return ExitSuccess;
  }

private:
  void writeJSON(JSONStream &J, const lj_signature &S, bool ToFile) const {
    J.attribute("entry", lj_entry_kind_name(Kind));
    J.attribute("abi", str(lj_signature_abi(&S)));
    J.attribute("contract", Contract.getValue());
    J.attribute("key", Key);
    J.attribute("symbol", stubSymbol(Kind, Key));
    J.attribute("size", Code.size);
    if (ToFile)
      J.attribute("path", Path.getValue());
    else if (F.isText())
      J.attribute("text", Code.str());
  }

  const Form &F;
  cl::opt<std::string> Entry;
  cl::opt<std::string> Contract;
  cl::opt<std::string> Path;
  lj_entry_kind Kind = LJ_ENTRY_C;
  char Key[33];
  Buffer Code;
};

} // namespace

CommandPtr launchjit::tool::makeIR() {
  return std::make_unique<StubCommand>(IRForm);
}
CommandPtr launchjit::tool::makeAssembly() {
  return std::make_unique<StubCommand>(AssemblyForm);
}
CommandPtr launchjit::tool::makeObject() {
  return std::make_unique<StubCommand>(ObjectForm);
}
