//===- Parser.cpp - Reads a signature's text ------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parser.h"
#include "TypeNames.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace llvm;
using namespace launchjit;

static constexpr StringLiteral TypesInWords =
    "a scalar such as i32 or fp16, a pointer such as *fp32, constexpr, a "
    "number, struct<size,align>, nvTmaDesc, tensordesc<...> or a tuple (...)";

/// CUtensorMap has no more dimensions.
static constexpr unsigned MaxTensorRank = 5;

static std::string quoted(StringRef Word) {
  if (Word.size() > 40)
    return ("'" + Word.take_front(37) + "...'").str();
  return ("'" + Word + "'").str();
}

static constexpr StringLiteral Opening = "<([{";
static constexpr StringLiteral Closing = ">)]}";

static bool isOpening(char C) { return Opening.contains(C); }
static char closingOf(char C) { return Closing[Opening.find(C)]; }

/// \p Text with one blank for each run of white space.
static std::string oneLine(StringRef Text) {
  std::string Out;
  for (char C : Text)
    if (!isSpace(C))
      Out += C;
    else if (Out.back() != ' ')
      Out += ' ';
  return Out;
}

void Parser::skipSpace() {
  while (!atEnd() && isSpace(peek()))
    ++Pos;
}

StringRef Parser::peekWord() const {
  StringRef Word =
      rest().take_while([](char C) { return isAlnum(C) || C == '_'; });
  return isIdentifier(Word) ? Word : StringRef();
}

StringRef Parser::takeWord() {
  StringRef Word = peekWord();
  Pos += Word.size();
  skipSpace();
  return Word;
}

bool Parser::take(StringRef Token) {
  if (!consume(Token))
    return false;
  skipSpace();
  return true;
}

char Parser::peekAfter(size_t Length) const {
  StringRef After = rest().drop_front(Length).ltrim(" \t\n\v\f\r");
  return After.empty() ? '\0' : After.front();
}

void Parser::setLeaf(Parameter &P, size_t Start, ABIType Type,
                     std::string Spelling) {
  if (Type.Kind != ParamKind::Constexpr)
    SlotOffsets.push_back(Start);
  P.Type = std::move(Type);
  P.Spelling = std::move(Spelling);
}

Error Parser::unknownType(StringRef Word, size_t At) const {
  std::string Message = "unknown type " + quoted(Word);
  if (isKnownElement(Word))
    Message = "no kernel takes a " + quoted(Word) +
              " by value; a pointer to it is written '*" + Word.str() + "'";
  else if (StringRef Near = nearestTypeName(Word); !Near.empty())
    Message += "; did you mean '" + Near.str() + "'?";
  return fail(At, Message + " (a type is " + TypesInWords + ")");
}

Error Parser::parseSignature(std::vector<Parameter> &Parameters) {
  StringSet<> Names;
  if (atEnd())
    return Error::success();
  do {
    size_t Start = Pos;
    Parameter P;
    if (Error E = parseParameter(P))
      return E;
    if (!P.Name.empty() && !Names.insert(P.Name).second)
      return fail(Start, "a second parameter is called " + quoted(P.Name));
    Parameters.push_back(std::move(P));
  } while (take(","));
  if (peek() == ':')
    return fail(Pos, "':' follows only a parameter's name, a scalar or a "
                     "pointer");
  if (!atEnd())
    return expected("',' or the end after a parameter");
  return Error::success();
}

Error Parser::parseLoneType(Parameter &P) {
  if (Error E = parseType(P, 0))
    return E;
  if (!atEnd())
    return expected("the end after a type");
  return Error::success();
}

Error Parser::parseParameter(Parameter &P) {
  StringRef Word = peekWord();
  if (!Word.empty() && !isTypeWord(Word) && peekAfter(Word.size()) == ':') {
    P.Name = takeWord().str();
    take(":");
  }
  return parseType(P, 0);
}

