//===- Calling.cpp - The cost of a launch over the driver's ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The null driver returns at once, so a call's time is what stands around the
// driver call. The hand-written calls end in functions that do the same.
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include <cstdlib>
#include <cstring>

using namespace launchjit::bench;

using Entry = void (*)(void);

/// Any stream that a host made: it belongs to a context, which a launch asks
/// the driver for.
static CUstream stream() { return reinterpret_cast<CUstream>(0x10000); }

static std::string ptx(const char *Name,
                       const std::vector<const char *> &Types) {
  std::string Text = ".version 7.8\n.target sm_90\n.address_size 64\n"
                     ".visible .entry " +
                     std::string(Name) + "(";
  for (size_t I = 0; I != Types.size(); ++I)
    Text += std::string(I ? ", " : "") + ".param " + Types[I] + " " + Name +
            "_param_" + std::to_string(I);
  return Text + ")\n{\n  ret;\n}\n";
}

/// A kernel that lives as long as the program.
static lj_kernel *makeKernel(const char *Name, const std::string &Signature,
                             const std::vector<const char *> &Types) {
  std::string Text = ptx(Name, Types);
  lj_module *Module = nullptr;
  must(lj_module_create(Text.data(), Text.size(), Name, &Module));
  lj_signature *S = parse(Signature);
  lj_kernel_options Options{};
  Options.struct_size = sizeof Options;
  Options.block[0] = 128;
  lj_kernel *Kernel = nullptr;
  must(lj_module_get_kernel(Module, Name, S, &Options, &Kernel));
  must(lj_kernel_load(Kernel, 0));
  lj_signature_delete(S);
  lj_module_delete(Module);
  return Kernel;
}

static lj_kernel *kernel4() {
  return makeKernel("four", "*fp32, *fp32, *fp32, i32",
                    {".u64", ".u64", ".u64", ".u32"});
}

static lj_kernel *kernel19() {
  std::vector<const char *> Types(9, ".u64");
  Types.insert(Types.end(), 4, ".f32");
  Types.insert(Types.end(), 6, ".u32");
  return makeKernel("nineteen", joined(nineteenTypes()), Types);
}

static Entry entryOf(const lj_kernel *Kernel, lj_entry_kind Kind) {
  Entry Function = nullptr;
  must(lj_kernel_entry(Kernel, Kind, &Function));
  return Function;
}

template <typename Handle>
using Function4 = int (*)(const Handle *, int64_t, int64_t, int64_t, CUstream,
                          CUdeviceptr, CUdeviceptr, CUdeviceptr, int32_t);
template <typename Handle>
using Function19 = int (*)(const Handle *, int64_t, int64_t, int64_t, CUstream,
                           CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr,
                           CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr,
                           CUdeviceptr, float, float, float, float, int32_t,
                           int32_t, int32_t, int32_t, int32_t, int32_t);

static void check(benchmark::State &S, int Status) {
  if (Status)
    S.SkipWithError(lj_error_message(lj_last_error()));
}

template <typename Handle>
static void call4(benchmark::State &S, Function4<Handle> F, const Handle *H) {
  int Status = 0;
  for (auto _ : S)
    Status |= F(H, 8, 1, 1, stream(), 0x1000, 0x2000, 0x3000, 1000);
  check(S, Status);
}

template <typename Handle>
static void call19(benchmark::State &S, Function19<Handle> F, const Handle *H) {
  int Status = 0;
  for (auto _ : S)
    Status |= F(H, 8, 1, 1, stream(), 1, 2, 3, 4, 5, 6, 7, 8, 9, 1.5f, 2.5f,
                3.5f, 4.5f, 1, 2, 3, 4, 5, 6);
  check(S, Status);
}

static void callPacked(benchmark::State &S, lj_packed_entry F,
                       const lj_kernel *Kernel, size_t Count) {
  static uint64_t Values[19];
  const void *Addresses[19];
  for (size_t I = 0; I != Count; ++I)
    Addresses[I] = &Values[I];
  int Status = 0;
  for (auto _ : S) {
    benchmark::ClobberMemory();
    Status |= F(Kernel, 8, 1, 1, stream(), Addresses);
  }
  check(S, Status);
}

/// The driver call alone, with everything filled in before.
static void callDriver(benchmark::State &S, const HandWritten *H) {
  CUlaunchConfig Config{};
  Config.gridDimX = 8;
  uint64_t Buffer[4] = {};
  size_t Size = sizeof Buffer;
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, Buffer,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
  int Status = 0;
  for (auto _ : S)
    Status |= H->Launch(&Config, H->Function, nullptr, Extra);
  check(S, Status);
}

template <typename Function, typename... Args>
static void add(const std::string &Name, Function *F, Args... Arguments) {
  repeated(benchmark::RegisterBenchmark(
               Name.c_str(), [=](benchmark::State &S) { F(S, Arguments...); }),
           20, benchmark::kNanosecond)
      ->MinTime(0.02);
}

static void addKernels(const std::string &Prefix) {
  const lj_kernel *Four = kernel4(), *Nineteen = kernel19();
  auto Typed = [](Entry Function, auto Null) {
    return reinterpret_cast<decltype(Null)>(Function);
  };
  add(Prefix + "/c/4", call4<lj_kernel>,
      Typed(entryOf(Four, LJ_ENTRY_C), Function4<lj_kernel>()), Four);
  add(Prefix + "/c/19", call19<lj_kernel>,
      Typed(entryOf(Nineteen, LJ_ENTRY_C), Function19<lj_kernel>()), Nineteen);
  add(Prefix + "/packed/4", callPacked,
      Typed(entryOf(Four, LJ_ENTRY_PACKED), lj_packed_entry()), Four,
      size_t(4));
  add(Prefix + "/packed/19", callPacked,
      Typed(entryOf(Nineteen, LJ_ENTRY_PACKED), lj_packed_entry()), Nineteen,
      size_t(19));
}

void launchjit::bench::registerCalling() {
  static const HandWritten H = handWritten();
  add("call/driver", callDriver, &H);
  add("call/hand/4", call4<HandWritten>, launch4, &H);
  add("call/hand/19", call19<HandWritten>, launch19, &H);
  add("call/hand_context/4", call4<HandWritten>, launchInContext4, &H);
  add("call/hand_context/19", call19<HandWritten>, launchInContext19, &H);
  addKernels("call");

  setenv("LAUNCHJIT_JIT", "off", 1);
  addKernels("interpreted");
  unsetenv("LAUNCHJIT_JIT");
}
