//===- ABITest.cpp - The canonical ABI ------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Signature/ABI.h"
#include "TestHelpers.h"
#include "llvm/ADT/StringExtras.h"
#include <cstddef>
#include <random>

using namespace llvm;
using namespace launchjit;
using testing::HasSubstr;

static std::vector<uint32_t> offsetsOf(const ABI &A) {
  std::vector<uint32_t> Offsets;
  for (const Slot &S : A.allSlots())
    Offsets.push_back(S.Offset);
  return Offsets;
}

static std::string repeat(StringRef Text, size_t Times) {
  std::string Out;
  for (size_t I = 0; I != Times; ++I)
    Out += Text;
  return Out;
}

TEST(ABITest, ScalarTables) {
  static_assert(NumScalars == 14);
#define X(Name, Text, CType, Bytes)                                            \
  EXPECT_TRUE(isScalar(ParamKind::Name));                                      \
  EXPECT_EQ(scalarName(ParamKind::Name), Text);                                \
  EXPECT_EQ(scalarSize(ParamKind::Name), unsigned(Bytes));                     \
  EXPECT_EQ(cTypeName(ParamKind::Name), CType);                                \
  EXPECT_EQ(valueOf(ABI::parse(Text)).slots()[0].Kind, ParamKind::Name);
  LAUNCHJIT_SCALARS(X)
#undef X
  EXPECT_FALSE(isScalar(ParamKind::Pointer));
  EXPECT_EQ(cTypeName(ParamKind::Pointer), "CUdeviceptr");
  EXPECT_EQ(cTypeName(ParamKind::Struct), "const void *");
  EXPECT_EQ(cTypeName(ParamKind::TensorMap), "const void *");
}

TEST(ABITest, Empty) {
  ABI A = valueOf(ABI::parse(""));
  EXPECT_EQ(A.str(), "");
  EXPECT_EQ(A.size(), 0u);
  EXPECT_EQ(A.align(), 1u);
  EXPECT_TRUE(A.allSlots().empty());
  EXPECT_EQ(ABI().size(), 0u);
}

TEST(ABITest, EveryTokenRoundTrips) {
  for (const char *Text : {"p",
                           "ppi32",
                           "i1i16i1i8",
                           "i16i64i1",
                           "fp16bf16fp32fp64",
                           "pfp16p",
                           "s1a1",
                           "s4294967295a1",
                           "s12a4i32",
                           "s1a256",
                           "t64",
                           "t128",
                           "_",
                           "__",
                           "()",
                           "(())",
                           "(i32(p_)fp64)",
                           "+g",
                           "+p",
                           "+gp",
                           "ppi32+gp",
                           "(p)+g"}) {
    auto A = ABI::parse(Text);
    if (StringRef(Text).contains("4294967295")) {
      EXPECT_THAT(errorOf(std::move(A)).Message, HasSubstr("4294967295 bytes"));
      continue;
    }
    EXPECT_EQ(valueOf(std::move(A)).str(), Text);
  }
}

TEST(ABITest, ParametersAreNested) {
  ABI A = valueOf(ABI::parse("_(i32(ps12a4)_)t128+p"));
  using T = ABIType;
  T Inner = T::tuple({T::pointer(), T::structure(12, 4)});
  T Outer =
      T::tuple({T::scalar(ParamKind::I32), std::move(Inner), T::constexpr_()});
  std::vector<T> Want{T::constexpr_(), Outer, T::tensorMap(128)};
  EXPECT_TRUE(A.parameters() == ArrayRef<T>(Want));
  EXPECT_EQ(valueOf(ABI::create(Want, ScratchProfile)).str(), A.str());
  EXPECT_FALSE(Want[0] == Want[1]);
  EXPECT_FALSE(T::structure(12, 4) == T::structure(12, 8));
  EXPECT_FALSE(T::tuple({}) == T::tuple({T::pointer()}));
}

TEST(ABITest, FlatText) {
  EXPECT_EQ(valueOf(ABI::parse("_(i32(ps12a4)_)()t128+gp")).flatStr(),
            "i32ps12a4t128+gp");
  EXPECT_EQ(valueOf(ABI::parse("__")).flatStr(), "");
  // A flat ABI lays out as the nested one.
  ABI Nested = valueOf(ABI::parse("(i8(fp64))_i16+g"));
  ABI Flat = valueOf(ABI::parse(Nested.flatStr()));
  EXPECT_EQ(offsetsOf(Flat), offsetsOf(Nested));
}

