//===- ObserveTest.cpp - Watching launches from C -------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPITest.h"
#include "launchjit/Driver/Driver.h"

using namespace capitest;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Seen {
  std::vector<std::string> Events;
  int Result = 0;
};

int enter(void *Context, const lj_launch_info *L) {
  auto &S = *static_cast<Seen *>(Context);
  EXPECT_EQ(L->struct_size, sizeof *L);
  EXPECT_EQ(L->error, nullptr);
  EXPECT_EQ(L->begin_ns, 0u);
  lj_signature *Handle = nullptr;
  EXPECT_OK(lj_kernel_get_signature(L->kernel, &Handle));
  Signature Sig(Handle);
  EXPECT_EQ(L->arguments_size, lj_signature_size(Handle));
  lj_parameter P = sized<lj_parameter>();
  EXPECT_OK(lj_signature_parameter(Handle, 2, &P));
  int32_t N;
  std::memcpy(&N, static_cast<const char *>(L->arguments) + P.offset, sizeof N);
  S.Events.push_back("enter " + str(lj_kernel_name(L->kernel)) + " " +
                     std::to_string(L->grid[0]) + " " + str(P.name) + "=" +
                     std::to_string(N));
  return S.Result;
}

void leave(void *Context, const lj_launch_info *L) {
  static_cast<Seen *>(Context)->Events.push_back(
      L->error ? lj_error_message(L->error) : "exit");
}

lj_error *launch(const lj_kernel *K, int64_t X) {
  lj_value V[3] = {};
  V[0].type = LJ_VALUE_POINTER;
  V[1].type = LJ_VALUE_FLOAT;
  V[2].type = LJ_VALUE_INT;
  V[2].as.i = -3;
  return lj_kernel_launch(K, X, 1, 1, nullptr, V, 3);
}

TEST(CAPIObserve, SeesLaunchesUntilItIsRemoved) {
  Kernel K = axpy();
  Seen S;
  lj_launch_observer *O = nullptr;
  EXPECT_OK(lj_add_launch_observer(enter, leave, &S, &O));
  EXPECT_OK(launch(K.get(), 2));
  EXPECT_FAILS(launch(K.get(), -2), LJ_ERROR_ARGUMENT_VALUE, "grid x is -2");
  lj_remove_launch_observer(O);
  EXPECT_OK(launch(K.get(), 1));
  EXPECT_THAT(S.Events,
              ElementsAre("enter axpy 2 n=-3", "exit", "enter axpy -2 n=-3",
                          HasSubstr("grid x is -2")));
}

TEST(CAPIObserve, StopsALaunch) {
  Kernel K = axpy();
  Seen Outer, S;
  lj_launch_observer *First = nullptr, *O = nullptr;
  EXPECT_OK(lj_add_launch_observer(nullptr, leave, &Outer, &First));
  EXPECT_OK(lj_add_launch_observer(enter, nullptr, &S, &O));
  S.Result = LJ_ERROR_NOT_FOUND;
  EXPECT_FAILS(launch(K.get(), 1), LJ_ERROR_NOT_FOUND,
               "kernel 'axpy' was not launched: an observer stopped it with "
               "the status 7");
  S.Result = 4711;
  EXPECT_FAILS(launch(K.get(), 1), LJ_ERROR_INTERNAL, "the status 4711");
  EXPECT_THAT(Outer.Events,
              ElementsAre(HasSubstr("status 7"), HasSubstr("status 4711")));
  lj_remove_launch_observer(O);
  lj_remove_launch_observer(First);
  lj_remove_launch_observer(nullptr);
}

TEST(CAPIObserve, IsMisused) {
  EXPECT_INVALID(lj_add_launch_observer(nullptr, nullptr, nullptr, nullptr),
                 "lj_add_launch_observer: observer is null");
  lj_signature *S = nullptr;
  EXPECT_INVALID(lj_kernel_get_signature(nullptr, &S),
                 "lj_kernel_get_signature: kernel is null");
}

} // namespace
