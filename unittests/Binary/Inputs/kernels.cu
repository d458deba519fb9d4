// One kernel a thing that a binary says. kernels.ptx and kernels.sm_90.cubin
// are made from it by README.md's commands.

struct Twelve {
  float A[3];
};
struct Large {
  char Bytes[5000];
};

__device__ int Counter[4];
__constant__ float Scale[3];
__device__ unsigned char Byte;
__device__ __managed__ int Managed;
__device__ float Initialized[2] = {1, 2};

extern "C" __global__ void axpy(const float *X, float *Y, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Y[I] += X[I] * Scale[0] * Initialized[I & 1];
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void mixed(char A, short B, int C, double D, Twelve E,
                                 unsigned char F, int *Out) {
  *Out = A + B + C + int(D) + int(E.A[1]) + F + Counter[0] + Byte + Managed;
}

extern "C" __global__ void __launch_bounds__(128) bounded(int *Out) {
  __shared__ int S[256];
  S[threadIdx.x] = Out[threadIdx.x];
  __syncthreads();
  Out[threadIdx.x] = S[threadIdx.x ^ 1];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered(int *Out) {
  *Out = 1;
}

extern "C" __global__ void __block_size__((64, 2, 1), (2, 1, 1))
    required(int *Out) {
  *Out = 1;
}

static __device__ __noinline__ int callee(int *X, int N) {
  volatile int A[100];
  A[N] = *X;
  return A[N + 1];
}

extern "C" __global__ void local(int *X, int N) {
  volatile int B[30];
  B[N] = 3;
  *X = callee(X, N) + B[N + 1];
}

extern "C" __global__ void large(Large L, int *Out) { *Out = L.Bytes[*Out]; }

// About a hundred registers.
extern "C" __global__ void heavy(float *X) {
  float A[120];
#pragma unroll
  for (int I = 0; I < 120; ++I)
    A[I] = X[I * 32 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int I = 0; I < 120; ++I)
    X[I * 7 + threadIdx.x] = A[I] * A[119 - I];
}

namespace space {
template <typename T> __global__ void scale(T *X, T By) { *X *= By; }
template __global__ void scale<float>(float *, float);
} // namespace space
