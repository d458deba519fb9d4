//===- KernelBinary.h - What a kernel binary says of its kernels ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads cubins (ELF) and PTX text. No driver is needed. The bytes are not
// trusted: every length and offset is checked.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_BINARY_KERNELBINARY_H
#define LAUNCHJIT_BINARY_KERNELBINARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace launchjit {

enum class BinaryFormat { Cubin, PTX, Fatbin };

llvm::StringRef formatName(BinaryFormat F);

/// Where one parameter lies in the kernel's parameter buffer, in bytes.
struct BinaryParameter {
  uint32_t Offset;
  uint32_t Size;
};

/// One kernel. What the binary does not say is absent.
struct BinaryKernel {
  std::string Name; ///< As the driver knows it: mangled.
  /// Absent where the binary does not tell (never, in a whole cubin or PTX).
  std::optional<std::vector<BinaryParameter>> Parameters;
  std::optional<uint32_t> Registers;    ///< A thread.
  std::optional<uint32_t> StaticShared; ///< Bytes a block.
  std::optional<uint32_t> Local;        ///< Bytes a thread.
  std::optional<uint32_t> MaxThreads;   ///< A block (.maxntid, product).
  std::optional<std::array<uint32_t, 3>> RequiredBlock; ///< .reqntid
  std::optional<std::array<uint32_t, 3>>
      RequiredCluster; ///< .reqnctapercluster
  /// .blocksareclusters: a launch's grid counts clusters.
  bool BlocksAreClusters = false;
};

/// One __device__ or __constant__ variable.
struct BinaryVariable {
  std::string Name;
  uint64_t Size; ///< Bytes.
  bool Constant;
};

/// What one binary says. Immutable; owns all that it tells.
struct KernelBinary {
  BinaryFormat Format;
  unsigned Arch = 0;         ///< 90 for sm_90.
  bool ArchSpecific = false; ///< sm_90a: only that architecture runs it.
  std::vector<BinaryKernel> Kernels;     ///< By name.
  std::vector<BinaryVariable> Variables; ///< By name.

  /// Null where there is none.
  const BinaryKernel *find(llvm::StringRef Name) const;

  /// Reads \p Bytes; \p Where names them in errors (a file name), which are
  /// Status::Binary. A fatbin is recognised and its members are not read.
  static llvm::Expected<KernelBinary> read(llvm::ArrayRef<uint8_t> Bytes,
                                           llvm::StringRef Where);

  /// What \p Bytes are, by their first bytes; none for something else.
  static std::optional<BinaryFormat> identify(llvm::ArrayRef<uint8_t> Bytes);
};

} // namespace launchjit

#endif // LAUNCHJIT_BINARY_KERNELBINARY_H
