/*===- signature.h - Signatures and layouts -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_SIGNATURE_H
#define LAUNCHJIT_C_SIGNATURE_H

#include "launchjit-c/error.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A parsed kernel signature: immutable. */
typedef struct lj_signature lj_signature;

typedef struct lj_signature_options {
  size_t struct_size;    /* sizeof(lj_signature_options) */
  const char *scratch;   /* hidden parameters: "", "g", "p", "gp"; or null */
  bool large_parameters; /* allow 32,764 bytes instead of 4,096 */
} lj_signature_options;

/* Parses `text`; `options` may be null. An LJ_ERROR_SIGNATURE has the byte
 * offset. */
LJ_API lj_error *lj_signature_parse(const char *text, size_t size,
                                    const lj_signature_options *options,
                                    lj_signature **signature);
LJ_API void lj_signature_delete(lj_signature *signature);

/* The canonical spelling, and the canonical ABI ("ppi32+gp"). */
LJ_API lj_string lj_signature_text(const lj_signature *signature);
LJ_API lj_string lj_signature_abi(const lj_signature *signature);
/* Where the last kernel parameter ends, in bytes. */
LJ_API size_t lj_signature_size(const lj_signature *signature);

/* One parameter as the driver sees it. Where one is aligned to more than 16
 * bytes, the driver's offsets depend on the architecture; a launch sees to it,
 * and the offsets told are those of a space that begins at 0. */
typedef struct lj_parameter {
  size_t struct_size;    /* set by the caller: sizeof(lj_parameter) */
  lj_string name;        /* "n", "pair[1]", or empty */
  lj_string type;        /* canonical: "*fp32" */
  lj_string c_type;      /* what the `c` entry takes: "CUdeviceptr" */
  uint32_t offset;       /* bytes */
  uint32_t size;         /* bytes */
  uint32_t align;        /* bytes */
  uint64_t divisible_by; /* the hint, or 0 */
  bool hidden;           /* a scratch pointer: no caller passes it */
} lj_parameter;

/* The kernel's parameters: tuples flattened, no constexpr, hidden ones last. */
LJ_API size_t lj_signature_num_parameters(const lj_signature *signature);
LJ_API lj_error *lj_signature_parameter(const lj_signature *signature,
                                        size_t index, lj_parameter *parameter);

/* One argument of the caller's convention: tuples whole, constexpr included. */
typedef struct lj_argument {
  size_t struct_size; /* set by the caller: sizeof(lj_argument) */
  lj_string name;     /* or empty */
  lj_string type;     /* canonical: "(i32, *fp16)", "constexpr" */
  size_t first;       /* its first kernel parameter */
  size_t count;       /* how many kernel parameters it has; 0 for constexpr */
} lj_argument;

LJ_API size_t lj_signature_num_arguments(const lj_signature *signature);
LJ_API lj_error *lj_signature_argument(const lj_signature *signature,
                                       size_t index, lj_argument *argument);

/* The function-pointer typedef of the `c` entry, C text; `name` is the
 * typedef's name. */
LJ_API lj_error *lj_signature_c_typedef(const lj_signature *signature,
                                        const char *name, lj_buffer *text);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_SIGNATURE_H */
