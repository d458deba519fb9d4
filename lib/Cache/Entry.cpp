//===- Entry.cpp - One cached object as bytes -----------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/Entry.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;

static_assert(llvm::endianness::native == llvm::endianness::little,
              "the header is written as it lies in memory");

/// Of everything behind the checksum's own place: the sizes come first, so the
/// key text and the object cannot trade bytes.
static XXH128_hash_t checksum(const EntryHeader &H, ArrayRef<char> Rest) {
  SmallVector<uint8_t, 0> Bytes;
  Bytes.reserve(16 + Rest.size());
  auto *Sizes = reinterpret_cast<const uint8_t *>(&H.Format);
  Bytes.append(Sizes, Sizes + 16);
  Bytes.append(Rest.begin(), Rest.end());
  return xxh3_128bits(Bytes);
}

SmallVector<char, 0> launchjit::encodeEntry(StringRef KeyText,
                                            ArrayRef<char> Object) {
  EntryHeader H;
  std::memcpy(H.Magic, EntryMagic, sizeof H.Magic);
  H.Format = CacheFormatVersion;
  H.KeySize = KeyText.size();
  H.ObjectSize = Object.size();
  SmallVector<char, 0> Bytes(sizeof H);
  Bytes.append(KeyText.begin(), KeyText.end());
  Bytes.append(Object.begin(), Object.end());
  XXH128_hash_t Sum = checksum(H, ArrayRef(Bytes).drop_front(sizeof H));
  H.ChecksumHigh = Sum.high64;
  H.ChecksumLow = Sum.low64;
  std::memcpy(Bytes.data(), &H, sizeof H);
  return Bytes;
}

static Error bad(const Twine &What) { return makeError(Status::Binary, What); }

Error launchjit::checkEntryHeader(ArrayRef<char> Bytes, uint64_t FileSize) {
  EntryHeader H;
  if (Bytes.size() < sizeof H)
    return bad("it ends after " + Twine(Bytes.size()) +
               " bytes, within its header");
  std::memcpy(&H, Bytes.data(), sizeof H);
  if (std::memcmp(H.Magic, EntryMagic, sizeof H.Magic))
    return bad("its first bytes are not those of an entry");
  if (H.Format != CacheFormatVersion)
    return bad("its format is " + Twine(H.Format) + ", not " +
               Twine(CacheFormatVersion));
  if (H.ObjectSize > MaxEntryBytes ||
      FileSize != sizeof H + uint64_t(H.KeySize) + H.ObjectSize)
    return bad("it has " + Twine(FileSize) +
               " bytes, but its header says otherwise");
  return Error::success();
}

Expected<DecodedEntry> launchjit::decodeEntry(ArrayRef<char> Bytes) {
  if (Error E = checkEntryHeader(Bytes, Bytes.size()))
    return std::move(E);
  EntryHeader H;
  std::memcpy(&H, Bytes.data(), sizeof H);
  ArrayRef<char> Rest = Bytes.drop_front(sizeof H);
  XXH128_hash_t Sum = checksum(H, Rest);
  if (Sum.high64 != H.ChecksumHigh || Sum.low64 != H.ChecksumLow)
    return bad("its checksum is wrong");
  return DecodedEntry{StringRef(Rest.data(), H.KeySize),
                      Rest.drop_front(H.KeySize)};
}
