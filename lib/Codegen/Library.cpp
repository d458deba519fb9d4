//===- Library.cpp - The code generator as a library of its own -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"

using namespace llvm;
using namespace launchjit;

#ifndef LAUNCHJIT_SANITIZED
/// LLVM's static objects register their destructors by this; hidden, it serves
/// this library alone. At exit another thread may still compile, and the system
/// takes the memory anyway.
extern "C" __attribute__((visibility("hidden"))) int
__cxa_atexit(void (*)(void *), void *, void *) {
  return 0;
}
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char *launchjit_codegen_build_id() { return codegenBuildId(); }

EXPORT void launchjit_codegen(const CodegenCRequest *C, CodegenCResult Result,
                              void *Context) {
  StubRequest R;
  R.ABI = StringRef(C->ABI, C->ABISize);
  R.Contract = StringRef(C->Contract, C->ContractSize);
  R.Triple = StringRef(C->Triple, C->TripleSize);
  R.Symbol = StringRef(C->Symbol, C->SymbolSize);
  R.Entry = static_cast<EntryKind>(C->Entry);
  R.Output = static_cast<StubOutput>(C->Output);
  auto Bytes = compileStub(R);
  if (Bytes)
    return Result(Context, /*Code=*/0, Bytes->data(), Bytes->size());
  ErrorDetail D = takeDetail(Bytes.takeError());
  Result(Context, static_cast<int>(D.Code), D.Message.data(), D.Message.size());
}
