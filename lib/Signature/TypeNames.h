//===- TypeNames.h - The names that a signature's types go by -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_SIGNATURE_TYPENAMES_H
#define LAUNCHJIT_LIB_SIGNATURE_TYPENAMES_H

#include "launchjit/Signature/ABI.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace launchjit {

/// Whether \p Text is an identifier of C.
bool isIdentifier(llvm::StringRef Text);

/// The scalar that a single word names: canonical, or as Triton, NumPy,
/// CUDA or C's headers spell it.
std::optional<ParamKind> scalarOfWord(llvm::StringRef Word);

/// Whether \p Word is one of those that C combines into a type's name, as
/// "unsigned" and "long".
bool isCWord(llvm::StringRef Word);

/// Reads C's combinations of words ("long unsigned int") word by word.
class CWords {
public:
  /// Adds a word for which isCWord() holds; false where C allows no type that
  /// begins so.
  bool add(llvm::StringRef Word);
  /// The type of the words so far, which are at least one.
  ParamKind kind() const;

private:
  uint8_t Char = 0, Short = 0, Int = 0, Long = 0, Signed = 0, Unsigned = 0;
};

/// Whether a pointer may point to \p Word by a name that is known here, so
/// that "*k" before it means const.
bool isKnownElement(llvm::StringRef Word);

/// How a pointer's canonical spelling writes the element \p Word, which may
/// say const by a 'k'.
std::string elementSpelling(llvm::StringRef Word);

/// Whether C has \p Word before the name of a struct: "struct S *".
bool isTag(llvm::StringRef Word);

/// Whether C has \p Word behind a pointer's '*'.
bool isPointerQualifier(llvm::StringRef Word);

/// Whether a signature reads \p Word as a type's name, or the beginning of
/// one, so that no parameter can be called so.
bool isTypeWord(llvm::StringRef Word);

/// The known type's name that is nearest to \p Word, or empty if none is near.
llvm::StringRef nearestTypeName(llvm::StringRef Word);

} // namespace launchjit

#endif // LAUNCHJIT_LIB_SIGNATURE_TYPENAMES_H
