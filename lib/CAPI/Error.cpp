//===- Error.cpp - Failures, strings and versions for C -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"
#include "llvm/Config/llvm-config.h"
#include <cstdlib>

using namespace llvm;
using namespace launchjit;

#define SAME(C, CXX) static_assert(int(C) == int(CXX))
SAME(LJ_SUCCESS, Status::Success);
SAME(LJ_ERROR_INVALID_ARGUMENT, Status::InvalidArgument);
SAME(LJ_ERROR_SIGNATURE, Status::Signature);
SAME(LJ_ERROR_ARGUMENT_TYPE, Status::ArgumentType);
SAME(LJ_ERROR_ARGUMENT_RANGE, Status::ArgumentRange);
SAME(LJ_ERROR_ARGUMENT_VALUE, Status::ArgumentValue);
SAME(LJ_ERROR_BINARY, Status::Binary);
SAME(LJ_ERROR_NOT_FOUND, Status::NotFound);
SAME(LJ_ERROR_NO_DRIVER, Status::NoDriver);
SAME(LJ_ERROR_CUDA, Status::Cuda);
SAME(LJ_ERROR_IO, Status::IO);
SAME(LJ_ERROR_UNSUPPORTED, Status::Unsupported);
SAME(LJ_ERROR_INTERNAL, Status::Internal);
#undef SAME

lj_error *launchjit::toC(Error E) {
  return E ? new lj_error{new ErrorDetail(takeDetail(std::move(E)))} : nullptr;
}

lj_error *launchjit::invalid(const char *Function, const Twine &Message) {
  return toC(
      makeError(Status::InvalidArgument, Twine(Function) + ": " + Message));
}

lj_error *launchjit::toC(StringRef Bytes, lj_buffer *Buffer) {
  char *Data = static_cast<char *>(std::malloc(Bytes.size() + 1));
  if (!Data)
    return toC(makeError(Status::Internal, "out of memory for a text of " +
                                               Twine(Bytes.size()) + " bytes"));
  if (!Bytes.empty())
    std::memcpy(Data, Bytes.data(), Bytes.size());
  Data[Bytes.size()] = 0;
  *Buffer = {Data, Bytes.size()};
  return nullptr;
}

lj_status lj_error_status(const lj_error *error) {
  return error ? static_cast<lj_status>(error->Detail->Code) : LJ_SUCCESS;
}

const char *lj_error_message(const lj_error *error) {
  return error ? error->Detail->Message.c_str() : "";
}

int64_t lj_error_argument(const lj_error *error) {
  return error ? error->Detail->Argument : -1;
}

int64_t lj_error_offset(const lj_error *error) {
  return error ? error->Detail->Offset : -1;
}

int lj_error_cuda(const lj_error *error) {
  return error ? error->Detail->Cuda : 0;
}

const char *lj_error_cuda_name(const lj_error *error) {
  if (!error || !error->Detail->Cuda)
    return "";
  const ErrorDetail &D = *error->Detail;
  return D.CudaName.empty()
             ? Driver::errorName(static_cast<CUresult>(D.Cuda)).data()
             : D.CudaName.c_str();
}

void lj_error_delete(lj_error *error) {
  if (error)
    delete error->Detail;
  delete error;
}

const char *lj_status_name(lj_status status) {
  // By number: a caller's lj_status may be none of ours.
  switch (static_cast<int>(status)) {
#define NAME(S)                                                                \
  case S:                                                                      \
    return #S;
    NAME(LJ_SUCCESS)
    NAME(LJ_ERROR_INVALID_ARGUMENT)
    NAME(LJ_ERROR_SIGNATURE)
    NAME(LJ_ERROR_ARGUMENT_TYPE)
    NAME(LJ_ERROR_ARGUMENT_RANGE)
    NAME(LJ_ERROR_ARGUMENT_VALUE)
    NAME(LJ_ERROR_BINARY)
    NAME(LJ_ERROR_NOT_FOUND)
    NAME(LJ_ERROR_NO_DRIVER)
    NAME(LJ_ERROR_CUDA)
    NAME(LJ_ERROR_IO)
    NAME(LJ_ERROR_UNSUPPORTED)
    NAME(LJ_ERROR_INTERNAL)
#undef NAME
  }
  return "unknown lj_status";
}

const lj_error *lj_last_error(void) {
  static thread_local lj_error Last;
  Last.Detail = lastLaunchError();
  return Last.Detail ? &Last : nullptr;
}

void lj_buffer_delete(lj_buffer *buffer) {
  if (!buffer)
    return;
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}

uint32_t lj_abi_version(void) { return LJ_ABI_VERSION; }

const char *lj_version(void) { return LAUNCHJIT_VERSION; }

const char *lj_llvm_version(void) { return LLVM_VERSION_STRING; }
