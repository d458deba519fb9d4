//===- Error.h - What went wrong, for every interface ---------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the library an error is an llvm::Error that holds a StatusError. It
// becomes an lj_error at the C boundary and an exception at Python's, each in
// one place, from an ErrorDetail.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SUPPORT_ERROR_H
#define LAUNCHJIT_SUPPORT_ERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace launchjit {

/// The kinds of failure. The values are those of lj_status in
/// launchjit-c/error.h and never change.
enum class Status : int {
  Success = 0,
  InvalidArgument = 1, ///< The interface was misused: a null handle, say.
  Signature = 2,       ///< A signature does not parse or does not fit.
  ArgumentType = 3,    ///< A launch argument has the wrong type or count.
  ArgumentRange = 4,   ///< A number does not fit its parameter.
  ArgumentValue = 5,   ///< A launch argument or grid has a wrong value.
  Binary = 6,          ///< A kernel binary is damaged or of no known format.
  NotFound = 7,        ///< No kernel or variable has the name.
  NoDriver = 8,        ///< There is no CUDA driver, or it lacks an entry point.
  Cuda = 9,            ///< The driver refused; ErrorDetail::Cuda says how.
  IO = 10,             ///< A file could not be read or written.
  Unsupported = 11,    ///< Not possible in this build or on this machine.
  Internal = 12,       ///< A fault of the library's own.
};

/// Everything that an interface may want to tell of a failure.
struct ErrorDetail {
  Status Code = Status::Internal;
  /// One sentence in lower case: what, where, which value, what was allowed,
  /// what to do.
  std::string Message;
  /// The launch argument at fault, counted from 0 among the flattened
  /// parameters, or -1.
  int64_t Argument = -1;
  /// The byte offset in the text at fault, or -1.
  int64_t Offset = -1;
  /// The driver's CUresult, or 0.
  int Cuda = 0;
  /// What the driver calls it, where our headers have no name for it.
  std::string CudaName = {};
  /// An exception of a host language stands behind it, which that language's
  /// bindings keep for this thread.
  bool HasException = false;
};

class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;

  explicit StatusError(ErrorDetail D) : Detail(std::move(D)) {}

  const ErrorDetail &detail() const { return Detail; }
  void log(llvm::raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override;

private:
  ErrorDetail Detail;
};

inline llvm::Error makeError(ErrorDetail Detail) {
  return llvm::make_error<StatusError>(std::move(Detail));
}

inline llvm::Error makeError(Status Code, const llvm::Twine &Message) {
  return makeError(ErrorDetail{Code, Message.str(), -1, -1, 0});
}

/// Consumes \p E, which must hold an error, and gives what it says. An error
/// that is not a StatusError becomes Status::Internal; of several joined ones
/// the first is told.
ErrorDetail takeDetail(llvm::Error E);

} // namespace launchjit

#endif // LAUNCHJIT_SUPPORT_ERROR_H
