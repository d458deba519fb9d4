//===- SignatureTest.cpp - The grammar of signatures ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Signature/Signature.h"
#include "TestHelpers.h"
#include "llvm/ADT/StringExtras.h"
#include <random>

using namespace llvm;
using namespace launchjit;
using testing::ElementsAre;
using testing::HasSubstr;

static std::string canonical(StringRef Text) { return parse(Text).str(); }

static std::string abiOf(StringRef Text) { return parse(Text).abi().str(); }

static std::vector<std::string> namesOf(const Signature &S) {
  std::vector<std::string> Names;
  for (const NamedSlot &N : S.slots())
    Names.push_back(N.Name);
  return Names;
}

static std::vector<std::string> spellingsOf(const Signature &S) {
  std::vector<std::string> Spellings;
  for (const NamedSlot &N : S.slots())
    Spellings.push_back(N.Spelling);
  return Spellings;
}

static bool sameParameters(ArrayRef<Parameter> A, ArrayRef<Parameter> B) {
  if (A.size() != B.size())
    return false;
  for (size_t I = 0; I != A.size(); ++I)
    if (A[I].Name != B[I].Name || !(A[I].Type == B[I].Type) ||
        A[I].Spelling != B[I].Spelling ||
        A[I].DivisibleBy != B[I].DivisibleBy ||
        !sameParameters(A[I].Elements, B[I].Elements))
      return false;
  return true;
}

TEST(SignatureTest, TheExample) {
  Signature S = parse("x: *fp32, y: *fp32, n: i32");
  EXPECT_EQ(S.abi().str(), "ppi32");
  EXPECT_EQ(S.str(), "x: *fp32, y: *fp32, n: i32");
  ASSERT_EQ(S.parameters().size(), 3u);
  EXPECT_EQ(S.parameters()[2].Name, "n");
  EXPECT_EQ(S.parameters()[2].Spelling, "i32");
  ASSERT_EQ(S.slots().size(), 3u);
  EXPECT_EQ(S.slots()[1].Name, "y");
  EXPECT_EQ(S.slots()[1].Spelling, "*fp32");
  EXPECT_EQ(S.slots()[1].Where.Offset, 8u);
  EXPECT_EQ(S.slots()[2].Where.Kind, ParamKind::I32);
}

TEST(SignatureTest, Empty) {
  for (const char *Text : {"", " ", "\t\n \r\f\v"}) {
    Signature S = parse(Text);
    EXPECT_TRUE(S.parameters().empty());
    EXPECT_TRUE(S.slots().empty());
    EXPECT_EQ(S.str(), "");
    EXPECT_EQ(S.abi().str(), "");
  }
}

TEST(SignatureTest, WhiteSpaceIsFree) {
  EXPECT_EQ(canonical("\n x\t:\r* kfp32\v\f"), "x: *kfp32");
  EXPECT_EQ(canonical(" x : * kfp32 : 16 ,( i32 ,\n( ) ) , struct < 12 , 4 > "),
            "x: *kfp32:16, (i32, ()), struct<12,4>");
  EXPECT_EQ(canonical("nvTmaDesc < 128 >,n:5"), "nvTmaDesc<128>, n: 5");
}

