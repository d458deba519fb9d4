/*===- attribute.h - Launch attributes -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_ATTRIBUTE_H
#define LAUNCHJIT_C_ATTRIBUTE_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A launch attribute: the driver's CUlaunchAttribute, byte for byte. Any id
 * that the driver knows is passed on; those below have names. */
typedef struct lj_attribute {
  uint32_t id;
  uint32_t reserved; /* 0 */
  union {
    uint64_t align; /* only for the alignment */
    unsigned char bytes[64];
  } value;
} lj_attribute;

/* CUlaunchAttributeID of cuda.h. */
enum lj_attribute_id {
  LJ_ATTRIBUTE_COOPERATIVE = 2,
  LJ_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  LJ_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY = 5,
  LJ_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  LJ_ATTRIBUTE_PROGRAMMATIC_EVENT = 7,
  LJ_ATTRIBUTE_PRIORITY = 8,
  LJ_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9,
  LJ_ATTRIBUTE_MEM_SYNC_DOMAIN = 10,
  LJ_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11,
  LJ_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12,
  LJ_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = 13,
  LJ_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14
};

static inline lj_attribute lj_attribute_make(uint32_t id, const void *value,
                                             size_t size) {
  lj_attribute attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = id;
  memcpy(attribute.value.bytes, value, size < 64 ? size : 64);
  return attribute;
}

/* An attribute whose value is one int: cooperative and PDL (1), priority,
 * cluster scheduling policy (1 spread, 2 load balancing), memory-sync domain,
 * shared-memory carveout in percent. */
static inline lj_attribute lj_attribute_int(uint32_t id, int value) {
  return lj_attribute_make(id, &value, sizeof value);
}

/* A cluster, or a preferred cluster, in blocks. */
static inline lj_attribute lj_attribute_dim3(uint32_t id, uint32_t x,
                                             uint32_t y, uint32_t z) {
  uint32_t value[3];
  value[0] = x;
  value[1] = y;
  value[2] = z;
  return lj_attribute_make(id, value, sizeof value);
}

#ifdef __cplusplus
}
#endif

#endif /* LAUNCHJIT_C_ATTRIBUTE_H */
