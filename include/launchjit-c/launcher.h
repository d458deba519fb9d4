/*===- launcher.h - Launchers, their keys and their code -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_LAUNCHER_H
#define LAUNCHJIT_C_LAUNCHER_H

#include "launchjit-c/signature.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
typedef struct lj_kernel lj_kernel;

/* Who calls a launcher, and how. */
typedef enum lj_entry_kind {
  /* int (const lj_kernel *, int64_t x, int64_t y, int64_t z,
   *      struct CUstream_st *stream, args...)
   * with the arguments' own types: i1 and u1 are uint8_t (0 or 1), other
   * integers their intN_t, fp16 and bf16 the uint16_t of their bits, fp32
   * float, fp64 double, pointers uint64_t (CUdeviceptr), structs and tensor
   * maps const void *. Tuples are flattened, constexpr is left out, hidden
   * scratch parameters are the library's. */
  LJ_ENTRY_C = 0,
  /* lj_packed_entry below: the arguments' addresses. */
  LJ_ENTRY_PACKED = 1,
  /* PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t n) with args
   * = grid, stream, arguments; see launchjit-c/python.h. */
  LJ_ENTRY_PYTHON = 2
} lj_entry_kind;

/* Both return 0, or an lj_status whose lj_last_error() says more. */
typedef int (*lj_packed_entry)(const lj_kernel *kernel, int64_t grid_x,
                               int64_t grid_y, int64_t grid_z,
                               struct CUstream_st *stream,
                               const void *const *arguments);

/* Where a launcher came from. */
typedef enum lj_origin {
  LJ_ORIGIN_MEMORY = 0,     /* alive in this process */
  LJ_ORIGIN_CACHE = 1,      /* linked from a cached object */
  LJ_ORIGIN_COMPILED = 2,   /* compiled now */
  LJ_ORIGIN_INTERPRETED = 3 /* no generated code: LAUNCHJIT_JIT=off, or no
                               executable memory or code generator */
} lj_origin;

/* A linked entry point for one canonical ABI, shared by all who have that
 * ABI. The code lives while a handle of it, or a kernel that uses it, does. */
typedef struct lj_launcher lj_launcher;

/* `contract` names the conversions; null is "launchjit". */
LJ_API lj_error *lj_launcher_create(const lj_signature *signature,
                                    lj_entry_kind entry, const char *contract,
                                    lj_launcher **launcher);
LJ_API void lj_launcher_delete(lj_launcher *launcher);

typedef struct lj_launcher_info {
  size_t struct_size; /* set by the caller: sizeof(lj_launcher_info) */
  lj_entry_kind entry;
  lj_origin origin;
  char key[33];        /* 32 hexadecimal digits and a NUL */
  uint64_t compile_ns; /* spent in making the object; 0 unless compiled now */
  uint64_t link_ns;    /* spent in linking; 0 from memory */
  size_t object_size;  /* bytes; 0 if interpreted */
  size_t code_size;    /* bytes of executable memory; 0 if interpreted */
  const void *address; /* of the entry point */
} lj_launcher_info;

LJ_API lj_error *lj_launcher_get_info(const lj_launcher *launcher,
                                      lj_launcher_info *info);

/* The cache key that a launcher of this ABI has: 32 digits and a NUL. */
LJ_API lj_error *lj_launcher_key(const lj_signature *signature,
                                 lj_entry_kind entry, const char *contract,
                                 char key[33]);

/* Launchers that nobody has a handle of, nor a kernel uses, stay linked for
 * the next who asks, up to this many of a process; 1024 unless set. What is
 * over the bound is freed now, least recently used first. */
LJ_API void lj_set_max_unused_launchers(size_t count);

typedef enum lj_stub_output {
  LJ_STUB_OBJECT = 0,   /* a relocatable ELF object */
  LJ_STUB_ASSEMBLY = 1, /* text */
  LJ_STUB_IR = 2,       /* LLVM IR, text */
  LJ_STUB_BITCODE = 3   /* LLVM bitcode */
} lj_stub_output;

/* Makes a stub's code without linking it. The function in it is named
 * lj_<entry>_<key>. Needs the code generator, not the JIT. */
LJ_API lj_error *lj_stub_emit(const lj_signature *signature,
                              lj_entry_kind entry, const char *contract,
                              lj_stub_output output, lj_buffer *bytes);

/* Names, as the tool and Python spell them; null for an unknown value. */
LJ_API const char *lj_entry_kind_name(lj_entry_kind entry);
LJ_API const char *lj_origin_name(lj_origin origin);
/* The kind that `name` ("c", "packed", "python") means. */
LJ_API lj_error *lj_entry_kind_parse(const char *name, lj_entry_kind *entry);

/* Whether generated code can run in this process: null, or why not. */
LJ_API lj_error *lj_jit_check(void);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_LAUNCHER_H */
