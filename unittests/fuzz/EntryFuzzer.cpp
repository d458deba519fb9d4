//===- EntryFuzzer.cpp - The reader of cache entries ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "launchjit/Cache/Entry.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;

static ArrayRef<char> chars(ArrayRef<uint8_t> Bytes) {
  return {reinterpret_cast<const char *>(Bytes.data()), Bytes.size()};
}

void fuzz::entry(ArrayRef<uint8_t> Bytes) {
  // What is read comes back as it was.
  if (auto E = decodeEntry(chars(Bytes))) {
    auto Again = encodeEntry(E->KeyText, E->Object);
    promise(ArrayRef<char>(Again) == chars(Bytes),
            "an entry encodes to its own bytes");
  } else {
    promise(!toString(E.takeError()).empty(), "an error says something");
  }

  // The same with the checksum that these bytes should have, so that what lies
  // behind it is reached: a header of any sizes.
  if (Bytes.size() < sizeof(EntryHeader))
    return;
  EntryHeader H;
  std::memcpy(&H, Bytes.data(), sizeof H);
  ArrayRef<char> Rest = chars(Bytes).drop_front(sizeof H);
  size_t KeySize = Rest.empty() ? 0 : H.KeySize % (Rest.size() + 1);
  auto Good =
      encodeEntry(StringRef(Rest.data(), KeySize), Rest.drop_front(KeySize));
  auto E = decodeEntry(Good);
  promise(bool(E), "what was encoded is read");
  promise(E->KeyText == StringRef(Rest.data(), KeySize) &&
              E->Object == Rest.drop_front(KeySize),
          "an entry holds what was put into it");
  std::memcpy(&H, Good.data(), sizeof H);
  H.KeySize ^= Bytes[8];
  H.ObjectSize ^= Bytes[16];
  std::memcpy(Good.data(), &H, sizeof H);
  auto Changed = decodeEntry(Good);
  promise(bool(Changed) == !(Bytes[8] || Bytes[16]),
          "other sizes are another checksum");
  if (!Changed)
    consumeError(Changed.takeError());
}

LAUNCHJIT_FUZZER(entry)
