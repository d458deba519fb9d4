//===- Launcher.cpp - Launchers, their keys and their code for C ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "launchjit/Support/Environment.h"

using namespace llvm;
using namespace launchjit;

#define SAME(C, CXX) static_assert(int(C) == int(CXX))
SAME(LJ_ENTRY_C, EntryKind::C);
SAME(LJ_ENTRY_PACKED, EntryKind::Packed);
SAME(LJ_ENTRY_PYTHON, EntryKind::Python);
static_assert(NumEntryKinds == 3);
SAME(LJ_ORIGIN_MEMORY, Origin::Memory);
SAME(LJ_ORIGIN_CACHE, Origin::Cache);
SAME(LJ_ORIGIN_COMPILED, Origin::Compiled);
SAME(LJ_ORIGIN_INTERPRETED, Origin::Interpreted);
SAME(LJ_STUB_OBJECT, StubOutput::Object);
SAME(LJ_STUB_ASSEMBLY, StubOutput::Assembly);
SAME(LJ_STUB_IR, StubOutput::IR);
SAME(LJ_STUB_BITCODE, StubOutput::Bitcode);
#undef SAME

lj_error *lj_launcher_create(const lj_signature *signature, lj_entry_kind entry,
                             const char *contract, lj_launcher **launcher) {
  LJ_REQUIRE(signature);
  LJ_REQUIRE_ENTRY(entry);
  LJ_REQUIRE(launcher);
  Expected<LauncherRef> L =
      Launcher::get(signature->S.abi(), static_cast<EntryKind>(entry),
                    contractName(contract));
  if (!L)
    return toC(L.takeError());
  *launcher = new lj_launcher{std::move(*L)};
  return nullptr;
}

void lj_launcher_delete(lj_launcher *launcher) { delete launcher; }

lj_error *lj_launcher_get_info(const lj_launcher *launcher,
                               lj_launcher_info *info) {
  LJ_REQUIRE(launcher);
  LJ_REQUIRE_STRUCT(lj_launcher_info, info);
  const Launcher &L = *launcher->L;
  lj_launcher_info Info = {};
  Info.entry = static_cast<lj_entry_kind>(L.kind());
  Info.origin = static_cast<lj_origin>(L.origin());
  std::strncpy(Info.key, L.key().str().c_str(), sizeof Info.key - 1);
  if (const Stub *S = L.stub()) {
    Info.compile_ns = L.origin() == Origin::Compiled ? S->compileNs() : 0;
    Info.link_ns = L.origin() == Origin::Memory ? 0 : S->linkNs();
    Info.object_size = S->objectSize();
    Info.code_size = S->codeSize();
  }
  Info.address = L.entry();
  fillStruct(info, Info);
  return nullptr;
}

lj_error *lj_launcher_key(const lj_signature *signature, lj_entry_kind entry,
                          const char *contract, char key[33]) {
  LJ_REQUIRE(signature);
  LJ_REQUIRE_ENTRY(entry);
  LJ_REQUIRE(key);
  if (Error E = checkContract(contractName(contract)))
    return toC(std::move(E));
  std::string Text = Key::get(signature->S.abi(), static_cast<EntryKind>(entry),
                              contractName(contract))
                         .str();
  std::memcpy(key, Text.c_str(), 33);
  return nullptr;
}

lj_error *lj_stub_emit(const lj_signature *signature, lj_entry_kind entry,
                       const char *contract, lj_stub_output output,
                       lj_buffer *bytes) {
  LJ_REQUIRE(signature);
  LJ_REQUIRE_ENTRY(entry);
  LJ_REQUIRE(bytes);
  LJ_REQUIRE_OUTPUT(output);
  Expected<SmallVector<char, 0>> Code =
      emitStub(signature->S.abi(), static_cast<EntryKind>(entry),
               contractName(contract), static_cast<StubOutput>(output));
  if (!Code)
    return toC(Code.takeError());
  return toC(StringRef(Code->data(), Code->size()), bytes);
}

void lj_set_max_unused_launchers(size_t count) {
  Engine::process().setMaxUnused(count);
}

const char *lj_entry_kind_name(lj_entry_kind entry) {
  return isKnown(entry) ? entryName(static_cast<EntryKind>(entry)).data()
                        : nullptr;
}

const char *lj_origin_name(lj_origin origin) {
  return static_cast<unsigned>(origin) <= LJ_ORIGIN_INTERPRETED
             ? originName(static_cast<Origin>(origin)).data()
             : nullptr;
}

lj_error *lj_entry_kind_parse(const char *name, lj_entry_kind *entry) {
  LJ_REQUIRE(name);
  LJ_REQUIRE(entry);
  Expected<EntryKind> Kind = parseEntry(name);
  if (!Kind)
    return toC(Kind.takeError());
  *entry = static_cast<lj_entry_kind>(*Kind);
  return nullptr;
}

lj_error *lj_jit_check(void) {
  auto Setting = getEnvironment("LAUNCHJIT_JIT");
  if (Setting && *Setting != "on")
    return toC(makeError(Status::Unsupported,
                         "LAUNCHJIT_JIT is '" + *Setting +
                             "'; unset it to have launchers compiled"));
  return toC(Engine::checkExecutableMemory());
}
