//===- LinkerTest.cpp - An object to code ---------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/Linker.h"
#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace launchjit;

namespace {

SmallVector<char, 0> object(StringRef ABI, StringRef Symbol) {
  StubRequest R;
  R.ABI = ABI;
  R.Symbol = Symbol;
  return cantFail(compileStub(R));
}

TEST(Linker, LinksAndGivesBack) {
  Linker L;
  EXPECT_EQ(L.usage().Bytes, 0u);
  auto Linked = L.link(object("pi32", "f"), "f");
  ASSERT_TRUE(bool(Linked)) << toString(Linked.takeError());
  EXPECT_TRUE(Linked->Entry);
  EXPECT_GT(L.usage().Bytes, 0u);
  EXPECT_EQ(L.usage().Slabs, 1u);
  L.unlink(std::move(Linked->Code));
  EXPECT_EQ(L.usage().Bytes, 0u);
  // The same name again, after it is gone.
  auto Again = L.link(object("pi32", "f"), "f");
  ASSERT_TRUE(bool(Again)) << toString(Again.takeError());
  L.unlink(std::move(Again->Code));
}

TEST(Linker, DamagedObjectsAreErrorsAndLeaveNothing) {
  Linker L;
  SmallVector<char, 0> Good = object("pi32", "f");
  auto Message = [&](ArrayRef<char> Bytes, StringRef Symbol) {
    auto Linked = L.link(Bytes, Symbol);
    EXPECT_FALSE(bool(Linked));
    return Linked ? "" : takeDetail(Linked.takeError()).Message;
  };
  EXPECT_NE(Message(Good, "g").find("cannot link g"), std::string::npos);
  EXPECT_NE(Message({}, "f"), "");
  for (size_t Size : {1u, 16u, 64u, 100u, 200u})
    EXPECT_NE(Message(ArrayRef(Good).take_front(Size), "f"), "") << Size;
  EXPECT_EQ(L.usage().Bytes, 0u);
  auto Linked = L.link(Good, "f");
  ASSERT_TRUE(bool(Linked)) << toString(Linked.takeError());
  L.unlink(std::move(Linked->Code));
}

/// What a store gives can be any bytes whose checksum is right.
TEST(Linker, NoChangedByteDoesHarm) {
  Linker L;
  SmallVector<char, 0> Bytes = object("pi32", "f");
  unsigned Refused = 0;
  for (char &Byte : Bytes)
    for (int Change : {1, 2, 4, 8, 0x80, 0xff}) {
      Byte ^= Change;
      auto Linked = L.link(Bytes, "f");
      Byte ^= Change;
      if (Linked) {
        L.unlink(std::move(Linked->Code));
      } else {
        consumeError(Linked.takeError());
        ++Refused;
      }
    }
  EXPECT_GT(Refused, 500u);
  EXPECT_EQ(L.usage().Bytes, 0u);
}

} // namespace
