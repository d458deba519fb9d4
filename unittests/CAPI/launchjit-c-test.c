/*===- launchjit-c-test.c - A C99 host of liblaunchjit.so -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#include "launchjit-c/launchjit.h"
#include <stdio.h>
#include <stdlib.h>

static int Failures = 0;

#define CHECK(Condition)                                                       \
  do {                                                                         \
    if (!(Condition)) {                                                        \
      printf("line %d: %s\n", __LINE__, #Condition);                           \
      ++Failures;                                                              \
    }                                                                          \
  } while (0)

/* Succeeds, or what follows makes no sense. */
static void require(lj_error *error, int line) {
  if (!error)
    return;
  printf("line %d: %s: %s\n", line, lj_status_name(lj_error_status(error)),
         lj_error_message(error));
  lj_error_delete(error);
  exit(1);
}
#define REQUIRE(Call) require(Call, __LINE__)

/* Fails as it should. */
static void refuse(lj_error *error, lj_status status, const char *part,
                   int line) {
  if (lj_error_status(error) != status ||
      !strstr(lj_error_message(error), part)) {
    printf("line %d: expected %s with '%s', got %s: %s\n", line,
           lj_status_name(status), part, lj_status_name(lj_error_status(error)),
           lj_error_message(error));
    ++Failures;
  }
  lj_error_delete(error);
}
#define REFUSE(Call, Status, Part) refuse(Call, Status, Part, __LINE__)

static const char PTX[] = ".version 7.8\n"
                          ".target sm_90\n"
                          ".address_size 64\n"
                          ".visible .entry axpy(\n"
                          "  .param .u64 axpy_param_0,\n"
                          "  .param .f32 axpy_param_1,\n"
                          "  .param .u32 axpy_param_2)\n"
                          "{ ret; }\n";

static const char SIGNATURE[] = "x: *fp32, a: fp32, n: i32";

typedef int (*axpy_entry)(const lj_kernel *kernel, int64_t grid_x,
                          int64_t grid_y, int64_t grid_z,
                          struct CUstream_st *stream, uint64_t x, float a,
                          int32_t n);

static int equal(lj_string text, const char *expected) {
  return text.size == strlen(expected) &&
         !memcmp(text.data, expected, text.size);
}

static void test_errors(const lj_module *module, lj_signature *signature) {
  lj_signature *none = NULL;
  lj_kernel *kernel = NULL;
  REFUSE(lj_signature_parse("x: *fp32, n: in32", 17, NULL, &none),
         LJ_ERROR_SIGNATURE, "in32");
  CHECK(none == NULL);
  REFUSE(lj_module_get_kernel((lj_module *)module, "xapy", signature, NULL,
                              &kernel),
         LJ_ERROR_NOT_FOUND, "xapy");
  REFUSE(lj_module_get_kernel(NULL, "axpy", signature, NULL, &kernel),
         LJ_ERROR_INVALID_ARGUMENT, "module is null");
  CHECK(kernel == NULL);
}

static void test_code(lj_signature *signature) {
  lj_buffer object = {NULL, 0};
  lj_launcher *launcher = NULL;
  lj_launcher_info info;
  lj_error *no_jit = lj_jit_check();

  /* The code generator lies beside the library and is opened for this. */
  REQUIRE(lj_stub_emit(signature, LJ_ENTRY_C, NULL, LJ_STUB_OBJECT, &object));
  CHECK(object.size > 64 && !memcmp(object.data, "\177ELF", 4));
  lj_buffer_delete(&object);

  REQUIRE(lj_launcher_create(signature, LJ_ENTRY_C, NULL, &launcher));
  info.struct_size = sizeof info;
  REQUIRE(lj_launcher_get_info(launcher, &info));
  CHECK(info.origin == (no_jit ? LJ_ORIGIN_INTERPRETED : LJ_ORIGIN_COMPILED));
  lj_launcher_delete(launcher);
  lj_error_delete(no_jit);
}

