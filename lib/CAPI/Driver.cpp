//===- Driver.cpp - The CUDA driver and its devices for C -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"

using namespace llvm;
using namespace launchjit;

lj_error *lj_driver_set_resolver(lj_driver_resolver resolver, void *context) {
  LJ_REQUIRE(resolver);
  return toC(Driver::setResolver(resolver, context));
}

lj_error *lj_driver_get_info(lj_driver_info *info) {
  LJ_REQUIRE_STRUCT(lj_driver_info, info);
  Expected<const Driver &> Drv = Driver::process();
  if (!Drv)
    return toC(Drv.takeError());
  lj_driver_info Info = {};
  if (Error E = LJ_CUDA(*Drv, cuDeviceGetCount, "cannot count the devices",
                        &Info.num_devices))
    return toC(std::move(E));
  Info.kind = driverKindName(Drv->kind()).data();
  Info.path = toC(Drv->path());
  Info.version = Drv->version();
  fillStruct(info, Info);
  return nullptr;
}

lj_error *lj_driver_function(const char *name, void **function) {
  LJ_REQUIRE(name);
  LJ_REQUIRE(function);
  Expected<const Driver &> Drv = Driver::process();
  if (!Drv)
    return toC(Drv.takeError());
  void *const *Found = nullptr;
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  if (StringRef(name) == #Name)                                                \
    Found = reinterpret_cast<void *const *>(&Drv->Name);
#include "launchjit/Driver/Entries.def"
  if (!Found)
    return toC(
        makeError(Status::NotFound, Twine("launchjit uses no entry point "
                                          "of the driver called '") +
                                        name + "'"));
  if (!*Found)
    return toC(
        makeError(Status::Unsupported, Twine("this driver has no ") + name));
  *function = *Found;
  return nullptr;
}

lj_error *lj_driver_device_name(int device, lj_buffer *name) {
  LJ_REQUIRE(name);
  Expected<const Driver &> Drv = Driver::process();
  if (!Drv)
    return toC(Drv.takeError());
  CUdevice Device;
  char Name[256] = "";
  if (Error E = LJ_CUDA(*Drv, cuDeviceGet,
                        "there is no device " + Twine(device), &Device, device))
    return toC(std::move(E));
  if (Error E = LJ_CUDA(*Drv, cuDeviceGetName,
                        "cannot read the name of device " + Twine(device), Name,
                        sizeof Name, Device))
    return toC(std::move(E));
  return toC(StringRef(Name), name);
}

lj_error *lj_driver_device_attribute(int device, int attribute, int *value) {
  LJ_REQUIRE(value);
  Expected<const Driver &> Drv = Driver::process();
  if (!Drv)
    return toC(Drv.takeError());
  CUdevice Device;
  int Result = 0;
  if (Error E = LJ_CUDA(*Drv, cuDeviceGet,
                        "there is no device " + Twine(device), &Device, device))
    return toC(std::move(E));
  if (Error E =
          LJ_CUDA(*Drv, cuDeviceGetAttribute,
                  "cannot read attribute " + Twine(attribute) + " of device " +
                      Twine(device),
                  &Result, static_cast<CUdevice_attribute>(attribute), Device))
    return toC(std::move(E));
  *value = Result;
  return nullptr;
}
