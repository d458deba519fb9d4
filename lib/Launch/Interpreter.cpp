//===- Interpreter.cpp - Launching without generated code -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function an entry kind serves every ABI, by walking the kernel's slots.
// It is what runs where executable memory is refused, and the oracle for the
// compiled launchers.
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/KernelState.h"
#include <alloca.h>
#include <atomic>
#include <cstdarg>
#include <cstring>

using namespace llvm;
using namespace launchjit;

static std::atomic<void *> InterpretedPython{nullptr};

void launchjit::setInterpretedPython(void *Entry) {
  InterpretedPython.store(Entry);
}

/// Stores one argument that lies at \p From; 0, or what fail() returned.
static int storeArgument(const KernelData &D, unsigned Index, const Slot &S,
                         const void *From, char *Buffer) {
  if (!From)
    return failArgument(&D, StubError::NullArgument, Index, 0);
  if (S.Kind == ParamKind::I1 || S.Kind == ParamKind::U1)
    if (uint8_t Byte = *static_cast<const uint8_t *>(From); Byte > 1)
      return failArgument(&D, StubError::NotBool, Index, Byte);
  std::memcpy(Buffer + S.Offset, From, S.Size);
  return 0;
}

static void clearScratch(const ABI &A, char *Buffer) {
  for (const Slot &S : A.scratchSlots())
    std::memset(Buffer + S.Offset, 0, S.Size);
}

static int interpretPacked(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                           void *Stream, const void *const *Arguments) {
  const auto &D = *static_cast<const KernelData *>(K);
  const ABI &A = D.State->Sig.abi();
  auto *Buffer = static_cast<char *>(alloca(A.size() + 1));
  if (int Failed = K->Table->CheckAddresses(K, Arguments, A.slots().size()))
    return Failed;
  unsigned Index = 0;
  for (const Slot &S : A.slots()) {
    if (int Failed = storeArgument(D, Index, S, Arguments[Index], Buffer))
      return Failed;
    ++Index;
  }
  clearScratch(A, Buffer);
  return launchByTable(K, X, Y, Z, Stream, Buffer);
}

/// The caller thinks that this is not variadic. On both architectures the
/// arguments lie where they would for a variadic callee, except that nobody
/// set the count of vector registers on x86-64, and that a float was not
/// widened: it is the low half of where a double would be.
extern "C" __attribute__((visibility("hidden"), used)) int
launchjit_interpret_c(const StubKernel *K, int64_t X, int64_t Y, int64_t Z,
                      void *Stream, ...) {
  const auto &D = *static_cast<const KernelData *>(K);
  const ABI &A = D.State->Sig.abi();
  auto *Buffer = static_cast<char *>(alloca(A.size() + 1));
  va_list Arguments;
  va_start(Arguments, Stream);
  unsigned Index = 0;
  int Failed = 0;
  for (const Slot &S : A.slots()) {
    uint64_t Bits;
    double Floating;
    const void *From = &Bits;
    switch (S.Kind) {
    case ParamKind::FP32:
    case ParamKind::FP64:
      Floating = va_arg(Arguments, double);
      From = &Floating;
      break;
    case ParamKind::Struct:
    case ParamKind::TensorMap:
      From = va_arg(Arguments, const void *);
      break;
    default:
      Bits = va_arg(Arguments, uint64_t);
      break;
    }
    if ((Failed = storeArgument(D, Index, S, From, Buffer)))
      break;
    ++Index;
  }
  va_end(Arguments);
  if (Failed)
    return Failed;
  clearScratch(A, Buffer);
  return launchByTable(K, X, Y, Z, Stream, Buffer);
}

#if defined(__x86_64__)
// Says that all eight vector registers may hold arguments.
asm(R"(
  .text
  .p2align 4
  .hidden launchjit_interpreted_c
  .globl launchjit_interpreted_c
  .type launchjit_interpreted_c, @function
launchjit_interpreted_c:
  .cfi_startproc
  endbr64
  movb $8, %al
  jmp launchjit_interpret_c
  .cfi_endproc
  .size launchjit_interpreted_c, . - launchjit_interpreted_c
)");
extern "C" __attribute__((visibility("hidden"))) int
launchjit_interpreted_c(const StubKernel *, int64_t, int64_t, int64_t, void *,
                        ...);
#else
#define launchjit_interpreted_c launchjit_interpret_c
#endif

void *Launcher::interpretedEntry(EntryKind Entry) {
  switch (Entry) {
  case EntryKind::C:
    return reinterpret_cast<void *>(&launchjit_interpreted_c);
  case EntryKind::Packed:
    return reinterpret_cast<void *>(&interpretPacked);
  case EntryKind::Python:
    return InterpretedPython.load();
  }
  return nullptr;
}