Error Parser::parseType(Parameter &P, unsigned Depth) {
  char C = peek();
  if (C == '*')
    return parseTritonPointer(P);
  if (C == '(')
    return parseTuple(P, Depth + 1);
  if (isDigit(C) || C == '-' || C == '+' || C == '.')
    return parseLiteral(P);
  StringRef Word = peekWord();
  if (Word.empty())
    return expected("a type (" + TypesInWords + ")");
  if (Depth && !isTypeWord(Word) && peekAfter(Word.size()) == ':')
    return fail(Pos, "the elements of a tuple have no names, but one is "
                     "called " +
                         quoted(Word));
  return parseWordType(P);
}

Error Parser::parseTuple(Parameter &P, unsigned Depth) {
  size_t Start = Pos;
  if (Depth > MaxTupleDepth)
    return fail(Start,
                "tuples nest deeper than " + Twine(MaxTupleDepth) + " levels");
  P.Type = ABIType::tuple({});
  P.Spelling = "(";
  take("(");
  if (!take(")")) {
    do {
      Parameter Element;
      if (Error E = parseType(Element, Depth))
        return E;
      if (P.Spelling.size() > 1)
        P.Spelling += ", ";
      P.Spelling += Element.Spelling;
      P.Type.Elements.push_back(Element.Type);
      P.Elements.push_back(std::move(Element));
    } while (take(","));
    if (!take(")"))
      return expected("',' or the ')' for the '(' at byte " + Twine(Start));
  }
  P.Spelling += ")";
  return Error::success();
}

Error Parser::parseTritonPointer(Parameter &P) {
  size_t Start = Pos;
  std::string Spelling;
  while (take("*")) {
    Spelling += "*";
    // A pointer to a const pointer.
    if (peekWord() == "k" && peekAfter(1) == '*') {
      takeWord();
      Spelling += "k";
    }
  }
  StringRef Element = peekWord();
  if (Element.empty())
    return expected("what the pointer points to, such as fp32 or void");
  size_t End = Pos + Element.size();
  Spelling += elementSpelling(Element);
  takeWord();
  setLeaf(P, Start, ABIType::pointer(), std::move(Spelling));
  return parseHint(P, Start, End);
}

Error Parser::parseWordType(Parameter &P) {
  size_t Start = Pos;
  StringRef Word = peekWord();
  bool Bracket = peekAfter(Word.size()) == '<';
  if (Word == "struct" && Bracket)
    return parseStruct(P);
  if (Word == "nvTmaDesc")
    return parseTensorMap(P);
  if ((Word == "tensordesc" || Word == "tensordesc_im2col") && Bracket)
    return parseTensorDescriptor(P, Word != "tensordesc");
  if (Word == "constexpr") {
    takeWord();
    setLeaf(P, Start, ABIType::constexpr_(), "constexpr");
    return Error::success();
  }
  return parseCType(P);
}

/// Reads a scalar in any spelling, or a pointer in C's.
Error Parser::parseCType(Parameter &P) {
  size_t Start = Pos, End = Pos;
  bool Const = false;
  // Either a name of one word, or words that C combines.
  StringRef Name;
  size_t NameAt = Pos;
  std::optional<CWords> Words;
  for (StringRef Word; !(Word = peekWord()).empty(); takeWord()) {
    if (Word == "const" || Word == "volatile") {
      Const |= Word == "const";
    } else if (Name.empty() && (isCWord(Word) || (Words && Word == "double"))) {
      if (!Words)
        Words.emplace();
      if (!isCWord(Word) || !Words->add(Word))
        return fail(Pos, quoted(Word) + " cannot follow: no kernel takes a " +
                             quoted(Text.slice(Start, Pos + Word.size())));
    } else if (Name.empty() && !Words) {
      // "struct S *" is C's way to say "S *".
      if (!isTag(Word)) {
        Name = Word;
        NameAt = Pos;
      }
    } else {
      break;
    }
    End = Pos + Word.size();
  }
  if (Name.empty() && !Words)
    return expected("a type after " + quoted(Text.slice(Start, End)));

  auto Kind = Words ? std::optional(Words->kind()) : scalarOfWord(Name);
  if (peek() == '*')
    return parseCPointer(P, Start,
                         Kind ? scalarName(*Kind).str() : elementSpelling(Name),
                         Const);
  if (!Kind)
    return unknownType(Name, NameAt);
  setLeaf(P, Start, ABIType::scalar(*Kind), scalarName(*Kind).str());
  return parseHint(P, Start, End);
}

