//===- Observe.cpp - Watching launches for C ------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"

using namespace llvm;
using namespace launchjit;

namespace {

class HostObserver final : public LaunchObserver {
public:
  HostObserver(lj_launch_enter Enter, lj_launch_exit Exit, void *Context)
      : Enter(Enter), Exit(Exit), Context(Context) {}

  Error enter(const LaunchInfo &L) override {
    lj_launch_info Info = toC(L, nullptr);
    int Result = Enter ? Enter(Context, &Info) : 0;
    if (!Result)
      return Error::success();
    bool Known = Result > 0 && Result <= int(Status::Internal);
    return makeError(Known ? static_cast<Status>(Result) : Status::Internal,
                     "kernel '" + L.kernelName() +
                         "' was not launched: an observer stopped it with the "
                         "status " +
                         Twine(Result));
  }

  Error exit(const LaunchInfo &L, const ErrorDetail *Failure) override {
    lj_error Why = {Failure};
    lj_launch_info Info = toC(L, Failure ? &Why : nullptr);
    if (Exit)
      Exit(Context, &Info);
    return Error::success();
  }

private:
  static lj_launch_info toC(const LaunchInfo &L, const lj_error *Why) {
    return {sizeof(lj_launch_info),
            launchjit::toC(&L.Data),
            {L.Grid[0], L.Grid[1], L.Grid[2]},
            L.Stream,
            L.Arguments,
            L.Data.ParameterBytes,
            L.BeginNs,
            L.EndNs,
            Why};
  }

  const lj_launch_enter Enter;
  const lj_launch_exit Exit;
  void *const Context;
};

} // namespace

lj_error *lj_add_launch_observer(lj_launch_enter enter, lj_launch_exit exit,
                                 void *context, lj_launch_observer **observer) {
  LJ_REQUIRE(observer);
  LaunchObserverRef O(new HostObserver(enter, exit, context));
  addLaunchObserver(O);
  *observer = new lj_launch_observer{std::move(O)};
  return nullptr;
}

void lj_remove_launch_observer(lj_launch_observer *observer) {
  if (observer)
    removeLaunchObserver(*observer->O);
  delete observer;
}

lj_error *lj_kernel_get_signature(const lj_kernel *kernel,
                                  lj_signature **signature) {
  LJ_REQUIRE(kernel);
  LJ_REQUIRE(signature);
  *signature = toC(dataOf(kernel).Owner->signature());
  return nullptr;
}
