//===- Kernel.h - One GPU function with its launch configuration ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_KERNEL_H
#define LAUNCHJIT_LAUNCH_KERNEL_H

#include "launchjit/Launch/KernelData.h"
#include "launchjit/Launch/Launcher.h"
#include "launchjit/Launch/Module.h"
#include "launchjit/Signature/Signature.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/SmallVector.h"
#include <atomic>
#include <optional>

namespace launchjit {

class Kernel;
using KernelRef = llvm::IntrusiveRefCntPtr<Kernel>;

/// See lj_scratch_allocator in launchjit-c/kernel.h.
using ScratchAllocator = uint64_t (*)(void *Context, char Which, uint64_t Size,
                                      uint64_t Align, CUstream Stream);

struct KernelOptions {
  uint32_t Block[3] = {1, 1, 1};
  uint32_t Shared = 0; ///< Dynamic shared memory, bytes.
  /// As the driver takes them; no id twice.
  llvm::SmallVector<CUlaunchAttribute, 2> Attributes;
  /// Whose primary context serves where no context is current.
  int Device = 0;
  /// Allow clusters of more than 8 blocks.
  bool NonPortableCluster = false;
  /// Per block, for the hidden parameters; global, profile.
  uint64_t ScratchSize[2] = {0, 0};
  uint64_t ScratchAlign[2] = {1, 1};
  ScratchAllocator Scratch = nullptr;
  void *ScratchContext = nullptr;
};

/// What one launch changes; see lj_launch_overrides.
struct LaunchOverrides {
  const uint32_t *Block = nullptr;
  const uint32_t *Shared = nullptr;
  llvm::ArrayRef<CUlaunchAttribute> Attributes;
};

/// One argument with its type, for Kernel::launch. The values of Type are
/// those of lj_value_type.
struct Value {
  enum Type : uint32_t { Int = 0, UInt = 1, Float = 2, Pointer = 3, Bytes = 4 };
  Type Kind;
  uint32_t Size; ///< Of Bytes.
  union {
    int64_t I;
    uint64_t U;
    double F;
    const void *P;
  };

  static Value ofInt(int64_t V) {
    Value R{Int, 0, {}};
    R.I = V;
    return R;
  }
  static Value ofUInt(uint64_t V) {
    Value R{UInt, 0, {}};
    R.U = V;
    return R;
  }
  static Value ofFloat(double V) {
    Value R{Float, 0, {}};
    R.F = V;
    return R;
  }
  static Value ofPointer(uint64_t V) {
    Value R{Pointer, 0, {}};
    R.U = V;
    return R;
  }
  static Value ofBytes(const void *P, uint32_t Size) {
    Value R{Bytes, Size, {}};
    R.P = P;
    return R;
  }
};

/// A kernel: immutable, shared by reference, keeps its module alive. Making
/// one compiles nothing and needs no driver.
class Kernel : public llvm::ThreadSafeRefCountedBase<Kernel> {
public:
  /// A kernel of \p M. The signature is checked with what the binary says: a
  /// wrong count or size is Status::Signature, an unknown name
  /// Status::NotFound.
  static llvm::Expected<KernelRef> create(ModuleRef M, llvm::StringRef Name,
                                          const Signature &S,
                                          const KernelOptions &Options = {});
  /// Wraps a function or a kernel that the host owns. \p Name is for messages.
  static llvm::Expected<KernelRef>
  wrap(CUfunction Function, llvm::StringRef Name, const Signature &S,
       const KernelOptions &Options = {}, const Driver *Drv = nullptr);
  static llvm::Expected<KernelRef> wrap(CUkernel K, llvm::StringRef Name,
                                        const Signature &S,
                                        const KernelOptions &Options = {},
                                        const Driver *Drv = nullptr);
  ~Kernel();

  /// The same function with other options.
  llvm::Expected<KernelRef> withOptions(const KernelOptions &Options) const;

  llvm::StringRef name() const;
  const Signature &signature() const;
  const KernelOptions &options() const { return Options; }
  const KernelData &data() const { return Data; }

  /// The launcher of a kind: made when it is first asked for, shared by all
  /// kernels of the same ABI. The kernel keeps it.
  llvm::Expected<LauncherRef> launcher(EntryKind Kind) const;

  /// Converts and checks the values, then launches.
  llvm::Error launch(int64_t X, int64_t Y, int64_t Z, CUstream Stream,
                     llvm::ArrayRef<Value> Values) const {
    return launch(Data, X, Y, Z, Stream, Values);
  }
  /// The same with data that has overrides.
  static llvm::Error launch(const KernelData &D, int64_t X, int64_t Y,
                            int64_t Z, CUstream Stream,
                            llvm::ArrayRef<Value> Values);

  /// Loads the kernel on \p Device before its first launch there.
  llvm::Error load(int Device) const;

  /// Bytes of storage, aligned to 8, that withOverrides needs.
  static size_t storageSize(const KernelData &D, size_t NumAttributes);
  /// A copy of \p D with overrides in the caller's storage; see
  /// lj_kernel_with.
  static llvm::Expected<const KernelData *>
  withOverrides(const KernelData &D, void *Storage, size_t Size,
                const LaunchOverrides &Overrides);

  /// The primary context of the device option, where the driver was asked for
  /// it already; null otherwise.
  CUcontext knownPrimary() const {
    return Primary.load(std::memory_order_acquire);
  }
  /// Retains it for as long as the process lives.
  llvm::Expected<CUcontext> primary(const Driver &Drv) const;

private:
  Kernel(llvm::IntrusiveRefCntPtr<KernelState> State, KernelOptions Options);

  llvm::IntrusiveRefCntPtr<KernelState> State;
  KernelOptions Options;
  mutable std::atomic<CUcontext> Primary{nullptr};
  KernelData Data;
};

/// The error that the thread's last failing `c`, `packed` or interpreted call
/// left; null where there was none. Valid until the next one.
const ErrorDetail *lastLaunchError();
/// Keeps \p E as that error and returns its status as a stub does.
int setLastLaunchError(llvm::Error E);

/// "argument 3 ('n', i32)", for messages; \p Slot as StubABI counts.
std::string describeSlot(const Signature &S, uint32_t Slot);

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_KERNEL_H
