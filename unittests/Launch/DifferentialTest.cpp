//===- DifferentialTest.cpp - Compiled and interpreted launchers agree ----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CCall.h"
#include "TestHelpers.h"
#include "llvm/ADT/StringExtras.h"
#include <random>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

using Random = std::mt19937;

unsigned below(Random &R, unsigned Bound) { return R() % Bound; }

//===----------------------------------------------------------------------===//
// Random signatures and values
//===----------------------------------------------------------------------===//

std::string randomType(Random &R, unsigned Depth = 0) {
  static const char *const Scalars[] = {"i1",   "i8",   "i16",  "i32", "i64",
                                        "u1",   "u8",   "u16",  "u32", "u64",
                                        "fp16", "bf16", "fp32", "fp64"};
  unsigned Choice = below(R, 100);
  if (Choice < 55)
    return Scalars[below(R, std::size(Scalars))];
  if (Choice < 75)
    return "*fp32";
  if (Choice < 83) {
    unsigned Size = below(R, 8) ? 1 + below(R, 40) : 1 + below(R, 700);
    return "struct<" + utostr(Size) + "," + utostr(1u << below(R, 6)) + ">";
  }
  if (Choice < 85)
    return "struct<" + utostr(1 + below(R, 300)) + ",256>";
  if (Choice < 89)
    return "nvTmaDesc<64>";
  if (Choice < 91)
    return "nvTmaDesc<128>";
  if (Choice < 95 || Depth == 3)
    return "constexpr";
  std::string Text = "(";
  for (unsigned I = 0, N = below(R, 4); I != N; ++I)
    Text += (I ? ", " : "") + randomType(R, Depth + 1);
  return Text + ")";
}

/// At most \p Count parameters, fewer where those would be too large.
Signature randomSignature(Random &R, unsigned Count) {
  SignatureOptions Options;
  Options.Scratch = below(R, 4);
  Options.LargeParameters = true;
  bool Named = below(R, 2);
  std::vector<std::string> Types;
  for (unsigned I = 0; I != Count; ++I)
    Types.push_back((Named ? "a" + utostr(I) + ": " : "") + randomType(R));
  for (;;) {
    auto S = Signature::parse(join(Types, ", "), Options);
    if (S)
      return std::move(*S);
    consumeError(S.takeError());
    Types.resize(Types.size() * 3 / 4);
  }
}

/// The arguments of one launch: each slot's bytes.
using Bytes = std::vector<std::vector<uint8_t>>;

bool isBool(const Slot &S) {
  return S.Kind == ParamKind::I1 || S.Kind == ParamKind::U1;
}
bool isByAddress(const Slot &S) {
  return S.Kind == ParamKind::Struct || S.Kind == ParamKind::TensorMap;
}

Bytes randomBytes(Random &R, ArrayRef<Slot> Slots) {
  Bytes B;
  for (const Slot &S : Slots) {
    std::vector<uint8_t> V(S.Size);
    for (uint8_t &Byte : V)
      Byte = isBool(S) ? below(R, 2) : R();
    B.push_back(std::move(V));
  }
  return B;
}

std::vector<const void *> addresses(const Bytes &B) {
  std::vector<const void *> A;
  for (const std::vector<uint8_t> &V : B)
    A.push_back(V.data());
  return A;
}

KernelOptions randomOptions(Random &R) {
  KernelOptions O;
  O.Block[0] = 1 + below(R, 64);
  O.Block[1] = below(R, 5); // 0 counts as 1
  O.Block[2] = 1 + below(R, 3);
  O.Shared = below(R, 2) ? below(R, 232448) : 0;
  if (below(R, 2))
    O.Attributes.push_back(intAttribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -1));
  if (below(R, 2))
    O.Attributes.push_back(
        intAttribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1));
  if (below(R, 3) == 0)
    O.Attributes.push_back(clusterAttribute(2, 1, 1));
  return O;
}

//===----------------------------------------------------------------------===//
// Every way to launch
//===----------------------------------------------------------------------===//

struct Way {
  const char *Name;
  EntryKind Kind;
  bool Compiled;
};
constexpr Way Ways[] = {{"compiled c", EntryKind::C, true},
                        {"compiled packed", EntryKind::Packed, true},
                        {"interpreted c", EntryKind::C, false},
                        {"interpreted packed", EntryKind::Packed, false}};

/// One signature with its kernel and entries.
class Subject {
public:
  Subject(Random &R, Signature TheSignature)
      : R(R), Sig(std::move(TheSignature)),
        K(makeKernel(Sig, randomOptions(R))) {
    for (const Way &W : Ways) {
      if (!W.Compiled) {
        Entries.push_back(Launcher::interpretedEntry(W.Kind));
        continue;
      }
      Launchers.push_back(valueOf(K->launcher(W.Kind)));
      EXPECT_NE(Launchers.back()->origin(), Origin::Interpreted);
      Entries.push_back(Launchers.back()->entry());
    }
  }

