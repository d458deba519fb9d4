//===- StubTest.cpp - The stubs' objects are pure, for both triples -------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Codegen/Stub.h"
#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <random>

using namespace llvm;
using namespace launchjit;

namespace {

/// What makes an object impure, one a line; empty for a pure one.
std::string impurities(StringRef Bytes, StringRef Symbol) {
  auto Object =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(Bytes, "stub"));
  if (!Object)
    return toString(Object.takeError());
  std::string Found;
  for (const object::SectionRef &S : (*Object)->sections()) {
    std::string Name = cantFail(S.getName()).str();
    if (S.relocation_begin() != S.relocation_end())
      Found += "relocations for " + Name + "\n";
    bool Allocated = object::ELFSectionRef(S).getFlags() & ELF::SHF_ALLOC;
    if (Allocated && Name != ".text" && S.getSize())
      Found += "section " + Name + "\n";
  }
  unsigned Functions = 0;
  for (const object::ELFSymbolRef S : (*Object)->symbols()) {
    std::string Name = cantFail(S.getName()).str();
    if (cantFail(S.getFlags()) & object::SymbolRef::SF_Undefined &&
        !Name.empty())
      Found += "undefined symbol " + Name + "\n";
    if (S.getBinding() != ELF::STB_GLOBAL)
      continue;
    ++Functions;
    if (Name != Symbol || S.getELFType() != ELF::STT_FUNC)
      Found += "symbol " + Name + "\n";
  }
  if (Functions != 1)
    Found += std::to_string(Functions) + " global symbols\n";
  return Found;
}

std::vector<std::string> signaturesOfInterest() {
  std::vector<std::string> ABIs = {
      "",
      "p",
      "+g",
      "+p",
      "+gp",
      "ppi32+gp",
      "_",
      "()",
      "(_)",
      "(p(i32_))fp16",
      "i1i8i16i32i64u1u8u16u32u64fp16bf16fp32fp64p",
      "s1a1",
      "s3a1",
      "s12a4",
      "s7a1i8",
      "s64a8",
      "s65a1",
      "s4000a8",
      "s32764a4",
      "t64",
      "t128",
      "t64i32i32i64i64",
      "i8t128i8t64"};
  for (unsigned N : {64u, 128u, 300u, 1000u}) {
    std::string Text;
    for (unsigned I = 0; I != N; ++I)
      Text += I % 5 == 0 ? "u1" : I % 3 == 0 ? "fp64" : "i32";
    ABIs.push_back(Text);
  }
  static const char *Tokens[] = {"i1",   "i8",   "i16",   "i32",  "i64",
                                 "u1",   "u8",   "u16",   "u32",  "u64",
                                 "fp16", "bf16", "fp32",  "fp64", "p",
                                 "_",    "t64",  "s12a4", "s5a1", "(pi8)"};
  std::mt19937 Random(1);
  for (unsigned I = 0; I != 60; ++I) {
    std::string Text;
    for (unsigned N = Random() % 40; N; --N)
      Text += Tokens[Random() % std::size(Tokens)];
    ABIs.push_back(Text + (Random() % 2 ? "+gp" : ""));
  }
  return ABIs;
}

struct Case {
  const char *Triple;
  EntryKind Entry;
};

class StubPurity : public testing::TestWithParam<Case> {
protected:
  static void SetUpTestSuite() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  }
};

TEST_P(StubPurity, ObjectsHaveNothingButTheirText) {
  for (const std::string &Text : signaturesOfInterest()) {
    SCOPED_TRACE(Text);
    StubRequest R;
    R.ABI = Text;
    R.Entry = GetParam().Entry;
    R.Triple = GetParam().Triple;
    R.Symbol = "lj_stub";
    auto Object = compileStub(R);
    ASSERT_TRUE(bool(Object)) << toString(Object.takeError());
    EXPECT_EQ(impurities(StringRef(Object->data(), Object->size()), "lj_stub"),
              "");
  }
}

TEST_P(StubPurity, AKeptPipelineMakesTheSameBytes) {
  StubRequest R;
  R.ABI = "pppppppppfp32fp32fp32fp32i32i32i32i32i32i32";
  R.Entry = GetParam().Entry;
  R.Triple = GetParam().Triple;
  R.Symbol = "lj_stub";
  auto First = compileStub(R);
  ASSERT_TRUE(bool(First));
  for (unsigned I = 0; I != 1100; ++I) { // more than one compiler's life
    auto Again = compileStub(R);
    ASSERT_TRUE(bool(Again));
    ASSERT_EQ(*First, *Again) << I;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, StubPurity,
    testing::Values(Case{"x86_64-unknown-linux-gnu", EntryKind::C},
                    Case{"x86_64-unknown-linux-gnu", EntryKind::Packed},
                    Case{"x86_64-unknown-linux-gnu", EntryKind::Python},
                    Case{"aarch64-unknown-linux-gnu", EntryKind::C},
                    Case{"aarch64-unknown-linux-gnu", EntryKind::Packed},
                    Case{"aarch64-unknown-linux-gnu", EntryKind::Python}),
    [](const testing::TestParamInfo<Case> &I) {
      return StringRef(I.param.Triple).split('-').first.str() + "_" +
             entryName(I.param.Entry).str();
    });

TEST(Stub, AHostAddsItToAModuleOfItsOwn) {
  LLVMContext Context;
  Module M("host", Context);
  auto A = ABI::parse("ppi32(u1fp16)s12a4+g");
  ASSERT_TRUE(bool(A));
  for (EntryKind K : {EntryKind::C, EntryKind::Packed, EntryKind::Python}) {
    Function *F = emitLauncher(M, *A, K, ("f_" + entryName(K)).str());
    EXPECT_EQ(F->getParent(), &M);
    EXPECT_TRUE(F->doesNotThrow());
  }
  EXPECT_FALSE(verifyModule(M, &errs()));
}

} // namespace
