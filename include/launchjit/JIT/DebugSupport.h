//===- DebugSupport.h - Telling gdb and perf of generated code ------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On request only: LAUNCHJIT_DEBUG=gdb,perf. gdb finds stubs through the JIT
// interface that its manual describes; perf through a jitdump file
// (tools/perf/Documentation/jitdump-specification.txt in Linux), since it looks
// for a perf-PID.map only under anonymous memory, and stubs lie in a memfd:
//
//   LAUNCHJIT_DEBUG=perf perf record -k mono PROGRAM
//   perf inject --jit -i perf.data -o jit.data && perf report -i jit.data
//
// gdb reads one list a library or program. liblaunchjit.so has its own; a C++
// host that links the rooms and LLVM's ORC shares ORC's, which ORC guards by a
// lock that nobody else can take. Such a host must not let ORC's own support
// for debuggers register code while a launcher is made or freed under
// LAUNCHJIT_DEBUG=gdb.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_JIT_DEBUGSUPPORT_H
#define LAUNCHJIT_JIT_DEBUGSUPPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace launchjit {

/// Code that a debugger knows of, until this dies.
class DebugRegistration {
public:
  virtual ~DebugRegistration() = default;
};

/// Tells whom LAUNCHJIT_DEBUG names that the function \p Symbol of \p Object
/// lies at \p Code. Null where nobody is to be told of its end. Thread-safe;
/// the caller holds a ForkShield.
std::unique_ptr<DebugRegistration>
registerForDebugging(llvm::ArrayRef<char> Object, llvm::StringRef Symbol,
                     llvm::ArrayRef<char> Code);

} // namespace launchjit

#endif // LAUNCHJIT_JIT_DEBUGSUPPORT_H
