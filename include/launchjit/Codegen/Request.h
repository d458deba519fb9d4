//===- Request.h - The one question to the code generator -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compileStub has two definitions: Codegen's own, which a program that links
// launchjit::cpp uses, and JIT's in liblaunchjit.so, which opens
// liblaunchjit-codegen.so beside it when it is first called.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_CODEGEN_REQUEST_H
#define LAUNCHJIT_CODEGEN_REQUEST_H

#include "launchjit/StubABI.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace launchjit {

/// What compileStub makes. The values cross a library boundary.
enum class StubOutput : uint32_t {
  Object = 0,
  Assembly = 1,
  IR = 2,
  Bitcode = 3
};

/// Everything that decides a stub's bytes.
struct StubRequest {
  llvm::StringRef ABI; ///< Canonical.
  EntryKind Entry = EntryKind::C;
  llvm::StringRef Contract = "launchjit";
  llvm::StringRef Triple; ///< Empty: the host's, see hostTriple().
  llvm::StringRef Symbol; ///< The function's name.
  StubOutput Output = StubOutput::Object;
};

/// Makes one stub; thread-safe. A program that may fork meanwhile calls it
/// under a ForkShield, as the engine does. An error is Status::Unsupported
/// where there is no code generator (the interpreted launcher still serves).
llvm::Expected<llvm::SmallVector<char, 0>> compileStub(const StubRequest &R);

/// What stubs are made for on this machine: the baseline CPU of the
/// architecture, so that an object is valid on any machine of it.
llvm::StringRef hostTriple();
llvm::StringRef baselineCPU(llvm::StringRef Triple);

/// The contracts that this build knows.
llvm::ArrayRef<llvm::StringRef> knownContracts();
/// An error that lists them, unless \p Contract is one.
llvm::Error checkContract(llvm::StringRef Contract);

// The boundary itself, plain C: the one symbol of liblaunchjit-codegen.so.

/// Identifies this build; both libraries must have the same.
const char *codegenBuildId();

/// A hash of the sources that decide a stub's bytes, 16 digits: what one
/// version of them made is nothing to another.
const char *codegenSourceHash();

struct CodegenCRequest {
  const char *ABI, *Contract, *Triple, *Symbol;
  size_t ABISize, ContractSize, TripleSize, SymbolSize;
  uint32_t Entry, Output;
};
/// Called once: with Status::Success and the bytes, or another Status and an
/// error text.
using CodegenCResult = void (*)(void *Context, int Status, const char *Bytes,
                                size_t Size);
using CodegenCFunction = void (*)(const CodegenCRequest *, CodegenCResult,
                                  void *Context);
inline constexpr const char CodegenSymbol[] = "launchjit_codegen";
inline constexpr const char CodegenBuildIdSymbol[] =
    "launchjit_codegen_build_id";

} // namespace launchjit

#endif // LAUNCHJIT_CODEGEN_REQUEST_H
