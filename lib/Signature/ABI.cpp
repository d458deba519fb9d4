//===- ABI.cpp - The canonical ABI of a kernel's parameters ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Signature/ABI.h"
#include "Scanner.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace llvm;
using namespace launchjit;

namespace {

constexpr uint32_t PointerBytes = 8;
constexpr uint32_t TensorMapBytes = 128;

struct ScalarInfo {
  StringLiteral Name;
  StringLiteral CType;
  unsigned Size;
};

constexpr ScalarInfo Scalars[] = {
#define X(Name, Text, CType, Size) {Text, CType, Size},
    LAUNCHJIT_SCALARS(X)
#undef X
};

const ScalarInfo &info(ParamKind K) {
  assert(isScalar(K));
  return Scalars[static_cast<unsigned>(K)];
}

/// What an ABIType that people fill in may have wrong; empty if nothing.
StringRef faultOf(const ABIType &T) {
  if (T.Kind > ParamKind::Tuple)
    return "there is no such kind of parameter";
  if (T.Kind != ParamKind::Tuple && !T.Elements.empty())
    return "only a tuple has elements";
  if (T.Kind == ParamKind::Struct) {
    if (!T.Size)
      return "a struct has at least 1 byte";
    if (!isPowerOf2_32(T.Align) || T.Align > MaxStructAlign)
      return "a struct's alignment is a power of two up to 256";
    return "";
  }
  uint32_t Size = 0, Align = 1;
  if (isScalar(T.Kind))
    Size = Align = scalarSize(T.Kind);
  else if (T.Kind == ParamKind::Pointer)
    Size = Align = PointerBytes;
  else if (T.Kind == ParamKind::TensorMap) {
    Size = TensorMapBytes;
    Align = T.Align == 128 ? 128 : 64;
  }
  if (T.Size != Size || T.Align != Align)
    return "a type's size and alignment are not its kind's";
  return "";
}

Error check(ArrayRef<ABIType> Types, unsigned Depth) {
  if (Depth > MaxTupleDepth)
    return makeError(Status::Signature, "tuples nest deeper than " +
                                            Twine(MaxTupleDepth) + " levels");
  for (const ABIType &T : Types) {
    if (StringRef Fault = faultOf(T); !Fault.empty())
      return makeError(Status::Signature, Fault);
    if (T.Kind == ParamKind::Tuple)
      if (Error E = check(T.Elements, Depth + 1))
        return E;
  }
  return Error::success();
}

void appendText(std::string &Out, const ABIType &T) {
  switch (T.Kind) {
  case ParamKind::Pointer:
    Out += 'p';
    return;
  case ParamKind::Struct:
    Out += 's' + utostr(T.Size) + 'a' + utostr(T.Align);
    return;
  case ParamKind::TensorMap:
    Out += 't' + utostr(T.Align);
    return;
  case ParamKind::Constexpr:
    Out += '_';
    return;
  case ParamKind::Tuple:
    Out += '(';
    for (const ABIType &E : T.Elements)
      appendText(Out, E);
    Out += ')';
    return;
  default:
    Out += scalarName(T.Kind);
  }
}

void appendFlatText(std::string &Out, const ABIType &T) {
  if (T.Kind == ParamKind::Tuple)
    for (const ABIType &E : T.Elements)
      appendFlatText(Out, E);
  else if (T.Kind != ParamKind::Constexpr)
    appendText(Out, T);
}

StringRef scratchText(unsigned Scratch) {
  static constexpr StringLiteral Texts[] = {"", "+g", "+p", "+gp"};
  return Texts[Scratch];
}

/// Puts parameters one after another, as CUDA does. The end is 64 bits wide
/// so that it cannot wrap: each of at most 2^32 parameters adds less than
/// 2^32 bytes.
class Layout {
public:
  explicit Layout(uint32_t MaxBytes) : MaxBytes(MaxBytes) {}

