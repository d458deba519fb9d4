//===- KernelState.cpp - What all configurations of one function share ----===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/KernelState.h"
#include "launchjit/Support/Fork.h"
#include "llvm/ADT/DenseMap.h"

using namespace llvm;
using namespace launchjit;

namespace {

/// Stands in until the process's driver is opened: the first launch finds out
/// without a test of its own.
class UnboundDriver : public Driver {
public:
  UnboundDriver() {
    cuCtxGetCurrent = [](CUcontext *) { return CUDA_ERROR_NOT_INITIALIZED; };
    cuStreamGetCtx = [](CUstream, CUcontext *) {
      return CUDA_ERROR_NOT_INITIALIZED;
    };
  }
  static const Driver &get() {
    ForkShield Shield;
    static const Driver *D = new UnboundDriver;
    return *D;
  }
};

} // namespace

KernelState::KernelState(std::string Name, Signature Sig, const Driver *Drv)
    : Name(std::move(Name)), Sig(std::move(Sig)),
      Drv(Drv ? Drv : &UnboundDriver::get()) {}

KernelState::~KernelState() {
  for (const PreparedFunction *P = prepared(); P;) {
    const PreparedFunction *Next = P->Next;
    delete P;
    P = Next;
  }
  for (auto &L : Launchers)
    if (const Launcher *Made = L.load())
      Made->Release();
}

bool KernelState::isBound() const { return driver() != &UnboundDriver::get(); }

std::string KernelState::describe() const {
  return Name.empty() ? "the kernel" : "kernel '" + Name + "'";
}

Error KernelState::bind(const Driver &D) {
  if (!D.cuLaunchKernelEx)
    return D.missing("cuLaunchKernelEx", 11060);
#define REQUIRE(Entry)                                                         \
  if (!D.Entry)                                                                \
    return D.missing(#Entry, 0);
  REQUIRE(cuStreamGetCtx)
  REQUIRE(cuCtxGetCurrent)
  REQUIRE(cuCtxPushCurrent)
  REQUIRE(cuCtxPopCurrent)
#undef REQUIRE
  Drv.store(&D, std::memory_order_release);
  return Error::success();
}

Error KernelState::bindDriver() {
  if (isBound())
    return Error::success();
  Expected<const Driver &> D = Mod ? Mod->driver() : Driver::process();
  if (!D)
    return D.takeError();
  return bind(*D);
}

Error KernelState::checkWithDriver(const Module::Loaded &L) {
  const Driver &D = *driver();
  if (Checked || !(L.Kernel ? D.cuKernelGetParamInfo != nullptr
                            : D.cuFuncGetParamInfo != nullptr))
    return Error::success();
  std::vector<BinaryParameter> Actual;
  for (;;) {
    size_t Offset = 0, Size = 0;
    CUresult R =
        L.Kernel
            ? D.cuKernelGetParamInfo(L.Kernel, Actual.size(), &Offset, &Size)
            : D.cuFuncGetParamInfo(L.Function, Actual.size(), &Offset, &Size);
    if (R == CUDA_ERROR_INVALID_VALUE)
      break; // behind the last
    if (R != CUDA_SUCCESS)
      return Error::success();
    Actual.push_back(
        {static_cast<uint32_t>(Offset), static_cast<uint32_t>(Size)});
  }
  if (Error E = checkParameters(Sig, Actual, describe()))
    return E;
  Checked = true;
  return Error::success();
}

Expected<const PreparedFunction *> KernelState::prepare(CUcontext Context,
                                                        bool Again) {
  const Driver &D = *driver();
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  if (const PreparedFunction *P = find(Context); P && !Again)
    return P; // another thread was faster

  auto P = std::make_unique<PreparedFunction>();
  P->Context = Context;
  if (Error E = LJ_CUDA(D, cuCtxGetDevice,
                        "cannot tell the device of a context", &P->Device))
    return std::move(E);
  static constexpr CUdevice_attribute Limits[] = {
      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
  for (auto [Limit, Attribute] : zip(P->GridLimit, Limits)) {
    int Bound = 0;
    if (Error E = LJ_CUDA(D, cuDeviceGetAttribute,
                          "cannot ask a device for its grid limits", &Bound,
                          Attribute, P->Device))
      return std::move(E);
    Limit = Bound;
  }

  Module::Loaded L{HostFunction, HostKernel};
  if (Mod) {
    auto Loaded = Mod->loadKernel(Name, Context);
    if (!Loaded)
      return Loaded.takeError();
    L = *Loaded;
  }
  if (Error E = checkWithDriver(L))
    return std::move(E);
  if (Error E = raiseLimits(D, P->Device, L))
    return std::move(E);
  P->Function = L.Kernel ? reinterpret_cast<CUfunction>(L.Kernel) : L.Function;
  // Older entries stay for those who may be reading them; a stale one is
  // behind its successor and never found again.
  P->Next = Prepared.load();
  Prepared.store(P.get(), std::memory_order_release);
  return P.release();
}

/// Lets the function have the dynamic shared memory that the device offers
/// beside its static one, and large clusters if they were asked for.
Error KernelState::raiseLimits(const Driver &D, CUdevice Device,
                               const Module::Loaded &L) {
  auto Get = [&](CUfunction_attribute A, int &V) {
    return L.Kernel ? LJ_CUDA(D, cuKernelGetAttribute,
                              "cannot read an attribute of " + describe(), &V,
                              A, L.Kernel, Device)
                    : LJ_CUDA(D, cuFuncGetAttribute,
                              "cannot read an attribute of " + describe(), &V,
                              A, L.Function);
  };
  auto Set = [&](CUfunction_attribute A, int V, const Twine &What) {
    return L.Kernel
               ? LJ_CUDA(D, cuKernelSetAttribute, What, A, V, L.Kernel, Device)
               : LJ_CUDA(D, cuFuncSetAttribute, What, L.Function, A, V);
  };
  int OptIn = 0, Static = 0, Current = 0;
  if (Error E = LJ_CUDA(D, cuDeviceGetAttribute,
                        "cannot ask a device for its shared memory", &OptIn,
                        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                        Device))
    return E;
  if (Error E = Get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, Static))
    return E;
  if (Error E = Get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, Current))
    return E;
  if (OptIn - Static > Current)
    if (Error E = Set(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, OptIn - Static,
            "cannot raise the dynamic shared memory limit of " + describe()))
      return E;
  if (NonPortableCluster)
    return Set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
               "cannot allow clusters of more than 8 blocks for " + describe());
  return Error::success();
}

