//===- Starting.cpp - Launchers in new processes --------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each measurement is a process of its own, Start.c, with an object cache of
// its own: off, empty, or filled by a process before it. TMPDIR says where:
// what a cold cache costs is mostly what its file system takes to make files.
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ftw.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

using namespace launchjit::bench;

static std::string ownFolder() {
  char Self[PATH_MAX];
  ssize_t Size = readlink("/proc/self/exe", Self, sizeof Self);
  std::string Path(Self, Size > 0 ? Size : 0);
  return Path.substr(0, Path.rfind('/'));
}

static std::string temporaryFolder() {
  const char *Folder = std::getenv("TMPDIR");
  return Folder && *Folder ? Folder : "/tmp";
}

namespace {

/// Gives new names in a folder that is removed when the program ends, and not
/// earlier: ext4 is slow to make files where many were just deleted.
class TemporaryFolder {
public:
  TemporaryFolder() : Path(temporaryFolder() + "/launchjit-bench-XXXXXX") {
    if (!mkdtemp(Path.data())) {
      std::perror(("launchjit-bench: error: " + Path).c_str());
      std::exit(1);
    }
  }
  ~TemporaryFolder() {
    nftw(
        Path.c_str(),
        [](const char *Name, const struct stat *, int, FTW *) {
          return ::remove(Name);
        },
        8, FTW_DEPTH | FTW_PHYS);
  }
  std::string fresh() { return Path + "/" + std::to_string(Next++); }

private:
  std::string Path;
  unsigned Next = 0;
};

enum class Cache { Off, Empty, Filled };

struct Setup {
  lj_entry_kind Kind;
  int Parameters;
  int Count;
  Cache With;
  bool LoadsCodegen = false;
};

/// What Start.c prints.
struct Result {
  long long First, Total, Min, Median;
  int Origin;
  long Resident, Growth;
  int Mappings;
};

} // namespace

static bool run(const Setup &S, const std::string &Folder, Result &R) {
  static const std::string Program = ownFolder() + "/launchjit-bench-start";
  std::vector<std::string> Texts = {Program, std::to_string(S.Kind),
                                    std::to_string(S.Parameters),
                                    std::to_string(S.Count)};
  if (S.LoadsCodegen)
    Texts.push_back("liblaunchjit-codegen.so");
  std::vector<char *> Arguments, Environment;
  for (std::string &Text : Texts)
    Arguments.push_back(Text.data());
  Arguments.push_back(nullptr);
  std::string Settings[] = {
      S.With == Cache::Off ? "LAUNCHJIT_CACHE=off" : "LAUNCHJIT_CACHE=rw",
      "LAUNCHJIT_CACHE_DIR=" + Folder, "LAUNCHJIT_CACHE_PATH="};
  for (std::string &Setting : Settings)
    Environment.push_back(Setting.data());
  for (char **V = environ; *V; ++V)
    Environment.push_back(*V);
  Environment.push_back(nullptr);

  int Pipe[2];
  if (pipe(Pipe))
    return false;
  posix_spawn_file_actions_t Actions;
  posix_spawn_file_actions_init(&Actions);
  posix_spawn_file_actions_adddup2(&Actions, Pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&Actions, Pipe[0]);
  pid_t Child = -1;
  int Failed = posix_spawn(&Child, Program.c_str(), &Actions, nullptr,
                           Arguments.data(), Environment.data());
  posix_spawn_file_actions_destroy(&Actions);
  close(Pipe[1]);
  char Text[256] = "";
  ssize_t Size = Failed ? 0 : read(Pipe[0], Text, sizeof Text - 1);
  close(Pipe[0]);
  int Status = 0;
  if (Failed || waitpid(Child, &Status, 0) != Child || Status || Size <= 0)
    return false;
  return std::sscanf(Text, "%lld %lld %lld %lld %d %ld %ld %d", &R.First,
                     &R.Total, &R.Min, &R.Median, &R.Origin, &R.Resident,
                     &R.Growth, &R.Mappings) == 8;
}

/// Measures processes of one kind; \p Time is what of each is the benchmark's.
static void measure(benchmark::State &State, const Setup &S,
                    long long Result::*Time) {
  static TemporaryFolder Folder;
  Result R{};
  for (auto _ : State) {
    std::string Own = Folder.fresh();
    if ((S.With == Cache::Filled && !run(S, Own, R)) || !run(S, Own, R)) {
      State.SkipWithError("launchjit-bench-start failed");
      return;
    }
    if (R.Origin !=
        (S.With == Cache::Filled ? LJ_ORIGIN_CACHE : LJ_ORIGIN_COMPILED)) {
      State.SkipWithError("the launchers came from elsewhere");
      return;
    }
    State.SetIterationTime(R.*Time * 1e-9);
  }
  State.counters["resident_MB"] = R.Resident / 1e6;
  if (S.Count > 24) {
    State.counters["bytes_each"] = double(R.Growth) / (S.Count - 24);
    State.counters["mappings"] = R.Mappings;
  }
}

/// What both libraries take on disk; a release build strips them.
static void measureLibraries(benchmark::State &State) {
  double Bytes = 0;
  for (auto _ : State)
    for (const char *Name : {"liblaunchjit.so", "liblaunchjit-codegen.so"}) {
      struct stat S;
      if (stat((ownFolder() + "/../lib/" + Name).c_str(), &S)) {
        State.SkipWithError("a library is not in ../lib");
        return;
      }
      Bytes += static_cast<double>(S.st_size);
    }
  State.counters["disk_MB"] = Bytes / 1e6;
}

void launchjit::bench::registerStarting() {
  benchmark::AddCustomContext("caches_in", temporaryFolder());
  auto Add = [](const std::string &Name, const Setup &S,
                long long Result::*Time, int Repetitions) {
    repeated(benchmark::RegisterBenchmark(
                 Name.c_str(),
                 [=](benchmark::State &State) { measure(State, S, Time); }),
             Repetitions, benchmark::kMicrosecond)
        ->UseManualTime()
        ->Iterations(1);
  };
  for (auto [Name, Kind] : Entries) {
    Add(std::string("process/") + Name + "/19", {Kind, 19, 1, Cache::Off},
        &Result::First, 20);
    Add(std::string("process_cached/") + Name + "/19",
        {Kind, 19, 1, Cache::Filled}, &Result::First, 20);
    Add(std::string("cached/") + Name + "/19", {Kind, 19, 200, Cache::Filled},
        &Result::Median, 10);
  }
  Add("cached/packed/4", {LJ_ENTRY_PACKED, 4, 200, Cache::Filled},
      &Result::Median, 10);
  // What one library in place of two would take.
  Add("process_cached/one_library", {LJ_ENTRY_C, 19, 1, Cache::Filled, true},
      &Result::First, 20);
  for (auto [Name, Kind] : {Entries[1], Entries[2]}) {
    std::string Thousand = std::string("thousand/") + Name;
    Add(Thousand + "/off", {Kind, 10, 1000, Cache::Off}, &Result::Total, 5);
    Add(Thousand + "/cold", {Kind, 10, 1000, Cache::Empty}, &Result::Total, 5);
    Add(Thousand + "/cached", {Kind, 10, 1000, Cache::Filled}, &Result::Total,
        5);
  }
  repeated(benchmark::RegisterBenchmark("libraries", measureLibraries), 2,
           benchmark::kNanosecond)
      ->Iterations(1);
}