TEST(SignatureTest, ScalarAliases) {
  struct {
    const char *Text;
    const char *Canonical;
  } Cases[] = {
#define X(Name, Text, CType, Size) {Text, Text},
      LAUNCHJIT_SCALARS(X)
#undef X
          {"f16", "fp16"},
      {"f32", "fp32"},
      {"f64", "fp64"},
      {"float16", "fp16"},
      {"bfloat16", "bf16"},
      {"float32", "fp32"},
      {"float64", "fp64"},
      {"int8", "i8"},
      {"int16", "i16"},
      {"int32", "i32"},
      {"int64", "i64"},
      {"uint8", "u8"},
      {"uint16", "u16"},
      {"uint32", "u32"},
      {"uint64", "u64"},
      {"bool", "u1"},
      {"float", "fp32"},
      {"double", "fp64"},
      {"half", "fp16"},
      {"__half", "fp16"},
      {"nv_bfloat16", "bf16"},
      {"__nv_bfloat16", "bf16"},
      {"char", "i8"},
      {"signed char", "i8"},
      {"char signed", "i8"},
      {"unsigned char", "u8"},
      {"short", "i16"},
      {"short int", "i16"},
      {"int short", "i16"},
      {"signed short int", "i16"},
      {"unsigned short", "u16"},
      {"unsigned short int", "u16"},
      {"short unsigned", "u16"},
      {"int", "i32"},
      {"signed", "i32"},
      {"signed int", "i32"},
      {"int signed", "i32"},
      {"unsigned", "u32"},
      {"unsigned int", "u32"},
      {"int unsigned", "u32"},
      {"long", "i64"},
      {"long int", "i64"},
      {"signed long", "i64"},
      {"unsigned long", "u64"},
      {"long unsigned int", "u64"},
      {"int long unsigned", "u64"},
      {"long long", "i64"},
      {"long long int", "i64"},
      {"long signed long", "i64"},
      {"unsigned long long", "u64"},
      {"long long unsigned int", "u64"},
      {"long unsigned int long", "u64"},
      {"unsigned  \t long\nlong", "u64"},
      {"size_t", "u64"},
      {"ssize_t", "i64"},
      {"ptrdiff_t", "i64"},
      {"intptr_t", "i64"},
      {"uintptr_t", "u64"},
      {"int8_t", "i8"},
      {"int16_t", "i16"},
      {"int32_t", "i32"},
      {"int64_t", "i64"},
      {"uint8_t", "u8"},
      {"uint16_t", "u16"},
      {"uint32_t", "u32"},
      {"uint64_t", "u64"},
      {"const int", "i32"},
      {"int const", "i32"},
      {"volatile const float", "fp32"},
      {"float const volatile", "fp32"},
      {"const unsigned long", "u64"},
      {"unsigned const long", "u64"},
      {"long long const", "i64"},
  };
  for (const auto &C : Cases) {
    EXPECT_EQ(canonical(C.Text), C.Canonical);
    EXPECT_EQ(abiOf(C.Text), C.Canonical);
    EXPECT_EQ(canonical(std::string("x: ") + C.Text + ":8"),
              std::string("x: ") + C.Canonical + ":8");
    if (StringRef(C.Text).contains("const"))
      continue;
    // C's pointer to it, and Triton's where it is one word.
    EXPECT_EQ(canonical(std::string(C.Text) + "*"),
              std::string("*") + C.Canonical);
    if (StringRef(C.Text).find_first_of(" \t\n") == StringRef::npos) {
      EXPECT_EQ(canonical(std::string("*") + C.Text),
                std::string("*") + C.Canonical);
      EXPECT_EQ(canonical(std::string("*k") + C.Text),
                std::string("*k") + C.Canonical);
    }
  }
}