  void add(const ABIType &T) {
    if (T.Kind == ParamKind::Tuple) {
      for (const ABIType &E : T.Elements)
        add(E);
      return;
    }
    if (T.Kind == ParamKind::Constexpr)
      return;
    uint64_t Offset = alignTo(End, uint64_t(T.Align));
    End = Offset + T.Size;
    if (End > MaxBytes && FirstBeyond < 0)
      FirstBeyond = static_cast<int64_t>(Slots.size());
    MaxAlign = std::max(MaxAlign, T.Align);
    Slots.push_back({T.Kind, static_cast<uint32_t>(Offset), T.Size, T.Align});
  }

  Error checkSize() const {
    if (FirstBeyond < 0)
      return Error::success();
    std::string Message =
        ("parameters take " + Twine(End) + " bytes, but at most " +
         Twine(MaxBytes) + " are allowed")
            .str();
    if (MaxBytes < End && End <= MaxLargeParameterBytes)
      Message += "; large parameters (" + utostr(MaxLargeParameterBytes) +
                 " bytes) must be asked for";
    return makeError(
        ErrorDetail{Status::Signature, std::move(Message), FirstBeyond, -1, 0});
  }

  std::vector<Slot> Slots;
  uint64_t End = 0;
  uint32_t MaxAlign = 1;

private:
  uint32_t MaxBytes;
  int64_t FirstBeyond = -1;
};

class ABIParser : Scanner {
public:
  explicit ABIParser(StringRef Text) : Scanner("abi", Text) {}

  Expected<ABI> run() {
    std::vector<ABIType> Types;
    if (Error E = readTypes(Types, 0))
      return E;
    unsigned Scratch = 0;
    if (peek() == '+') {
      for (unsigned S : {1u, 2u, 3u})
        if (rest() == scratchText(S))
          Scratch = S;
      if (!Scratch)
        return fail(Pos, "hidden parameters are '+g', '+p' or '+gp', at the "
                         "very end");
    } else if (!atEnd())
      return expected("a type, '+' or the end");
    Expected<ABI> A = ABI::create(std::move(Types), Scratch);
    if (!A)
      return locate(A.takeError());
    assert(A->str() == Text && "a text that is not canonical was accepted");
    return A;
  }

private:
  /// Reads types for as long as there are any.
  Error readTypes(std::vector<ABIType> &Types, unsigned Depth) {
    while (!atEnd() && peek() != ')' && peek() != '+') {
      ABIType T;
      if (Error E = readType(T, Depth))
        return E;
      Types.push_back(std::move(T));
    }
    return Error::success();
  }

  Error readType(ABIType &T, unsigned Depth) {
    size_t Start = Pos;
    if (consume("("))
      return readTuple(T, Start, Depth + 1);
    if (consume("_")) {
      T = ABIType::constexpr_();
      return Error::success();
    }
    SlotOffsets.push_back(Start);
    if (consume("p"))
      T = ABIType::pointer();
    else if (consume("t128"))
      T = ABIType::tensorMap(128);
    else if (consume("t64"))
      T = ABIType::tensorMap(64);
    else if (consume("s"))
      return readStruct(T, Start);
    else
      return readScalar(T);
    return Error::success();
  }

  Error readTuple(ABIType &T, size_t Start, unsigned Depth) {
    if (Depth > MaxTupleDepth)
      return fail(Start, "tuples nest deeper than " + Twine(MaxTupleDepth) +
                             " levels");
    T = ABIType::tuple({});
    if (Error E = readTypes(T.Elements, Depth))
      return E;
    if (!consume(")"))
      return expected("a type, or the ')' for the '(' at byte " + Twine(Start));
    return Error::success();
  }

  Error readStruct(ABIType &T, size_t Start) {
    uint32_t Size = 0, Align = 1;
    if (Error E = readNumber(Size))
      return E;
    if (!consume("a"))
      return expected("'a' and the struct's alignment");
    if (Error E = readNumber(Align))
      return E;
    T = ABIType::structure(Size, Align);
    if (StringRef Fault = faultOf(T); !Fault.empty())
      return fail(Start, Fault);
    return Error::success();
  }

