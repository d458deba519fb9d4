//===- Driver.h - The CUDA driver as one table ----------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here runs when the library is loaded: the process's driver is
// opened, and cuInit called, by the first who asks for it.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_DRIVER_DRIVER_H
#define LAUNCHJIT_DRIVER_DRIVER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cuda.h>
#include <memory>
#include <optional>
#include <string>

namespace launchjit {

/// What stands behind the table.
enum class DriverKind {
  Cuda,      ///< libcuda.so.1, or what LAUNCHJIT_LIBCUDA names.
  Recording, ///< Checks and keeps every launch; nothing runs.
  Null,      ///< Every call succeeds at once; for measuring.
};

llvm::StringRef driverKindName(DriverKind K);
std::optional<DriverKind> parseDriverKind(llvm::StringRef Name);

/// One function pointer an entry point, null where the driver lacks it.
struct DriverTable {
#define LAUNCHJIT_ENTRY(Name, Version) decltype(&::Name) Name = nullptr;
#include "launchjit/Driver/Entries.def"
};

/// Looks one entry point up for a host that has its own way to the driver:
/// \p Symbol is the exported name ("cuMemAlloc_v2"), \p Version as
/// cuGetProcAddress takes it. Null where there is none. See
/// lj_driver_resolver in launchjit-c/driver.h for what it must not do.
using DriverResolver = void *(*)(void *Context, const char *Symbol,
                                 int Version);

/// A driver: its table and what it is. Immutable after it is opened, safe to
/// share, and never destroyed: kernels point to it.
class Driver : public DriverTable {
public:
  /// The process's driver, opened on the first call: the one that a host set,
  /// else what LAUNCHJIT_DRIVER says, else CUDA. A failure is Status::NoDriver
  /// (no library, with the variable that would choose another), Status::Cuda
  /// (cuInit failed) or Status::InvalidArgument (a variable has a value that it
  /// may not have); it is tried anew on the next call, since a parent's failure
  /// need not be its child's. Thread-safe.
  static llvm::Expected<const Driver &> process();

  /// Makes the process's driver, which must not have been opened yet, come
  /// from \p Resolve.
  static llvm::Error setResolver(DriverResolver Resolve, void *Context);

  /// Opens one of its own, cuInit called; for tests and tools. It lives as
  /// long as the process.
  static llvm::Expected<const Driver &> open(DriverKind Kind);
  static llvm::Expected<const Driver &> open(DriverResolver Resolve,
                                             void *Context);

  /// The process's driver if it was opened; null otherwise. Opens nothing.
  static const Driver *processIfOpen();

  DriverKind kind() const { return Kind; }
  /// The path that was opened; empty where there is none.
  llvm::StringRef path() const { return Path; }
  /// As cuDriverGetVersion has it: 13000 is 13.0.
  int version() const { return Version; }

  /// An error for \p Result with its name, its sentence and \p What, which
  /// says what was tried: "cannot load k.cubin".
  llvm::Error error(CUresult Result, const llvm::Twine &What) const;
  /// The same when \p Result is a failure; success otherwise.
  llvm::Error check(CUresult Result, const llvm::Twine &What) const {
    return Result == CUDA_SUCCESS ? llvm::Error::success()
                                  : error(Result, What);
  }
  /// "CUDA_ERROR_INVALID_VALUE", known without a driver for those of our
  /// headers.
  static llvm::StringRef errorName(CUresult Result);

  /// An error that says which entry point is missing and what brings it.
  llvm::Error missing(llvm::StringRef Entry, int Version) const;

private:
  friend struct DriverBuilder;
  DriverKind Kind = DriverKind::Null;
  std::string Path;
  int Version = 0;
};

/// Calls an entry point, or gives the error that it is missing, or that it
/// failed: LJ_CUDA(Drv, cuMemFree, "cannot free", Ptr).
#define LJ_CUDA(Drv, Entry, What, ...)                                         \
  ((Drv).Entry ? (Drv).check((Drv).Entry(__VA_ARGS__), What)                   \
               : (Drv).missing(#Entry, 0))

} // namespace launchjit

#endif // LAUNCHJIT_DRIVER_DRIVER_H
