//===- ErrorNames.cpp - The CUDA driver's error codes by name -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Driver/Driver.h"

using namespace llvm;
using namespace launchjit;

StringRef Driver::errorName(CUresult Result) {
  switch (int(Result)) {
#define LAUNCHJIT_CUDA_ERROR(Name, Value)                                      \
  case Value:                                                                  \
    return #Name;
#include "Errors.def"
  default:
    return "an unknown CUresult";
  }
}