TEST(SignatureTest, Pointers) {
  struct {
    const char *Text;
    const char *Canonical;
  } Cases[] = {
      {"*fp32", "*fp32"},
      {"*kfp32", "*kfp32"},
      {"*fp8e4nv", "*fp8e4nv"},
      {"*kfp8e5", "*kfp8e5"},
      {"*fp8e4b15", "*fp8e4b15"},
      {"*fp8e4b8", "*fp8e4b8"},
      {"*fp8e5b16", "*fp8e5b16"},
      {"*void", "*void"},
      {"*kvoid", "*kvoid"},
      {"*MyStruct", "*MyStruct"},
      {"*_x9", "*_x9"},
      {"*k", "*k"},
      {"*kernel_t", "*kernel_t"},
      {"*kkfp32", "*kkfp32"},
      {"**fp32", "**fp32"},
      {"* * kfp32", "**kfp32"},
      {"*k*fp32", "*k*fp32"},
      {"***void", "***void"},
      {"float*", "*fp32"},
      {"float *", "*fp32"},
      {"const float*", "*kfp32"},
      {"float const *", "*kfp32"},
      {"float *const", "*fp32"},
      {"const float *const", "*kfp32"},
      {"float const volatile *", "*kfp32"},
      {"volatile float *", "*fp32"},
      {"void *", "*void"},
      {"const void*", "*kvoid"},
      {"float **", "**fp32"},
      {"const float **", "**kfp32"},
      {"float *const *", "*k*fp32"},
      {"float **const", "**fp32"},
      {"const float *const *", "*k*kfp32"},
      {"float* __restrict__", "*fp32"},
      {"float* __restrict", "*fp32"},
      {"const __half * restrict", "*kfp16"},
      {"const __half *restrict const", "*kfp16"},
      {"unsigned long long *", "*u64"},
      {"const unsigned char*", "*ku8"},
      {"unsigned char const*", "*ku8"},
      {"int8 *", "*i8"},
      {"fp8e4nv*", "*fp8e4nv"},
      {"MyStruct*", "*MyStruct"},
      {"const MyStruct *", "*kMyStruct"},
      {"MyStruct const *", "*kMyStruct"},
      {"struct MyStruct *", "*MyStruct"},
      {"const struct MyStruct *", "*kMyStruct"},
      {"enum Color *", "*Color"},
      {"class C*", "*C"},
      {"union U*", "*U"},
      {"k *", "*k"},
      {"k **", "**k"},
      {"kint *", "*ki32"},
  };
  for (const auto &C : Cases) {
    EXPECT_EQ(canonical(C.Text), C.Canonical);
    EXPECT_EQ(canonical(C.Canonical), C.Canonical);
    EXPECT_EQ(abiOf(C.Text), "p");
    EXPECT_EQ(canonical(std::string("q: ") + C.Text + " : 16"),
              std::string("q: ") + C.Canonical + ":16");
  }
}

TEST(SignatureTest, Hints) {
  Signature S =
      parse("i32:16, x: *fp32:8, (i64:4, *void), fp32:18446744073709551615");
  EXPECT_EQ(S.parameters()[0].DivisibleBy, 16u);
  EXPECT_EQ(S.parameters()[0].Name, "");
  EXPECT_EQ(S.parameters()[0].Spelling, "i32");
  EXPECT_EQ(S.slots()[1].DivisibleBy, 8u);
  EXPECT_EQ(S.slots()[2].DivisibleBy, 4u);
  EXPECT_EQ(S.slots()[3].DivisibleBy, 0u);
  EXPECT_EQ(S.slots()[4].DivisibleBy, UINT64_MAX);
  EXPECT_EQ(S.parameters()[2].Spelling, "(i64, *void)");
  EXPECT_EQ(S.str(), "i32:16, x: *fp32:8, (i64:4, *void), "
                     "fp32:18446744073709551615");
  EXPECT_EQ(S.abi().str(), "i32p(i64p)fp32");
}

TEST(SignatureTest, TritonsAheadOfTimeStrings) {
  Signature S = parse("*fp32:16, i32:16, 1024, i32");
  EXPECT_EQ(S.abi().str(), "pi32_i32");
  EXPECT_EQ(S.str(), "*fp32:16, i32:16, 1024, i32");
}

TEST(SignatureTest, Constexprs) {
  for (const char *Text :
       {"constexpr", "0", "1024", "-1", "+7", "0x1F", "-0Xff", "0.5", ".5",
        "5.", "1e-5", "1E+10", "-1.25e3", "007",
        "123456789012345678901234567890"}) {
    Signature S = parse(Text);
    EXPECT_EQ(S.abi().str(), "_");
    EXPECT_EQ(S.str(), Text);
    EXPECT_TRUE(S.slots().empty());
    EXPECT_EQ(canonical(std::string("N : ") + Text), std::string("N: ") + Text);
  }
}

TEST(SignatureTest, StructsAndTensorMaps) {
  EXPECT_EQ(abiOf("struct<12,4>"), "s12a4");
  EXPECT_EQ(canonical("s: struct< 012 , 4 >"), "s: struct<12,4>");
  EXPECT_EQ(abiOf("struct<1,1>, struct<256,256>"), "s1a1s256a256");
  EXPECT_EQ(abiOf("nvTmaDesc, nvTmaDesc<64>, nvTmaDesc<128>"), "t64t64t128");
  EXPECT_EQ(canonical("nvTmaDesc, nvTmaDesc<64>, nvTmaDesc<128>"),
            "nvTmaDesc, nvTmaDesc, nvTmaDesc<128>");
}

