//===- FileCalls.cpp - The system calls of the cache, as a table ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/FileCalls.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

const launchjit::FileCalls &launchjit::systemFileCalls() {
  static constexpr FileCalls Calls = {
      [](int Dir, const char *Name, int Flags, mode_t Mode) {
        int FD = openat(Dir, Name, Flags, Mode);
        if (FD < 0 || FD > STDERR_FILENO)
          return FD;
        // In a process without standard streams, what is printed would get
        // into the entry.
        int Higher = fcntl(FD, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        int Number = errno;
        close(FD);
        errno = Number;
        return Higher;
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
