//===- KernelTest.cpp - One GPU function with its launch configuration ----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Kernel.h"
#include "TestHelpers.h"
#include "launchjit/Launch/KernelState.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

//===----------------------------------------------------------------------===//
// The signature and the binary
//===----------------------------------------------------------------------===//

/// What is said of \p Ours for a kernel of the parameters \p Theirs.
std::string mismatch(const Signature &Ours, const Signature &Theirs) {
  ErrorDetail D =
      errorOf(Kernel::create(loadPTX(ptx(Theirs, "axpy")), "axpy", Ours));
  EXPECT_EQ(D.Code,
            D.Message == "no error" ? Status::Success : Status::Signature);
  return D.Message;
}

std::string mismatch(StringRef Ours, StringRef Theirs) {
  return mismatch(parse(Ours), parse(Theirs));
}

TEST(KernelSignature, AWrongCountIsAnError) {
  EXPECT_EQ(mismatch("*fp32, i32", "*fp32, i32"), "no error");
  EXPECT_EQ(mismatch("*fp32", "*fp32, i32"),
            "the signature has 1 parameters, but kernel 'axpy' of test.ptx "
            "has 2");
  EXPECT_EQ(mismatch("*fp32, i32, constexpr, i8", "*fp32, i32"),
            "the signature has 3 parameters, but kernel 'axpy' of test.ptx "
            "has 2");
  EXPECT_EQ(mismatch("", "i32"), "the signature has 0 parameters, but kernel "
                                 "'axpy' of test.ptx has 1");
}

TEST(KernelSignature, ForgottenScratchIsHintedAt) {
  constexpr char Hint[] =
      "; if the last are scratch pointers, ask for them with scratch";
  auto Both = parseScratch("*fp32, i32", ScratchGlobal | ScratchProfile);
  EXPECT_THAT(mismatch(parse("*fp32, i32"), Both), testing::HasSubstr(Hint));
  EXPECT_THAT(mismatch(parseScratch("*fp32, i32", ScratchGlobal), Both),
              testing::HasSubstr(Hint));
  // No hint where that is not what is missing.
  EXPECT_THAT(mismatch("*fp32", "*fp32, i32"),
              testing::Not(testing::HasSubstr(Hint)));
  EXPECT_THAT(mismatch("i32", "i32, *fp32, *fp32, *fp32"),
              testing::Not(testing::HasSubstr(Hint)));
  EXPECT_THAT(mismatch(Both, parse("*fp32, i32")),
              testing::Not(testing::HasSubstr(Hint)));
  EXPECT_EQ(mismatch(Both, Both), "no error");
}

TEST(KernelSignature, AWrongSizeIsAnErrorThatNamesTheArgument) {
  EXPECT_EQ(mismatch("x: *fp32, n: i64", "*fp32, i32"),
            "argument 1 ('n', i64) has 8 bytes in the signature, but 4 in "
            "kernel 'axpy' of test.ptx");
  EXPECT_EQ(mismatch("(i8, struct<12,4>)", "i8, struct<16,4>"),
            "argument 1 (struct<12,4>) has 12 bytes in the signature, but 16 "
            "in kernel 'axpy' of test.ptx");
  // What has the same size is not told apart: binaries know no more.
  EXPECT_EQ(mismatch("fp32, u64, bf16", "i32, *fp32, i16"), "no error");
}

TEST(KernelSignature, AWrongPlaceIsAnError) {
  EXPECT_EQ(mismatch("i32, s: struct<12,4>", "i32, struct<12,8>"),
            "argument 1 ('s', struct<12,4>) is at byte 4 by the signature, but "
            "at byte 8 in kernel 'axpy' of test.ptx");
  EXPECT_EQ(mismatch("i32, map: nvTmaDesc<64>", "i32, nvTmaDesc<128>"),
            "argument 1 ('map', nvTmaDesc) is at byte 64 by the "
            "signature, but at byte 128 in kernel 'axpy' of test.ptx");
}