TEST(SignatureTest, NamesThatAreWordsOnlyWithBrackets) {
  EXPECT_EQ(canonical("struct: i32, tensordesc: nvTmaDesc"),
            "struct: i32, tensordesc: nvTmaDesc");
}

TEST(SignatureTest, Tuples) {
  Signature S = parse("pair: (i32, (*fp16, constexpr, ()), 5), (u8), ()");
  EXPECT_EQ(S.abi().str(), "(i32(p_())_)(u8)()");
  EXPECT_EQ(S.str(), "pair: (i32, (*fp16, constexpr, ()), 5), (u8), ()");
  EXPECT_EQ(S.parameters()[0].Spelling, "(i32, (*fp16, constexpr, ()), 5)");
  ASSERT_EQ(S.parameters()[0].Elements.size(), 3u);
  EXPECT_EQ(S.parameters()[0].Elements[1].Elements[0].Spelling, "*fp16");
  EXPECT_THAT(namesOf(S), ElementsAre("pair[0]", "pair[1][0]", ""));
  EXPECT_THAT(spellingsOf(S), ElementsAre("i32", "*fp16", "u8"));
  // Indices count what is not passed.
  EXPECT_THAT(namesOf(parse("t: (constexpr, i32, (1, i8))")),
              ElementsAre("t[1]", "t[2][1]"));
}

TEST(SignatureTest, TensorDescriptors) {
  Signature S = parse("d: tensordesc<fp16[128,  64],NVMMASharedLayout(a=[1, "
                      "(2)],\n b={<3>})>, n: i32");
  EXPECT_EQ(S.abi().str(), "(t64i32i32i64i64)i32");
  EXPECT_EQ(S.parameters()[0].Spelling,
            "tensordesc<fp16[128, 64],NVMMASharedLayout(a=[1, (2)], b={<3>})>");
  EXPECT_THAT(namesOf(S),
              ElementsAre("d[0]", "d[1]", "d[2]", "d[3]", "d[4]", "n"));
  EXPECT_THAT(spellingsOf(S),
              ElementsAre("nvTmaDesc", "i32", "i32", "i64", "i64", "i32"));
  EXPECT_EQ(S.parameters()[0].Elements.size(), 5u);
  EXPECT_EQ(S.slots()[0].Where.Align, 64u);

  EXPECT_EQ(abiOf("tensordesc<fp8e4nv[64]>"), "(t64i32i64)");
  EXPECT_EQ(abiOf("tensordesc < bf16 [1,2,3,4,5] >"),
            "(t64i32i32i32i32i32i64i64i64i64i64)");
  EXPECT_EQ(abiOf("tensordesc_im2col<fp16[128, 64],input_rank=4>"),
            "(t64i32i32i32i32i64i64i64i64)");
  EXPECT_EQ(abiOf("tensordesc_im2col<fp16[128, 64], input_rank = 3, L(x)>"),
            "(t64i32i32i32i64i64i64)");
  EXPECT_EQ(abiOf("(tensordesc<i8[f(1, 2), 64]>, i32)"),
            "((t64i32i32i64i64)i32)");
}

TEST(SignatureTest, HiddenParameters) {
  SignatureOptions Options;
  Options.Scratch = ScratchGlobal | ScratchProfile;
  Signature S = parse("n: i32", Options);
  EXPECT_EQ(S.abi().str(), "i32+gp");
  EXPECT_THAT(namesOf(S),
              ElementsAre("n", "global_scratch", "profile_scratch"));
  EXPECT_EQ(S.slots()[2].Spelling, "*i8");
  EXPECT_EQ(S.slots()[2].Where.Offset, 16u);
  EXPECT_EQ(S.str(), "n: i32");
  EXPECT_EQ(S.options().Scratch, Options.Scratch);
  Options.Scratch = ScratchProfile;
  EXPECT_THAT(namesOf(parse("", Options)), ElementsAre("profile_scratch"));
  Options.Scratch = 8;
  EXPECT_EQ(errorOf(Signature::parse("i32", Options)).Code,
            Status::InvalidArgument);
}

