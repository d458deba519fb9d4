//===- ReplayTest.cpp - The fuzzers on what is known ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace launchjit;

static void replay(StringRef Name, void (*Try)(ArrayRef<uint8_t>)) {
  std::string Folder = (LAUNCHJIT_FUZZ_CORPUS "/" + Name).str();
  size_t Count = 0;
  std::error_code EC;
  for (sys::fs::directory_iterator I(Folder, EC), End; I != End && !EC;
       I.increment(EC), ++Count) {
    SCOPED_TRACE(I->path());
    auto Buffer = MemoryBuffer::getFile(I->path(), /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false);
    ASSERT_TRUE(bool(Buffer));
    Try(arrayRefFromStringRef((*Buffer)->getBuffer()));
  }
  EXPECT_FALSE(EC) << Folder << ": " << EC.message();
  EXPECT_GT(Count, 5u) << Folder;
}

TEST(FuzzReplay, Entry) { replay("entry", fuzz::entry); }
TEST(FuzzReplay, Signature) { replay("signature", fuzz::signature); }
