//===- Starting.cpp - The first launcher of a new process -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include <climits>
#include <cstdio>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

using namespace launchjit::bench;

static std::string helperPath() {
  char Self[PATH_MAX];
  ssize_t Size = readlink("/proc/self/exe", Self, sizeof Self);
  std::string Path(Self, Size > 0 ? Size : 0);
  return Path.substr(0, Path.rfind('/')) + "/launchjit-bench-start";
}

/// What the helper prints; empty if it failed.
static std::string runHelper(const std::string &Kind,
                             const std::string &Signature) {
  int Pipe[2];
  if (pipe(Pipe))
    return "";
  static const std::string Path = helperPath();
  std::string Name = Path, K = Kind, S = Signature;
  char *Arguments[] = {Name.data(), K.data(), S.data(), nullptr};
  posix_spawn_file_actions_t Actions;
  posix_spawn_file_actions_init(&Actions);
  posix_spawn_file_actions_adddup2(&Actions, Pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&Actions, Pipe[0]);
  pid_t Child = -1;
  int Failed =
      posix_spawn(&Child, Path.c_str(), &Actions, nullptr, Arguments, environ);
  posix_spawn_file_actions_destroy(&Actions);
  close(Pipe[1]);
  char Text[64] = "";
  ssize_t Size = Failed ? 0 : read(Pipe[0], Text, sizeof Text - 1);
  close(Pipe[0]);
  int Status = 0;
  if (Failed || waitpid(Child, &Status, 0) != Child || Status || Size <= 0)
    return "";
  return std::string(Text, Size);
}

static void start(benchmark::State &S, lj_entry_kind Kind) {
  std::string Signature = joined(nineteenTypes());
  for (auto _ : S) {
    long long Nanoseconds = 0;
    int Origin = -1;
    std::string Text = runHelper(std::to_string(Kind), Signature);
    if (std::sscanf(Text.c_str(), "%lld %d", &Nanoseconds, &Origin) != 2) {
      S.SkipWithError("launchjit-bench-start failed");
      break;
    }
    if (Origin != LJ_ORIGIN_COMPILED) {
      S.SkipWithError("the launcher was not compiled");
      break;
    }
    S.SetIterationTime(Nanoseconds * 1e-9);
  }
}

void launchjit::bench::registerStarting() {
  for (auto [Name, Kind] : Entries)
    repeated(benchmark::RegisterBenchmark(
                 (std::string("process/") + Name + "/19").c_str(),
                 [Kind = Kind](benchmark::State &S) { start(S, Kind); }),
             20, benchmark::kMicrosecond)
        ->UseManualTime()
        ->Iterations(1);
}
