//===- CacheOptions.cpp - Where the object cache is, and how it is used ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/CacheOptions.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Log.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <optional>
#include <sys/auxv.h>

using namespace llvm;
using namespace launchjit;

StringRef launchjit::cacheModeName(CacheMode Mode) {
  static constexpr StringLiteral Names[] = {"off", "ro", "rw"};
  return Names[static_cast<int>(Mode)];
}

Expected<uint64_t> launchjit::parseCacheSize(StringRef Text) {
  StringRef Digits = Text;
  unsigned Shift = Digits.consume_back("G")   ? 30
                   : Digits.consume_back("M") ? 20
                   : Digits.consume_back("K") ? 10
                                              : 0;
  uint64_t Number;
  if (Digits.getAsInteger(10, Number) || Number > (UINT64_MAX >> Shift))
    return makeError(Status::InvalidArgument,
                     "'" + Text +
                         "' is no size; allowed is a number of bytes, or one "
                         "with K, M or G behind it, such as 256M");
  return Number << Shift;
}

/// A later chdir must not move it.
static std::string absolute(StringRef Path) {
  SmallString<128> P(Path);
  if (sys::fs::make_absolute(P))
    return "";
  return P.str().str();
}

static std::string defaultDirectory() {
  if (auto Dir = getEnvironment("LAUNCHJIT_CACHE_DIR"))
    return absolute(*Dir);
  SmallString<128> Path;
  // The XDG base directory specification has relative paths ignored.
  auto Base = getEnvironment("XDG_CACHE_HOME");
  if (Base && sys::path::is_absolute(*Base))
    Path = *Base;
  // A service without a home has none, or the root of the system.
  else if (auto Home = getEnvironment("HOME"); Home && *Home != "/")
    sys::path::append(Path, *Home, ".cache");
  if (!sys::path::is_absolute(Path))
    return "";
  sys::path::append(Path, "launchjit");
  return Path.str().str();
}

CacheOptions CacheOptions::fromEnvironment() {
  CacheOptions O;
  if (getauxval(AT_SECURE)) {
    O.Mode = CacheMode::Off;
    return O;
  }
  if (auto Name = getEnvironment("LAUNCHJIT_CACHE")) {
    auto Mode = StringSwitch<std::optional<CacheMode>>(*Name)
                    .Case("off", CacheMode::Off)
                    .Case("ro", CacheMode::ReadOnly)
                    .Case("rw", CacheMode::ReadWrite)
                    .Default(std::nullopt);
    if (Mode)
      O.Mode = *Mode;
    else
      log(LogLevel::Warn, "cache",
          "LAUNCHJIT_CACHE is '" + *Name + "'; allowed is off, ro or rw");
  }
  O.Directory = defaultDirectory();
  if (auto Path = getEnvironment("LAUNCHJIT_CACHE_PATH")) {
    SmallVector<StringRef> Parts;
    StringRef(*Path).split(Parts, ':', -1, /*KeepEmpty=*/false);
    for (StringRef Part : Parts)
      if (std::string Layer = absolute(Part); !Layer.empty())
        O.Layers.push_back(std::move(Layer));
      else
        log(LogLevel::Warn, "cache",
            "LAUNCHJIT_CACHE_PATH names '" + Part +
                "', but there is no current folder");
  }
  if (auto Text = getEnvironment("LAUNCHJIT_CACHE_MAX_SIZE")) {
    if (auto Size = parseCacheSize(*Text))
      O.MaxBytes = *Size;
    else
      log(LogLevel::Warn, "cache",
          "LAUNCHJIT_CACHE_MAX_SIZE: " + takeDetail(Size.takeError()).Message);
  }
  if (O.Mode != CacheMode::Off && O.Directory.empty())
    log(LogLevel::Info, "cache",
        "there is no place for a cache: HOME names none; LAUNCHJIT_CACHE_DIR "
        "may");
  return O;
}
