//===- Stub.h - A launcher as LLVM IR -------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_CODEGEN_STUB_H
#define LAUNCHJIT_CODEGEN_STUB_H

#include "launchjit/StubABI.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace launchjit {

/// Adds the launcher of \p A to \p M, a module of the host's own for a 64-bit
/// little-endian target with the C calling convention of Linux, and returns
/// its function, which is external and named \p Name. It reads and calls only
/// what StubABI.h declares, through the kernel that it is given.
///
/// The IR is in SSA form and chosen so that compiling it at any level makes no
/// relocation, no constant pool and no external symbol: floating values are
/// only loaded, truncated and stored, and blocks of memory are copied by loads
/// and stores or by a helper of the table.
llvm::Function *emitLauncher(llvm::Module &M, const ABI &A, EntryKind Entry,
                             llvm::StringRef Name);

} // namespace launchjit

#endif // LAUNCHJIT_CODEGEN_STUB_H
