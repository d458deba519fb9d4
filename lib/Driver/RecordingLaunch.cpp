//===- RecordingLaunch.cpp - Checks a launch and keeps it -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingEntries.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

/// Registers that one warp takes: they are given out 256 at a time.
static int warpRegisters(const BinaryKernel &K) {
  return int(alignTo(uint64_t(K.Registers.value_or(32)) * WarpSize, 256));
}

int recording::maxThreads(const BinaryKernel &K) {
  int ByRegisters =
      RegistersPerBlock / std::max(warpRegisters(K), 1) * WarpSize;
  return int(std::min<uint64_t>(std::min(ThreadsPerBlock, ByRegisters),
                                K.MaxThreads.value_or(ThreadsPerBlock)));
}

/// Of one multiprocessor.
static int maxBlocks(const State &S, const Function &F, uint64_t Threads,
                     uint64_t DynamicShared) {
  const ArchLimits &L = archLimits(S.Arch);
  if (!Threads || Threads > ThreadsPerBlock ||
      DynamicShared > uint64_t(F.Set.MaxDynamicShared))
    return 0;
  uint64_t Warps = divideCeil(Threads, WarpSize);
  uint64_t Blocks = L.BlocksPerProcessor;
  Blocks = std::min<uint64_t>(Blocks, L.ThreadsPerProcessor / WarpSize / Warps);
  Blocks = std::min<uint64_t>(Blocks, RegistersPerBlock /
                                          warpRegisters(*F.Code) / Warps);
  if (uint64_t Shared = alignTo(F.Code->StaticShared.value_or(0) +
                                    DynamicShared + L.ReservedShared,
                                128))
    Blocks = std::min<uint64_t>(Blocks, L.SharedPerProcessor / Shared);
  return int(Blocks);
}

static uint64_t product(const std::array<unsigned, 3> &Dims) {
  return SaturatingMultiply(uint64_t(Dims[0]) * Dims[1], uint64_t(Dims[2]));
}

static std::array<unsigned, 3> gridOf(const CUlaunchConfig &C) {
  return {C.gridDimX, C.gridDimY, C.gridDimZ};
}

static std::array<unsigned, 3> blockOf(const CUlaunchConfig &C) {
  return {C.blockDimX, C.blockDimY, C.blockDimZ};
}

/// An enumeration's value as the caller gave it, which may be none of its own.
template <typename Enum> static unsigned given(const Enum &Value) {
  unsigned Number;
  static_assert(sizeof Number == sizeof Value);
  memcpy(&Number, &Value, sizeof Number);
  return Number;
}

/// The last attribute of \p Id, which is the one that counts; null where
/// there is none.
static CUlaunchAttribute *find(const CUlaunchConfig &C,
                               CUlaunchAttributeID Id) {
  for (unsigned I = C.numAttrs; I-- > 0;)
    if (given(C.attrs[I].id) == Id)
      return &C.attrs[I];
  return nullptr;
}

/// The cluster's dimensions that a launch has: its attribute's, else its
/// kernel's; all 0 where there is no cluster.
static CUresult clusterOf(const Function &F, const CUlaunchConfig &Config,
                          std::array<unsigned, 3> &Dims) {
  std::array<unsigned, 3> Required = {0, 0, 0};
  if (F.Code->RequiredCluster)
    Required = *F.Code->RequiredCluster;
  else
    for (unsigned I = 0; I != 3; ++I)
      Required[I] = unsigned(F.Set.Cluster[I]);
  Dims = Required;
  if (const CUlaunchAttribute *A =
          find(Config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)) {
    const auto &D = A->value.clusterDim;
    if (D.x || D.y || D.z)
      Dims = {D.x, D.y, D.z};
  }
  if (Dims == std::array<unsigned, 3>{0, 0, 0})
    return CUDA_SUCCESS;
  uint64_t Size = product(Dims);
  if (!Size || Size > (F.Set.NonPortable ? 16u : 8u) ||
      (product(Required) && Dims != Required))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  // A grid of .blocksareclusters counts clusters.
  std::array<unsigned, 3> Grid = gridOf(Config);
  for (unsigned I = 0; I != 3; ++I)
    if (!F.Code->BlocksAreClusters && Grid[I] % Dims[I])
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  return CUDA_SUCCESS;
}

static CUresult checkEvent(const State &S, CUevent E) {
  Event *Found = S.Events.find(E);
  if (!Found)
    return CUDA_ERROR_INVALID_HANDLE;
  return Found->Flags & CU_EVENT_DISABLE_TIMING ? CUDA_SUCCESS
                                                : CUDA_ERROR_NOT_SUPPORTED;
}

