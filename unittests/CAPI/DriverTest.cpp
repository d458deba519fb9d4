//===- DriverTest.cpp - The driver of the C interface ---------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Driver/Driver.h"
#include "CAPITest.h"
#include "launchjit/Support/Log.h"
#include <vector>

using namespace capitest;
using testing::HasSubstr;

using CAPIDriver = RecordingTest;

TEST_F(CAPIDriver, TellsWhatItIs) {
  lj_driver_info Info = sized<lj_driver_info>();
  EXPECT_OK(lj_driver_get_info(&Info));
  EXPECT_STREQ(Info.kind, "recording");
  EXPECT_GE(Info.version, 12000);
  EXPECT_GE(Info.num_devices, 1);
  lj_buffer Name = {nullptr, 0};
  EXPECT_OK(lj_driver_device_name(0, &Name));
  EXPECT_NE(take(Name), "");
  int Major = 0;
  EXPECT_OK(lj_driver_device_attribute(
      0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &Major));
  EXPECT_GE(Major, 7);

  Error E(lj_driver_device_name(1000, &Name));
  EXPECT_EQ(lj_error_status(E.get()), LJ_ERROR_CUDA);
  EXPECT_EQ(lj_error_cuda(E.get()), 101);
  EXPECT_STREQ(lj_error_cuda_name(E.get()), "CUDA_ERROR_INVALID_DEVICE");
  EXPECT_THAT(lj_error_message(E.get()), HasSubstr("1000"));
  EXPECT_EQ(Name.data, nullptr);
}

TEST_F(CAPIDriver, GivesItsFunctions) {
  void *Function = nullptr;
  EXPECT_OK(lj_driver_function("cuDeviceGetCount", &Function));
  ASSERT_NE(Function, nullptr);
  int Count = 0;
  EXPECT_EQ(reinterpret_cast<CUresult (*)(int *)>(Function)(&Count),
            CUDA_SUCCESS);
  EXPECT_GE(Count, 1);

  void *Before = Function;
  EXPECT_FAILS(lj_driver_function("cuFlorp", &Function), LJ_ERROR_NOT_FOUND,
               "cuFlorp");
  EXPECT_INVALID(lj_driver_function(nullptr, &Function), "name is null");
  EXPECT_INVALID(lj_driver_function("cuInit", nullptr), "function is null");
  EXPECT_EQ(Function, Before);
}

TEST_F(CAPIDriver, Misuse) {
  EXPECT_INVALID(lj_driver_get_info(nullptr),
                 "lj_driver_get_info: info is null");
  lj_driver_info Info = sized<lj_driver_info>();
  Info.struct_size = 8;
  EXPECT_INVALID(lj_driver_get_info(&Info), "info->struct_size is 8");
  EXPECT_INVALID(lj_driver_device_name(0, nullptr), "name is null");
  EXPECT_INVALID(lj_driver_device_attribute(0, 1, nullptr), "value is null");
  EXPECT_INVALID(lj_driver_take_recorded(nullptr), "recorded is null");
  EXPECT_INVALID(lj_driver_set_resolver(nullptr, nullptr), "resolver is null");
  // The process's driver is open.
  Error E(lj_driver_set_resolver(
      [](void *, const char *, int) -> void * { return nullptr; }, nullptr));
  EXPECT_NE(E, nullptr);

  Recorded R = recorded();
  lj_recorded_launch L = sized<lj_recorded_launch>();
  EXPECT_EQ(lj_recorded_count(R.get()), 0u);
  EXPECT_INVALID(lj_recorded_get(R.get(), 0, &L), "index is 0");
  EXPECT_INVALID(lj_recorded_get(nullptr, 0, &L), "recorded is null");
  EXPECT_EQ(lj_recorded_count(nullptr), 0u);
  lj_recorded_delete(nullptr);
}

TEST_F(CAPIDriver, Memory) {
  uint64_t Address = 0;
  EXPECT_OK(lj_memory_allocate(16, &Address));
  ASSERT_NE(Address, 0u);
  EXPECT_OK(lj_memory_write(Address, "0123456789abcdef", 16));
  char Back[17] = "";
  EXPECT_OK(lj_memory_read(Back, Address, 16));
  EXPECT_STREQ(Back, "0123456789abcdef");
  EXPECT_OK(lj_synchronize());
  EXPECT_OK(lj_memory_free(Address));

  EXPECT_FAILS(lj_memory_allocate(0, &Address), LJ_ERROR_CUDA, "0 bytes");
  EXPECT_INVALID(lj_memory_allocate(16, nullptr), "address is null");
  EXPECT_INVALID(lj_memory_write(Address, nullptr, 1), "from is null");
  EXPECT_INVALID(lj_memory_read(nullptr, Address, 1), "to is null");
}

/// The thread's current context.
static CUcontext current() {
  CUcontext Context = nullptr;
  const launchjit::Driver *Drv = launchjit::Driver::processIfOpen();
  EXPECT_EQ(Drv->cuCtxGetCurrent(&Context), CUDA_SUCCESS);
  return Context;
}

TEST_F(CAPIDriver, MemoryLeavesTheContext) {
  CUcontext Before = current();
  uint64_t Address = 0;
  EXPECT_OK(lj_memory_allocate(16, &Address));
  EXPECT_EQ(current(), Before);
  EXPECT_FAILS(lj_memory_free(Address + 1), LJ_ERROR_CUDA, "0x");
  EXPECT_EQ(current(), Before);
  EXPECT_OK(lj_memory_free(Address));
  EXPECT_OK(lj_synchronize());
  EXPECT_EQ(current(), Before);
}

TEST(CAPILog, SinkReceives) {
  std::vector<std::string> Lines;
  lj_set_log_sink(
      [](void *Context, int Level, const char *Topic, const char *Message) {
        static_cast<std::vector<std::string> *>(Context)->push_back(
            std::to_string(Level) + " " + Topic + ": " + Message);
      },
      &Lines);
  launchjit::log(launchjit::LogLevel::Error, "engine", "first");
  lj_set_log_sink([](void *, int, const char *, const char *) {}, nullptr);
  launchjit::log(launchjit::LogLevel::Error, "engine", "second");
  lj_set_log_sink(nullptr, nullptr);
  EXPECT_THAT(Lines, testing::ElementsAre("4 engine: first"));
}

TEST(CAPIEnvironment, ListsAll) {
  bool Driver = false;
  ASSERT_GT(lj_num_environment_variables(), 0u);
  for (size_t I = 0; I != lj_num_environment_variables(); ++I) {
    const char *Name = nullptr, *Default = nullptr, *Help = nullptr;
    EXPECT_OK(lj_environment_variable(I, &Name, &Default, &Help));
    EXPECT_THAT(Name, testing::StartsWith("LAUNCHJIT_"));
    EXPECT_NE(Default, nullptr);
    EXPECT_STRNE(Help, "");
    Driver |= !std::strcmp(Name, "LAUNCHJIT_DRIVER");
  }
  EXPECT_TRUE(Driver);
  const char *Text = nullptr;
  EXPECT_INVALID(lj_environment_variable(lj_num_environment_variables(), &Text,
                                         &Text, &Text),
                 "index is");
  EXPECT_INVALID(lj_environment_variable(0, &Text, &Text, nullptr),
                 "help is null");
}