TEST(ABITest, LayoutIsTheCompilers) {
  struct alignas(32) Wide {
    char Bytes[32];
  };
  struct Odd {
    int Words[3];
  };
  struct alignas(64) Map {
    char Bytes[128];
  };
  struct Params {
    uint8_t A;
    double B;
    uint8_t C;
    uint16_t D;
    uint8_t E;
    Odd F;
    void *G;
    float H;
    Wide I;
    uint8_t J;
    Map K;
    uint16_t L;
    int64_t M;
    uint8_t N;
  };
  ABI A =
      valueOf(ABI::parse("i1fp64u1(bf16i8)_s12a4pfp32s32a32u8t64fp16i64i8"));
  EXPECT_EQ(offsetsOf(A),
            (std::vector<uint32_t>{
                offsetof(Params, A), offsetof(Params, B), offsetof(Params, C),
                offsetof(Params, D), offsetof(Params, E), offsetof(Params, F),
                offsetof(Params, G), offsetof(Params, H), offsetof(Params, I),
                offsetof(Params, J), offsetof(Params, K), offsetof(Params, L),
                offsetof(Params, M), offsetof(Params, N)}));
  // The end of the last one, not the padded size.
  EXPECT_EQ(A.size(), offsetof(Params, N) + 1);
  EXPECT_EQ(A.align(), alignof(Params));
}

TEST(ABITest, LayoutOfTensorMaps) {
  EXPECT_EQ(offsetsOf(valueOf(ABI::parse("i32t64"))),
            (std::vector<uint32_t>{0, 64}));
  ABI A = valueOf(ABI::parse("i32t128i8"));
  EXPECT_EQ(offsetsOf(A), (std::vector<uint32_t>{0, 128, 256}));
  EXPECT_EQ(A.size(), 257u);
  EXPECT_EQ(A.align(), 128u);
}

TEST(ABITest, ScratchComesLast) {
  ABI A = valueOf(ABI::parse("i32+gp"));
  EXPECT_EQ(A.scratch(), unsigned(ScratchGlobal | ScratchProfile));
  EXPECT_EQ(A.numScratch(), 2u);
  EXPECT_EQ(A.slots().size(), 1u);
  ASSERT_EQ(A.scratchSlots().size(), 2u);
  EXPECT_EQ(A.scratchSlots()[0].Offset, 8u);
  EXPECT_EQ(A.scratchSlots()[0].Kind, ParamKind::Pointer);
  EXPECT_EQ(A.scratchSlots()[1].Offset, 16u);
  EXPECT_EQ(A.size(), 24u);
  EXPECT_EQ(valueOf(ABI::parse("+p")).scratch(), unsigned(ScratchProfile));
  EXPECT_EQ(valueOf(ABI::parse("+g")).size(), 8u);
}

TEST(ABITest, SizeLimits) {
  using T = ABIType;
  auto Make = [](uint32_t Bytes, unsigned Scratch, uint32_t Max) {
    return ABI::create({T::structure(Bytes, 1)}, Scratch, Max);
  };
  EXPECT_EQ(valueOf(Make(4096, 0, 4096)).size(), 4096u);
  EXPECT_EQ(valueOf(Make(32764, 0, 32764)).size(), 32764u);

  ErrorDetail D = errorOf(Make(4097, 0, 4096));
  EXPECT_EQ(D.Code, Status::Signature);
  EXPECT_EQ(D.Argument, 0);
  EXPECT_EQ(D.Message,
            "parameters take 4097 bytes, but at most 4096 are allowed; large "
            "parameters (32764 bytes) must be asked for");
  EXPECT_EQ(errorOf(Make(32765, 0, 4096)).Message,
            "parameters take 32765 bytes, but at most 4096 are allowed");
  EXPECT_EQ(errorOf(Make(32765, 0, 32764)).Message,
            "parameters take 32765 bytes, but at most 32764 are allowed");

  // Hidden parameters count, and are what is beyond.
  D = errorOf(Make(4089, ScratchGlobal, 4096));
  EXPECT_EQ(D.Argument, 1);
  EXPECT_THAT(D.Message, HasSubstr("take 4104 bytes"));
  EXPECT_EQ(valueOf(Make(4088, ScratchGlobal, 4096)).size(), 4096u);

  // Sums that do not fit 32 bits.
  std::vector<T> Huge(8, T::structure(UINT32_MAX, 1));
  EXPECT_THAT(errorOf(ABI::create(Huge)).Message,
              HasSubstr("take 34359738360 bytes"));
}

TEST(ABITest, ManyParameters) {
  ABI A = valueOf(ABI::parse(repeat("i8", 5000)));
  EXPECT_EQ(A.slots().size(), 5000u);
  EXPECT_EQ(A.slots().back().Offset, 4999u);
  EXPECT_EQ(valueOf(ABI::parse(repeat("_", 100000))).size(), 0u);
}