  Error readNumber(uint32_t &Value) {
    size_t Start = Pos;
    StringRef Digits = takeDigits();
    if (Digits.empty())
      return expected("a number");
    if (Digits.front() == '0')
      return fail(Start, "a number here begins with 1 to 9");
    if (Digits.getAsInteger(10, Value))
      return fail(Start, "a number here is at most " +
                             Twine(std::numeric_limits<uint32_t>::max()));
    return Error::success();
  }

  Error readScalar(ABIType &T) {
    const ScalarInfo *Longest = nullptr;
    for (const ScalarInfo &S : Scalars)
      if (rest().starts_with(S.Name) &&
          (!Longest || S.Name.size() > Longest->Name.size()))
        Longest = &S;
    if (!Longest)
      return expected("a type (p, a scalar such as i32 or fp16, "
                      "s<size>a<align>, t64, t128, _ or '(')");
    Pos += Longest->Name.size();
    T = ABIType::scalar(static_cast<ParamKind>(Longest - Scalars));
    return Error::success();
  }
};

} // namespace

StringRef launchjit::scalarName(ParamKind K) { return info(K).Name; }

unsigned launchjit::scalarSize(ParamKind K) { return info(K).Size; }

StringRef launchjit::cTypeName(ParamKind K) {
  if (isScalar(K))
    return info(K).CType;
  if (K == ParamKind::Pointer)
    return "CUdeviceptr";
  assert((K == ParamKind::Struct || K == ParamKind::TensorMap) &&
         "`c` takes no constexpr, and tuples flattened");
  return "const void *";
}

ABIType ABIType::scalar(ParamKind K) {
  return {K, scalarSize(K), scalarSize(K), {}};
}

ABIType ABIType::pointer() {
  return {ParamKind::Pointer, PointerBytes, PointerBytes, {}};
}

ABIType ABIType::constexpr_() { return {ParamKind::Constexpr, 0, 1, {}}; }

ABIType ABIType::structure(uint32_t Size, uint32_t Align) {
  return {ParamKind::Struct, Size, Align, {}};
}

ABIType ABIType::tensorMap(uint32_t Align) {
  return {ParamKind::TensorMap, TensorMapBytes, Align, {}};
}

ABIType ABIType::tuple(std::vector<ABIType> Elements) {
  return {ParamKind::Tuple, 0, 1, std::move(Elements)};
}

bool ABIType::operator==(const ABIType &O) const {
  return Kind == O.Kind && Size == O.Size && Align == O.Align &&
         Elements == O.Elements;
}

Expected<ABI> ABI::create(std::vector<ABIType> Parameters, unsigned Scratch,
                          uint32_t MaxBytes) {
  if (Scratch & ~(ScratchGlobal | ScratchProfile))
    return makeError(Status::InvalidArgument,
                     "hidden parameters are " + Twine(Scratch) +
                         ", but only the bits 1 (global) and 2 (profile) have "
                         "a meaning");
  if (Error E = check(Parameters, 0))
    return E;

  ABI A;
  Layout L(MaxBytes);
  for (const ABIType &T : Parameters) {
    appendText(A.Text, T);
    L.add(T);
  }
  A.Text += scratchText(Scratch);
  A.Parameters = std::move(Parameters);
  A.Scratch = Scratch;
  for (unsigned I = 0; I != A.numScratch(); ++I)
    L.add(ABIType::pointer());
  if (Error E = L.checkSize())
    return E;
  A.Slots = std::move(L.Slots);
  A.Size = static_cast<uint32_t>(L.End);
  A.Align = L.MaxAlign;
  return A;
}

Expected<ABI> ABI::parse(StringRef Text) { return ABIParser(Text).run(); }

std::string ABI::flatStr() const {
  std::string Flat;
  for (const ABIType &T : Parameters)
    appendFlatText(Flat, T);
  Flat += scratchText(Scratch);
  return Flat;
}
