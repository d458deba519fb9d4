//===- Module.cpp - A kernel binary, and where it is loaded ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Module.h"
#include "launchjit/Launch/KernelState.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

Expected<ModuleRef> Module::create(ArrayRef<uint8_t> Bytes, StringRef Name,
                                   const Driver *Drv) {
  auto Binary = KernelBinary::read(Bytes, Name);
  if (!Binary)
    return Binary.takeError();
  ModuleRef M(new Module);
  M->Name = Name.str();
  M->Bytes.reserve(Bytes.size() + 1);
  M->Bytes.assign(Bytes.begin(), Bytes.end());
  M->Bytes.push_back(0);
  M->Binary = std::move(*Binary);
  M->Drv = Drv;
  return M;
}

Expected<ModuleRef> Module::createFromFile(StringRef Path, const Driver *Drv) {
  auto Buffer = MemoryBuffer::getFile(Path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!Buffer)
    return makeError(Status::IO, "cannot read '" + Path +
                                     "': " + Buffer.getError().message());
  return create(arrayRefFromStringRef((*Buffer)->getBuffer()), Path, Drv);
}

Module::~Module() {
  if (!Library && Modules.empty())
    return;
  // A forked child has no CUDA: what it inherits is only an address.
  if (LoadedBy != getpid())
    return;
  // Unloading is not allowed while a stream is being captured, unless this
  // thread says that it knows.
  RelaxedCapture Relaxed(*Drv);
  if (Library)
    Drv->cuLibraryUnload(Library);
  for (const InContext &M : Modules) {
    auto Guard = ContextGuard::enter(*Drv, M.Context);
    if (Guard)
      Drv->cuModuleUnload(M.Module);
    else
      consumeError(Guard.takeError()); // the context is gone, and it with it
  }
}

Expected<const Driver &> Module::driver() {
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Drv) {
    auto D = Driver::process();
    if (!D)
      return D.takeError();
    Drv = &*D;
  }
  return *Drv;
}

Error Module::loadLibrary(const Driver &D) {
  if (Library)
    return Error::success();
  CUlibrary L = nullptr;
  if (Error E = LJ_CUDA(D, cuLibraryLoadData, "cannot load " + Twine(Name), &L,
                        Bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0))
    return E;
  Library = L;
  LoadedBy = getpid();
  return Error::success();
}

Expected<CUmodule> Module::loadModule(const Driver &D, CUcontext Context) {
  CUdevice Device;
  if (Error E = LJ_CUDA(D, cuCtxGetDevice,
                        "cannot tell the device of a context", &Device))
    return std::move(E);
  auto Known = find_if(
      Modules, [&](const InContext &M) { return M.Context == Context; });
  if (Known != Modules.end()) {
    if (Known->Device == Device)
      return Known->Module;
    Modules.erase(Known); // with its context, whose address is used again
  }
  CUmodule M = nullptr;
  if (Error E = LJ_CUDA(D, cuModuleLoadData, "cannot load " + Twine(Name), &M,
                        Bytes.data()))
    return std::move(E);
  Modules.push_back({Context, Device, M});
  LoadedBy = getpid();
  return M;
}

Expected<Module::Loaded> Module::loadKernel(StringRef Kernel,
                                            CUcontext Context) {
  auto D = driver();
  if (!D)
    return D.takeError();
  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  std::string What = ("cannot get kernel '" + Kernel + "' of " + Name).str();
  Loaded L{nullptr, nullptr};
  if (D->cuLibraryLoadData) {
    if (Error E = loadLibrary(*D))
      return std::move(E);
    if (Error E = LJ_CUDA(*D, cuLibraryGetKernel, What, &L.Kernel, Library,
                          Kernel.str().c_str()))
      return std::move(E);
    // This is what loads it into the current context.
    if (Error E = LJ_CUDA(*D, cuKernelGetFunction, What, &L.Function, L.Kernel))
      return std::move(E);
    return L;
  }
  auto M = loadModule(*D, Context);
  if (!M)
    return M.takeError();
  if (Error E = LJ_CUDA(*D, cuModuleGetFunction, What, &L.Function, *M,
                        Kernel.str().c_str()))
    return std::move(E);
  return L;
}

Expected<Module::Global> Module::getGlobal(StringRef Variable, int Device) {
  auto D = driver();
  if (!D)
    return D.takeError();
  if (Binary.Format != BinaryFormat::Fatbin &&
      none_of(Binary.Variables,
              [&](const BinaryVariable &V) { return V.Name == Variable; })) {
    std::string Known;
    for (const BinaryVariable &V : Binary.Variables)
      Known += (Known.empty() ? "" : ", ") + V.Name;
    return makeError(Status::NotFound, Name + " has no variable '" + Variable +
                                           "'; it has " +
                                           (Known.empty() ? "none" : Known));
  }
  auto Current = ContextGuard::enterAny(*D, Device);
  if (!Current)
    return Current.takeError();

  ForkShield Shield;
  std::lock_guard<std::mutex> Guard(Lock);
  std::string What =
      ("cannot get variable '" + Variable + "' of " + Name).str();
  Global G{0, 0};
  if (D->cuLibraryLoadData) {
    if (Error E = loadLibrary(*D))
      return std::move(E);
    if (Error E = LJ_CUDA(*D, cuLibraryGetGlobal, What, &G.Address, &G.Size,
                          Library, Variable.str().c_str()))
      return std::move(E);
    return G;
  }
  CUcontext Context = nullptr;
  D->cuCtxGetCurrent(&Context);
  auto M = loadModule(*D, Context);
  if (!M)
    return M.takeError();
  if (Error E = LJ_CUDA(*D, cuModuleGetGlobal, What, &G.Address, &G.Size, *M,
                        Variable.str().c_str()))
    return std::move(E);
  return G;
}
