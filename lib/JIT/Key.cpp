//===- Key.cpp - What decides a stub's bytes, as 128 bits -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/Key.h"
#include "launchjit/Cache/Entry.h"
#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace launchjit;

KeyFields KeyFields::get(const ABI &A, EntryKind Entry, StringRef Contract) {
  KeyFields F;
  F.FormatVersion = CacheFormatVersion;
  F.StubABI = StubABIVersion;
  F.Generator = codegenSourceHash();
  F.LLVM = LLVM_VERSION_STRING;
  F.Triple = hostTriple().str();
  F.CPU = baselineCPU(F.Triple).str();
  F.Entry = Entry;
  F.Contract = Contract.str();
  F.CanonicalABI = Entry == EntryKind::Python ? A.str() : A.flatStr();
  return F;
}

std::string KeyFields::text() const {
  // A new field must be decided on here.
  const auto &[Format, Stub, Generator, LLVM, Triple, CPU, Features, Entry,
               Contract, CanonicalABI] = *this;
  std::string Text;
  raw_string_ostream OS(Text);
  OS << "format=" << Format << "\nstub-abi=" << Stub
     << "\ngenerator=" << Generator << "\nllvm=" << LLVM
     << "\ntriple=" << Triple << "\ncpu=" << CPU << "\nfeatures=" << Features
     << "\nentry=" << entryName(Entry) << "\ncontract=" << Contract
     << "\nabi=" << CanonicalABI << "\n";
  return Text;
}

Expected<KeyFields> KeyFields::parse(StringRef Text) {
  KeyFields F;
  StringRef Rest = Text, Format, Stub, Entry, Generator, LLVM, Triple, CPU,
            Features, Contract, CanonicalABI;
  const std::pair<StringRef, StringRef *> Fields[] = {
      {"format=", &Format},       {"stub-abi=", &Stub},
      {"generator=", &Generator}, {"llvm=", &LLVM},
      {"triple=", &Triple},       {"cpu=", &CPU},
      {"features=", &Features},   {"entry=", &Entry},
      {"contract=", &Contract},   {"abi=", &CanonicalABI}};
  bool Right = true;
  for (auto [Label, Value] : Fields) {
    StringRef Line;
    std::tie(Line, Rest) = Rest.split('\n');
    Right &= Line.consume_front(Label);
    *Value = Line;
  }
  Right &= !Format.getAsInteger(10, F.FormatVersion) &&
           !Stub.getAsInteger(10, F.StubABI);
  auto Kind = parseEntry(Entry);
  if (Kind)
    F.Entry = *Kind;
  else
    consumeError(Kind.takeError());
  F.Generator = Generator.str();
  F.LLVM = LLVM.str();
  F.Triple = Triple.str();
  F.CPU = CPU.str();
  F.Features = Features.str();
  F.Contract = Contract.str();
  F.CanonicalABI = CanonicalABI.str();
  if (!Right || !Kind || F.text() != Text)
    return makeError(Status::Binary, "the text is no key: '" + Text + "'");
  return F;
}

Key Key::hash(StringRef Text) {
  XXH128_hash_t H = xxh3_128bits(arrayRefFromStringRef(Text));
  return {H.high64, H.low64};
}

std::string Key::str() const {
  std::string Text;
  raw_string_ostream(Text) << format_hex_no_prefix(High, 16)
                           << format_hex_no_prefix(Low, 16);
  return Text;
}

std::string launchjit::stubSymbol(EntryKind Entry, const Key &K) {
  return ("lj_" + entryName(Entry) + "_" + K.str()).str();
}
