//===- ErrorTest.cpp - What went wrong, for every interface ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace launchjit;

TEST(ErrorTest, DetailSurvives) {
  ErrorDetail D = takeDetail(
      makeError(ErrorDetail{Status::Cuda, "the driver refused", 3, 7, 700}));
  EXPECT_EQ(D.Code, Status::Cuda);
  EXPECT_EQ(D.Message, "the driver refused");
  EXPECT_EQ(D.Argument, 3);
  EXPECT_EQ(D.Offset, 7);
  EXPECT_EQ(D.Cuda, 700);
}

TEST(ErrorTest, ShortForm) {
  ErrorDetail D = takeDetail(makeError(Status::NotFound, "no " + Twine(5)));
  EXPECT_EQ(D.Code, Status::NotFound);
  EXPECT_EQ(D.Message, "no 5");
  EXPECT_EQ(D.Argument, -1);
  EXPECT_EQ(D.Offset, -1);
  EXPECT_EQ(D.Cuda, 0);
}

TEST(ErrorTest, PrintsItsMessage) {
  EXPECT_EQ(toString(makeError(Status::IO, "cannot read")), "cannot read");
}

TEST(ErrorTest, OthersErrorsAreInternal) {
  ErrorDetail D =
      takeDetail(createStringError(inconvertibleErrorCode(), "not ours"));
  EXPECT_EQ(D.Code, Status::Internal);
  EXPECT_EQ(D.Message, "not ours");
}

TEST(ErrorTest, OfSeveralTheFirstIsTold) {
  ErrorDetail D = takeDetail(joinErrors(makeError(Status::Binary, "first"),
                                        makeError(Status::IO, "second")));
  EXPECT_EQ(D.Code, Status::Binary);
  EXPECT_EQ(D.Message, "first");
}
