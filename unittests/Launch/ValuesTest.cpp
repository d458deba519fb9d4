//===- ValuesTest.cpp - Typed values to parameter bytes -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Values.h"
#include "TestHelpers.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

class ValuesTest : public RecordingTest {
protected:
  /// The bytes that \p V becomes for a parameter `v` of \p Type.
  static Expected<std::vector<uint8_t>> store(StringRef Type, const Value &V) {
    Signature S = parse(("v: " + Type).str());
    std::vector<uint8_t> Bytes(S.abi().size() + 8, 0xCC);
    if (Error E = storeValue(S, 0, V, Bytes.data()))
      return std::move(E);
    // Nothing behind the parameter is touched.
    for (unsigned I = 0; I != 8; ++I)
      EXPECT_EQ(Bytes[S.abi().size() + I], 0xCC);
    Bytes.resize(S.abi().size());
    return Bytes;
  }
  static void expectBytes(StringRef Type, const Value &V, uint64_t Expected) {
    SCOPED_TRACE(Type.str());
    std::vector<uint8_t> Bytes = valueOf(store(Type, V));
    uint64_t Got = 0;
    std::memcpy(&Got, Bytes.data(), std::min<size_t>(Bytes.size(), 8));
    EXPECT_EQ(Got, Expected);
  }
  static void expectError(StringRef Type, const Value &V, Status Code,
                          const Twine &What) {
    ErrorDetail D = errorOf(store(Type, V));
    EXPECT_EQ(D.Code, Code);
    EXPECT_EQ(D.Argument, 0);
    EXPECT_EQ(D.Message, ("argument 0 ('v', " + Type + "): " + What).str());
  }
};

TEST_F(ValuesTest, EveryIntegerAtItsBounds) {
  struct {
    const char *Type;
    int64_t Min;
    uint64_t Max;
    unsigned Bits;
  } Types[] = {{"i1", 0, 1, 8},
               {"u1", 0, 1, 8},
               {"i8", -128, 127, 8},
               {"i16", -32768, 32767, 16},
               {"i32", -2147483648LL, 2147483647, 32},
               {"i64", INT64_MIN, INT64_MAX, 64},
               {"u8", 0, 255, 8},
               {"u16", 0, 65535, 16},
               {"u32", 0, 4294967295, 32},
               {"u64", 0, UINT64_MAX, 64}};
  for (const auto &T : Types) {
    SCOPED_TRACE(T.Type);
    uint64_t Mask = T.Bits == 64 ? UINT64_MAX : (uint64_t(1) << T.Bits) - 1;
    std::string Range = " does not fit; allowed is " + std::to_string(T.Min) +
                        " to " + std::to_string(T.Max);
    for (int64_t Up : {0, 1}) {
      expectBytes(T.Type, Value::ofInt(T.Min + Up),
                  uint64_t(T.Min + Up) & Mask);
      expectBytes(T.Type, Value::ofUInt(T.Max - Up), T.Max - Up);
      expectBytes(T.Type, Value::ofUInt(Up), Up);
    }
    if (T.Max <= INT64_MAX)
      expectBytes(T.Type, Value::ofInt(T.Max), T.Max);
    if (T.Min != INT64_MIN) {
      expectError(T.Type, Value::ofInt(T.Min - 1), Status::ArgumentRange,
                  std::to_string(T.Min - 1) + Range);
      expectError(T.Type, Value::ofInt(INT64_MIN), Status::ArgumentRange,
                  std::to_string(INT64_MIN) + Range);
    }
    if (T.Max < INT64_MAX)
      expectError(T.Type, Value::ofInt(T.Max + 1), Status::ArgumentRange,
                  std::to_string(T.Max + 1) + Range);
    if (T.Max != UINT64_MAX)
      for (uint64_t V : {T.Max + 1, UINT64_MAX})
        expectError(T.Type, Value::ofUInt(V), Status::ArgumentRange,
                    std::to_string(V) + Range);
  }
}