// Where a parameter of a large alignment lies depends on where the parameter
// space of the architecture begins: at some multiple of 16.
TEST(KernelSignature, LargeAlignmentsHaveSeveralPlaces) {
  auto Fits = [](StringRef Text, const std::vector<BinaryParameter> &Actual) {
    return errorOf(checkParameters(parse(Text), Actual, "it")).Code ==
           Status::Success;
  };
  for (uint32_t Offset = 0; Offset != 200; ++Offset) {
    EXPECT_EQ(Fits("nvTmaDesc", {{Offset, 128}}),
              Offset % 16 == 0 && Offset < 64)
        << Offset;
    EXPECT_EQ(Fits("nvTmaDesc<128>", {{Offset, 128}}),
              Offset % 16 == 0 && Offset < 128)
        << Offset;
    EXPECT_EQ(Fits("struct<32,16>", {{Offset, 32}}), Offset == 0) << Offset;
  }
  // All of them from one beginning.
  constexpr char Text[] = "i32, nvTmaDesc, i8, nvTmaDesc";
  EXPECT_TRUE(Fits(Text, {{0, 4}, {64, 128}, {192, 1}, {256, 128}}));
  EXPECT_TRUE(Fits(Text, {{0, 4}, {48, 128}, {176, 1}, {240, 128}}));
  EXPECT_FALSE(Fits(Text, {{0, 4}, {48, 128}, {176, 1}, {256, 128}}));
  EXPECT_FALSE(Fits(Text, {{0, 4}, {48, 128}, {192, 1}, {240, 128}}));
  EXPECT_FALSE(Fits(Text, {{16, 4}, {64, 128}, {192, 1}, {256, 128}}));
}

TEST(KernelSignature, MismatchesInTheHiddenOnesAreNamed) {
  EXPECT_EQ(mismatch(parseScratch("i32", ScratchGlobal), parse("i32, i32")),
            "argument 1 ('global_scratch', *i8) has 8 bytes in the signature, "
            "but 4 in kernel 'axpy' of test.ptx");
}

//===----------------------------------------------------------------------===//
// Making kernels
//===----------------------------------------------------------------------===//

TEST(KernelMaking, AMissingNameListsTheKnownOnes) {
  ModuleRef M = loadPTX(ptx(parse("i32"), "one") +
                        ".visible .entry two() { ret; }\n"
                        ".visible .entry another() { ret; }\n");
  ErrorDetail D = errorOf(Kernel::create(M, "tow", parse("")));
  EXPECT_EQ(D.Code, Status::NotFound);
  EXPECT_EQ(D.Message,
            "test.ptx has no kernel 'tow'; it has another, one, two");
  EXPECT_EQ(errorOf(Kernel::create(loadPTX(".version 8.0\n.target sm_90\n"
                                           ".address_size 64\n"),
                                   "k", parse("")))
                .Message,
            "test.ptx has no kernel 'k'; it has none");
}

TEST(KernelMaking, NeedsNoDriver) {
  // The module is for the process's driver, which nobody opens here.
  const Driver *Before = Driver::processIfOpen();
  std::string Text = ptx(parse("x: *fp32, i32"));
  KernelRef K = valueOf(Kernel::create(
      valueOf(Module::create(arrayRefFromStringRef<uint8_t>(Text), "m")), "k",
      parse("x: *fp32, i32")));
  EXPECT_EQ(K->name(), "k");
  EXPECT_EQ(K->signature().str(), "x: *fp32, i32");
  EXPECT_NE(valueOf(K->launcher(EntryKind::C))->entry(), nullptr);
  EXPECT_EQ(Driver::processIfOpen(), Before);
}

TEST(KernelMaking, OptionsAreKept) {
  KernelOptions O;
  O.Block[0] = 128;
  O.Block[1] = 0;
  O.Shared = 1000;
  O.Device = 1;
  O.Attributes = {intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -3)};
  KernelRef K = makeKernel("i32", O);
  EXPECT_EQ(K->options().Block[0], 128u);
  EXPECT_EQ(K->options().Shared, 1000u);
  EXPECT_EQ(K->options().Device, 1);
  EXPECT_EQ(K->data().Block[1], 1u); // 0 counts as 1
  EXPECT_EQ(K->data().NumAttributes, 1u);
  EXPECT_EQ(K->data().ParameterBytes, 4u);
  EXPECT_EQ(K->data().Owner, K.get());
}

TEST(KernelMaking, NoAttributeTwice) {
  KernelOptions O;
  O.Attributes = {intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, 1),
                  intAttribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1),
                  intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, 2)};
  constexpr char Message[] = "launch attribute 8 is given twice";
  EXPECT_EQ(errorOf(Kernel::create(loadPTX(ptx(parse(""))), "k", parse(""), O))
                .Message,
            Message);
  EXPECT_EQ(errorOf(makeKernel("")->withOptions(O)).Message, Message);
  EXPECT_EQ(errorOf(Kernel::wrap(reinterpret_cast<CUfunction>(16), "",
                                 parse(""), O, &recording()))
                .Message,
            Message);
}

