//===- Module.h - A kernel binary, and where it is loaded -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_MODULE_H
#define LAUNCHJIT_LAUNCH_MODULE_H

#include "launchjit/Binary/KernelBinary.h"
#include "launchjit/Driver/Driver.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include <mutex>
#include <vector>

namespace launchjit {

class Module;
using ModuleRef = llvm::IntrusiveRefCntPtr<Module>;

/// One cubin, fatbin or PTX. Making it reads the bytes and needs no driver;
/// the driver loads it when a kernel or a variable of it is first needed:
/// once for all contexts, or once per context where the driver is older than
/// CUDA 12. Thread-safe.
class Module : public llvm::ThreadSafeRefCountedBase<Module> {
public:
  /// Copies \p Bytes. \p Name is for messages. \p Drv is the process's driver
  /// unless given.
  static llvm::Expected<ModuleRef> create(llvm::ArrayRef<uint8_t> Bytes,
                                          llvm::StringRef Name,
                                          const Driver *Drv = nullptr);
  static llvm::Expected<ModuleRef> createFromFile(llvm::StringRef Path,
                                                  const Driver *Drv = nullptr);
  ~Module();

  const KernelBinary &binary() const { return Binary; }
  llvm::ArrayRef<uint8_t> bytes() const {
    return llvm::ArrayRef<uint8_t>(Bytes).drop_back();
  }
  llvm::StringRef name() const { return Name; }

  struct Global {
    CUdeviceptr Address;
    size_t Size; ///< Bytes.
  };
  /// A variable, in the current context or in the primary one of \p Device
  /// where none is current.
  llvm::Expected<Global> getGlobal(llvm::StringRef Variable, int Device = 0);

  /// The driver that this module is for; opens the process's.
  llvm::Expected<const Driver &> driver();

  /// A kernel for launches in \p Context, which must be current: a CUkernel
  /// as a CUfunction, good in every context, or a CUfunction of that context.
  struct Loaded {
    CUfunction Function;
    CUkernel Kernel; ///< Null with the module API.
  };
  llvm::Expected<Loaded> loadKernel(llvm::StringRef Kernel, CUcontext Context);

private:
  Module() = default;
  llvm::Error loadLibrary(const Driver &Drv);
  llvm::Expected<CUmodule> loadModule(const Driver &Drv, CUcontext Context);

  std::string Name;
  std::vector<uint8_t> Bytes; ///< NUL-terminated behind its end, for PTX.
  KernelBinary Binary;

  std::mutex Lock;
  const Driver *Drv = nullptr;
  CUlibrary Library = nullptr;
  /// With the module API, in each context.
  struct InContext {
    CUcontext Context;
    CUdevice Device;
    CUmodule Module;
  };
  std::vector<InContext> Modules;
  int64_t LoadedBy =
      0; ///< The process that loaded it; a child must not unload.
};

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_MODULE_H
