//===- TritonPlan.cpp - What a Triton launcher is called with -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Triton's launchers get a function that Triton loaded, and with each call its
// launch configuration: a plan is the kernel that these make.
//
//===----------------------------------------------------------------------===//

#include "Triton.h"

using namespace llvm;
using namespace launchjit;
using namespace launchjit::python;

/// Up to 3.6 a tuple, or one error for all that is wrong; later any sequence.
int launchjit::python::parseMetadata(TritonCall &C) {
  const Py_ssize_t Count = C.Launch.Options.Minor <= 5 ? 6 : 3;
  const bool Takes = C.Launch.isEarly()
                         ? hasFlag(C.Metadata, Py_TPFLAGS_TUPLE_SUBCLASS)
                         : Py.PySequence_Check(C.Metadata);
  Ref Tuple(Takes ? Py.PySequence_Tuple(C.Metadata) : nullptr);
  if (Takes && !Tuple)
    return -1;
  bool Good = Tuple && Py.PyTuple_Size(Tuple.get()) == Count;
  for (Py_ssize_t I = 0; Good && I != Count; ++I)
    if (toInt(Py.PyTuple_GetItem(Tuple.get(), I), C.Config[I])) {
      if (!C.Launch.isEarly())
        return -1;
      Good = false;
    }
  return Good ? 0
              : raisePlain(Py.PyExc_TypeError,
                           "kernel_metadata must be a tuple of " +
                               Twine(Count) + " ints");
}

int launchjit::python::deviceOf(const TritonLaunch &L, PyObject *Function) {
  Ref Device(L.Devices ? Py.PyObject_GetItem(L.Devices, Function) : nullptr);
  int64_t Value = 0;
  if (!Device)
    Py.PyErr_Clear();
  else if (typeOf(Device.get()) == Py.PyLong_Type)
    peekInt(Py, Device.get(), Value);
  return static_cast<int>(Value);
}

static CUlaunchAttribute attribute(unsigned Id) {
  CUlaunchAttribute A = {};
  std::memcpy(&A.id, &Id, sizeof A.id);
  return A;
}

