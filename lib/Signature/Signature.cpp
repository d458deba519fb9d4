//===- Signature.cpp - A kernel's signature, as people write it -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Signature/Signature.h"
#include "Parser.h"
#include "TypeNames.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace launchjit;

static Expected<ABI> makeABI(ArrayRef<Parameter> Parameters,
                             const SignatureOptions &Options) {
  std::vector<ABIType> Types;
  Types.reserve(Parameters.size());
  for (const Parameter &P : Parameters)
    Types.push_back(P.Type);
  return ABI::create(std::move(Types), Options.Scratch,
                     Options.LargeParameters ? MaxLargeParameterBytes
                                             : MaxParameterBytes);
}

/// Appends the kernel's parameters in \p P, but for where they are.
static void appendSlots(std::vector<NamedSlot> &Slots, const Parameter &P,
                        const std::string &Name) {
  if (P.Type.Kind == ParamKind::Constexpr)
    return;
  if (P.Type.Kind != ParamKind::Tuple) {
    Slots.push_back({Name, P.Spelling, P.DivisibleBy, {}});
    return;
  }
  for (size_t I = 0; I != P.Elements.size(); ++I)
    appendSlots(Slots, P.Elements[I],
                Name.empty() ? Name : Name + "[" + utostr(I) + "]");
}

static std::vector<NamedSlot> nameSlots(ArrayRef<Parameter> Parameters,
                                        const ABI &A) {
  std::vector<NamedSlot> Slots;
  Slots.reserve(A.allSlots().size());
  for (const Parameter &P : Parameters)
    appendSlots(Slots, P, P.Name);
  if (A.scratch() & ScratchGlobal)
    Slots.push_back({"global_scratch", "*i8", 0, {}});
  if (A.scratch() & ScratchProfile)
    Slots.push_back({"profile_scratch", "*i8", 0, {}});
  assert(Slots.size() == A.allSlots().size());
  for (size_t I = 0; I != Slots.size(); ++I)
    Slots[I].Where = A.allSlots()[I];
  return Slots;
}

Expected<Signature> Signature::parse(StringRef Text,
                                     const SignatureOptions &Options) {
  Signature S;
  Parser P(Text);
  if (Error E = P.parseSignature(S.Parameters))
    return E;
  Expected<ABI> A = makeABI(S.Parameters, Options);
  if (!A)
    return P.locate(A.takeError());
  S.Slots = nameSlots(S.Parameters, *A);
  S.Options = Options;
  S.TheABI = std::move(*A);
  return S;
}

static std::string spellingOf(const ABIType &T) {
  switch (T.Kind) {
  case ParamKind::Pointer:
    return "*void";
  case ParamKind::Struct:
    return "struct<" + utostr(T.Size) + "," + utostr(T.Align) + ">";
  case ParamKind::TensorMap:
    return T.Align == 128 ? "nvTmaDesc<128>" : "nvTmaDesc";
  case ParamKind::Constexpr:
    return "constexpr";
  default:
    return scalarName(T.Kind).str();
  }
}

static Error completeFromSpelling(Parameter &P) {
  Parameter Read;
  if (Error E = Parser(P.Spelling).parseLoneType(Read))
    return E;
  if (!(Read.Type == P.Type) || Read.DivisibleBy)
    return makeError(Status::Signature,
                     "'" + P.Spelling + "' does not spell its type");
  P.Spelling = std::move(Read.Spelling);
  P.Elements = std::move(Read.Elements);
  return Error::success();
}

