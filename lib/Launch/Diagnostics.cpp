//===- Diagnostics.cpp - Why the driver refused a launch ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/KernelState.h"

using namespace llvm;
using namespace launchjit;

namespace {

/// A second look at a refused launch. Nothing that is asked for here may fail
/// the report: what the driver does not answer is left out.
class Diagnosis {
public:
  Diagnosis(const KernelData &D, const PreparedFunction &P,
            const int64_t Grid[3])
      : D(D), P(P), S(*D.State), Drv(*S.driver()), Grid(Grid) {}

  /// The first limit that the launch exceeds, or empty.
  std::string find(CUresult Result) {
    if (std::string Why = block(); !Why.empty())
      return Why;
    if (std::string Why = shared(); !Why.empty())
      return Why;
    if (std::string Why = cluster(); !Why.empty())
      return Why;
    if (Result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE || cooperative())
      return occupancy();
    return "";
  }

private:
  int device(CUdevice_attribute A) const {
    int V = 0;
    if (!Drv.cuDeviceGetAttribute ||
        Drv.cuDeviceGetAttribute(&V, A, P.Device) != CUDA_SUCCESS)
      return 0;
    return V;
  }

  int function(CUfunction_attribute A) const {
    int V = 0;
    CUresult R = CUDA_ERROR_NOT_SUPPORTED;
    if (CUkernel K = S.asKernel(P); K && Drv.cuKernelGetAttribute)
      R = Drv.cuKernelGetAttribute(&V, A, K, P.Device);
    else if (!K && Drv.cuFuncGetAttribute)
      R = Drv.cuFuncGetAttribute(&V, A, P.Function);
    return R == CUDA_SUCCESS ? V : 0;
  }

  /// What the binary says of the kernel; null where it says nothing.
  const BinaryKernel *binary() const {
    return S.Mod ? S.Mod->binary().find(S.Name) : nullptr;
  }

  const CUlaunchAttribute *attribute(uint32_t Id) const {
    for (unsigned I = 0; I != D.NumAttributes; ++I)
      if (attributeId(D.Attributes[I]) == Id)
        return &D.Attributes[I];
    return nullptr;
  }

