//===- TestHelpers.h - What the tests of signatures share -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_SIGNATURE_TESTHELPERS_H
#define LAUNCHJIT_UNITTESTS_SIGNATURE_TESTHELPERS_H

#include "launchjit/Signature/Signature.h"
#include "launchjit/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace launchjit {

/// The error in \p Result, or one that says there is none.
template <typename T> ErrorDetail errorOf(llvm::Expected<T> Result) {
  if (Result)
    return {Status::Success, "no error", -1, -1, 0};
  return takeDetail(Result.takeError());
}

/// The value in \p Result, or a default one and a failed test.
template <typename T> T valueOf(llvm::Expected<T> Result) {
  if (Result)
    return std::move(*Result);
  ADD_FAILURE() << takeDetail(Result.takeError()).Message;
  return T();
}

inline Signature parse(llvm::StringRef Text, SignatureOptions Options = {}) {
  SCOPED_TRACE(Text.str());
  return valueOf(Signature::parse(Text, Options));
}

} // namespace launchjit

#endif // LAUNCHJIT_UNITTESTS_SIGNATURE_TESTHELPERS_H