TEST(SignatureTest, ParseScratch) {
  EXPECT_EQ(valueOf(Signature::parseScratch("")), 0u);
  EXPECT_EQ(valueOf(Signature::parseScratch("g")), unsigned(ScratchGlobal));
  EXPECT_EQ(valueOf(Signature::parseScratch("p")), unsigned(ScratchProfile));
  EXPECT_EQ(valueOf(Signature::parseScratch("gp")), 3u);
  for (const char *Text : {"pg", "gg", "G", " ", "gpp", "global"}) {
    ErrorDetail D = errorOf(Signature::parseScratch(Text));
    EXPECT_EQ(D.Code, Status::InvalidArgument) << Text;
    EXPECT_THAT(D.Message, HasSubstr(Text));
  }
}

TEST(SignatureTest, ManyParameters) {
  SignatureOptions Large;
  Large.LargeParameters = true;
  std::string Text;
  for (unsigned I = 0; I != 5000; ++I)
    Text += (I ? ", p" : "p") + utostr(I) + ": i32:4";
  Signature S = parse(Text, Large);
  EXPECT_EQ(S.slots().size(), 5000u);
  EXPECT_EQ(S.slots()[4999].Name, "p4999");
  EXPECT_EQ(S.slots()[4999].Where.Offset, 4999u * 4);
  EXPECT_EQ(S.str(), Text);
}

TEST(SignatureTest, CreateDoesAsParse) {
  Parameter X{"x", ABIType::pointer(), "const float *", 16, {}};
  Parameter N{"", ABIType::scalar(ParamKind::I32), "", 0, {}};
  Parameter Any{"any", ABIType::pointer(), "", 0, {}};
  Parameter S{"s", ABIType::structure(12, 4), "", 0, {}};
  Parameter M{"m", ABIType::tensorMap(128), "", 0, {}};
  Parameter C{"c", ABIType::constexpr_(), "", 0, {}};
  Parameter L{"l", ABIType::constexpr_(), "0.5", 0, {}};
  Parameter T{"t",
              ABIType::tuple({X.Type, N.Type}),
              "",
              0,
              {{"", X.Type, "*fp16", 8, {}}, {"", N.Type, "", 0, {}}}};
  Parameter Bare{"bare", T.Type, "", 0, {}};
  Parameter Spelled{"spelled", T.Type, "(*u8,int)", 0, {}};
  Parameter D{
      "d",
      valueOf(Signature::parse("tensordesc<i8[1, 2]>")).parameters()[0].Type,
      "tensordesc<i8[1, 2]>",
      0,
      {}};
  SignatureOptions Options;
  Options.Scratch = ScratchGlobal;
  Signature Made = valueOf(
      Signature::create({X, N, Any, S, M, C, L, T, Bare, Spelled, D}, Options));
  EXPECT_EQ(Made.str(),
            "x: *kfp32:16, i32, any: *void, s: struct<12,4>, m: "
            "nvTmaDesc<128>, c: constexpr, l: 0.5, t: (*fp16:8, i32), bare: "
            "(*void, i32), spelled: (*u8, i32), d: tensordesc<i8[1, 2]>");
  Signature Read = parse(Made.str(), Options);
  EXPECT_EQ(Read.str(), Made.str());
  EXPECT_EQ(Read.abi().str(), Made.abi().str());
  EXPECT_TRUE(sameParameters(Read.parameters(), Made.parameters()));
  EXPECT_EQ(namesOf(Read), namesOf(Made));
}

