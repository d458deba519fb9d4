//===- KeyTest.cpp - What decides a stub's bytes --------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/Key.h"
#include "launchjit/Codegen/Request.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "gtest/gtest.h"
#include <set>

using namespace llvm;
using namespace launchjit;

namespace {

ABI abi(StringRef Text) { return cantFail(ABI::parse(Text)); }

TEST(Key, TextHasEveryFieldWithItsLabel) {
  KeyFields F = KeyFields::get(abi("p_(i32)+g"), EntryKind::C, "launchjit");
  EXPECT_EQ(F.text(), "format=1\nstub-abi=" + std::to_string(StubABIVersion) +
                          "\ngenerator=" + codegenSourceHash() +
                          "\nllvm=" LLVM_VERSION_STRING "\ntriple=" + F.Triple +
                          "\ncpu=" + F.CPU +
                          "\nfeatures=\nentry=c\ncontract=launchjit\n"
                          "abi=pi32+g\n");
  EXPECT_TRUE(F.CPU == "x86-64" || F.CPU == "generic");
}

TEST(Key, TextIsReadBackAndNothingElseIs) {
  for (EntryKind Kind : {EntryKind::C, EntryKind::Packed, EntryKind::Python}) {
    std::string Text =
        KeyFields::get(abi("p_(i32)+g"), Kind, "launchjit").text();
    auto F = KeyFields::parse(Text);
    ASSERT_TRUE(bool(F)) << toString(F.takeError());
    EXPECT_EQ(F->text(), Text);
    EXPECT_EQ(F->Entry, Kind);
    for (size_t Size = 0; Size != Text.size(); ++Size)
      EXPECT_TRUE(errorToBool(
          KeyFields::parse(StringRef(Text).take_front(Size)).takeError()))
          << Size;
    EXPECT_TRUE(errorToBool(KeyFields::parse(Text + "\n").takeError()));
    EXPECT_TRUE(errorToBool(KeyFields::parse(Text + "x=1\n").takeError()));
  }
}

TEST(Key, EveryFieldChangesIt) {
  const KeyFields Base = KeyFields::get(abi("pi32"), EntryKind::C, "launchjit");
  std::set<std::string> Keys = {Key::hash(Base.text()).str()};
  auto Changed = [&](auto Change) {
    KeyFields F = Base;
    Change(F);
    return Keys.insert(Key::hash(F.text()).str()).second;
  };
  EXPECT_TRUE(Changed([](KeyFields &F) { ++F.FormatVersion; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { ++F.StubABI; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.Generator = "0"; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.LLVM = "20.0.0"; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.Triple = "riscv64"; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.CPU = "znver5"; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.Features = "+avx2"; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.Entry = EntryKind::Packed; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.Contract = "triton-3.9"; }));
  EXPECT_TRUE(Changed([](KeyFields &F) { F.CanonicalABI = "pi64"; }));
}

TEST(Key, OnlyWhatTheCodeSeesCounts) {
  auto Get = [](StringRef Text, EntryKind K) {
    return Key::get(abi(Text), K, "launchjit");
  };
  // A tuple and a constexpr are nothing to c and packed, but to python.
  EXPECT_EQ(Get("p(i32)_", EntryKind::C), Get("pi32", EntryKind::C));
  EXPECT_EQ(Get("p(i32)_", EntryKind::Packed), Get("pi32", EntryKind::Packed));
  EXPECT_FALSE(Get("p(i32)_", EntryKind::Python) ==
               Get("pi32", EntryKind::Python));
}

TEST(Key, IsHexadecimalAndNamesTheSymbol) {
  Key K{0x0123456789abcdefull, 0x0000000000000001ull};
  EXPECT_EQ(K.str(), "0123456789abcdef0000000000000001");
  EXPECT_EQ(stubSymbol(EntryKind::Packed, K),
            "lj_packed_0123456789abcdef0000000000000001");
}

} // namespace
