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

static const DebugOptions *read() {
  auto *O = new DebugOptions;
  std::string Value = getEnvironment("LAUNCHJIT_DEBUG").value_or("");
  SmallVector<StringRef> Names;
  StringRef(Value).split(Names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef Name : Names) {
    bool Known = false;
    std::string Allowed;
#define X(Member, Text)                                                        \
  if (Name == Text)                                                            \
    O->Member = Known = true;                                                  \
  Allowed += Allowed.empty() ? Text : ", " Text;
    LAUNCHJIT_DEBUG_OPTIONS(X)
#undef X
    if (!Known)
      log(LogLevel::Warn, "debug",
          "LAUNCHJIT_DEBUG names '" + Name + "'; allowed are " + Allowed);
  }
  return O;
}

const DebugOptions &DebugOptions::get() {
  ForkShield Shield;
  static const DebugOptions *O = read();
  return *O;
}