/// The launch attributes, in the order in which Triton gives them.
static void addAttributes(const TritonCall &C, const int Cluster[3],
                          SmallVectorImpl<CUlaunchAttribute> &To) {
  // More than the usual shared memory is a mode that a driver of its own time
  // knows: CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE and
  // CU_SHARED_MEMORY_MODE_ALLOW_OVERSIZED_SHARED_MEMORY.
  if (C.Launch.Options.Minor >= 8 && C.Config[2] > 228 * 1024) {
    To.push_back(attribute(18));
    To.back().value.pad[0] = 3;
  }
  if (C.PDL) {
    To.push_back(
        attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
    To.back().value.programmaticStreamSerializationAllowed = 1;
  }
  if (C.Cooperative) {
    To.push_back(attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
    To.back().value.cooperative = 1;
  }
  if (C.Config[1] != 1) {
    To.push_back(attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
    auto &Dim = To.back().value.clusterDim;
    Dim.x = Cluster[0];
    Dim.y = Cluster[1];
    Dim.z = Cluster[2];
    To.push_back(
        attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE));
    To.back().value.clusterSchedulingPolicyPreference =
        CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
  }
}

/// A kernel that somebody else than Triton compiled, as one of PTX, has no
/// hidden parameters: the driver reads none of those that it is given for them.
static Expected<KernelRef> wrapFunction(const TritonLaunch &L, uint64_t Handle,
                                        const KernelOptions &O) {
  auto *Function = reinterpret_cast<CUfunction>(Handle);
  auto Made = Kernel::wrap(Function, L.Name, L.Sig, O);
  if (Made)
    return Made;
  ErrorDetail D = takeDetail(Made.takeError());
  if (D.Code == Status::Signature) {
    SignatureOptions Bare = L.Sig.options();
    Bare.Scratch = 0;
    auto S = Signature::parse(L.Sig.str(), Bare);
    if (!S)
      return S.takeError();
    Made = Kernel::wrap(Function, L.Name, *S, O);
    if (Made)
      return Made;
    consumeError(Made.takeError());
  } else if (!Handle) {
    D.Code = Status::Cuda;
    D.Cuda = CUDA_ERROR_INVALID_HANDLE;
  }
  return makeError(std::move(D));
}

/// A new plan for what the call was given; null with an exception.
static std::unique_ptr<TritonPlan> makePlan(const TritonCall &C,
                                            uint64_t Handle) {
  const TritonLaunch &L = C.Launch;
  if (C.Config[0] < 1 || C.Config[0] > INT32_MAX / 32) {
    raiseTriton(CUDA_ERROR_INVALID_VALUE, "",
                "num_warps is " + Twine(C.Config[0]));
    return nullptr;
  }
  const bool HasDims = L.Options.Minor <= 5;
  const int Cluster[3] = {C.Config[HasDims ? 3 : 1], HasDims ? C.Config[4] : 1,
                          HasDims ? C.Config[5] : 1};
  // The grid would be empty, and a launch of that is none.
  if (C.Config[1] != 1 && any_of(Cluster, [](int Size) { return Size < 1; })) {
    raiseTriton(CUDA_ERROR_INVALID_VALUE, "",
                "the cluster is " + Twine(Cluster[0]) + " x " +
                    Twine(Cluster[1]) + " x " + Twine(Cluster[2]));
    return nullptr;
  }
  auto P = std::make_unique<TritonPlan>();
  P->Handle = Handle;
  std::copy(std::begin(C.Config), std::end(C.Config), P->Config);
  P->Cooperative = C.Cooperative;
  P->PDL = C.PDL;
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    P->Blocks[Axis] = C.Config[1] == 1 ? 1 : Cluster[Axis];

  KernelOptions O;
  O.Block[0] = 32 * static_cast<uint32_t>(C.Config[0]);
  O.Shared = C.Config[2];
  O.Device = deviceOf(L, C.Function);
  O.NonPortableCluster = !HasDims && C.Config[1] == 16;
  addAttributes(C, Cluster, O.Attributes);
  void *ThreadState = Py.PyEval_SaveThread();
  auto Made = wrapFunction(L, Handle, O);
  Py.PyEval_RestoreThread(ThreadState);
  if (!Made) {
    raiseFailure(takeDetail(Made.takeError()));
    return nullptr;
  }
  P->TheKernel = *Made;
  return P;
}

const TritonPlan *launchjit::python::knownPlan(const TritonCall &C) {
  const TritonPlan *P = C.Launch.Plans.load(std::memory_order_acquire);
  while (P && (P->Metadata != C.Metadata || P->Function != C.Function ||
               P->Cooperative != C.Cooperative || P->PDL != C.PDL))
    P = P->Next;
  return P;
}

/// Whether \p Metadata is a tuple of ints, which cannot change.
static bool isFixed(PyObject *Metadata) {
  if (typeOf(Metadata) != Py.PyTuple_Type)
    return false;
  for (Py_ssize_t I = Py.PyTuple_Size(Metadata); I--;)
    if (typeOf(Py.PyTuple_GetItem(Metadata, I)) != Py.PyLong_Type)
      return false;
  return true;
}

const TritonPlan *
launchjit::python::findPlan(const TritonCall &C,
                            std::unique_ptr<TritonPlan> &Own) {
  constexpr unsigned MaxPlans = 8;
  TritonLaunch &L = C.Launch;
  uint64_t Handle = Py.PyLong_AsUnsignedLongLongMask(C.Function);
  for (const TritonPlan *P = L.Plans.load(std::memory_order_acquire); P;
       P = P->Next)
    if (P->Handle == Handle && P->Cooperative == C.Cooperative &&
        P->PDL == C.PDL &&
        std::equal(std::begin(C.Config), std::end(C.Config), P->Config))
      return P;
  Own = makePlan(C, Handle);
  if (!Own || L.NumPlans.fetch_add(1) >= MaxPlans)
    return Own.get();
  Py.Py_IncRef(C.Function);
  Own->Function = C.Function;
  if (isFixed(C.Metadata)) {
    Py.Py_IncRef(C.Metadata);
    Own->Metadata = C.Metadata;
  }
  Own->Next = L.Plans.load(std::memory_order_acquire);
  while (!L.Plans.compare_exchange_weak(Own->Next, Own.get(),
                                        std::memory_order_acq_rel))
    ;
  return Own.release();
}
