//===- LibraryTest.cpp - What the shared libraries show and need ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstdio>
#include <set>
#include <string>

using namespace llvm;
using namespace llvm::object;
using testing::IsEmpty;

static constexpr bool Sanitized = sizeof LAUNCHJIT_TEST_SANITIZER > 1;

namespace {

struct SharedLibrary {
  std::set<std::string> Exports;  ///< "lj_version@LAUNCHJIT_0.1"
  std::set<std::string> Needed;   ///< DT_NEEDED.
  std::set<std::string> Versions; ///< Required, as "GLIBC_2.34".
  std::string Name;               ///< DT_SONAME.
  bool NoDelete = false;

  explicit SharedLibrary(StringRef Path) {
    auto Binary = ObjectFile::createObjectFile(Path);
    if (!Binary) {
      ADD_FAILURE() << toString(Binary.takeError());
      return;
    }
    const auto &Obj = cast<ELF64LEObjectFile>(*Binary->getBinary());
    std::vector<VersionEntry> SymbolVersions =
        cantFail(Obj.readDynsymVersions());
    size_t Index = 0;
    for (const ELFSymbolRef &S : Obj.getDynamicSymbolIterators()) {
      const VersionEntry &V = SymbolVersions[Index++];
      if (cantFail(S.getFlags()) & SymbolRef::SF_Undefined)
        Versions.insert(V.Name);
      else if (S.getBinding() != ELF::STB_LOCAL &&
               // GNU's linker has a symbol of each version's own.
               cantFail(S.getName()) != StringRef(V.Name))
        Exports.insert((cantFail(S.getName()) + "@" + V.Name).str());
    }
    StringRef Strings;
    for (const SectionRef &S : Obj.sections())
      if (cantFail(S.getName()) == ".dynstr")
        Strings = cantFail(S.getContents());
    for (const auto &Entry : cantFail(Obj.getELFFile().dynamicEntries()))
      if (Entry.getTag() == ELF::DT_NEEDED)
        Needed.insert(Strings.data() + Entry.getVal());
      else if (Entry.getTag() == ELF::DT_SONAME)
        Name = Strings.data() + Entry.getVal();
      else if (Entry.getTag() == ELF::DT_FLAGS_1)
        NoDelete = Entry.getVal() & ELF::DF_1_NODELETE;
  }
};

} // namespace

/// Every function that the headers of the C interface declare.
static std::set<std::string> declaredFunctions() {
  std::set<std::string> Names;
  Regex Declaration("LJ_API[^(;]*[ *](lj_[a-z_0-9]+)\\(");
  std::error_code EC;
  for (sys::fs::directory_iterator I(LAUNCHJIT_TEST_INCLUDE "/launchjit-c", EC),
       End;
       I != End && !EC; I.increment(EC)) {
    auto Buffer = MemoryBuffer::getFile(I->path());
    StringRef Text = Buffer ? (*Buffer)->getBuffer() : "";
    SmallVector<StringRef> Groups;
    while (Declaration.match(Text, &Groups)) {
      Names.insert(Groups[1].str());
      Text = Text.drop_front(Groups[0].end() - Text.begin());
    }
  }
  return Names;
}

static const char *const CLibrary = "lib(c|m|dl|pthread)\\.so\\..*|ld-linux-.*";

TEST(CAPILibrary, ExportsTheInterfaceAlone) {
  if (Sanitized)
    GTEST_SKIP() << "sanitizers add their own";
  std::set<std::string> Expected = {"__jit_debug_descriptor@LAUNCHJIT_0.1",
                                    "__jit_debug_register_code@LAUNCHJIT_0.1"};
  for (const std::string &Name : declaredFunctions())
    Expected.insert(Name + "@LAUNCHJIT_0.1");
  EXPECT_GT(Expected.size(), 70u);
  EXPECT_EQ(SharedLibrary(LAUNCHJIT_TEST_LIBRARY).Exports, Expected);
  EXPECT_THAT(
      SharedLibrary(LAUNCHJIT_TEST_CODEGEN_LIBRARY).Exports,
      testing::ElementsAre("launchjit_codegen@LAUNCHJIT_CODEGEN",
                           "launchjit_codegen_build_id@LAUNCHJIT_CODEGEN"));
}

