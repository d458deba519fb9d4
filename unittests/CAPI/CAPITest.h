//===- CAPITest.h - What tests of the C interface share -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_CAPI_CAPITEST_H
#define LAUNCHJIT_UNITTESTS_CAPI_CAPITEST_H

#include "launchjit-c/launchjit.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace capitest {

template <auto Delete> struct Deleter {
  template <typename T> void operator()(T *Handle) const { Delete(Handle); }
};
using Error = std::unique_ptr<lj_error, Deleter<lj_error_delete>>;
using Signature = std::unique_ptr<lj_signature, Deleter<lj_signature_delete>>;
using Launcher = std::unique_ptr<lj_launcher, Deleter<lj_launcher_delete>>;
using Module = std::unique_ptr<lj_module, Deleter<lj_module_delete>>;
using Kernel = std::unique_ptr<lj_kernel, Deleter<lj_kernel_delete>>;
using Recorded = std::unique_ptr<lj_recorded, Deleter<lj_recorded_delete>>;

#define EXPECT_OK(Call)                                                        \
  do {                                                                         \
    capitest::Error E(Call);                                                   \
    EXPECT_EQ(E, nullptr) << lj_error_message(E.get());                        \
  } while (0)

#define EXPECT_FAILS(Call, Status, Message)                                    \
  do {                                                                         \
    capitest::Error E(Call);                                                   \
    EXPECT_STREQ(lj_status_name(lj_error_status(E.get())), #Status);           \
    EXPECT_THAT(lj_error_message(E.get()), testing::HasSubstr(Message));       \
  } while (0)

/// The interface was misused: the message names function and argument.
#define EXPECT_INVALID(Call, Message)                                          \
  EXPECT_FAILS(Call, LJ_ERROR_INVALID_ARGUMENT, Message)

inline std::string str(lj_string S) { return std::string(S.data, S.size); }

inline std::string take(lj_buffer &B) {
  EXPECT_EQ(B.data[B.size], 0);
  std::string S(B.data, B.size);
  lj_buffer_delete(&B);
  return S;
}

inline Signature parse(const std::string &Text) {
  lj_signature *S = nullptr;
  EXPECT_OK(lj_signature_parse(Text.data(), Text.size(), nullptr, &S));
  return Signature(S);
}

template <typename T> T sized() {
  T S;
  std::memset(&S, 0, sizeof S);
  S.struct_size = sizeof S;
  return S;
}

inline constexpr char PTX[] = ".version 7.8\n"
                              ".target sm_90\n"
                              ".address_size 64\n"
                              ".global .align 4 .u32 factor = 2;\n"
                              ".visible .entry axpy(\n"
                              "  .param .u64 axpy_param_0,\n"
                              "  .param .f32 axpy_param_1,\n"
                              "  .param .u32 axpy_param_2)\n"
                              ".maxntid 256, 1, 1\n"
                              "{ ret; }\n"
                              ".visible .entry nothing()\n"
                              "{ ret; }\n";
inline constexpr char AxpySignature[] = "x: *fp32, a: fp32, n: i32";

inline Module module() {
  lj_module *M = nullptr;
  EXPECT_OK(lj_module_create(PTX, sizeof PTX - 1, "test.ptx", &M));
  return Module(M);
}

inline Kernel axpy(const lj_kernel_options *Options = nullptr) {
  Module M = module();
  lj_kernel *K = nullptr;
  EXPECT_OK(lj_module_get_kernel(M.get(), "axpy", parse(AxpySignature).get(),
                                 Options, &K));
  return Kernel(K);
}

/// Whose launches are recorded.
class RecordingTest : public testing::Test {
protected:
  void SetUp() override {
    setenv("LAUNCHJIT_DRIVER", "recording", /*overwrite=*/1);
    lj_driver_info Info = sized<lj_driver_info>();
    ASSERT_EQ(lj_driver_get_info(&Info), nullptr);
    ASSERT_STREQ(Info.kind, "recording");
    recorded();
  }

  static Recorded recorded() {
    lj_recorded *R = nullptr;
    EXPECT_OK(lj_driver_take_recorded(&R));
    return Recorded(R);
  }
  static lj_recorded_launch get(const Recorded &R, size_t Index) {
    lj_recorded_launch L = sized<lj_recorded_launch>();
    EXPECT_OK(lj_recorded_get(R.get(), Index, &L));
    return L;
  }
};

template <typename T> T as(lj_string Bytes) {
  T Result = {};
  EXPECT_EQ(Bytes.size, sizeof Result);
  std::memcpy(&Result, Bytes.data, std::min(Bytes.size, sizeof Result));
  return Result;
}

} // namespace capitest

#endif // LAUNCHJIT_UNITTESTS_CAPI_CAPITEST_H
