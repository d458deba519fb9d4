/*===- host.h - What the library tells its host, and reads of it -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_HOST_H
#define LAUNCHJIT_C_HOST_H

#include "launchjit-c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lj_log_level {
  LJ_LOG_TRACE = 0,
  LJ_LOG_DEBUG = 1,
  LJ_LOG_INFO = 2,
  LJ_LOG_WARN = 3,
  LJ_LOG_ERROR = 4
} lj_log_level;

/* Receives what the library logs, instead of stderr, from whichever thread
 * logs. `level` is an lj_log_level. Called under the library's locks: it must
 * not call the library, nor fork, nor wait for a lock (Python's GIL, say) that
 * a caller of the library or of fork may hold. Null restores stderr. When
 * lj_set_log_sink returns, the sink before is out of use. */
typedef void (*lj_log_sink)(void *context, int level, const char *topic,
                            const char *message);
LJ_API void lj_set_log_sink(lj_log_sink sink, void *context);

/* The environment variables that this build reads. */
LJ_API size_t lj_num_environment_variables(void);
LJ_API lj_error *lj_environment_variable(size_t index, const char **name,
                                         const char **default_value,
                                         const char **help);

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_HOST_H */