/// Makes what somebody filled in what the parser would have made.
static Error complete(Parameter &P) {
  if (P.DivisibleBy && !isScalar(P.Type.Kind) &&
      P.Type.Kind != ParamKind::Pointer)
    return makeError(Status::Signature,
                     "only a scalar or a pointer has a divisibility");
  if (P.Type.Kind != ParamKind::Tuple) {
    if (!P.Elements.empty())
      return makeError(Status::Signature, "only a tuple has elements");
    if (!P.Spelling.empty())
      return completeFromSpelling(P);
    P.Spelling = spellingOf(P.Type);
    return Error::success();
  }
  if (StringRef(P.Spelling).starts_with("tensordesc") ||
      (P.Elements.empty() && !P.Spelling.empty()))
    return completeFromSpelling(P);

  if (P.Elements.empty())
    for (const ABIType &T : P.Type.Elements)
      P.Elements.emplace_back().Type = T;
  if (P.Elements.size() != P.Type.Elements.size())
    return makeError(Status::Signature,
                     "a tuple's elements are not its type's");
  P.Spelling = "(";
  for (size_t I = 0; I != P.Elements.size(); ++I) {
    Parameter &Element = P.Elements[I];
    if (!Element.Name.empty() || !(Element.Type == P.Type.Elements[I]))
      return makeError(Status::Signature,
                       "a tuple's elements are not its type's");
    if (Error E = complete(Element))
      return E;
    P.Spelling += (I ? ", " : "") + Element.Spelling;
  }
  P.Spelling += ")";
  return Error::success();
}

static Error checkName(StringRef Name, StringSet<> &Names) {
  if (Name.empty())
    return Error::success();
  if (!isIdentifier(Name) || isTypeWord(Name))
    return makeError(Status::Signature,
                     "'" + Name +
                         "' cannot be a parameter's name: it must be "
                         "an identifier and not a type's name");
  if (!Names.insert(Name).second)
    return makeError(Status::Signature,
                     "a second parameter is called '" + Name + "'");
  return Error::success();
}

Expected<Signature> Signature::create(std::vector<Parameter> Parameters,
                                      const SignatureOptions &Options) {
  Expected<ABI> A = makeABI(Parameters, Options);
  if (!A)
    return A.takeError();
  StringSet<> Names;
  for (size_t I = 0; I != Parameters.size(); ++I) {
    Error E = checkName(Parameters[I].Name, Names);
    if (!E)
      E = complete(Parameters[I]);
    if (E) {
      ErrorDetail D = takeDetail(std::move(E));
      D.Message = "parameter " + utostr(I) + ": " + D.Message;
      D.Offset = -1;
      return makeError(std::move(D));
    }
  }
  Signature S;
  S.Slots = nameSlots(Parameters, *A);
  S.Parameters = std::move(Parameters);
  S.Options = Options;
  S.TheABI = std::move(*A);
  return S;
}

Expected<unsigned> Signature::parseScratch(StringRef Text) {
  if (Text.empty())
    return 0u;
  if (Text == "g")
    return unsigned(ScratchGlobal);
  if (Text == "p")
    return unsigned(ScratchProfile);
  if (Text == "gp")
    return unsigned(ScratchGlobal | ScratchProfile);
  return makeError(Status::InvalidArgument,
                   "scratch is '" + Text.take_front(40) +
                       "', but '', 'g' (global), 'p' (profile) and 'gp' are "
                       "what there is");
}

static void appendType(std::string &Out, const Parameter &P) {
  // A descriptor's elements are not in its text.
  if (!StringRef(P.Spelling).starts_with("(")) {
    Out += P.Spelling;
    if (P.DivisibleBy)
      Out += ":" + utostr(P.DivisibleBy);
    return;
  }
  Out += '(';
  for (const Parameter &Element : P.Elements) {
    if (&Element != &P.Elements.front())
      Out += ", ";
    appendType(Out, Element);
  }
  Out += ')';
}

std::string Signature::str() const {
  std::string Out;
  for (const Parameter &P : Parameters) {
    if (&P != &Parameters.front())
      Out += ", ";
    if (!P.Name.empty())
      Out += P.Name + ": ";
    appendType(Out, P);
  }
  return Out;
}

Signature::Signature() = default;
Signature::Signature(const Signature &) = default;
Signature::Signature(Signature &&) = default;
Signature &Signature::operator=(const Signature &) = default;
Signature &Signature::operator=(Signature &&) = default;
Signature::~Signature() = default;
