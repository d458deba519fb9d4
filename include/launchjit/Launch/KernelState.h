//===- KernelState.h - What all configurations of one function share ------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_KERNELSTATE_H
#define LAUNCHJIT_LAUNCH_KERNELSTATE_H

#include "launchjit/Launch/Kernel.h"
#include <atomic>
#include <mutex>

namespace launchjit {

/// The function in one context, ready to be launched there. Immutable.
struct PreparedFunction {
  CUcontext Context;
  CUfunction Function; ///< Or a CUkernel: the driver takes both.
  CUdevice Device;
  uint32_t GridLimit[3];
  const PreparedFunction *Next;
};

class KernelState : public llvm::ThreadSafeRefCountedBase<KernelState> {
public:
  KernelState(std::string Name, Signature Sig, const Driver *Drv);
  ~KernelState();

  /// Never null: a table that refuses everything until the driver is opened.
  const Driver *driver() const { return Drv.load(std::memory_order_acquire); }
  bool isBound() const;
  /// Takes \p D, if it can launch.
  llvm::Error bind(const Driver &D);
  /// Binds the module's driver or the process's, unless one is bound.
  llvm::Error bindDriver();

  /// The newest of those prepared, null for none.
  const PreparedFunction *prepared() const {
    return Prepared.load(std::memory_order_acquire);
  }
  const PreparedFunction *find(CUcontext Context) const {
    const PreparedFunction *P = prepared();
    while (P && P->Context != Context)
      P = P->Next;
    return P;
  }
  /// Loads the function for \p Context, which must be current, raises its
  /// limits there, and adds it to those prepared. \p Again replaces an entry
  /// for a context of that address that is gone.
  llvm::Expected<const PreparedFunction *> prepare(CUcontext Context,
                                                   bool Again = false);

  llvm::Expected<LauncherRef> launcher(EntryKind Kind);

  /// Compares the signature with what the driver tells of the function, until
  /// it has told. It tells of a CUkernel only where a context is current.
  llvm::Error checkWithDriver(const Module::Loaded &L);

  const std::string Name;
  const Signature Sig;
  ModuleRef Mod; ///< Null for a function that the host owns.
  CUfunction HostFunction = nullptr;
  CUkernel HostKernel = nullptr;
  bool NonPortableCluster = false;
  /// Whether the signature is known to fit.
  bool Checked = false;
  /// The function of \p P where it is a CUkernel; null where it is none.
  CUkernel asKernel(const PreparedFunction &P) const {
    bool IsKernel =
        Mod ? driver()->cuLibraryLoadData != nullptr : HostKernel != nullptr;
    return IsKernel ? reinterpret_cast<CUkernel>(P.Function) : nullptr;
  }
  /// What the messages call the function: "kernel 'axpy'".
  std::string describe() const;

private:
  llvm::Error raiseLimits(const Driver &D, CUdevice Device,
                          const Module::Loaded &L);

  std::atomic<const Driver *> Drv;
  std::atomic<const PreparedFunction *> Prepared{nullptr};
  std::mutex Lock;
  std::atomic<const Launcher *> Launchers[NumEntryKinds] = {};
};

/// The primary context of a device, retained once by the library for as long
/// as the process lives.
llvm::Expected<CUcontext> primaryContext(const Driver &D, CUdevice Device);

/// Makes a context current, and restores the thread's own at the end.
class ContextGuard {
public:
  /// Does nothing where \p Context is current.
  static llvm::Expected<ContextGuard> enter(const Driver &D, CUcontext Context);
  /// Leaves a current context as it is; without one, makes the primary context
  /// of \p Device current.
  static llvm::Expected<ContextGuard> enterAny(const Driver &D,
                                               CUdevice Device);
  ContextGuard(ContextGuard &&O) : D(O.D) { O.D = nullptr; }
  ContextGuard &operator=(ContextGuard &&) = delete;
  ~ContextGuard();

  bool changedContext() const { return D; }

private:
  explicit ContextGuard(const Driver *D) : D(D) {}
  const Driver *D; ///< Null: nothing to undo.
};

/// While one lives, a capture that goes on somewhere lets this thread make
/// calls that would break it for others, such as unloading.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &D)
      : Exchange(D.cuThreadExchangeStreamCaptureMode) {
    if (Exchange && Exchange(&Mode) != CUDA_SUCCESS)
      Exchange = nullptr;
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;
  ~RelaxedCapture() {
    if (Exchange)
      Exchange(&Mode);
  }

private:
  decltype(DriverTable::cuThreadExchangeStreamCaptureMode) Exchange;
  CUstreamCaptureMode Mode = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// The context that a launch into \p Stream belongs to. The driver must be
/// bound.
llvm::Expected<CUcontext> launchContext(const KernelData &Data,
                                        CUstream Stream);

/// Converts and checks all arguments into a packed buffer, in which the hidden
/// ones are null.
llvm::Error packValues(const KernelState &S, llvm::ArrayRef<Value> Values,
                       llvm::SmallVectorImpl<uint64_t> &Buffer);

/// Where each parameter is in a packed buffer, hidden ones included.
llvm::SmallVector<void *, 64> parameterPointers(const KernelState &S,
                                                const void *Buffer);

/// Compares a grid with what the device has.
llvm::Error checkGrid(const KernelState &S, const PreparedFunction &P,
                      const int64_t Grid[3]);

/// What the driver said to a launch, and a second look at why: the limit, the
/// value, the bound, what to change. The context of \p P must be current.
llvm::Error diagnoseLaunch(const KernelData &Data, const PreparedFunction &P,
                           CUresult Result, const int64_t Grid[3],
                           llvm::StringRef What = "was not launched");

/// Compares a signature with the parameters that a kernel has.
llvm::Error checkParameters(const Signature &S,
                            llvm::ArrayRef<BinaryParameter> Actual,
                            const llvm::Twine &Which);

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_KERNELSTATE_H
