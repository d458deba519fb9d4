//===- DLPack.h - The part of DLPack that the glue reads ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C exchange of DLPack 1.2 and later: a type's __dlpack_c_exchange_api__
// gives functions that fill a struct from an object of that type. Declared by
// hand after dlpack.h of https://github.com/dmlc/dlpack, whose layout does not
// change within major version 1.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_DLPACK_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_DLPACK_H

#include <cstdint>

namespace launchjit::python {

// DLPack's names.
// NOLINTBEGIN(readability-identifier-naming)

enum DLDeviceType : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3, ///< Pinned.
  kDLCUDAManaged = 13,
};

struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; ///< In elements; null for compact row-major.
  uint64_t byte_offset;
};

struct DLPackVersion {
  uint32_t major, minor;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor dl_tensor;
};

struct DLPackExchangeAPI {
  DLPackVersion version;
  DLPackExchangeAPI *prev_api; ///< The same for an older major version.
  void *managed_tensor_allocator;
  /// -1 with a Python exception.
  int (*managed_tensor_from_py_object_no_sync)(void *Object,
                                               DLManagedTensorVersioned **Out);
  void *managed_tensor_to_py_object_no_sync;
  /// May be null. What it fills in lives as long as the object is unchanged.
  int (*dltensor_from_py_object_no_sync)(void *Object, DLTensor *Out);
  int (*current_work_stream)(int32_t DeviceType, int32_t Device, void **Stream);
};

// NOLINTEND(readability-identifier-naming)

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_DLPACK_H
