//===- Entry.h - One cached object as bytes -------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_CACHE_ENTRY_H
#define LAUNCHJIT_CACHE_ENTRY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace launchjit {

/// The version of the layout below; part of every key, so that two versions
/// never meet under one name.
inline constexpr uint32_t CacheFormatVersion = 1;

/// An entry is this header, little-endian, the whole key text, and the object.
struct EntryHeader {
  char Magic[8]; ///< EntryMagic
  uint32_t Format;
  uint32_t KeySize;      ///< Bytes.
  uint64_t ObjectSize;   ///< Bytes.
  uint64_t ChecksumHigh; ///< xxh3-128 of Format to ObjectSize, the key text
  uint64_t ChecksumLow;  ///< and the object.
};
static_assert(sizeof(EntryHeader) == 40);

/// A byte that is no text, so that nothing takes an entry for text, and line
/// ends that a text conversion would change.
inline constexpr char EntryMagic[8] = {'\x89', 'L',  'J',    'O',
                                       '\r',   '\n', '\x1a', '\n'};

/// No object is larger; what claims to be is damaged.
inline constexpr uint64_t MaxEntryBytes = uint64_t(64) << 20;

llvm::SmallVector<char, 0> encodeEntry(llvm::StringRef KeyText,
                                       llvm::ArrayRef<char> Object);

/// Compares the first bytes of an entry with the size of its file, so that no
/// memory is taken for what is none. At least a header's bytes are needed.
llvm::Error checkEntryHeader(llvm::ArrayRef<char> Bytes, uint64_t FileSize);

/// What an entry holds; both point into its bytes.
struct DecodedEntry {
  llvm::StringRef KeyText;
  llvm::ArrayRef<char> Object;
};

/// Checks every byte of an entry. The error, Status::Binary, says what is
/// wrong with it.
llvm::Expected<DecodedEntry> decodeEntry(llvm::ArrayRef<char> Bytes);

} // namespace launchjit

#endif // LAUNCHJIT_CACHE_ENTRY_H