/// What parses says the same again, and stays within the text when it does
/// not.
static void checkText(StringRef Text) {
  SignatureOptions Large;
  Large.LargeParameters = true;
  auto S = Signature::parse(Text, Large);
  if (!S) {
    ErrorDetail D = takeDetail(S.takeError());
    ASSERT_EQ(D.Code, Status::Signature);
    ASSERT_GE(D.Offset, 0);
    ASSERT_LE(D.Offset, static_cast<int64_t>(Text.size())) << D.Message;
    for (char C : D.Message)
      ASSERT_TRUE(isPrint(C) || isSpace(C));
    return;
  }
  ASSERT_EQ(S->slots().size(), S->abi().allSlots().size());
  Signature Again = parse(S->str(), Large);
  ASSERT_EQ(Again.str(), S->str()) << Text.str();
  ASSERT_EQ(Again.abi().str(), S->abi().str()) << Text.str();
  ASSERT_TRUE(sameParameters(Again.parameters(), S->parameters()))
      << Text.str();
  ASSERT_EQ(valueOf(ABI::parse(S->abi().str())).str(), S->abi().str());
  Signature Made = valueOf(Signature::create(S->parameters(), Large));
  ASSERT_TRUE(sameParameters(Made.parameters(), S->parameters())) << Text.str();
}

TEST(SignatureTest, RandomBytes) {
  std::mt19937 Random(3);
  for (unsigned Round = 0; Round != 20000; ++Round) {
    std::string Text;
    for (unsigned I = Random() % 40; I; --I)
      Text += static_cast<char>(Random());
    checkText(Text);
  }
}

TEST(SignatureTest, RandomTokens) {
  static const StringRef Pieces[] = {"*",
                                     "*",
                                     "k",
                                     "fp32",
                                     "kfp32",
                                     "i32",
                                     "int",
                                     " ",
                                     " ",
                                     "unsigned",
                                     "long",
                                     "const ",
                                     "void",
                                     "x",
                                     ":",
                                     ": ",
                                     "16",
                                     "0",
                                     "-1",
                                     "0x1",
                                     "1.5e",
                                     ",",
                                     ", ",
                                     ", ",
                                     "(",
                                     ")",
                                     "()",
                                     "<",
                                     ">",
                                     "[",
                                     "]",
                                     "{",
                                     "struct",
                                     "<4,4>",
                                     "<4096,16>",
                                     "=",
                                     "n1: ",
                                     "n2: ",
                                     "n3: ",
                                     "nvTmaDesc",
                                     "<128>",
                                     "tensordesc<",
                                     "i8[1",
                                     "]>",
                                     "input_rank=3",
                                     "tensordesc_im2col<",
                                     "constexpr",
                                     "\t",
                                     "restrict",
                                     "kint",
                                     "MyStruct"};
  std::mt19937 Random(4);
  for (unsigned Round = 0; Round != 100000; ++Round) {
    std::string Text;
    for (unsigned I = Random() % 12; I; --I)
      Text += Pieces[Random() % std::size(Pieces)];
    checkText(Text);
  }
}

static std::string randomTypeText(std::mt19937 &Random, unsigned Depth) {
  static const char *Leaves[] = {"*fp32",
                                 "*kfp16:16",
                                 "const float *",
                                 "i32:16",
                                 "unsigned",
                                 "struct<12,4>",
                                 "nvTmaDesc<128>",
                                 "constexpr",
                                 "-1.5e3",
                                 "bool",
                                 "MyStruct const *",
                                 "float *const *",
                                 "nvTmaDesc",
                                 "**void",
                                 "fp16",
                                 "tensordesc<fp16[8, 8],L(a=[1])>"};
  unsigned Choice = Random() % (std::size(Leaves) + (Depth < 3));
  if (Choice < std::size(Leaves))
    return Leaves[Choice];
  std::string Text = "(";
  for (unsigned I = 0, N = Random() % 4; I != N; ++I)
    Text += (I ? "," : "") + randomTypeText(Random, Depth + 1);
  return Text + ")";
}

TEST(SignatureTest, RandomSignatures) {
  std::mt19937 Random(5);
  for (unsigned Round = 0; Round != 5000; ++Round) {
    std::string Text;
    for (unsigned I = 0, N = Random() % 12; I != N; ++I) {
      Text += I ? " ,\n" : "";
      if (Random() % 2)
        Text += "p" + utostr(I) + ":";
      Text += randomTypeText(Random, 0);
    }
    ASSERT_TRUE(bool(Signature::parse(Text, {0, true}))) << Text;
    checkText(Text);
    // And with one byte wrong.
    if (!Text.empty())
      Text[Random() % Text.size()] = static_cast<char>(Random());
    checkText(Text);
  }
}