TEST_F(ValuesTest, PointersArePointers) {
  expectBytes("*fp32", Value::ofPointer(0xFFFF800012345678),
              0xFFFF800012345678);
  expectBytes("*fp32", Value::ofUInt(5), 5);
  expectBytes("*fp32", Value::ofPointer(0), 0);
  expectError("*fp32", Value::ofInt(5), Status::ArgumentType,
              "an integer was given; a pointer is wanted");
  expectError("*fp32", Value::ofFloat(5), Status::ArgumentType,
              "a floating number was given; a pointer is wanted");
  expectError("u64", Value::ofPointer(5), Status::ArgumentType,
              "a pointer was given; an integer is wanted");
  expectError("fp64", Value::ofPointer(5), Status::ArgumentType,
              "a pointer was given; a number is wanted");
  expectError("struct<8,8>", Value::ofPointer(5), Status::ArgumentType,
              "a pointer was given; 8 bytes is wanted");
}

TEST_F(ValuesTest, AFloatingNumberIsNoInteger) {
  for (const char *Type : {"i1", "u8", "i64"})
    expectError(Type, Value::ofFloat(1), Status::ArgumentType,
                "a floating number was given; an integer is wanted");
  expectError("nvTmaDesc", Value::ofInt(1), Status::ArgumentType,
              "an integer was given; 128 bytes is wanted");
}

TEST_F(ValuesTest, BytesAreTakenAsTheyAre) {
  uint8_t Bytes[128];
  for (unsigned I = 0; I != sizeof Bytes; ++I)
    Bytes[I] = 3 * I + 1;
  for (auto [Type, Size] : {std::pair("struct<12,4>", 12),
                            {"nvTmaDesc", 128},
                            {"i32", 4},
                            {"fp16", 2},
                            {"*i8", 8},
                            {"struct<1,1>", 1},
                            {"fp64", 8}}) {
    EXPECT_EQ(valueOf(store(Type, Value::ofBytes(Bytes, Size))),
              std::vector<uint8_t>(Bytes, Bytes + Size));
    for (unsigned Wrong : {Size - 1, Size + 1, 0})
      expectError(Type, Value::ofBytes(Bytes, Wrong), Status::ArgumentValue,
                  std::to_string(Wrong) + " bytes were given; " +
                      std::to_string(Size) + " are wanted");
    expectError(Type, Value::ofBytes(nullptr, Size), Status::ArgumentValue,
                "the address of its bytes is null");
  }
  // A byte that is no bool is none here either.
  uint8_t One = 1, Two = 2;
  expectBytes("i1", Value::ofBytes(&One, 1), 1);
  expectError("i1", Value::ofBytes(&Two, 1), Status::ArgumentRange,
              "2 does not fit; allowed is 0 to 1");
}

TEST_F(ValuesTest, AnUnknownTypeIsRefused) {
  Value V = Value::ofInt(1);
  V.Kind = static_cast<Value::Type>(9);
  expectError("i32", V, Status::InvalidArgument,
              "the value's type is 9; allowed is 0 to 4");
}

