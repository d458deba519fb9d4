//===- Decode.cpp - A recorded launch as text -----------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bundled.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cstring>

using namespace llvm;
using namespace launchjit::tool;

std::string launchjit::tool::decoded(StringRef Type, StringRef Bytes) {
  if (Bytes.size() > 8 || Bytes.empty())
    return toHex(Bytes, /*LowerCase=*/true);
  uint64_t Bits = 0;
  std::memcpy(&Bits, Bytes.data(), Bytes.size());
  if (Type.starts_with("*"))
    return "0x" + utohexstr(Bits, /*LowerCase=*/true);

  const fltSemantics *Float = StringSwitch<const fltSemantics *>(Type)
                                  .Case("fp16", &APFloat::IEEEhalf())
                                  .Case("bf16", &APFloat::BFloat())
                                  .Case("fp32", &APFloat::IEEEsingle())
                                  .Case("fp64", &APFloat::IEEEdouble())
                                  .Default(nullptr);
  APInt Value(8 * Bytes.size(), Bits);
  if (Float) {
    SmallString<32> Text;
    APFloat(*Float, Value).toString(Text);
    return Text.str().str();
  }
  if (Type.starts_with("i") || Type.starts_with("u"))
    return toString(Value, 10,
                    /*Signed=*/Type.starts_with("i") && Type != "i1");
  return toHex(Bytes, /*LowerCase=*/true);
}

std::string launchjit::tool::dimensions(const uint32_t (&D)[3]) {
  return grouped(D[0]) + " x " + grouped(D[1]) + " x " + grouped(D[2]);
}

std::string launchjit::tool::describe(const lj_attribute &A) {
  uint32_t Words[16];
  std::memcpy(Words, A.value.bytes, sizeof Words);
  switch (A.id) {
  case LJ_ATTRIBUTE_COOPERATIVE:
    return "cooperative " + std::to_string(Words[0]);
  case LJ_ATTRIBUTE_CLUSTER_DIMENSION:
    return "cluster " + dimensions({Words[0], Words[1], Words[2]});
  default:
    return "attribute " + std::to_string(A.id);
  }
}
