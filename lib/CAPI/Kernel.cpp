//===- Kernel.cpp - Kernels and launches for C ----------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"

using namespace llvm;
using namespace launchjit;

static_assert(sizeof(lj_attribute) == sizeof(CUlaunchAttribute) &&
              alignof(lj_attribute) == alignof(CUlaunchAttribute) &&
              offsetof(lj_attribute, id) == offsetof(CUlaunchAttribute, id) &&
              offsetof(lj_attribute, value) ==
                  offsetof(CUlaunchAttribute, value) &&
              sizeof(lj_attribute::id) == sizeof(CUlaunchAttribute::id) &&
              sizeof(lj_attribute::value) == sizeof(CUlaunchAttribute::value));

#define SAME(Name)                                                             \
  static_assert(int(LJ_ATTRIBUTE_##Name) == int(CU_LAUNCH_ATTRIBUTE_##Name))
SAME(COOPERATIVE);
SAME(CLUSTER_DIMENSION);
SAME(PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(PROGRAMMATIC_EVENT);
SAME(PRIORITY);
SAME(MEM_SYNC_DOMAIN_MAP);
SAME(MEM_SYNC_DOMAIN);
SAME(PREFERRED_CLUSTER_DIMENSION);
SAME(LAUNCH_COMPLETION_EVENT);
SAME(DEVICE_UPDATABLE_KERNEL_NODE);
SAME(PREFERRED_SHARED_MEMORY_CARVEOUT);
#undef SAME
static_assert(int(LJ_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY) ==
              int(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE));

#define SAME(C, CXX) static_assert(int(C) == int(CXX))
SAME(LJ_VALUE_INT, Value::Int);
SAME(LJ_VALUE_UINT, Value::UInt);
SAME(LJ_VALUE_FLOAT, Value::Float);
SAME(LJ_VALUE_POINTER, Value::Pointer);
SAME(LJ_VALUE_BYTES, Value::Bytes);
#undef SAME
static_assert(sizeof(lj_value) == sizeof(Value) &&
              alignof(lj_value) == alignof(Value) &&
              offsetof(lj_value, type) == offsetof(Value, Kind) &&
              offsetof(lj_value, size) == offsetof(Value, Size) &&
              offsetof(lj_value, as) == offsetof(Value, I));

static_assert(std::is_same_v<lj_scratch_allocator, ScratchAllocator>);

static ArrayRef<CUlaunchAttribute> attributesOf(const lj_attribute *Attributes,
                                                size_t Count) {
  return {reinterpret_cast<const CUlaunchAttribute *>(Attributes), Count};
}

static lj_error *checkAttributes(const char *Function,
                                 const lj_attribute *Attributes, size_t Count) {
  if (Count && !Attributes)
    return invalid(Function, "attributes is null, but num_attributes is not 0");
  for (size_t I = 0; I != Count; ++I)
    if (Attributes[I].reserved)
      return invalid(Function, "attributes[" + Twine(I) +
                                   "].reserved is not 0; fill the struct with "
                                   "zeros before its id and value");
  return nullptr;
}

/// Reads a caller's options, which may be null.
static lj_error *read(const char *Function, const lj_kernel_options *options,
                      KernelOptions &Out) {
  if (!options)
    return nullptr;
  if (lj_error *E =
          checkStruct(Function, "options", "lj_kernel_options", *options))
    return E;
  lj_kernel_options In = readStruct(options);
  if (lj_error *E = checkAttributes(Function, In.attributes, In.num_attributes))
    return E;
  std::copy(std::begin(In.block), std::end(In.block), Out.Block);
  Out.Shared = In.shared;
  ArrayRef<CUlaunchAttribute> Attributes =
      attributesOf(In.attributes, In.num_attributes);
  Out.Attributes.assign(Attributes.begin(), Attributes.end());
  Out.Device = In.device;
  Out.NonPortableCluster = In.nonportable_cluster;
  Out.ScratchSize[0] = In.global_scratch_size;
  Out.ScratchAlign[0] = std::max<uint64_t>(In.global_scratch_align, 1);
  Out.ScratchSize[1] = In.profile_scratch_size;
  Out.ScratchAlign[1] = std::max<uint64_t>(In.profile_scratch_align, 1);
  Out.Scratch = In.scratch_allocator;
  Out.ScratchContext = In.scratch_context;
  return nullptr;
}

/// Hands a kernel out: the handle is one reference.
static lj_error *give(Expected<KernelRef> K, lj_kernel **Out) {
  if (!K)
    return toC(K.takeError());
  (*K)->Retain();
  *Out = const_cast<lj_kernel *>(toC(&(*K)->data()));
  return nullptr;
}

lj_error *lj_module_get_kernel(lj_module *module, const char *name,
                               const lj_signature *signature,
                               const lj_kernel_options *options,
                               lj_kernel **kernel) {
  LJ_REQUIRE(module);
  LJ_REQUIRE(name);
  LJ_REQUIRE(signature);
  LJ_REQUIRE(kernel);
  KernelOptions Options;
  if (lj_error *E = read(__func__, options, Options))
    return E;
  return give(Kernel::create(module->M, name, signature->S, Options), kernel);
}

lj_error *lj_kernel_from_function(void *cu_function, const char *name,
                                  const lj_signature *signature,
                                  const lj_kernel_options *options,
                                  lj_kernel **kernel) {
  LJ_REQUIRE(cu_function);
  LJ_REQUIRE(signature);
  LJ_REQUIRE(kernel);
  KernelOptions Options;
  if (lj_error *E = read(__func__, options, Options))
    return E;
  return give(Kernel::wrap(static_cast<CUfunction>(cu_function),
                           name ? name : "", signature->S, Options),
              kernel);
}

lj_error *lj_kernel_from_cukernel(void *cu_kernel, const char *name,
                                  const lj_signature *signature,
                                  const lj_kernel_options *options,
                                  lj_kernel **kernel) {
  LJ_REQUIRE(cu_kernel);
  LJ_REQUIRE(signature);
  LJ_REQUIRE(kernel);
  KernelOptions Options;
  if (lj_error *E = read(__func__, options, Options))
    return E;
  return give(Kernel::wrap(static_cast<CUkernel>(cu_kernel), name ? name : "",
                           signature->S, Options),
              kernel);
}

lj_error *lj_kernel_with_config(const lj_kernel *kernel,
                                const lj_kernel_options *options,
                                lj_kernel **sibling) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE(sibling);
  KernelOptions Options;
  if (lj_error *E = read(__func__, options, Options))
    return E;
  return give(dataOf(kernel).Owner->withOptions(Options), sibling);
}

void lj_kernel_delete(lj_kernel *kernel) {
  if (kernel)
    dataOf(kernel).Owner->Release();
}

lj_string lj_kernel_name(const lj_kernel *kernel) {
  return toC(kernel ? dataOf(kernel).Owner->name() : "");
}

lj_error *lj_kernel_get_options(const lj_kernel *kernel,
                                lj_kernel_options *options) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE_STRUCT(lj_kernel_options, options);
  const KernelData &D = dataOf(kernel);
  const KernelOptions &In = D.Owner->options();
  lj_kernel_options Out = {};
  std::copy(std::begin(D.Block), std::end(D.Block), Out.block);
  Out.shared = D.Shared;
  Out.attributes = lj_kernel_attributes(kernel, &Out.num_attributes);
  Out.device = In.Device;
  Out.nonportable_cluster = In.NonPortableCluster;
  Out.global_scratch_size = In.ScratchSize[0];
  Out.global_scratch_align = In.ScratchAlign[0];
  Out.profile_scratch_size = In.ScratchSize[1];
  Out.profile_scratch_align = In.ScratchAlign[1];
  Out.scratch_allocator = In.Scratch;
  Out.scratch_context = In.ScratchContext;
  fillStruct(options, Out);
  return nullptr;
}

lj_error *lj_kernel_entry(const lj_kernel *kernel, lj_entry_kind entry,
                          void (**function)(void)) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE_ENTRY(entry);
  LJ_REQUIRE(function);
  Expected<LauncherRef> L =
      dataOf(kernel).Owner->launcher(static_cast<EntryKind>(entry));
  if (!L)
    return toC(L.takeError());
  *function = reinterpret_cast<void (*)(void)>((*L)->entry());
  return nullptr;
}

