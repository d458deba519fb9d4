//===- SignatureErrorsTest.cpp - What signatures are refused, and where ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include "launchjit/Signature/Signature.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>

using namespace llvm;
using namespace launchjit;
using testing::HasSubstr;

TEST(SignatureErrorsTest, Errors) {
  struct {
    const char *Text;
    int64_t Offset;
    const char *Part;
  } Cases[] = {
      // What is no type.
      {"x: *fp32, n: fp31", 13, "unknown type 'fp31'; did you mean 'fp32'?"},
      {"i33", 0, "did you mean 'i32'?"},
      {"Float", 0, "did you mean 'float'?"},
      {"INT32", 0, "did you mean 'int32'?"},
      {"flaot", 0, "did you mean 'float'?"},
      {"unsinged int", 0, "did you mean 'unsigned'?"},
      {"nvTmaDsc", 0, "did you mean 'nvTmaDesc'?"},
      {"constexp", 0, "did you mean 'constexpr'?"},
      {"tensordsc<fp16[1]>", 0, "did you mean 'tensordesc'?"},
      {"strct<4,4>", 0, "did you mean 'struct'?"},
      {"potato", 0, "unknown type 'potato' (a type is a scalar such as i32"},
      {"q: r: i32", 3, "unknown type 'r'"},
      {"fp8e5", 0, "no kernel takes a 'fp8e5' by value"},
      {"x: void", 3, "a pointer to it is written '*void'"},
      {"tensordesc", 0, "unknown type 'tensordesc'"},
      {"?", 0,
       "expected a type (a scalar such as i32 or fp16, a pointer such "
       "as *fp32, constexpr, a number, struct<size,align>, nvTmaDesc, "
       "tensordesc<...> or a tuple (...)), but found '?'"},
      {"x:", 2, "but found the end"},
      {"x: , i32", 3, "but found ','"},
      {": i32", 0, "but found ':'"},
      {"const", 5, "expected a type after 'const', but found the end"},
      {"x: const volatile, i32", 17, "expected a type after 'const volatile'"},
      {"struct", 6, "expected a type after 'struct'"},
      {"const *", 6, "expected a type after 'const'"},
      {"struct S", 7, "unknown type 'S'"},
      // C's words.
      {"long double", 5, "no kernel takes a 'long double'"},
      {"unsigned float", 9, "expected ',' or the end"},
      {"short char", 6, "'char' cannot follow: no kernel takes a 'short char'"},
      {"char short", 5, "'short' cannot follow"},
      {"char int", 5, "'int' cannot follow"},
      {"int char", 4, "'char' cannot follow"},
      {"char long", 5, "'long' cannot follow"},
      {"long char", 5, "'char' cannot follow"},
      {"short long", 6, "'long' cannot follow"},
      {"long short", 5, "'short' cannot follow"},
      {"long long long", 10, "'long' cannot follow"},
      {"int int", 4, "'int' cannot follow"},
      {"short short", 6, "'short' cannot follow"},
      {"char char", 5, "'char' cannot follow"},
      {"signed unsigned", 7, "'unsigned' cannot follow"},
      {"unsigned signed", 9, "'signed' cannot follow"},
      {"unsigned unsigned", 9, "'unsigned' cannot follow"},
      {"signed signed", 7, "'signed' cannot follow"},
      {"const long double", 11, "takes a 'const long double'"},
      // Commas.
      {"*fp32 i32", 6,
       "expected ',' or the end after a parameter, but found "
       "'i'"},
      {"i32 i32", 4, "expected ',' or the end"},
      {"i32 int", 4, "expected ',' or the end"},
      {"i32,", 4, "but found the end"},
      {"i32, ", 5, "but found the end"},
      {"i32,,i32", 4, "but found ','"},
      {",i32", 0, "but found ','"},
      {"i32;i32", 3, "but found ';'"},
      {"i32 *fp32", 5, "expected ',' or the end"},
      {"float x", 6, "expected ',' or the end"},
      {"float &", 6, "but found '&'"},
      {"float[4]", 5, "but found '['"},
      {"i32)", 3, "but found ')'"},
      // Pointers.
      {"*", 1, "expected what the pointer points to"},
      {"x: * , i32", 5, "expected what the pointer points to"},
      {"*4", 1, "but found '4'"},
      {"*k*", 3, "expected what the pointer points to"},
      {"*fp32*", 5, "but found '*'"},
      {"*fp32 const", 6, "expected ',' or the end"},
      {"*unsigned int", 10, "expected ',' or the end"},
      // Hints.
      {"i32: i32", 5, "expected a number (':' after the type 'i32' says"},
      {"x: *fp32:", 9, "':' after the type '*fp32' says"},
      {"unsigned long : -4", 16, "':' after the type 'unsigned long' says"},
      {"float const *: x", 15, "':' after the type 'float const *' says"},
      {"float * const : x", 16, "':' after the type 'float * const' says"},
      {"i32:0", 4, "a divisibility is at least 1"},
      {"i32:18446744073709551616", 4, "at most 18446744073709551615, not"},
      {"i32:16x", 6, "expected ',' or the end"},
      {"i32:1.5", 5, "but found '.'"},
      {"i32:16:4", 6, "':' follows only a parameter's name, a scalar or a"},
      {"constexpr: 5", 9, "':' follows only"},
      {"nvTmaDesc: i32", 9, "':' follows only"},
      {"struct<4,4>:16", 11, "':' follows only"},
      {"(i32):16", 5, "':' follows only"},
      {"void: i32", 0, "no kernel takes a 'void' by value"},
      {"const: i32", 5, "expected a type after 'const'"},
      // Names.
      {"a: i32, b: i32, a: fp32", 16, "a second parameter is called 'a'"},
      {"a.b: i32", 0, "unknown type 'a'"},
      {"9a: i32", 1, "but found 'a'"},
      {"a b: i32", 0, "unknown type 'a'"},
      // Numbers.
      {"-", 1, "expected a digit, but found the end"},
      {"- 5", 1, "expected a digit, but found ' '"},
      {".", 1, "expected a digit"},
      {"0x", 2, "expected a hexadecimal digit"},
      {"0xg", 2, "expected a hexadecimal digit"},
      {"1e", 2, "expected a digit of the exponent"},
      {"1e+", 3, "expected a digit of the exponent"},
      {"1.2.3", 3, "but found '.'"},
      {"12abc", 2, "but found 'a'"},
      {"1 2", 2, "but found '2'"},
      {"16: i32", 2, "':' follows only"},
      // Structs.
      {"struct<", 7, "expected a struct's size in bytes, but found the end"},
      {"struct<x,4>", 7, "but found 'x'"},
      {"struct<0,4>", 7, "a struct has at least 1 byte"},
      {"struct<4294967296,1>", 7, "at most 4294967295, not '4294967296'"},
      {"struct<4>", 8, "expected ',' and the struct's alignment"},
      {"struct<4,>", 9, "expected a struct's alignment in bytes"},
      {"struct<4,3>", 9, "a power of two up to 256, not 3"},
      {"struct<4,0>", 9, "a power of two up to 256, not 0"},
      {"struct<4,512>", 9, "at most 256, not '512'"},
      {"struct<4,4", 10, "expected '>'"},
      {"struct<4,4,4>", 10, "expected '>'"},
      {"struct<-4,4>", 7, "but found '-'"},
      // Tensor maps.
      {"nvTmaDesc<", 10, "expected 64 or 128"},
      {"nvTmaDesc<32>", 10, "expected 64 or 128"},
      {"nvTmaDesc<064>", 10, "expected 64 or 128"},
      {"nvTmaDesc<64", 12, "expected '>'"},
      {"tensordesc<", 11, "expected the tensor's element type"},
      {"tensordesc<>", 11, "expected the tensor's element type"},
      {"tensordesc<fp16>", 15, "expected '[' and the block's shape"},
      {"tensordesc<fp16[]>", 16, "expected a dimension of the block"},
      {"tensordesc<fp16[1,]>", 18, "expected a dimension of the block"},
      {"tensordesc<fp16[1>", 17, "expected ',' or ']' in the block's shape"},
      {"tensordesc<fp16[1", 17, "but found the end"},
      {"tensordesc<fp16[1]", 18, "expected ',' and a layout, or '>'"},
      {"tensordesc<fp16[1] x>", 19, "expected ',' and a layout, or '>'"},
      {"tensordesc<fp16[1],", 19, "expected the '>' for the '<' at byte 10"},
      {"tensordesc<fp16[1],L(a]>", 22, "the ')' for the '(' at byte 20"},
      {"tensordesc<fp16[1],L(a>", 22, "the ')' for the '(' at byte 20"},
      {"tensordesc<fp16[1],L{(a)", 24, "the '}' for the '{' at byte 20"},
      {"tensordesc<fp16[(1]>", 18, "the ')' for the '(' at byte 16"},
      {"tensordesc<fp16[1],L>>", 21, "expected ',' or the end"},
      {"tensordesc<fp16[1],\x01>", 19, "but found byte 0x01"},
      {"tensordesc<fp16[1,2,3,4,5,6]>", 15, "1 to 5 dimensions, not 6"},
      {"tensordesc_im2col<fp16[1]>", 25, "expected ',input_rank='"},
      {"tensordesc_im2col<fp16[1],rank=4>", 26, "expected ',input_rank='"},
      {"tensordesc_im2col<fp16[1],input_rank>", 36, "expected ',input_rank='"},
      {"tensordesc_im2col<fp16[1],input_rank=>", 37,
       "expected a tensor's "
       "rank"},
      {"tensordesc_im2col<fp16[1],input_rank=0>", 37, "1 to 5 dimensions"},
      {"tensordesc_im2col<fp16[1],input_rank=6>", 37, "at most 5, not '6'"},
      {"tensordesc_im2col<fp16[1],input_rank=4x>", 38, "',' and a layout"},
      // Tuples.
      {"(", 1, "but found the end"},
      {"(i32", 4, "expected ',' or the ')' for the '(' at byte 0"},
      {"(i32,)", 5, "but found ')'"},
      {"(,)", 1, "but found ','"},
      {"(i32 i32)", 5, "expected ',' or the ')'"},
      {"t: (i32, n: i32)", 9,
       "the elements of a tuple have no names, but one "
       "is called 'n'"},
      {"((a: i32))", 2, "the elements of a tuple have no names"},
      {"x: (fp31)", 4, "did you mean 'fp32'?"},
      // Bytes.
      {"\xc3\xa9: i32", 0, "but found byte 0xc3"},
      {"n: i32\xff", 6, "but found byte 0xff"},
      {"i32\x7f", 3, "but found byte 0x7f"},
  };
  for (const auto &C : Cases) {
    ErrorDetail D = errorOf(Signature::parse(C.Text));
    EXPECT_EQ(D.Code, Status::Signature) << C.Text;
    EXPECT_EQ(D.Offset, C.Offset) << C.Text << ": " << D.Message;
    EXPECT_EQ(D.Argument, -1);
    EXPECT_THAT(D.Message, HasSubstr(C.Part)) << C.Text;
    EXPECT_THAT(D.Message,
                HasSubstr("signature, byte " + itostr(C.Offset) + ": "));
  }
  ErrorDetail Nul = errorOf(Signature::parse(StringRef("i32\0", 4)));
  EXPECT_EQ(Nul.Offset, 3);
  EXPECT_THAT(Nul.Message, HasSubstr("but found byte 0x00"));
}