TEST(KernelMaking, SiblingsShareFunctionAndLauncher) {
  KernelRef K = makeKernel("i32");
  LauncherRef L = valueOf(K->launcher(EntryKind::C));
  KernelOptions O;
  O.Block[0] = 77;
  KernelRef Sibling = valueOf(K->withOptions(O));
  EXPECT_EQ(Sibling->data().State, K->data().State);
  EXPECT_EQ(Sibling->data().Block[0], 77u);
  EXPECT_EQ(K->data().Block[0], 1u);
  EXPECT_EQ(valueOf(Sibling->launcher(EntryKind::C)).get(), L.get());
  // Other limits are another preparation.
  O.NonPortableCluster = true;
  KernelRef Other = valueOf(K->withOptions(O));
  EXPECT_NE(Other->data().State, K->data().State);
  EXPECT_EQ(Other->data().State->Mod.get(), K->data().State->Mod.get());
}

TEST(KernelMaking, NullHandlesAreRefused) {
  EXPECT_EQ(errorOf(Kernel::wrap(CUfunction(nullptr), "f", parse(""), {},
                                 &recording()))
                .Message,
            "the CUfunction to wrap is null");
  ErrorDetail D = errorOf(
      Kernel::wrap(CUkernel(nullptr), "f", parse(""), {}, &recording()));
  EXPECT_EQ(D.Code, Status::InvalidArgument);
  EXPECT_EQ(D.Message, "the CUkernel to wrap is null");
}

class KernelLife : public RecordingTest {};

TEST_F(KernelLife, AKernelKeepsItsModuleAndSiblingsTheirs) {
  KernelOptions O;
  O.Block[0] = 9;
  KernelRef Sibling;
  {
    KernelRef K = makeKernel("i32");
    ASSERT_FALSE(bool(K->launch(1, 1, 1, nullptr, {Value::ofInt(1)})));
    Sibling = valueOf(K->withOptions(O));
  }
  takeRecordedLaunches();
  ASSERT_FALSE(bool(Sibling->launch(1, 1, 1, nullptr, {Value::ofInt(2)})));
  RecordedLaunch L = onlyLaunch();
  EXPECT_EQ(L.Block[0], 9u);
  EXPECT_THAT(L.Parameters, testing::ElementsAre(bytesOf(2)));
}

TEST_F(KernelLife, ALauncherServesEveryKernelOfItsABI) {
  KernelRef One = makeKernel("*fp32, i32");
  KernelRef Two = valueOf(Kernel::create(
      loadPTX(ptx(parse("n: *i8, u32"), "two")), "two", parse("n: *i8, i32")));
  PackedEntry Call = packedEntry(*One);
  EXPECT_EQ(Call, packedEntry(*Two));
  uint64_t Pointer = 0x1000;
  int Count = 3;
  const void *Arguments[] = {&Pointer, &Count};
  ASSERT_EQ(Call(&Two->data(), 1, 1, 1, nullptr, Arguments), 0);
  EXPECT_EQ(onlyLaunch().Kernel, "two");
}

//===----------------------------------------------------------------------===//
// Overrides
//===----------------------------------------------------------------------===//

class OverridesTest : public RecordingTest {
protected:
  void SetUp() override {
    RecordingTest::SetUp();
    KernelOptions O;
    O.Block[0] = 32;
    O.Shared = 256;
    O.Attributes = {
        intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -1),
        intAttribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1)};
    K = makeKernel("i32", O);
  }

  RecordedLaunch launch(const KernelData &D) {
    int Value = 4;
    const void *Arguments[] = {&Value};
    EXPECT_EQ(packedEntry(*K)(&D, 2, 1, 1, nullptr, Arguments), 0)
        << lastError().Message;
    return onlyLaunch();
  }
  const KernelData &with(const KernelData &D, const LaunchOverrides &O) {
    Storages.emplace_back(Kernel::storageSize(D, O.Attributes.size()) / 8);
    return *valueOf(Kernel::withOverrides(D, Storages.back().data(),
                                          Storages.back().size() * 8, O));
  }
  static std::vector<std::pair<int, int>> attributes(const RecordedLaunch &L) {
    std::vector<std::pair<int, int>> Result;
    Result.reserve(L.Attributes.size());
    for (const RecordedAttribute &A : L.Attributes)
      Result.emplace_back(A.Id, A.Value.priority);
    return Result;
  }

  KernelRef K;
  std::vector<std::vector<uint64_t>> Storages;
};