  ArrayRef<Slot> slots() const { return Sig.abi().slots(); }

  int call(const Way &W, const CallHead &Head,
           ArrayRef<const void *> Arguments) {
    void *Entry = Entries[&W - Ways];
    uint8_t Noise = R();
    UpperBits Upper = below(R, 2) ? UpperBits::Noise : UpperBits::Extended;
    poisonStack(Noise);
    if (W.Kind == EntryKind::C)
      return callC(Entry, Head, slots(), Arguments, Upper);
    return reinterpret_cast<PackedEntry>(Entry)(Head.Kernel, Head.Grid[0],
                                                Head.Grid[1], Head.Grid[2],
                                                Head.Stream, Arguments.data());
  }

  Random &R;
  Signature Sig;
  KernelRef K;
  std::vector<LauncherRef> Launchers;
  std::vector<void *> Entries;
};

class DifferentialTest : public RecordingTest {
protected:
  CallHead randomHead(Random &R, const Subject &S) {
    CallHead Head = {&S.K->data(), {}, nullptr};
    Head.Grid[0] = 2 * (1 + int64_t(below(R, 1 << 30) >> below(R, 30)));
    Head.Grid[1] = 1 + (below(R, 65535) >> below(R, 16));
    Head.Grid[2] = 1 + (below(R, 65535) >> below(R, 16));
    Head.Grid[0] = std::min<int64_t>(Head.Grid[0], INT32_MAX - 1);
    Head.Stream = Streams[below(R, std::size(Streams))];
    return Head;
  }