  std::string block() const {
    static constexpr CUdevice_attribute Limits[] = {
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    for (unsigned I = 0; I != 3; ++I)
      if (int Limit = device(Limits[I]);
          Limit && D.Block[I] > static_cast<unsigned>(Limit))
        return ("block " + Twine("xyz"[I]) + " is " + Twine(D.Block[I]) +
                "; the device allows " + Twine(Limit))
            .str();
    uint64_t Threads = uint64_t(D.Block[0]) * D.Block[1] * D.Block[2];
    int OfDevice = device(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (OfDevice && Threads > static_cast<uint64_t>(OfDevice))
      return ("the block has " + Twine(Threads) +
              " threads; the device allows " + Twine(OfDevice))
          .str();
    int OfKernel = function(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (OfKernel && Threads > static_cast<uint64_t>(OfKernel))
      return ("the block has " + Twine(Threads) +
              " threads; this kernel allows " + Twine(OfKernel) + ", with " +
              Twine(function(CU_FUNC_ATTRIBUTE_NUM_REGS)) +
              " registers a thread and its launch bounds")
          .str();
    const BinaryKernel *B = binary();
    if (B && B->RequiredBlock &&
        !std::equal(D.Block, D.Block + 3, B->RequiredBlock->begin()))
      return "the block is " + dim(D.Block) + "; this kernel requires " +
             dim(B->RequiredBlock->data());
    return "";
  }

  std::string shared() const {
    int Static = function(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    int Limit = device(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (!Limit || uint64_t(D.Shared) + Static <= static_cast<uint64_t>(Limit))
      return "";
    return ("the block wants " + Twine(D.Shared) +
            " bytes of dynamic shared memory beside " + Twine(Static) +
            " static ones; the device allows " + Twine(Limit) + " together")
        .str();
  }

  std::string cluster() const {
    const BinaryKernel *B = binary();
    const CUlaunchAttribute *A =
        attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    constexpr std::array<uint32_t, 3> None = {0, 0, 0};
    std::array<uint32_t, 3> Dim = None;
    if (A)
      Dim = {A->value.clusterDim.x, A->value.clusterDim.y,
             A->value.clusterDim.z};
    if (B && B->RequiredCluster) {
      if (Dim != None && Dim != *B->RequiredCluster)
        return "the cluster is " + dim(Dim.data()) + "; this kernel requires " +
               dim(B->RequiredCluster->data());
      Dim = *B->RequiredCluster;
    }
    if (Dim == None)
      return "";
    // A grid of .blocksareclusters counts clusters.
    if (!B || !B->BlocksAreClusters)
      if (std::string Why = dividesGrid("cluster ", Dim.data()); !Why.empty())
        return Why;
    uint64_t Blocks = uint64_t(Dim[0]) * Dim[1] * Dim[2];
    bool NonPortable =
        S.NonPortableCluster ||
        function(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    if (Blocks > 8 && !NonPortable)
      return ("the cluster has " + Twine(Blocks) +
              " blocks; 8 are allowed unless the kernel has the non-portable "
              "cluster option")
          .str();
    if (Blocks > 16)
      return ("the cluster has " + Twine(Blocks) +
              " blocks; the largest that hardware has is 16")
          .str();
    if (int Major = device(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        Major && Major < 9)
      return "clusters need compute capability 9.0";
    return preferredCluster(Dim.data());
  }

  std::string preferredCluster(const uint32_t *Cluster) const {
    const CUlaunchAttribute *A =
        attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
    if (!A)
      return "";
    const uint32_t Dim[3] = {A->value.preferredClusterDim.x,
                             A->value.preferredClusterDim.y,
                             A->value.preferredClusterDim.z};
    for (unsigned I = 0; I != 3; ++I)
      if (Cluster[I] && Dim[I] % Cluster[I])
        return ("preferred cluster " + Twine("xyz"[I]) + " is " +
                Twine(Dim[I]) + ", which is no multiple of cluster " +
                Twine("xyz"[I]) + " " + Twine(Cluster[I]))
            .str();
    return dividesGrid("preferred cluster ", Dim);
  }

  std::string dividesGrid(const char *What, const uint32_t *Dim) const {
    for (unsigned I = 0; I != 3; ++I)
      if (!Dim[I] || Grid[I] % Dim[I])
        return (What + Twine("xyz"[I]) + " is " + Twine(Dim[I]) +
                ", which does not divide grid " + Twine("xyz"[I]) + " " +
                Twine(Grid[I]))
            .str();
    return "";
  }

  bool cooperative() const {
    const CUlaunchAttribute *A = attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    return A && A->value.cooperative;
  }

  std::string occupancy() const {
    CUfunction F = P.Function;
    if (CUkernel K = S.asKernel(P))
      if (!Drv.cuKernelGetFunction ||
          Drv.cuKernelGetFunction(&F, K) != CUDA_SUCCESS)
        return "";
    int PerSM = 0;
    int SMs = device(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (!Drv.cuOccupancyMaxActiveBlocksPerMultiprocessor ||
        Drv.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &PerSM, F, D.Block[0] * D.Block[1] * D.Block[2], D.Shared) !=
            CUDA_SUCCESS)
      return "";
    uint64_t Blocks = uint64_t(Grid[0]) * Grid[1] * Grid[2];
    if (Blocks <= uint64_t(PerSM) * SMs)
      return "";
    return ("a cooperative grid must be resident at once: it has " +
            Twine(Blocks) + " blocks, and " + Twine(PerSM) + " on each of " +
            Twine(SMs) + " multiprocessors make " + Twine(PerSM * SMs))
        .str();
  }

  static std::string dim(const uint32_t *V) {
    return ("(" + Twine(V[0]) + ", " + Twine(V[1]) + ", " + Twine(V[2]) + ")")
        .str();
  }

  const KernelData &D;
  const PreparedFunction &P;
  const KernelState &S;
  const Driver &Drv;
  const int64_t *Grid;
};

} // namespace

Error launchjit::diagnoseLaunch(const KernelData &Data,
                                const PreparedFunction &P, CUresult Result,
                                const int64_t Grid[3], StringRef What) {
  std::string Text = (Data.State->describe() + " " + What).str();
  if (std::string Why = Diagnosis(Data, P, Grid).find(Result); !Why.empty())
    Text += ": " + Why;
  return Data.State->driver()->error(Result, Text);
}
