//===- Making.cpp - The cost of making launchers and kernels --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include <algorithm>
#include <chrono>
#include <random>
#include <set>

using namespace launchjit::bench;

/// Another order of the nineteen types each time: an ABI that no launcher of
/// this process has had.
static lj_signature *freshSignature() {
  static std::mt19937 Random(19);
  static std::set<std::string> Seen;
  std::vector<std::string> Types = nineteenTypes();
  std::string Text;
  do {
    std::shuffle(Types.begin(), Types.end(), Random);
    Text = joined(Types);
  } while (!Seen.insert(Text).second);
  return parse(Text);
}

/// What of making a launcher is a benchmark's time.
enum class Part { Whole, Compile, Link };

static void makeLauncher(benchmark::State &S, lj_entry_kind Kind, Part P) {
  for (auto _ : S) {
    lj_signature *Signature = freshSignature();
    lj_launcher *L = nullptr;
    auto Start = std::chrono::steady_clock::now();
    must(lj_launcher_create(Signature, Kind, nullptr, &L));
    std::chrono::duration<double> Time =
        std::chrono::steady_clock::now() - Start;
    lj_launcher_info Info{};
    Info.struct_size = sizeof Info;
    must(lj_launcher_get_info(L, &Info));
    if (Info.origin != LJ_ORIGIN_COMPILED) {
      S.SkipWithError("the launcher was not compiled");
      break;
    }
    S.SetIterationTime(P == Part::Whole     ? Time.count()
                       : P == Part::Compile ? Info.compile_ns * 1e-9
                                            : Info.link_ns * 1e-9);
    lj_launcher_delete(L);
    lj_signature_delete(Signature);
  }
}

static void findLauncher(benchmark::State &S) {
  lj_signature *Signature = freshSignature();
  lj_launcher *First = nullptr;
  must(lj_launcher_create(Signature, LJ_ENTRY_C, nullptr, &First));
  for (auto _ : S) {
    lj_launcher *L = nullptr;
    must(lj_launcher_create(Signature, LJ_ENTRY_C, nullptr, &L));
    lj_launcher_delete(L);
  }
  lj_launcher_delete(First);
  lj_signature_delete(Signature);
}

static constexpr char TwoKernels[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry first(.param .u64 first_param_0, .param .u64 first_param_1,
                      .param .u64 first_param_2, .param .u32 first_param_3)
{ ret; }
.visible .entry second(.param .u64 second_param_0, .param .u64 second_param_1,
                       .param .u64 second_param_2, .param .u32 second_param_3)
{ ret; }
)";

/// A second kernel while one of the same ABI lives, ready to be called, and
/// given up again.
static void makeKernel(benchmark::State &S) {
  lj_module *Module = nullptr;
  must(lj_module_create(TwoKernels, sizeof TwoKernels - 1, "two", &Module));
  lj_signature *Signature = parse("*fp32, *fp32, *fp32, i32");
  lj_kernel_options Options{};
  Options.struct_size = sizeof Options;
  Options.block[0] = 128;
  void (*Function)(void) = nullptr;
  lj_kernel *First = nullptr;
  must(lj_module_get_kernel(Module, "first", Signature, &Options, &First));
  must(lj_kernel_entry(First, LJ_ENTRY_C, &Function));
  for (auto _ : S) {
    lj_kernel *Second = nullptr;
    must(lj_module_get_kernel(Module, "second", Signature, &Options, &Second));
    must(lj_kernel_entry(Second, LJ_ENTRY_C, &Function));
    lj_kernel_delete(Second);
  }
  lj_kernel_delete(First);
  lj_signature_delete(Signature);
  lj_module_delete(Module);
}

static void parseSignature(benchmark::State &S) {
  std::string Text = joined(nineteenTypes());
  for (auto _ : S)
    lj_signature_delete(parse(Text));
}

void launchjit::bench::registerMaking() {
  constexpr std::pair<const char *, Part> Parts[] = {
      {"make", Part::Whole}, {"compile", Part::Compile}, {"link", Part::Link}};
  for (auto [PartName, P] : Parts)
    for (auto [EntryName, Kind] : Entries) {
      std::string Name = std::string(PartName) + "/" + EntryName + "/19";
      repeated(benchmark::RegisterBenchmark(
                   Name.c_str(),
                   [Kind = Kind, P = P](benchmark::State &S) {
                     makeLauncher(S, Kind, P);
                   }),
               60, benchmark::kMicrosecond)
          ->UseManualTime()
          ->Iterations(10);
    }
  repeated(benchmark::RegisterBenchmark("parse/19", parseSignature), 10,
           benchmark::kNanosecond)
      ->MinTime(0.02);
  repeated(benchmark::RegisterBenchmark("launcher/known_abi", findLauncher), 10,
           benchmark::kNanosecond)
      ->MinTime(0.02);
  repeated(benchmark::RegisterBenchmark("kernel/known_abi", makeKernel), 10,
           benchmark::kNanosecond)
      ->MinTime(0.02);

  // The code generator is opened by the first launcher.
  for (auto Entry : Entries) {
    lj_signature *S = freshSignature();
    lj_launcher *L = nullptr;
    must(lj_launcher_create(S, Entry.second, nullptr, &L));
    lj_launcher_delete(L);
    lj_signature_delete(S);
  }
}