  void SetUp() override {
    RecordingTest::SetUp();
    ASSERT_EQ(recording().cuStreamCreate(&Streams[3], 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(recording().cuStreamDestroy(Streams[3]), CUDA_SUCCESS);
    RecordingTest::TearDown();
  }

  void checkLaunch(Subject &S);
  void checkFault(Subject &S);
  void checkRandom(unsigned Cases, unsigned MaxCount, unsigned Seed);

  CUstream Streams[4] = {nullptr, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD,
                         nullptr};
};

/// What the driver gets is what the caller meant, whichever way it went.
void DifferentialTest::checkLaunch(Subject &S) {
  Bytes Meant = randomBytes(S.R, S.slots());
  CallHead Head = randomHead(S.R, S);
  const KernelOptions &O = S.K->options();
  for (const Way &W : Ways) {
    SCOPED_TRACE(W.Name);
    int Status = S.call(W, Head, addresses(Meant));
    ASSERT_EQ(Status, 0) << lastError().Message;
    RecordedLaunch L = onlyLaunch();
    EXPECT_EQ(L.Kernel, "k");
    for (unsigned I = 0; I != 3; ++I) {
      EXPECT_EQ(L.Grid[I], Head.Grid[I]);
      EXPECT_EQ(L.Block[I], std::max(O.Block[I], 1u));
    }
    EXPECT_EQ(L.Shared, O.Shared);
    EXPECT_EQ(L.Stream, reinterpret_cast<uintptr_t>(Head.Stream));
    EXPECT_EQ(L.Context, reinterpret_cast<uintptr_t>(Primary[0]));
    EXPECT_EQ(L.Device, 0);
    ASSERT_EQ(L.Attributes.size(), O.Attributes.size());
    for (unsigned I = 0; I != L.Attributes.size(); ++I) {
      EXPECT_EQ(L.Attributes[I].Id, O.Attributes[I].id);
      EXPECT_EQ(bytesOf(L.Attributes[I].Value), bytesOf(O.Attributes[I].value));
    }
    Bytes Passed = Meant;
    Passed.resize(S.Sig.slots().size(), std::vector<uint8_t>(8, 0));
    ASSERT_EQ(L.Parameters, Passed);
  }
}

/// All ways refuse a wrong argument with the same words, and launch nothing.
void DifferentialTest::checkFault(Subject &S) {
  Bytes Good = randomBytes(S.R, S.slots());
  std::vector<unsigned> Bools, Structs;
  for (unsigned I = 0; I != S.slots().size(); ++I) {
    if (isBool(S.slots()[I]))
      Bools.push_back(I);
    if (isByAddress(S.slots()[I]))
      Structs.push_back(I);
  }
  CallHead Head = randomHead(S.R, S);
  Head.Grid[below(S.R, 3)] = int64_t(below(S.R, 3)) - 1; // comes second
  auto Check = [&](ArrayRef<const void *> Arguments, unsigned Slot, bool InC) {
    std::string Message;
    for (const Way &W : Ways) {
      if (W.Kind == EntryKind::C && !InC)
        continue;
      SCOPED_TRACE(W.Name);
      int Result = S.call(W, Head, Arguments);
      ErrorDetail D = lastError();
      ASSERT_EQ(Result, int(Status::ArgumentValue));
      EXPECT_EQ(D.Code, Status::ArgumentValue);
      EXPECT_EQ(D.Argument, Slot);
      EXPECT_THAT(D.Message, testing::StartsWith("kernel 'k', " +
                                                 describeSlot(S.Sig, Slot)));
      if (Message.empty())
        Message = D.Message;
      EXPECT_EQ(D.Message, Message);
      EXPECT_EQ(countLaunches(), 0u);
    }
  };
  if (!Bools.empty()) {
    Bytes Bad = Good;
    unsigned First = Bools[below(S.R, Bools.size())];
    Bad[First][0] = below(S.R, 2) ? 2 : 2 + below(S.R, 254);
    Bad[Bools.back()][0] = 0xFF; // only the first is told
    Check(addresses(Bad), First, /*InC=*/true);
  }
  if (!Structs.empty()) {
    unsigned First = Structs[below(S.R, Structs.size())];
    std::vector<const void *> Bad = addresses(Good);
    Bad[First] = Bad[Structs.back()] = nullptr;
    Check(Bad, First, /*InC=*/true);
  }
  if (!Good.empty()) {
    unsigned First = below(S.R, Good.size());
    std::vector<const void *> Bad = addresses(Good);
    Bad[First] = Bad.back() = nullptr;
    Check(Bad, First, /*InC=*/false);
    // A packed call's addresses are checked before anything is read there.
    if (!Bools.empty() && Bools.front() != First) {
      Bytes Both = Good;
      Both[Bools.front()][0] = 77;
      Bad = addresses(Both);
      Bad[First] = nullptr;
      Check(Bad, First, /*InC=*/false);
    }
  }
}

void DifferentialTest::checkRandom(unsigned Cases, unsigned MaxCount,
                                   unsigned Seed) {
  for (unsigned I = 0; I != Cases && !HasFailure(); ++I) {
    Random R(Seed * 1000 + I);
    Subject S(R, randomSignature(R, below(R, MaxCount + 1)));
    SCOPED_TRACE("seed " + utostr(Seed * 1000 + I) + ": " + S.Sig.str());
    checkLaunch(S);
    checkFault(S);
  }
}

TEST_F(DifferentialTest, FewParameters) { checkRandom(250, 6, 1); }
TEST_F(DifferentialTest, SomeParameters) { checkRandom(120, 30, 2); }
TEST_F(DifferentialTest, ManyParameters) { checkRandom(16, 200, 3); }
TEST_F(DifferentialTest, AThousandParameters) { checkRandom(4, 1000, 4); }

std::string repeated(StringRef Text, unsigned Times) {
  return join(std::vector<StringRef>(Times, Text), ", ");
}

TEST_F(DifferentialTest, CornersOfTheCallingConvention) {
  std::vector<std::string> Texts = {"", "constexpr", "()", "((), (constexpr))"};
  // Alone, in the last register, in the first stack slot, and beyond.
  for (const char *Type : {"i1",
                           "i8",
                           "i16",
                           "i32",
                           "i64",
                           "u1",
                           "u8",
                           "u16",
                           "u32",
                           "u64",
                           "fp16",
                           "bf16",
                           "fp32",
                           "fp64",
                           "*fp32",
                           "struct<3,1>",
                           "struct<64,8>",
                           "struct<65,16>",
                           "nvTmaDesc<64>",
                           "nvTmaDesc<128>"})
    for (unsigned Count : {1, 2, 3, 8, 9, 20})
      Texts.push_back(repeated(Type, Count));
  Texts.push_back(repeated("fp32, fp64, i8", 12));
  // The limits: of bytes with one, with few and with many parameters.
  Texts.push_back("struct<32764,4>");
  Texts.push_back(repeated("struct<4095,1>", 8));
  Texts.push_back(repeated("i8", 1000));
  Texts.push_back(repeated("fp32", 1000));
  Texts.push_back(repeated("i64", 4095));
  Random R(5);
  for (const std::string &Text : Texts) {
    SCOPED_TRACE(StringRef(Text).take_front(60).str());
    Subject S(R, parseScratch(Text, 0));
    checkLaunch(S);
    checkFault(S);
    if (HasFailure())
      break;
  }
}

} // namespace