TEST(ABITest, CreateRefusesWhatIsNoType) {
  using T = ABIType;
  auto Message = [](T Type) {
    return errorOf(ABI::create({std::move(Type)})).Message;
  };
  EXPECT_EQ(Message(T::structure(0, 1)), "a struct has at least 1 byte");
  for (uint32_t Align : {0u, 3u, 12u, 512u})
    EXPECT_EQ(Message(T::structure(4, Align)),
              "a struct's alignment is a power of two up to 256");
  const char *NotItsKinds = "a type's size and alignment are not its kind's";
  EXPECT_EQ(Message({ParamKind::I32, 8, 8, {}}), NotItsKinds);
  EXPECT_EQ(Message({ParamKind::Pointer, 0, 1, {}}), NotItsKinds);
  EXPECT_EQ(Message({ParamKind::TensorMap, 128, 32, {}}), NotItsKinds);
  EXPECT_EQ(Message({ParamKind::TensorMap, 64, 64, {}}), NotItsKinds);
  EXPECT_EQ(Message({ParamKind::Constexpr, 4, 4, {}}), NotItsKinds);
  EXPECT_EQ(Message({ParamKind::Tuple, 4, 4, {}}), NotItsKinds);
  EXPECT_EQ(Message({ParamKind::I32, 4, 4, {T::pointer()}}),
            "only a tuple has elements");
  EXPECT_EQ(Message(T::tuple({T::structure(0, 1)})),
            "a struct has at least 1 byte");
  EXPECT_EQ(Message({static_cast<ParamKind>(77), 4, 4, {}}),
            "there is no such kind of parameter");
  EXPECT_EQ(errorOf(ABI::create({}, 4)).Code, Status::InvalidArgument);
}

TEST(ABITest, NestingIsBounded) {
  EXPECT_EQ(valueOf(ABI::parse(repeat("(", 64) + "p" + repeat(")", 64)))
                .slots()
                .size(),
            1u);
  ErrorDetail D = errorOf(ABI::parse(repeat("(", 65) + repeat(")", 65)));
  EXPECT_EQ(D.Offset, 64);
  EXPECT_EQ(D.Message, "abi, byte 64: tuples nest deeper than 64 levels");
  EXPECT_EQ(errorOf(ABI::parse(repeat("(", 1000000))).Offset, 64);

  ABIType Deep = ABIType::tuple({ABIType::pointer()});
  for (unsigned I = 1; I != MaxTupleDepth; ++I)
    Deep = ABIType::tuple({Deep});
  EXPECT_EQ(errorOf(ABI::create({Deep})).Code, Status::Success);
  EXPECT_EQ(errorOf(ABI::create({ABIType::tuple({Deep})})).Message,
            "tuples nest deeper than 64 levels");
}

TEST(ABITest, ParseErrors) {
  struct {
    const char *Text;
    int64_t Offset;
    const char *Part;
  } Cases[] = {
      {"x", 0, "expected a type (p, "},
      {"px", 1, "but found 'x'"},
      {"i", 0, "expected a type"},
      {"i3", 0, "expected a type"},
      {"i32 ", 3, "but found ' '"},
      {"*fp32", 0, "but found '*'"},
      {"i32,i32", 3, "but found ','"},
      {"i128", 2, "but found '2'"},
      {"i64p8", 4, "but found '8'"},
      {"t", 0, "expected a type"},
      {"t32", 0, "expected a type"},
      {"t6", 0, "expected a type"},
      {"s", 1, "expected a number, but found the end"},
      {"sa4", 1, "expected a number, but found 'a'"},
      {"s0a4", 1, "begins with 1 to 9"},
      {"s012a4", 1, "begins with 1 to 9"},
      {"s12a04", 4, "begins with 1 to 9"},
      {"s12", 3, "expected 'a' and the struct's alignment"},
      {"s12a", 4, "expected a number"},
      {"s12a3", 0, "a power of two up to 256"},
      {"ps12a512", 1, "a power of two up to 256"},
      {"s4294967296a1", 1, "at most 4294967295"},
      {"s99999999999999999999999a1", 1, "at most 4294967295"},
      {"p(", 2, "the ')' for the '(' at byte 1, but found the end"},
      {"(p+g", 2, "the ')' for the '(' at byte 0, but found '+'"},
      {")", 0, "expected a type, '+' or the end, but found ')'"},
      {"()p)", 3, "but found ')'"},
      {"p+", 1, "'+g', '+p' or '+gp'"},
      {"p+pg", 1, "'+g', '+p' or '+gp'"},
      {"p+gpp", 1, "'+g', '+p' or '+gp'"},
      {"p+g+p", 1, "'+g', '+p' or '+gp'"},
      {"p+gi32", 1, "'+g', '+p' or '+gp'"},
      {"p\xc3\xa9", 1, "but found byte 0xc3"},
  };
  for (const auto &C : Cases) {
    ErrorDetail D = errorOf(ABI::parse(C.Text));
    EXPECT_EQ(D.Code, Status::Signature) << C.Text;
    EXPECT_EQ(D.Offset, C.Offset) << C.Text << ": " << D.Message;
    EXPECT_THAT(D.Message, HasSubstr(C.Part)) << C.Text;
    EXPECT_THAT(D.Message, HasSubstr("abi, byte " + itostr(C.Offset) + ": "));
  }
  EXPECT_EQ(errorOf(ABI::parse(StringRef("p\0p", 3))).Offset, 1);
}

