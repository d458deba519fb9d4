//===- KernelTest.cpp - Kernels and launches of the C interface -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPITest.h"
#include "launchjit/Driver/Driver.h"
#include <vector>

using namespace capitest;
using testing::HasSubstr;

using AxpyEntry = int (*)(const lj_kernel *, int64_t, int64_t, int64_t,
                          CUstream_st *, uint64_t, float, int32_t);

static AxpyEntry entryOf(const lj_kernel *K) {
  void (*Function)(void) = nullptr;
  EXPECT_OK(lj_kernel_entry(K, LJ_ENTRY_C, &Function));
  return reinterpret_cast<AxpyEntry>(Function);
}

static std::vector<lj_value> axpyValues() {
  std::vector<lj_value> V(3);
  V[0].type = LJ_VALUE_POINTER;
  V[0].as.u = 0x1000;
  V[1].type = LJ_VALUE_FLOAT;
  V[1].as.f = 0.5;
  V[2].type = LJ_VALUE_INT;
  V[2].as.i = -3;
  return V;
}

static lj_kernel_options options(const std::vector<lj_attribute> &Attributes) {
  lj_kernel_options O = sized<lj_kernel_options>();
  O.block[0] = 64;
  O.shared = 512;
  O.attributes = Attributes.data();
  O.num_attributes = Attributes.size();
  return O;
}

TEST(CAPIKernel, TellsItsOptions) {
  std::vector<lj_attribute> Attributes = {
      lj_attribute_int(LJ_ATTRIBUTE_COOPERATIVE, 1),
      lj_attribute_dim3(LJ_ATTRIBUTE_CLUSTER_DIMENSION, 2, 1, 1)};
  lj_kernel_options O = options(Attributes);
  O.nonportable_cluster = true;
  O.global_scratch_size = 64;
  O.scratch_allocator = [](void *, char, uint64_t, uint64_t, CUstream_st *) {
    return uint64_t(0);
  };
  Kernel K = axpy(&O);
  EXPECT_EQ(str(lj_kernel_name(K.get())), "axpy");

  lj_kernel_options Back = sized<lj_kernel_options>();
  EXPECT_OK(lj_kernel_get_options(K.get(), &Back));
  EXPECT_EQ(Back.block[0], 64u);
  EXPECT_EQ(Back.block[1], 1u);
  EXPECT_EQ(Back.block[2], 1u);
  EXPECT_EQ(Back.shared, 512u);
  EXPECT_TRUE(Back.nonportable_cluster);
  EXPECT_EQ(Back.global_scratch_size, 64u);
  EXPECT_EQ(Back.global_scratch_align, 1u);
  ASSERT_EQ(Back.num_attributes, 2u);
  EXPECT_NE(Back.attributes, Attributes.data());
  for (size_t I = 0; I != 2; ++I) {
    EXPECT_EQ(Back.attributes[I].id, Attributes[I].id);
    EXPECT_THAT(Back.attributes[I].value.bytes,
                testing::ElementsAreArray(Attributes[I].value.bytes));
  }

  lj_kernel *Sibling = nullptr;
  O.block[0] = 96;
  O.num_attributes = 0;
  EXPECT_OK(lj_kernel_with_config(K.get(), &O, &Sibling));
  Kernel Owner(Sibling);
  EXPECT_OK(lj_kernel_get_options(Sibling, &Back));
  EXPECT_EQ(Back.block[0], 96u);
  EXPECT_EQ(Back.num_attributes, 0u);
  EXPECT_EQ(str(lj_kernel_name(Sibling)), "axpy");
}

TEST(CAPIKernel, BadOptions) {
  std::vector<lj_attribute> Twice = {
      lj_attribute_int(LJ_ATTRIBUTE_PRIORITY, 1),
      lj_attribute_int(LJ_ATTRIBUTE_COOPERATIVE, 1),
      lj_attribute_int(LJ_ATTRIBUTE_PRIORITY, 2)};
  lj_kernel_options O = options(Twice);
  Module M = module();
  Signature S = parse(AxpySignature);
  lj_kernel *K = nullptr;
  EXPECT_INVALID(lj_module_get_kernel(M.get(), "axpy", S.get(), &O, &K),
                 "launch attribute 8 is given twice");
  O.num_attributes = 2;
  Twice[1].reserved = 1;
  EXPECT_INVALID(lj_module_get_kernel(M.get(), "axpy", S.get(), &O, &K),
                 "attributes[1].reserved");
  O.attributes = nullptr;
  EXPECT_INVALID(lj_module_get_kernel(M.get(), "axpy", S.get(), &O, &K),
                 "attributes is null");
  O.num_attributes = 0;
  O.global_scratch_align = 24;
  EXPECT_INVALID(lj_module_get_kernel(M.get(), "axpy", S.get(), &O, &K), "24");
  O.struct_size = 95;
  EXPECT_INVALID(lj_module_get_kernel(M.get(), "axpy", S.get(), &O, &K),
                 "options->struct_size is 95, but an lj_kernel_options has at "
                 "least 96 bytes");
  EXPECT_EQ(K, nullptr);
}

