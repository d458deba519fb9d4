//===- BoundLaunch.h - A launch with its arguments bound ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_BOUNDLAUNCH_H
#define LAUNCHJIT_LAUNCH_BOUNDLAUNCH_H

#include "launchjit/Launch/Kernel.h"
#include <array>
#include <mutex>

namespace launchjit {

class BoundLaunch;
using BoundLaunchRef = llvm::IntrusiveRefCntPtr<BoundLaunch>;
using GridSize = std::array<int64_t, 3>;

/// A kernel with a grid, a stream and its arguments as the driver takes them,
/// to be launched again and again. It keeps the kernel, but not what pointer
/// arguments point to. One thread at a time may use it.
class BoundLaunch : public llvm::ThreadSafeRefCountedBase<BoundLaunch> {
public:
  /// Converts and checks \p Values as Kernel::launch does. Overrides in \p D
  /// are copied.
  static llvm::Expected<BoundLaunchRef> create(const KernelData &D,
                                               GridSize Grid, CUstream Stream,
                                               llvm::ArrayRef<Value> Values);
  /// The same with the packed parameters, D.ParameterBytes of them, in which
  /// the hidden ones are null.
  static BoundLaunchRef createPacked(const KernelData &D, GridSize Grid,
                                     CUstream Stream, const void *Parameters);

  /// Launches; 0, or a status with lastLaunchError(). While the stream is being
  /// captured, the node that this makes is remembered for update(): all those
  /// of the last capture are.
  int launch() { return launch(Stream); }
  int launch(CUstream On);

  /// Converts and checks one argument, counted as Kernel::launch does. On
  /// failure nothing is changed.
  llvm::Error set(size_t Index, const Value &V);
  /// Where a binding stores converted arguments itself; it must call changed().
  char *parameters() { return reinterpret_cast<char *>(Buffer.data()); }
  void setGrid(GridSize NewGrid) {
    Grid = NewGrid;
    changed();
  }
  void changed() { ++Version; }

  /// Writes what a launch would do now into this launch's nodes in \p Exec,
  /// which was instantiated from the graph of the last capture; that graph must
  /// exist. An empty grid disables the nodes. Attributes are the kernel's and
  /// are in the nodes already.
  llvm::Error update(CUgraphExec Exec);

  /// Where the arguments lie, as launchFromDevice takes it.
  void setDevice(int OfArguments, uint32_t Slot) {
    Device = OfArguments;
    DeviceSlot = Slot;
  }

  const KernelData &data() const { return *Data; }
  CUstream stream() const { return Stream; }
  bool isEmpty() const { return !Grid[0] || !Grid[1] || !Grid[2]; }

  // For graphs of launches, see Batch.

  /// Launches into a graph that is being captured; no observer sees it. 0, or a
  /// status with lastLaunchError().
  int capture(CUstream Into) {
    return launchUnobserved(Data, Grid[0], Grid[1], Grid[2], Into,
                            Buffer.data(), Device, DeviceSlot);
  }
  /// Counts the changes.
  uint64_t version() const { return Version; }
  /// An error where the launch cannot be in a graph that others write.
  llvm::Error checkNode() const;
  /// Writes the launch into one node, which was made in \p Context. \p Enabled
  /// is whether the node is, before and after.
  llvm::Error writeNode(CUgraphExec Exec, CUgraphNode Node, CUcontext Context,
                        bool &Enabled) const;

private:
  BoundLaunch() = default;
  void rememberNode(CUstream On);

  KernelRef Owner;
  std::vector<uint64_t> Storage; ///< Of Data.
  const KernelData *Data = nullptr;
  GridSize Grid = {};
  CUstream Stream = nullptr;
  int Device = -1;
  uint32_t DeviceSlot = 0;
  std::vector<uint64_t> Buffer;
  uint64_t Version = 0;

  struct CapturedNode {
    CUgraphNode Node;
    CUcontext Context;
  };
  std::mutex Lock; ///< Of what follows; rare, and saves memory from misuse.
  uint64_t CaptureId = 0;
  llvm::SmallVector<CapturedNode, 1> Nodes;
};

/// Whether what \p Stream is given becomes part of a graph of the caller's.
bool isCapturing(const Driver &Drv, CUstream Stream);

/// What the stream was given last, in a capture that goes on; null where there
/// is none. \p Id tells captures apart.
CUgraphNode lastCapturedNode(const Driver &Drv, CUstream Stream, uint64_t &Id);

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_BOUNDLAUNCH_H
