//===- FileCalls.h - The system calls of the cache, as a table ------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_CACHE_FILECALLS_H
#define LAUNCHJIT_CACHE_FILECALLS_H

#include <cstddef>
#include <sys/stat.h>
#include <sys/types.h>

namespace launchjit {

/// The calls through which the cache reaches files, each as in POSIX. A table,
/// so that a test can make any of them fail as a network file system does.
struct FileCalls {
  int (*OpenAt)(int Dir, const char *Name, int Flags, mode_t Mode);
  int (*FStat)(int FD, struct stat *S);
  ssize_t (*Read)(int FD, void *To, size_t Size);
  ssize_t (*Write)(int FD, const void *From, size_t Size);
  int (*RenameAt)(int Dir, const char *From, const char *To);
  int (*UnlinkAt)(int Dir, const char *Name);
  int (*Close)(int FD);
};

const FileCalls &systemFileCalls();

} // namespace launchjit

#endif // LAUNCHJIT_CACHE_FILECALLS_H
