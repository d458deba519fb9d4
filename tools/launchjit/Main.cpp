//===- Main.cpp - The launchjit tool --------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace launchjit::tool;

static constexpr char Overview[] =
    "Looks into launchjit: from a kernel's signature to the launcher that runs "
    "it.\nExit status: 0 it worked, 1 it failed, 2 the command line is wrong.";

static int report(const Twine &Message, ExitStatus Status) {
  outs().flush();
  WithColor(errs(), HighlightColor::Error) << "launchjit: error: ";
  errs() << Message << '\n';
  return Status;
}

static int report(Error E) {
  int Status = ExitSuccess;
  handleAllErrors(
      std::move(E),
      [&](const UsageError &U) { Status = report(U.message(), ExitUsage); },
      [&](const ErrorInfoBase &I) {
        Status = report(I.message(), ExitFailure);
      });
  return Status;
}

/// CommandLine names the program in each message, and we do it our way.
static std::string usageMessage(StringRef Message, StringRef Program) {
  Message = Message.trim();
  Message.consume_front(sys::path::filename(Program));
  Message.consume_front(":");
  return Message.trim().str();
}

static int run(int Count, char **Values) {
  std::vector<CommandPtr> Commands;
  for (auto *Make : CommandMakers)
    Commands.push_back(Make());
  auto Find = [&](StringRef Name) -> Command * {
    for (const CommandPtr &C : Commands)
      if (C->Sub.getName() == Name)
        return C.get();
    return nullptr;
  };

  // CommandLine knows commands of one word: "cache ls" becomes one, and so does
  // "cache --json ls".
  std::vector<char *> Arguments(Values, Values + Count);
  std::string TwoWords;
  if (Count > 2) {
    auto Second = std::find_if(Arguments.begin() + 2, Arguments.end(),
                               [](StringRef A) { return !A.starts_with("-"); });
    if (Second != Arguments.end()) {
      TwoWords = (Twine(Arguments[1]) + " " + *Second).str();
      if (Find(TwoWords)) {
        Arguments.erase(Second);
        Arguments[1] = TwoWords.data();
      }
    }
  }
  Command *Asked = Arguments.size() > 1 ? Find(Arguments[1]) : nullptr;
  if (Asked && Asked->TakesProgram) {
    // CommandLine would read the program's "@file" arguments, too.
    auto Dashes = find(Arguments, StringRef("--"));
    size_t Rest = Arguments.end() - Dashes;
    Arguments.erase(Dashes, Arguments.end());
    if (Rest)
      Asked->Program = ArrayRef(Values + Count - Rest + 1, Rest - 1);
  }

  // The options that LLVM's own code registers are none of ours.
  cl::HideUnrelatedOptions(category());
  for (const CommandPtr &C : Commands)
    cl::HideUnrelatedOptions(category(), C->Sub);
  cl::SetVersionPrinter([](raw_ostream &OS) {
    OS << "launchjit " << lj_version() << " (C interface " << lj_abi_version()
       << ", LLVM " << lj_llvm_version() << ")\n";
  });

  std::string Text = Asked ? Asked->Help : Overview;
  Text += '\n';

  std::string Errors;
  raw_string_ostream OS(Errors);
  if (!cl::ParseCommandLineOptions(Arguments.size(), Arguments.data(), Text,
                                   &OS))
    return report(usageMessage(Errors, Arguments[0]), ExitUsage);

  if (!Asked)
    return report("no command is given; launchjit --help lists them",
                  ExitUsage);
  Expected<int> Status = Asked->run();
  return Status ? *Status : report(Status.takeError());
}

int main(int Count, char **Arguments) {
  // https://no-color.org
  WithColor::setAutoDetectFunction([](const raw_ostream &OS) {
    const char *No = std::getenv("NO_COLOR");
    return OS.has_colors() && !(No && *No);
  });

  int Status = run(Count, Arguments);
  outs().flush();
  if (std::error_code EC = outs().error()) {
    outs().clear_error();
    return report("cannot write to the standard output: " + EC.message(),
                  ExitFailure);
  }
  return Status;
}
