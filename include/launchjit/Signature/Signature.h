//===- Signature.h - A kernel's signature, as people write it -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grammar is Triton's, so that its strings work unchanged, plus what CUDA
// C++ needs:
//
//   signature := [param {"," param}]
//   param     := [name ":"] type
//   type      := "*"["k"] elem [hint] | scalar [hint] | "constexpr" | literal
//              | "nvTmaDesc" ["<" ("64" | "128") ">"]
//              | "tensordesc<...>" | "tensordesc_im2col<...>"
//              | "struct<" size "," align ">" | "(" [type {"," type}] ")"
//   hint      := ":" number        (the value is divisible by it)
//   literal   := number            (a constexpr)
//
// C's and NumPy's spellings of the scalars and C's of pointers are accepted.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SIGNATURE_SIGNATURE_H
#define LAUNCHJIT_SIGNATURE_SIGNATURE_H

#include "launchjit/Signature/ABI.h"

namespace launchjit {

/// One parameter of the caller's convention, or one element of a tuple.
struct Parameter {
  /// Empty where the signature gives none, and in a tuple's elements.
  std::string Name;
  ABIType Type;
  /// The canonical spelling without name and hint: "*fp32", "i32",
  /// "struct<12,4>", "(i32, *fp16)".
  std::string Spelling;
  /// The value is promised to be divisible by this; 0 where nothing is said.
  uint64_t DivisibleBy = 0;
  /// Of a tuple, in order; parallel to Type.Elements.
  std::vector<Parameter> Elements;
};

/// One kernel parameter with the name that messages use.
struct NamedSlot {
  /// "n", "pair[1]", or empty where the signature gives no name; the hidden
  /// ones are "global_scratch" and "profile_scratch".
  std::string Name;
  std::string Spelling; ///< Canonical: "*fp32", "i32".
  uint64_t DivisibleBy = 0;
  Slot Where;
};

struct SignatureOptions {
  /// Hidden trailing parameters, of ScratchBits.
  unsigned Scratch = 0;
  /// Allow 32,764 bytes of parameters where 4,096 are the classic limit.
  bool LargeParameters = false;
};

/// A parsed signature: immutable, safe to share.
class Signature {
public:
  // Out of line: what they do for nested vectors is much code for each caller.
  Signature();
  Signature(const Signature &);
  Signature(Signature &&);
  Signature &operator=(const Signature &);
  Signature &operator=(Signature &&);
  ~Signature();

  /// Reads \p Text. Errors are Status::Signature and give the byte offset and
  /// what was expected there.
  static llvm::Expected<Signature> parse(llvm::StringRef Text,
                                         const SignatureOptions &Options = {});
  /// Makes one of parameters that something else than text describes. A
  /// spelling must be its type's; an empty one, and a tuple's, follow from the
  /// type and the elements. Errors give the parameter's index.
  static llvm::Expected<Signature> create(std::vector<Parameter> Parameters,
                                          const SignatureOptions &Options = {});

  /// Reads an option's "", "g", "p" or "gp".
  static llvm::Expected<unsigned> parseScratch(llvm::StringRef Text);

  /// The canonical spelling, which parses to an equal signature.
  std::string str() const;
  const ABI &abi() const { return TheABI; }
  llvm::ArrayRef<Parameter> parameters() const { return Parameters; }
  /// What the driver sees, hidden parameters included; parallel to
  /// abi().allSlots().
  llvm::ArrayRef<NamedSlot> slots() const { return Slots; }
  const SignatureOptions &options() const { return Options; }

private:
  std::vector<Parameter> Parameters;
  std::vector<NamedSlot> Slots;
  SignatureOptions Options;
  ABI TheABI;
};

} // namespace launchjit

#endif // LAUNCHJIT_SIGNATURE_SIGNATURE_H
