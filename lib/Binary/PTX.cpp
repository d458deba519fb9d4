//===- PTX.cpp - Reads PTX text -------------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the declarations of a module (PTX ISA, "Directives") and skips the
// bodies of its functions.
//
//===----------------------------------------------------------------------===//

#include "PTXLexer.h"
#include "Readers.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace launchjit;

namespace {

class PTXReader {
public:
  PTXReader(StringRef Text, StringRef Where) : Lex(Text), Where(Where) {}
  Expected<KernelBinary> read();

private:
  PTXLexer Lex;
  StringRef Where;
  KernelBinary Binary = emptyBinary(BinaryFormat::PTX);
  bool Extern = false; ///< The next variable is defined elsewhere.

  /// A declared object: where it would lie and what it takes.
  struct Declaration {
    StringRef Name;
    uint64_t Align = 0;
    uint64_t Size = 0;
  };

  Error fail(const Twine &What) const {
    ErrorDetail D{Status::Binary,
                  (Where + ":" + Twine(Lex.line()) + ": " + What).str()};
    D.Offset = int64_t(Lex.offset());
    return makeError(std::move(D));
  }
  Error expected(const Twine &What) const {
    if (Lex.atEnd())
      return fail("the text ends where " + What + " is expected");
    return fail("expected " + What + ", found '" + Lex.token().take_front(40) +
                "'");
  }

  Error readDirective();
  Error readTarget();
  Error readEntry();
  Error readParameters(BinaryKernel &K);
  Error readTuning(BinaryKernel &K);
  Error readVariables(bool Constant);
  /// What stands between a state space and the name.
  Error readType(Declaration &D, uint64_t &Element);
  Error readName(Declaration &D, uint64_t Element);
  Expected<uint64_t> readNumber(const Twine &What);
  Expected<std::array<uint32_t, 3>> readDims();
  /// An initialiser up to the comma or semicolon behind it; how many values
  /// it lists.
  Expected<uint64_t> skipInitializer();
};

} // namespace

/// Bytes of a fundamental or opaque type; 0 for none of those.
static unsigned typeSize(StringRef Directive) {
  static constexpr std::pair<StringLiteral, unsigned> Types[] = {
      {".b8", 1},    {".u8", 1},     {".s8", 1},         {".e4m3", 1},
      {".e5m2", 1},  {".b16", 2},    {".u16", 2},        {".s16", 2},
      {".f16", 2},   {".bf16", 2},   {".e4m3x2", 2},     {".e5m2x2", 2},
      {".b32", 4},   {".u32", 4},    {".s32", 4},        {".f32", 4},
      {".tf32", 4},  {".f16x2", 4},  {".bf16x2", 4},     {".u16x2", 4},
      {".s16x2", 4}, {".b64", 8},    {".u64", 8},        {".s64", 8},
      {".f64", 8},   {".texref", 8}, {".samplerref", 8}, {".surfref", 8},
      {".b128", 16}};
  for (const auto &[Name, Size] : Types)
    if (Directive == Name)
      return Size;
  return 0;
}

Expected<uint64_t> PTXReader::readNumber(const Twine &What) {
  StringRef Digits = Lex.token();
  Digits.consume_back("U");
  uint64_t Value;
  if (!Lex.isWord() || Digits.getAsInteger(0, Value))
    return expected(What);
  Lex.next();
  return Value;
}

Expected<std::array<uint32_t, 3>> PTXReader::readDims() {
  Lex.next();
  std::array<uint32_t, 3> Dims = {1, 1, 1};
  for (unsigned I = 0; I != 3; ++I) {
    if (I && !Lex.take(","))
      break;
    Expected<uint64_t> Value = readNumber("a count of threads or blocks");
    if (!Value)
      return Value.takeError();
    if (*Value > UINT32_MAX)
      return fail(Twine(*Value) + " is too large a dimension");
    Dims[I] = uint32_t(*Value);
  }
  return Dims;
}

