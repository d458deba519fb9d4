//===- Values.h - Typed values to parameter bytes -------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_VALUES_H
#define LAUNCHJIT_LAUNCH_VALUES_H

#include "launchjit/Launch/Kernel.h"

namespace launchjit {

/// The least and the largest value of an integer parameter; i1 and u1 take 0
/// and 1.
struct IntegerRange {
  int64_t Min;
  uint64_t Max;
};
IntegerRange integerRange(ParamKind K);
inline bool isInteger(ParamKind K) { return K <= ParamKind::U64; }

/// Rounds to the nearest value, ties to even. fp16 overflow gives false, as in
/// CPython's own half packing; fp32 and bf16 overflow give infinity. \p K is a
/// floating kind; its size is stored at \p To.
bool storeFloat(ParamKind K, double Value, void *To);

/// Checks one value for slot \p Index and stores its bytes at \p To.
llvm::Error storeValue(const Signature &S, unsigned Index, const Value &V,
                       void *To);

/// Writes the value at \p From as people read it: numbers in decimal, with as
/// many digits as tell them from their neighbours, pointers and bytes in
/// hexadecimal.
void printValue(llvm::raw_ostream &OS, const Slot &Where, const void *From);

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_VALUES_H