TEST(ABITest, ParseTellsWhichParameterIsBeyondTheLimit) {
  ErrorDetail D = errorOf(ABI::parse("_(s32764a1)i8i8"));
  EXPECT_EQ(D.Offset, 11);
  EXPECT_EQ(D.Message, "abi, byte 11: parameters take 32766 bytes, but at most "
                       "32764 are allowed");
  EXPECT_EQ(errorOf(ABI::parse("s32764a1+g")).Offset, 10);
}

static ABIType randomType(std::mt19937 &Random, unsigned Depth) {
  unsigned Choice = Random() % (NumScalars + (Depth < 4 ? 5 : 4));
  if (Choice < NumScalars)
    return ABIType::scalar(static_cast<ParamKind>(Choice));
  switch (Choice - NumScalars) {
  case 0:
    return ABIType::pointer();
  case 1:
    return ABIType::structure(1 + Random() % 100, 1u << (Random() % 9));
  case 2:
    return ABIType::tensorMap(Random() % 2 ? 64 : 128);
  case 3:
    return ABIType::constexpr_();
  }
  std::vector<ABIType> Elements;
  for (unsigned I = Random() % 4; I; --I)
    Elements.push_back(randomType(Random, Depth + 1));
  return ABIType::tuple(std::move(Elements));
}

TEST(ABITest, RandomABIsRoundTrip) {
  std::mt19937 Random(1);
  for (unsigned Round = 0; Round != 2000; ++Round) {
    std::vector<ABIType> Types;
    for (unsigned I = Random() % 20; I; --I)
      Types.push_back(randomType(Random, 0));
    ABI A = valueOf(ABI::create(Types, Random() % 4));
    ABI B = valueOf(ABI::parse(A.str()));
    ASSERT_EQ(A.str(), B.str());
    ASSERT_TRUE(A.parameters() == B.parameters()) << A.str();
    ASSERT_EQ(offsetsOf(A), offsetsOf(B));
    ASSERT_EQ(A.size(), B.size());
    ASSERT_EQ(A.scratch(), B.scratch());

    ABI Flat = valueOf(ABI::parse(A.flatStr()));
    ASSERT_EQ(Flat.flatStr(), A.flatStr());
    ASSERT_EQ(offsetsOf(A), offsetsOf(Flat));

    uint32_t End = 0;
    for (const Slot &S : A.allSlots()) {
      ASSERT_GE(S.Offset, End);
      ASSERT_LT(S.Offset - End, S.Align);
      ASSERT_EQ(S.Offset % S.Align, 0u);
      ASSERT_LE(S.Align, A.align());
      End = S.Offset + S.Size;
    }
    ASSERT_EQ(End, A.size());
  }
}

TEST(ABITest, HostileText) {
  static const StringRef Pieces[] = {
      "p", "i", "32", "s", "a",  "0",  "4096", "t",  "64", "_",
      "(", ")", "+",  "g", "fp", "bf", "16",   "u8", "\n", "\xff"};
  std::mt19937 Random(2);
  for (unsigned Round = 0; Round != 20000; ++Round) {
    std::string Text;
    for (unsigned I = Random() % 12; I; --I)
      Text += Pieces[Random() % std::size(Pieces)];
    auto A = ABI::parse(Text);
    if (A) {
      ASSERT_EQ(A->str(), Text);
      continue;
    }
    ErrorDetail D = takeDetail(A.takeError());
    ASSERT_GE(D.Offset, 0) << D.Message;
    ASSERT_LE(D.Offset, static_cast<int64_t>(Text.size())) << D.Message;
  }
}
