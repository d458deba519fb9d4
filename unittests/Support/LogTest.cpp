//===- LogTest.cpp - The library's one way to speak -----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Log.h"
#include "llvm/ADT/StringExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <thread>
#include <vector>

using namespace llvm;
using namespace launchjit;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

class LogTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(setLogLevels("warn"));
    setLogSink(
        [](void *Context, LogLevel Level, const char *Topic,
           const char *Message) {
          static_cast<LogTest *>(Context)->Lines.push_back(
              utostr(unsigned(Level)) + " " + Topic + " " + Message);
        },
        this);
  }
  void TearDown() override {
    setLogSink(nullptr, nullptr);
    setLogLevels("warn");
  }

  std::vector<std::string> Lines;
};

} // namespace

TEST_F(LogTest, LevelsAreThoseOfTheCInterface) {
  setLogLevels("trace");
  log(LogLevel::Trace, "a", "0");
  log(LogLevel::Debug, "a", "1");
  log(LogLevel::Info, "a", "2");
  log(LogLevel::Warn, "a", "3");
  log(LogLevel::Error, "a", "{} %s " + Twine(4));
  EXPECT_THAT(Lines,
              ElementsAre("0 a 0", "1 a 1", "2 a 2", "3 a 3", "4 a {} %s 4"));
}

TEST_F(LogTest, WarningsUnlessToldOtherwise) {
  EXPECT_FALSE(logEnabled(LogLevel::Info, "engine"));
  EXPECT_TRUE(logEnabled(LogLevel::Warn, "engine"));
  log(LogLevel::Info, "engine", "quiet");
  log(LogLevel::Warn, "engine", "loud");
  EXPECT_THAT(Lines, ElementsAre("3 engine loud"));
}

TEST_F(LogTest, TopicsNarrowWhatIsBelowAWarning) {
  EXPECT_TRUE(setLogLevels("debug:engine,cache"));
  EXPECT_TRUE(logEnabled(LogLevel::Debug, "engine"));
  EXPECT_TRUE(logEnabled(LogLevel::Debug, "cache"));
  EXPECT_FALSE(logEnabled(LogLevel::Trace, "cache"));
  EXPECT_FALSE(logEnabled(LogLevel::Info, "driver"));
  EXPECT_TRUE(logEnabled(LogLevel::Warn, "driver"));
}

TEST_F(LogTest, TopicsAloneMeanEverythingAboutThem) {
  EXPECT_TRUE(setLogLevels("cache"));
  EXPECT_TRUE(logEnabled(LogLevel::Trace, "cache"));
  EXPECT_FALSE(logEnabled(LogLevel::Info, "engine"));
}

TEST_F(LogTest, Off) {
  EXPECT_TRUE(setLogLevels("off"));
  EXPECT_FALSE(logEnabled(LogLevel::Error, "engine"));
  EXPECT_TRUE(setLogLevels("off:engine"));
  EXPECT_FALSE(logEnabled(LogLevel::Error, "engine"));
  log(LogLevel::Error, "engine", "quiet");
  EXPECT_THAT(Lines, IsEmpty());
}

TEST_F(LogTest, WhatIsNoLevelChangesNothing) {
  ASSERT_TRUE(setLogLevels("info:engine"));
  for (const char *Spec : {"", ":", "loud:engine", "3", "DEBUG", "a b"})
    EXPECT_FALSE(setLogLevels(Spec)) << Spec;
  EXPECT_TRUE(logEnabled(LogLevel::Info, "engine"));
  EXPECT_FALSE(logEnabled(LogLevel::Info, "cache"));
}

TEST_F(LogTest, StderrWithoutASink) {
  setLogSink(nullptr, nullptr);
  testing::internal::CaptureStderr();
  log(LogLevel::Warn, "engine", "one");
  log(LogLevel::Error, "engine", "two");
  log(LogLevel::Info, "engine", "three");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "launchjit: warning: one\nlaunchjit: error: two\n");
  EXPECT_THAT(Lines, IsEmpty());
}

TEST_F(LogTest, ThreadsTakeTurns) {
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 4; ++T)
    Threads.emplace_back([] {
      for (unsigned I = 0; I != 500; ++I)
        log(LogLevel::Warn, "engine", "line");
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Lines.size(), 2000u);
  EXPECT_THAT(Lines, testing::Each("3 engine line"));
}
