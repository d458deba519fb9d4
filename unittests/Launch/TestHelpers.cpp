//===- TestHelpers.cpp - What tests of the launch room share --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::launchtest;

/// Before anybody opens the recording driver, of which there is one a process.
namespace {
class TwoDevices : public testing::Environment {
  void SetUp() override {
    setenv("LAUNCHJIT_RECORDING", "90,2", /*overwrite=*/0);
  }
};
} // namespace
[[maybe_unused]] static const testing::Environment *const Registered =
    testing::AddGlobalTestEnvironment(new TwoDevices);

const Driver &launchtest::recording() {
  static const Driver *D = &cantFail(Driver::open(DriverKind::Recording));
  return *D;
}

const Driver &launchtest::openTable(const DriverTable &Table) {
  auto Resolve = [](void *Context, const char *Symbol, int) -> void * {
    const auto &T = *static_cast<const DriverTable *>(Context);
#define LJ_STRING_(Symbol) #Symbol
#define LJ_STRING(Symbol) LJ_STRING_(Symbol)
#define LAUNCHJIT_ENTRY(Name, Version)                                         \
  if (StringRef(Symbol) == LJ_STRING(Name))                                    \
    return reinterpret_cast<void *>(T.Name);
#include "launchjit/Driver/Entries.def"
    return nullptr;
  };
  // Drivers live as long as the process; here somebody still knows them then.
  static auto *Opened = new std::vector<const Driver *>;
  Opened->push_back(
      &cantFail(Driver::open(Resolve, const_cast<DriverTable *>(&Table))));
  return *Opened->back();
}

ErrorDetail launchtest::errorOf(Error E) {
  if (!E)
    return {Status::Success, "no error", -1, -1, 0};
  return takeDetail(std::move(E));
}

ErrorDetail launchtest::lastError() {
  const ErrorDetail *D = lastLaunchError();
  return D ? *D : errorOf(Error::success());
}

Signature launchtest::parse(StringRef Text, const SignatureOptions &Options) {
  SCOPED_TRACE(Text.str());
  return valueOf(Signature::parse(Text, Options));
}

Signature launchtest::parseScratch(StringRef Text, unsigned Scratch) {
  SignatureOptions Options;
  Options.Scratch = Scratch;
  Options.LargeParameters = true;
  return parse(Text, Options);
}

std::string launchtest::ptx(const Signature &S, StringRef Kernel,
                            StringRef Tuning) {
  std::string Text = ".version 8.5\n.target sm_90\n.address_size 64\n"
                     ".visible .entry " +
                     Kernel.str() + "(";
  for (const NamedSlot &N : S.slots()) {
    Text += &N == S.slots().begin() ? "\n  " : ",\n  ";
    Text += ".param .align " + utostr(N.Where.Align) + " .b8 p" +
            utostr(&N - S.slots().begin()) + "[" + utostr(N.Where.Size) + "]";
  }
  return Text + ")\n" + Tuning.str() + "\n{ ret; }\n";
}

ModuleRef launchtest::loadPTX(StringRef Text, const Driver &D) {
  return valueOf(
      Module::create(arrayRefFromStringRef<uint8_t>(Text), "test.ptx", &D));
}

KernelRef launchtest::makeKernel(const Signature &S,
                                 const KernelOptions &Options, StringRef Tuning,
                                 const Driver &D) {
  return valueOf(
      Kernel::create(loadPTX(ptx(S, "k", Tuning), D), "k", S, Options));
}

KernelRef launchtest::makeKernel(StringRef S, const KernelOptions &Options,
                                 StringRef Tuning, const Driver &D) {
  return makeKernel(parse(S), Options, Tuning, D);
}

CUlaunchAttribute launchtest::attribute(uint32_t Id) {
  CUlaunchAttribute A;
  std::memset(&A, 0, sizeof A);
  std::memcpy(&A.id, &Id, sizeof Id); // may be none of the enumeration's
  return A;
}

