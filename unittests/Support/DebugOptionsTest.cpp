//===- DebugOptionsTest.cpp - What LAUNCHJIT_DEBUG asks for ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/DebugOptions.h"
#include "../Rerun.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"

using namespace launchjit;

TEST(DebugOptions, AreNoneUnlessAskedFor) {
  const DebugOptions &O = DebugOptions::get();
#define X(Member, Name) EXPECT_FALSE(O.Member) << Name;
  LAUNCHJIT_DEBUG_OPTIONS(X)
#undef X
}

TEST(DebugOptions, AreNames) {
  if (isRerun()) {
    const DebugOptions &O = DebugOptions::get();
    EXPECT_TRUE(O.GDB && O.Sync && O.Print);
    EXPECT_FALSE(O.Perf || O.NVTX);
    EXPECT_EQ(O.Dump, "/d");
    EXPECT_EQ(O.DumpMax, 3u << 20);
    EXPECT_EQ(&DebugOptions::get(), &O);
    return;
  }
  Exited E =
      rerun({"LAUNCHJIT_DEBUG=gdb,sync,lldb,dump=/d,dump-max=3M,print,dump=,"
             "dump-max=1T"});
  EXPECT_EQ(E.Status, 0) << E.Output;
  EXPECT_EQ(llvm::StringRef(E.Output).count(
                "LAUNCHJIT_DEBUG names 'lldb'; allowed are gdb, nvtx, perf, "
                "print, sync, dump=DIR and dump-max=SIZE"),
            1u)
      << E.Output;
  for (const char *Wrong : {"names 'dump='", "names 'dump-max=1T'"})
    EXPECT_TRUE(llvm::StringRef(E.Output).contains(Wrong)) << E.Output;
}