TEST_F(ValuesTest, TheLaunchChecksAllBeforeAnything) {
  KernelRef K = makeKernel("x: *fp32, (i32, u8), constexpr, fp16");
  auto Launch = [&](ArrayRef<Value> Values, int64_t X = 1) {
    return errorOf(K->launch(X, 1, 1, nullptr, Values));
  };
  std::vector<Value> Good = {Value::ofPointer(16), Value::ofInt(-2),
                             Value::ofUInt(255), Value::ofFloat(0.5)};
  EXPECT_EQ(Launch(Good).Code, Status::Success);
  EXPECT_THAT(onlyLaunch().Parameters,
              testing::ElementsAre(bytesOf(uint64_t(16)), bytesOf(-2),
                                   bytesOf(uint8_t(255)),
                                   bytesOf(uint16_t(0x3800))));
  ErrorDetail D = Launch(ArrayRef(Good).drop_back());
  EXPECT_EQ(D.Code, Status::ArgumentType);
  EXPECT_EQ(D.Argument, -1);
  EXPECT_EQ(D.Message, "kernel 'k' takes 4 arguments, but 3 were given");
  EXPECT_EQ(Launch({}).Code, Status::ArgumentType);

  std::vector<Value> Bad = Good;
  Bad[2] = Value::ofInt(256);
  Bad[3] = Value::ofFloat(1e6);
  for (int64_t X : {1, 0, -1}) { // arguments come first
    D = Launch(Bad, X);
    EXPECT_EQ(D.Code, Status::ArgumentRange);
    EXPECT_EQ(D.Argument, 2);
    EXPECT_EQ(D.Message,
              "argument 2 (u8): 256 does not fit; allowed is 0 to 255");
  }
  EXPECT_EQ(Launch(Good, 0).Code, Status::Success);
  EXPECT_EQ(Launch(Good, -1).Code, Status::ArgumentValue);
  EXPECT_EQ(countLaunches(), 0u);
}

TEST_F(ValuesTest, LargeBuffersGoWhole) {
  std::vector<uint8_t> Bytes(32764);
  for (unsigned I = 0; I != Bytes.size(); ++I)
    Bytes[I] = I * 7;
  KernelRef K = makeKernel(parseScratch("struct<32764,4>", 0));
  EXPECT_EQ(errorOf(K->launch(1, 1, 1, nullptr,
                              {Value::ofBytes(Bytes.data(), 32764)}))
                .Message,
            "no error");
  EXPECT_THAT(onlyLaunch().Parameters, testing::ElementsAre(Bytes));
}

//===----------------------------------------------------------------------===//
// Floating numbers
//===----------------------------------------------------------------------===//

uint64_t bitsOf(double V) {
  uint64_t B;
  std::memcpy(&B, &V, sizeof B);
  return B;
}
double doubleOf(uint64_t B) {
  double V;
  std::memcpy(&V, &B, sizeof V);
  return V;
}

/// A 16-bit format with so many bits of exponent and of mantissa.
struct Format {
  ParamKind Kind;
  const char *Name;
  int Exponent, Mantissa;

  int bias() const { return (1 << (Exponent - 1)) - 1; }
  unsigned infinity() const { return ((1u << Exponent) - 1) << Mantissa; }

  /// What the 15 bits \p B mean, finite ones.
  double decode(unsigned B) const {
    int E = B >> Mantissa;
    unsigned M = B & ((1u << Mantissa) - 1);
    return E ? std::ldexp(double(M | 1u << Mantissa), E - bias() - Mantissa)
             : std::ldexp(double(M), 1 - bias() - Mantissa);
  }

  /// The 15 bits nearest to the finite \p V >= 0, ties to even; infinity from
  /// half a step beyond the largest. Integers only: the exact value is
  /// M * 2^E.
  unsigned round(double V) const {
    uint64_t B = bitsOf(V), M = B & ((uint64_t(1) << 52) - 1);
    int E = int(B >> 52 & 2047);
    if (E)
      M |= uint64_t(1) << 52;
    else
      E = 1;
    if (!M)
      return 0;
    E -= 1075;
    // A step of the result is 2^Step; M has its top bit at most at bit 52.
    int Top = 63 - __builtin_clzll(M) + E;
    int Step = std::max(Top, 1 - bias()) - Mantissa;
    int Shift = Step - E; // always positive: double is the wider format
    if (Shift > 62)
      return 0;
    uint64_t Whole = M >> Shift, Rest = M & ((uint64_t(1) << Shift) - 1);
    uint64_t Half = uint64_t(1) << (Shift - 1);
    if (Rest > Half || (Rest == Half && Whole & 1))
      ++Whole;
    // Whole * 2^Step as bits: a carry moves into the exponent by itself.
    uint64_t Bits =
        (uint64_t(Step + Mantissa + bias() - 1) << Mantissa) + Whole;
    return std::min<uint64_t>(Bits, infinity());
  }
};

