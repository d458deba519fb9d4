//===- TypeNames.cpp - The names that a signature's types go by -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;
using namespace launchjit;

namespace {

struct ScalarWord {
  StringLiteral Word;
  ParamKind Kind;
};

// The canonical names come first: of two names that are equally near to an
// unknown one, the first is suggested.
constexpr ScalarWord ScalarWords[] = {
#define X(Name, Text, CType, Size) {Text, ParamKind::Name},
    LAUNCHJIT_SCALARS(X)
#undef X
        {"f16", ParamKind::FP16},
    {"f32", ParamKind::FP32},
    {"f64", ParamKind::FP64},
    {"float16", ParamKind::FP16},
    {"bfloat16", ParamKind::BF16},
    {"float32", ParamKind::FP32},
    {"float64", ParamKind::FP64},
    {"int8", ParamKind::I8},
    {"int16", ParamKind::I16},
    {"int32", ParamKind::I32},
    {"int64", ParamKind::I64},
    {"uint8", ParamKind::U8},
    {"uint16", ParamKind::U16},
    {"uint32", ParamKind::U32},
    {"uint64", ParamKind::U64},
    {"bool", ParamKind::U1},
    {"float", ParamKind::FP32},
    {"double", ParamKind::FP64},
    {"half", ParamKind::FP16},
    {"__half", ParamKind::FP16},
    {"nv_bfloat16", ParamKind::BF16},
    {"__nv_bfloat16", ParamKind::BF16},
    {"int8_t", ParamKind::I8},
    {"int16_t", ParamKind::I16},
    {"int32_t", ParamKind::I32},
    {"int64_t", ParamKind::I64},
    {"uint8_t", ParamKind::U8},
    {"uint16_t", ParamKind::U16},
    {"uint32_t", ParamKind::U32},
    {"uint64_t", ParamKind::U64},
    {"size_t", ParamKind::U64},
    {"ssize_t", ParamKind::I64},
    {"ptrdiff_t", ParamKind::I64},
    {"intptr_t", ParamKind::I64},
    {"uintptr_t", ParamKind::U64},
};

constexpr StringLiteral CombinedWords[] = {"char", "short",  "int",
                                           "long", "signed", "unsigned"};

// Not scalars: a kernel takes none of these by value.
constexpr StringLiteral ElementWords[] = {"void",      "fp8e4nv", "fp8e5",
                                          "fp8e4b15",  "fp8e4b8", "fp8e5b16",
                                          "fp8e4b15x4"};

constexpr StringLiteral OtherTypeWords[] = {"constexpr", "nvTmaDesc"};
constexpr StringLiteral Qualifiers[] = {"const", "volatile"};
// Types only with something in angle brackets, which makes the names free for
// parameters.
constexpr StringLiteral BracketedWords[] = {"struct", "tensordesc",
                                            "tensordesc_im2col"};

} // namespace

bool launchjit::isIdentifier(StringRef Text) {
  return !Text.empty() && !isDigit(Text.front()) &&
         all_of(Text, [](char C) { return isAlnum(C) || C == '_'; });
}

std::optional<ParamKind> launchjit::scalarOfWord(StringRef Word) {
  for (const ScalarWord &S : ScalarWords)
    if (S.Word == Word)
      return S.Kind;
  return std::nullopt;
}

bool launchjit::isCWord(StringRef Word) {
  return is_contained(CombinedWords, Word);
}

bool CWords::add(StringRef Word) {
  if (Word == "char")
    return !Char++ && !Short && !Int && !Long;
  if (Word == "short")
    return !Short++ && !Char && !Long;
  if (Word == "int")
    return !Int++ && !Char;
  if (Word == "long")
    return Long++ < 2 && !Char && !Short;
  if (Word == "signed")
    return !Signed++ && !Unsigned;
  return !Unsigned++ && !Signed;
}

ParamKind CWords::kind() const {
  if (Char)
    return Unsigned ? ParamKind::U8 : ParamKind::I8;
  if (Short)
    return Unsigned ? ParamKind::U16 : ParamKind::I16;
  if (Long) // Eight bytes wherever CUDA runs here.
    return Unsigned ? ParamKind::U64 : ParamKind::I64;
  return Unsigned ? ParamKind::U32 : ParamKind::I32;
}

bool launchjit::isKnownElement(StringRef Word) {
  return scalarOfWord(Word) || isCWord(Word) ||
         is_contained(ElementWords, Word);
}

std::string launchjit::elementSpelling(StringRef Word) {
  if (auto K = scalarOfWord(Word))
    return scalarName(*K).str();
  if (isCWord(Word)) {
    CWords C;
    C.add(Word);
    return scalarName(C.kind()).str();
  }
  if (Word.starts_with("k") && isKnownElement(Word.drop_front()))
    return "k" + elementSpelling(Word.drop_front());
  return Word.str();
}

bool launchjit::isTag(StringRef Word) {
  return Word == "struct" || Word == "class" || Word == "union" ||
         Word == "enum";
}

bool launchjit::isPointerQualifier(StringRef Word) {
  return Word == "const" || Word == "volatile" || Word == "restrict" ||
         Word == "__restrict" || Word == "__restrict__";
}

bool launchjit::isTypeWord(StringRef Word) {
  return isKnownElement(Word) || is_contained(OtherTypeWords, Word) ||
         is_contained(Qualifiers, Word);
}

StringRef launchjit::nearestTypeName(StringRef Word) {
  // Also keeps the cost of a hostile word small.
  if (Word.size() > 32)
    return "";
  unsigned Best = Word.size() <= 3 ? 2 : 3;
  StringRef Nearest;
  auto Try = [&](StringRef Name) {
    unsigned Distance = Word.edit_distance_insensitive(Name, true, Best);
    if (Distance < Best) {
      Best = Distance;
      Nearest = Name;
    }
  };
  for (const ScalarWord &S : ScalarWords)
    Try(S.Word);
  for (ArrayRef<StringLiteral> Words :
       {ArrayRef(CombinedWords), ArrayRef(OtherTypeWords),
        ArrayRef(BracketedWords)})
    for (StringRef Name : Words)
      Try(Name);
  return Nearest;
}
