//===- LauncherTest.cpp - Launchers of the C interface --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPITest.h"

using namespace capitest;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

TEST(CAPILauncher, TellsWhatItIs) {
  // An ABI that no other test uses.
  Signature S = parse("i8, *i8, i8, *i8, fp64, i16, i8, u64, u8, u8, bf16");
  lj_launcher *L = nullptr;
  EXPECT_OK(lj_launcher_create(S.get(), LJ_ENTRY_PACKED, nullptr, &L));
  Launcher First(L);
  lj_launcher_info Info = sized<lj_launcher_info>();
  EXPECT_OK(lj_launcher_get_info(L, &Info));
  EXPECT_EQ(Info.entry, LJ_ENTRY_PACKED);
  EXPECT_NE(Info.address, nullptr);
  char Key[33];
  EXPECT_OK(lj_launcher_key(S.get(), LJ_ENTRY_PACKED, "launchjit", Key));
  EXPECT_STREQ(Info.key, Key);
  EXPECT_THAT(Key, MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(std::strlen(Key), 32u);
  if (Error NoJIT{lj_jit_check()}) {
    EXPECT_EQ(Info.origin, LJ_ORIGIN_INTERPRETED);
    return;
  }
  EXPECT_EQ(Info.origin, LJ_ORIGIN_COMPILED);
  EXPECT_GT(Info.compile_ns, 0u);
  EXPECT_GT(Info.link_ns, 0u);
  EXPECT_GT(Info.object_size, Info.code_size);
  EXPECT_GT(Info.code_size, 0u);

  EXPECT_OK(lj_launcher_create(S.get(), LJ_ENTRY_PACKED, "launchjit", &L));
  Launcher Second(L);
  lj_launcher_info Again = sized<lj_launcher_info>();
  EXPECT_OK(lj_launcher_get_info(L, &Again));
  EXPECT_EQ(Again.origin, LJ_ORIGIN_MEMORY);
  EXPECT_EQ(Again.compile_ns, 0u);
  EXPECT_EQ(Again.link_ns, 0u);
  EXPECT_EQ(Again.address, Info.address);
}

TEST(CAPILauncher, KeyGoesByABI) {
  char A[33], B[33], C[33];
  EXPECT_OK(
      lj_launcher_key(parse("x: *fp32, i32").get(), LJ_ENTRY_C, nullptr, A));
  EXPECT_OK(
      lj_launcher_key(parse("*i8, n: i32:16").get(), LJ_ENTRY_C, nullptr, B));
  EXPECT_STREQ(A, B);
  EXPECT_OK(
      lj_launcher_key(parse("*i8, i32").get(), LJ_ENTRY_PYTHON, nullptr, C));
  EXPECT_STRNE(A, C);
}

TEST(CAPILauncher, StubOutputs) {
  Signature S = parse("*fp32, i32");
  char Key[33];
  EXPECT_OK(lj_launcher_key(S.get(), LJ_ENTRY_C, nullptr, Key));
  lj_buffer B = {nullptr, 0};
  EXPECT_OK(lj_stub_emit(S.get(), LJ_ENTRY_C, nullptr, LJ_STUB_IR, &B));
  EXPECT_THAT(take(B), HasSubstr("@lj_c_" + std::string(Key) + "("));
  EXPECT_OK(lj_stub_emit(S.get(), LJ_ENTRY_C, nullptr, LJ_STUB_ASSEMBLY, &B));
  EXPECT_THAT(take(B), HasSubstr("lj_c_" + std::string(Key) + ":"));
  EXPECT_OK(lj_stub_emit(S.get(), LJ_ENTRY_C, nullptr, LJ_STUB_OBJECT, &B));
  EXPECT_THAT(take(B), StartsWith("\177ELF"));
  EXPECT_OK(lj_stub_emit(S.get(), LJ_ENTRY_C, nullptr, LJ_STUB_BITCODE, &B));
  EXPECT_THAT(take(B), StartsWith("BC"));
}

TEST(CAPILauncher, Names) {
  for (lj_entry_kind Kind : {LJ_ENTRY_C, LJ_ENTRY_PACKED, LJ_ENTRY_PYTHON}) {
    lj_entry_kind Parsed = lj_entry_kind(-1);
    EXPECT_OK(lj_entry_kind_parse(lj_entry_kind_name(Kind), &Parsed));
    EXPECT_EQ(Parsed, Kind);
  }
  EXPECT_STREQ(lj_entry_kind_name(LJ_ENTRY_PACKED), "packed");
  EXPECT_EQ(lj_entry_kind_name(lj_entry_kind(3)), nullptr);
  EXPECT_STREQ(lj_origin_name(LJ_ORIGIN_COMPILED), "compiled");
  EXPECT_STREQ(lj_origin_name(LJ_ORIGIN_INTERPRETED), "interpreted");
  EXPECT_EQ(lj_origin_name(lj_origin(4)), nullptr);
  lj_entry_kind Kind = LJ_ENTRY_PYTHON;
  Error E(lj_entry_kind_parse("pakced", &Kind));
  EXPECT_THAT(lj_error_message(E.get()), HasSubstr("packed"));
  EXPECT_EQ(Kind, LJ_ENTRY_PYTHON);
}

TEST(CAPILauncher, Misuse) {
  Signature S = parse("i32");
  lj_launcher *L = nullptr;
  EXPECT_INVALID(lj_launcher_create(nullptr, LJ_ENTRY_C, nullptr, &L),
                 "lj_launcher_create: signature is null");
  EXPECT_INVALID(lj_launcher_create(S.get(), LJ_ENTRY_C, nullptr, nullptr),
                 "lj_launcher_create: launcher is null");
  EXPECT_INVALID(lj_launcher_create(S.get(), lj_entry_kind(9), nullptr, &L),
                 "lj_launcher_create: entry is 9");
  Error E(lj_launcher_create(S.get(), LJ_ENTRY_C, "tritium", &L));
  EXPECT_THAT(lj_error_message(E.get()), HasSubstr("tritium"));
  EXPECT_EQ(L, nullptr);

  char Key[33] = "unchanged";
  EXPECT_INVALID(lj_launcher_key(S.get(), lj_entry_kind(-1), nullptr, Key),
                 "entry is -1");
  E.reset(lj_launcher_key(S.get(), LJ_ENTRY_C, "tritium", Key));
  EXPECT_THAT(lj_error_message(E.get()), HasSubstr("tritium"));
  EXPECT_STREQ(Key, "unchanged");

  lj_buffer B = {nullptr, 0};
  EXPECT_INVALID(
      lj_stub_emit(S.get(), LJ_ENTRY_C, nullptr, lj_stub_output(4), &B),
      "lj_stub_emit: output is 4");
  EXPECT_INVALID(
      lj_stub_emit(S.get(), LJ_ENTRY_C, nullptr, LJ_STUB_IR, nullptr),
      "bytes is null");
  lj_launcher_info Info = sized<lj_launcher_info>();
  EXPECT_INVALID(lj_launcher_get_info(nullptr, &Info), "launcher is null");
  EXPECT_INVALID(lj_entry_kind_parse(nullptr, nullptr), "name is null");
  lj_launcher_delete(nullptr);
}
