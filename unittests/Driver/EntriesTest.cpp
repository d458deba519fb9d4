//===- EntriesTest.cpp - The versions that Entries.def gives --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cudaTypedefs.h has a type for every version of every entry point, by which
// the compiler checks that the version which is asked for has the prototype
// that cuda.h declares.
//
//===----------------------------------------------------------------------===//

#include "launchjit/Driver/Driver.h"
#include <gtest/gtest.h>

#if __has_include(<cudaTypedefs.h>)
#include <cudaTypedefs.h>

#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  static_assert(std::is_same_v<decltype(&::Name), PFN_##Name##_v##Version>,    \
                #Name);
#include "launchjit/Driver/Entries.def"
#endif

namespace {

TEST(Entries, NoneStandsTwice) {
  std::set<std::string> Names;
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  EXPECT_TRUE(Names.insert(#Name).second) << #Name;
#include "launchjit/Driver/Entries.def"
}

} // namespace