TEST(CAPIKernel, IsCheckedWithTheBinary) {
  Module M = module();
  lj_kernel *K = nullptr;
  EXPECT_FAILS(
      lj_module_get_kernel(M.get(), "axpy", parse("*i8").get(), nullptr, &K),
      LJ_ERROR_SIGNATURE, "axpy");
  EXPECT_FAILS(lj_module_get_kernel(M.get(), "axpy",
                                    parse("x: *i8, a: fp64, i32").get(),
                                    nullptr, &K),
               LJ_ERROR_SIGNATURE, "'a'");
  EXPECT_FAILS(
      lj_module_get_kernel(M.get(), "xapy", parse("*i8").get(), nullptr, &K),
      LJ_ERROR_NOT_FOUND, "axpy");
  EXPECT_EQ(K, nullptr);
}

TEST(CAPIKernel, Misuse) {
  Module M = module();
  Signature S = parse(AxpySignature);
  Kernel Good = axpy();
  lj_kernel *K = nullptr;
  EXPECT_INVALID(lj_module_get_kernel(nullptr, "axpy", S.get(), nullptr, &K),
                 "lj_module_get_kernel: module is null");
  EXPECT_INVALID(lj_module_get_kernel(M.get(), nullptr, S.get(), nullptr, &K),
                 "name is null");
  EXPECT_INVALID(lj_module_get_kernel(M.get(), "axpy", nullptr, nullptr, &K),
                 "signature is null");
  EXPECT_INVALID(
      lj_module_get_kernel(M.get(), "axpy", S.get(), nullptr, nullptr),
      "kernel is null");
  EXPECT_INVALID(
      lj_kernel_from_function(nullptr, nullptr, S.get(), nullptr, &K),
      "lj_kernel_from_function: cu_function is null");
  EXPECT_INVALID(
      lj_kernel_from_cukernel(nullptr, nullptr, S.get(), nullptr, &K),
      "lj_kernel_from_cukernel: cu_kernel is null");
  EXPECT_INVALID(lj_kernel_with_config(nullptr, nullptr, &K), "kernel is null");
  void (*Function)(void) = nullptr;
  EXPECT_INVALID(lj_kernel_entry(Good.get(), lj_entry_kind(3), &Function),
                 "entry is 3");
  EXPECT_INVALID(lj_kernel_entry(Good.get(), LJ_ENTRY_C, nullptr),
                 "function is null");
  lj_launcher *L = nullptr;
  EXPECT_INVALID(lj_kernel_get_launcher(nullptr, LJ_ENTRY_C, &L),
                 "lj_kernel_get_launcher: kernel is null");
  lj_kernel_options O = sized<lj_kernel_options>();
  EXPECT_INVALID(lj_kernel_get_options(nullptr, &O), "kernel is null");
  EXPECT_INVALID(lj_kernel_launch(nullptr, 1, 1, 1, nullptr, nullptr, 0),
                 "lj_kernel_launch: kernel is null");
  EXPECT_INVALID(lj_kernel_launch(Good.get(), 1, 1, 1, nullptr, nullptr, 3),
                 "values is null, but count is not 0");
  std::vector<lj_value> V = axpyValues();
  V[1].type = lj_value_type(5);
  EXPECT_INVALID(lj_kernel_launch(Good.get(), 1, 1, 1, nullptr, V.data(), 3),
                 "the value's type is 5");
  EXPECT_INVALID(lj_kernel_load(nullptr, 0), "kernel is null");

  alignas(8) char Storage[4096];
  lj_launch_overrides Overrides = sized<lj_launch_overrides>();
  const lj_kernel *With = nullptr;
  EXPECT_INVALID(lj_kernel_with(Good.get(), nullptr, 4096, &Overrides, &With),
                 "lj_kernel_with: storage is null");
  EXPECT_INVALID(lj_kernel_with(Good.get(), Storage, 8, &Overrides, &With),
                 "8 bytes");
  EXPECT_INVALID(
      lj_kernel_with(Good.get(), Storage + 4, 4092, &Overrides, &With),
      "aligned to 8");
  EXPECT_INVALID(lj_kernel_with(Good.get(), Storage, 4096, &Overrides, nullptr),
                 "overridden is null");
  EXPECT_INVALID(lj_kernel_with(Good.get(), Storage, 4096, nullptr, &With),
                 "overrides is null");
  Overrides.struct_size = 1;
  EXPECT_INVALID(lj_kernel_with(Good.get(), Storage, 4096, &Overrides, &With),
                 "overrides->struct_size is 1");
  EXPECT_EQ(With, nullptr);

  EXPECT_EQ(lj_kernel_storage_size(nullptr, 1), 0u);
  EXPECT_EQ(lj_kernel_name(nullptr).size, 0u);
  size_t Count = 7;
  EXPECT_EQ(lj_kernel_attributes(nullptr, &Count), nullptr);
  EXPECT_EQ(Count, 0u);
  lj_kernel_delete(nullptr);
}

