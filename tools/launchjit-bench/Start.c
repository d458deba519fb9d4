/*===- Start.c - A new process that makes launchers ----------------------===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#define _POSIX_C_SOURCE 200809L
#include "launchjit-c/launchjit.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec T;
  clock_gettime(CLOCK_MONOTONIC, &T);
  return T.tv_sec * 1000000000ll + T.tv_nsec;
}

/* The nth of 10,000 signatures of that many parameters, at least 4: pointers,
 * floats and ints, and the last four differ. */
static void nthSignature(int N, int Parameters, char *Text) {
  static const char *const Types[] = {"*fp32", "i32", "fp32", "i64", "fp64",
                                      "i8",    "i16", "u32",  "u8",  "fp16"};
  *Text = 0;
  for (int I = 0; I != Parameters; ++I) {
    const char *Type = I < 9 ? "*fp32" : I % 2 ? "i32" : "fp32";
    if (I >= Parameters - 4) {
      Type = Types[N % 10];
      N /= 10;
    }
    strcat(strcat(Text, I ? "," : ""), Type);
  }
}

static long residentBytes(void) {
  long Total = 0, Resident = 0;
  FILE *F = fopen("/proc/self/statm", "r");
  if (!F || fscanf(F, "%ld %ld", &Total, &Resident) != 2)
    Resident = 0;
  if (F)
    fclose(F);
  return Resident * sysconf(_SC_PAGESIZE);
}

static int countMappings(void) {
  int Lines = 0;
  FILE *F = fopen("/proc/self/maps", "r");
  for (int C; F && (C = fgetc(F)) != EOF;)
    Lines += C == '\n';
  if (F)
    fclose(F);
  return Lines;
}

static int compare(const void *A, const void *B) {
  long long X = *(const long long *)A, Y = *(const long long *)B;
  return (X > Y) - (X < Y);
}

/* Makes COUNT launchers of an entry kind, all of which stay alive, and prints:
 * the nanoseconds from before the library is loaded until the first can be
 * called; those of all; minimum and median of the others; the last one's
 * origin; resident bytes at the end; how many of them, and how many memory
 * mappings, came after the first 24, which start what is started once. The
 * library named last, if any, is loaded too. */
int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  lj_entry_kind Kind = (lj_entry_kind)atoi(argv[1]);
  int Parameters = atoi(argv[2]), Count = atoi(argv[3]);
  if (Parameters < 4 || Parameters > 64 || Count < 1 || Count > 10000)
    return 2;
  long long *Times = calloc(Count, sizeof *Times);
  long long Begin = now();
  void *Library = dlopen("liblaunchjit.so", RTLD_NOW | RTLD_LOCAL);
  if (!Library || (argc > 4 && !dlopen(argv[4], RTLD_NOW | RTLD_LOCAL))) {
    fprintf(stderr, "launchjit-bench-start: %s\n", dlerror());
    return 1;
  }
  lj_error *(*Parse)(const char *, size_t, const lj_signature_options *,
                     lj_signature **);
  lj_error *(*Create)(const lj_signature *, lj_entry_kind, const char *,
                      lj_launcher **);
  lj_error *(*GetInfo)(const lj_launcher *, lj_launcher_info *);
  void (*Delete)(lj_signature *);
  *(void **)&Parse = dlsym(Library, "lj_signature_parse");
  *(void **)&Create = dlsym(Library, "lj_launcher_create");
  *(void **)&GetInfo = dlsym(Library, "lj_launcher_get_info");
  *(void **)&Delete = dlsym(Library, "lj_signature_delete");
  lj_signature *Signature;
  lj_launcher *Launcher = NULL;
  lj_launcher_info Info = {.struct_size = sizeof Info};
  char Text[64 * 8];
  long Resident = 0;
  int Mappings = 0;
  long long Total = 0;
  for (int I = 0; I != Count; ++I) {
    nthSignature(I, Parameters, Text);
    if (I == 24) {
      Resident = residentBytes();
      Mappings = countMappings();
    }
    long long Start = now();
    if (Parse(Text, strlen(Text), NULL, &Signature) ||
        Create(Signature, Kind, NULL, &Launcher))
      return 1;
    Times[I] = now() - (I ? Start : Begin);
    Total += Times[I];
    Delete(Signature);
  }
  if (GetInfo(Launcher, &Info))
    return 1;
  long long First = Times[0];
  qsort(Times + 1, Count - 1, sizeof *Times, compare);
  printf("%lld %lld %lld %lld %d %ld %ld %d\n", First, Total,
         Count > 1 ? Times[1] : 0, Count > 1 ? Times[Count / 2] : 0,
         (int)Info.origin, residentBytes(),
         Count > 24 ? residentBytes() - Resident : 0,
         Count > 24 ? countMappings() - Mappings : 0);
  return 0;
}
