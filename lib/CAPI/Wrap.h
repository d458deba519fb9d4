//===- Wrap.h - What stands behind the handles of the C interface ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions' parameters are named as in the headers, not as in LLVM: the
// checks below put those names into messages.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_CAPI_WRAP_H
#define LAUNCHJIT_LIB_CAPI_WRAP_H

#include "launchjit-c/launchjit.h"
#include "launchjit/Launch/Observers.h"
#include <algorithm>
#include <cstring>
#include <type_traits>

struct lj_error {
  /// Owned, but for lj_last_error's, which Launch owns.
  const launchjit::ErrorDetail *Detail;
};

struct lj_signature {
  launchjit::Signature S;
  std::string Text; ///< Canonical.
  /// Parallel to S.parameters(): each one's first slot, then the count of all.
  std::vector<size_t> FirstSlot;
};

struct lj_launcher {
  launchjit::LauncherRef L;
};

struct lj_module {
  launchjit::ModuleRef M;
};

struct lj_launch_observer {
  launchjit::LaunchObserverRef O;
};

namespace launchjit {

/// Null for success. The one place where an llvm::Error becomes an lj_error.
lj_error *toC(llvm::Error E);

/// An LJ_ERROR_INVALID_ARGUMENT: "<Function>: <Message>".
lj_error *invalid(const char *Function, const llvm::Twine &Message);

/// A new handle.
lj_signature *toC(Signature S);

inline lj_string toC(llvm::StringRef S) { return {S.data(), S.size()}; }

/// Copies \p Bytes and a NUL into a new buffer.
lj_error *toC(llvm::StringRef Bytes, lj_buffer *Buffer);

/// An lj_kernel is the kernel's data: its own, whose handle counts as one
/// reference to the Kernel, or a copy in a caller's storage.
inline const KernelData &dataOf(const lj_kernel *K) {
  return *reinterpret_cast<const KernelData *>(K);
}
inline const lj_kernel *toC(const KernelData *D) {
  return reinterpret_cast<const lj_kernel *>(D);
}

inline llvm::StringRef contractName(const char *Contract) {
  return Contract ? Contract : "launchjit";
}

/// The size that each growing struct had in the first version that had it. A
/// new member never lies in what was padding before.
template <typename T> inline constexpr size_t FirstVersionSize = 0;
#define LJ_FIRST_VERSION(Type, Size)                                           \
  template <> inline constexpr size_t FirstVersionSize<Type> = Size;           \
  static_assert(sizeof(Type) >= Size && std::is_trivially_copyable_v<Type>)
LJ_FIRST_VERSION(lj_argument, 56);
LJ_FIRST_VERSION(lj_cache_file, 72);
LJ_FIRST_VERSION(lj_cache_info, 48);
LJ_FIRST_VERSION(lj_cache_stats, 64);
LJ_FIRST_VERSION(lj_cache_store, 32);
LJ_FIRST_VERSION(lj_driver_info, 40);
LJ_FIRST_VERSION(lj_kernel_info, 112);
LJ_FIRST_VERSION(lj_kernel_options, 96);
LJ_FIRST_VERSION(lj_launch_overrides, 40);
LJ_FIRST_VERSION(lj_launcher_info, 88);
LJ_FIRST_VERSION(lj_parameter, 88);
LJ_FIRST_VERSION(lj_recorded_launch, 104);
LJ_FIRST_VERSION(lj_replay_buffer, 64);
LJ_FIRST_VERSION(lj_replay_options, 16);
LJ_FIRST_VERSION(lj_signature_options, 24);
LJ_FIRST_VERSION(lj_variable_info, 40);
#undef LJ_FIRST_VERSION

/// Null, or an error where \p S is smaller than any version of its type.
template <typename T>
lj_error *checkStruct(const char *Function, const char *Argument,
                      const char *Type, const T &S) {
  if (S.struct_size >= FirstVersionSize<T>)
    return nullptr;
  return invalid(Function, llvm::Twine(Argument) + "->struct_size is " +
                               llvm::Twine(S.struct_size) + ", but an " + Type +
                               " has at least " +
                               llvm::Twine(FirstVersionSize<T>) +
                               " bytes; set it to sizeof(" + Type + ")");
}

/// What the caller's version of a struct says; members that it lacks are 0.
template <typename T> T readStruct(const T *In) {
  T Result = {};
  std::memcpy(&Result, In, std::min(In->struct_size, sizeof(T)));
  return Result;
}

/// Stores what the caller's version of a struct has room for.
template <typename T> void fillStruct(T *Out, T Value) {
  Value.struct_size = Out->struct_size;
  std::memcpy(Out, &Value, std::min(Out->struct_size, sizeof(T)));
}

/// An entry kind of the caller, which may be any number.
inline bool isKnown(lj_entry_kind Entry) {
  return static_cast<unsigned>(Entry) < NumEntryKinds;
}

} // namespace launchjit

#define LJ_REQUIRE(Argument)                                                   \
  do {                                                                         \
    if (!(Argument))                                                           \
      return launchjit::invalid(__func__, #Argument " is null");               \
  } while (0)

/// A pointer with a count, which may be null if there are none.
#define LJ_REQUIRE_ARRAY(Argument, Count)                                      \
  do {                                                                         \
    if ((Count) && !(Argument))                                                \
      return launchjit::invalid(__func__, #Argument " is null, but " #Count    \
                                                    " is not 0");              \
  } while (0)

#define LJ_REQUIRE_STRUCT(Type, Argument)                                      \
  do {                                                                         \
    LJ_REQUIRE(Argument);                                                      \
    if (lj_error *E = launchjit::checkStruct<Type>(__func__, #Argument, #Type, \
                                                   *Argument))                 \
      return E;                                                                \
  } while (0)

#define LJ_REQUIRE_OUTPUT(Argument)                                            \
  do {                                                                         \
    if (static_cast<unsigned>(Argument) > LJ_STUB_BITCODE)                     \
      return launchjit::invalid(__func__, #Argument " is " +                   \
                                              llvm::Twine(int(Argument)) +     \
                                              ", which is no lj_stub_output"); \
  } while (0)

#define LJ_REQUIRE_INDEX(Argument, Count)                                      \
  do {                                                                         \
    if ((Argument) >= (Count))                                                 \
      return launchjit::invalid(                                               \
          __func__, #Argument " is " + llvm::Twine(Argument) +                 \
                        ", but there are only " + llvm::Twine(Count));         \
  } while (0)

#define LJ_REQUIRE_ENTRY(Argument)                                             \
  do {                                                                         \
    if (!launchjit::isKnown(Argument))                                         \
      return launchjit::invalid(__func__, #Argument " is " +                   \
                                              llvm::Twine(int(Argument)) +     \
                                              ", which is no lj_entry_kind");  \
  } while (0)

#endif // LAUNCHJIT_LIB_CAPI_WRAP_H