Error PTXReader::readTarget() {
  Lex.next();
  for (;;) {
    StringRef Name = Lex.token();
    if (!Lex.isWord())
      return expected("a target such as sm_90");
    if (Name.consume_front("sm_")) {
      StringRef Kind = Name;
      if (Kind.consumeInteger(10, Binary.Arch) ||
          (!Kind.empty() && Kind != "a" && Kind != "f"))
        return expected("a target such as sm_90");
      Binary.ArchSpecific = Kind == "a";
    }
    Lex.next();
    if (!Lex.take(","))
      return Error::success();
  }
}

Error PTXReader::readType(Declaration &D, uint64_t &Element) {
  unsigned Vector = 1;
  bool Pointee = false;
  Element = 0;
  while (Lex.isDirective()) {
    StringRef T = Lex.token();
    if (T == ".align") {
      Lex.next();
      Expected<uint64_t> Value = readNumber("an alignment");
      if (!Value)
        return Value.takeError();
      if (!isPowerOf2_64(*Value) || *Value > 1u << 16)
        return fail("the alignment " + Twine(*Value) +
                    " is no power of two up to 65536");
      // Behind .ptr it is that of what the parameter points to.
      if (!Pointee)
        D.Align = *Value;
      continue;
    }
    if (T == ".attribute") {
      Lex.next();
      if (!Lex.is("(") || !Lex.skipBlock('(', ')'))
        return expected("an attribute's list");
      continue;
    }
    if (unsigned Size = typeSize(T))
      Element = Size;
    else if (T == ".v2" || T == ".v4" || T == ".v8")
      Vector = T[2] - '0';
    else if (T == ".ptr")
      Pointee = true;
    else if (T != ".const" && T != ".global" && T != ".shared" &&
             T != ".local" && T != ".param")
      return expected("a type");
    Lex.next();
  }
  if (!Element)
    return expected("a type such as .u64");
  Element *= Vector;
  if (!D.Align)
    D.Align = Element;
  return Error::success();
}

Error PTXReader::readName(Declaration &D, uint64_t Element) {
  if (!Lex.isWord())
    return expected("a name");
  D.Name = Lex.token();
  D.Size = Element;
  Lex.next();
  bool Open = false;
  while (Lex.take("[")) {
    if (Lex.take("]")) {
      Open = true;
      continue;
    }
    Expected<uint64_t> Count = readNumber("an array's size");
    if (!Count)
      return Count.takeError();
    D.Size = SaturatingMultiply(D.Size, *Count);
    if (D.Size > uint64_t(1) << 48)
      return fail(D.Name + " is larger than any memory");
    if (!Lex.take("]"))
      return expected("']'");
  }
  if (Lex.take("=")) {
    Expected<uint64_t> Count = skipInitializer();
    if (!Count)
      return Count.takeError();
    if (Open)
      D.Size = SaturatingMultiply(Element, *Count);
  } else if (Open) {
    D.Size = 0;
  }
  return Error::success();
}

Expected<uint64_t> PTXReader::skipInitializer() {
  uint64_t Count = 1;
  unsigned Depth = 0;
  for (; !Lex.atEnd(); Lex.next()) {
    if (Lex.is("{") || Lex.is("(")) {
      ++Depth;
    } else if (Lex.is("}") || Lex.is(")")) {
      if (!Depth)
        break;
      --Depth;
    } else if (Lex.is(",") || Lex.is(";")) {
      if (!Depth)
        return Count;
      Count += Lex.is(",");
    }
  }
  return expected("';'");
}

Error PTXReader::readVariables(bool Constant) {
  Lex.next();
  Declaration Common;
  uint64_t Element;
  if (Error E = readType(Common, Element))
    return E;
  do {
    Declaration D = Common;
    if (Error E = readName(D, Element))
      return E;
    // The compiler's own constants have names that no program can spell.
    if (!Extern && !D.Name.starts_with("$"))
      Binary.Variables.push_back({D.Name.str(), D.Size, Constant});
  } while (Lex.take(","));
  if (!Lex.take(";"))
    return expected("';'");
  return Error::success();
}

