//===- StubABI.h - What generated code reads and calls --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code knows the library only through these structs: a stub gets a
// pointer to a StubKernel, finds the StubTable there, and calls through it.
// Codegen takes every offset from here. Any change that an existing object
// would notice is a new StubABIVersion, which is part of the cache key.
//
// Rationale. All that follows the packing of the arguments (grid, context,
// attributes, the driver call, errors) is the same for every ABI, so it is
// one precompiled function, StubTable::Launch, and not generated code: the
// stub is smaller, compiles faster, and runs optimised where it matters.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_STUBABI_H
#define LAUNCHJIT_STUBABI_H

#include "launchjit/Signature/ABI.h"
#include <cstddef>
#include <cstdint>

struct _object; // CPython's PyObject

namespace launchjit {

inline constexpr uint32_t StubABIVersion = 2;

/// The entry kinds. The values are those of lj_entry_kind and never change.
enum class EntryKind : uint8_t {
  C = 0,      ///< int (const lj_kernel *, int64_t x, y, z, CUstream, args...)
  Packed = 1, ///< int (..., CUstream, const void *const *args)
  Python = 2, ///< PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t)
};
inline constexpr unsigned NumEntryKinds = 3;

llvm::StringRef entryName(EntryKind K);
/// The kind of a name; an error lists the known ones.
llvm::Expected<EntryKind> parseEntry(llvm::StringRef Name);

struct StubTable;

/// The head of the library's kernel data; a stub reads no more of it.
struct StubKernel {
  const StubTable *Table;
};

/// What a stub asks StubTable::Fail to report. The values are part of the ABI.
enum class StubError : uint32_t {
  NotBool = 0,      ///< An i1 or u1 byte is neither 0 nor 1; Value is the byte.
  NullArgument = 1, ///< A struct's or a packed argument's address is null.
};

/// On the stack of a python stub: what the helpers hand each other. A stub
/// only gives the address along.
struct StubPythonLaunch {
  const StubKernel *Kernel;
  _object *Self; ///< What the entry was called with.
  int64_t Grid[3];
  void *Stream;
  /// Gives the stream on which the first tensor's framework works now; null
  /// where the caller named a stream, or no tensor tells.
  int (*WorkStream)(int32_t DeviceType, int32_t Device, void **Stream);
  void *After;         ///< A stream to wait for, if any.
  int32_t WantsStream; ///< The caller named none.
  int32_t Device;      ///< Of the first tensor that tells; -1 before.
  uint32_t DeviceSlot; ///< Which parameter told.
  uint32_t Reserved;
};

/// The functions that generated code calls.
struct StubTable {
  /// Checks the grid, sees to the context and launches: \p Buffer holds the
  /// packed parameters, with the hidden ones null. 0 or an lj_status.
  int (*Launch)(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                void *Stream, void *Buffer);
  /// Keeps the thread's error for slot \p Slot and returns its lj_status.
  int (*Fail)(const StubKernel *K, StubError Code, uint32_t Slot,
              uint64_t Value);
  /// Checks that none of \p Count addresses of a packed call is null; 0 or
  /// what Fail returns. A call, since a test and a block for each would be a
  /// third of the stub's compile time.
  int (*CheckAddresses)(const StubKernel *K, const void *const *Arguments,
                        size_t Count);
  /// memcpy.
  void *(*Copy)(void *To, const void *From, size_t Size);

  // The Python part is null until Python imports the package.

  /// Fills \p L, checks the count of arguments and converts grid and stream;
  /// 0, or -1 with a Python exception.
  int (*PythonBegin)(_object *Self, _object *const *Args, ptrdiff_t N,
                     StubPythonLaunch *L) = nullptr;
  /// Borrowed items of the tuple \p Tuple, which must have \p Count; null
  /// with a Python exception. The array \p Items has room for them.
  int (*PythonUnpack)(const StubPythonLaunch *L, _object *Tuple, uint32_t Count,
                      uint32_t Slot, _object **Items) = nullptr;
  /// Launches without the GIL: None, or null with a Python exception.
  _object *(*PythonLaunch)(StubPythonLaunch *L, void *Buffer) = nullptr;
  /// Indexed by ParamKind up to TensorMap: converts \p Value for slot \p Slot
  /// and stores it at \p To; 0, or -1 with a Python exception.
  int (*PythonConvert[unsigned(ParamKind::TensorMap) + 1])(StubPythonLaunch *L,
                                                           _object *Value,
                                                           void *To,
                                                           uint32_t Slot) = {};
};

static_assert(offsetof(StubKernel, Table) == 0);
static_assert(offsetof(StubTable, Launch) == 0 &&
              offsetof(StubTable, Fail) == 8 &&
              offsetof(StubTable, CheckAddresses) == 16 &&
              offsetof(StubTable, Copy) == 24);
static_assert(offsetof(StubTable, PythonBegin) == 32 &&
              offsetof(StubTable, PythonUnpack) == 40 &&
              offsetof(StubTable, PythonLaunch) == 48 &&
              offsetof(StubTable, PythonConvert) == 56);
static_assert(sizeof(StubPythonLaunch) == 80);
static_assert(unsigned(ParamKind::Pointer) == NumScalars &&
              unsigned(ParamKind::TensorMap) == NumScalars + 2);

/// Where the object that a python entry gets as `self` keeps its StubKernel
/// pointer, in bytes: behind the largest object header of any CPython (32 in
/// free-threaded builds, 16 in others).
inline constexpr unsigned PythonSelfKernelOffset = 32;

} // namespace launchjit

#endif // LAUNCHJIT_STUBABI_H
