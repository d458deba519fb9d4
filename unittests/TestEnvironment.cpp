//===- TestEnvironment.cpp - What every test starts with ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cstdlib>

/// What a test finds must not depend on what an earlier run left in the user's
/// cache; the tests of the cache say where theirs is.
static const int CacheOff = setenv("LAUNCHJIT_CACHE", "off", /*replace=*/0);