/// One attribute's value by itself.
static CUresult checkAttribute(const State &S, const CUlaunchAttribute &A) {
  const CUlaunchAttributeValue &V = A.value;
  auto Valid = [](bool Test) {
    return Test ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  switch (given(A.id)) {
  case CU_LAUNCH_ATTRIBUTE_IGNORE:
  case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
  case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
  case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
  case CU_LAUNCH_ATTRIBUTE_PRIORITY:
  case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
    return CUDA_SUCCESS;
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    return Valid(given(V.clusterSchedulingPolicyPreference) <=
                 CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
  case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    return checkEvent(S, V.programmaticEvent.event);
  case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    return checkEvent(S, V.launchCompletionEvent.event);
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    return Valid(V.memSyncDomainMap.default_ < 4 &&
                 V.memSyncDomainMap.remote < 4);
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    return Valid(given(V.memSyncDomain) <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return Valid(V.sharedMemCarveout <= 100);
  case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    // The driver takes it while capturing only, and never with a false value.
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

static CUresult checkDimensions(const Function &F, const CUlaunchConfig &C) {
  std::array<unsigned, 3> Grid = gridOf(C), Block = blockOf(C);
  uint64_t Threads = product(Block);
  if (!Grid[0] || Grid[0] > INT32_MAX || !Grid[1] || Grid[1] > 65535 ||
      !Grid[2] || Grid[2] > 65535 || !Threads || Block[0] > 1024 ||
      Block[1] > 1024 || Block[2] > 64 || Threads > ThreadsPerBlock)
    return CUDA_ERROR_INVALID_VALUE;
  if (F.Code->RequiredBlock && Block != *F.Code->RequiredBlock)
    return CUDA_ERROR_INVALID_VALUE;
  if (F.Code->MaxThreads && Threads > *F.Code->MaxThreads)
    return CUDA_ERROR_INVALID_VALUE;
  if (Threads > unsigned(maxThreads(*F.Code)))
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (C.sharedMemBytes > unsigned(F.Set.MaxDynamicShared))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

static CUresult checkCluster(const Function &F, const CUlaunchConfig &C) {
  std::array<unsigned, 3> Dims;
  if (CUresult R = clusterOf(F, C, Dims))
    return R;
  const CUlaunchAttribute *Preferred =
      find(C, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
  if (!Preferred)
    return CUDA_SUCCESS;
  const auto &P = Preferred->value.preferredClusterDim;
  std::array<unsigned, 3> Want = {P.x, P.y, P.z};
  if (Want == std::array<unsigned, 3>{0, 0, 0})
    return CUDA_SUCCESS;
  for (unsigned I = 0; I != 3; ++I)
    if (!Dims[I] || !Want[I] || Want[I] % Dims[I] || gridOf(C)[I] % Want[I])
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  return CUDA_SUCCESS;
}

static CUresult checkCooperative(const State &S, const Function &F,
                                 const CUlaunchConfig &C) {
  const CUlaunchAttribute *A = find(C, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  if (!A || !A->value.cooperative)
    return CUDA_SUCCESS;
  uint64_t Room =
      uint64_t(maxBlocks(S, F, product(blockOf(C)), C.sharedMemBytes)) *
      archLimits(S.Arch).Processors;
  return product(gridOf(C)) <= Room ? CUDA_SUCCESS
                                    : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

using Bytes = std::vector<uint8_t>;

static Bytes copyBytes(const void *From, size_t Size) {
  const auto *P = static_cast<const uint8_t *>(From);
  return Bytes(P, P + Size);
}

/// Takes the parameters out of what `extra` names.
static CUresult takeBuffer(const BinaryKernel &K, void **Extra,
                           std::vector<Bytes> &Out) {
  const void *Buffer = nullptr;
  const size_t *Size = nullptr;
  for (; *Extra != CU_LAUNCH_PARAM_END; Extra += 2) {
    if (*Extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      Buffer = Extra[1];
    else if (*Extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      Size = static_cast<const size_t *>(Extra[1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  size_t Given = Buffer && Size ? *Size : 0;
  if (!K.Parameters) {
    if (Given)
      Out.push_back(copyBytes(Buffer, Given));
    return CUDA_SUCCESS;
  }
  size_t End = K.Parameters->empty()
                   ? 0
                   : K.Parameters->back().Offset + K.Parameters->back().Size;
  // The driver takes a buffer that is too short, and the kernel reads what
  // happens to lie behind it.
  if (Given != End)
    return Given > End ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
                       : CUDA_ERROR_INVALID_VALUE;
  for (const BinaryParameter &P : *K.Parameters)
    Out.push_back(
        copyBytes(static_cast<const uint8_t *>(Buffer) + P.Offset, P.Size));
  return CUDA_SUCCESS;
}

static CUresult takeParameters(const BinaryKernel &K, void **Pointers,
                               void **Extra, std::vector<Bytes> &Out) {
  if (Pointers && Extra)
    return CUDA_ERROR_INVALID_VALUE;
  if (Extra)
    return takeBuffer(K, Extra, Out);
  // How many there are, and of which size, only the binary tells.
  if (!K.Parameters || K.Parameters->empty())
    return CUDA_SUCCESS;
  if (!Pointers)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t I = 0; I != K.Parameters->size(); ++I)
    Out.push_back(copyBytes(Pointers[I], (*K.Parameters)[I].Size));
  return CUDA_SUCCESS;
}

/// The function that a launch of \p Handle in \p C runs: a kernel's handle
/// serves as well, in any context.
static CUresult functionFor(State &S, CUfunction Handle, CUcontext C,
                            Function *&Out) {
  if (S.Kernels.find(reinterpret_cast<CUkernel>(Handle)))
    Handle = S.functionIn(reinterpret_cast<CUkernel>(Handle), C);
  Out = S.Functions.find(Handle);
  return Out && Out->Owner == C ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult recording::checkLaunch(State &S, const CUlaunchConfig &Config,
                                CUfunction Handle, CUcontext C, void **Pointers,
                                void **Extra, RecordedLaunch &Out) {
  Function *F;
  if (CUresult R = functionFor(S, Handle, C, F))
    return R;
  for (unsigned I = 0; I != Config.numAttrs; ++I)
    if (CUresult R = checkAttribute(S, Config.attrs[I]))
      return R;
  if (CUresult R = checkDimensions(*F, Config))
    return R;
  if (CUresult R = checkCluster(*F, Config))
    return R;
  if (CUresult R = checkCooperative(S, *F, Config))
    return R;
  if (CUresult R = takeParameters(*F->Code, Pointers, Extra, Out.Parameters))
    return R;
  Out.Kernel = F->Code->Name;
  Out.Grid = gridOf(Config);
  Out.Block = blockOf(Config);
  Out.Shared = Config.sharedMemBytes;
  Out.Stream = reinterpret_cast<uint64_t>(Config.hStream);
  Out.Context = reinterpret_cast<uint64_t>(C);
  Out.Device = S.deviceOf(C);
  for (unsigned I = 0; I != Config.numAttrs; ++I)
    Out.Attributes.push_back({Config.attrs[I].id, Config.attrs[I].value});
  return CUDA_SUCCESS;
}

CUresult recording::launch(const CUlaunchConfig *Config, CUfunction Handle,
                           void **Pointers, void **Extra) {
  Locked S;
  if (!S)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!Config || (Config->numAttrs && !Config->attrs))
    return CUDA_ERROR_INVALID_VALUE;
  if (!S->Functions.find(Handle) &&
      !S->Kernels.find(reinterpret_cast<CUkernel>(Handle)))
    return CUDA_ERROR_INVALID_HANDLE;
  CUcontext C;
  if (CUresult R = S->contextOf(Config->hStream, C))
    return R;
  if (S->FailCount) {
    --S->FailCount;
    return S->FailWith;
  }
  RecordedLaunch L;
  if (CUresult R = checkLaunch(*S, *Config, Handle, C, Pointers, Extra, L))
    return R;
  CUlaunchAttribute *Updatable =
      find(*Config, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
  if (Updatable && Updatable->value.deviceUpdatableKernelNode.deviceUpdatable) {
    auto *Node = reinterpret_cast<CUgraphDeviceNode>(S->newHandle());
    Updatable->value.deviceUpdatableKernelNode.devNode = Node;
    for (RecordedAttribute &A : L.Attributes)
      if (A.Id == Updatable->id)
        A.Value.deviceUpdatableKernelNode.devNode = Node;
  }
  // A cooperative node takes no buffer.
  const CUlaunchAttribute *Cooperative =
      find(*Config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  Stream *To = S->Streams.find(Config->hStream);
  if (To && To->Captured && Extra && Cooperative &&
      Cooperative->value.cooperative) {
    To->Captured->Invalid = true;
    return CUDA_ERROR_INVALID_VALUE;
  }
  return S->enqueue(Config->hStream, C, GraphNode{Handle, {std::move(L)}});
}

LJ_ENTRIES {

  LJ_ENTRY cuLaunchKernelEx(const CUlaunchConfig *Config, CUfunction F,
                            void **Pointers, void **Extra) {
    return launch(Config, F, Pointers, Extra);
  }

  LJ_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessor(
      int *Out, CUfunction Handle, int Threads, size_t DynamicShared) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (!Out || Threads <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    Function *F;
    if (CUresult R = functionFor(*S, Handle, C, F))
      return R;
    *Out = maxBlocks(*S, *F, unsigned(Threads), DynamicShared);
    return CUDA_SUCCESS;
  }

  LJ_ENTRY cuOccupancyMaxActiveClusters(int *Out, CUfunction Handle,
                                        const CUlaunchConfig *Config) {
    Locked S;
    if (!S)
      return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext C;
    if (CUresult R = S->current(C))
      return R;
    if (!Out || !Config || (Config->numAttrs && !Config->attrs))
      return CUDA_ERROR_INVALID_VALUE;
    Function *F;
    if (CUresult R = functionFor(*S, Handle, C, F))
      return R;
    std::array<unsigned, 3> Dims;
    if (CUresult R = clusterOf(*F, *Config, Dims))
      return R;
    // The driver's count is smaller where a cluster does not fill the groups
    // of multiprocessors evenly.
    uint64_t Blocks = uint64_t(maxBlocks(*S, *F, product(blockOf(*Config)),
                                         Config->sharedMemBytes)) *
                      archLimits(S->Arch).Processors;
    *Out = product(Dims) ? int(Blocks / product(Dims)) : 0;
    return CUDA_SUCCESS;
  }

} // LJ_ENTRIES
