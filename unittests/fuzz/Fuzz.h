//===- Fuzz.h - What the fuzzers try --------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function takes any bytes, and ends the program where they break a
// promise. libFuzzer calls one of them in a program of its own (tools/dev
// fuzz); ReplayTest.cpp gives both their corpus in every test run.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_FUZZ_FUZZ_H
#define LAUNCHJIT_UNITTESTS_FUZZ_FUZZ_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace launchjit::fuzz {

/// Bytes of a cache entry.
void entry(llvm::ArrayRef<uint8_t> Bytes);
/// Text of a signature, a canonical ABI or a key.
void signature(llvm::ArrayRef<uint8_t> Bytes);

inline void promise(bool Kept, const char *What) {
  if (Kept)
    return;
  llvm::errs() << "broken promise: " << What << "\n";
  std::abort();
}

} // namespace launchjit::fuzz

#ifdef LAUNCHJIT_FUZZ
#define LAUNCHJIT_FUZZER(Function)                                             \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {    \
    launchjit::fuzz::Function({Data, Size});                                   \
    return 0;                                                                  \
  }
#else
#define LAUNCHJIT_FUZZER(Function)
#endif

#endif // LAUNCHJIT_UNITTESTS_FUZZ_FUZZ_H
