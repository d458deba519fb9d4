//===- Request.cpp - What both sides of the code generator agree on -------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;

static constexpr StringLiteral EntryNames[NumEntryKinds] = {"c", "packed",
                                                            "python"};

StringRef launchjit::entryName(EntryKind K) {
  return EntryNames[static_cast<unsigned>(K)];
}

Expected<EntryKind> launchjit::parseEntry(StringRef Name) {
  for (unsigned I = 0; I != NumEntryKinds; ++I)
    if (Name == EntryNames[I])
      return static_cast<EntryKind>(I);
  return makeError(Status::InvalidArgument,
                   "unknown entry kind '" + Name + "'; known are " +
                       join(ArrayRef(EntryNames), ", "));
}

StringRef launchjit::hostTriple() {
#if defined(__x86_64__)
  return "x86_64-unknown-linux-gnu";
#elif defined(__aarch64__)
  return "aarch64-unknown-linux-gnu";
#else
#error "launchjit supports x86-64 and AArch64"
#endif
}

StringRef launchjit::baselineCPU(StringRef Triple) {
  return Triple.starts_with("x86_64") ? "x86-64" : "generic";
}

ArrayRef<StringRef> launchjit::knownContracts() {
  static constexpr StringRef Contracts[] = {"launchjit"};
  return Contracts;
}

Error launchjit::checkContract(StringRef Contract) {
  if (is_contained(knownContracts(), Contract))
    return Error::success();
  return makeError(Status::InvalidArgument, "unknown contract '" + Contract +
                                                "'; known are " +
                                                join(knownContracts(), ", "));
}

const char *launchjit::codegenBuildId() { return LAUNCHJIT_BUILD_ID; }

const char *launchjit::codegenSourceHash() { return LAUNCHJIT_SOURCE_HASH; }