TEST(CAPIKernel, SharesItsLauncher) {
  Kernel A = axpy(), B = axpy();
  EXPECT_EQ(entryOf(A.get()), entryOf(B.get()));
  lj_launcher *L = nullptr;
  EXPECT_OK(lj_kernel_get_launcher(A.get(), LJ_ENTRY_C, &L));
  Launcher Owner(L);
  A.reset();
  B.reset();
  lj_launcher_info Info = sized<lj_launcher_info>();
  EXPECT_OK(lj_launcher_get_info(L, &Info));
  EXPECT_EQ(Info.entry, LJ_ENTRY_C);
}

using CAPIKernelLaunch = RecordingTest;

TEST_F(CAPIKernelLaunch, EveryWay) {
  lj_kernel_options O = options({});
  Kernel K = axpy(&O);
  EXPECT_OK(lj_kernel_load(K.get(), 0));
  const uint64_t X = 0x1000;
  const float A = 0.5;
  const int32_t N = -3;
  ASSERT_EQ(entryOf(K.get())(K.get(), 2, 3, 4, nullptr, X, A, N), 0);
  void (*Function)(void) = nullptr;
  EXPECT_OK(lj_kernel_entry(K.get(), LJ_ENTRY_PACKED, &Function));
  const void *Addresses[] = {&X, &A, &N};
  ASSERT_EQ(reinterpret_cast<lj_packed_entry>(Function)(K.get(), 2, 3, 4,
                                                        nullptr, Addresses),
            0);
  std::vector<lj_value> V = axpyValues();
  EXPECT_OK(lj_kernel_launch(K.get(), 2, 3, 4, nullptr, V.data(), V.size()));
  EXPECT_OK(lj_kernel_launch(K.get(), 2, 0, 4, nullptr, V.data(), V.size()));

  Recorded R = recorded();
  ASSERT_EQ(lj_recorded_count(R.get()), 3u);
  for (size_t I = 0; I != 3; ++I) {
    lj_recorded_launch L = get(R, I);
    EXPECT_EQ(str(L.kernel), "axpy");
    EXPECT_THAT(L.grid, testing::ElementsAre(2, 3, 4));
    EXPECT_THAT(L.block, testing::ElementsAre(64, 1, 1));
    EXPECT_EQ(L.shared, 512u);
    EXPECT_EQ(L.device, 0);
    EXPECT_EQ(L.num_attributes, 0u);
    ASSERT_EQ(L.num_parameters, 3u);
    EXPECT_EQ(as<uint64_t>(L.parameters[0]), X);
    EXPECT_EQ(as<float>(L.parameters[1]), A);
    EXPECT_EQ(as<int32_t>(L.parameters[2]), N);
  }
}

