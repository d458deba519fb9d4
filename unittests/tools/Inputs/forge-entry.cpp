//===- forge-entry.cpp - A cache entry with another key or object ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/Entry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

/// forge-entry ENTRY FROM TO: puts an entry beside ENTRY in whose key text the
/// line FROM is TO, or, where that changes nothing, whose object is another.
/// All checks of a single entry hold for it.
int main(int Count, char **Arguments) {
  if (Count != 4)
    return 2;
  StringRef Path = Arguments[1];
  auto Bytes = cantFail(errorOrToExpected(MemoryBuffer::getFile(Path)));
  auto Entry = cantFail(launchjit::decodeEntry(
      ArrayRef(Bytes->getBufferStart(), Bytes->getBufferSize())));
  std::string Key = Entry.KeyText.str();
  size_t At = Key.find(Arguments[2]);
  if (At == std::string::npos)
    return 1;
  Key.replace(At, StringRef(Arguments[2]).size(), Arguments[3]);
  SmallVector<char, 0> Object(Entry.Object.begin(), Entry.Object.end());
  if (Key == Entry.KeyText)
    Object.back() ^= 1;

  XXH128_hash_t Hash = xxh3_128bits(arrayRefFromStringRef(Key));
  SmallString<128> Forged = sys::path::parent_path(Path);
  sys::path::append(Forged, utohexstr(Hash.high64, /*LowerCase=*/true, 16) +
                                utohexstr(Hash.low64, true, 16) + ".stub");
  std::error_code EC;
  raw_fd_ostream OS(Forged, EC);
  for (char C : launchjit::encodeEntry(Key, Object))
    OS << C;
  return OS.has_error();
}
