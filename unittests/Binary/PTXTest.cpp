//===- PTXTest.cpp - What PTX text says of its kernels --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include <gmock/gmock.h>

using namespace llvm;
using namespace launchjit;
using testing::HasSubstr;

namespace {

const std::string Head = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// "offset+size" of each parameter of the one kernel with \p Parameters.
std::string layout(const std::string &Parameters) {
  KernelBinary B =
      readGood(Head + ".visible .entry k(" + Parameters + ") { ret; }");
  if (B.Kernels.size() != 1 || !B.Kernels[0].Parameters)
    return "none";
  std::string Text;
  for (const BinaryParameter &P : *B.Kernels[0].Parameters)
    Text += (Text.empty() ? "" : " ") + std::to_string(P.Offset) + "+" +
            std::to_string(P.Size);
  return Text;
}

/// "name size" of each variable declared by \p Text.
std::string variables(const std::string &Text) {
  std::string Out;
  for (const BinaryVariable &V : readGood(Head + Text).Variables)
    Out += (Out.empty() ? "" : ", ") + V.Name + " " + std::to_string(V.Size) +
           (V.Constant ? " const" : "");
  return Out;
}

TEST(PTX, LaysParametersOut) {
  EXPECT_EQ(layout(""), "");
  EXPECT_EQ(layout(".param .u8 a, .param .u64 b, .param .f32 c"),
            "0+1 8+8 16+4");
  EXPECT_EQ(layout(".param .u16 a, .param .align 8 .b8 b[12], .param .s8 c"),
            "0+2 8+12 20+1");
  EXPECT_EQ(layout(".param .u32 a, .param .u64 .ptr .global .align 128 b"),
            "0+4 8+8");
  EXPECT_EQ(layout(".param .u32 a, .param .u64 .ptr .align 1 b, .param .b16 c"),
            "0+4 8+8 16+2");
  EXPECT_EQ(layout(".param .u8 a, .param .v4 .f32 b"), "0+1 16+16");
  EXPECT_EQ(layout(".param .b8 a[3], .param .align 64 .b8 m[128]"),
            "0+3 64+128");
  EXPECT_EQ(layout(".param .f16 a[2][3], .param .b32 b"), "0+12 12+4");
  EXPECT_EQ(layout(".param .b8 a[0x10], .param .b8 b[8U]"), "0+16 16+8");
}

TEST(PTX, WithoutAListThereAreNoParameters) {
  KernelBinary B = readGood(Head + ".entry k { ret; }");
  ASSERT_EQ(B.Kernels.size(), 1u);
  EXPECT_TRUE(B.Kernels[0].Parameters->empty());
}

TEST(PTX, SkipsCommentsAndStrings) {
  KernelBinary B = readGood(
      "// .target sm_10\n/* .entry no() {} */" + Head +
      "#line 3 \"x\"\n.file 1 \"a } .entry b() {.cu\"\n"
      ".visible /* .entry */ .entry // {\n k(.param /* .u8 */ .u64 a)\n"
      "{ .pragma \"nounroll }\"; { } /* } */ // }\n \"}\\\"}\" ret; }\n"
      ".visible .entry l() { ret; }");
  ASSERT_EQ(B.Kernels.size(), 2u);
  EXPECT_EQ(B.Kernels[0].Name, "k");
  EXPECT_EQ(B.Kernels[1].Name, "l");
  EXPECT_EQ(B.Arch, 90u);
}

TEST(PTX, ReadsTuningDirectives) {
  KernelBinary B = readGood(
      Head + ".weak .entry a() .maxntid 32, 4 .minnctapersm 2 "
             ".pragma \"x, .reqntid 3\"; { }\n"
             ".entry b() .reqntid 64 .explicitcluster .reqnctapercluster 2, 2 "
             ".maxclusterrank 8 {}"
             ".entry c() .blocksareclusters .reqntid 1,2,3 "
             ".reqnctapercluster 4 {}");
  ASSERT_EQ(B.Kernels.size(), 3u);
  using Dims = std::array<uint32_t, 3>;
  EXPECT_EQ(B.Kernels[0].MaxThreads, 128u);
  EXPECT_EQ(B.Kernels[0].RequiredBlock, std::nullopt);
  EXPECT_EQ(B.Kernels[1].RequiredBlock, (Dims{64, 1, 1}));
  EXPECT_EQ(B.Kernels[1].RequiredCluster, (Dims{2, 2, 1}));
  EXPECT_FALSE(B.Kernels[1].BlocksAreClusters);
  EXPECT_EQ(B.Kernels[2].RequiredBlock, (Dims{1, 2, 3}));
  EXPECT_TRUE(B.Kernels[2].BlocksAreClusters);
}

TEST(PTX, ReadsTargets) {
  auto Read = [](const std::string &Target) {
    return readGood(".version 8.7 .target " + Target);
  };
  EXPECT_EQ(Read("sm_90").Arch, 90u);
  EXPECT_FALSE(Read("sm_90").ArchSpecific);
  EXPECT_EQ(Read("sm_90a, texmode_independent").Arch, 90u);
  EXPECT_TRUE(Read("sm_90a").ArchSpecific);
  EXPECT_EQ(Read("sm_100f").Arch, 100u);
  EXPECT_FALSE(Read("sm_100f").ArchSpecific);
  EXPECT_EQ(Read("debug, sm_75").Arch, 75u);
}

TEST(PTX, TellsVariables) {
  EXPECT_EQ(variables(".global .u32 a; .const .align 8 .f64 b[4];"),
            "a 4, b 32 const");
  EXPECT_EQ(variables(".visible .global .attribute(.managed) .align 4 .u32 m;"),
            "m 4");
  EXPECT_EQ(variables(".extern .global .u32 other; .global .u8 mine;"),
            "mine 1");
  EXPECT_EQ(variables(".extern .func f(.param .u32 x); .global .u8 mine;"),
            "mine 1");
  EXPECT_EQ(variables(".extern .shared .align 16 .b8 d[]; .global .u8 mine;"),
            "mine 1");
  EXPECT_EQ(variables(".global .s32 a[] = {1, 2, -3}, b = 4, c[2] = {0, 1};"),
            "a 12, b 4, c 8");
  EXPECT_EQ(variables(".global .v2 .f32 v; .global .texref t;"), "t 8, v 8");
  EXPECT_EQ(variables(".global .u64 p[2] = {generic(q), 0xff(k)+4};"), "p 16");
  EXPECT_EQ(variables(".global .align 1 .b8 $str[4];"), "");
  EXPECT_EQ(variables(".shared .align 4 .b8 s[1024];"), "");
}

TEST(PTX, SkipsFunctionsAndDebugInformation) {
  KernelBinary B = readGood(
      Head + ".func (.param .b32 r) f(.param .b32 a, .param .b32 b) { ret; }\n"
             ".visible .func g { ret; }\n.alias a, f;\n"
             ".section .debug_loc { .b8 1, 2\n .b64 $L1 }\n"
             "@@DWARF .byte 0x00, 0x01\n.visible .entry k() { ret; }\n"
             ".entry declared(.param .u32 a);\n");
  ASSERT_EQ(B.Kernels.size(), 1u);
  EXPECT_EQ(B.Kernels[0].Name, "k");
}

TEST(PTX, EndsAtANul) {
  KernelBinary B = readGood(Head + ".entry k() {}" + std::string(1, '\0') +
                            "}}} what follows is not text");
  EXPECT_EQ(B.Kernels.size(), 1u);
}

TEST(PTX, ErrorsNameThePlace) {
  EXPECT_EQ(readBad(Head + ".entry k(.param .u65 a) {}", "k.ptx"),
            "k.ptx:4: expected a type, found '.u65'");
  EXPECT_EQ(readBad(Head + ".entry k(.param a) {}", "k.ptx"),
            "k.ptx:4: expected a type such as .u64, found 'a'");
  EXPECT_EQ(readBad(Head + ".entry k(.param .u64) {}", "k.ptx"),
            "k.ptx:4: expected a name, found ')'");
  EXPECT_EQ(readBad(Head + ".entry k(.u64 a) {}", "k.ptx"),
            "k.ptx:4: expected .param, found '.u64'");
  EXPECT_EQ(readBad(Head + ".entry k(.param .u64 a b) {}", "k.ptx"),
            "k.ptx:4: expected ',' or ')', found 'b'");
  EXPECT_EQ(readBad(Head + ".entry k()\n{ ret;", "k.ptx"),
            "k.ptx:5: the text ends where the end of k is expected");
  EXPECT_EQ(readBad(Head + "garbage!", "k.ptx"),
            "k.ptx:4: expected a directive, found 'garbage'");
  EXPECT_EQ(readBad(Head + ".entry k() {} .entry k() {}", "k.ptx"),
            "k.ptx has two kernels named k");
  EXPECT_EQ(readBad(".version 8.0", "k.ptx"),
            "k.ptx:1: the text names no .target");
  EXPECT_EQ(readBad(".version 8.0 .target sm_x", "k.ptx"),
            "k.ptx:1: expected a target such as sm_90, found 'sm_x'");
  EXPECT_EQ(readBad(Head + ".entry k(.param .align 3 .b8 a[4]) {}", "k.ptx"),
            "k.ptx:4: the alignment 3 is no power of two up to 65536");
  EXPECT_EQ(readBad(Head + ".entry k(.param .b8 a[40000]) {}", "k.ptx"),
            "k.ptx:4: the parameters of k need 40000 bytes up to a; a kernel "
            "can take 32764");
  EXPECT_EQ(
      readBad(Head + ".global .b8 a[0xffffffffffffffff][0xffffffffffffffff];",
              "k.ptx"),
      "k.ptx:4: a is larger than any memory");
  EXPECT_EQ(readBad(Head + ".entry k() .maxntid 4294967296 {}", "k.ptx"),
            "k.ptx:4: 4294967296 is too large a dimension");
}

TEST(PTX, ErrorsTellTheOffset) {
  Expected<KernelBinary> B = readBytes(Head + ".entry k(.param .u65 a) {}");
  ASSERT_FALSE(bool(B));
  EXPECT_EQ(takeDetail(B.takeError()).Offset, int64_t(Head.size() + 16));
}

TEST(PTX, MustBeginWithItsVersion) {
  auto Identify = [](StringRef Text) {
    return KernelBinary::identify(arrayRefFromStringRef(Text));
  };
  EXPECT_EQ(Identify("// a\n/* b */ .version 8.0"), BinaryFormat::PTX);
  EXPECT_EQ(Identify(".target sm_90"), std::nullopt);
  EXPECT_EQ(Identify(".versions"), std::nullopt);
  EXPECT_EQ(Identify("/* .version"), std::nullopt);
  EXPECT_EQ(Identify(""), std::nullopt);
}

} // namespace
