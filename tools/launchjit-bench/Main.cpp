//===- Main.cpp - The launchjit benchmarks --------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Google Benchmark's options apply; --benchmark_out=FILE writes JSON. After
// the benchmarks, what was measured is held against what was aimed at.
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace launchjit::bench;

void launchjit::bench::must(lj_error *E) {
  if (!E)
    return;
  std::fprintf(stderr, "launchjit-bench: error: %s\n", lj_error_message(E));
  std::exit(1);
}

lj_signature *launchjit::bench::parse(const std::string &Text) {
  lj_signature *S = nullptr;
  must(lj_signature_parse(Text.data(), Text.size(), nullptr, &S));
  return S;
}

std::vector<std::string> launchjit::bench::nineteenTypes() {
  std::vector<std::string> Types(9, "*fp32");
  Types.insert(Types.end(), 4, "fp32");
  Types.insert(Types.end(), 6, "i32");
  return Types;
}

std::string launchjit::bench::joined(const std::vector<std::string> &Types) {
  std::string Text;
  for (const std::string &T : Types)
    Text += (Text.empty() ? "" : ",") + T;
  return Text;
}

benchmark::internal::Benchmark *
launchjit::bench::repeated(benchmark::internal::Benchmark *B, int Repetitions,
                           benchmark::TimeUnit Unit) {
  return B->Repetitions(Repetitions)
      ->ReportAggregatesOnly()
      ->DisplayAggregatesOnly(false) // ours shows single runs that failed
      ->ComputeStatistics("min",
                          [](const std::vector<double> &V) {
                            return *std::min_element(V.begin(), V.end());
                          })
      ->Unit(Unit);
}

namespace {

/// Minimum and median of a benchmark, nanoseconds. The console shows only
/// these.
struct Figure {
  double Min = 0, Median = 0;
  std::map<std::string, double> Counters; ///< Medians.
  bool Failed = false; ///< One of its runs did: the rest means nothing.
};

class Collector final : public benchmark::ConsoleReporter {
public:
  Collector() : ConsoleReporter(OO_Tabular) {}

  std::map<std::string, Figure> Figures;

