//===- DebugObservers.cpp - The observers that the environment asks for ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DebugObservers.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Launch/Values.h"
#include "launchjit/Support/DebugOptions.h"
#include "launchjit/Support/Trace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

std::string launchjit::describeLaunch(const LaunchInfo &L) {
  std::string Text;
  raw_string_ostream OS(Text);
  auto Three = [&](const char *Name, const auto &V) {
    OS << ' ' << Name << "=(" << V[0] << ',' << V[1] << ',' << V[2] << ')';
  };
  OS << (L.kernelName().empty() ? "(unnamed)" : L.kernelName());
  Three("grid", L.Grid);
  Three("block", L.Data.Block);
  OS << " shared=" << L.Data.Shared << " stream=0x";
  OS.write_hex(reinterpret_cast<uintptr_t>(L.Stream));
  ListSeparator Comma(",");
  for (const CUlaunchAttribute &A :
       ArrayRef(L.Data.Attributes, L.Data.NumAttributes))
    OS << (&A == L.Data.Attributes ? " attributes=" : "") << Comma
       << attributeId(A);
  OS << " (";
  ListSeparator Separator;
  for (auto [I, N] : enumerate(L.signature().slots())) {
    OS << Separator;
    N.Name.empty() ? OS << I : OS << N.Name;
    OS << ": " << N.Spelling << " = ";
    printValue(OS, N.Where, L.Arguments + N.Where.Offset);
  }
  OS << ')';
  return Text;
}

namespace {

/// LAUNCHJIT_DEBUG=print.
class PrintObserver final : public LaunchObserver {
  Error enter(const LaunchInfo &L) override {
    std::string Line = "launchjit: launch " + describeLaunch(L) + "\n";
    // In one piece, so that the lines of threads do not mix.
    while (write(STDERR_FILENO, Line.data(), Line.size()) < 0 && errno == EINTR)
      ;
    return Error::success();
  }
};

/// LAUNCHJIT_DEBUG=sync.
class SyncObserver final : public LaunchObserver {
  Error exit(const LaunchInfo &L, const ErrorDetail *Failure) override {
    if (Failure)
      return Error::success();
    const KernelState &S = *L.Data.State;
    const Driver &D = *S.driver();
    auto Guard = ContextGuard::enterAny(D, L.Data.Owner->options().Device);
    if (!Guard)
      return Guard.takeError();
    // Waiting for another stream would break a capture that goes on.
    RelaxedCapture Relaxed(D);
    // What the driver finds meanwhile, any call may tell.
    auto Check = [&](CUresult R) {
      return D.check(R, S.describe() +
                            " failed while it ran, or something "
                            "before it did: " +
                            describeLaunch(L));
    };
    CUstreamCaptureStatus Capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult R = D.cuStreamIsCapturing
                     ? D.cuStreamIsCapturing(L.Stream, &Capture)
                     : CUDA_SUCCESS;
    if (R == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
        Capture != CU_STREAM_CAPTURE_STATUS_NONE)
      return Error::success();
    if (Error E = Check(R))
      return E;
    if (!D.cuStreamSynchronize)
      return D.missing("cuStreamSynchronize", 2000);
    return Check(D.cuStreamSynchronize(L.Stream));
  }
};

/// LAUNCHJIT_TRACE.
class TraceObserver final : public LaunchObserver {
  Error exit(const LaunchInfo &L, const ErrorDetail *Failure) override {
    if (!L.EndNs)
      return Error::success(); // stopped by another observer
    trace("launch", L.kernelName(), L.BeginNs, L.EndNs, [&](json::OStream &J) {
      auto Three = [&](StringRef Name, const auto &Values) {
        J.attributeArray(Name, [&] {
          for (int64_t V : Values)
            J.value(V);
        });
      };
      Three("grid", L.Grid);
      Three("block", L.Data.Block);
      J.attribute("shared", int64_t(L.Data.Shared));
      J.attribute("stream",
                  "0x" + utohexstr(reinterpret_cast<uintptr_t>(L.Stream),
                                   /*LowerCase=*/true));
      if (Failure)
        J.attribute("error", json::fixUTF8(Failure->Message));
    });
    return Error::success();
  }
};

} // namespace

std::vector<LaunchObserverRef> launchjit::makeDebugObservers() {
  std::vector<LaunchObserverRef> All;
  const DebugOptions &Options = DebugOptions::get();
  if (Options.Print)
    All.push_back(new PrintObserver);
  if (isTracing())
    All.push_back(new TraceObserver);
  if (Options.NVTX)
    if (LaunchObserverRef O = makeNVTXObserver())
      All.push_back(std::move(O));
  if (!Options.Dump.empty())
    All.push_back(makeDumpObserver(Options.Dump, Options.DumpMax));
  if (Options.Sync)
    All.push_back(new SyncObserver);
  return All;
}