static void test_launches(const lj_kernel *kernel, axpy_entry entry) {
  lj_recorded *recorded = NULL;
  lj_recorded_launch launch;
  lj_launch_overrides overrides;
  lj_attribute cluster =
      lj_attribute_dim3(LJ_ATTRIBUTE_CLUSTER_DIMENSION, 2, 1, 1);
  const uint32_t shared = 4096;
  const lj_kernel *overridden = NULL;
  size_t size = lj_kernel_storage_size(kernel, 1);
  void *storage = malloc(size);
  uint64_t x = 0;
  float a = 0;
  size_t i;

  REQUIRE(lj_memory_allocate(64, &x));
  CHECK(entry(kernel, 6, 1, 1, NULL, x, 1.5f, -7) == 0);

  memset(&overrides, 0, sizeof overrides);
  overrides.struct_size = sizeof overrides;
  overrides.shared = &shared;
  overrides.attributes = &cluster;
  overrides.num_attributes = 1;
  REQUIRE(lj_kernel_with(kernel, storage, size, &overrides, &overridden));
  CHECK(entry(overridden, 6, 1, 1, NULL, x, 1.5f, -7) == 0);

  CHECK(entry(kernel, 6, 70000, 1, NULL, x, 1.5f, -7) ==
        LJ_ERROR_ARGUMENT_VALUE);
  CHECK(strstr(lj_error_message(lj_last_error()), "70000") != NULL);
  REFUSE(lj_kernel_launch(kernel, 6, 1, 1, NULL, NULL, 0),
         LJ_ERROR_ARGUMENT_TYPE, "axpy");

  REQUIRE(lj_driver_take_recorded(&recorded));
  CHECK(lj_recorded_count(recorded) == 2);
  for (i = 0; i != lj_recorded_count(recorded); ++i) {
    launch.struct_size = sizeof launch;
    REQUIRE(lj_recorded_get(recorded, i, &launch));
    CHECK(equal(launch.kernel, "axpy"));
    CHECK(launch.grid[0] == 6 && launch.block[0] == 128);
    CHECK(launch.shared == (i ? shared : 0));
    CHECK(launch.num_attributes == i);
    CHECK(launch.num_parameters == 3);
    CHECK(!memcmp(launch.parameters[0].data, &x, sizeof x));
    memcpy(&a, launch.parameters[1].data, sizeof a);
    CHECK(a == 1.5f);
  }
  lj_recorded_delete(recorded);
  REQUIRE(lj_synchronize());
  REQUIRE(lj_memory_free(x));
  free(storage);
}

int main(void) {
  lj_signature *signature = NULL;
  lj_module *module = NULL;
  lj_kernel *kernel = NULL;
  lj_kernel_options options;
  lj_driver_info driver;
  lj_error *no_driver;
  void (*function)(void) = NULL;

  CHECK(lj_abi_version() == LJ_ABI_VERSION);
  REQUIRE(lj_signature_parse(SIGNATURE, strlen(SIGNATURE), NULL, &signature));
  CHECK(equal(lj_signature_abi(signature), "pfp32i32"));
  CHECK(lj_signature_size(signature) == 16);
  REQUIRE(lj_module_create(PTX, strlen(PTX), "axpy.ptx", &module));
  CHECK(lj_module_num_kernels(module) == 1);
  test_code(signature);
  test_errors(module, signature);

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.block[0] = 128;
  REQUIRE(lj_module_get_kernel(module, "axpy", signature, &options, &kernel));
  /* A kernel needs neither of them any more. */
  lj_module_delete(module);
  lj_signature_delete(signature);
  REQUIRE(lj_kernel_entry(kernel, LJ_ENTRY_C, &function));

  driver.struct_size = sizeof driver;
  no_driver = lj_driver_get_info(&driver);
  if (no_driver) {
    CHECK(lj_error_status(no_driver) == LJ_ERROR_NO_DRIVER);
    CHECK(strstr(lj_error_message(no_driver), "LAUNCHJIT_DRIVER") != NULL);
    CHECK(((axpy_entry)function)(kernel, 1, 1, 1, NULL, 0, 0, 0) ==
          LJ_ERROR_NO_DRIVER);
    lj_error_delete(no_driver);
  } else {
    CHECK(!strcmp(driver.kind, "recording"));
    test_launches(kernel, (axpy_entry)function);
  }
  lj_kernel_delete(kernel);
  if (!Failures)
    printf("passed\n");
  return Failures != 0;
}
