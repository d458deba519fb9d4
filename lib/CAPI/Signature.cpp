//===- Signature.cpp - Signatures and layouts for C -----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace launchjit;

static size_t countSlots(const ABIType &T) {
  if (T.Kind == ParamKind::Constexpr)
    return 0;
  if (T.Kind != ParamKind::Tuple)
    return 1;
  size_t Count = 0;
  for (const ABIType &Element : T.Elements)
    Count += countSlots(Element);
  return Count;
}

lj_signature *launchjit::toC(Signature S) {
  std::vector<size_t> FirstSlot = {0};
  for (const Parameter &P : S.parameters())
    FirstSlot.push_back(FirstSlot.back() + countSlots(P.Type));
  std::string Text = S.str();
  return new lj_signature{std::move(S), std::move(Text), std::move(FirstSlot)};
}

lj_error *lj_signature_parse(const char *text, size_t size,
                             const lj_signature_options *options,
                             lj_signature **signature) {
  LJ_REQUIRE_ARRAY(text, size);
  LJ_REQUIRE(signature);
  SignatureOptions Options;
  if (options) {
    LJ_REQUIRE_STRUCT(lj_signature_options, options);
    lj_signature_options In = readStruct(options);
    Expected<unsigned> Scratch =
        Signature::parseScratch(In.scratch ? In.scratch : "");
    if (!Scratch)
      return toC(Scratch.takeError());
    Options.Scratch = *Scratch;
    Options.LargeParameters = In.large_parameters;
  }
  Expected<Signature> S = Signature::parse({text, size}, Options);
  if (!S)
    return toC(S.takeError());
  *signature = toC(std::move(*S));
  return nullptr;
}

void lj_signature_delete(lj_signature *signature) { delete signature; }

lj_string lj_signature_text(const lj_signature *signature) {
  return toC(signature ? StringRef(signature->Text) : "");
}

lj_string lj_signature_abi(const lj_signature *signature) {
  return toC(signature ? StringRef(signature->S.abi().str()) : "");
}

size_t lj_signature_size(const lj_signature *signature) {
  return signature ? signature->S.abi().size() : 0;
}

size_t lj_signature_num_parameters(const lj_signature *signature) {
  return signature ? signature->S.slots().size() : 0;
}

lj_error *lj_signature_parameter(const lj_signature *signature, size_t index,
                                 lj_parameter *parameter) {
  LJ_REQUIRE(signature);
  LJ_REQUIRE_STRUCT(lj_parameter, parameter);
  const Signature &S = signature->S;
  LJ_REQUIRE_INDEX(index, S.slots().size());
  const NamedSlot &Slot = S.slots()[index];
  lj_parameter P = {};
  P.name = toC(StringRef(Slot.Name));
  P.type = toC(StringRef(Slot.Spelling));
  P.c_type = toC(cTypeName(Slot.Where.Kind));
  P.offset = Slot.Where.Offset;
  P.size = Slot.Where.Size;
  P.align = Slot.Where.Align;
  P.divisible_by = Slot.DivisibleBy;
  P.hidden = index >= S.abi().slots().size();
  fillStruct(parameter, P);
  return nullptr;
}

size_t lj_signature_num_arguments(const lj_signature *signature) {
  return signature ? signature->S.parameters().size() : 0;
}

lj_error *lj_signature_argument(const lj_signature *signature, size_t index,
                                lj_argument *argument) {
  LJ_REQUIRE(signature);
  LJ_REQUIRE_STRUCT(lj_argument, argument);
  LJ_REQUIRE_INDEX(index, signature->S.parameters().size());
  const Parameter &P = signature->S.parameters()[index];
  const std::vector<size_t> &First = signature->FirstSlot;
  lj_argument A = {};
  A.name = toC(StringRef(P.Name));
  A.type = toC(StringRef(P.Spelling));
  A.first = First[index];
  A.count = First[index + 1] - First[index];
  fillStruct(argument, A);
  return nullptr;
}

// What C up to 23, C++ up to 20 and GNU's dialects take, and what the typedef
// itself names.
static const char TakenNames[] =
    " NULL alignas alignof and and_eq asm auto bitand bitor bool break case"
    " catch char char16_t char32_t char8_t class co_await co_return co_yield"
    " compl concept const const_cast consteval constexpr constinit continue"
    " decltype default delete do double dynamic_cast else enum explicit"
    " export extern false float for friend goto grid_x grid_y grid_z if"
    " inline int int16_t int32_t int64_t int8_t kernel linux lj_kernel long"
    " mutable namespace new noexcept not not_eq nullptr operator or or_eq"
    " private protected public register reinterpret_cast requires restrict"
    " return short signed sizeof static static_assert static_cast stream"
    " struct switch template this thread_local throw true try typedef typeid"
    " typename typeof typeof_unqual uint16_t uint32_t uint64_t uint8_t union"
    " unix unsigned using virtual void volatile wchar_t while xor xor_eq"
    " ";

/// Whether C and C++ let a program call something so.
static bool isIdentifier(StringRef Name) {
  return !Name.empty() && !isDigit(Name[0]) &&
         all_of(Name, [](char C) { return isAlnum(C) || C == '_'; }) &&
         !StringRef(TakenNames).contains((" " + Name + " ").str());
}

/// What the typedef calls a parameter: its own name, as far as C allows.
static std::string parameterName(StringRef Name, size_t Index,
                                 StringSet<> &Used) {
  std::string Result;
  for (char C : Name)
    if (isAlnum(C) || C == '_')
      Result += C;
    else if (C != ']')
      Result += '_';
  // Leading underscores are the implementation's: its macros have them.
  if (Result.empty())
    Result = "arg" + std::to_string(Index);
  else if (Result[0] == '_' || isDigit(Result[0]))
    Result = "arg" + Result;
  if (!isIdentifier(Result))
    Result += '_';
  std::string Stem = Result;
  for (unsigned N = 2; !Used.insert(Result).second; ++N)
    Result = Stem + "_" + std::to_string(N);
  return Result;
}

lj_error *lj_signature_c_typedef(const lj_signature *signature,
                                 const char *name, lj_buffer *text) {
  LJ_REQUIRE(signature);
  LJ_REQUIRE(name);
  LJ_REQUIRE(text);
  if (!isIdentifier(name))
    return invalid(__func__,
                   "name is '" + Twine(name) + "', which C cannot call a type");

  std::string Result;
  raw_string_ostream OS(Result);
  OS << "typedef int (*" << name << ")(\n"
     << "    const lj_kernel *kernel, int64_t grid_x, int64_t grid_y, "
        "int64_t grid_z,\n    struct CUstream_st *stream";
  StringSet<> Used;
  for (const auto &[Index, Slot] : enumerate(
           signature->S.slots().drop_back(signature->S.abi().numScratch()))) {
    StringRef Type = cTypeName(Slot.Where.Kind);
    // Needs no header of CUDA's.
    if (Slot.Where.Kind == ParamKind::Pointer)
      Type = "uint64_t";
    OS << ",\n    " << Type << (Type.ends_with("*") ? "" : " ")
       << parameterName(Slot.Name, Index, Used) << " /* " << Slot.Spelling
       << " */";
  }
  OS << ");\n";
  return toC(StringRef(Result), text);
}