class HalfTest : public testing::TestWithParam<Format> {
protected:
  static void expectRounds(double V) {
    const Format &F = GetParam();
    unsigned Sign = bitsOf(V) >> 63 ? 0x8000 : 0;
    unsigned Expected = F.round(std::fabs(V));
    bool Overflows =
        F.Kind == ParamKind::FP16 && Expected == F.infinity() && !std::isinf(V);
    uint16_t Got = 0xDEAD;
    ASSERT_EQ(storeFloat(F.Kind, V, &Got), !Overflows) << V;
    if (!Overflows) {
      ASSERT_EQ(Got, Expected | Sign) << V << " is " << std::hex << bitsOf(V);
    }
  }
};

TEST_P(HalfTest, EveryPatternComesBack) {
  const Format &F = GetParam();
  for (unsigned B = 0; B != 65536; ++B) {
    unsigned Magnitude = B & 0x7FFF;
    bool NaN = Magnitude > F.infinity();
    double V = NaN ? std::numeric_limits<double>::quiet_NaN()
               : Magnitude == F.infinity()
                   ? std::numeric_limits<double>::infinity()
                   : F.decode(Magnitude);
    if (NaN) // the same payload, at the top
      V = doubleOf(0x7FFull << 52 | uint64_t(B & ((1u << F.Mantissa) - 1))
                                        << (52 - F.Mantissa));
    uint16_t Got = 0xDEAD;
    ASSERT_TRUE(storeFloat(F.Kind, B & 0x8000 ? -V : V, &Got));
    if (NaN) // quiet, else the same
      ASSERT_EQ(Got, B | 1u << (F.Mantissa - 1));
    else
      ASSERT_EQ(Got, B);
  }
}

TEST_P(HalfTest, BetweenNeighboursTiesGoToEven) {
  const Format &F = GetParam();
  for (unsigned B = 0; B != F.infinity(); ++B) {
    double Low = F.decode(B);
    double High =
        B + 1 == F.infinity() ? 2 * Low - F.decode(B - 1) : F.decode(B + 1);
    double Middle = Low + (High - Low) / 2; // exact
    for (double V : {Low, std::nextafter(Low, 0.0), Middle,
                     std::nextafter(Middle, 0.0), std::nextafter(Middle, High)})
      for (double Signed : {V, -V})
        expectRounds(Signed);
    if (HasFatalFailure())
      return;
  }
}

TEST_P(HalfTest, RandomDoublesRoundOnce) {
  std::mt19937_64 R(1);
  for (unsigned I = 0; I != 200000 && !HasFatalFailure(); ++I) {
    uint64_t B = R();
    // Mostly within the format's range, and often near ties.
    if (I % 4)
      B = (B & ~(2047ull << 52)) | uint64_t(1023 - GetParam().bias() - 20 +
                                            R() % (2 * GetParam().bias() + 22))
                                       << 52;
    if (I % 3 == 0)
      B &= ~((uint64_t(1) << (R() % 52)) - 1);
    if ((B >> 52 & 2047) != 2047)
      expectRounds(doubleOf(B));
  }
}

