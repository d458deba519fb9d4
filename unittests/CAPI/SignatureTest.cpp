//===- SignatureTest.cpp - Signatures of the C interface ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPITest.h"
#include <cstdio>

using namespace capitest;

TEST(CAPISignature, TellsItsParameters) {
  Signature S = parse("x: *fp32:16, pair: (i8, *fp16), K: constexpr, i64");
  EXPECT_EQ(str(lj_signature_abi(S.get())), "p(i8p)_i64");
  EXPECT_EQ(lj_signature_size(S.get()), 32u);

  ASSERT_EQ(lj_signature_num_parameters(S.get()), 4u);
  lj_parameter P = sized<lj_parameter>();
  EXPECT_OK(lj_signature_parameter(S.get(), 0, &P));
  EXPECT_EQ(str(P.name), "x");
  EXPECT_EQ(str(P.type), "*fp32");
  EXPECT_EQ(str(P.c_type), "CUdeviceptr");
  EXPECT_EQ(P.divisible_by, 16u);
  EXPECT_FALSE(P.hidden);
  EXPECT_OK(lj_signature_parameter(S.get(), 2, &P));
  EXPECT_EQ(str(P.name), "pair[1]");
  EXPECT_EQ(P.offset, 16u);
  EXPECT_EQ(P.size, 8u);
  EXPECT_EQ(P.align, 8u);
  EXPECT_OK(lj_signature_parameter(S.get(), 3, &P));
  EXPECT_EQ(str(P.name), "");
  EXPECT_EQ(str(P.c_type), "int64_t");

  ASSERT_EQ(lj_signature_num_arguments(S.get()), 4u);
  const size_t First[] = {0, 1, 3, 3}, Count[] = {1, 2, 0, 1};
  for (size_t I = 0; I != 4; ++I) {
    lj_argument A = sized<lj_argument>();
    EXPECT_OK(lj_signature_argument(S.get(), I, &A));
    EXPECT_EQ(A.first, First[I]) << I;
    EXPECT_EQ(A.count, Count[I]) << I;
  }

  // The canonical text means the same.
  EXPECT_EQ(
      str(lj_signature_text(parse(str(lj_signature_text(S.get()))).get())),
      str(lj_signature_text(S.get())));
}

TEST(CAPISignature, Options) {
  lj_signature_options O = sized<lj_signature_options>();
  O.scratch = "gp";
  lj_signature *S = nullptr;
  EXPECT_OK(lj_signature_parse("i32", 3, &O, &S));
  Signature Owner(S);
  EXPECT_EQ(str(lj_signature_abi(S)), "i32+gp");
  ASSERT_EQ(lj_signature_num_parameters(S), 3u);
  EXPECT_EQ(lj_signature_num_arguments(S), 1u);
  lj_parameter P = sized<lj_parameter>();
  EXPECT_OK(lj_signature_parameter(S, 2, &P));
  EXPECT_TRUE(P.hidden);
  EXPECT_EQ(str(P.name), "profile_scratch");

  const std::string Large = "struct<5000,4>";
  O.scratch = nullptr;
  EXPECT_FAILS(lj_signature_parse(Large.data(), Large.size(), &O, &S),
               LJ_ERROR_SIGNATURE, "4096");
  O.large_parameters = true;
  EXPECT_OK(lj_signature_parse(Large.data(), Large.size(), &O, &S));
  EXPECT_EQ(lj_signature_size(S), 5000u);
  lj_signature_delete(S);

  O.scratch = "x";
  Error E(lj_signature_parse("i32", 3, &O, &S));
  EXPECT_NE(E, nullptr);
}

TEST(CAPISignature, Misuse) {
  lj_signature *S = nullptr;
  EXPECT_INVALID(lj_signature_parse("i32", 3, nullptr, nullptr),
                 "lj_signature_parse: signature is null");
  EXPECT_INVALID(lj_signature_parse(nullptr, 3, nullptr, &S),
                 "lj_signature_parse: text is null");
  EXPECT_OK(lj_signature_parse(nullptr, 0, nullptr, &S));
  Signature Empty(S);
  EXPECT_EQ(lj_signature_num_parameters(S), 0u);
  EXPECT_EQ(lj_signature_size(S), 0u);

  lj_signature_options O = sized<lj_signature_options>();
  O.struct_size = 16;
  EXPECT_INVALID(lj_signature_parse("i32", 3, &O, &S),
                 "lj_signature_parse: options->struct_size is 16, but an "
                 "lj_signature_options has at least 24");

  lj_parameter P = sized<lj_parameter>();
  EXPECT_INVALID(lj_signature_parameter(S, 0, &P),
                 "lj_signature_parameter: index is 0, but there are only 0");
  EXPECT_INVALID(lj_signature_parameter(S, 0, nullptr), "parameter is null");
  EXPECT_INVALID(lj_signature_parameter(nullptr, 0, &P), "signature is null");
  lj_argument A = sized<lj_argument>();
  EXPECT_INVALID(lj_signature_argument(S, 1, &A), "index is 1");
  EXPECT_INVALID(lj_signature_argument(nullptr, 0, &A), "signature is null");

  EXPECT_EQ(lj_signature_size(nullptr), 0u);
  EXPECT_EQ(lj_signature_num_parameters(nullptr), 0u);
  EXPECT_EQ(lj_signature_num_arguments(nullptr), 0u);
  EXPECT_EQ(lj_signature_text(nullptr).size, 0u);
  EXPECT_EQ(lj_signature_abi(nullptr).size, 0u);
  lj_signature_delete(nullptr);
}

