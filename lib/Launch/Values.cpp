//===- Values.cpp - Typed values to parameter bytes -----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Values.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;

IntegerRange launchjit::integerRange(ParamKind K) {
  switch (K) {
  case ParamKind::I1:
  case ParamKind::U1:
    return {0, 1};
  case ParamKind::I8:
    return {INT8_MIN, INT8_MAX};
  case ParamKind::I16:
    return {INT16_MIN, INT16_MAX};
  case ParamKind::I32:
    return {INT32_MIN, INT32_MAX};
  case ParamKind::I64:
    return {INT64_MIN, INT64_MAX};
  case ParamKind::U8:
    return {0, UINT8_MAX};
  case ParamKind::U16:
    return {0, UINT16_MAX};
  case ParamKind::U32:
    return {0, UINT32_MAX};
  default:
    return {0, UINT64_MAX};
  }
}

bool launchjit::storeFloat(ParamKind K, double V, void *To) {
  if (K == ParamKind::FP64) {
    std::memcpy(To, &V, sizeof V);
    return true;
  }
  if (K == ParamKind::FP32) {
    float F = static_cast<float>(V);
    std::memcpy(To, &F, sizeof F);
    return true;
  }
  APFloat A(V);
  bool Inexact;
  APFloat::opStatus S =
      A.convert(K == ParamKind::FP16 ? APFloat::IEEEhalf() : APFloat::BFloat(),
                APFloat::rmNearestTiesToEven, &Inexact);
  if (K == ParamKind::FP16 && S & APFloat::opOverflow)
    return false;
  auto Bits = static_cast<uint16_t>(A.bitcastToAPInt().getZExtValue());
  std::memcpy(To, &Bits, sizeof Bits);
  return true;
}

namespace {

/// One value on its way into one slot.
struct Conversion {
  const Signature &S;
  unsigned Index;
  const Slot &Where;
  void *To;

  Error fail(Status Code, const Twine &What) const {
    ErrorDetail D;
    D.Code = Code;
    D.Argument = Index;
    D.Message = (describeSlot(S, Index) + ": " + What).str();
    return makeError(std::move(D));
  }

  Error wrongType(const char *Got) const {
    return fail(Status::ArgumentType,
                Twine(Got) + " was given; " + wanted() + " is wanted");
  }

  std::string wanted() const {
    if (Where.Kind == ParamKind::Pointer)
      return "a pointer";
    if (!isScalar(Where.Kind))
      return std::to_string(Where.Size) + " bytes";
    return isInteger(Where.Kind) ? "an integer" : "a number";
  }

  /// An integer, as its sign and its 64 bits.
  Error storeInteger(bool Negative, uint64_t Bits) const {
    IntegerRange R = integerRange(Where.Kind);
    bool Fits = Negative ? static_cast<int64_t>(Bits) >= R.Min : Bits <= R.Max;
    if (!Fits)
      return fail(Status::ArgumentRange,
                  (Negative ? Twine(static_cast<int64_t>(Bits)) : Twine(Bits)) +
                      " does not fit; allowed is " + Twine(R.Min) + " to " +
                      Twine(R.Max));
    std::memcpy(To, &Bits, Where.Size); // little-endian
    return Error::success();
  }

  Error storeFloating(double V) const {
    if (storeFloat(Where.Kind, V, To))
      return Error::success();
    SmallString<32> Text;
    APFloat(V).toString(Text, /*FormatPrecision=*/15, /*FormatMaxPadding=*/20);
    return fail(Status::ArgumentRange,
                Text + " does not fit; the largest fp16 is 65504");
  }

  Error storeBytes(const Value &V) const {
    if (V.Size != Where.Size)
      return fail(Status::ArgumentValue, Twine(V.Size) + " bytes were given; " +
                                             Twine(Where.Size) + " are wanted");
    if (!V.P)
      return fail(Status::ArgumentValue, "the address of its bytes is null");
    if (Where.Kind == ParamKind::I1 || Where.Kind == ParamKind::U1)
      return storeInteger(false, *static_cast<const uint8_t *>(V.P));
    std::memcpy(To, V.P, Where.Size);
    return Error::success();
  }

  Error store(const Value &V) const {
    bool Integer = isScalar(Where.Kind) && isInteger(Where.Kind);
    bool Floating = isScalar(Where.Kind) && !Integer;
    switch (V.Kind) {
    case Value::Int:
      if (Integer)
        return storeInteger(V.I < 0, V.U);
      return Floating ? storeFloating(static_cast<double>(V.I))
                      : wrongType("an integer");
    case Value::UInt:
      if (Integer || Where.Kind == ParamKind::Pointer)
        break;
      return Floating ? storeFloating(static_cast<double>(V.U))
                      : wrongType("an integer");
    case Value::Float:
      return Floating ? storeFloating(V.F) : wrongType("a floating number");
    case Value::Pointer:
      if (Where.Kind != ParamKind::Pointer)
        return wrongType("a pointer");
      break;
    case Value::Bytes:
      return storeBytes(V);
    default:
      return fail(Status::InvalidArgument, "the value's type is " +
                                               Twine(static_cast<int>(V.Kind)) +
                                               "; allowed is 0 to 4");
    }
    if (Integer)
      return storeInteger(false, V.U);
    std::memcpy(To, &V.U, sizeof V.U);
    return Error::success();
  }
};

} // namespace

void launchjit::printValue(raw_ostream &OS, const Slot &Where,
                           const void *From) {
  if (!isScalar(Where.Kind) && Where.Kind != ParamKind::Pointer) {
    constexpr uint32_t MaxShown = 32;
    ArrayRef Bytes(static_cast<const uint8_t *>(From), Where.Size);
    OS << "0x" << toHex(Bytes.take_front(MaxShown), /*LowerCase=*/true);
    if (Where.Size > MaxShown)
      OS << "... (" << Where.Size << " bytes)";
    return;
  }
  uint64_t Bits = 0;
  std::memcpy(&Bits, From, Where.Size); // little-endian
  auto Float = [&](const fltSemantics &S) {
    SmallString<32> Text;
    APFloat(S, APInt(8 * Where.Size, Bits)).toString(Text);
    OS << Text;
  };
  switch (Where.Kind) {
  case ParamKind::Pointer:
    OS << "0x";
    OS.write_hex(Bits);
    break;
  case ParamKind::FP16:
    return Float(APFloat::IEEEhalf());
  case ParamKind::BF16:
    return Float(APFloat::BFloat());
  case ParamKind::FP32:
    return Float(APFloat::IEEEsingle());
  case ParamKind::FP64:
    return Float(APFloat::IEEEdouble());
  default:
    if (integerRange(Where.Kind).Min < 0)
      OS << SignExtend64(Bits, 8 * Where.Size);
    else
      OS << Bits;
  }
}

Error launchjit::storeValue(const Signature &S, unsigned Index, const Value &V,
                            void *To) {
  return Conversion{S, Index, S.abi().slots()[Index], To}.store(V);
}
