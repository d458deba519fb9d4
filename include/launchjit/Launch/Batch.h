//===- Batch.h - Bound launches as one CUDA graph -------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LAUNCH_BATCH_H
#define LAUNCHJIT_LAUNCH_BATCH_H

#include "launchjit/Launch/BoundLaunch.h"

namespace launchjit {

class Batch;
using BatchRef = llvm::IntrusiveRefCntPtr<Batch>;

/// Bound launches that run one after the other, as one CUDA graph: the host
/// pays for one launch. It keeps them, and follows what is set in them. One
/// thread at a time may use it and its launches.
class Batch : public llvm::ThreadSafeRefCountedBase<Batch> {
public:
  /// One launch may be there several times.
  static BatchRef create(llvm::ArrayRef<BoundLaunchRef> Launches);
  ~Batch();

  /// Launches all of them into \p Stream, whatever their own streams are, with
  /// what is set in them now. The first call makes the graph, in the context
  /// that their streams belong to, which must be one. The streams 0, 1 and 2
  /// are those of that context. What was launched before keeps its arguments;
  /// so do the nodes that this makes where \p Stream is being captured, one
  /// for each launch.
  llvm::Error launch(CUstream Stream);

private:
  struct Item {
    BoundLaunchRef Launch;
    CUgraphNode Node = nullptr; ///< Null where it was empty.
    uint64_t Version = 0;       ///< Of the launch, in the node.
    bool Enabled = true;
  };

  explicit Batch(llvm::ArrayRef<BoundLaunchRef> Launches);
  llvm::Error findDriver();
  llvm::Error findContext();
  llvm::Error build();
  llvm::Error capture(CUstream Stream);
  llvm::Error follow();
  void destroyGraph();

  std::mutex Lock; ///< Saves memory from misuse.
  std::vector<Item> Items;
  const Driver *Drv = nullptr;
  CUcontext Context = nullptr;
  CUgraph Graph = nullptr; ///< The nodes are its.
  CUgraphExec Exec = nullptr;
  int64_t MadeBy = 0; ///< The process; a forked child has no CUDA.
};

} // namespace launchjit

#endif // LAUNCHJIT_LAUNCH_BATCH_H
