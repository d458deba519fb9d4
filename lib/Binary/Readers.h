//===- Readers.h - The readers of each format -----------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINARY_READERS_H
#define LAUNCHJIT_LIB_BINARY_READERS_H

#include "launchjit/Binary/KernelBinary.h"

namespace launchjit {

inline KernelBinary emptyBinary(BinaryFormat F) {
  KernelBinary B;
  B.Format = F;
  return B;
}

/// What all parameters of a kernel may take, in bytes.
inline constexpr uint32_t ParameterSpaceBytes = 32764;

/// The ELF machine of a cubin.
inline constexpr uint16_t CudaMachine = 190;

llvm::Expected<KernelBinary> readCubin(llvm::ArrayRef<uint8_t> Bytes,
                                       llvm::StringRef Where);
llvm::Expected<KernelBinary> readPTX(llvm::StringRef Text,
                                     llvm::StringRef Where);

/// Whether \p Text begins as PTX must: with .version, behind comments.
bool looksLikePTX(llvm::StringRef Text);

} // namespace launchjit

#endif // LAUNCHJIT_LIB_BINARY_READERS_H
