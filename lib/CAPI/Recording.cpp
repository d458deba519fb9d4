//===- Recording.cpp - Launches that were recorded for C ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Driver/Recording.h"
#include "Wrap.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;

struct lj_recorded {
  struct Views {
    std::vector<lj_string> Parameters;
    std::vector<lj_attribute> Attributes;
  };
  std::vector<RecordedLaunch> Launches;
  std::vector<Views> Of; ///< Parallel to Launches.
};

lj_error *lj_driver_take_recorded(lj_recorded **recorded) {
  LJ_REQUIRE(recorded);
  Expected<const Driver &> Drv = Driver::process();
  if (!Drv)
    return toC(Drv.takeError());
  if (Drv->kind() != DriverKind::Recording)
    return toC(makeError(Status::Unsupported,
                         "the driver is '" + driverKindName(Drv->kind()) +
                             "', which keeps no launches; set "
                             "LAUNCHJIT_DRIVER=recording"));
  auto Result = std::make_unique<lj_recorded>();
  Result->Launches = takeRecordedLaunches();
  for (const RecordedLaunch &L : Result->Launches) {
    lj_recorded::Views &V = Result->Of.emplace_back();
    for (const std::vector<uint8_t> &P : L.Parameters)
      V.Parameters.push_back(toC(toStringRef(P)));
    for (const RecordedAttribute &A : L.Attributes)
      V.Attributes.push_back(lj_attribute_make(A.Id, &A.Value, sizeof A.Value));
  }
  *recorded = Result.release();
  return nullptr;
}

void lj_recorded_delete(lj_recorded *recorded) { delete recorded; }

size_t lj_recorded_count(const lj_recorded *recorded) {
  return recorded ? recorded->Launches.size() : 0;
}

lj_error *lj_recorded_get(const lj_recorded *recorded, size_t index,
                          lj_recorded_launch *launch) {
  LJ_REQUIRE(recorded);
  LJ_REQUIRE_STRUCT(lj_recorded_launch, launch);
  LJ_REQUIRE_INDEX(index, recorded->Launches.size());
  const RecordedLaunch &L = recorded->Launches[index];
  const lj_recorded::Views &V = recorded->Of[index];
  lj_recorded_launch Out = {};
  Out.kernel = toC(StringRef(L.Kernel));
  copy(L.Grid, Out.grid);
  copy(L.Block, Out.block);
  Out.shared = L.Shared;
  Out.device = L.Device;
  Out.stream = L.Stream;
  Out.context = L.Context;
  Out.attributes = V.Attributes.data();
  Out.num_attributes = V.Attributes.size();
  Out.parameters = V.Parameters.data();
  Out.num_parameters = V.Parameters.size();
  fillStruct(launch, Out);
  return nullptr;
}
