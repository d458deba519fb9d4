//===- RecordingState.h - What the recording driver knows -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which call fails when, and with which code, was seen with driver 580 on an
// H200; unittests/Driver/ConformanceTest.cpp runs against both. A handle is a
// number that is never used again, so that a stale one is refused where the
// driver may crash.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_DRIVER_RECORDINGSTATE_H
#define LAUNCHJIT_LIB_DRIVER_RECORDINGSTATE_H

#include "RecordingDevice.h"
#include "launchjit/Binary/KernelBinary.h"
#include "launchjit/Driver/Recording.h"
#include "launchjit/Support/Fork.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace launchjit::recording {

/// What cuFuncSetAttribute changes.
struct Settings {
  int MaxDynamicShared = 0;
  int Carveout = -1;
  std::array<int, 3> Cluster = {0, 0, 0};
  int NonPortable = 0;
  int Policy = 0;
};

/// A binary, and what the driver answers who asks for its code.
struct Image {
  KernelBinary Binary;
  CUresult Result = CUDA_SUCCESS;
  /// Of a fatbin, whose kernels are believed to be there when asked for.
  std::map<std::string, BinaryKernel, std::less<>> Believed;

  /// Null where there is none.
  const BinaryKernel *find(llvm::StringRef Name);
};

struct Context {
  int Device;
  bool Primary;
  unsigned Uses; ///< Of a primary one; without any it is destroyed.
  size_t PrintfFIFOSize = 1 << 20;
};

/// What a stream is told while it is being captured.
struct Capture {
  CUgraph Into;
  CUstreamCaptureMode Mode;
  uint64_t Id;
  std::thread::id Begun; ///< By this thread.
  bool Invalid = false;
  CUgraphNode Last = nullptr;
};

struct Stream {
  CUcontext Owner;
  unsigned Flags;
  std::optional<Capture> Captured;
};

/// A kernel, or the kernels of a child graph.
struct GraphNode {
  CUfunction Kernel; ///< Null for a child graph.
  std::vector<RecordedLaunch> Launches;
};

struct Graph {
  std::vector<CUgraphNode> Nodes; ///< In the order in which they run.
};

struct GraphExec {
  struct Node {
    CUgraphNode From;
    GraphNode Work;
    bool Enabled;
  };
  std::vector<Node> Nodes;
};

struct Event {
  CUcontext Owner;
  unsigned Flags;
};

struct Module {
  CUcontext Owner;
  std::shared_ptr<Image> Code;
  bool OfLibrary;
  llvm::StringMap<CUfunction> Functions;
  llvm::StringMap<CUdeviceptr> Globals;
};

struct Function {
  CUcontext Owner;
  CUmodule In;
  const BinaryKernel *Code;
  Settings Set;
};

struct Library {
  explicit Library(std::shared_ptr<Image> Code) : Code(std::move(Code)) {}

  std::shared_ptr<Image> Code;
  llvm::StringMap<CUkernel> Kernels;
  llvm::DenseMap<CUcontext, CUmodule> Modules;
};

struct Kernel {
  CUlibrary In;
  const BinaryKernel *Code;
  std::vector<Settings> Set; ///< By device.
};

struct Free {
  void operator()(void *P) const { free(P); }
};

struct Allocation {
  size_t Size;
  CUcontext Owner;
  uint64_t Id;
  std::unique_ptr<void, Free> Memory;
  /// The address at which the device sees memory of the host; 0 for its own.
  CUdeviceptr SeenAt = 0;
};

/// The objects of one kind, by handle.
template <typename Handle, typename T> class Objects {
public:
  T *find(Handle H) const {
    auto It = Map.find(H);
    return It == Map.end() ? nullptr : It->second.get();
  }
  Handle add(uint64_t Number, T Object) {
    Handle H = reinterpret_cast<Handle>(Number);
    Map[H] = std::make_unique<T>(std::move(Object));
    return H;
  }
  bool erase(Handle H) { return Map.erase(H); }
  void eraseIf(llvm::function_ref<bool(Handle, const T &)> Test) {
    llvm::SmallVector<Handle, 8> Found;
    for (const auto &[H, Object] : Map)
      if (Test(H, *Object))
        Found.push_back(H);
    for (Handle H : Found)
      Map.erase(H);
  }

  llvm::DenseMap<Handle, std::unique_ptr<T>> Map;
};

struct State {
  unsigned Arch = 90;
  int Devices = 1;
  bool Initialized = false;

