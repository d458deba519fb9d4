//===- CodeMemoryTest.cpp - Executable memory for many small stubs --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/CodeMemory.h"
#include "launchjit/Codegen/Request.h"
#include "launchjit/JIT/Linker.h"
#include "launchjit/StubABI.h"
#include "launchjit/Support/Error.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

namespace {

/// A kernel whose launch returns the first i32 of the buffer.
int firstInt(const StubKernel *, int64_t, int64_t, int64_t, void *,
             void *Buffer) {
  int V;
  std::memcpy(&V, Buffer, sizeof V);
  return V;
}

struct Fixture {
  StubTable Table = {};
  StubKernel Kernel{&Table};
  Linker L;
  unsigned Made = 0;

  explicit Fixture(size_t SlabBytes = CodeMemory::DefaultSlabBytes)
      : L(SlabBytes) {
    Table.Launch = firstInt;
  }

  Linker::Linked link(StringRef ABI = "i32") {
    std::string Symbol = "f" + std::to_string(Made++);
    StubRequest R;
    R.ABI = ABI;
    R.Symbol = Symbol;
    return cantFail(L.link(cantFail(compileStub(R)), Symbol));
  }

  int call(void *Entry, int V) {
    return reinterpret_cast<int (*)(const StubKernel *, int64_t, int64_t,
                                    int64_t, void *, int)>(Entry)(
        &Kernel, 1, 1, 1, nullptr, V);
  }
};

size_t numMappings() {
  std::ifstream Maps("/proc/self/maps");
  size_t N = 0;
  for (std::string Line; std::getline(Maps, Line);)
    N += Line.find("launchjit (deleted)") != std::string::npos;
  return N;
}

TEST(CodeMemory, IsNeverWritableAndExecutable) {
  Fixture F;
  Linker::Linked Stub = F.link();
  std::ifstream Maps("/proc/self/maps");
  unsigned Writable = 0, Executable = 0;
  for (std::string Line; std::getline(Maps, Line);) {
    if (Line.find("memfd:launchjit") == std::string::npos)
      continue;
    bool W = Line.find(" rw-s ") != std::string::npos;
    bool X = Line.find(" r-xs ") != std::string::npos;
    EXPECT_TRUE(W != X) << Line;
    Writable += W;
    Executable += X;
  }
  EXPECT_GT(Writable, 0u);
  EXPECT_GT(Executable, 0u);
  F.L.unlink(std::move(Stub.Code));
}

TEST(CodeMemory, ManyStubsCostNoMappingsEach) {
  Fixture F;
  std::vector<Linker::Linked> All;
  All.push_back(F.link());
  size_t Before = numMappings();
  for (int I = 0; I != 500; ++I)
    All.push_back(F.link());
  EXPECT_EQ(numMappings(), Before);
  for (int I = 0; I != 500; ++I)
    EXPECT_EQ(F.call(All[I].Entry, I), I);
  for (auto &One : All)
    F.L.unlink(std::move(One.Code));
  EXPECT_EQ(F.L.usage().Bytes, 0u);
}

TEST(CodeMemory, FreedRoomIsUsedAgainAndMerges) {
  Fixture F(/*SlabBytes=*/8192);
  // Several slabs' worth, freed in an order that leaves holes first.
  std::vector<Linker::Linked> All;
  while (F.L.usage().Slabs < 3)
    All.push_back(F.link("s12a4u1"));
  size_t Bytes = F.L.usage().Bytes;
  for (unsigned Step : {2u, 1u})
    for (size_t I = 0; I < All.size(); I += Step)
      if (All[I].Code)
        F.L.unlink(std::move(All[I].Code));
  EXPECT_EQ(F.L.usage().Bytes, 0u);
  EXPECT_LE(F.L.usage().Slabs, 1u);
  std::vector<Linker::Linked> Again;
  for (size_t I = 0; I != All.size(); ++I)
    Again.push_back(F.link("s12a4u1"));
  EXPECT_EQ(F.L.usage().Bytes, Bytes);
  EXPECT_LE(F.L.usage().Slabs, 3u);
  for (auto &One : Again)
    F.L.unlink(std::move(One.Code));
}

TEST(CodeMemory, ForkLeavesEachSideItsOwnCode) {
  Fixture F;
  auto Before = F.link();
  int ToChild[2], ToParent[2];
  ASSERT_EQ(pipe(ToChild), 0);
  ASSERT_EQ(pipe(ToParent), 0);
  pid_t Child = fork();
  if (Child == 0) {
    // Free what both have, then make new ones where that was.
    void *Entry = Before.Entry;
    bool Right = F.call(Entry, 41) == 41;
    F.L.unlink(std::move(Before.Code));
    std::vector<Linker::Linked> Own;
    for (int I = 0; I != 64; ++I)
      Own.push_back(F.link("i32i32"));
    for (int I = 0; I != 64; ++I)
      Right &= F.call(Own[I].Entry, I) == I;
    char C = Right;
    (void)!write(ToParent[1], &C, 1);
    (void)!read(ToChild[0], &C, 1);
    for (int I = 0; I != 64; ++I) // after the parent made its own
      Right &= F.call(Own[I].Entry, I) == I;
    _exit(Right ? 0 : 1);
  }
  char C = 0;
  ASSERT_EQ(read(ToParent[0], &C, 1), 1);
  EXPECT_EQ(C, 1);
  EXPECT_EQ(F.call(Before.Entry, 42), 42); // the child freed its own view
  std::vector<Linker::Linked> Own;
  for (int I = 0; I != 64; ++I)
    Own.push_back(F.link("i32i64"));
  for (int I = 0; I != 64; ++I)
    EXPECT_EQ(F.call(Own[I].Entry, I), I);
  EXPECT_EQ(F.call(Before.Entry, 43), 43);
  ASSERT_EQ(write(ToChild[1], &C, 1), 1);
  int Exit = 0;
  waitpid(Child, &Exit, 0);
  EXPECT_EQ(Exit, 0);
  F.L.unlink(std::move(Before.Code));
  for (auto &One : Own)
    F.L.unlink(std::move(One.Code));
  EXPECT_EQ(F.L.usage().Bytes, 0u);
  for (int FD : {ToChild[0], ToChild[1], ToParent[0], ToParent[1]})
    close(FD);
}

TEST(CodeMemory, AFileSizeLimitIsARefusal) {
  pid_t Child = fork();
  if (Child == 0) {
    rlimit Limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &Limit); // exceeding it is SIGXFSZ
    ErrorDetail D = takeDetail(CodeMemory::check());
    _exit(D.Code == Status::Unsupported &&
                  D.Message.find("file size limit") != std::string::npos
              ? 0
              : 1);
  }
  int Exit = 1;
  waitpid(Child, &Exit, 0);
  EXPECT_EQ(Exit, 0);
}

TEST(CodeMemory, CheckSaysYesHere) {
  Error E = CodeMemory::check();
  EXPECT_FALSE(bool(E)) << toString(std::move(E));
}

} // namespace
