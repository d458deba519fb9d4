//===- Demo.h - What both forms of launchjit demo share -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_TOOLS_DEMO_H
#define LAUNCHJIT_TOOLS_DEMO_H

#include "Bundled.h"

namespace launchjit::tool {

/// The driver of this process. Where there is none and nobody asked for one,
/// the demo takes the recording one.
struct DemoDriver {
  enum { Cuda, Recording, Null } Kind = Cuda;
  lj_driver_info Info{};
  std::string Device;
  std::string Why; ///< Why the demo chose it; empty where it did not.

  static llvm::Expected<DemoDriver> open();
  /// One line: what it is, and what that means for the demo.
  std::string describe() const;
  llvm::json::Object json() const;
};

/// A bundled kernel with the data of a launch.
struct Ready {
  const BundledKernel *Bundled;
  SignaturePtr Signature;
  KernelPtr Kernel;
  Trial T;

  llvm::StringRef abi() const { return str(lj_signature_abi(Signature.get())); }
  int call(lj_entry_kind Kind, Entry Function) const {
    return Kind == LJ_ENTRY_C ? Bundled->CallC(Function, Kernel.get(), T)
                              : T.callPacked(Function, Kernel.get());
  }
  /// Launches once and checks what came of it, as far as the driver lets.
  llvm::Error launchAndCheck(lj_entry_kind Kind, Entry Function,
                             const DemoDriver &Driver) const;
  /// The median of many launches, in nanoseconds.
  llvm::Expected<uint64_t> timeLaunches(lj_entry_kind Kind, Entry Function,
                                        const DemoDriver &Driver) const;
};

/// What a check shows when it passes.
std::string checkedText(const Ready &R, const DemoDriver &Driver);

/// `demo --all`: every kernel, through `c` and `packed`. The exit status.
llvm::Expected<int> demoAll(const DemoDriver &Driver, bool JSON);

} // namespace launchjit::tool

#endif // LAUNCHJIT_TOOLS_DEMO_H
