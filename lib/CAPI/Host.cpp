//===- Host.cpp - Logging and the environment for C -----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include <mutex>

using namespace llvm;
using namespace launchjit;

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
