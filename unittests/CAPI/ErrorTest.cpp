//===- ErrorTest.cpp - Failures, strings and versions of the C interface --===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPITest.h"

using namespace capitest;
using testing::MatchesRegex;

TEST(CAPIError, TellsAll) {
  lj_signature *S = nullptr;
  Error E(lj_signature_parse("i32, florp", 10, nullptr, &S));
  ASSERT_NE(E, nullptr);
  EXPECT_EQ(S, nullptr);
  EXPECT_EQ(lj_error_status(E.get()), LJ_ERROR_SIGNATURE);
  EXPECT_THAT(lj_error_message(E.get()), testing::HasSubstr("florp"));
  EXPECT_EQ(lj_error_offset(E.get()), 5);
  EXPECT_EQ(lj_error_argument(E.get()), -1);
  EXPECT_EQ(lj_error_cuda(E.get()), 0);
  EXPECT_STREQ(lj_error_cuda_name(E.get()), "");
}

TEST(CAPIError, NullIsSuccess) {
  EXPECT_EQ(lj_error_status(nullptr), LJ_SUCCESS);
  EXPECT_STREQ(lj_error_message(nullptr), "");
  EXPECT_EQ(lj_error_argument(nullptr), -1);
  EXPECT_EQ(lj_error_offset(nullptr), -1);
  EXPECT_EQ(lj_error_cuda(nullptr), 0);
  EXPECT_STREQ(lj_error_cuda_name(nullptr), "");
  lj_error_delete(nullptr);
}

TEST(CAPIError, StatusNames) {
  EXPECT_STREQ(lj_status_name(LJ_SUCCESS), "LJ_SUCCESS");
  for (int I = 1; I <= LJ_ERROR_INTERNAL; ++I)
    EXPECT_THAT(lj_status_name(lj_status(I)), MatchesRegex("LJ_ERROR_[A-Z_]+"));
  EXPECT_STREQ(lj_status_name(lj_status(13)), "unknown lj_status");
}

TEST(CAPIError, Versions) {
  EXPECT_EQ(lj_abi_version(), unsigned(LJ_ABI_VERSION));
  EXPECT_THAT(lj_version(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(lj_llvm_version(),
              MatchesRegex("(19|2[0-2])\\.[0-9]+\\.[0-9].*"));
}

TEST(CAPIError, BufferDeleteForgets) {
  lj_buffer B = {nullptr, 0};
  EXPECT_OK(lj_signature_c_typedef(parse("i32").get(), "f", &B));
  ASSERT_NE(B.data, nullptr);
  lj_buffer_delete(&B);
  EXPECT_EQ(B.data, nullptr);
  EXPECT_EQ(B.size, 0u);
  lj_buffer_delete(&B);
  lj_buffer_delete(nullptr);
}