TEST_F(OverridesTest, NothingGivenIsACopy) {
  RecordedLaunch L = launch(with(K->data(), {}));
  EXPECT_THAT(L.Block, testing::ElementsAre(32, 1, 1));
  EXPECT_EQ(L.Shared, 256u);
  EXPECT_THAT(attributes(L),
              testing::ElementsAre(std::pair(8, -1), std::pair(6, 1)));
}

TEST_F(OverridesTest, BlockAndSharedMemoryAreReplaced) {
  const uint32_t Block[3] = {4, 0, 2}, Shared = 70000;
  LaunchOverrides O;
  O.Block = Block;
  EXPECT_EQ(launch(with(K->data(), O)).Shared, 256u);
  O.Shared = &Shared;
  RecordedLaunch L = launch(with(K->data(), O));
  EXPECT_THAT(L.Block, testing::ElementsAre(4, 1, 2));
  EXPECT_EQ(L.Shared, 70000u);
  const uint32_t None = 0;
  O = {};
  O.Shared = &None;
  EXPECT_EQ(launch(with(K->data(), O)).Shared, 0u);
  EXPECT_THAT(launch(K->data()).Block, testing::ElementsAre(32, 1, 1));
}

TEST_F(OverridesTest, AttributesAreReplacedByIdAndNewOnesComeBehind) {
  const CUlaunchAttribute New[] = {
      intAttribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 1),
      intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -5)};
  LaunchOverrides O;
  O.Attributes = New;
  const KernelData &Once = with(K->data(), O);
  EXPECT_THAT(attributes(launch(Once)),
              testing::ElementsAre(std::pair(6, 1), std::pair(10, 1),
                                   std::pair(8, -5)));
  // What has overrides can have others.
  const CUlaunchAttribute More[] = {
      intAttribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 0)};
  O.Attributes = More;
  EXPECT_THAT(attributes(launch(with(Once, O))),
              testing::ElementsAre(std::pair(6, 1), std::pair(8, -5),
                                   std::pair(10, 0)));
  EXPECT_THAT(attributes(launch(K->data())),
              testing::ElementsAre(std::pair(8, -1), std::pair(6, 1)));
}

TEST_F(OverridesTest, NoAttributeTwice) {
  const CUlaunchAttribute Twice[] = {
      intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, 1),
      intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, 2)};
  LaunchOverrides O;
  O.Attributes = Twice;
  uint64_t Storage[64];
  ErrorDetail D =
      errorOf(Kernel::withOverrides(K->data(), Storage, sizeof Storage, O));
  EXPECT_EQ(D.Code, Status::InvalidArgument);
  EXPECT_EQ(D.Message, "launch attribute 8 is given twice");
}

TEST_F(OverridesTest, StorageIsLargeEnoughAndAligned) {
  const CUlaunchAttribute New[] = {
      intAttribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 1)};
  LaunchOverrides O;
  O.Attributes = New;
  size_t Needed = Kernel::storageSize(K->data(), 1);
  EXPECT_EQ(Needed,
            Kernel::storageSize(K->data(), 0) + sizeof(CUlaunchAttribute));
  alignas(8) char Storage[1024] = {};
  ASSERT_LE(Needed, sizeof Storage - 8);
  std::string Text = "needed are " + utostr(Needed) + " bytes, aligned to 8";
  for (auto [At, Size] : {std::pair(Storage, Needed - 1),
                          {Storage, size_t(0)},
                          {Storage + 4, Needed},
                          {Storage + 1, sizeof Storage - 8},
                          {static_cast<char *>(nullptr), Needed}}) {
    ErrorDetail D = errorOf(Kernel::withOverrides(K->data(), At, Size, O));
    EXPECT_EQ(D.Code, Status::InvalidArgument);
    EXPECT_THAT(D.Message, testing::HasSubstr(Text));
  }
  EXPECT_TRUE(all_of(Storage, [](char C) { return C == 0; }));
  // Exactly as much is used.
  Storage[Needed] = 0x55;
  auto D = Kernel::withOverrides(K->data(), Storage, Needed, O);
  ASSERT_TRUE(bool(D)) << toString(D.takeError());
  EXPECT_EQ(static_cast<const void *>(*D), Storage);
  EXPECT_EQ(Storage[Needed], 0x55);
  launch(**D);
}

TEST_F(OverridesTest, TypedValuesGoWithThem) {
  const uint32_t Block[3] = {5, 1, 1};
  LaunchOverrides O;
  O.Block = Block;
  ASSERT_FALSE(bool(
      Kernel::launch(with(K->data(), O), 1, 1, 1, nullptr, {Value::ofInt(1)})));
  EXPECT_EQ(onlyLaunch().Block[0], 5u);
}

} // namespace
