//===- Tool.cpp - What the commands of the launchjit tool share -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Unicode.h"

using namespace llvm;
using namespace launchjit::tool;

char UsageError::ID;

std::error_code UsageError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

Error launchjit::tool::failure(const Twine &Message) {
  return createStringError(inconvertibleErrorCode(), Message.str());
}

Error launchjit::tool::check(lj_error *E) {
  ErrorPtr Owned(E);
  return E ? failure(lj_error_message(E)) : Error::success();
}

cl::OptionCategory &launchjit::tool::category() {
  static cl::OptionCategory Category("launchjit options");
  return Category;
}

Command::Command(const char *Name, const char *Summary, const char *Help,
                 bool TakesProgram)
    : Sub(Name, Summary), Help(Help), TakesProgram(TakesProgram),
      JSON("json", cl::desc("Print JSON"), cl::sub(Sub), cl::cat(category())) {}

SignatureCommand::SignatureCommand(const char *Name, const char *Summary,
                                   const char *Help)
    : Command(Name, Summary, Help),
      Text(cl::Positional, cl::Required, cl::desc("<signature>"), cl::sub(Sub),
           cl::cat(category())),
      Scratch(
          "scratch", cl::value_desc("g|p|gp"),
          cl::desc("Hidden trailing parameters: global and profile scratch"),
          cl::sub(Sub), cl::cat(category())),
      LargeParameters(
          "large-parameters",
          cl::desc("Allow 32,764 bytes of parameters instead of 4,096"),
          cl::sub(Sub), cl::cat(category())) {}

/// \p Text around \p Offset on one line, with a caret below.
static std::string pointInto(StringRef Text, size_t Offset) {
  constexpr size_t Before = 48, After = 24;
  size_t Start = Offset > Before ? Offset - Before : 0;
  StringRef Shown = Text.slice(Start, Offset + After);
  std::string Line = Start ? "  ..." : "  ";
  size_t Column = Line.size() + Offset - Start;
  for (char C : Shown)
    Line += isPrint(C) ? C : '?';
  if (Start + Shown.size() < Text.size())
    Line += "...";
  return Line + "\n" + std::string(Column, ' ') + "^";
}

Expected<SignaturePtr>
launchjit::tool::parseSignature(StringRef Text,
                                const lj_signature_options &Options) {
  lj_signature *S = nullptr;
  ErrorPtr E(lj_signature_parse(Text.data(), Text.size(), &Options, &S));
  if (!E)
    return SignaturePtr(S);
  if (lj_error_status(E.get()) == LJ_ERROR_INVALID_ARGUMENT)
    return usageError(lj_error_message(E.get()));
  int64_t Offset = lj_error_offset(E.get());
  if (Offset < 0 || size_t(Offset) > Text.size())
    return failure(lj_error_message(E.get()));
  return failure(Twine(lj_error_message(E.get())) + "\n" +
                 pointInto(Text, Offset));
}

Expected<SignaturePtr> SignatureCommand::parse() const {
  auto Options = sized<lj_signature_options>();
  Options.scratch = Scratch.c_str();
  Options.large_parameters = LargeParameters;
  return parseSignature(Text.getValue(), Options);
}

Expected<std::vector<Place>>
launchjit::tool::kernelParameters(const lj_module &M, size_t Index,
                                  const lj_kernel_info &Info) {
  std::vector<Place> Places(std::max<int64_t>(Info.num_parameters, 0));
  for (auto [I, P] : enumerate(Places))
    if (Error E =
            check(lj_module_kernel_parameter(&M, Index, I, &P.Offset, &P.Size)))
      return E;
  return Places;
}

std::string launchjit::tool::stubSymbol(lj_entry_kind Entry, StringRef Key) {
  return (Twine("lj_") + lj_entry_kind_name(Entry) + "_" + Key).str();
}

void launchjit::tool::printJSON(function_ref<void(JSONStream &)> Attributes) {
  JSONStream J(outs(), 2);
  J.object([&] { Attributes(J); });
  J.flush();
  outs() << '\n';
}

Error launchjit::tool::writeFile(StringRef Path, StringRef Bytes) {
  std::error_code EC;
  raw_fd_ostream OS(Path, EC);
  if (!EC) {
    OS << Bytes;
    OS.close();
    EC = OS.error();
    OS.clear_error();
  }
  return EC ? failure("cannot write '" + Path + "': " + EC.message())
            : Error::success();
}

std::string launchjit::tool::grouped(uint64_t N) {
  std::string Digits = std::to_string(N);
  for (size_t I = Digits.size(); I > 3;) {
    I -= 3;
    Digits.insert(I, ",");
  }
  return Digits;
}

std::string launchjit::tool::bytes(uint64_t N) {
  return count(N, "byte", "bytes");
}

std::string launchjit::tool::count(uint64_t N, StringRef One, StringRef Many) {
  return (grouped(N) + " " + (N == 1 ? One : Many)).str();
}

std::string launchjit::tool::duration(uint64_t Nanoseconds) {
  if (Nanoseconds < 1000)
    return std::to_string(Nanoseconds) + " ns";
  double Value = Nanoseconds / 1e3;
  const char *Unit = " µs";
  for (const char *Larger : {" ms", " s"})
    if (Value >= 999.5) {
      Value /= 1e3;
      Unit = Larger;
    }
  std::string Text;
  raw_string_ostream(Text) << format("%.*f",
                                     Value < 9.995   ? 2
                                     : Value < 99.95 ? 1
                                                     : 0,
                                     Value)
                           << Unit;
  return Text;
}

static unsigned width(StringRef Text) {
  int Columns = sys::unicode::columnWidthUTF8(Text);
  return Columns < 0 ? Text.size() : Columns;
}

std::string launchjit::tool::padded(StringRef Text, unsigned Width,
                                    Table::Alignment A) {
  unsigned Own = width(Text);
  std::string Spaces(Own < Width ? Width - Own : 0, ' ');
  return A == Table::Left ? Text.str() + Spaces : Spaces + Text.str();
}

void Table::print(raw_ostream &OS, bool Heading, unsigned Indent) const {
  std::vector<unsigned> Widths(Columns.size());
  for (const auto &Row : Rows)
    for (size_t I = 0; I != Row.size(); ++I)
      Widths[I] = std::max(Widths[I], width(Row[I]));
  for (const auto &Row : Rows) {
    std::string Line(Indent, ' ');
    for (size_t I = 0; I != Row.size(); ++I)
      Line += (I ? "  " : "") + padded(Row[I], Widths[I], Columns[I]);
    StringRef Shown = StringRef(Line).rtrim(' ');
    if (Heading && &Row == &Rows.front())
      WithColor(OS, raw_ostream::SAVEDCOLOR, /*Bold=*/true) << Shown;
    else
      OS << Shown;
    OS << '\n';
  }
}
