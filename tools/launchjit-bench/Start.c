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
  if (argc != 3)
    return 2;
  struct timespec Start, End;
  clock_gettime(CLOCK_MONOTONIC, &Start);
  void *Library = dlopen("liblaunchjit.so", RTLD_NOW | RTLD_LOCAL);
  if (!Library) {
    fprintf(stderr, "launchjit-bench-start: %s\n", dlerror());
    return 1;
  }
  lj_error *(*Parse)(const char *, size_t, const lj_signature_options *,
                     lj_signature **);
  lj_error *(*Create)(const lj_signature *, lj_entry_kind, const char *,
                      lj_launcher **);
  lj_error *(*GetInfo)(const lj_launcher *, lj_launcher_info *);
  *(void **)&Parse = dlsym(Library, "lj_signature_parse");
  *(void **)&Create = dlsym(Library, "lj_launcher_create");
  *(void **)&GetInfo = dlsym(Library, "lj_launcher_get_info");
  lj_signature *Signature;
  lj_launcher *Launcher;
  lj_launcher_info Info = {.struct_size = sizeof Info};
  if (Parse(argv[2], strlen(argv[2]), NULL, &Signature) ||
      Create(Signature, (lj_entry_kind)atoi(argv[1]), NULL, &Launcher) ||
      GetInfo(Launcher, &Info))
    return 1;
  clock_gettime(CLOCK_MONOTONIC, &End);
  printf("%lld %d\n",
         (long long)(End.tv_sec - Start.tv_sec) * 1000000000 +
             (End.tv_nsec - Start.tv_nsec),
         (int)Info.origin);
  return 0;
}
