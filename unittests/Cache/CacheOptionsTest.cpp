//===- CacheOptionsTest.cpp - How the object cache is set up --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/CacheOptions.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <optional>

using namespace launchjit;

namespace {

struct Setting {
  const char *Name, *Value;
};

CacheOptions optionsOf(std::initializer_list<Setting> Settings) {
  static const char *const All[] = {
      "LAUNCHJIT_CACHE",          "LAUNCHJIT_CACHE_DIR", "LAUNCHJIT_CACHE_PATH",
      "LAUNCHJIT_CACHE_MAX_SIZE", "XDG_CACHE_HOME",      "HOME"};
  std::vector<std::pair<const char *, std::optional<std::string>>> Old;
  for (const char *Name : All) {
    const char *Value = getenv(Name);
    Old.emplace_back(Name,
                     Value ? std::optional<std::string>(Value) : std::nullopt);
    unsetenv(Name);
  }
  for (const Setting &S : Settings)
    setenv(S.Name, S.Value, 1);
  CacheOptions O = CacheOptions::fromEnvironment();
  for (auto &[Name, Value] : Old)
    if (Value)
      setenv(Name, Value->c_str(), 1);
    else
      unsetenv(Name);
  return O;
}

TEST(CacheOptions, TheEnvironmentDecides) {
  EXPECT_EQ(optionsOf({{"HOME", "/home/u"}}).Directory,
            "/home/u/.cache/launchjit");
  EXPECT_EQ(
      optionsOf({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/x"}}).Directory,
      "/x/launchjit");
  EXPECT_EQ(optionsOf({{"XDG_CACHE_HOME", "/x"}, {"LAUNCHJIT_CACHE_DIR", "/d"}})
                .Directory,
            "/d");
  EXPECT_EQ(optionsOf({}).Directory, "");
  EXPECT_EQ(optionsOf({{"HOME", "/"}}).Directory, "");
  EXPECT_EQ(optionsOf({{"HOME", "relative"}}).Directory, "");
  EXPECT_EQ(optionsOf({{"LAUNCHJIT_CACHE", "off"}}).Mode, CacheMode::Off);
  EXPECT_EQ(optionsOf({{"LAUNCHJIT_CACHE", "ro"}}).Mode, CacheMode::ReadOnly);
  EXPECT_EQ(optionsOf({{"LAUNCHJIT_CACHE", "yes"}}).Mode, CacheMode::ReadWrite);
  EXPECT_EQ(optionsOf({{"LAUNCHJIT_CACHE_PATH", "/a::/b"}}).Layers,
            (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(optionsOf({{"LAUNCHJIT_CACHE_MAX_SIZE", "3M"}}).MaxBytes,
            uint64_t(3) << 20);
  EXPECT_EQ(optionsOf({{"LAUNCHJIT_CACHE_MAX_SIZE", "many"}}).MaxBytes,
            CacheOptions().MaxBytes);
}

} // namespace
