//===- FileCalls.cpp - The system calls of the cache, as a table ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/FileCalls.h"
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

const launchjit::FileCalls &launchjit::systemFileCalls() {
  static constexpr FileCalls Calls = {
      [](int Dir, const char *Name, int Flags, mode_t Mode) {
        return openat(Dir, Name, Flags, Mode);
      },
      [](int FD, struct stat *S) { return fstat(FD, S); },
      [](int FD, void *To, size_t Size) { return read(FD, To, Size); },
      [](int FD, const void *From, size_t Size) {
        return write(FD, From, Size);
      },
      [](int Dir, const char *From, const char *To) {
        return renameat(Dir, From, Dir, To);
      },
      [](int Dir, const char *Name) { return unlinkat(Dir, Name, 0); },
      [](int FD) { return close(FD); }};
  return Calls;
}
