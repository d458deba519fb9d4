//===- Driver.cpp - The CUDA driver as one table --------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Driver/Driver.h"
#include "DriverBuilder.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "llvm/ADT/StringSwitch.h"
#include <atomic>
#include <mutex>

using namespace llvm;
using namespace launchjit;

namespace {

struct ProcessDriver {
  std::atomic<const Driver *> Open{nullptr};
  std::mutex Lock; ///< Of what follows.
  DriverResolver Resolve = nullptr;
  void *Context = nullptr;
};

ProcessDriver &processDriver() {
  static ProcessDriver P;
  return P;
}

/// Every driver that was opened: what is never freed is still no leak.
struct OpenDriver {
  Driver D;
  OpenDriver *Next = nullptr;
};
std::atomic<OpenDriver *> OpenDrivers{nullptr};

std::string versionText(int Version) {
  return std::to_string(Version / 1000) + "." +
         std::to_string(Version % 1000 / 10);
}

} // namespace

StringRef launchjit::driverKindName(DriverKind K) {
  switch (K) {
  case DriverKind::Cuda:
    return "cuda";
  case DriverKind::Recording:
    return "recording";
  case DriverKind::Null:
    return "null";
  }
  llvm_unreachable("an unknown kind of driver");
}

std::optional<DriverKind> launchjit::parseDriverKind(StringRef Name) {
  return StringSwitch<std::optional<DriverKind>>(Name)
      .Case("cuda", DriverKind::Cuda)
      .Case("recording", DriverKind::Recording)
      .Case("null", DriverKind::Null)
      .Default(std::nullopt);
}

Expected<const Driver &> Driver::process() {
  ProcessDriver &P = processDriver();
  if (const Driver *D = P.Open.load(std::memory_order_acquire))
    return *D;
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(P.Lock);
  if (const Driver *D = P.Open.load(std::memory_order_relaxed))
    return *D;
  Expected<const Driver &> Opened = [&]() -> Expected<const Driver &> {
    if (P.Resolve)
      return open(P.Resolve, P.Context);
    std::string Name = getEnvironment("LAUNCHJIT_DRIVER").value_or("cuda");
    if (std::optional<DriverKind> Kind = parseDriverKind(Name))
      return open(*Kind);
    return makeError(Status::InvalidArgument,
                     "LAUNCHJIT_DRIVER is '" + Name +
                         "'; it may be cuda, recording or null");
  }();
  if (Opened)
    P.Open.store(&*Opened, std::memory_order_release);
  return Opened;
}

const Driver *Driver::processIfOpen() {
  return processDriver().Open.load(std::memory_order_acquire);
}

Error Driver::setResolver(DriverResolver Resolve, void *Context) {
  ProcessDriver &P = processDriver();
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(P.Lock);
  if (P.Open.load(std::memory_order_relaxed))
    return makeError(Status::InvalidArgument,
                     "a driver resolver must be set before the process's "
                     "driver is first used, which has happened");
  P.Resolve = Resolve;
  P.Context = Context;
  return Error::success();
}

Expected<const Driver &> Driver::open(DriverKind Kind) {
  switch (Kind) {
  case DriverKind::Cuda:
    return openCudaDriver();
  case DriverKind::Recording:
    return openRecordingDriver();
  case DriverKind::Null:
    return openNullDriver();
  }
  llvm_unreachable("an unknown kind of driver");
}

Expected<const Driver &> Driver::open(DriverResolver Resolve, void *Context) {
  DriverTable Table;
#define LJ_STRING_(Symbol) #Symbol
#define LJ_STRING(Symbol) LJ_STRING_(Symbol)
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  Table.Name = reinterpret_cast<decltype(&::Name)>(                            \
      Resolve(Context, LJ_STRING(Name), Version));
#include "launchjit/Driver/Entries.def"
  return DriverBuilder::finish(DriverKind::Cuda, Table, "");
}

Expected<const Driver &> DriverBuilder::finish(DriverKind Kind,
                                               const DriverTable &Table,
                                               std::string Path) {
  auto Holder = std::make_unique<OpenDriver>();
  Driver *D = &Holder->D;
  static_cast<DriverTable &>(*D) = Table;
  D->Kind = Kind;
  D->Path = std::move(Path);
  if (!D->cuInit)
    return makeError(Status::NoDriver,
                     (D->Path.empty() ? "the host's CUDA driver" : D->Path) +
                         " has no cuInit, so it is no CUDA driver");
  if (D->cuDriverGetVersion &&
      D->cuDriverGetVersion(&D->Version) != CUDA_SUCCESS)
    D->Version = 0;
  CUresult Result = D->cuInit(0);
  if (Result == CUDA_ERROR_STUB_LIBRARY)
    return makeError(
        {Status::Cuda,
         D->Path + " is the CUDA toolkit's stub of the driver, which serves "
                   "linking only (CUDA_ERROR_STUB_LIBRARY): install the NVIDIA "
                   "driver, or name its libcuda.so.1 in LAUNCHJIT_LIBCUDA",
         -1, -1, int(Result)});
  if (Error E = D->check(Result, "cannot initialise the CUDA driver" +
                                     (D->Path.empty() ? "" : " " + D->Path)))
    return std::move(E);
  log(LogLevel::Info, "driver",
      driverKindName(Kind) + Twine(" driver ") + D->Path + " of CUDA " +
          versionText(D->Version) + " is open");
  Holder->Next = OpenDrivers.load(std::memory_order_relaxed);
  while (!OpenDrivers.compare_exchange_weak(Holder->Next, Holder.get()))
    ;
  return Holder.release()->D;
}

Error Driver::error(CUresult Result, const Twine &What) const {
  std::string Message = (What + ": ").str();
  const char *Name = nullptr, *Sentence = nullptr;
  StringRef Known = errorName(Result);
  std::string Newer;
  // A driver newer than our headers has names that they lack.
  if (!Known.starts_with("CUDA_") && cuGetErrorName &&
      cuGetErrorName(Result, &Name) == CUDA_SUCCESS && Name)
    Known = Newer = Name;
  Message += Known;
  Message += " (" + std::to_string(int(Result)) + ")";
  if (cuGetErrorString && cuGetErrorString(Result, &Sentence) == CUDA_SUCCESS &&
      Sentence)
    Message += std::string(": ") + Sentence;
  return makeError({Status::Cuda, std::move(Message), -1, -1, int(Result),
                    std::move(Newer)});
}

Error Driver::missing(StringRef Entry, int Brought) const {
#define LAUNCHJIT_ENTRY(Name, Since)                                           \
  if (!Brought && Entry == #Name)                                              \
    Brought = Since;
#include "launchjit/Driver/Entries.def"
  std::string Message =
      Path.empty() ? "the CUDA driver" : "the CUDA driver " + Path;
  if (Version)
    Message += " (CUDA " + versionText(Version) + ")";
  Message += " has no " + Entry.str();
  if (Brought)
    Message += ", which came with CUDA " + versionText(Brought) +
               ": update the NVIDIA driver";
  return makeError(Status::NoDriver, Message);
}
