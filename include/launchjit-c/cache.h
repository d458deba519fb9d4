/*===- cache.h - Objects that outlive the process -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_CACHE_H
#define LAUNCHJIT_C_CACHE_H

#include "launchjit-c/launcher.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The process's object cache, as LAUNCHJIT_CACHE, LAUNCHJIT_CACHE_DIR,
 * LAUNCHJIT_CACHE_PATH and LAUNCHJIT_CACHE_MAX_SIZE set it up when it is first
 * used. It can never change a result: whatever goes wrong in it is a miss, is
 * counted, and is logged once. */

typedef enum lj_cache_mode {
  LJ_CACHE_OFF = 0,
  LJ_CACHE_READ_ONLY = 1,
  LJ_CACHE_READ_WRITE = 2
} lj_cache_mode;

typedef struct lj_cache_info {
  size_t struct_size; /* set by the caller: sizeof(lj_cache_info) */
  lj_cache_mode mode;
  /* The user's own cache: an absolute path, empty where there is no place for
   * one. Lives as long as the process. */
  lj_string directory;
  size_t num_layers;  /* read-only caches that are searched before it */
  uint64_t max_bytes; /* above it, the least recently used entries go */
} lj_cache_info;

LJ_API lj_error *lj_cache_get_info(lj_cache_info *info);
/* The path of a layer, in the order of the search. Lives as long as the
 * process. */
LJ_API lj_error *lj_cache_layer(size_t index, lj_string *directory);

/* What the store in force, the cache or a host's own, did so far in this
 * process. Each store has its own numbers: lj_set_cache_store begins with new
 * ones, or goes back to the cache's. */
typedef struct lj_cache_stats {
  size_t struct_size; /* set by the caller: sizeof(lj_cache_stats) */
  uint64_t hits;
  uint64_t misses;
  uint64_t stored;
  uint64_t damaged; /* entries refused for what they hold */
  uint64_t foreign; /* files and folders refused for who may write them */
  uint64_t failed;  /* system calls that failed, other than for absence */
  uint64_t pruned;  /* entries removed */
} lj_cache_stats;

LJ_API lj_error *lj_cache_get_stats(lj_cache_stats *stats);

/* One entry of a cache. What it points to belongs to the listing. */
typedef struct lj_cache_file {
  size_t struct_size;  /* set by the caller: sizeof(lj_cache_file) */
  lj_string directory; /* the cache that it is in */
  lj_string path;
  lj_string key;  /* 32 hexadecimal digits */
  uint64_t bytes; /* of the file */
  /* Seconds since the epoch, to within an hour; kept up in the user's own
   * cache alone, where that is LJ_CACHE_READ_WRITE. Elsewhere, when the file
   * was written. */
  int64_t last_used;
} lj_cache_file;

/* Some entries, as they were when the listing was made. */
typedef struct lj_cache_listing lj_cache_listing;

LJ_API size_t lj_cache_listing_size(const lj_cache_listing *listing);
LJ_API lj_error *lj_cache_listing_get(const lj_cache_listing *listing,
                                      size_t index, lj_cache_file *file);
LJ_API void lj_cache_listing_delete(lj_cache_listing *listing);

/* The entries of a folder, or, where `directory` is empty, of all that are
 * searched, in that order. An error where a folder cannot be read, or others
 * than root and the user can write it; a missing folder has no entries. */
LJ_API lj_error *lj_cache_list(const char *directory, size_t directory_size,
                               lj_cache_listing **listing);

/* Removes from the user's own cache the entries that were not used for the
 * longest time, until `max_bytes` are left at most, or removes all; and
 * temporaries that nobody writes any more. `dry_run` only tells what would be
 * removed. `removed` and `num_temporaries` may be null. Where another process
 * is pruning, nothing is removed, and the error is LJ_ERROR_UNSUPPORTED. An
 * error unless the cache is LJ_CACHE_READ_WRITE, but for a dry run. */
LJ_API lj_error *lj_cache_prune(uint64_t max_bytes, int dry_run,
                                lj_cache_listing **removed,
                                size_t *num_temporaries);
LJ_API lj_error *lj_cache_clear(int dry_run, lj_cache_listing **removed,
                                size_t *num_temporaries);

/* Reads a size as LAUNCHJIT_CACHE_MAX_SIZE spells it: "4096", "64K", "256M",
 * "1G". */
LJ_API lj_error *lj_parse_cache_size(const char *text, size_t size,
                                     uint64_t *bytes);

/* An entry that was read and checked to its last byte. */
typedef struct lj_cache_entry lj_cache_entry;

/* `path` is a file of a cache. An error, saying what is wrong, for one that is
 * damaged or that others than root and the user can write. */
LJ_API lj_error *lj_cache_entry_read(const char *path, size_t path_size,
                                     lj_cache_entry **entry);
LJ_API void lj_cache_entry_delete(lj_cache_entry *entry);
/* All that decides the object, a "label=value" a line. */
LJ_API lj_string lj_cache_entry_key_text(const lj_cache_entry *entry);
/* The relocatable ELF object. */
LJ_API lj_string lj_cache_entry_object(const lj_cache_entry *entry);
/* The version of the file's layout, and the xxh3-128 in it as 32 digits and a
 * NUL. */
LJ_API lj_error *lj_cache_entry_header(const lj_cache_entry *entry,
                                       uint32_t *format, char checksum[33]);
/* Makes the entry's code anew. LJ_ERROR_INVALID_ARGUMENT for an entry of
 * another version of the library, of LLVM or of another architecture, which
 * this process would not use either; LJ_ERROR_UNSUPPORTED where there is no
 * code generator. */
LJ_API lj_error *lj_cache_entry_recompile(const lj_cache_entry *entry,
                                          lj_stub_output output,
                                          lj_buffer *bytes);

/* A store of the host's own in place of the cache: bytes by name, which is 32
 * hexadecimal digits and a NUL. `get` hands the bytes that were put under
 * `name` to `receive`, or does not call it; `put` may be null. Both may be
 * called from any thread, must call `receive` before they return if at all, and
 * must not fork, call the library, or wait for a lock (Python's GIL, say) that
 * a caller of the library or of fork may hold. A fork in another thread waits
 * for them, so they should be quick. What comes back is checked as a file would
 * be, so a store that loses, damages or mixes up entries costs a compile and
 * nothing else. */
typedef void (*lj_cache_receive)(void *to, const void *bytes, size_t size);
typedef struct lj_cache_store {
  size_t struct_size; /* set by the caller: sizeof(lj_cache_store) */
  void (*get)(void *context, const char *name, lj_cache_receive receive,
              void *to);
  void (*put)(void *context, const char *name, const void *bytes, size_t size);
  void *context;
} lj_cache_store;

/* Null restores the cache. A thread that is making a launcher may use the old
 * store for that one still, so its functions and `context` must stay valid for
 * the rest of the process's life. */
LJ_API lj_error *lj_set_cache_store(const lj_cache_store *store);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_CACHE_H */
