//===- PTXLexer.h - PTX text as tokens ------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINARY_PTXLEXER_H
#define LAUNCHJIT_LIB_BINARY_PTXLEXER_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace launchjit {

/// Gives the tokens of a PTX text: a directive with its point, an identifier
/// or a number, a quoted string, or one other character. Text after the first
/// NUL is none of it, as for the driver.
class PTXLexer {
public:
  explicit PTXLexer(llvm::StringRef Text)
      : Text(Text.take_until([](char C) { return C == 0; })) {
    next();
  }

  /// The current token; empty at the end.
  llvm::StringRef token() const { return Token; }
  bool atEnd() const { return Token.empty(); }
  bool is(llvm::StringRef T) const { return Token == T; }
  bool isDirective() const { return Token.size() > 1 && Token[0] == '.'; }
  bool isWord() const { return !Token.empty() && isWordChar(Token[0]); }
  size_t offset() const { return Token.data() - Text.data(); }
  size_t line() const { return 1 + Text.take_front(offset()).count('\n'); }

  void next() {
    skipSpace();
    size_t Size = std::min<size_t>(1, Text.size() - Place);
    llvm::StringRef Rest = Text.drop_front(Place);
    if (Rest.starts_with("\"")) {
      Size = 1;
      while (Size < Rest.size() && Rest[Size] != '"')
        Size += Rest[Size] == '\\' ? 2 : 1;
      Size = std::min(Size + 1, Rest.size());
    } else if (!Rest.empty() && (isWordChar(Rest[0]) || Rest[0] == '.')) {
      while (Size < Rest.size() && isWordChar(Rest[Size]))
        ++Size;
    }
    Token = Rest.take_front(Size);
    Place += Size;
  }

  /// The current token if it is \p T, which it then passes.
  bool take(llvm::StringRef T) {
    if (Token != T)
      return false;
    next();
    return true;
  }

  /// From an opening bracket to behind the one that closes it. False where
  /// none does.
  bool skipBlock(char Open, char Close) {
    size_t Depth = 0;
    for (; !atEnd(); next()) {
      if (Token.size() != 1)
        continue;
      if (Token[0] == Open)
        ++Depth;
      else if (Token[0] == Close && --Depth == 0)
        return next(), true;
    }
    return false;
  }

private:
  static bool isWordChar(char C) {
    return llvm::isAlnum(C) || C == '_' || C == '$' || C == '%';
  }

  void skipSpace() {
    for (;;) {
      llvm::StringRef Rest = Text.drop_front(Place);
      if (Rest.empty())
        return;
      if (llvm::isSpace(Rest[0]))
        ++Place;
      else if (Rest.starts_with("//") || Rest.starts_with("#"))
        Place += std::min(Rest.find('\n'), Rest.size());
      else if (Rest.starts_with("/*"))
        Place += Rest.find("*/", 2) == llvm::StringRef::npos
                     ? Rest.size()
                     : Rest.find("*/", 2) + 2;
      else
        return;
    }
  }

  llvm::StringRef Text;
  llvm::StringRef Token;
  size_t Place = 0;
};

} // namespace launchjit

#endif // LAUNCHJIT_LIB_BINARY_PTXLEXER_H
