//===- FileLimitTest.cpp - How large a file may become --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/FileLimit.h"
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace launchjit;

namespace {

TEST(FileLimit, IsTheSoftOne) {
  rlimit Before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &Before), 0);
  rlimit Low = {12345, Before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &Low), 0);
  EXPECT_EQ(fileSizeLimit(), 12345u);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &Before), 0);
  EXPECT_EQ(fileSizeLimit(), Before.rlim_cur);
}

} // namespace
