//===- Key.h - What decides a stub's bytes, as 128 bits -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_JIT_KEY_H
#define LAUNCHJIT_JIT_KEY_H

#include "launchjit/StubABI.h"
#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace launchjit {

/// Every fact that can change a stub's object. No Python version, no path and
/// no GPU is among them.
struct KeyFields {
  uint32_t FormatVersion; ///< Of the object cache.
  uint32_t StubABI;
  std::string Generator; ///< A hash of the code generator's sources.
  std::string LLVM;      ///< "19.1.7".
  std::string Triple;
  std::string CPU;
  std::string Features;
  EntryKind Entry;
  std::string Contract;
  std::string CanonicalABI; ///< Flattened for `c` and `packed`.

  /// The fields for this build and machine.
  static KeyFields get(const ABI &A, EntryKind Entry, llvm::StringRef Contract);

  /// One "label=value" a line, in the order above. Equal texts mean equal
  /// objects; it is kept whole beside a cached object.
  std::string text() const;
  /// What text() gave; an error for any other text.
  static llvm::Expected<KeyFields> parse(llvm::StringRef Text);
};

/// xxh3-128 over a key text.
struct Key {
  uint64_t High = 0, Low = 0;

  static Key hash(llvm::StringRef Text);
  static Key get(const ABI &A, EntryKind Entry, llvm::StringRef Contract) {
    return hash(KeyFields::get(A, Entry, Contract).text());
  }

  /// 32 hexadecimal digits.
  std::string str() const;
  bool operator==(const Key &O) const { return High == O.High && Low == O.Low; }
};

/// The name of a stub's function: lj_<entry>_<key>.
std::string stubSymbol(EntryKind Entry, const Key &K);

} // namespace launchjit

template <> struct llvm::DenseMapInfo<launchjit::Key> {
  static launchjit::Key getEmptyKey() { return {~0ull, ~0ull}; }
  static launchjit::Key getTombstoneKey() { return {~0ull, ~0ull - 1}; }
  static unsigned getHashValue(const launchjit::Key &K) {
    return static_cast<unsigned>(K.Low);
  }
  static bool isEqual(const launchjit::Key &A, const launchjit::Key &B) {
    return A == B;
  }
};

#endif // LAUNCHJIT_JIT_KEY_H
