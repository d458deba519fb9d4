// Calls the README's C++ example.
#include "llvm/Support/Error.h"
#include <cuda.h>

llvm::Error launchAdd(CUdeviceptr A, CUdeviceptr B, CUdeviceptr C,
                      CUstream Stream);

int main() {
  if (llvm::Error E = launchAdd(0x10000, 0x20000, 0x30000, nullptr)) {
    llvm::logAllUnhandledErrors(std::move(E), llvm::errs());
    return 1;
  }
  return 0;
}
