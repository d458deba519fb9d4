/*===- error.h - Failures, strings and versions -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_ERROR_H
#define LAUNCHJIT_C_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(LAUNCHJIT_BUILDING)
#define LJ_API __attribute__((visibility("default")))
#else
#define LJ_API
#endif

/* Habits of this interface. A function that can fail returns an lj_error that
 * the caller owns, or null for success; on failure it leaves its outputs
 * unchanged. A handle is made by a function that stores it through its last
 * parameter and is given up with the matching lj_..._delete, which accepts
 * null. Text goes in as pointer and length, and need not be terminated; a null
 * pointer with length 0 is the empty text. Unless a function says otherwise,
 * it may be called from any thread, with the same handles, at the same time;
 * deleting a handle is the last use of it. No failure is told by an exception,
 * and a callback must not throw one through the library, which is built
 * without them. Where memory runs out the program ends; a host that catches
 * the std::bad_alloc instead must not call the library again. */

/* What kind of failure it was. Values are added, never changed. */
typedef enum lj_status {
  LJ_SUCCESS = 0,
  LJ_ERROR_INVALID_ARGUMENT = 1, /* the interface was misused */
  LJ_ERROR_SIGNATURE = 2,        /* a signature does not parse or fit */
  LJ_ERROR_ARGUMENT_TYPE = 3,    /* wrong type or count of launch arguments */
  LJ_ERROR_ARGUMENT_RANGE = 4,   /* a number does not fit its parameter */
  LJ_ERROR_ARGUMENT_VALUE = 5,   /* a wrong argument value or grid */
  LJ_ERROR_BINARY = 6,           /* damaged or unknown kernel binary */
  LJ_ERROR_NOT_FOUND = 7,        /* no kernel or variable of that name */
  LJ_ERROR_NO_DRIVER = 8,        /* no CUDA driver, or it lacks something */
  LJ_ERROR_CUDA = 9,             /* the driver refused */
  LJ_ERROR_IO = 10,              /* a file could not be read or written */
  LJ_ERROR_UNSUPPORTED = 11,     /* not in this build or on this machine */
  LJ_ERROR_INTERNAL = 12         /* a fault of the library's own */
} lj_status;

/* One failure: immutable. */
typedef struct lj_error lj_error;

LJ_API lj_status lj_error_status(const lj_error *error);
/* A sentence, NUL-terminated; lives as long as the error. */
LJ_API const char *lj_error_message(const lj_error *error);
/* The launch argument at fault, counted from 0 among the kernel's parameters
 * (tuples flattened, constexpr left out), or -1. */
LJ_API int64_t lj_error_argument(const lj_error *error);
/* The byte offset in the text at fault, or -1. */
LJ_API int64_t lj_error_offset(const lj_error *error);
/* The driver's CUresult, or 0, and its name ("CUDA_ERROR_INVALID_VALUE"). */
LJ_API int lj_error_cuda(const lj_error *error);
LJ_API const char *lj_error_cuda_name(const lj_error *error);
LJ_API void lj_error_delete(lj_error *error);

/* The name of a status, as "LJ_ERROR_SIGNATURE"; never null. */
LJ_API const char *lj_status_name(lj_status status);

/* What the last launcher that this thread called and that returned a non-zero
 * status has to say; null where none has. Owned by the library, valid until
 * this thread's next failing launch or its end. */
LJ_API const lj_error *lj_last_error(void);

/* Text that the library owns; not necessarily NUL-terminated. Its owner is
 * the handle that the function was given. */
typedef struct lj_string {
  const char *data;
  size_t size;
} lj_string;

/* Bytes that the caller owns; give them back with lj_buffer_delete. A NUL
 * follows them, so that text can be used as a C string. */
typedef struct lj_buffer {
  char *data;
  size_t size;
} lj_buffer;

LJ_API void lj_buffer_delete(lj_buffer *buffer);

/* The version of this interface: grows when something is added. */
#define LJ_ABI_VERSION 1
LJ_API uint32_t lj_abi_version(void);
/* "0.1.0", and the version of the LLVM inside, "19.1.7". */
LJ_API const char *lj_version(void);
LJ_API const char *lj_llvm_version(void);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_ERROR_H */
