//===- LauncherTest.cpp - A callable entry point for an ABI ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Launcher.h"
#include "TestHelpers.h"
#include <cstdlib>
#include <thread>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

namespace {

ABI abi(StringRef Text) { return cantFail(ABI::parse(Text)); }

/// Sets a variable while it lives.
class ScopedEnvironment {
public:
  ScopedEnvironment(const char *Name, const char *Value) : Name(Name) {
    if (const char *Old = std::getenv(Name))
      Before = Old;
    setenv(Name, Value, /*overwrite=*/1);
  }
  ~ScopedEnvironment() {
    if (Before)
      setenv(Name, Before->c_str(), 1);
    else
      unsetenv(Name);
  }

private:
  const char *Name;
  std::optional<std::string> Before;
};

TEST(Launcher, IsCompiledOnceAndThenInMemory) {
  ABI A = abi("u16u16fp64u8s7a1");
  LauncherRef First = valueOf(Launcher::get(A, EntryKind::C));
  EXPECT_EQ(First->origin(), Origin::Compiled);
  EXPECT_EQ(First->kind(), EntryKind::C);
  ASSERT_TRUE(First->stub());
  EXPECT_EQ(First->entry(), First->stub()->entry());
  EXPECT_NE(First->entry(), Launcher::interpretedEntry(EntryKind::C));
  EXPECT_TRUE(First->key() == Key::get(A, EntryKind::C, "launchjit"));

  LauncherRef Second = valueOf(Launcher::get(A, EntryKind::C));
  EXPECT_EQ(Second->origin(), Origin::Memory);
  EXPECT_EQ(Second->entry(), First->entry());
  LauncherRef Packed = valueOf(Launcher::get(A, EntryKind::Packed));
  EXPECT_EQ(Packed->origin(), Origin::Compiled);
  EXPECT_NE(Packed->entry(), First->entry());
}

TEST(Launcher, TuplesAndConstexprShareTheFlatCode) {
  LauncherRef Flat = valueOf(Launcher::get(abi("pi32fp32u16"), EntryKind::C));
  for (const char *Text : {"p(i32fp32)u16", "_pi32_fp32u16_",
                           "((p))i32(fp32"
                           "(u16))"})
    EXPECT_EQ(valueOf(Launcher::get(abi(Text), EntryKind::C))->entry(),
              Flat->entry());
  EXPECT_NE(valueOf(Launcher::get(abi("pi32fp32u16+g"), EntryKind::C))->entry(),
            Flat->entry());
}

TEST(Launcher, UnknownContractsAreRefused) {
  ErrorDetail D = errorOf(Launcher::get(abi("p"), EntryKind::C, "triton-0"));
  EXPECT_EQ(D.Code, Status::InvalidArgument);
  EXPECT_EQ(D.Message, "unknown contract 'triton-0'; known are launchjit");
}

TEST(Launcher, JITOffMeansInterpreted) {
  ABI A = abi("u8u8fp64pp");
  LauncherRef Compiled = valueOf(Launcher::get(A, EntryKind::C));
  ScopedEnvironment Off("LAUNCHJIT_JIT", "off");
  for (EntryKind Kind : {EntryKind::C, EntryKind::Packed}) {
    LauncherRef L = valueOf(Launcher::get(A, Kind));
    EXPECT_EQ(L->origin(), Origin::Interpreted);
    EXPECT_EQ(L->entry(), Launcher::interpretedEntry(Kind));
    EXPECT_EQ(L->stub(), nullptr);
    EXPECT_TRUE(L->key() == Key::get(A, Kind, "launchjit"));
  }
  // What is alive stays what it was.
  EXPECT_EQ(Compiled->origin(), Origin::Compiled);
}

TEST(Launcher, JITIsOnOrOff) {
  {
    ScopedEnvironment On("LAUNCHJIT_JIT", "on");
    EXPECT_NE(valueOf(Launcher::get(abi("p"), EntryKind::C))->origin(),
              Origin::Interpreted);
  }
  ScopedEnvironment Wrong("LAUNCHJIT_JIT", "maybe");
  ErrorDetail D = errorOf(Launcher::get(abi("p"), EntryKind::C));
  EXPECT_EQ(D.Code, Status::InvalidArgument);
  EXPECT_EQ(D.Message, "LAUNCHJIT_JIT is 'maybe'; allowed are on and off");
}

TEST(Launcher, PythonOfManyParametersIsInterpretedWhereThatIsPossible) {
  void *Before = Launcher::interpretedEntry(EntryKind::Python);
  int Entry = 0;
  std::string Limit, Above;
  for (unsigned I = 0; I != Launcher::MaxCompiledPython; ++I)
    Limit += "i32";
  Above = Limit + "i32";
  setInterpretedPython(&Entry);
  LauncherRef Small = valueOf(Launcher::get(abi(Limit), EntryKind::Python));
  EXPECT_EQ(Small->origin(), Origin::Compiled);
  EXPECT_NE(Small->entry(), &Entry);
  LauncherRef Large = valueOf(Launcher::get(abi(Above), EntryKind::Python));
  EXPECT_EQ(Large->origin(), Origin::Interpreted);
  EXPECT_EQ(Large->entry(), &Entry);

  setInterpretedPython(nullptr);
  ErrorDetail D = errorOf(Launcher::get(abi(Above), EntryKind::Python));
  EXPECT_EQ(D.Code, Status::Unsupported);
  EXPECT_EQ(D.Message, "there is no python entry outside of Python: import the "
                       "launchjit package");
  setInterpretedPython(Before);
}

TEST(Launcher, EmitsEveryOutput) {
  ABI A = abi("pi32");
  std::string Symbol = stubSymbol(EntryKind::Packed,
                                  Key::get(A, EntryKind::Packed, "launchjit"));
  for (StubOutput Output : {StubOutput::Object, StubOutput::Assembly,
                            StubOutput::IR, StubOutput::Bitcode}) {
    auto Bytes = emitStub(A, EntryKind::Packed, "launchjit", Output);
    ASSERT_TRUE(bool(Bytes)) << toString(Bytes.takeError());
    EXPECT_TRUE(StringRef(Bytes->data(), Bytes->size()).contains(Symbol));
  }
  EXPECT_EQ(
      errorOf(emitStub(A, EntryKind::Packed, "none", StubOutput::IR)).Code,
      Status::InvalidArgument);
}

// Not Unsupported, which a missing code generator is.
TEST(Launcher, EmitsNothingForAKeyOfAnotherBuild) {
  KeyFields Fields =
      KeyFields::get(abi("pi32"), EntryKind::Packed, "launchjit");
  EXPECT_TRUE(bool(emitStub(Fields.text(), StubOutput::Object)));
  Fields.LLVM = "1.0.0";
  ErrorDetail D = errorOf(emitStub(Fields.text(), StubOutput::Object));
  EXPECT_EQ(D.Code, Status::InvalidArgument);
  EXPECT_TRUE(StringRef(D.Message).contains("its key has llvm=1.0.0"));
  EXPECT_EQ(errorOf(emitStub("no key", StubOutput::Object)).Code,
            Status::InvalidArgument);
}

class LauncherThreads : public RecordingTest {};

// Arguments are on the caller's stack: one launcher and one kernel serve any
// number of threads.
TEST_F(LauncherThreads, SixteenWithOneLauncher) {
  KernelRef K = makeKernel("id: u64, i8, again: u64, struct<24,8>, last: u64");
  using Entry = int (*)(const StubKernel *, int64_t, int64_t, int64_t, CUstream,
                        uint64_t, int8_t, uint64_t, const void *, uint64_t);
  constexpr unsigned NumThreads = 16, NumLaunches = 500;
  std::atomic<unsigned> Failed{0};
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != NumThreads; ++T)
    Threads.emplace_back([&, T] {
      // A fresh thread has no current context; its stream is the kernel's
      // device's.
      auto L = K->launcher(EntryKind::C);
      if (!L) {
        consumeError(L.takeError());
        ++Failed;
        return;
      }
      auto Call = reinterpret_cast<Entry>((*L)->entry());
      for (uint64_t I = 0; I != NumLaunches; ++I) {
        uint64_t Id = T * NumLaunches + I + 1;
        const uint64_t Struct[] = {Id, Id, Id};
        Failed +=
            Call(&K->data(), Id, 1, 1, nullptr, Id, 7, Id, Struct, Id) != 0;
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Failed, 0u);
  std::vector<RecordedLaunch> Launches = takeRecordedLaunches();
  EXPECT_EQ(Launches.size(), size_t(NumThreads) * NumLaunches);
  std::vector<bool> Seen(NumThreads * NumLaunches + 1);
  for (const RecordedLaunch &L : Launches) {
    uint64_t Id = L.Grid[0];
    ASSERT_LT(Id, Seen.size());
    ASSERT_FALSE(Seen[Id]);
    Seen[Id] = true;
    ASSERT_EQ(L.Context, reinterpret_cast<uintptr_t>(Primary[0]));
    const uint64_t Struct[] = {Id, Id, Id};
    ASSERT_THAT(L.Parameters, testing::ElementsAre(
                                  bytesOf(Id), bytesOf(int8_t(7)), bytesOf(Id),
                                  bytesOf(Struct), bytesOf(Id)));
  }
}

// Each thread has its own last error.
TEST_F(LauncherThreads, KeepTheirOwnErrors) {
  KernelRef K = makeKernel("i1, i1, i1, i1, i1, i1, i1, i1");
  PackedEntry Call = packedEntry(*K);
  std::atomic<unsigned> Wrong{0};
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 8; ++T)
    Threads.emplace_back([&, T] {
      if (lastLaunchError())
        ++Wrong;
      for (unsigned I = 0; I != 200; ++I) {
        uint8_t Good = 1, Bad = 2 + I;
        const void *Arguments[8];
        for (auto &A : Arguments)
          A = &Good;
        Arguments[T] = &Bad;
        Call(&K->data(), 1, 1, 1, nullptr, Arguments);
        const ErrorDetail *D = lastLaunchError();
        std::string Byte = "the byte is " + std::to_string(Bad) + ";";
        Wrong += !D || D->Argument != T ||
                 D->Message.find(Byte) == std::string::npos;
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Wrong, 0u);
  EXPECT_EQ(countLaunches(), 0u);
}

} // namespace
