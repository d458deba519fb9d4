//===- Parser.h - Reads a signature's text --------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_SIGNATURE_PARSER_H
#define LAUNCHJIT_LIB_SIGNATURE_PARSER_H

#include "Scanner.h"
#include "launchjit/Signature/Signature.h"

namespace launchjit {

/// One recursive descent over one text. Every function that reads something
/// begins and ends after white space.
class Parser : Scanner {
public:
  explicit Parser(llvm::StringRef Text) : Scanner("signature", Text) {
    skipSpace();
  }

  /// Reads a whole signature.
  llvm::Error parseSignature(std::vector<Parameter> &Parameters);
  /// Reads one type that is the whole text.
  llvm::Error parseLoneType(Parameter &P);

  using Scanner::locate;

private:
  llvm::Error parseParameter(Parameter &P);
  /// Reads a type, and its hint if it may have one.
  llvm::Error parseType(Parameter &P, unsigned Depth);
  llvm::Error parseTuple(Parameter &P, unsigned Depth);
  llvm::Error parseTritonPointer(Parameter &P);
  llvm::Error parseWordType(Parameter &P);
  llvm::Error parseCType(Parameter &P);
  llvm::Error parseCPointer(Parameter &P, size_t Start, llvm::StringRef Element,
                            bool Const);
  llvm::Error parseHint(Parameter &P, size_t TypeStart, size_t TypeEnd);
  llvm::Error parseLiteral(Parameter &P);
  llvm::Error parseStruct(Parameter &P);
  llvm::Error parseTensorMap(Parameter &P);
  llvm::Error parseTensorDescriptor(Parameter &P, bool Im2Col);
  llvm::Error parseBlockShape(uint64_t &Rank);
  /// Skips to the closing bracket of the one at \p Open and over it.
  llvm::Error skipBrackets(size_t Open);
  llvm::Error parseNumber(uint64_t &Value, const llvm::Twine &What,
                          uint64_t Max);

  void setLeaf(Parameter &P, size_t Start, ABIType Type, std::string Spelling);
  llvm::Error unknownType(llvm::StringRef Word, size_t At) const;

  void skipSpace();
  /// The identifier at the position, or empty.
  llvm::StringRef peekWord() const;
  /// Takes an identifier and the white space after it.
  llvm::StringRef takeWord();
  /// Takes \p Token and the white space after it, if it is next.
  bool take(llvm::StringRef Token);
  /// The byte that follows \p Length more and the white space after those.
  char peekAfter(size_t Length) const;
};

} // namespace launchjit

#endif // LAUNCHJIT_LIB_SIGNATURE_PARSER_H
