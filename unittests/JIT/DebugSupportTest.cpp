//===- DebugSupportTest.cpp - Telling gdb and perf of generated code ------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/DebugSupport.h"
#include "../Rerun.h"
#include "launchjit/JIT/Engine.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;

extern "C" {
struct jit_code_entry {
  jit_code_entry *Next, *Previous;
  const char *Address;
  uint64_t Size;
};
struct jit_descriptor {
  uint32_t Version, Action;
  jit_code_entry *Relevant, *First;
};
extern jit_descriptor __jit_debug_descriptor;
}

namespace {

Engine::Found stub(Engine &E, StringRef Text) {
  return cantFail(E.getStub(cantFail(ABI::parse(Text)), EntryKind::C));
}

/// The address that a registered object has for the stub.
const void *placeOf(const jit_code_entry &Entry, StringRef Symbol) {
  auto Object = cantFail(object::ObjectFile::createELFObjectFile(
      MemoryBufferRef(StringRef(Entry.Address, Entry.Size), "stub")));
  for (const object::SymbolRef &S : Object->symbols())
    if (cantFail(S.getName()) == Symbol)
      return reinterpret_cast<const void *>(cantFail(S.getAddress()));
  return nullptr;
}

TEST(DebugSupport, GDBKnowsStubsWhileTheyLive) {
  if (!isRerun()) {
    Exited E = rerun({"LAUNCHJIT_DEBUG=gdb"});
    EXPECT_EQ(E.Status, 0) << E.Output;
    return;
  }
  const jit_descriptor &D = __jit_debug_descriptor;
  EXPECT_EQ(D.First, nullptr);
  EngineOptions Options;
  Options.MaxUnused = 0;
  Engine E(Options);
  Engine::Found A = stub(E, "pi32");
  ASSERT_NE(D.First, nullptr);
  EXPECT_EQ(placeOf(*D.First, stubSymbol(EntryKind::C, A.TheStub->key())),
            A.TheStub->entry());
  {
    Engine::Found B = stub(E, "p");
    ASSERT_NE(D.First->Next, nullptr);
    EXPECT_EQ(placeOf(*D.First, stubSymbol(EntryKind::C, B.TheStub->key())),
              B.TheStub->entry());
    stub(E, "i32"); // gone at once
    EXPECT_EQ(D.Action, 2u);
  }
  ASSERT_NE(D.First, nullptr);
  EXPECT_EQ(D.First->Next, nullptr);
  A.TheStub.reset();
  EXPECT_EQ(D.First, nullptr);
}

TEST(DebugSupport, PerfFindsADump) {
  if (isRerun()) {
    Engine E;
    Engine::Found A = stub(E, "pi32");
    std::printf("<%s %p %zu>\n",
                stubSymbol(EntryKind::C, A.TheStub->key()).c_str(),
                A.TheStub->entry(), A.TheStub->codeSize());
    return;
  }
  SmallString<128> Root;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("launchjit-test", Root));
  Exited E = rerun({"LAUNCHJIT_DEBUG=perf", ("TMPDIR=" + Root).str()});
  EXPECT_EQ(E.Status, 0) << E.Output;
  StringRef Text = E.Output;
  char Symbol[64];
  void *Address;
  size_t Size;
  size_t At = Text.find("<lj_c_");
  ASSERT_NE(At, StringRef::npos);
  ASSERT_EQ(std::sscanf(E.Output.c_str() + At, "<%63s %p %zu>", Symbol,
                        &Address, &Size),
            3);
  std::string Dump;
  std::error_code EC;
  for (sys::fs::recursive_directory_iterator I(Root, EC), End; I != End && !EC;
       I.increment(EC))
    if (sys::path::extension(I->path()) == ".dump")
      Dump = I->path();
  ASSERT_TRUE(sys::path::filename(Dump).starts_with("jit-"));
  auto Buffer = cantFail(errorOrToExpected(MemoryBuffer::getFile(Dump)));
  StringRef Bytes = Buffer->getBuffer();
  auto Word = [&](size_t Offset) {
    uint64_t W;
    std::memcpy(&W, Bytes.data() + Offset, sizeof W);
    return W;
  };
  // tools/perf/Documentation/jitdump-specification.txt: a header of 40 bytes,
  // then one JIT_CODE_LOAD of 56, the name and the code.
  ASSERT_EQ(Bytes.size(), 40 + 56 + std::strlen(Symbol) + 1 + Size);
  EXPECT_EQ(Word(0), 0x4A695444 | uint64_t(1) << 32);
  EXPECT_EQ(Word(40), uint64_t(Bytes.size() - 40) << 32);
  EXPECT_EQ(Word(64), reinterpret_cast<uintptr_t>(Address));
  EXPECT_EQ(Word(80), Size);
  EXPECT_STREQ(Bytes.data() + 96, Symbol);
  sys::fs::remove_directories(Root);
}

} // namespace
