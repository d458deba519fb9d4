//===- Bundled.h - The bundled kernels, and how each is tried -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// kernels/README.md says what each kernel does and what is checked.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_TOOLS_BUNDLED_H
#define LAUNCHJIT_TOOLS_BUNDLED_H

#include "Tool.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>

namespace launchjit::tool {

/// The bytes of kernels.ptx.
llvm::StringRef bundledPTX();
llvm::Expected<ModulePtr> loadBundledModule();

/// Memory of the driver's; freed with it.
class DeviceMemory {
public:
  static llvm::Expected<DeviceMemory> allocate(size_t Size);
  DeviceMemory(DeviceMemory &&O) : Address(O.Address), Size(O.Size) {
    O.Address = 0;
  }
  DeviceMemory &operator=(DeviceMemory &&) = delete;
  ~DeviceMemory() { ErrorPtr(lj_memory_free(Address)); }

  uint64_t address() const { return Address; }
  size_t size() const { return Size; }
  llvm::Error write(llvm::StringRef Bytes) const;
  llvm::Expected<std::string> read() const;

private:
  DeviceMemory(uint64_t Address, size_t Size) : Address(Address), Size(Size) {}
  uint64_t Address;
  size_t Size;
};

using Entry = void (*)(void);

/// One launch of a kernel, and what must come of it.
struct Trial {
  std::array<uint32_t, 3> Grid{1, 1, 1};
  std::array<uint32_t, 3> Block{1, 1, 1};
  uint32_t Shared = 0;
  std::vector<lj_attribute> Attributes;
  std::vector<std::string> Arguments; ///< Each parameter's bytes.

  std::vector<DeviceMemory> Inputs;
  struct Output {
    DeviceMemory Memory;
    std::string Expected; ///< Of the whole memory after the launch.
  };
  std::vector<Output> Outputs;

  template <typename T> void argument(const T &Value) {
    Arguments.emplace_back(reinterpret_cast<const char *>(&Value),
                           sizeof Value);
  }
  /// Memory with \p Bytes in it, passed as the next argument.
  llvm::Error input(llvm::StringRef Bytes);
  /// Memory that the kernel fills, passed as the next argument.
  llvm::Error output(std::string Expected);

  /// Overwrites every output, so that what the kernel leaves out shows.
  llvm::Error clearOutputs() const;
  /// Waits for the launch and compares its outputs.
  llvm::Error checkOutputs() const;
  /// Compares with what the recording driver kept.
  llvm::Error checkRecorded(const lj_recorded_launch &L,
                            llvm::StringRef Kernel) const;

  lj_kernel_options options() const;
  /// The launch through a `packed` entry.
  int callPacked(Entry Function, const lj_kernel *Kernel) const;
};

struct BundledKernel {
  const char *Name;
  std::string (*Signature)();
  /// What a launch on a GPU shows when its outputs are right.
  const char *Checked;
  llvm::Error (*Prepare)(Trial &T, lj_module *Module);
  /// The launch through a `c` entry, cast to the kernel's own types.
  int (*CallC)(Entry Function, const lj_kernel *Kernel, const Trial &T);
};

/// In the order of kernels.cu; the first is `add`.
llvm::ArrayRef<BundledKernel> bundledKernels();

/// The error behind a status that an entry returned; success for 0.
llvm::Error checkStatus(int Status);

/// A parameter's bytes as its canonical type reads them: "0x7f0012340000",
/// "-5", "1.5".
std::string decoded(llvm::StringRef Type, llvm::StringRef Bytes);

/// "8 x 1 x 1".
std::string dimensions(const uint32_t (&D)[3]);
std::string describe(const lj_attribute &A);

} // namespace launchjit::tool

#endif // LAUNCHJIT_TOOLS_BUNDLED_H