  Objects<CUcontext, Context> Contexts;
  Objects<CUstream, Stream> Streams;
  Objects<CUevent, Event> Events;
  Objects<CUlibrary, Library> Libraries;
  Objects<CUmodule, Module> Modules;
  Objects<CUkernel, Kernel> Kernels;
  Objects<CUfunction, Function> Functions;
  Objects<CUgraph, Graph> Graphs;
  Objects<CUgraphNode, GraphNode> Nodes;
  Objects<CUgraphExec, GraphExec> Execs;
  std::map<CUdeviceptr, Allocation> Memory;
  std::vector<CUcontext> Primary; ///< By device; null before its first use.

  std::deque<RecordedLaunch> Launches;
  CUresult FailWith = CUDA_SUCCESS;
  unsigned FailCount = 0;

  uint64_t newHandle() { return LastHandle += 16; }

  /// The calling thread's context. 201 where it has none, 709 where it is
  /// destroyed.
  CUresult current(CUcontext &Out);
  /// The context that a call with \p S is for: of the streams 0, 1 and 2 the
  /// current one.
  CUresult contextOf(CUstream S, CUcontext &Out);
  int deviceOf(CUcontext C) { return Contexts.find(C)->Device; }
  /// Frees all that belongs to \p C.
  void destroyContents(CUcontext C);
  void dropModule(CUmodule M);
  void dropGraph(CUgraph G);

  /// Whether a call that a capture cannot see may be made now. Where it may
  /// not, it breaks the captures that forbid it, as in the driver.
  CUresult unsafeCall();
  /// Whether the default stream of \p C may be used: not while a stream that
  /// waits for it is being captured. \p Break says that the use breaks that
  /// capture.
  CUresult useDefaultStream(CUcontext C, bool Break);
  /// Gives \p S, of context \p C, something to do, or to capture.
  CUresult enqueue(CUstream S, CUcontext C, GraphNode Work);

  Settings initialSettings(const BinaryKernel &K) const;
  /// The function of a kernel in a context, made when first asked for.
  CUfunction functionIn(CUkernel K, CUcontext C);
  CUmodule moduleIn(CUlibrary L, CUcontext C);
  CUfunction functionOf(CUmodule M, const BinaryKernel &K);
  CUresult globalOf(CUmodule M, llvm::StringRef Name, CUdeviceptr *Pointer,
                    size_t *Size);

  /// 0 where there is not enough.
  CUdeviceptr allocate(size_t Size, CUcontext Owner);
  /// The allocation that \p P points into; null where there is none.
  std::pair<const CUdeviceptr, Allocation> *allocationAt(CUdeviceptr P);

  void release(std::map<CUdeviceptr, Allocation>::iterator It);

private:
  uint64_t LastHandle = 0x1000;
  uint64_t LastAllocation = 0;
  size_t Allocated = 0;
};

/// The driver's state, locked, and kept whole across fork. False where cuInit
/// was not called, as for the driver.
class Locked {
public:
  Locked();
  explicit operator bool() const { return S.Initialized; }
  State *operator->() const { return &S; }
  State &operator*() const { return S; }

private:
  ForkShield Shield;
  State &S;
  std::lock_guard<std::mutex> Guard;
};

/// Appends to the list of launches, which forgets its oldest when it is full.
void keep(State &S, RecordedLaunch Launch);

/// Takes LAUNCHJIT_RECORDING in, unless that has happened.
llvm::Error configure();

/// The calling thread's contexts, the current one last. Without a destructor,
/// so that a thread may end at any time.
struct ContextStack {
  CUcontext Items[64];
  unsigned Size;

  CUcontext top() const { return Size ? Items[Size - 1] : nullptr; }
  bool push(CUcontext C) {
    if (Size == std::size(Items))
      return false;
    Items[Size++] = C;
    return true;
  }
};
ContextStack &contextStack();

/// What cuThreadExchangeStreamCaptureMode changes.
CUstreamCaptureMode &captureMode();

/// What a device of \p Arch answers who asks for the code at \p Bytes, as
/// long as the bytes themselves say.
std::shared_ptr<Image> readImage(const void *Bytes, unsigned Arch);

/// How many threads a block of \p K can have.
int maxThreads(const BinaryKernel &K);

/// Checks a launch in \p C as the driver does, and describes it.
CUresult checkLaunch(State &S, const CUlaunchConfig &Config, CUfunction Handle,
                     CUcontext C, void **Pointers, void **Extra,
                     RecordedLaunch &Out);

/// Checks a launch as cuLaunchKernelEx does, and keeps it.
CUresult launch(const CUlaunchConfig *Config, CUfunction Handle,
                void **Pointers, void **Extra);

} // namespace launchjit::recording

#endif // LAUNCHJIT_LIB_DRIVER_RECORDINGSTATE_H
