//===- TestHelpers.h - What tests of the launch room share ----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_LAUNCH_TESTHELPERS_H
#define LAUNCHJIT_UNITTESTS_LAUNCH_TESTHELPERS_H

#include "launchjit/Driver/Recording.h"
#include "launchjit/Launch/Kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace launchjit::launchtest {

/// The recording driver, with two devices.
const Driver &recording();
/// A driver of the functions in \p Table, which must stay.
const Driver &openTable(const DriverTable &Table);

/// What went wrong; Status::Success where nothing did.
ErrorDetail errorOf(llvm::Error E);
template <typename T> ErrorDetail errorOf(llvm::Expected<T> Result) {
  return errorOf(Result.takeError());
}
/// The thread's last launch error; Status::Success where there is none.
ErrorDetail lastError();

/// The value in \p Result; a null one and a failed test where there is none.
template <typename T> T valueOf(llvm::Expected<T> Result) {
  if (Result)
    return std::move(*Result);
  ADD_FAILURE() << takeDetail(Result.takeError()).Message;
  return T();
}

Signature parse(llvm::StringRef Text, const SignatureOptions &Options = {});
/// With hidden parameters, of ScratchBits, and room for large parameters.
Signature parseScratch(llvm::StringRef Text, unsigned Scratch);

/// PTX with a kernel of these parameters, and \p Tuning before its body.
std::string ptx(const Signature &S, llvm::StringRef Kernel = "k",
                llvm::StringRef Tuning = "");
ModuleRef loadPTX(llvm::StringRef Text, const Driver &D = recording());
/// A kernel `k` of a module of its own.
KernelRef makeKernel(const Signature &S, const KernelOptions &Options = {},
                     llvm::StringRef Tuning = "",
                     const Driver &D = recording());
KernelRef makeKernel(llvm::StringRef S, const KernelOptions &Options = {},
                     llvm::StringRef Tuning = "",
                     const Driver &D = recording());

CUlaunchAttribute attribute(uint32_t Id);
CUlaunchAttribute intAttribute(uint32_t Id, int Value);
CUlaunchAttribute clusterAttribute(unsigned X, unsigned Y, unsigned Z);

/// The `packed` entry's type, and an entry of a kernel.
using PackedEntry = int (*)(const StubKernel *, int64_t, int64_t, int64_t,
                            CUstream, const void *const *);
PackedEntry packedEntry(const Kernel &K);

template <typename T> std::vector<uint8_t> bytesOf(const T &V) {
  const auto *P = reinterpret_cast<const uint8_t *>(&V);
  return {P, P + sizeof V};
}

/// The nth of many signatures, which no other test has and which differ from
/// one \p Family to another.
Signature nthSignature(unsigned N, llvm::StringRef Family);
/// Whether a launch through the packed \p Entry records the bytes that it was
/// given.
bool launchesRightly(void *Entry, const Kernel &K, uint8_t First);

/// What exceeds every stack frame that a launch has leaves noise there, so
/// that bytes which are read and were never written show.
void poisonStack(uint8_t Byte);

/// Device 0's primary context is current, and is so again after every test.
class RecordingTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  static CUcontext current();
  /// The only launch since the last call; a failed test where there was none
  /// or another one.
  static RecordedLaunch onlyLaunch();
  static size_t countLaunches() { return takeRecordedLaunches().size(); }

  CUcontext Primary[2] = {};
};

/// A context of its own on a device; current only when it is made so.
class OwnContext {
public:
  explicit OwnContext(int Device);
  ~OwnContext() { destroy(); }
  OwnContext(const OwnContext &) = delete;
  OwnContext &operator=(const OwnContext &) = delete;

  CUcontext get() const { return Context; }
  CUstream makeStream() const;
  void destroy();

private:
  CUcontext Context = nullptr;
};

} // namespace launchjit::launchtest

#endif // LAUNCHJIT_UNITTESTS_LAUNCH_TESTHELPERS_H
