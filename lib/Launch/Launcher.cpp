//===- Launcher.cpp - A callable entry point for an ABI -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Launcher.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include <atomic>

using namespace llvm;
using namespace launchjit;

/// Whether LAUNCHJIT_JIT turns generated code off.
static Expected<bool> isJITOff() {
  auto Setting = getEnvironment("LAUNCHJIT_JIT");
  if (!Setting || *Setting == "on")
    return false;
  if (*Setting == "off")
    return true;
  return makeError(Status::InvalidArgument, "LAUNCHJIT_JIT is '" + *Setting +
                                                "'; allowed are on and off");
}

Expected<LauncherRef> Launcher::get(const ABI &A, EntryKind Entry,
                                    StringRef Contract) {
  if (Error E = checkContract(Contract))
    return std::move(E);
  auto Off = isJITOff();
  if (!Off)
    return Off.takeError();
  IntrusiveRefCntPtr<Launcher> L(new Launcher);
  L->Kind = Entry;
  L->Entry = interpretedEntry(Entry);
  if (*Off ||
      (Entry == EntryKind::Python && A.slots().size() > MaxCompiledPython)) {
    L->TheKey = Key::get(A, Entry, Contract);
  } else if (auto Found = Engine::process().getStub(A, Entry, Contract)) {
    L->TheKey = Found->TheStub->key();
    L->Entry = Found->TheStub->entry();
    L->TheStub = std::move(Found->TheStub);
    L->From = Found->From;
  } else {
    ErrorDetail D = takeDetail(Found.takeError());
    if (D.Code != Status::Unsupported)
      return makeError(std::move(D));
    L->TheKey = Key::get(A, Entry, Contract);
    static std::atomic<bool> Said{false};
    if (!Said.exchange(true))
      log(LogLevel::Warn, "engine",
          "launches go through the interpreter: " + D.Message);
  }
  if (!L->Entry)
    return makeError(Status::Unsupported,
                     "there is no python entry outside of Python: import the "
                     "launchjit package");
  return LauncherRef(std::move(L));
}

Expected<SmallVector<char, 0>> launchjit::emitStub(const ABI &A,
                                                   EntryKind Entry,
                                                   StringRef Contract,
                                                   StubOutput Output) {
  std::string Symbol = stubSymbol(Entry, Key::get(A, Entry, Contract));
  StubRequest R;
  R.ABI = A.str();
  R.Entry = Entry;
  R.Contract = Contract;
  R.Symbol = Symbol;
  R.Output = Output;
  ForkShield Shield;
  return compileStub(R);
}

Expected<SmallVector<char, 0>> launchjit::emitStub(StringRef KeyText,
                                                   StubOutput Output) {
  // What cannot be read was written by another version.
  auto Foreign = [](Error E) {
    return makeError(Status::InvalidArgument,
                     "this build would not use the entry: " +
                         takeDetail(std::move(E)).Message);
  };
  auto Fields = KeyFields::parse(KeyText);
  if (!Fields)
    return Foreign(Fields.takeError());
  auto A = ABI::parse(Fields->CanonicalABI);
  if (!A)
    return Foreign(A.takeError());
  if (Error E = checkContract(Fields->Contract))
    return Foreign(std::move(E));
  std::string Ours = KeyFields::get(*A, Fields->Entry, Fields->Contract).text();
  SmallVector<StringRef> Lines, OurLines;
  KeyText.split(Lines, '\n');
  StringRef(Ours).split(OurLines, '\n');
  for (auto [Line, OurLine] : zip_equal(Lines, OurLines))
    if (Line != OurLine)
      return makeError(Status::InvalidArgument,
                       "this build would not use the entry: its key has " +
                           Line + ", here it is " + OurLine);
  return emitStub(*A, Fields->Entry, Fields->Contract, Output);
}
