//===- Environment.h - The variables that the library reads ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SUPPORT_ENVIRONMENT_H
#define LAUNCHJIT_SUPPORT_ENVIRONMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace launchjit {

/// One variable, as `launchjit doctor` lists it.
struct EnvironmentVariable {
  const char *Name;
  const char *Default; ///< What an unset variable means, in words.
  const char *Help;
};

/// Every variable that this build reads.
llvm::ArrayRef<EnvironmentVariable> environmentVariables();

/// The value of \p Name, which must be in environmentVariables(); none where
/// it is unset or empty.
std::optional<std::string> getEnvironment(llvm::StringRef Name);

} // namespace launchjit

#endif // LAUNCHJIT_SUPPORT_ENVIRONMENT_H