CUlaunchAttribute launchtest::intAttribute(uint32_t Id, int Value) {
  CUlaunchAttribute A = attribute(Id);
  std::memcpy(&A.value, &Value, sizeof Value);
  return A;
}

CUlaunchAttribute launchtest::clusterAttribute(unsigned X, unsigned Y,
                                               unsigned Z) {
  CUlaunchAttribute A = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  A.value.clusterDim = {X, Y, Z};
  return A;
}

PackedEntry launchtest::packedEntry(const Kernel &K) {
  LauncherRef L = valueOf(K.launcher(EntryKind::Packed));
  return L ? reinterpret_cast<PackedEntry>(L->entry()) : nullptr;
}

__attribute__((noinline)) void launchtest::poisonStack(uint8_t Byte) {
  char Noise[96 << 10];
  std::memset(Noise, Byte, sizeof Noise);
  asm volatile("" ::"r"(Noise) : "memory");
}

void RecordingTest::SetUp() {
  const Driver &D = recording();
  for (int Device : {0, 1})
    ASSERT_EQ(D.cuDevicePrimaryCtxRetain(&Primary[Device], Device),
              CUDA_SUCCESS);
  ASSERT_EQ(D.cuCtxSetCurrent(Primary[0]), CUDA_SUCCESS);
  takeRecordedLaunches();
}

void RecordingTest::TearDown() {
  const Driver &D = recording();
  EXPECT_EQ(current(), Primary[0]);
  EXPECT_EQ(D.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(current(), nullptr);
  for (int Device : {0, 1})
    EXPECT_EQ(D.cuDevicePrimaryCtxRelease(Device), CUDA_SUCCESS);
}

CUcontext RecordingTest::current() {
  CUcontext C = nullptr;
  EXPECT_EQ(recording().cuCtxGetCurrent(&C), CUDA_SUCCESS);
  return C;
}

RecordedLaunch RecordingTest::onlyLaunch() {
  std::vector<RecordedLaunch> Launches = takeRecordedLaunches();
  EXPECT_EQ(Launches.size(), 1u);
  return Launches.size() == 1 ? Launches.front() : RecordedLaunch();
}

OwnContext::OwnContext(int Device) {
  const Driver &D = recording();
  EXPECT_EQ(D.cuCtxCreate(&Context, nullptr, 0, Device), CUDA_SUCCESS);
  EXPECT_EQ(D.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
}

CUstream OwnContext::makeStream() const {
  const Driver &D = recording();
  CUstream S = nullptr;
  EXPECT_EQ(D.cuCtxPushCurrent(Context), CUDA_SUCCESS);
  EXPECT_EQ(D.cuStreamCreate(&S, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(D.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  return S;
}

void OwnContext::destroy() {
  if (!Context)
    return;
  EXPECT_EQ(recording().cuCtxDestroy(Context), CUDA_SUCCESS);
  Context = nullptr;
}

Signature launchtest::nthSignature(unsigned N, StringRef Family) {
  std::string Text = ("u16, struct<13,1>, " + Family).str();
  for (; N; N /= 3)
    Text += N % 3 == 0 ? ", i32" : N % 3 == 1 ? ", *i8" : ", fp64";
  return parse(Text);
}

bool launchtest::launchesRightly(void *Entry, const Kernel &K, uint8_t First) {
  std::vector<std::vector<uint8_t>> Bytes;
  std::vector<const void *> Arguments;
  for (const Slot &S : K.signature().abi().slots()) {
    Bytes.emplace_back(S.Size);
    for (uint8_t &B : Bytes.back())
      B = First++;
  }
  Arguments.reserve(Bytes.size());
  for (const auto &B : Bytes)
    Arguments.push_back(B.data());
  takeRecordedLaunches();
  if (reinterpret_cast<PackedEntry>(Entry)(&K.data(), 1, 1, 1, nullptr,
                                           Arguments.data()))
    return false;
  std::vector<RecordedLaunch> L = takeRecordedLaunches();
  return L.size() == 1 && L[0].Parameters == Bytes;
}