TEST(CAPILibrary, NeedsTheCLibraryAlone) {
  if (Sanitized)
    GTEST_SKIP() << "sanitizers add their own";
  for (const char *Path :
       {LAUNCHJIT_TEST_LIBRARY, LAUNCHJIT_TEST_CODEGEN_LIBRARY}) {
    SharedLibrary Library(Path);
    EXPECT_THAT(Library.Needed, testing::Each(testing::MatchesRegex(CLibrary)))
        << Path;
    // Packed relative relocations would ask for glibc 2.36.
    EXPECT_EQ(Library.Versions.count("GLIBC_ABI_DT_RELR"), 0u) << Path;
    EXPECT_TRUE(Library.NoDelete) << Path;
  }
  EXPECT_EQ(SharedLibrary(LAUNCHJIT_TEST_LIBRARY).Name, "liblaunchjit.so.0");
}

// Loading a library of ours runs no code of ours, and leaving the process
// destroys nothing that another thread may still use. A trace has its last
// events written then, and destroys nothing either.
TEST(CAPILibrary, HasNoStaticConstructors) {
  if (Sanitized)
    GTEST_SKIP() << "sanitizers add constructors";
  std::vector<std::string> Found;
  unsigned NumObjects = 0;
  std::error_code EC;
  for (sys::fs::directory_iterator I(LAUNCHJIT_TEST_ARCHIVES, EC), End;
       I != End && !EC; I.increment(EC)) {
    StringRef File = sys::path::filename(I->path());
    if (!File.starts_with("libLaunchJIT") || !File.ends_with(".a"))
      continue;
    auto Buffer = MemoryBuffer::getFile(I->path());
    ASSERT_TRUE(bool(Buffer)) << I->path();
    auto Members = Archive::create(**Buffer);
    ASSERT_TRUE(bool(Members)) << toString(Members.takeError());
    Error Iteration = Error::success();
    for (const Archive::Child &Child : (*Members)->children(Iteration)) {
      auto Binary = cantFail(Child.getAsBinary());
      const auto &Obj = cast<ELFObjectFileBase>(*Binary);
      std::string Where = (File + "(" + cantFail(Child.getName()) + ")").str();
      ++NumObjects;
      for (const SectionRef &S : Obj.sections()) {
        StringRef Name = cantFail(S.getName());
        if (Regex("^\\.((pre)?init_array|fini_array|ctors|dtors)").match(Name))
          Found.push_back(Where + " has " + Name.str());
      }
      for (const ELFSymbolRef &S : Obj.symbols())
        if (cantFail(S.getName()) == "__cxa_atexit" ||
            (cantFail(S.getName()) == "atexit" &&
             !StringRef(Where).contains("(Trace.cpp")))
          Found.push_back(Where + " calls atexit");
    }
    ASSERT_FALSE(bool(Iteration)) << toString(std::move(Iteration));
  }
  EXPECT_THAT(Found, IsEmpty());
  EXPECT_GT(NumObjects, 20u);
}

static void runProgram(const char *Environment) {
  std::string Command =
      std::string(Environment) + " '" LAUNCHJIT_TEST_PROGRAM "' 2>&1";
  FILE *Pipe = popen(Command.c_str(), "r");
  ASSERT_NE(Pipe, nullptr);
  std::string Output;
  char Chunk[4096];
  while (size_t N = std::fread(Chunk, 1, sizeof Chunk, Pipe))
    Output.append(Chunk, N);
  EXPECT_EQ(pclose(Pipe), 0) << Command << "\n" << Output;
}

TEST(CAPILibrary, ServesACProgram) {
  runProgram("LAUNCHJIT_DRIVER=recording LAUNCHJIT_JIT=on");
}

TEST(CAPILibrary, ServesACProgramInterpreted) {
  runProgram("LAUNCHJIT_DRIVER=recording LAUNCHJIT_JIT=off");
}

// Without a driver the program expects the error that says so.
TEST(CAPILibrary, RefusesToLaunchWithoutADriver) {
  runProgram("LAUNCHJIT_DRIVER=cuda LAUNCHJIT_LIBCUDA=/nonexistent/libcuda.so");
}
