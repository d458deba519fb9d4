/*===- replay.h - A launch that was saved, again -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_REPLAY_H
#define LAUNCHJIT_C_REPLAY_H

#include "launchjit-c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One launch that LAUNCHJIT_DEBUG=dump=DIR saved. One thread at a time may use
 * a handle. */
typedef struct lj_replay lj_replay;

typedef struct lj_replay_options {
  size_t struct_size;
  int device; /* negative: the one that it ran on */
  /* Not 0: buffers that were not saved are zeros, and pointers into none, and
   * tensor maps, are passed as they were. */
  int force;
} lj_replay_options;

/* One buffer, valid as long as the replay and until its next run. */
typedef struct lj_replay_buffer {
  size_t struct_size;
  lj_string file;   /* its file's name; empty where it was not saved */
  uint64_t address; /* where it was */
  uint64_t size;    /* bytes */
  /* After the last run; null before one, or where it was not saved. */
  const char *contents;
  uint64_t bytes_changed; /* by the last run */
  uint64_t first_changed; /* the offset of the first of them; else 0 */
} lj_replay_buffer;

/* Reads and checks the folder of one launch; no driver is needed.
 * LJ_ERROR_IO where a file is missing, LJ_ERROR_BINARY where one is damaged,
 * LJ_ERROR_UNSUPPORTED for another version's. */
LJ_API lj_error *lj_replay_open(const char *path, lj_replay **replay);
/* Frees the buffers, too. Null is accepted. */
LJ_API void lj_replay_delete(lj_replay *replay);
/* The text of its launch.json, valid as long as the replay. */
LJ_API lj_string lj_replay_json(const lj_replay *replay);
/* What cannot be repeated and is left out, a line each; valid likewise. */
LJ_API lj_string lj_replay_notes(const lj_replay *replay);

/* Fills the buffers with what was saved, launches in the primary context of the
 * device, on the legacy stream, and waits. The first run allocates, by the
 * options, which may be null; later ones use its. `nanoseconds`, which may be
 * null, is the launch's time on the device. */
LJ_API lj_error *lj_replay_run(lj_replay *replay,
                               const lj_replay_options *options,
                               uint64_t *nanoseconds);

LJ_API size_t lj_replay_num_buffers(const lj_replay *replay);
LJ_API lj_error *lj_replay_get_buffer(const lj_replay *replay, size_t index,
                                      lj_replay_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_REPLAY_H */