TEST(SignatureErrorsTest, SizeLimits) {
  SignatureOptions Large;
  Large.LargeParameters = true;
  EXPECT_EQ(parse("struct<4096,1>").abi().size(), 4096u);
  EXPECT_EQ(parse("struct<32764,1>", Large).abi().size(), 32764u);

  ErrorDetail D = errorOf(Signature::parse("n: i8, s: struct<4096,1>, i8"));
  EXPECT_EQ(D.Code, Status::Signature);
  EXPECT_EQ(D.Offset, 10);
  EXPECT_EQ(D.Message,
            "signature, byte 10: parameters take 4098 bytes, but at most 4096 "
            "are allowed; large parameters (32764 bytes) must be asked for");
  EXPECT_EQ(errorOf(Signature::parse("struct<4097,1>")).Offset, 0);
  D = errorOf(Signature::parse("struct<32765,1>", Large));
  EXPECT_EQ(D.Message, "signature, byte 0: parameters take 32765 bytes, but at "
                       "most 32764 are allowed");

  // In a tuple the element; a descriptor as a whole; scratch at the end.
  EXPECT_EQ(errorOf(Signature::parse("(5, struct<4096,1>, i8)")).Offset, 20);
  EXPECT_EQ(
      errorOf(Signature::parse("struct<4000,1>, tensordesc<i8[1]>")).Offset,
      16);
  SignatureOptions Scratch;
  Scratch.Scratch = ScratchGlobal;
  EXPECT_EQ(errorOf(Signature::parse("struct<4089,1> ", Scratch)).Offset, 15);

  std::string Huge = "struct<4294967295,1>";
  for (unsigned I = 0; I != 8; ++I)
    Huge += ", struct<4294967295,256>";
  EXPECT_THAT(errorOf(Signature::parse(Huge, Large)).Message,
              HasSubstr("parameters take 38654705663 bytes"));
}

