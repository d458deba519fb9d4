//===- Rerun.cpp - A test, again in a process of its own ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rerun.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace launchjit;

extern char **environ;

static constexpr char RerunVariable[] = "LAUNCHJIT_TEST_RERUN";

bool launchjit::isRerun() {
  if (!std::getenv(RerunVariable))
    return false;
  alarm(60);
  return true;
}

Exited launchjit::rerun(std::initializer_list<std::string> Settings,
                        std::string Program) {
  const testing::TestInfo *Test =
      testing::UnitTest::GetInstance()->current_test_info();
  std::string Filter = std::string("--gtest_filter=") +
                       Test->test_suite_name() + "." + Test->name();
  std::string Mark = std::string(RerunVariable) + "=1";
  char *Arguments[] = {Program.data(), Filter.data(), nullptr};
  std::vector<char *> Environment = {Mark.data()};
  for (const std::string &Setting : Settings)
    Environment.push_back(const_cast<char *>(Setting.c_str()));
  for (char **V = environ; *V; ++V)
    Environment.push_back(*V);
  Environment.push_back(nullptr);

  Exited Result;
  int Pipe[2];
  if (pipe(Pipe))
    return Result;
  posix_spawn_file_actions_t Actions;
  posix_spawn_file_actions_init(&Actions);
  posix_spawn_file_actions_adddup2(&Actions, Pipe[1], 1);
  posix_spawn_file_actions_adddup2(&Actions, Pipe[1], 2);
  posix_spawn_file_actions_addclose(&Actions, Pipe[0]);
  pid_t Child = -1;
  int Failed = posix_spawn(&Child, Program.c_str(), &Actions, nullptr,
                           Arguments, Environment.data());
  posix_spawn_file_actions_destroy(&Actions);
  close(Pipe[1]);
  char Buffer[4096];
  for (ssize_t N; (N = read(Pipe[0], Buffer, sizeof Buffer)) > 0;)
    Result.Output.append(Buffer, N);
  close(Pipe[0]);
  if (!Failed)
    waitpid(Child, &Result.Status, 0);
  return Result;
}
