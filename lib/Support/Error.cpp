//===- Error.cpp - What went wrong, for every interface -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace launchjit;

char StatusError::ID = 0;

void StatusError::log(raw_ostream &OS) const { OS << Detail.Message; }

std::error_code StatusError::convertToErrorCode() const {
  return inconvertibleErrorCode();
}

ErrorDetail launchjit::takeDetail(llvm::Error E) {
  std::optional<ErrorDetail> First;
  handleAllErrors(std::move(E), [&](const ErrorInfoBase &Info) {
    if (First)
      return;
    if (Info.isA<StatusError>())
      First = static_cast<const StatusError &>(Info).detail();
    else
      First = ErrorDetail{Status::Internal, Info.message()};
  });
  return First ? std::move(*First) : ErrorDetail{};
}