  void ReportRuns(const std::vector<Run> &Runs) override {
    std::vector<Run> Shown;
    for (const Run &R : Runs) {
      // Processor time where there is one: other programs disturb it less.
      double Time = R.run_name.time_type.empty() ? R.GetAdjustedCPUTime()
                                                 : R.GetAdjustedRealTime();
      double Nanoseconds =
          Time * 1e9 / benchmark::GetTimeUnitMultiplier(R.time_unit);
      Figure &F = Figures[R.run_name.function_name];
      if (R.aggregate_name == "min")
        F.Min = Nanoseconds;
      else if (R.aggregate_name == "median") {
        F.Median = Nanoseconds;
        for (const auto &[Name, Value] : R.counters)
          F.Counters[Name] = Value;
      } else if (R.run_type == Run::RT_Aggregate || !R.error_occurred)
        continue;
      else
        F.Failed = true;
      Shown.push_back(R);
    }
    if (!Shown.empty())
      ConsoleReporter::ReportRuns(Shown);
  }
};

struct Goal {
  const char *What;
  const char *Benchmark;
  const char *Over; ///< The benchmark whose time is taken off; or null.
  double Nanoseconds;
};

constexpr Goal Goals[] = {
    {"make a c launcher, 19 parameters", "make/c/19", nullptr, 250e3},
    {"make a packed launcher, 19 parameters", "make/packed/19", nullptr, 250e3},
    {"make a python launcher, 19 parameters", "make/python/19", nullptr, 500e3},
    {"another kernel of a known ABI", "kernel/known_abi", nullptr, 2e3},
    {"cached object to callable, c, 19", "cached/c/19", nullptr, 25e3},
    {"cached object to callable, packed, 19", "cached/packed/19", nullptr,
     25e3},
    {"cached object to callable, python, 19", "cached/python/19", nullptr,
     25e3},
    {"cached object to callable, packed, 4", "cached/packed/4", nullptr, 25e3},
    {"first launcher of a process, compiled", "process/c/19", nullptr, 5e6},
    {"first launcher of a process, cached", "process_cached/c/19", nullptr,
     1e6},
    {"the same, were it one library", "process_cached/one_library", nullptr,
     1e6},
    {"1,000 packed launchers, no cache", "thousand/packed/off", nullptr, 0.3e9},
    {"1,000 packed launchers, cold cache", "thousand/packed/cold", nullptr,
     0.3e9},
    {"1,000 python launchers, no cache", "thousand/python/off", nullptr, 0.6e9},
    {"1,000 python launchers, cold cache", "thousand/python/cold", nullptr,
     0.6e9},
    {"1,000 packed launchers, cached", "thousand/packed/cached", nullptr, 40e6},
    {"1,000 python launchers, cached", "thousand/python/cached", nullptr, 40e6},
    {"c, 4 arguments, over by hand", "call/c/4", "call/hand/4", 10},
    {"c, 19 arguments, over by hand", "call/c/19", "call/hand/19", 10},
    {"c, 4, over by hand with its context", "call/c/4", "call/hand_context/4",
     10},
    {"c, 19, over by hand with its context", "call/c/19",
     "call/hand_context/19", 10},
    {"c, 4 arguments, over the driver call", "call/c/4", "call/driver", 10},
};

void printGoals(const std::map<std::string, Figure> &Figures) {
  std::printf("\n%-40s %12s %12s %12s\n", "nanoseconds", "min", "median",
              "goal");
  for (const Goal &G : Goals) {
    auto At = Figures.find(G.Benchmark);
    auto Over = G.Over ? Figures.find(G.Over) : At;
    if (At == Figures.end() || Over == Figures.end())
      continue;
    if (At->second.Failed || Over->second.Failed) {
      std::printf("%-40s %38.0f  FAILED\n", G.What, G.Nanoseconds);
      continue;
    }
    Figure F = At->second;
    if (G.Over) {
      F.Min -= Over->second.Min;
      F.Median -= Over->second.Median;
    }
    std::printf("%-40s %12.1f %12.1f %12.0f  %s\n", G.What, F.Min, F.Median,
                G.Nanoseconds,
                F.Median <= G.Nanoseconds ? "met"
                : F.Min <= G.Nanoseconds  ? "met by the min"
                                          : "MISSED");
  }
}

struct Bound {
  const char *What;
  const char *Benchmark;
  const char *Counter;
  double Most; ///< 0: told only.
};

constexpr Bound Bounds[] = {
    {"MB on disk, both libraries", "libraries", "disk_MB", 26},
    {"resident MB, first launcher compiled", "process/c/19", "resident_MB", 0},
    {"resident MB, first launcher cached", "process_cached/c/19", "resident_MB",
     0},
    {"resident bytes a launcher, packed, compiled", "thousand/packed/off",
     "bytes_each", 8192},
    {"resident bytes a launcher, python, compiled", "thousand/python/off",
     "bytes_each", 8192},
    {"resident bytes a launcher, packed, cached", "thousand/packed/cached",
     "bytes_each", 8192},
    {"resident bytes a launcher, python, cached", "thousand/python/cached",
     "bytes_each", 8192},
    {"more mappings after 1,000, compiled", "thousand/python/off", "mappings",
     0.5},
    {"more mappings after 1,000, cached", "thousand/python/cached", "mappings",
     0.5},
};

void printBounds(const std::map<std::string, Figure> &Figures) {
  std::printf("\n%-46s %12s %12s\n", "", "median", "at most");
  for (const Bound &B : Bounds) {
    auto At = Figures.find(B.Benchmark);
    if (At == Figures.end())
      continue;
    if (At->second.Failed) {
      std::printf("%-46s %12s %12.0f  FAILED\n", B.What, "", B.Most);
      continue;
    }
    double Value = At->second.Counters.at(B.Counter);
    std::printf("%-46s %12.2f", B.What, Value);
    if (B.Most)
      std::printf(" %12.0f  %s", B.Most, Value <= B.Most ? "met" : "MISSED");
    std::printf("\n");
  }
}

} // namespace

int main(int Count, char **Arguments) {
  setenv("LAUNCHJIT_DRIVER", "null", 1);
  setenv("LAUNCHJIT_CACHE", "off", 1);
  unsetenv("LAUNCHJIT_JIT");

  // Repetitions of benchmarks that are compared share the machine's moods.
  static char Interleaved[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char *> Given(Arguments, Arguments + Count);
  Given.insert(Given.begin() + 1, Interleaved);
  bool OwnReport = std::none_of(Given.begin(), Given.end(), [](const char *A) {
    return std::strncmp(A, "--benchmark_format", 18) == 0;
  });
  int GivenCount = static_cast<int>(Given.size());
  Given.push_back(nullptr);
  benchmark::Initialize(&GivenCount, Given.data());
  if (benchmark::ReportUnrecognizedArguments(GivenCount, Given.data()))
    return 2;

  benchmark::AddCustomContext("launchjit", lj_version());
  benchmark::AddCustomContext("llvm", lj_llvm_version());
  registerMaking();
  registerCalling();
  registerStarting();
  if (!OwnReport) {
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  }
  Collector C;
  benchmark::RunSpecifiedBenchmarks(&C);
  printGoals(C.Figures);
  printBounds(C.Figures);
  return std::any_of(C.Figures.begin(), C.Figures.end(),
                     [](const auto &F) { return F.second.Failed; });
}