TEST_F(CAPIKernelLaunch, Overrides) {
  std::vector<lj_attribute> Attributes = {
      lj_attribute_int(LJ_ATTRIBUTE_PRIORITY, -1),
      lj_attribute_dim3(LJ_ATTRIBUTE_CLUSTER_DIMENSION, 2, 1, 1)};
  lj_kernel_options O = options(Attributes);
  Kernel K = axpy(&O);

  const uint32_t Block[3] = {32, 2, 1};
  lj_attribute New[] = {lj_attribute_int(LJ_ATTRIBUTE_PRIORITY, -2),
                        lj_attribute_int(LJ_ATTRIBUTE_MEM_SYNC_DOMAIN, 1)};
  lj_launch_overrides Overrides = sized<lj_launch_overrides>();
  Overrides.block = Block;
  Overrides.attributes = New;
  Overrides.num_attributes = 2;
  std::vector<uint64_t> Storage(lj_kernel_storage_size(K.get(), 2) / 8);
  const lj_kernel *With = nullptr;
  EXPECT_OK(lj_kernel_with(K.get(), Storage.data(), Storage.size() * 8,
                           &Overrides, &With));
  ASSERT_NE(With, nullptr);
  EXPECT_EQ(static_cast<const void *>(With), Storage.data());

  lj_kernel_options Back = sized<lj_kernel_options>();
  EXPECT_OK(lj_kernel_get_options(With, &Back));
  EXPECT_THAT(Back.block, testing::ElementsAre(32, 2, 1));
  EXPECT_EQ(Back.shared, 512u);
  ASSERT_EQ(Back.num_attributes, 3u);
  EXPECT_EQ(Back.attributes[0].id, unsigned(LJ_ATTRIBUTE_CLUSTER_DIMENSION));
  EXPECT_EQ(Back.attributes[1].id, unsigned(LJ_ATTRIBUTE_PRIORITY));

  ASSERT_EQ(entryOf(With)(With, 4, 1, 1, nullptr, 0, 1, 2), 0)
      << lj_error_message(lj_last_error());
  Recorded R = recorded();
  ASSERT_EQ(lj_recorded_count(R.get()), 1u);
  lj_recorded_launch L = get(R, 0);
  EXPECT_THAT(L.block, testing::ElementsAre(32, 2, 1));
  ASSERT_EQ(L.num_attributes, 3u);
  int Priority = 0;
  std::memcpy(&Priority, L.attributes[1].value.bytes, sizeof Priority);
  EXPECT_EQ(Priority, -2);

  New[1].id = New[0].id;
  EXPECT_INVALID(lj_kernel_with(K.get(), Storage.data(), Storage.size() * 8,
                                &Overrides, &With),
                 "launch attribute 8 is given twice");
}