// Callers of another version: what they know is filled, and nothing behind it.
TEST(CAPISignature, StructsOfOtherVersions) {
  Signature S = parse("n: i32");
  struct {
    lj_parameter P;
    uint64_t Next;
  } Newer;
  std::memset(&Newer, 0xa5, sizeof Newer);
  Newer.P.struct_size = sizeof Newer;
  EXPECT_OK(lj_signature_parameter(S.get(), 0, &Newer.P));
  EXPECT_EQ(Newer.P.struct_size, sizeof Newer);
  EXPECT_EQ(str(Newer.P.name), "n");
  EXPECT_EQ(Newer.Next, 0xa5a5a5a5a5a5a5a5u);

  lj_parameter Older;
  std::memset(&Older, 0xa5, sizeof Older);
  Older.struct_size = 8;
  const std::string Before(reinterpret_cast<char *>(&Older), sizeof Older);
  EXPECT_INVALID(lj_signature_parameter(S.get(), 0, &Older),
                 "parameter->struct_size is 8");
  EXPECT_EQ(std::string(reinterpret_cast<char *>(&Older), sizeof Older),
            Before);

  struct {
    lj_signature_options O;
    uint64_t Next;
  } Options = {sized<lj_signature_options>(), 7};
  Options.O.struct_size = sizeof Options;
  Options.O.scratch = "p";
  lj_signature *Parsed = nullptr;
  EXPECT_OK(lj_signature_parse("i32", 3, &Options.O, &Parsed));
  Signature Owner(Parsed);
  EXPECT_EQ(str(lj_signature_abi(Parsed)), "i32+p");
}

static std::string typedefOf(const std::string &Text,
                             const char *Name = "entry") {
  lj_buffer B = {nullptr, 0};
  EXPECT_OK(lj_signature_c_typedef(parse(Text).get(), Name, &B));
  return B.data ? take(B) : "";
}

TEST(CAPISignature, CTypedef) {
  EXPECT_EQ(typedefOf("x: *fp32, a: fp16, s: struct<12,4>, K: constexpr, i1"),
            "typedef int (*entry)(\n"
            "    const lj_kernel *kernel, int64_t grid_x, int64_t grid_y, "
            "int64_t grid_z,\n"
            "    struct CUstream_st *stream,\n"
            "    uint64_t x /* *fp32 */,\n"
            "    uint16_t a /* fp16 */,\n"
            "    const void *s /* struct<12,4> */,\n"
            "    uint8_t arg3 /* i1 */);\n");

  Signature S = parse("i32");
  lj_buffer B = {nullptr, 0};
  EXPECT_INVALID(lj_signature_c_typedef(S.get(), "2x", &B), "'2x'");
  EXPECT_INVALID(lj_signature_c_typedef(S.get(), "", &B), "''");
  EXPECT_INVALID(lj_signature_c_typedef(S.get(), "while", &B), "'while'");
  EXPECT_INVALID(lj_signature_c_typedef(S.get(), nullptr, &B), "name is null");
  EXPECT_INVALID(lj_signature_c_typedef(S.get(), "x", nullptr), "text is null");
  EXPECT_INVALID(lj_signature_c_typedef(nullptr, "x", &B), "signature is null");
  EXPECT_EQ(B.data, nullptr);
}

// Whatever a signature calls its parameters, compilers take the typedef.
TEST(CAPISignature, CTypedefCompiles) {
  const std::string Source =
      "#include \"launchjit-c/launchjit.h\"\n" + typedefOf("", "nothing") +
      typedefOf("kernel: i32, stream: i64, grid_x: u8, i64, i64, "
                "arg4: fp32, _: fp64, __FILE__: i16, class: u16, "
                "int_: u64, restrict: i8, template: bf16, pair: (i32, (i1, "
                "*void)), pair_0: i32, d: nvTmaDesc, c: struct<3,1>, NULL: u1",
                "every_kind");
  for (const char *Compiler :
       {LAUNCHJIT_TEST_CC " -x c -std=c99", LAUNCHJIT_TEST_CXX " -x c++"}) {
    std::string Command = std::string(Compiler) +
                          " -pedantic -Wall -Wextra -Werror "
                          "-fsyntax-only -I" LAUNCHJIT_TEST_INCLUDE " -";
    FILE *Pipe = popen(Command.c_str(), "w");
    ASSERT_NE(Pipe, nullptr);
    std::fwrite(Source.data(), 1, Source.size(), Pipe);
    EXPECT_EQ(pclose(Pipe), 0) << Command << "\n" << Source;
  }
}