TEST(SignatureErrorsTest, NestingIsBounded) {
  std::string Open(64, '('), Close(64, ')');
  EXPECT_EQ(parse(Open + "i32" + Close).slots().size(), 1u);
  ErrorDetail D = errorOf(Signature::parse("(" + Open + Close + ")"));
  EXPECT_EQ(D.Offset, 64);
  EXPECT_THAT(D.Message, HasSubstr("tuples nest deeper than 64 levels"));
  EXPECT_EQ(errorOf(Signature::parse(std::string(1000000, '('))).Offset, 64);
}

TEST(SignatureErrorsTest, HugeTextsAreLinear) {
  auto Start = std::chrono::steady_clock::now();
  const size_t N = 1 << 20;
  std::string Brackets;
  for (size_t I = 0; I != N; ++I)
    Brackets += "<([{"[I % 4];
  std::string Blocks = "tensordesc<fp16[";
  for (size_t I = 0; I != N / 4; ++I)
    Blocks += "(1),";
  for (const std::string &Text :
       {std::string(N, 'x'), std::string(N, '*'), "x" + std::string(N, '*'),
        std::string(N, '9'), std::string(N, ' '), std::string(N, ','),
        "i32:" + std::string(N, '0') + "1", "tensordesc<a[1]," + Brackets,
        Blocks, "const " + std::string(N, 'x') + "*"}) {
    if (auto S = Signature::parse(Text); !S) {
      EXPECT_LT(takeDetail(S.takeError()).Message.size(), 500u);
    }
  }
  // Quadratic work would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - Start, std::chrono::seconds(10));
}

