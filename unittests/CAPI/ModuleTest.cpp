//===- ModuleTest.cpp - Kernel binaries of the C interface ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPITest.h"

using namespace capitest;

TEST(CAPIModule, TellsWhatTheBinarySays) {
  Module M = module();
  EXPECT_STREQ(lj_module_format(M.get()), "ptx");
  EXPECT_EQ(lj_module_arch(M.get()), 90u);
  EXPECT_EQ(str(lj_module_bytes(M.get())), PTX);
  ASSERT_EQ(lj_module_num_kernels(M.get()), 2u);

  lj_kernel_info Info = sized<lj_kernel_info>();
  EXPECT_OK(lj_module_kernel_info(M.get(), 0, &Info));
  EXPECT_EQ(str(Info.name), "axpy");
  EXPECT_EQ(Info.num_parameters, 3);
  EXPECT_EQ(Info.registers, -1);
  EXPECT_EQ(Info.max_threads, 256);
  EXPECT_EQ(Info.required_block[0], -1);
  EXPECT_EQ(Info.required_cluster[2], -1);
  uint32_t Offset = 0, Size = 0;
  EXPECT_OK(lj_module_kernel_parameter(M.get(), 0, 2, &Offset, &Size));
  EXPECT_EQ(Offset, 12u);
  EXPECT_EQ(Size, 4u);

  EXPECT_OK(lj_module_kernel_info(M.get(), 1, &Info));
  EXPECT_EQ(str(Info.name), "nothing");
  EXPECT_EQ(Info.num_parameters, 0);

  ASSERT_EQ(lj_module_num_variables(M.get()), 1u);
  lj_variable_info Variable = sized<lj_variable_info>();
  EXPECT_OK(lj_module_variable_info(M.get(), 0, &Variable));
  EXPECT_EQ(str(Variable.name), "factor");
  EXPECT_EQ(Variable.size, 4u);
  EXPECT_FALSE(Variable.constant);
}

TEST(CAPIModule, Misuse) {
  lj_module *M = nullptr;
  EXPECT_FAILS(lj_module_create("florp", 5, "florp.bin", &M), LJ_ERROR_BINARY,
               "florp.bin");
  EXPECT_FAILS(lj_module_create(nullptr, 0, nullptr, &M), LJ_ERROR_BINARY, "");
  EXPECT_FAILS(lj_module_create_from_file("/nonexistent/k.cubin", &M),
               LJ_ERROR_IO, "/nonexistent/k.cubin");
  EXPECT_INVALID(lj_module_create(nullptr, 5, nullptr, &M),
                 "lj_module_create: bytes is null");
  EXPECT_INVALID(lj_module_create("x", 1, nullptr, nullptr), "module is null");
  EXPECT_INVALID(lj_module_create_from_file(nullptr, &M), "path is null");
  EXPECT_EQ(M, nullptr);

  Module Good = module();
  lj_kernel_info Info = sized<lj_kernel_info>();
  EXPECT_INVALID(lj_module_kernel_info(Good.get(), 2, &Info),
                 "lj_module_kernel_info: index is 2, but there are only 2");
  Info.struct_size = 0;
  EXPECT_INVALID(lj_module_kernel_info(Good.get(), 0, &Info),
                 "info->struct_size is 0");
  lj_variable_info Variable = sized<lj_variable_info>();
  EXPECT_INVALID(lj_module_variable_info(Good.get(), 1, &Variable),
                 "lj_module_variable_info: index is 1");
  EXPECT_INVALID(lj_module_variable_info(nullptr, 0, &Variable),
                 "module is null");
  uint32_t Offset = 7, Size = 7;
  EXPECT_INVALID(lj_module_kernel_parameter(Good.get(), 0, 3, &Offset, &Size),
                 "parameter is 3");
  EXPECT_INVALID(lj_module_kernel_parameter(Good.get(), 2, 0, &Offset, &Size),
                 "kernel is 2");
  EXPECT_INVALID(lj_module_kernel_parameter(Good.get(), 0, 0, nullptr, &Size),
                 "offset is null");
  EXPECT_EQ(Offset, 7u);
  EXPECT_EQ(Size, 7u);

  EXPECT_EQ(lj_module_format(nullptr), nullptr);
  EXPECT_EQ(lj_module_arch(nullptr), 0u);
  EXPECT_EQ(lj_module_num_kernels(nullptr), 0u);
  EXPECT_EQ(lj_module_bytes(nullptr).size, 0u);
  lj_module_delete(nullptr);
}

using CAPIModuleGlobal = RecordingTest;

TEST_F(CAPIModuleGlobal, AddressAndSize) {
  Module M = module();
  uint64_t Address = 0;
  size_t Size = 0;
  EXPECT_OK(lj_module_get_global(M.get(), "factor", 0, &Address, &Size));
  EXPECT_NE(Address, 0u);
  EXPECT_EQ(Size, 4u);
  EXPECT_FAILS(lj_module_get_global(M.get(), "florp", 0, &Address, &Size),
               LJ_ERROR_NOT_FOUND, "florp");
  EXPECT_INVALID(lj_module_get_global(M.get(), nullptr, 0, &Address, &Size),
                 "name is null");
  EXPECT_INVALID(lj_module_get_global(M.get(), "factor", 0, nullptr, &Size),
                 "address is null");
}
