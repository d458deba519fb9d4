//===- KernelBinaryTest.cpp - What cubins say of their kernels ------------===//
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
using testing::StartsWith;

namespace {

/// "offset+size" of each parameter.
std::string layout(const BinaryKernel *K) {
  if (!K || !K->Parameters)
    return "unknown";
  std::string Text;
  for (const BinaryParameter &P : *K->Parameters)
    Text += (Text.empty() ? "" : " ") + std::to_string(P.Offset) + "+" +
            std::to_string(P.Size);
  return Text;
}

using Dims = std::array<uint32_t, 3>;

TEST(KernelBinary, TellsACubinsKernels) {
  KernelBinary B = readGood(readInput("kernels.sm_90.cubin"));
  EXPECT_EQ(B.Format, BinaryFormat::Cubin);
  EXPECT_EQ(B.Arch, 90u);
  EXPECT_FALSE(B.ArchSpecific);
  ASSERT_EQ(B.Kernels.size(), 10u);
  EXPECT_EQ(layout(B.find("axpy")), "0+8 8+8 16+4");
  EXPECT_EQ(layout(B.find("nothing")), "");
  EXPECT_EQ(layout(B.find("mixed")), "0+1 2+2 4+4 8+8 16+12 28+1 32+8");
  EXPECT_EQ(layout(B.find("large")), "0+5000 5000+8");
  EXPECT_EQ(layout(B.find("_ZN5space5scaleIfEEvPT_S1_")), "0+8 8+4");
  EXPECT_EQ(B.find("axp"), nullptr);
  EXPECT_EQ(B.find("zzz"), nullptr);

  const BinaryKernel *Axpy = B.find("axpy");
  EXPECT_EQ(Axpy->Registers, 12u);
  EXPECT_EQ(Axpy->StaticShared, 0u);
  EXPECT_EQ(Axpy->Local, 0u);
  EXPECT_EQ(Axpy->MaxThreads, std::nullopt);
  EXPECT_EQ(Axpy->RequiredBlock, std::nullopt);
  EXPECT_EQ(Axpy->RequiredCluster, std::nullopt);
  EXPECT_EQ(B.find("heavy")->Registers, 72u);

  const BinaryKernel *Bounded = B.find("bounded");
  EXPECT_EQ(Bounded->MaxThreads, 128u);
  // Without the 1,024 bytes that the hardware takes.
  EXPECT_EQ(Bounded->StaticShared, 1024u);
  // The callee's 400 bytes and the 120 of its own, aligned.
  EXPECT_EQ(B.find("local")->Local, 528u);

  EXPECT_EQ(B.find("clustered")->RequiredCluster, (Dims{2, 1, 1}));
  EXPECT_FALSE(B.find("clustered")->BlocksAreClusters);
  EXPECT_EQ(B.find("required")->RequiredBlock, (Dims{64, 2, 1}));
  EXPECT_EQ(B.find("required")->RequiredCluster, (Dims{2, 1, 1}));
  EXPECT_TRUE(B.find("required")->BlocksAreClusters);
}

TEST(KernelBinary, TellsACubinsVariables) {
  KernelBinary B = readGood(readInput("kernels.sm_90.cubin"));
  std::string Text;
  for (const BinaryVariable &V : B.Variables)
    Text +=
        V.Name + (V.Constant ? " const " : " ") + std::to_string(V.Size) + "\n";
  EXPECT_EQ(Text, "Byte 1\nCounter 16\nInitialized 8\nManaged 4\n"
                  "Scale const 12\n");
}

/// nvcc's PTX and its cubin come from the same source.
TEST(KernelBinary, CubinAndPTXAgree) {
  KernelBinary Cubin = readGood(readInput("kernels.sm_90.cubin"));
  KernelBinary PTX = readGood(readInput("kernels.ptx"));
  EXPECT_EQ(PTX.Format, BinaryFormat::PTX);
  EXPECT_EQ(PTX.Arch, Cubin.Arch);
  ASSERT_EQ(PTX.Kernels.size(), Cubin.Kernels.size());
  for (size_t I = 0; I != PTX.Kernels.size(); ++I) {
    const BinaryKernel &P = PTX.Kernels[I], &C = Cubin.Kernels[I];
    EXPECT_EQ(P.Name, C.Name);
    EXPECT_EQ(layout(&P), layout(&C)) << P.Name;
    EXPECT_EQ(P.MaxThreads, C.MaxThreads) << P.Name;
    EXPECT_EQ(P.RequiredBlock, C.RequiredBlock) << P.Name;
    EXPECT_EQ(P.RequiredCluster, C.RequiredCluster) << P.Name;
    EXPECT_EQ(P.BlocksAreClusters, C.BlocksAreClusters) << P.Name;
    EXPECT_EQ(P.Registers, std::nullopt);
  }
  ASSERT_EQ(PTX.Variables.size(), Cubin.Variables.size());
  for (size_t I = 0; I != PTX.Variables.size(); ++I) {
    EXPECT_EQ(PTX.Variables[I].Name, Cubin.Variables[I].Name);
    EXPECT_EQ(PTX.Variables[I].Size, Cubin.Variables[I].Size);
    EXPECT_EQ(PTX.Variables[I].Constant, Cubin.Variables[I].Constant);
  }
}

/// Both layouts of the ELF flags, and all three places of the 'a'.
TEST(KernelBinary, KnowsEveryArchitecture) {
  struct {
    const char *File;
    unsigned Arch;
    bool Specific;
  } Cases[] = {
      {"small.11.8.sm_52.cubin", 52, false},
      {"small.11.8.sm_90.cubin", 90, false},
      {"small.12.0.sm_90a.cubin", 90, true},
      {"small.12.9.sm_100a.cubin", 100, true},
      {"small.13.0.sm_75.cubin", 75, false},
      {"small.13.0.sm_80.cubin", 80, false},
      {"small.13.0.sm_90a.cubin", 90, true},
      {"small.13.0.sm_120.cubin", 120, false},
  };
  for (const auto &Case : Cases) {
    SCOPED_TRACE(Case.File);
    KernelBinary B = readGood(readInput(Case.File));
    EXPECT_EQ(B.Arch, Case.Arch);
    EXPECT_EQ(B.ArchSpecific, Case.Specific);
    ASSERT_EQ(B.Kernels.size(), 1u);
    const BinaryKernel &K = B.Kernels[0];
    EXPECT_EQ(layout(&K), "0+8 8+4 12+12");
    EXPECT_EQ(K.MaxThreads, 128u);
    EXPECT_EQ(K.StaticShared, 64u);
    EXPECT_GE(K.Registers, 4u);
    EXPECT_LT(K.Registers, 32u);
    EXPECT_EQ(B.Variables.size(), 2u);
  }
}

TEST(KernelBinary, RecognisesAFatbin) {
  KernelBinary B = readGood(readInput("small.fatbin"));
  EXPECT_EQ(B.Format, BinaryFormat::Fatbin);
  EXPECT_TRUE(B.Kernels.empty());
}

TEST(KernelBinary, ReadsFromAnyAddress) {
  std::string Bytes = readInput("kernels.sm_90.cubin");
  for (unsigned Shift = 1; Shift != 8; ++Shift) {
    std::string Moved = std::string(Shift, 'x') + Bytes;
    EXPECT_EQ(readGood(StringRef(Moved).drop_front(Shift)).Kernels.size(), 10u);
  }
}

TEST(KernelBinary, SaysWhatAFileIsInstead) {
  EXPECT_EQ(readBad("#include <cuda.h>", "k.cubin"),
            "k.cubin is no cubin, fatbin or PTX: it begins with 23 69 6e 63");
  EXPECT_EQ(readBad("\x01", "k.cubin"),
            "k.cubin is no cubin, fatbin or PTX: it begins with 01");
  EXPECT_EQ(readBad("", "k.cubin"), "k.cubin is empty");
  EXPECT_THAT(readBad("\x7f"
                      "ELF",
                      "k.cubin"),
              StartsWith("k.cubin is a damaged cubin: "));
  auto Self = MemoryBuffer::getFile("/proc/self/exe", false, false);
  ASSERT_TRUE(bool(Self));
  EXPECT_THAT(readBad((*Self)->getBuffer(), "a.out"),
              StartsWith("a.out is an ELF file for machine "));
}

TEST(KernelBinary, NamesFormats) {
  EXPECT_EQ(formatName(BinaryFormat::Cubin), "cubin");
  EXPECT_EQ(formatName(BinaryFormat::PTX), "ptx");
  EXPECT_EQ(formatName(BinaryFormat::Fatbin), "fatbin");
}

} // namespace
