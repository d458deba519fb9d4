//===- FileLimit.cpp - How large a file may become ------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/FileLimit.h"
#include <sys/resource.h>

uint64_t launchjit::fileSizeLimit() {
  rlimit Limit;
  return getrlimit(RLIMIT_FSIZE, &Limit) ? UINT64_MAX : Limit.rlim_cur;
}
