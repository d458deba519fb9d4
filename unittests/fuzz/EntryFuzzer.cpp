//===- EntryFuzzer.cpp - The reader of cache entries ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "launchjit/Cache/Entry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstddef>
#include <cstring>

using namespace llvm;
using namespace launchjit;

static ArrayRef<char> chars(ArrayRef<uint8_t> Bytes) {
  return {reinterpret_cast<const char *>(Bytes.data()), Bytes.size()};
}

/// Is it an entry? What is read encodes to the bytes it came from.
static bool isRead(ArrayRef<char> Bytes) {
  auto E = decodeEntry(Bytes);
  if (!E) {
    fuzz::promise(!toString(E.takeError()).empty(), "an error says something");
    return false;
  }
  auto Again = encodeEntry(E->KeyText, E->Object);
  fuzz::promise(ArrayRef<char>(Again) == Bytes,
                "an entry encodes to its own bytes");
  return true;
}

/// Gives the bytes of a header and more the magic and the checksum of an entry.
static SmallVector<char, 0> sealed(ArrayRef<uint8_t> Bytes) {
  constexpr size_t From = offsetof(EntryHeader, Format),
                   To = offsetof(EntryHeader, ChecksumHigh);
  SmallVector<uint8_t, 0> Summed(Bytes.slice(From, To - From));
  append_range(Summed, Bytes.drop_front(sizeof(EntryHeader)));
  XXH128_hash_t Sum = xxh3_128bits(Summed);
  SmallVector<char, 0> Out(chars(Bytes));
  std::memcpy(Out.data(), EntryMagic, sizeof EntryMagic);
  std::memcpy(Out.data() + To, &Sum.high64, 8);
  std::memcpy(Out.data() + To + 8, &Sum.low64, 8);
  return Out;
}

void fuzz::entry(ArrayRef<uint8_t> Bytes) {
  isRead(chars(Bytes));

  // Behind a checksum that is right, format and sizes decide.
  if (Bytes.size() < sizeof(EntryHeader))
    return;
  EntryHeader H;
  std::memcpy(&H, Bytes.data(), sizeof H);
  ArrayRef<char> Rest = chars(Bytes).drop_front(sizeof H);
  bool Fits = H.KeySize <= Rest.size() &&
              H.ObjectSize == Rest.size() - H.KeySize &&
              H.ObjectSize <= MaxEntryBytes;
  promise(isRead(sealed(Bytes)) == (H.Format == CacheFormatVersion && Fits),
          "an entry is one of this format whose sizes are the file's");

  // Whatever text and object are, they come back.
  size_t KeySize = H.KeySize % (Rest.size() + 1);
  StringRef KeyText(Rest.data(), KeySize);
  ArrayRef<char> Object = Rest.drop_front(KeySize);
  auto Good = encodeEntry(KeyText, Object);
  auto E = decodeEntry(Good);
  promise(E && E->KeyText == KeyText && E->Object == Object,
          "an entry holds what was put into it");
}

LAUNCHJIT_FUZZER(entry)
