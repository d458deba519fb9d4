/*===- Loop.c - The driver's launch from a loop in C ---------------------===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#define _POSIX_C_SOURCE 200809L
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec T;
  clock_gettime(CLOCK_MONOTONIC, &T);
  return T.tv_sec * 1e6 + T.tv_nsec * 1e-3;
}

/* Launches the kernel of that name in PTX so often, one block of 128 threads
 * with Size bytes of zeroed parameters, in the current context: microseconds a
 * launch, waiting for the GPU left out; negative where the driver refuses. */
__attribute__((visibility("default"))) double
launchjit_bench_loop(const char *Driver, const char *PTX, const char *Name,
                     size_t Size, int Count) {
  void *Library = dlopen(Driver, RTLD_NOW);
  CUresult (*Load)(CUmodule *, const void *);
  CUresult (*GetFunction)(CUfunction *, CUmodule, const char *);
  CUresult (*Launch)(const CUlaunchConfig *, CUfunction, void **, void **);
  CUresult (*Synchronize)(void);
  CUresult (*Unload)(CUmodule);
  if (!Library)
    return -1;
  *(void **)&Load = dlsym(Library, "cuModuleLoadData");
  *(void **)&GetFunction = dlsym(Library, "cuModuleGetFunction");
  *(void **)&Launch = dlsym(Library, "cuLaunchKernelEx");
  *(void **)&Synchronize = dlsym(Library, "cuCtxSynchronize");
  *(void **)&Unload = dlsym(Library, "cuModuleUnload");
  CUmodule Module;
  CUfunction Function;
  if (!Load || !GetFunction || !Launch || !Synchronize || !Unload ||
      Load(&Module, PTX))
    return -1;
  if (GetFunction(&Function, Module, Name)) {
    Unload(Module);
    return -1;
  }
  void *Buffer = calloc(Size, 1);
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, Buffer,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
  CUlaunchConfig Config = {.gridDimX = 1,
                           .gridDimY = 1,
                           .gridDimZ = 1,
                           .blockDimX = 128,
                           .blockDimY = 1,
                           .blockDimZ = 1};
  CUresult R = Launch(&Config, Function, NULL, Extra);
  Synchronize();
  double Start = now();
  for (int I = 0; I != Count; ++I)
    R |= Launch(&Config, Function, NULL, Extra);
  double End = now();
  Synchronize();
  Unload(Module);
  free(Buffer);
  return R ? -1 : (End - Start) / Count;
}
