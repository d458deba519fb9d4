/*===- Start.c - The first launcher of a new process ----------------------===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#define _POSIX_C_SOURCE 199309L
#include "launchjit-c/launchjit.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Prints the nanoseconds from before the library is loaded until a launcher of
 * the entry kind argv[1] and the signature argv[2] can be called. */
int main(int argc, char **argv) {
  struct timespec start, end;
  void *library;
  lj_error *(*parse)(const char *, size_t, const lj_signature_options *,
                     lj_signature **);
  lj_error *(*create)(const lj_signature *, lj_entry_kind, const char *,
                      lj_launcher **);
  lj_error *(*get_info)(const lj_launcher *, lj_launcher_info *);
  lj_signature *signature;
  lj_launcher *launcher;
  lj_launcher_info info;

  if (argc != 3)
    return 2;
  info.struct_size = sizeof info;
  clock_gettime(CLOCK_MONOTONIC, &start);
  library = dlopen("liblaunchjit.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "launchjit-bench-start: %s\n", dlerror());
    return 1;
  }
  *(void **)&parse = dlsym(library, "lj_signature_parse");
  *(void **)&create = dlsym(library, "lj_launcher_create");
  *(void **)&get_info = dlsym(library, "lj_launcher_get_info");
  if (parse(argv[2], strlen(argv[2]), NULL, &signature) ||
      create(signature, (lj_entry_kind)atoi(argv[1]), NULL, &launcher) ||
      get_info(launcher, &info))
    return 1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%lld %d\n",
         (long long)(end.tv_sec - start.tv_sec) * 1000000000 +
             (end.tv_nsec - start.tv_nsec),
         (int)info.origin);
  return 0;
}