/// Reads from the first '*' on. C writes the outermost pointer last, the
/// canonical spelling writes it first.
Error Parser::parseCPointer(Parameter &P, size_t Start, StringRef Element,
                            bool Const) {
  std::string Stars;
  size_t End = Pos;
  while (peek() == '*') {
    Stars += Const ? "k*" : "*";
    Const = false;
    End = Pos + 1;
    take("*");
    for (StringRef Word; isPointerQualifier(Word = peekWord()); takeWord()) {
      Const |= Word == "const";
      End = Pos + Word.size();
    }
  }
  std::reverse(Stars.begin(), Stars.end());
  setLeaf(P, Start, ABIType::pointer(), Stars + Element.str());
  return parseHint(P, Start, End);
}

Error Parser::parseHint(Parameter &P, size_t TypeStart, size_t TypeEnd) {
  if (!take(":"))
    return Error::success();
  size_t Start = Pos;
  if (!isDigit(peek()))
    return expected("a number (':' after the type " +
                    quoted(Text.slice(TypeStart, TypeEnd)) +
                    " says what the value is divisible by; no parameter can "
                    "have a type's name)");
  if (Error E = parseNumber(P.DivisibleBy, "a divisibility",
                            std::numeric_limits<uint64_t>::max()))
    return E;
  if (!P.DivisibleBy)
    return fail(Start, "a divisibility is at least 1");
  return Error::success();
}

Error Parser::parseLiteral(Parameter &P) {
  size_t Start = Pos;
  if (!consume("-"))
    consume("+");
  if (rest().starts_with_insensitive("0x")) {
    Pos += 2;
    StringRef Digits = rest().take_while(isHexDigit);
    if (Digits.empty())
      return expected("a hexadecimal digit");
    Pos += Digits.size();
  } else {
    bool HasDigits = !takeDigits().empty();
    if (consume("."))
      HasDigits |= !takeDigits().empty();
    if (!HasDigits)
      return expected("a digit");
    if (consume("e") || consume("E")) {
      if (!consume("-"))
        consume("+");
      if (takeDigits().empty())
        return expected("a digit of the exponent");
    }
  }
  setLeaf(P, Start, ABIType::constexpr_(), Text.slice(Start, Pos).str());
  skipSpace();
  return Error::success();
}

Error Parser::parseNumber(uint64_t &Value, const Twine &What, uint64_t Max) {
  size_t Start = Pos;
  StringRef Digits = takeDigits();
  if (Digits.empty())
    return expected(What);
  if (Digits.getAsInteger(10, Value) || Value > Max)
    return fail(Start,
                What + " is at most " + Twine(Max) + ", not " + quoted(Digits));
  skipSpace();
  return Error::success();
}

Error Parser::parseStruct(Parameter &P) {
  constexpr uint32_t Max = std::numeric_limits<uint32_t>::max();
  size_t Start = Pos;
  uint64_t Size = 0, Align = 1;
  takeWord();
  take("<");
  size_t SizeAt = Pos;
  if (Error E = parseNumber(Size, "a struct's size in bytes", Max))
    return E;
  if (!Size)
    return fail(SizeAt, "a struct has at least 1 byte");
  if (!take(","))
    return expected("',' and the struct's alignment");
  size_t AlignAt = Pos;
  if (Error E =
          parseNumber(Align, "a struct's alignment in bytes", MaxStructAlign))
    return E;
  if (!isPowerOf2_64(Align))
    return fail(AlignAt, "a struct's alignment is a power of two up to " +
                             Twine(MaxStructAlign) + ", not " + Twine(Align));
  if (!take(">"))
    return expected("'>' after a struct's size and alignment");
  setLeaf(P, Start,
          ABIType::structure(static_cast<uint32_t>(Size),
                             static_cast<uint32_t>(Align)),
          ("struct<" + Twine(Size) + "," + Twine(Align) + ">").str());
  return Error::success();
}

