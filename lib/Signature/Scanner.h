//===- Scanner.h - A position in a text, and errors that tell it ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_SIGNATURE_SCANNER_H
#define LAUNCHJIT_LIB_SIGNATURE_SCANNER_H

#include "launchjit/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cassert>
#include <vector>

namespace launchjit {

/// What the readers of signatures and of canonical ABIs have in common.
class Scanner {
protected:
  /// \p What is what messages call \p Text.
  Scanner(llvm::StringLiteral What, llvm::StringRef Text)
      : Text(Text), What(What) {}

  llvm::StringRef rest() const { return Text.drop_front(Pos); }
  bool atEnd() const { return Pos == Text.size(); }
  /// The byte at the position; NUL at the end.
  char peek() const { return atEnd() ? '\0' : Text[Pos]; }
  bool consume(llvm::StringRef Token) {
    if (!rest().starts_with(Token))
      return false;
    Pos += Token.size();
    return true;
  }
  llvm::StringRef takeDigits() {
    llvm::StringRef Digits = rest().take_while(llvm::isDigit);
    Pos += Digits.size();
    return Digits;
  }

  llvm::Error fail(size_t At, const llvm::Twine &Message) const {
    return makeError(
        ErrorDetail{Status::Signature,
                    (What + ", byte " + llvm::Twine(At) + ": " + Message).str(),
                    -1, static_cast<int64_t>(At), 0});
  }
  /// "expected <Wanted>, but found <what is at the position>"
  llvm::Error expected(const llvm::Twine &Wanted) const {
    return fail(Pos, "expected " + Wanted + ", but found " + found());
  }

  /// Adds the place to an error of the layout that names a parameter by its
  /// index among the flattened ones; hidden ones are at the end.
  llvm::Error locate(llvm::Error E) const {
    ErrorDetail D = takeDetail(std::move(E));
    if (D.Argument < 0)
      return makeError(std::move(D));
    size_t Index = static_cast<size_t>(D.Argument);
    return fail(Index < SlotOffsets.size() ? SlotOffsets[Index] : Text.size(),
                D.Message);
  }

  llvm::StringRef Text;
  size_t Pos = 0;
  /// Where each flattened parameter stands in Text.
  std::vector<size_t> SlotOffsets;

private:
  std::string found() const {
    if (atEnd())
      return "the end";
    if (llvm::isPrint(Text[Pos]))
      return std::string("'") + Text[Pos] + "'";
    return "byte 0x" + llvm::utohexstr(static_cast<uint8_t>(Text[Pos]),
                                       /*LowerCase=*/true,
                                       /*Width=*/2);
  }

  llvm::StringLiteral What;
};

} // namespace launchjit

#endif // LAUNCHJIT_LIB_SIGNATURE_SCANNER_H
