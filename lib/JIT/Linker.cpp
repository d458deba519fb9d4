//===- Linker.cpp - An object to code, by JITLink -------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/Linker.h"
#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Log.h"
#if __has_include("llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h")
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#else // before LLVM 21
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#endif
#include "llvm/Support/MemoryBuffer.h"
#include <unistd.h>

using namespace llvm;
using namespace llvm::orc;
using namespace launchjit;

/// A process control that starts nothing: tasks run in the thread that links.
static std::unique_ptr<ExecutorProcessControl> createProcessControl() {
  return std::make_unique<SelfExecutorProcessControl>(
      std::make_shared<SymbolStringPool>(),
      std::make_unique<InPlaceTaskDispatcher>(), Triple(hostTriple()),
      sysconf(_SC_PAGESIZE), /*MemMgr=*/nullptr);
}

Linker::Linker(size_t SlabBytes)
    : Memory(SlabBytes), Session(createProcessControl()),
      Layer(Session, Memory), Dylib(Session.createBareJITDylib("stubs")) {
  Session.setErrorReporter(
      [this](Error E) { Reported = takeDetail(std::move(E)); });
}

Linker::~Linker() {
  if (Error E = Session.endSession())
    log(LogLevel::Error, "engine", toString(std::move(E)));
}

Expected<Linker::Linked> Linker::link(ArrayRef<char> Object, StringRef Symbol) {
  std::lock_guard<std::mutex> Guard(Lock);
  Reported.reset();
  size_t Before = Memory.usage().Bytes;
  ResourceTrackerSP Tracker = Dylib.createResourceTracker();
  Error E = Layer.add(Tracker, MemoryBuffer::getMemBuffer(
                                   StringRef(Object.data(), Object.size()),
                                   Symbol, /*RequiresNullTerminator=*/false));
  if (!E) {
    auto Found = Session.lookup({&Dylib}, Session.intern(Symbol));
    if (Found)
      return Linked{std::move(Tracker), Found->getAddress().toPtr<void *>(),
                    Memory.usage().Bytes - Before};
    E = Found.takeError();
  }
  ErrorDetail Why = takeDetail(std::move(E));
  consumeError(Tracker->remove());
  if (Reported) // the cause; Why is only that the look-up failed
    Why = std::move(*Reported);
  Why.Message = ("cannot link " + Symbol + ": " + Why.Message).str();
  return makeError(std::move(Why));
}

void Linker::unlink(ResourceTrackerSP Tracker) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Error E = Tracker->remove())
    log(LogLevel::Error, "engine", toString(std::move(E)));
  Tracker.reset();
  if (++Unlinked % 256 == 0)
    Session.getSymbolStringPool()->clearDeadEntries();
}
