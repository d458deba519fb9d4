//===- EnvironmentTest.cpp - The variables that the library reads ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Environment.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llvm;
using namespace launchjit;

TEST(EnvironmentTest, EveryVariableIsDescribed) {
  StringSet<> Names;
  for (const EnvironmentVariable &V : environmentVariables()) {
    EXPECT_TRUE(StringRef(V.Name).starts_with("LAUNCHJIT_")) << V.Name;
    EXPECT_TRUE(Names.insert(V.Name).second) << V.Name;
    EXPECT_STRNE(V.Default, "") << V.Name;
    EXPECT_STRNE(V.Help, "") << V.Name;
  }
}

TEST(EnvironmentTest, UnsetAndEmptyAreNone) {
  const char *Name = "LAUNCHJIT_LIBCUDA";
  const char *Old = std::getenv(Name);
  std::optional<std::string> Saved;
  if (Old)
    Saved = Old;
  unsetenv(Name);
  EXPECT_FALSE(getEnvironment(Name));
  setenv(Name, "", 1);
  EXPECT_FALSE(getEnvironment(Name));
  setenv(Name, " x ", 1);
  EXPECT_EQ(getEnvironment(Name), " x ");
  if (Saved)
    setenv(Name, Saved->c_str(), 1);
  else
    unsetenv(Name);
}
