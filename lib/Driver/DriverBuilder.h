//===- DriverBuilder.h - How each kind of driver is opened ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_DRIVER_DRIVERBUILDER_H
#define LAUNCHJIT_LIB_DRIVER_DRIVERBUILDER_H

#include "launchjit/Driver/Driver.h"

namespace launchjit {

struct DriverBuilder {
  /// A driver whose table is filled in already: checks that the table can
  /// serve at all, calls cuInit and asks for the version.
  static llvm::Expected<const Driver &>
  finish(DriverKind Kind, const DriverTable &Table, std::string Path);
};

llvm::Expected<const Driver &> openCudaDriver();
llvm::Expected<const Driver &> openRecordingDriver();
llvm::Expected<const Driver &> openNullDriver();

} // namespace launchjit

#endif // LAUNCHJIT_LIB_DRIVER_DRIVERBUILDER_H
