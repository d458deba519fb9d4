//===- Inputs.h - The kernels that the tests read -------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_BINARY_INPUTS_H
#define LAUNCHJIT_UNITTESTS_BINARY_INPUTS_H

#include "launchjit/Binary/KernelBinary.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

namespace launchjit {

/// The bytes of a file in Inputs, with a NUL behind them as text needs it.
inline std::string readInput(llvm::StringRef Name) {
  auto Buffer =
      llvm::MemoryBuffer::getFile((LAUNCHJIT_BINARY_INPUTS "/" + Name).str());
  EXPECT_TRUE(bool(Buffer)) << Name.str();
  return Buffer ? (*Buffer)->getBuffer().str() : "";
}

inline llvm::Expected<KernelBinary> readBytes(llvm::StringRef Bytes,
                                              llvm::StringRef Where = "k") {
  return KernelBinary::read(llvm::arrayRefFromStringRef(Bytes), Where);
}

inline KernelBinary readGood(llvm::StringRef Bytes) {
  llvm::Expected<KernelBinary> B = readBytes(Bytes);
  if (B)
    return std::move(*B);
  ADD_FAILURE() << takeDetail(B.takeError()).Message;
  return KernelBinary();
}

/// The error of \p Bytes, which must be one of Status::Binary.
inline std::string readBad(llvm::StringRef Bytes, llvm::StringRef Where = "k") {
  llvm::Expected<KernelBinary> B = readBytes(Bytes, Where);
  if (B) {
    ADD_FAILURE() << "no error";
    return "";
  }
  ErrorDetail Detail = takeDetail(B.takeError());
  EXPECT_EQ(Detail.Code, Status::Binary);
  return Detail.Message;
}

} // namespace launchjit

#endif // LAUNCHJIT_UNITTESTS_BINARY_INPUTS_H
