//===- DebugOptions.cpp - What LAUNCHJIT_DEBUG asks for -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/DebugOptions.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace launchjit;

static bool readSize(StringRef Text, uint64_t &Size) {
  unsigned Shift = Text.consume_back("K")   ? 10
                   : Text.consume_back("M") ? 20
                   : Text.consume_back("G") ? 30
                                            : 0;
  uint64_t N;
  if (Text.getAsInteger(10, N) || N > UINT64_MAX >> Shift)
    return false;
  Size = N << Shift;
  return true;
}

static const DebugOptions *read() {
  auto *O = new DebugOptions;
  std::string Value = getEnvironment("LAUNCHJIT_DEBUG").value_or("");
  SmallVector<StringRef> Names;
  StringRef(Value).split(Names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef Name : Names) {
    auto [Key, Text] = Name.split('=');
    if (Key == "dump" && !Text.empty()) {
      O->Dump = Text.str();
      continue;
    }
    if (Key == "dump-max" && readSize(Text, O->DumpMax))
      continue;
    bool Known = false;
    std::string Allowed;
#define X(Member, Spelling)                                                    \
  if (Name == Spelling)                                                        \
    O->Member = Known = true;                                                  \
  Allowed += Spelling ", ";
    LAUNCHJIT_DEBUG_OPTIONS(X)
#undef X
    if (!Known)
      log(LogLevel::Warn, "debug",
          "LAUNCHJIT_DEBUG names '" + Name + "'; allowed are " + Allowed +
              "dump=DIR and dump-max=SIZE (bytes, or with K, M, G)");
  }
  return O;
}

const DebugOptions &DebugOptions::get() {
  ForkShield Shield;
  static const DebugOptions *O = read();
  return *O;
}
