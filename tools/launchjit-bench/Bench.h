//===- Bench.h - What the benchmarks share --------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_BENCH_BENCH_H
#define LAUNCHJIT_BENCH_BENCH_H

#include "launchjit-c/launchjit.h"
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <string>
#include <utility>
#include <vector>

namespace launchjit::bench {

/// Ends the program with what \p E says, unless it is null.
void must(lj_error *E);

lj_signature *parse(const std::string &Text);

/// Nine pointers, four floats, six ints.
std::vector<std::string> nineteenTypes();
std::string joined(const std::vector<std::string> &Types);

/// Repetitions whose minimum and median are reported.
benchmark::internal::Benchmark *repeated(benchmark::internal::Benchmark *B,
                                         int Repetitions,
                                         benchmark::TimeUnit Unit);

constexpr std::pair<const char *, lj_entry_kind> Entries[] = {
    {"c", LJ_ENTRY_C},
    {"packed", LJ_ENTRY_PACKED},
    {"python", LJ_ENTRY_PYTHON}};

void registerMaking();
void registerCalling();
void registerStarting();

/// What somebody would write who launches one kernel by hand: the entry
/// points, the function and its configuration.
struct HandWritten {
  CUresult (*Launch)(const CUlaunchConfig *, CUfunction, void **, void **);
  CUresult (*GetContext)(CUstream, CUcontext *);
  CUfunction Function;
  unsigned Block[3];
  unsigned Shared;
};

/// With entry points that do as the null driver's.
HandWritten handWritten();

/// Packs the arguments and launches.
int launch4(const HandWritten *H, int64_t X, int64_t Y, int64_t Z,
            CUstream Stream, CUdeviceptr A, CUdeviceptr B, CUdeviceptr C,
            int32_t N);
int launch19(const HandWritten *H, int64_t X, int64_t Y, int64_t Z,
             CUstream Stream, CUdeviceptr P0, CUdeviceptr P1, CUdeviceptr P2,
             CUdeviceptr P3, CUdeviceptr P4, CUdeviceptr P5, CUdeviceptr P6,
             CUdeviceptr P7, CUdeviceptr P8, float F0, float F1, float F2,
             float F3, int32_t I0, int32_t I1, int32_t I2, int32_t I3,
             int32_t I4, int32_t I5);
/// The same, and asks for the stream's context before.
int launchInContext4(const HandWritten *H, int64_t X, int64_t Y, int64_t Z,
                     CUstream Stream, CUdeviceptr A, CUdeviceptr B,
                     CUdeviceptr C, int32_t N);
int launchInContext19(const HandWritten *H, int64_t X, int64_t Y, int64_t Z,
                      CUstream Stream, CUdeviceptr P0, CUdeviceptr P1,
                      CUdeviceptr P2, CUdeviceptr P3, CUdeviceptr P4,
                      CUdeviceptr P5, CUdeviceptr P6, CUdeviceptr P7,
                      CUdeviceptr P8, float F0, float F1, float F2, float F3,
                      int32_t I0, int32_t I1, int32_t I2, int32_t I3,
                      int32_t I4, int32_t I5);

} // namespace launchjit::bench

#endif // LAUNCHJIT_BENCH_BENCH_H
