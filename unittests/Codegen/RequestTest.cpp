//===- RequestTest.cpp - The one question to the code generator -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <thread>

using namespace llvm;
using namespace launchjit;

namespace {

StubRequest request(StubOutput Output) {
  StubRequest R;
  R.ABI = "ppi32";
  R.Symbol = "f";
  R.Output = Output;
  return R;
}

std::string errorOf(const StubRequest &R) {
  auto Result = compileStub(R);
  return Result ? "" : takeDetail(Result.takeError()).Message;
}

TEST(Request, EveryOutput) {
  auto IR = compileStub(request(StubOutput::IR));
  ASSERT_TRUE(bool(IR));
  EXPECT_NE(StringRef(IR->data(), IR->size())
                .find("define i32 @f(ptr %0, i64 %1, i64 %2, i64 %3, ptr %4, "
                      "i64 %5, i64 %6, i32 %7)"),
            StringRef::npos)
      << StringRef(IR->data(), IR->size()).str();
  auto Assembly = compileStub(request(StubOutput::Assembly));
  ASSERT_TRUE(bool(Assembly));
  EXPECT_NE(StringRef(Assembly->data(), Assembly->size()).find("f:"),
            StringRef::npos);
  auto Bitcode = compileStub(request(StubOutput::Bitcode));
  ASSERT_TRUE(bool(Bitcode));
  LLVMContext Context;
  auto M = parseBitcodeFile(
      MemoryBufferRef(StringRef(Bitcode->data(), Bitcode->size()), "b"),
      Context);
  ASSERT_TRUE(bool(M)) << toString(M.takeError());
  EXPECT_TRUE((*M)->getFunction("f"));
  auto Object = compileStub(request(StubOutput::Object));
  ASSERT_TRUE(bool(Object));
  EXPECT_TRUE(StringRef(Object->data(), Object->size())
                  .starts_with("\x7f"
                               "ELF"));
}

TEST(Request, BadRequestsSayWhatIsAllowed) {
  StubRequest R = request(StubOutput::Object);
  R.Contract = "nobody";
  EXPECT_EQ(errorOf(R), "unknown contract 'nobody'; known are launchjit");
  R = request(StubOutput::Object);
  R.ABI = "ppx";
  EXPECT_NE(errorOf(R).find("byte 2"), std::string::npos) << errorOf(R);
  R = request(StubOutput::Object);
  R.Triple = "sparc-unknown-linux-gnu";
  EXPECT_NE(errorOf(R).find("no code generator for 'sparc-unknown-linux-gnu'"),
            std::string::npos)
      << errorOf(R);
}

TEST(Request, EntryNames) {
  for (EntryKind K : {EntryKind::C, EntryKind::Packed, EntryKind::Python}) {
    auto Parsed = parseEntry(entryName(K));
    ASSERT_TRUE(bool(Parsed));
    EXPECT_EQ(*Parsed, K);
  }
  auto Bad = parseEntry("java");
  ASSERT_FALSE(bool(Bad));
  EXPECT_EQ(takeDetail(Bad.takeError()).Message,
            "unknown entry kind 'java'; known are c, packed, python");
}

TEST(Request, ThreadsCompileTheSameBytes) {
  auto Expected = compileStub(request(StubOutput::Object));
  ASSERT_TRUE(bool(Expected));
  std::vector<std::thread> Threads;
  std::atomic<unsigned> Right{0};
  for (unsigned I = 0; I != 8; ++I)
    Threads.emplace_back([&] {
      for (unsigned J = 0; J != 50; ++J) {
        auto Object = compileStub(request(StubOutput::Object));
        Right += Object && *Object == *Expected;
        if (!Object)
          consumeError(Object.takeError());
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Right, 8u * 50u);
}

} // namespace
