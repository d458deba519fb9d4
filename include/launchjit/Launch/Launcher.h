//===- Launcher.h - A callable entry point for an ABI ---------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_LAUNCHER_H
#define LAUNCHJIT_LAUNCH_LAUNCHER_H

#include "launchjit/JIT/Engine.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include <string>

namespace launchjit {

class Launcher;
using LauncherRef = llvm::IntrusiveRefCntPtr<const Launcher>;

/// An entry point of one kind for one canonical ABI, compiled or interpreted:
/// both take the same calls with the same results and errors. Immutable.
class Launcher : public llvm::ThreadSafeRefCountedBase<Launcher> {
public:
  /// Gives the compiled launcher, or the interpreted one where
  /// LAUNCHJIT_JIT=off, where executable memory or the code generator is not
  /// to be had (logged once), and for `python` above MaxCompiledPython
  /// parameters. Thread-safe.
  static llvm::Expected<LauncherRef>
  get(const ABI &A, EntryKind Entry, llvm::StringRef Contract = "launchjit");

  /// An inline python stub of more parameters takes too long to compile.
  static constexpr size_t MaxCompiledPython = 128;

  /// Cast it to the type that StubABI.h's EntryKind describes.
  void *entry() const { return Entry; }
  EntryKind kind() const { return Kind; }
  Origin origin() const { return From; }
  const Key &key() const { return TheKey; }
  /// Null if interpreted.
  const Stub *stub() const { return TheStub.get(); }

  /// The interpreted entry point, which serves every ABI.
  static void *interpretedEntry(EntryKind Entry);

private:
  Launcher() = default;
  void *Entry = nullptr;
  EntryKind Kind = EntryKind::C;
  Origin From = Origin::Interpreted;
  Key TheKey;
  StubRef TheStub;
};

/// A stub's code as \p Output, not linked. Its function is stubSymbol().
llvm::Expected<llvm::SmallVector<char, 0>> emitStub(const ABI &A,
                                                    EntryKind Entry,
                                                    llvm::StringRef Contract,
                                                    StubOutput Output);

/// The code of a cached key, made anew. Status::InvalidArgument for a key that
/// this build would not use: of another version of it or of LLVM, or another
/// architecture.
llvm::Expected<llvm::SmallVector<char, 0>> emitStub(llvm::StringRef KeyText,
                                                    StubOutput Output);

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_LAUNCHER_H