TEST(SignatureErrorsTest, CreateErrors) {
  ABIType I32 = ABIType::scalar(ParamKind::I32);
  auto Message = [&](Parameter P) {
    Parameter First{"first", I32, "", 0, {}};
    ErrorDetail D = errorOf(Signature::create({First, std::move(P)}));
    EXPECT_EQ(D.Code, Status::Signature);
    EXPECT_EQ(D.Offset, -1);
    return D.Message;
  };
  EXPECT_EQ(Message({"first", I32, "", 0, {}}),
            "parameter 1: a second parameter is called 'first'");
  for (const char *Name : {"a b", "9", "float", "unsigned", "constexpr", "é"})
    EXPECT_THAT(Message({Name, I32, "", 0, {}}),
                HasSubstr("cannot be a parameter's name"));
  EXPECT_EQ(Message({"x", I32, "i64", 0, {}}),
            "parameter 1: 'i64' does not spell its type");
  EXPECT_EQ(Message({"x", I32, "i32:16", 0, {}}),
            "parameter 1: 'i32:16' does not spell its type");
  EXPECT_THAT(Message({"x", I32, "i32, i32", 0, {}}),
              HasSubstr("expected the end after a type"));
  EXPECT_THAT(Message({"x", I32, "fp31", 0, {}}),
              HasSubstr("parameter 1: signature, byte 0: unknown type 'fp31'"));
  EXPECT_THAT(Message({"x", ABIType::constexpr_(), "", 4, {}}),
              HasSubstr("only a scalar or a pointer has a divisibility"));
  EXPECT_THAT(Message({"x", I32, "", 0, {{"", I32, "", 0, {}}}}),
              HasSubstr("only a tuple has elements"));
  ABIType Pair = ABIType::tuple({I32, I32});
  EXPECT_THAT(Message({"x", Pair, "", 0, {{"", I32, "", 0, {}}}}),
              HasSubstr("elements are not its type's"));
  EXPECT_THAT(
      Message(
          {"x", Pair, "", 0, {{"", I32, "", 0, {}}, {"name", I32, "", 0, {}}}}),
      HasSubstr("elements are not its type's"));
  EXPECT_THAT(
      Message({"x",
               Pair,
               "",
               0,
               {{"", I32, "", 0, {}}, {"", ABIType::pointer(), "", 0, {}}}}),
      HasSubstr("elements are not its type's"));
  EXPECT_THAT(Message({"x", ABIType::structure(5000, 1), "", 0, {}}),
              HasSubstr("parameters take 5004 bytes"));
  EXPECT_THAT(Message({"x", ABIType::structure(0, 1), "", 0, {}}),
              HasSubstr("a struct has at least 1 byte"));
}
