//===- RecordingDriver.cpp - The recording driver's table -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverBuilder.h"
#include "RecordingEntries.h"

using namespace llvm;
using namespace launchjit;

Expected<const Driver &> launchjit::openRecordingDriver() {
  if (Error E = recording::configure())
    return std::move(E);
  DriverTable Table;
#define LAUNCHJIT_ENTRY(Name, Version) Table.Name = recording::Name;
#include "launchjit/Driver/Entries.def"
  return DriverBuilder::finish(DriverKind::Recording, Table, "");
}