Error PTXReader::readParameters(BinaryKernel &K) {
  K.Parameters.emplace();
  if (!Lex.take("(") || Lex.take(")"))
    return Error::success();
  uint64_t End = 0;
  do {
    if (!Lex.take(".param"))
      return expected(".param");
    Declaration D;
    uint64_t Element;
    if (Error E = readType(D, Element))
      return E;
    if (Error E = readName(D, Element))
      return E;
    uint64_t Offset = alignTo(End, D.Align);
    End = Offset + D.Size;
    if (End > ParameterSpaceBytes)
      return fail("the parameters of " + K.Name + " need " + Twine(End) +
                  " bytes up to " + D.Name + "; a kernel can take 32764");
    K.Parameters->push_back({uint32_t(Offset), uint32_t(D.Size)});
  } while (Lex.take(","));
  if (!Lex.take(")"))
    return expected("',' or ')'");
  return Error::success();
}

Error PTXReader::readTuning(BinaryKernel &K) {
  while (!Lex.atEnd() && !Lex.is("{") && !Lex.is(";")) {
    bool Max = Lex.is(".maxntid"), Block = Lex.is(".reqntid"),
         Cluster = Lex.is(".reqnctapercluster");
    if (Lex.is(".pragma")) {
      while (!Lex.atEnd() && !Lex.take(";"))
        Lex.next();
    } else if (Max || Block || Cluster) {
      Expected<std::array<uint32_t, 3>> Dims = readDims();
      if (!Dims)
        return Dims.takeError();
      if (Block)
        K.RequiredBlock = *Dims;
      else if (Cluster)
        K.RequiredCluster = *Dims;
      else
        K.MaxThreads = uint32_t(std::min<uint64_t>(
            SaturatingMultiply(uint64_t((*Dims)[0]) * (*Dims)[1],
                               uint64_t((*Dims)[2])),
            UINT32_MAX));
    } else {
      K.BlocksAreClusters |= Lex.is(".blocksareclusters");
      Lex.next();
    }
  }
  return Error::success();
}

Error PTXReader::readEntry() {
  Lex.next();
  if (!Lex.isWord())
    return expected("a kernel's name");
  BinaryKernel K;
  K.Name = Lex.token().str();
  Lex.next();
  if (Error E = readParameters(K))
    return E;
  if (Error E = readTuning(K))
    return E;
  if (Lex.take(";"))
    return Error::success();
  if (!Lex.is("{"))
    return expected("the body of " + K.Name);
  if (!Lex.skipBlock('{', '}'))
    return expected("the end of " + K.Name);
  Binary.Kernels.push_back(std::move(K));
  return Error::success();
}

Error PTXReader::readDirective() {
  if (Lex.is(".target"))
    return readTarget();
  if (Lex.is(".entry"))
    return readEntry();
  if (Lex.is(".global") || Lex.is(".const"))
    return readVariables(Lex.is(".const"));
  if (Lex.is("{"))
    return Lex.skipBlock('{', '}') ? Error::success() : expected("'}'");
  if (Lex.take(";"))
    return Error::success();
  if (!Lex.is(".version") && !Lex.is(".address_size"))
    return expected("a directive");
  Lex.next();
  if (Expected<uint64_t> Number = readNumber("a number"); !Number)
    return Number.takeError();
  if (Lex.isDirective() && isDigit(Lex.token()[1]))
    Lex.next();
  return Error::success();
}

Expected<KernelBinary> PTXReader::read() {
  static constexpr StringLiteral Read[] = {
      ".target",  ".entry",        ".global", ".const",
      ".version", ".address_size", "{",       ";"};
  // Within a function's head, debug information or what else needs no
  // reading: up to a semicolon or a block.
  bool Skipping = false;
  while (!Lex.atEnd()) {
    if (Lex.is(".visible") || Lex.is(".weak") || Lex.is(".common") ||
        Lex.is(".extern")) {
      Extern |= Lex.is(".extern");
      Lex.next();
    } else if (is_contained(Read, Lex.token()) ||
               !(Skipping || Lex.isDirective() || Lex.is("@"))) {
      if (Error E = readDirective())
        return std::move(E);
      Extern = Skipping = false;
    } else {
      Skipping = true;
      Lex.next();
    }
  }
  if (!Binary.Arch)
    return fail("the text names no .target");
  return std::move(Binary);
}

bool launchjit::looksLikePTX(StringRef Text) {
  return PTXLexer(Text).is(".version");
}

Expected<KernelBinary> launchjit::readPTX(StringRef Text, StringRef Where) {
  return PTXReader(Text, Where).read();
}