TEST_P(HalfTest, EdgesOfTheRange) {
  const Format &F = GetParam();
  double Largest = F.decode(F.infinity() - 1);
  double Half = (Largest - F.decode(F.infinity() - 2)) / 2;
  for (double V :
       {0.0, -0.0, Largest, -Largest, Largest + Half,
        std::nextafter(Largest + Half, 0.0), 2 * Largest,
        std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
        std::numeric_limits<double>::denorm_min(),
        -std::numeric_limits<double>::denorm_min(),
        std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    if (!std::isinf(V)) {
      expectRounds(V);
      continue;
    }
    uint16_t Got = 0;
    EXPECT_TRUE(storeFloat(F.Kind, V, &Got));
    EXPECT_EQ(Got, F.infinity() | (V < 0 ? 0x8000 : 0));
  }
}

// A payload in the low bits alone must not become an infinity.
TEST_P(HalfTest, NaNStaysNaN) {
  const Format &F = GetParam();
  for (uint64_t Bits :
       {0x7FF0000000000001ull, 0xFFF0000000000001ull, 0x7FF8000000000000ull,
        0x7FFFFFFFFFFFFFFFull, 0xFFF8000000000000ull, 0x7FF4000000000000ull}) {
    uint16_t Got = 0;
    ASSERT_TRUE(storeFloat(F.Kind, doubleOf(Bits), &Got));
    EXPECT_GT(Got & 0x7FFFu, F.infinity()) << std::hex << Bits;
    EXPECT_EQ(Got >> 15, Bits >> 63);
    EXPECT_TRUE(Got & 1u << (F.Mantissa - 1)) << "quiet";
  }
}

INSTANTIATE_TEST_SUITE_P(Both, HalfTest,
                         testing::Values(Format{ParamKind::FP16, "fp16", 5, 10},
                                         Format{ParamKind::BF16, "bf16", 8, 7}),
                         [](const testing::TestParamInfo<Format> &I) {
                           return I.param.Name;
                         });

TEST_F(ValuesTest, OverflowOfFP16NamesTheLargest) {
  expectBytes("fp16", Value::ofFloat(65504), 0x7BFF);
  expectBytes("fp16", Value::ofFloat(65519.99), 0x7BFF);
  expectBytes("fp16", Value::ofInt(-65504), 0xFBFF);
  expectError("fp16", Value::ofFloat(65520), Status::ArgumentRange,
              "65520 does not fit; the largest fp16 is 65504");
  expectError("fp16", Value::ofInt(-70000), Status::ArgumentRange,
              "-70000 does not fit; the largest fp16 is 65504");
  expectError("fp16", Value::ofFloat(1e300), Status::ArgumentRange,
              "1.0E+300 does not fit; the largest fp16 is 65504");
  expectError("fp16", Value::ofUInt(UINT64_MAX), Status::ArgumentRange,
              "1.84467440737096E+19 does not fit; the largest fp16 is 65504");
  expectBytes("bf16", Value::ofFloat(1e300), 0x7F80);
  expectBytes("bf16", Value::ofInt(1), 0x3F80);
}

TEST_F(ValuesTest, FP32AndFP64) {
  expectBytes("fp32", Value::ofFloat(1.5), 0x3FC00000);
  expectBytes("fp32", Value::ofInt(-2), 0xC0000000);
  expectBytes("fp32", Value::ofFloat(1e300), 0x7F800000);
  expectBytes("fp32", Value::ofFloat(-1e300), 0xFF800000);
  expectBytes("fp32", Value::ofFloat(-0.0), 0x80000000);
  expectBytes("fp32", Value::ofFloat(1e-45), 1);
  expectBytes("fp32", Value::ofFloat(0.1), 0x3DCCCCCD);
  // Ties to even.
  expectBytes("fp32", Value::ofInt(16777217), 0x4B800000);
  expectBytes("fp32", Value::ofInt(16777219), 0x4B800002);
  expectBytes("fp64", Value::ofFloat(0.1), bitsOf(0.1));
  expectBytes("fp64", Value::ofFloat(doubleOf(0x7FF0000000000001)),
              0x7FF0000000000001);
  expectBytes("fp64", Value::ofUInt(UINT64_MAX),
              bitsOf(18446744073709551616.0));
  expectBytes("fp64", Value::ofInt(INT64_MIN), bitsOf(-9223372036854775808.0));
  std::vector<uint8_t> NaN =
      valueOf(store("fp32", Value::ofFloat(doubleOf(0x7FF0000000000001))));
  float F;
  std::memcpy(&F, NaN.data(), 4);
  EXPECT_TRUE(std::isnan(F));
}

} // namespace
