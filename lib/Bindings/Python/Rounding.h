//===- Rounding.h - From a double to the 16-bit formats -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_ROUNDING_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_ROUNDING_H

#include <cstdint>
#include <cstring>

namespace launchjit::python {

/// \p Value rounded once, to nearest even, to a sign, \p ExponentBits and
/// \p MantissaBits; 16 in all. A NaN stays one, quiet, with the upper bits of
/// its payload. \p Overflow tells whether a finite value became infinite.
inline uint16_t roundTo16(double Value, unsigned ExponentBits,
                          unsigned MantissaBits, bool &Overflow) {
  uint64_t Bits;
  std::memcpy(&Bits, &Value, sizeof(Bits));
  uint64_t Sign = Bits >> 63 << 15;
  int Exponent = static_cast<int>(Bits >> 52 & 0x7ff);
  uint64_t Mantissa = Bits & ((uint64_t(1) << 52) - 1);
  uint64_t Infinity = ((uint64_t(1) << ExponentBits) - 1) << MantissaBits;
  unsigned Shift = 52 - MantissaBits;

  Overflow = false;
  if (Exponent == 0x7ff) {
    uint64_t Quiet = uint64_t(1) << (MantissaBits - 1);
    return Sign | Infinity | (Mantissa ? Quiet | Mantissa >> Shift : 0);
  }
  if (Exponent == 0) // Zero, or far below what either format can hold.
    return Sign;

  int Target = Exponent - 1023 + (1 << (ExponentBits - 1)) - 1;
  uint64_t Significand = Mantissa | uint64_t(1) << 52;
  if (Target <= 0) { // Becomes subnormal.
    Shift += 1 - Target;
    if (Shift > 54)
      return Sign;
    Target = 1;
  }
  uint64_t Quotient = Significand >> Shift;
  uint64_t Remainder = Significand - (Quotient << Shift);
  uint64_t Half = uint64_t(1) << (Shift - 1);
  if (Remainder > Half || (Remainder == Half && (Quotient & 1)))
    ++Quotient;
  // A normal number's leading bit, and a carry, raise the exponent.
  uint64_t Result =
      (static_cast<uint64_t>(Target - 1) << MantissaBits) + Quotient;
  if (Result >= Infinity) {
    Overflow = true;
    Result = Infinity;
  }
  return Sign | Result;
}

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_ROUNDING_H