lj_error *lj_kernel_get_launcher(const lj_kernel *kernel, lj_entry_kind entry,
                                 lj_launcher **launcher) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE_ENTRY(entry);
  LJ_REQUIRE(launcher);
  Expected<LauncherRef> L =
      dataOf(kernel).Owner->launcher(static_cast<EntryKind>(entry));
  if (!L)
    return toC(L.takeError());
  *launcher = new lj_launcher{std::move(*L)};
  return nullptr;
}

lj_error *lj_kernel_launch(const lj_kernel *kernel, int64_t grid_x,
                           int64_t grid_y, int64_t grid_z,
                           struct CUstream_st *stream, const lj_value *values,
                           size_t count) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE_ARRAY(values, count);
  return toC(Kernel::launch(
      dataOf(kernel), grid_x, grid_y, grid_z, stream,
      ArrayRef<Value>(reinterpret_cast<const Value *>(values), count)));
}

size_t lj_kernel_storage_size(const lj_kernel *kernel, size_t num_attributes) {
  return kernel ? Kernel::storageSize(dataOf(kernel), num_attributes) : 0;
}

lj_error *lj_kernel_with(const lj_kernel *kernel, void *storage, size_t size,
                         const lj_launch_overrides *overrides,
                         const lj_kernel **overridden) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE(storage);
  LJ_REQUIRE_STRUCT(lj_launch_overrides, overrides);
  LJ_REQUIRE(overridden);
  lj_launch_overrides In = readStruct(overrides);
  if (lj_error *E = checkAttributes(__func__, In.attributes, In.num_attributes))
    return E;
  LaunchOverrides Overrides;
  Overrides.Block = In.block;
  Overrides.Shared = In.shared;
  Overrides.Attributes = attributesOf(In.attributes, In.num_attributes);
  Expected<const KernelData *> D =
      Kernel::withOverrides(dataOf(kernel), storage, size, Overrides);
  if (!D)
    return toC(D.takeError());
  *overridden = toC(*D);
  return nullptr;
}

const lj_attribute *lj_kernel_attributes(const lj_kernel *kernel,
                                         size_t *count) {
  if (count)
    *count = kernel ? dataOf(kernel).NumAttributes : 0;
  return kernel
             ? reinterpret_cast<const lj_attribute *>(dataOf(kernel).Attributes)
             : nullptr;
}

lj_error *lj_kernel_load(const lj_kernel *kernel, int device) {
  LJ_REQUIRE(kernel);
  return toC(dataOf(kernel).Owner->load(device));
}
