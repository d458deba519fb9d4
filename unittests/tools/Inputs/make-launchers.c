/*===- make-launchers.c - A host that makes launchers and exits -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#include "launchjit-c/launchjit.h"
#include <stdio.h>
#include <string.h>

static int fail(lj_error *E) {
  fprintf(stderr, "%s\n", lj_error_message(E));
  lj_error_delete(E);
  return 1;
}

/* Each argument is entry:signature; prints each launcher's origin and key. */
int main(int Count, char **Arguments) {
  for (int I = 1; I < Count; ++I) {
    char *Text = strchr(Arguments[I], ':');
    lj_entry_kind Entry;
    lj_signature_options Options = {.struct_size = sizeof Options};
    lj_signature *S;
    lj_launcher *L;
    lj_launcher_info Info = {.struct_size = sizeof Info};
    lj_error *E;
    if (!Text) {
      fprintf(stderr, "usage: %s entry:signature...\n", Arguments[0]);
      return 2;
    }
    *Text++ = '\0';
    if ((E = lj_entry_kind_parse(Arguments[I], &Entry)) ||
        (E = lj_signature_parse(Text, strlen(Text), &Options, &S)) ||
        (E = lj_launcher_create(S, Entry, NULL, &L)) ||
        (E = lj_launcher_get_info(L, &Info)))
      return fail(E);
    printf("%s %s\n", lj_origin_name(Info.origin), Info.key);
    lj_launcher_delete(L);
    lj_signature_delete(S);
  }
  return 0;
}
