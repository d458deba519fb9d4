//===- Log.cpp - The library's one way to speak ---------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Log.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/Fork.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

// Header-only and without exceptions, so that nothing of spdlog is shared
// with a host that has its own. Distributions build spdlog on a separate fmt.
#define FMT_HEADER_ONLY
#define SPDLOG_HEADER_ONLY
#define SPDLOG_NO_EXCEPTIONS
#define SPDLOG_NO_THREAD_ID
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

using namespace llvm;
using namespace launchjit;

namespace {

class Sink final
    : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
public:
  LogSink Host = nullptr;
  void *Context = nullptr;
  const char *Topic = "";
  LogLevel Level = LogLevel::Warn;

protected:
  void sink_it_(const spdlog::details::log_msg &Message) override {
    if (Host) {
      std::string Text(Message.payload.data(), Message.payload.size());
      Host(Context, Level, Topic, Text.c_str());
      return;
    }
    spdlog::memory_buf_t Line;
    formatter_->format(Message, Line);
    std::fwrite(Line.data(), 1, Line.size(), stderr);
  }
  void flush_() override { std::fflush(stderr); }
};

struct State {
  std::mutex Lock;
  std::shared_ptr<Sink> TheSink = std::make_shared<Sink>();
  spdlog::logger Logger{"launchjit", TheSink};
  LogLevel Level = LogLevel::Warn;
  std::vector<std::string> Topics; ///< Those that Level is for; empty: all.

  State() {
    Logger.set_level(spdlog::level::trace);
    Logger.set_formatter(
        std::make_unique<spdlog::pattern_formatter>("launchjit: %l: %v"));
    if (auto Spec = getEnvironment("LAUNCHJIT_LOG"))
      if (!setLevels(*Spec))
        write(LogLevel::Warn, "log",
              "LAUNCHJIT_LOG is '" + *Spec +
                  "'; allowed is level[:topic,...], with the levels trace, "
                  "debug, info, warn, error, off");
  }

  bool setLevels(StringRef Spec) {
    auto [Name, Rest] = Spec.split(':');
    auto Parsed = StringSwitch<std::optional<LogLevel>>(Name)
                      .Case("trace", LogLevel::Trace)
                      .Case("debug", LogLevel::Debug)
                      .Case("info", LogLevel::Info)
                      .Case("warn", LogLevel::Warn)
                      .Case("error", LogLevel::Error)
                      .Case("off", LogLevel::Off)
                      .Default(std::nullopt);
    // A topic alone means everything about it: LAUNCHJIT_LOG=cache.
    if (!Parsed && Rest.empty() && !Name.empty() &&
        Name.find_first_not_of("abcdefghijklmnopqrstuvwxyz,") ==
            StringRef::npos) {
      Parsed = LogLevel::Trace;
      Rest = Name;
    }
    if (!Parsed)
      return false;
    Level = *Parsed;
    Topics.clear();
    SmallVector<StringRef> Parts;
    Rest.split(Parts, ',', -1, /*KeepEmpty=*/false);
    for (StringRef T : Parts)
      Topics.push_back(T.str());
    return true;
  }

  bool enabled(LogLevel L, StringRef Topic) const {
    // Topics narrow what is below a warning; warnings are for everyone.
    if (Topics.empty())
      return L >= Level;
    if (L >= std::max(Level, LogLevel::Warn))
      return true;
    return L >= Level &&
           std::find(Topics.begin(), Topics.end(), Topic) != Topics.end();
  }

  void write(LogLevel L, StringRef Topic, StringRef Message) {
    std::string T = Topic.str();
    TheSink->Topic = T.c_str();
    TheSink->Level = L;
    Logger.log(static_cast<spdlog::level::level_enum>(L),
               spdlog::string_view_t(Message.data(), Message.size()));
    TheSink->Topic = "";
  }
};

State &state() {
  static State *S = new State;
  return *S;
}

} // namespace

bool launchjit::logEnabled(LogLevel Level, StringRef Topic) {
  ForkShield Shield;
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  return S.enabled(Level, Topic);
}

void launchjit::log(LogLevel Level, StringRef Topic, const Twine &Message) {
  ForkShield Shield;
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  if (S.enabled(Level, Topic))
    S.write(Level, Topic, Message.str());
}

void launchjit::setLogSink(LogSink Host, void *Context) {
  ForkShield Shield;
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  S.TheSink->Host = Host;
  S.TheSink->Context = Context;
}

bool launchjit::setLogLevels(StringRef Spec) {
  ForkShield Shield;
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  return S.setLevels(Spec);
}
