//===- DamagedBinaryTest.cpp - Bytes that nobody should trust -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What may go wrong here is a crash, which the sanitizers see best.
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include <gmock/gmock.h>
#include <random>

using namespace llvm;
using namespace launchjit;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Reads a copy of its own size, so that a byte behind the end is noticed;
/// true if it is good.
bool readExactly(StringRef Bytes) {
  std::vector<char> Copy(Bytes.begin(), Bytes.end());
  Expected<KernelBinary> B = readBytes(StringRef(Copy.data(), Copy.size()));
  if (B)
    return true;
  ErrorDetail Detail = takeDetail(B.takeError());
  EXPECT_EQ(Detail.Code, Status::Binary);
  EXPECT_THAT(Detail.Message, StartsWith("k"));
  return false;
}

const char *const Cubins[] = {"kernels.sm_90.cubin", "small.11.8.sm_52.cubin",
                              "small.12.9.sm_100a.cubin"};

TEST(DamagedBinary, NoTruncatedCubinIsRead) {
  for (const char *File : Cubins) {
    std::string Bytes = readInput(File);
    for (size_t Size = 0; Size != Bytes.size(); ++Size)
      EXPECT_FALSE(readExactly(StringRef(Bytes).take_front(Size)))
          << File << " at " << Size;
  }
}

TEST(DamagedBinary, NoTruncatedTextCrashes) {
  std::string Text = readInput("kernels.ptx");
  for (size_t Size = 0; Size < Text.size(); ++Size)
    readExactly(StringRef(Text).take_front(Size));
}

TEST(DamagedBinary, NoChangedByteCrashes) {
  std::mt19937 Random(1);
  for (const char *File : {"kernels.sm_90.cubin", "small.11.8.sm_52.cubin",
                           "small.12.9.sm_100a.cubin", "kernels.ptx"}) {
    const std::string Good = readInput(File);
    for (unsigned Round = 0; Round != 10000; ++Round) {
      std::string Bytes = Good;
      for (unsigned N = 1 + Random() % 8; N; --N)
        Bytes[Random() % Bytes.size()] = char(Random());
      readExactly(Bytes);
    }
  }
}

/// Every byte of a small one, to the values that lengths dislike.
TEST(DamagedBinary, NoExtremeByteCrashes) {
  const std::string Good = readInput("small.13.0.sm_90a.cubin");
  for (size_t I = 0; I != Good.size(); ++I)
    for (unsigned char Value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string Bytes = Good;
      Bytes[I] = char(Value);
      readExactly(Bytes);
    }
}

/// Replaces the only \p From in \p Bytes.
std::string patch(std::string Bytes, StringRef From, StringRef To) {
  EXPECT_EQ(From.size(), To.size());
  size_t At = Bytes.find(From.str());
  EXPECT_NE(At, std::string::npos);
  EXPECT_EQ(Bytes.find(From.str(), At + 1), std::string::npos);
  return Bytes.replace(At, From.size(), To.str());
}

StringRef bytes(const char *Text, size_t Size) { return {Text, Size}; }
#define LJ_BYTES(Text) bytes(Text, sizeof Text - 1)

TEST(DamagedBinary, SaysWhatIsWrongWithParameters) {
  const std::string Good = readInput("small.11.8.sm_52.cubin");
  // Parameter 2: ordinal 2 at 12, of 12 bytes.
  StringRef Last = LJ_BYTES("\x04\x17\x0c\x00\x00\x00\x00\x00\x02\x00\x0c\x00"
                            "\x00\xf0\x31\x00");
  EXPECT_THAT(
      readBad(patch(Good, Last,
                    LJ_BYTES("\x04\x17\x0c\x00\x00\x00\x00\x00\x03\x00\x0c\x00"
                             "\x00\xf0\x31\x00"))),
      HasSubstr("of the 3 parameters of k number 2 is missing"));
  EXPECT_THAT(
      readBad(patch(Good, Last,
                    LJ_BYTES("\x04\x17\x0c\x00\x00\x00\x00\x00\x02\x00\x08\x00"
                             "\x00\xf0\x31\x00"))),
      HasSubstr("parameter 2 of k at 8 overlaps the one before it"));
  EXPECT_THAT(
      readBad(patch(Good, Last,
                    LJ_BYTES("\x04\x17\x0c\x00\x00\x00\x00\x00\x02\x00\x0c\x00"
                             "\x00\xf0\x41\x00"))),
      HasSubstr("the parameters of k end at 28 in a space of 24 bytes"));
  EXPECT_THAT(
      readBad(patch(Good, Last,
                    LJ_BYTES("\x04\x17\x0c\x00\x00\x00\x00\x00\x02\x00\xf0\xff"
                             "\x00\xf0\x31\x00"))),
      HasSubstr("parameter 2 of k ends at 65532, above the limit of 32764"));
  EXPECT_THAT(
      readBad(patch(Good, Last,
                    LJ_BYTES("\x04\x17\xff\xff\x00\x00\x00\x00\x02\x00\x0c\x00"
                             "\x00\xf0\x31\x00"))),
      HasSubstr(".nv.info.k at "));
  EXPECT_THAT(
      readBad(patch(Good, Last,
                    LJ_BYTES("\x09\x17\x0c\x00\x00\x00\x00\x00\x02\x00\x0c\x00"
                             "\x00\xf0\x31\x00"))),
      HasSubstr("a record of the unknown form 9"));
}

TEST(DamagedBinary, NamesTheFile) {
  std::string Bytes = readInput("small.11.8.sm_52.cubin");
  Bytes.resize(2000);
  EXPECT_THAT(readBad(Bytes, "dir/k.cubin"),
              StartsWith("dir/k.cubin is a damaged cubin: "));
}

} // namespace
