//===- CCall.cpp - Calls a `c` entry of any signature, through libffi -----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CCall.h"
#include <cassert>
#include <cstring>
#include <ffi.h>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

/// The C type of an argument, from cTypeName and not from what the stub's
/// builder thinks.
static ffi_type *typeOf(ParamKind K) {
  StringRef Name = cTypeName(K);
  if (Name == "float")
    return &ffi_type_float;
  if (Name == "double")
    return &ffi_type_double;
  if (Name == "const void *")
    return &ffi_type_pointer;
  if (Name == "CUdeviceptr")
    return &ffi_type_uint64;
  if (Name == "int8_t")
    return &ffi_type_sint8;
  if (Name == "int16_t")
    return &ffi_type_sint16;
  if (Name == "int32_t")
    return &ffi_type_sint32;
  if (Name == "int64_t")
    return &ffi_type_sint64;
  if (Name == "uint8_t")
    return &ffi_type_uint8;
  if (Name == "uint16_t")
    return &ffi_type_uint16;
  if (Name == "uint32_t")
    return &ffi_type_uint32;
  assert(Name == "uint64_t" && "a C type that the tests do not know");
  return &ffi_type_uint64;
}

int launchtest::callC(void *Entry, const CallHead &Head, ArrayRef<Slot> Slots,
                      ArrayRef<const void *> Arguments, UpperBits Upper) {
  CallHead Fixed = Head;
  std::vector<ffi_type *> Types = {&ffi_type_pointer, &ffi_type_sint64,
                                   &ffi_type_sint64, &ffi_type_sint64,
                                   &ffi_type_pointer};
  std::vector<void *> Values = {&Fixed.Kernel, &Fixed.Grid[0], &Fixed.Grid[1],
                                &Fixed.Grid[2], &Fixed.Stream};
  std::vector<uint64_t> Words(Slots.size(), 0xDEADBEEFCAFEF00Dull);
  for (size_t I = 0; I != Slots.size(); ++I) {
    ffi_type *T = typeOf(Slots[I].Kind);
    if (T == &ffi_type_pointer) {
      Words[I] = reinterpret_cast<uintptr_t>(Arguments[I]);
    } else {
      std::memcpy(&Words[I], Arguments[I], T->size);
      if (Upper == UpperBits::Noise && T != &ffi_type_float)
        T = T == &ffi_type_double ? T : &ffi_type_uint64;
    }
    Types.push_back(T);
    Values.push_back(&Words[I]);
  }
  ffi_cif Interface;
  [[maybe_unused]] ffi_status S =
      ffi_prep_cif(&Interface, FFI_DEFAULT_ABI, Types.size(), &ffi_type_sint32,
                   Types.data());
  assert(S == FFI_OK);
  ffi_arg Result = 0;
  ffi_call(&Interface, FFI_FN(Entry), &Result, Values.data());
  return static_cast<int>(Result);
}
