//===- Module.cpp - Kernel binaries for C ---------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;

lj_error *lj_module_create(const void *bytes, size_t size, const char *name,
                           lj_module **module) {
  LJ_REQUIRE_ARRAY(bytes, size);
  LJ_REQUIRE(module);
  Expected<ModuleRef> M = Module::create(
      {static_cast<const uint8_t *>(bytes), size}, name ? name : "");
  if (!M)
    return toC(M.takeError());
  *module = new lj_module{std::move(*M)};
  return nullptr;
}

lj_error *lj_module_create_from_file(const char *path, lj_module **module) {
  LJ_REQUIRE(path);
  LJ_REQUIRE(module);
  Expected<ModuleRef> M = Module::createFromFile(path);
  if (!M)
    return toC(M.takeError());
  *module = new lj_module{std::move(*M)};
  return nullptr;
}

void lj_module_delete(lj_module *module) { delete module; }

const char *lj_module_format(const lj_module *module) {
  return module ? formatName(module->M->binary().Format).data() : nullptr;
}

unsigned lj_module_arch(const lj_module *module) {
  return module ? module->M->binary().Arch : 0;
}

lj_string lj_module_bytes(const lj_module *module) {
  return toC(module ? toStringRef(module->M->bytes()) : "");
}

size_t lj_module_num_kernels(const lj_module *module) {
  return module ? module->M->binary().Kernels.size() : 0;
}

template <typename T> static int64_t valueOr(const std::optional<T> &Value) {
  return Value ? int64_t(*Value) : -1;
}

static void fill(int64_t (&Out)[3],
                 const std::optional<std::array<uint32_t, 3>> &In) {
  for (unsigned I = 0; I != 3; ++I)
    Out[I] = In ? int64_t((*In)[I]) : -1;
}

lj_error *lj_module_kernel_info(const lj_module *module, size_t index,
                                lj_kernel_info *info) {
  LJ_REQUIRE(module);
  LJ_REQUIRE_STRUCT(lj_kernel_info, info);
  const std::vector<BinaryKernel> &Kernels = module->M->binary().Kernels;
  LJ_REQUIRE_INDEX(index, Kernels.size());
  const BinaryKernel &K = Kernels[index];
  lj_kernel_info Info = {};
  Info.name = toC(StringRef(K.Name));
  Info.num_parameters = K.Parameters ? int64_t(K.Parameters->size()) : -1;
  Info.registers = valueOr(K.Registers);
  Info.static_shared = valueOr(K.StaticShared);
  Info.local = valueOr(K.Local);
  Info.max_threads = valueOr(K.MaxThreads);
  fill(Info.required_block, K.RequiredBlock);
  fill(Info.required_cluster, K.RequiredCluster);
  fillStruct(info, Info);
  return nullptr;
}

lj_error *lj_module_kernel_parameter(const lj_module *module, size_t kernel,
                                     size_t parameter, uint32_t *offset,
                                     uint32_t *size) {
  LJ_REQUIRE(module);
  LJ_REQUIRE(offset);
  LJ_REQUIRE(size);
  const std::vector<BinaryKernel> &Kernels = module->M->binary().Kernels;
  LJ_REQUIRE_INDEX(kernel, Kernels.size());
  const auto &Parameters = Kernels[kernel].Parameters;
  LJ_REQUIRE_INDEX(parameter, Parameters ? Parameters->size() : 0);
  *offset = (*Parameters)[parameter].Offset;
  *size = (*Parameters)[parameter].Size;
  return nullptr;
}

size_t lj_module_num_variables(const lj_module *module) {
  return module ? module->M->binary().Variables.size() : 0;
}

lj_error *lj_module_variable_info(const lj_module *module, size_t index,
                                  lj_variable_info *info) {
  LJ_REQUIRE(module);
  LJ_REQUIRE_STRUCT(lj_variable_info, info);
  const std::vector<BinaryVariable> &Variables = module->M->binary().Variables;
  LJ_REQUIRE_INDEX(index, Variables.size());
  const BinaryVariable &V = Variables[index];
  fillStruct(info, {0, toC(StringRef(V.Name)), V.Size, V.Constant});
  return nullptr;
}

lj_error *lj_module_get_global(lj_module *module, const char *name, int device,
                               uint64_t *address, size_t *size) {
  LJ_REQUIRE(module);
  LJ_REQUIRE(name);
  LJ_REQUIRE(address);
  LJ_REQUIRE(size);
  Expected<Module::Global> G = module->M->getGlobal(name, device);
  if (!G)
    return toC(G.takeError());
  *address = G->Address;
  *size = G->Size;
  return nullptr;
}
