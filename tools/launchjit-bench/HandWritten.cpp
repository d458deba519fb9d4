//===- HandWritten.cpp - The same launches, written by hand ---------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench.h"

using namespace launchjit::bench;

HandWritten launchjit::bench::handWritten() {
  HandWritten H{};
  H.Launch = [](const CUlaunchConfig *, CUfunction, void **, void **) {
    return CUDA_SUCCESS;
  };
  H.GetContext = [](CUstream, CUcontext *Context) {
    *Context = reinterpret_cast<CUcontext>(64);
    return CUDA_SUCCESS;
  };
  H.Function = reinterpret_cast<CUfunction>(64);
  H.Block[0] = 128;
  H.Block[1] = H.Block[2] = 1;
  return H;
}

/// \p Size is that of the parameters, which can end before the struct does.
template <bool InContext, typename Parameters>
static inline int launch(const HandWritten *H, int64_t X, int64_t Y, int64_t Z,
                         CUstream Stream, Parameters &P, size_t Size) {
  if (InContext) {
    CUcontext Context;
    if (CUresult R = H->GetContext(Stream, &Context))
      return R;
  }
  CUlaunchConfig Config;
  Config.gridDimX = X;
  Config.gridDimY = Y;
  Config.gridDimZ = Z;
  Config.blockDimX = H->Block[0];
  Config.blockDimY = H->Block[1];
  Config.blockDimZ = H->Block[2];
  Config.sharedMemBytes = H->Shared;
  Config.hStream = Stream;
  Config.attrs = nullptr;
  Config.numAttrs = 0;
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &P,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
  return H->Launch(&Config, H->Function, nullptr, Extra);
}

namespace {
struct Parameters4 {
  CUdeviceptr A, B, C;
  int32_t N;
};
struct Parameters19 {
  CUdeviceptr P[9];
  float F[4];
  int32_t I[6];
};
} // namespace

int launchjit::bench::launch4(const HandWritten *H, int64_t X, int64_t Y,
                              int64_t Z, CUstream Stream, CUdeviceptr A,
                              CUdeviceptr B, CUdeviceptr C, int32_t N) {
  Parameters4 P{A, B, C, N};
  return launch<false>(H, X, Y, Z, Stream, P, 28);
}

int launchjit::bench::launchInContext4(const HandWritten *H, int64_t X,
                                       int64_t Y, int64_t Z, CUstream Stream,
                                       CUdeviceptr A, CUdeviceptr B,
                                       CUdeviceptr C, int32_t N) {
  Parameters4 P{A, B, C, N};
  return launch<true>(H, X, Y, Z, Stream, P, 28);
}

int launchjit::bench::launch19(const HandWritten *H, int64_t X, int64_t Y,
                               int64_t Z, CUstream Stream, CUdeviceptr P0,
                               CUdeviceptr P1, CUdeviceptr P2, CUdeviceptr P3,
                               CUdeviceptr P4, CUdeviceptr P5, CUdeviceptr P6,
                               CUdeviceptr P7, CUdeviceptr P8, float F0,
                               float F1, float F2, float F3, int32_t I0,
                               int32_t I1, int32_t I2, int32_t I3, int32_t I4,
                               int32_t I5) {
  Parameters19 P{{P0, P1, P2, P3, P4, P5, P6, P7, P8},
                 {F0, F1, F2, F3},
                 {I0, I1, I2, I3, I4, I5}};
  return launch<false>(H, X, Y, Z, Stream, P, 112);
}

int launchjit::bench::launchInContext19(
    const HandWritten *H, int64_t X, int64_t Y, int64_t Z, CUstream Stream,
    CUdeviceptr P0, CUdeviceptr P1, CUdeviceptr P2, CUdeviceptr P3,
    CUdeviceptr P4, CUdeviceptr P5, CUdeviceptr P6, CUdeviceptr P7,
    CUdeviceptr P8, float F0, float F1, float F2, float F3, int32_t I0,
    int32_t I1, int32_t I2, int32_t I3, int32_t I4, int32_t I5) {
  Parameters19 P{{P0, P1, P2, P3, P4, P5, P6, P7, P8},
                 {F0, F1, F2, F3},
                 {I0, I1, I2, I3, I4, I5}};
  return launch<true>(H, X, Y, Z, Stream, P, 112);
}
