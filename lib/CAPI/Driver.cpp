//===- Driver.cpp - The CUDA driver, and what was recorded, for C ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "launchjit/Driver/Recording.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Recorded launches
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Logging and the environment
//===----------------------------------------------------------------------===//

#define SAME(C, CXX) static_assert(int(C) == int(CXX))
SAME(LJ_LOG_TRACE, LogLevel::Trace);
SAME(LJ_LOG_DEBUG, LogLevel::Debug);
SAME(LJ_LOG_INFO, LogLevel::Info);
SAME(LJ_LOG_WARN, LogLevel::Warn);
SAME(LJ_LOG_ERROR, LogLevel::Error);
#undef SAME

namespace {
struct HostSink {
  lj_log_sink Sink;
  void *Context;
};
} // namespace

void lj_set_log_sink(lj_log_sink sink, void *context) {
  static std::mutex Lock;
  static HostSink *Current;
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  HostSink *New = sink ? new HostSink{sink, context} : nullptr;
  LogSink Forward = [](void *Context, LogLevel Level, const char *Topic,
                       const char *Message) {
    auto *Host = static_cast<HostSink *>(Context);
    Host->Sink(Host->Context, static_cast<int>(Level), Topic, Message);
  };
  setLogSink(New ? Forward : nullptr, New);
  // The logger calls a sink under its lock, so the old one is out of use.
  delete Current;
  Current = New;
}

size_t lj_num_environment_variables(void) {
  return environmentVariables().size();
}

lj_error *lj_environment_variable(size_t index, const char **name,
                                  const char **default_value,
                                  const char **help) {
  LJ_REQUIRE(name);
  LJ_REQUIRE(default_value);
  LJ_REQUIRE(help);
  LJ_REQUIRE_INDEX(index, environmentVariables().size());
  const EnvironmentVariable &V = environmentVariables()[index];
  *name = V.Name;
  *default_value = V.Default;
  *help = V.Help;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Calls \p Function with the process's driver and a current context.
static lj_error *inContext(function_ref<Error(const Driver &Drv)> Function) {
  Expected<const Driver &> Drv = Driver::process();
  if (!Drv)
    return toC(Drv.takeError());
  CUcontext Context = nullptr;
  if (Error E = LJ_CUDA(*Drv, cuCtxGetCurrent,
                        "cannot tell the current context", &Context))
    return toC(std::move(E));
  if (!Context) {
    Expected<CUcontext> Primary = primaryContext(*Drv, 0);
    if (!Primary)
      return toC(Primary.takeError());
    Context = *Primary;
  }
  Expected<ContextGuard> Guard = ContextGuard::enter(*Drv, Context);
  if (!Guard)
    return toC(Guard.takeError());
  return toC(Function(*Drv));
}

lj_error *lj_memory_allocate(size_t size, uint64_t *address) {
  LJ_REQUIRE(address);
  return inContext([&](const Driver &Drv) -> Error {
    CUdeviceptr Result = 0;
    if (Error E =
            LJ_CUDA(Drv, cuMemAlloc,
                    "cannot allocate " + Twine(size) + " bytes", &Result, size))
      return E;
    *address = Result;
    return Error::success();
  });
}

lj_error *lj_memory_free(uint64_t address) {
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuMemFree,
                   "cannot free the memory at 0x" + Twine::utohexstr(address),
                   address);
  });
}

lj_error *lj_memory_write(uint64_t to, const void *from, size_t size) {
  LJ_REQUIRE_ARRAY(from, size);
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuMemcpyHtoD,
                   "cannot write " + Twine(size) + " bytes to 0x" +
                       Twine::utohexstr(to),
                   to, from, size);
  });
}

lj_error *lj_memory_read(void *to, uint64_t from, size_t size) {
  LJ_REQUIRE_ARRAY(to, size);
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuMemcpyDtoH,
                   "cannot read " + Twine(size) + " bytes from 0x" +
                       Twine::utohexstr(from),
                   to, from, size);
  });
}

lj_error *lj_synchronize(void) {
  return inContext([&](const Driver &Drv) {
    return LJ_CUDA(Drv, cuCtxSynchronize, "work of the context has failed");
  });
}