Expected<LauncherRef> KernelState::launcher(EntryKind Kind) {
  std::atomic<const Launcher *> &Place = Launchers[static_cast<unsigned>(Kind)];
  if (const Launcher *L = Place.load(std::memory_order_acquire))
    return LauncherRef(L);
  auto Made = Launcher::get(Sig.abi(), Kind);
  if (!Made)
    return Made.takeError();
  const Launcher *Expected = nullptr;
  (*Made)->Retain(); // for Place
  if (Place.compare_exchange_strong(Expected, Made->get(),
                                    std::memory_order_acq_rel))
    return *Made;
  (*Made)->Release();
  return LauncherRef(Expected);
}

Expected<CUcontext> launchjit::primaryContext(const Driver &D,
                                              CUdevice Device) {
  struct Retained {
    std::mutex Lock;
    DenseMap<std::pair<const Driver *, CUdevice>, CUcontext> Contexts;
  };
  ForkShield Shield;
  static Retained *R = new Retained;
  std::lock_guard<std::mutex> Guard(R->Lock);
  CUcontext &C = R->Contexts[{&D, Device}];
  if (!C) {
    CUcontext New = nullptr;
    if (Error E = LJ_CUDA(D, cuDevicePrimaryCtxRetain,
                          "cannot retain the primary context of device " +
                              Twine(Device),
                          &New, Device))
      return std::move(E);
    C = New;
  }
  return C;
}

Expected<ContextGuard> ContextGuard::enter(const Driver &D, CUcontext Context) {
  CUcontext Current = nullptr;
  if (Error E = LJ_CUDA(D, cuCtxGetCurrent, "cannot tell the current context",
                        &Current))
    return std::move(E);
  if (Current == Context)
    return ContextGuard(nullptr);
  if (Error E = LJ_CUDA(D, cuCtxPushCurrent, "cannot make a context current",
                        Context))
    return std::move(E);
  return ContextGuard(&D);
}

Expected<ContextGuard> ContextGuard::enterAny(const Driver &D,
                                              CUdevice Device) {
  CUcontext Context = nullptr;
  if (Error E = LJ_CUDA(D, cuCtxGetCurrent, "cannot tell the current context",
                        &Context))
    return std::move(E);
  if (Context)
    return ContextGuard(nullptr);
  auto Primary = primaryContext(D, Device);
  if (!Primary)
    return Primary.takeError();
  return enter(D, *Primary);
}

ContextGuard::~ContextGuard() {
  CUcontext Popped;
  if (D)
    D->cuCtxPopCurrent(&Popped);
}
