//===- Triton.h - A launch as Triton's launchers make it ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_TRITON_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_TRITON_H

#include "DLPack.h"
#include "Raise.h"
#include "Self.h"
#include "launchjit/Bindings/Python/Glue.h"
#include "launchjit/Launch/Kernel.h"
#include "llvm/ADT/SmallVector.h"
#include <atomic>

namespace launchjit::python {

/// A launch configuration that a TritonLaunch was called with, and the kernel
/// that it makes. Immutable.
struct TritonPlan {
  const TritonPlan *Next;
  /// The objects that the call had, owned: the next call has the same ones.
  /// Metadata is null where it could change.
  PyObject *Function, *Metadata = nullptr;
  uint64_t Handle; ///< The CUfunction.
  /// num_warps, num_ctas, shared, and up to 3.5 the cluster's dimensions.
  int Config[6];
  bool Cooperative, PDL;
  int64_t Blocks[3]; ///< Of the grid for one of Triton's.
  KernelRef TheKernel;
};

/// How objects of one type give their address; \p API is null for data_ptr().
struct TritonPointerType {
  PyObject *Type; ///< Owned: no other type gets its address.
  const DLPackExchangeAPI *API;
};

/// What one compiled kernel of Triton is launched by: the contract, the
/// signature, its stub, and the plans so far.
struct TritonLaunch {
  TritonOptions Options;
  Signature Sig;
  std::string Name;
  LauncherRef Entry;
  StubKernel Stub; ///< What the stub reads.
  /// Each parameter's place among all arguments, tuples flattened.
  llvm::SmallVector<int, 0> ArgumentIndex;
  bool HasTuples = false;
  PyObject *Devices = nullptr;   ///< Owned: {CUfunction: device}.
  PyObject *HookChain = nullptr; ///< Owned; null where there is none.
  std::atomic<const TritonPlan *> Plans{nullptr};
  std::atomic<unsigned> NumPlans{0};
  TypeCache<TritonPointerType> Pointers = {};

  explicit TritonLaunch(const Signature &S) : Sig(S) {}
  ~TritonLaunch() noexcept(false);
  /// Up to 3.6 numbers are converted before the enter hook, pointers after it.
  bool isEarly() const { return Options.Minor <= 6; }
};

/// What a stub of Triton's has for its `self`.
struct TritonSelf {
  char Header[PythonSelfKernelOffset]; ///< Never read.
  const StubKernel *Data;
};
static_assert(offsetof(TritonSelf, Data) == PythonSelfKernelOffset);

/// One launch, on the caller's stack.
struct TritonCall : TritonSelf {
  TritonLaunch &Launch;
  int64_t Grid[3];
  void *Stream;
  PyObject *Function, *Metadata, *LaunchMetadata, *Enter, *Exit;
  PyObject *Scratch[2] = {nullptr, nullptr}; ///< Global, profile.
  bool Cooperative, PDL;
  int Config[6] = {}; ///< As TritonPlan's; not filled where a plan is known.
  const TritonPlan *Plan = nullptr;
  /// Pointers and tensor maps of 3.6 and earlier, which wait for the hook.
  struct Waiting {
    PyObject *Object;
    void *To;
    uint32_t Slot;
  };
  llvm::SmallVector<Waiting, 16> Pointers, Maps;
  /// The arguments' tuples, in the order in which the stub comes to them,
  /// owned.
  llvm::SmallVector<PyObject *, 2> Tuples;
  unsigned NextTuple = 0; ///< That the stub has not come to yet.
  /// The fp16 parameter that overflowed; 3.6 and earlier tell after the hook.
  int HalfOverflow = -1;

  explicit TritonCall(TritonLaunch &L) : Launch(L) { Data = &L.Stub; }
  ~TritonCall() noexcept(false) {
    for (PyObject *Each : Tuples)
      Py.Py_DecRef(Each);
  }
};

inline TritonCall &tritonCall(const StubPythonLaunch *L) {
  return static_cast<TritonCall &>(*reinterpret_cast<TritonSelf *>(L->Self));
}

/// All of the Python part of Triton's stub table but PythonLaunch.
void fillTritonConversions(StubTable &Table);
/// Fills that table.
void fillTritonTable();

/// The contract's rules for a pointer; \p Index is -1 for scratch memory. 0, or
/// -1 with an exception.
int convertTritonPointer(TritonCall &C, PyObject *O, uint64_t &Address,
                         int Index);
int convertTritonMap(TritonCall &C, PyObject *O, void *To);
/// Has all tuples of the arguments ready: 3.7 and later take them apart before
/// they convert anything. 0, or -1 with an exception.
int takeTritonTuples(TritonCall &C, llvm::ArrayRef<ABIType> Types,
                     PyObject *const *Values);
int raiseHalfOverflow(const TritonCall &C, uint32_t Slot);

/// The process's driver, opened on first need; null with an exception.
const Driver *openDriver();
/// Like PyArg_ParseTuple's `i`; 0, or -1 with an exception.
int toInt(PyObject *O, int &Value);
/// Of a failed launch; what somebody's hook raised comes through.
void raiseFailure(const ErrorDetail &D);
/// RuntimeError("Triton Error [CUDA]: What: the driver's text\\nDetail"); -1.
int raiseTriton(CUresult Code, const std::string &What = "",
                const llvm::Twine &Detail = "");

/// num_warps and so on, from kernel_metadata. 0, or -1 with an exception.
int parseMetadata(TritonCall &C);
/// The plan of an earlier call with the same objects; null where there is none.
const TritonPlan *knownPlan(const TritonCall &C);
/// A plan for what the call was given, and its owner where it is for this call
/// only: a launcher that is called with ever new functions does not keep them
/// all. Null with an exception.
const TritonPlan *findPlan(const TritonCall &C,
                           std::unique_ptr<TritonPlan> &Own);

/// The device of a CUfunction that `load_binary` loaded; 0 where it is unknown.
int deviceOf(const TritonLaunch &L, PyObject *Function);

PyObject *makeTritonLaunchType(const CPython &C);
PyObject *makeTritonBase(const CPython &C);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_TRITON_H
