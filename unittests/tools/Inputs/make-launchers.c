/*===- make-launchers.c - A host that makes launchers and exits -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#include "launchjit-c/launchjit.h"
#include <stdio.h>
#include <string.h>

static int fail(lj_error *error) {
  fprintf(stderr, "%s\n", lj_error_message(error));
  lj_error_delete(error);
  return 1;
}

/* Each argument is entry:signature; prints each launcher's origin and key. */
int main(int count, char **arguments) {
  for (int i = 1; i < count; ++i) {
    char *text = strchr(arguments[i], ':');
    lj_entry_kind entry;
    lj_signature_options options = {.struct_size = sizeof options};
    lj_signature *signature;
    lj_launcher *launcher;
    lj_launcher_info info = {.struct_size = sizeof info};
    lj_error *error;
    if (!text) {
      fprintf(stderr, "usage: %s entry:signature...\n", arguments[0]);
      return 2;
    }
    *text++ = '\0';
    if ((error = lj_entry_kind_parse(arguments[i], &entry)) ||
        (error =
             lj_signature_parse(text, strlen(text), &options, &signature)) ||
        (error = lj_launcher_create(signature, entry, NULL, &launcher)) ||
        (error = lj_launcher_get_info(launcher, &info)))
      return fail(error);
    printf("%s %s\n", lj_origin_name(info.origin), info.key);
    lj_launcher_delete(launcher);
    lj_signature_delete(signature);
  }
  return 0;
}