Error Parser::parseTensorMap(Parameter &P) {
  size_t Start = Pos;
  bool Wide = false;
  takeWord();
  if (take("<")) {
    size_t AlignAt = Pos;
    StringRef Align = takeDigits();
    Wide = Align == "128";
    if (!Wide && Align != "64") {
      Pos = AlignAt;
      return expected("64 or 128, the alignment of nvTmaDesc<...>");
    }
    skipSpace();
    if (!take(">"))
      return expected("'>' after nvTmaDesc's alignment");
  }
  setLeaf(P, Start, ABIType::tensorMap(Wide ? 128 : 64),
          Wide ? "nvTmaDesc<128>" : "nvTmaDesc");
  return Error::success();
}

/// Reads what Triton writes of a descriptor. Only its rank matters here: the
/// kernel takes the map, then the shape, then the strides.
Error Parser::parseTensorDescriptor(Parameter &P, bool Im2Col) {
  size_t Start = Pos;
  takeWord();
  size_t Open = Pos;
  take("<");
  if (takeWord().empty())
    return expected("the tensor's element type, such as fp16");
  size_t RankAt = Pos;
  uint64_t Rank = 0;
  if (Error E = parseBlockShape(Rank))
    return E;
  if (Im2Col) {
    if (!take(",") || !take("input_rank") || !take("="))
      return expected("',input_rank=' and a number");
    RankAt = Pos;
    if (Error E = parseNumber(Rank, "a tensor's rank", MaxTensorRank))
      return E;
  }
  if (!Rank || Rank > MaxTensorRank)
    return fail(RankAt, "a tensor has 1 to " + Twine(MaxTensorRank) +
                            " dimensions, not " + Twine(Rank));
  if (peek() != ',' && peek() != '>')
    return expected("',' and a layout, or '>'");
  if (Error E = skipBrackets(Open))
    return E;

  P.Type = ABIType::tuple({});
  P.Spelling = oneLine(Text.slice(Start, Pos));
  auto Add = [&](ABIType Type, StringRef Spelling) {
    setLeaf(P.Elements.emplace_back(), Start, Type, Spelling.str());
    P.Type.Elements.push_back(std::move(Type));
  };
  Add(ABIType::tensorMap(64), "nvTmaDesc");
  for (uint64_t I = 0; I != Rank; ++I)
    Add(ABIType::scalar(ParamKind::I32), "i32");
  for (uint64_t I = 0; I != Rank; ++I)
    Add(ABIType::scalar(ParamKind::I64), "i64");
  skipSpace();
  return Error::success();
}

Error Parser::parseBlockShape(uint64_t &Rank) {
  if (!take("["))
    return expected("'[' and the block's shape");
  do {
    size_t Start = Pos;
    while (!atEnd() && !StringRef(",]>)}").contains(peek())) {
      if (!isOpening(peek()))
        ++Pos;
      else if (Error E = skipBrackets(Pos))
        return E;
    }
    if (Pos == Start)
      return expected("a dimension of the block");
    ++Rank;
  } while (take(","));
  if (!take("]"))
    return expected("',' or ']' in the block's shape");
  return Error::success();
}

Error Parser::skipBrackets(size_t Open) {
  SmallVector<size_t> Opened;
  for (Pos = Open; !atEnd(); ++Pos) {
    char C = peek();
    if (!isPrint(C) && !isSpace(C))
      return expected("a layout in printable ASCII");
    if (isOpening(C))
      Opened.push_back(Pos);
    else if (Closing.contains(C)) {
      if (C != closingOf(Text[Opened.back()]))
        break;
      Opened.pop_back();
    }
    if (Opened.empty()) {
      ++Pos;
      return Error::success();
    }
  }
  char Last = Text[Opened.back()];
  return expected("the '" + Twine(closingOf(Last)) + "' for the '" +
                  Twine(Last) + "' at byte " + Twine(Opened.back()));
}