TEST_F(CAPIKernelLaunch, Failures) {
  Kernel K = axpy();
  AxpyEntry Entry = entryOf(K.get());
  EXPECT_EQ(Entry(K.get(), 1, 65536, 1, nullptr, 0, 1, 2),
            LJ_ERROR_ARGUMENT_VALUE);
  const lj_error *Last = lj_last_error();
  ASSERT_NE(Last, nullptr);
  EXPECT_EQ(lj_error_status(Last), LJ_ERROR_ARGUMENT_VALUE);
  EXPECT_THAT(lj_error_message(Last), HasSubstr("65536"));
  EXPECT_THAT(lj_error_message(Last), HasSubstr("65535"));

  std::vector<lj_value> V = axpyValues();
  EXPECT_FAILS(lj_kernel_launch(K.get(), 1, 1, 1, nullptr, V.data(), 2),
               LJ_ERROR_ARGUMENT_TYPE, "2");
  V[2].as.i = INT64_C(1) << 31;
  Error E(lj_kernel_launch(K.get(), 1, 1, 1, nullptr, V.data(), 3));
  EXPECT_EQ(lj_error_status(E.get()), LJ_ERROR_ARGUMENT_RANGE);
  EXPECT_EQ(lj_error_argument(E.get()), 2);
  EXPECT_THAT(lj_error_message(E.get()), HasSubstr("2147483648"));
  V[2].type = LJ_VALUE_FLOAT;
  EXPECT_FAILS(lj_kernel_launch(K.get(), 1, 1, 1, nullptr, V.data(), 3),
               LJ_ERROR_ARGUMENT_TYPE, "'n'");

  const uint32_t Block[3] = {1025, 1, 1};
  lj_launch_overrides Overrides = sized<lj_launch_overrides>();
  Overrides.block = Block;
  std::vector<uint64_t> Storage(lj_kernel_storage_size(K.get(), 0) / 8);
  const lj_kernel *With = nullptr;
  EXPECT_OK(lj_kernel_with(K.get(), Storage.data(), Storage.size() * 8,
                           &Overrides, &With));
  EXPECT_EQ(Entry(With, 1, 1, 1, nullptr, 0, 1, 2), LJ_ERROR_CUDA);
  EXPECT_THAT(lj_error_message(lj_last_error()), HasSubstr("1025"));
  EXPECT_EQ(lj_error_cuda(lj_last_error()), 1);
  EXPECT_STREQ(lj_error_cuda_name(lj_last_error()), "CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(lj_recorded_count(recorded().get()), 0u);
}

TEST_F(CAPIKernelLaunch, FunctionsOfTheHost) {
  const launchjit::Driver &Drv = *launchjit::Driver::processIfOpen();
  CUlibrary Library = nullptr;
  CUkernel CUKernel = nullptr;
  ASSERT_EQ(Drv.cuLibraryLoadData(&Library, PTX, nullptr, nullptr, 0, nullptr,
                                  nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(Drv.cuLibraryGetKernel(&CUKernel, Library, "axpy"), CUDA_SUCCESS);
  Signature S = parse(AxpySignature);
  lj_kernel *K = nullptr;
  EXPECT_OK(lj_kernel_from_cukernel(CUKernel, "mine", S.get(), nullptr, &K));
  Kernel Owner(K);
  EXPECT_EQ(str(lj_kernel_name(K)), "mine");
  EXPECT_EQ(entryOf(K)(K, 1, 1, 1, nullptr, 0, 1, 2), 0);
  EXPECT_OK(lj_kernel_from_cukernel(CUKernel, "mine", parse("i32").get(),
                                    nullptr, &K));
  Owner.reset(K);
  EXPECT_FAILS(lj_kernel_load(K, 0), LJ_ERROR_SIGNATURE, "mine");

  // A CUfunction is one of a context, in which it is to be launched.
  CUcontext Context = nullptr, Popped = nullptr;
  CUmodule Module = nullptr;
  CUfunction Function = nullptr;
  ASSERT_EQ(Drv.cuDevicePrimaryCtxRetain(&Context, 0), CUDA_SUCCESS);
  ASSERT_EQ(Drv.cuCtxPushCurrent(Context), CUDA_SUCCESS);
  ASSERT_EQ(Drv.cuModuleLoadData(&Module, PTX), CUDA_SUCCESS);
  ASSERT_EQ(Drv.cuModuleGetFunction(&Function, Module, "axpy"), CUDA_SUCCESS);
  EXPECT_OK(lj_kernel_from_function(Function, nullptr, S.get(), nullptr, &K));
  Owner.reset(K);
  EXPECT_EQ(entryOf(K)(K, 1, 1, 1, nullptr, 0, 1, 2), 0);
  EXPECT_EQ(lj_recorded_count(recorded().get()), 2u);
  Owner.reset();
  Drv.cuModuleUnload(Module);
  Drv.cuCtxPopCurrent(&Popped);
  Drv.cuDevicePrimaryCtxRelease(0);
  Drv.cuLibraryUnload(Library);
}

namespace {
struct Allocation {
  char Which;
  uint64_t Size, Align;
};
} // namespace

TEST_F(CAPIKernelLaunch, Scratch) {
  lj_signature_options SO = sized<lj_signature_options>();
  SO.scratch = "g";
  static const char Text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                             ".visible .entry k(.param .u64 a) { ret; }\n";
  lj_module *Mod = nullptr;
  EXPECT_OK(lj_module_create(Text, sizeof Text - 1, nullptr, &Mod));
  Module Owner(Mod);
  lj_signature *S = nullptr;
  EXPECT_OK(lj_signature_parse("", 0, &SO, &S));
  Signature SOwner(S);

  std::vector<Allocation> Allocations;
  lj_kernel_options O = sized<lj_kernel_options>();
  O.global_scratch_size = 100;
  O.global_scratch_align = 16;
  O.scratch_context = &Allocations;
  O.scratch_allocator = [](void *Context, char Which, uint64_t Size,
                           uint64_t Align, CUstream_st *) -> uint64_t {
    static_cast<std::vector<Allocation> *>(Context)->push_back(
        {Which, Size, Align});
    return 0x4000;
  };
  lj_kernel *K = nullptr;
  EXPECT_OK(lj_module_get_kernel(Mod, "k", S, &O, &K));
  Kernel KOwner(K);
  EXPECT_OK(lj_kernel_launch(K, 2, 3, 1, nullptr, nullptr, 0));
  ASSERT_EQ(Allocations.size(), 1u);
  EXPECT_EQ(Allocations[0].Which, 'g');
  EXPECT_EQ(Allocations[0].Size, 600u);
  EXPECT_EQ(Allocations[0].Align, 16u);
  Recorded R = recorded();
  ASSERT_EQ(lj_recorded_count(R.get()), 1u);
  EXPECT_EQ(as<uint64_t>(get(R, 0).parameters[0]), 0x4000u);
}
