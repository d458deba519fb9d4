//===- Main.cpp - The launchjit tool --------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
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

static int run(int Count, char **Arguments) {
  std::vector<CommandPtr> Commands;
  for (auto *Make : CommandMakers)
    Commands.push_back(Make());

  // The options that LLVM's own code registers are none of ours.
  cl::HideUnrelatedOptions(category());
  for (const CommandPtr &C : Commands)
    cl::HideUnrelatedOptions(category(), C->Sub);
  cl::SetVersionPrinter([](raw_ostream &OS) {
    OS << "launchjit " << lj_version() << " (C interface " << lj_abi_version()
       << ", LLVM " << lj_llvm_version() << ")\n";
  });

  std::string Text = Overview;
  for (const CommandPtr &C : Commands)
    if (Count > 1 && C->Sub.getName() == Arguments[1])
      Text = C->Help;
  Text += '\n';

  std::string Errors;
  raw_string_ostream OS(Errors);
  if (!cl::ParseCommandLineOptions(Count, Arguments, Text, &OS))
    return report(usageMessage(Errors, Arguments[0]), ExitUsage);

  for (const CommandPtr &C : Commands)
    if (C->Sub) {
      Expected<int> Status = C->run();
      return Status ? *Status : report(Status.takeError());
    }
  return report("no command is given; launchjit --help lists them", ExitUsage);
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
