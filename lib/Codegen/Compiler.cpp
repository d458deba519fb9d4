//===- Compiler.cpp - IR to an object, with a pipeline that is kept -------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Codegen/Request.h"
#include "launchjit/Codegen/Stub.h"
#include "launchjit/Support/Error.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace llvm;
using namespace launchjit;

#define LAUNCHJIT_INITIALIZE_(Arch)                                            \
  LLVMInitialize##Arch##TargetInfo();                                          \
  LLVMInitialize##Arch##Target();                                              \
  LLVMInitialize##Arch##TargetMC();                                            \
  LLVMInitialize##Arch##AsmPrinter();
#define LAUNCHJIT_INITIALIZE(Arch) LAUNCHJIT_INITIALIZE_(Arch)

namespace {

/// One target machine with its pass pipelines, used by one thread at a time.
/// Building a pipeline costs as much as a compile, so it is kept; an
/// LLVMContext only ever grows, so a compiler is thrown away after MaxUses.
class Compiler {
public:
  static constexpr unsigned MaxUses = 1024;

  static Expected<std::unique_ptr<Compiler>> create(StringRef TripleText);

  Expected<SmallVector<char, 0>> run(const ABI &A, const StubRequest &R);

  StringRef triple() const { return TripleText; }
  bool isWorn() const { return Uses >= MaxUses; }

private:
  std::unique_ptr<Module> createModule(const ABI &A, const StubRequest &R);
  void emit(Module &M, CodeGenFileType Type);

  std::string TripleText;
  LLVMContext Context;
  std::unique_ptr<TargetMachine> Machine;
  SmallVector<char, 0> Bytes;
  raw_svector_ostream Stream{Bytes};
  /// One for objects, one for assembly; made when first needed.
  std::unique_ptr<legacy::PassManager> Pipelines[2];
  unsigned Uses = 0;
  std::string Problem; ///< What the code generator complained of.
};

/// Compilers that no thread is using.
class Pool {
public:
  static Pool &get() {
    static Pool *P = [] {
      LAUNCHJIT_INITIALIZE(LAUNCHJIT_TARGET)
      return new Pool;
    }();
    return *P;
  }

  Expected<std::unique_ptr<Compiler>> take(StringRef Triple) {
    {
      std::lock_guard<std::mutex> Guard(Lock);
      auto It = find_if(Idle, [&](auto &C) { return C->triple() == Triple; });
      if (It != Idle.end()) {
        std::unique_ptr<Compiler> C = std::move(*It);
        Idle.erase(It);
        return C;
      }
    }
    return Compiler::create(Triple);
  }

  void give(std::unique_ptr<Compiler> C) {
    if (C->isWorn())
      return;
    std::lock_guard<std::mutex> Guard(Lock);
    Idle.push_back(std::move(C));
  }

private:
  std::mutex Lock;
  std::vector<std::unique_ptr<Compiler>> Idle;
};

} // namespace

Expected<std::unique_ptr<Compiler>> Compiler::create(StringRef TripleText) {
#if LLVM_VERSION_MAJOR >= 21
  Triple TheTriple(TripleText);
#else
  std::string TheTriple = TripleText.str();
#endif
  std::string Why;
  const Target *T = TargetRegistry::lookupTarget(TheTriple, Why);
  if (!T)
    return makeError(Status::Unsupported, "no code generator for '" +
                                              TripleText +
                                              "' in this build: " + Why);
  TargetOptions Options;
  auto C = std::make_unique<Compiler>();
  C->TripleText = TripleText.str();
  // Without a handler LLVM ends the process.
  C->Context.setDiagnosticHandlerCallBack(
      [](const DiagnosticInfo *Info, void *To) {
        if (Info->getSeverity() != DS_Error)
          return;
        raw_string_ostream OS(*static_cast<std::string *>(To));
        DiagnosticPrinterRawOStream Printer(OS);
        Info->print(Printer);
      },
      &C->Problem);
  C->Machine.reset(T->createTargetMachine(
      TheTriple, baselineCPU(TripleText), /*Features=*/"", Options, Reloc::PIC_,
      CodeModel::Small, CodeGenOptLevel::None, /*JIT=*/true));
  // AArch64 takes GlobalISel at -O0 unless told otherwise: twice the time.
  C->Machine->setGlobalISel(false);
  C->Machine->setO0WantsFastISel(true);
  C->Machine->setFastISel(true);
  return C;
}

std::unique_ptr<Module> Compiler::createModule(const ABI &A,
                                               const StubRequest &R) {
  Context.setDiscardValueNames(R.Output == StubOutput::Object ||
                               R.Output == StubOutput::Assembly);
  auto M = std::make_unique<Module>("launchjit", Context);
  M->setSourceFileName("");
#if LLVM_VERSION_MAJOR >= 21
  M->setTargetTriple(Triple(TripleText));
#else
  M->setTargetTriple(TripleText);
#endif
  M->setDataLayout(Machine->createDataLayout());
  emitLauncher(*M, A, R.Entry, R.Symbol);
  assert(!verifyModule(*M, &errs()) && "a stub builder made broken IR");
  return M;
}

void Compiler::emit(Module &M, CodeGenFileType Type) {
  auto &Pipeline = Pipelines[Type == CodeGenFileType::AssemblyFile];
  if (!Pipeline) {
    Pipeline = std::make_unique<legacy::PassManager>();
    [[maybe_unused]] bool Failed = Machine->addPassesToEmitFile(
        *Pipeline, Stream, /*DwoOut=*/nullptr, Type, /*DisableVerify=*/true);
    assert(!Failed && "X86 and AArch64 emit objects and assembly");
  }
  Pipeline->run(M);
}

Expected<SmallVector<char, 0>> Compiler::run(const ABI &A,
                                             const StubRequest &R) {
  ++Uses;
  Bytes.clear();
  std::unique_ptr<Module> M = createModule(A, R);
  switch (R.Output) {
  case StubOutput::Object:
    emit(*M, CodeGenFileType::ObjectFile);
    break;
  case StubOutput::Assembly:
    emit(*M, CodeGenFileType::AssemblyFile);
    break;
  case StubOutput::IR:
    M->print(Stream, nullptr);
    break;
  case StubOutput::Bitcode:
    WriteBitcodeToFile(*M, Stream);
    break;
  }
  if (!Problem.empty())
    return makeError(Status::Internal, "cannot compile the ABI '" + A.str() +
                                           "': " + std::exchange(Problem, ""));
  return SmallVector<char, 0>(Bytes.begin(), Bytes.end());
}

Expected<SmallVector<char, 0>> launchjit::compileStub(const StubRequest &R) {
  if (Error E = checkContract(R.Contract))
    return std::move(E);
  Expected<ABI> A = ABI::parse(R.ABI);
  if (!A)
    return A.takeError();
  Expected<std::unique_ptr<Compiler>> C =
      Pool::get().take(R.Triple.empty() ? hostTriple() : R.Triple);
  if (!C)
    return C.takeError();
  auto Result = (*C)->run(*A, R);
  Pool::get().give(std::move(*C));
  return Result;
}
