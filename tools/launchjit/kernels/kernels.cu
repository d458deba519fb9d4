//===- kernels.cu - The kernels that the tool bundles ---------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel proves one thing about a launch; README.md beside this file has
// their signatures, launch configurations and what is checked. kernels.ptx is
// made by `tools/dev kernels`, which runs
//
//   nvcc -std=c++17 -arch=compute_90 -ptx kernels.cu -o kernels.ptx
//
// and then lowers the `.version` line to 7.8, the first that knows sm_90, so
// that every driver that knows the GPU loads it (ptxas checks the result).
//
//===----------------------------------------------------------------------===//

#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {

/// The bits of \p Value, zero-extended to 64.
template <typename T> __device__ uint64_t bitsOf(T Value) {
  uint64_t Bits = 0;
  memcpy(&Bits, &Value, sizeof(T));
  return Bits;
}

struct Words3 { // struct<12,4>
  int32_t Words[3];
};
struct alignas(8) Words6 { // struct<24,8>
  uint32_t Words[6];
};

/// The type of parameter \p I of params300, by I mod 4.
template <int I, int Mod = I % 4> struct Param300;
template <int I> struct Param300<I, 0> { using type = const void *; };
template <int I> struct Param300<I, 1> { using type = int32_t; };
template <int I> struct Param300<I, 2> { using type = int64_t; };
template <int I> struct Param300<I, 3> { using type = float; };

} // namespace

extern "C" {

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

__global__ void scalars(uint64_t *out, bool v0, int8_t v1, int16_t v2,
                        int32_t v3, int64_t v4, bool v5, uint8_t v6,
                        uint16_t v7, uint32_t v8, uint64_t v9, __half v10,
                        __nv_bfloat16 v11, float v12, double v13) {
  out[0] = bitsOf(v0);
  out[1] = bitsOf(v1);
  out[2] = bitsOf(v2);
  out[3] = bitsOf(v3);
  out[4] = bitsOf(v4);
  out[5] = bitsOf(v5);
  out[6] = bitsOf(v6);
  out[7] = bitsOf(v7);
  out[8] = bitsOf(v8);
  out[9] = bitsOf(v9);
  out[10] = bitsOf(v10);
  out[11] = bitsOf(v11);
  out[12] = bitsOf(v12);
  out[13] = bitsOf(v13);
}

__global__ void structs(uint32_t *out, Words3 a, int32_t i, Words6 b,
                        int32_t j) {
  for (int k = 0; k < 3; ++k)
    out[k] = a.Words[k];
  out[3] = i;
  for (int k = 0; k < 6; ++k)
    out[4 + k] = b.Words[k];
  out[10] = j;
}

__global__ void cluster(uint32_t *out) {
  auto Cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = Cluster.block_rank();
    out[2 * blockIdx.x + 1] = Cluster.num_blocks();
  }
}

__global__ void cooperative(uint32_t *first, uint32_t *second) {
  unsigned N = gridDim.x * blockDim.x;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  first[i] = i * i;
  cooperative_groups::this_grid().sync();
  // The neighbour is a thread of the next block.
  second[i] = first[i] + first[(i + blockDim.x) % N];
}

#define LJ_TEN(X, T)                                                           \
  X(T##0) X(T##1) X(T##2) X(T##3) X(T##4)                                      \
  X(T##5) X(T##6) X(T##7) X(T##8) X(T##9)
#define LJ_HUNDRED(X, H)                                                       \
  LJ_TEN(X, H##0) LJ_TEN(X, H##1) LJ_TEN(X, H##2) LJ_TEN(X, H##3)              \
  LJ_TEN(X, H##4) LJ_TEN(X, H##5) LJ_TEN(X, H##6) LJ_TEN(X, H##7)              \
  LJ_TEN(X, H##8) LJ_TEN(X, H##9)
#define LJ_1_TO_299(X)                                                         \
  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)                                 \
  LJ_TEN(X, 1) LJ_TEN(X, 2) LJ_TEN(X, 3) LJ_TEN(X, 4) LJ_TEN(X, 5)             \
  LJ_TEN(X, 6) LJ_TEN(X, 7) LJ_TEN(X, 8) LJ_TEN(X, 9)                          \
  LJ_HUNDRED(X, 1) LJ_HUNDRED(X, 2)

#define LJ_PARAMETER(I) , Param300<I>::type p##I
#define LJ_WEIGHT(I) Sum += I * bitsOf(p##I);
__global__ void params300(uint64_t *out LJ_1_TO_299(LJ_PARAMETER)) {
  uint64_t Sum = 0;
  LJ_1_TO_299(LJ_WEIGHT)
  out[0] = Sum;
  out[1] = bitsOf(p1);
  out[2] = bitsOf(p150);
  out[3] = bitsOf(p299);
}

__global__ void shared(uint32_t *out, int32_t n) {
  extern __shared__ uint32_t Words[];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    Words[i] = 3 * i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = Words[n - 1 - i];
}

__device__ int factor = 2;
__constant__ float coefficients[4] = {1, 2, 3, 4};
__global__ void globals(float *out) {
  out[threadIdx.x] = factor * coefficients[threadIdx.x];
}

} // extern "C"
