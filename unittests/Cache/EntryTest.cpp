//===- EntryTest.cpp - One cached object as bytes -------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/Entry.h"
#include "launchjit/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace launchjit;

namespace {

SmallVector<char, 0> sample() {
  return encodeEntry("abi=pi32\n", ArrayRef<char>("object bytes", 12));
}

std::string errorOf(ArrayRef<char> Bytes) {
  auto Entry = decodeEntry(Bytes);
  return Entry ? "" : takeDetail(Entry.takeError()).Message;
}

TEST(Entry, ComesBackWhole) {
  SmallVector<char, 0> Bytes = sample();
  auto Entry = decodeEntry(Bytes);
  ASSERT_TRUE(bool(Entry)) << toString(Entry.takeError());
  EXPECT_EQ(Entry->KeyText, "abi=pi32\n");
  EXPECT_EQ(StringRef(Entry->Object.data(), Entry->Object.size()),
            "object bytes");
  EXPECT_EQ(errorOf(encodeEntry("", {})), "");
}

TEST(Entry, EveryFlippedBitIsNoticed) {
  SmallVector<char, 0> Bytes = sample();
  for (size_t I = 0; I != Bytes.size(); ++I)
    for (unsigned Bit = 0; Bit != 8; ++Bit) {
      Bytes[I] ^= 1 << Bit;
      EXPECT_NE(errorOf(Bytes), "") << I << " bit " << Bit;
      Bytes[I] ^= 1 << Bit;
    }
  EXPECT_EQ(errorOf(Bytes), "");
}

TEST(Entry, EveryLengthIsNoticed) {
  SmallVector<char, 0> Bytes = sample();
  for (size_t Size = 0; Size != Bytes.size(); ++Size)
    EXPECT_NE(errorOf(ArrayRef(Bytes).take_front(Size)), "") << Size;
  Bytes.push_back(0);
  EXPECT_NE(errorOf(Bytes), "");
}

TEST(Entry, KeyAndObjectCannotTradeBytes) {
  SmallVector<char, 0> Bytes = sample();
  EntryHeader H;
  memcpy(&H, Bytes.data(), sizeof H);
  ++H.KeySize;
  --H.ObjectSize;
  memcpy(Bytes.data(), &H, sizeof H);
  EXPECT_EQ(errorOf(Bytes), "its checksum is wrong");
}

TEST(Entry, AnotherFormatIsNamed) {
  SmallVector<char, 0> Bytes = sample();
  uint32_t Format = CacheFormatVersion + 1;
  memcpy(Bytes.data() + offsetof(EntryHeader, Format), &Format, 4);
  EXPECT_EQ(errorOf(Bytes), "its format is 2, not 1");
}

} // namespace
