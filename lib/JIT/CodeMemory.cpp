//===- CodeMemory.cpp - Executable memory for many small stubs ------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/CodeMemory.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/FileLimit.h"
#include "launchjit/Support/Fork.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/Support/MathExtras.h"
#include <cerrno>
#include <cstring>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::jitlink;
using namespace launchjit;

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/// Stubs start on a cache line of their own.
static constexpr size_t Granule = 64;

static Error refused(const char *Call) {
  return makeError(Status::Unsupported,
                   Twine("executable memory is refused: ") + Call + ": " +
                       std::strerror(errno));
}

/// Two mappings of one anonymous file.
class CodeMemory::Slab {
public:
  static Expected<std::unique_ptr<Slab>> create(size_t Bytes) {
    auto S = std::unique_ptr<Slab>(new Slab(Bytes));
    // Kernels before 6.3 do not know MFD_EXEC; later ones may want it said.
    int FD = memfd_create("launchjit", MFD_CLOEXEC | MFD_EXEC);
    if (FD < 0 && errno == EINVAL)
      FD = memfd_create("launchjit", MFD_CLOEXEC);
    if (FD < 0)
      return refused("memfd_create");
    Error E = S->map(FD);
    close(FD);
    if (E)
      return std::move(E);
    return S;
  }

  ~Slab() {
    if (Writable)
      munmap(Writable, Bytes);
    if (Executable)
      munmap(Executable, Bytes);
  }

  bool isRetired() const { return Generation != forkGeneration(); }
  bool isEmpty() const { return Used == 0; }
  size_t used() const { return Used; }
  size_t size() const { return Bytes; }
  char *writable(size_t Offset) const { return Writable + Offset; }
  char *executable(size_t Offset) const { return Executable + Offset; }

  /// A range of \p Size bytes, or none where there is no room.
  std::optional<Range> take(size_t Size) {
    for (auto It = Free.begin(); It != Free.end(); ++It) {
      auto [Offset, Room] = *It;
      if (Room < Size)
        continue;
      Free.erase(It);
      if (Room != Size)
        Free.emplace(Offset + Size, Room - Size);
      Used += Size;
      bool Reused = Offset < FirstFresh;
      FirstFresh = std::max(FirstFresh, Offset + Size);
      return Range{this, Offset, Size, Reused};
    }
    return std::nullopt;
  }

  void giveBack(size_t Offset, size_t Size) {
    Used -= Size;
    auto Next = Free.lower_bound(Offset);
    if (Next != Free.end() && Next->first == Offset + Size) {
      Size += Next->second;
      Next = Free.erase(Next);
    }
    if (Next != Free.begin()) {
      auto Before = std::prev(Next);
      if (Before->first + Before->second == Offset) {
        Before->second += Size;
        return;
      }
    }
    Free.emplace(Offset, Size);
  }

private:
  explicit Slab(size_t Bytes) : Bytes(Bytes) { Free.emplace(0, Bytes); }

  Error map(int FD) {
    if (fileSizeLimit() < Bytes) {
      errno = EFBIG;
      return refused("the file size limit (ulimit -f)");
    }
    if (ftruncate(FD, Bytes))
      return refused("ftruncate");
    void *W = mmap(nullptr, Bytes, PROT_READ | PROT_WRITE, MAP_SHARED, FD, 0);
    if (W == MAP_FAILED)
      return refused("mmap");
    Writable = static_cast<char *>(W);
    void *X = mmap(nullptr, Bytes, PROT_READ | PROT_EXEC, MAP_SHARED, FD, 0);
    if (X == MAP_FAILED)
      return refused("mmap with PROT_EXEC");
    Executable = static_cast<char *>(X);
    return Error::success();
  }

  size_t Bytes;
  size_t Used = 0;
  size_t FirstFresh = 0; ///< From here on no code has been yet.
  uint64_t Generation = forkGeneration();
  char *Writable = nullptr, *Executable = nullptr;
  std::map<size_t, size_t> Free; ///< Offset to size, no two adjacent.
};

/// Makes every thread of the process see code that replaces older code: the
/// other cores may have fetched what was there before. Asking for this the
/// first time takes a process with threads 5 to 16 ms, so it is not done for
/// memory that never had code.
static void synchronizeCores() {
  static const bool Registered =
      syscall(SYS_membarrier,
              MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
  if (Registered)
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

class CodeMemory::InFlight : public JITLinkMemoryManager::InFlightAlloc {
public:
  InFlight(CodeMemory &Owner, Range R) : Owner(Owner), R(R) {}

  void finalize(OnFinalizedFunction OnFinalized) override {
    char *Code = R.Owner->executable(R.Offset);
    __builtin___clear_cache(Code, Code + R.Size);
    if (R.Reused)
      synchronizeCores();
    OnFinalized(FinalizedAlloc(orc::ExecutorAddr::fromPtr(new Range(R))));
  }
  void abandon(OnAbandonedFunction OnAbandoned) override {
    Owner.giveBack(R);
    OnAbandoned(Error::success());
  }

private:
  CodeMemory &Owner;
  Range R;
};

CodeMemory::CodeMemory(size_t SlabBytes) : SlabBytes(SlabBytes) {}
CodeMemory::~CodeMemory() = default;

Expected<CodeMemory::Range> CodeMemory::take(size_t Size) {
  Size = alignTo(std::max<size_t>(Size, 1), Granule);
  std::lock_guard<std::mutex> Guard(Lock);
  for (auto &S : Slabs)
    if (!S->isRetired())
      if (auto R = S->take(Size))
        return *R;
  auto S = Slab::create(alignTo(Size, SlabBytes));
  if (!S)
    return S.takeError();
  Range R = *(*S)->take(Size);
  Slabs.push_back(std::move(*S));
  return R;
}

void CodeMemory::giveBack(const Range &R) {
  std::lock_guard<std::mutex> Guard(Lock);
  R.Owner->giveBack(R.Offset, R.Size);
  // The newest stays for the next stub, if it may still be written.
  if (!R.Owner->isEmpty() ||
      (!R.Owner->isRetired() && R.Owner == Slabs.back().get()))
    return;
  Slabs.erase(find_if(Slabs, [&](auto &S) { return S.get() == R.Owner; }));
}

void CodeMemory::allocate(const JITLinkDylib *, LinkGraph &G,
                          OnAllocatedFunction OnAllocated) {
  BasicLayout Layout(G);
  size_t NumSegments = 0;
  BasicLayout::Segment *Code = nullptr;
  for (auto &[Group, Segment] : Layout.segments()) {
    ++NumSegments;
    if (Group.getMemProt() == (orc::MemProt::Read | orc::MemProt::Exec) &&
        Group.getMemLifetime() == orc::MemLifetime::Standard)
      Code = &Segment;
  }
  if (NumSegments != 1 || !Code)
    return OnAllocated(
        makeError(Status::Internal, "a stub has memory that is not its code"));
  auto R = take(Code->ContentSize + Code->ZeroFillSize);
  if (!R)
    return OnAllocated(R.takeError());
  Code->WorkingMem = R->Owner->writable(R->Offset);
  Code->Addr = orc::ExecutorAddr::fromPtr(R->Owner->executable(R->Offset));
  auto Alloc = std::make_unique<InFlight>(*this, *R);
  if (Error E = Layout.apply()) {
    giveBack(*R);
    return OnAllocated(std::move(E));
  }
  OnAllocated(std::move(Alloc));
}

void CodeMemory::deallocate(std::vector<FinalizedAlloc> Allocs,
                            OnDeallocatedFunction OnDeallocated) {
  for (FinalizedAlloc &A : Allocs) {
    std::unique_ptr<Range> R(A.release().toPtr<Range *>());
    giveBack(*R);
  }
  OnDeallocated(Error::success());
}

size_t CodeMemory::sizeOf(const FinalizedAlloc &A) {
  return A.getAddress().toPtr<Range *>()->Size;
}

CodeMemory::Usage CodeMemory::usage() const {
  std::lock_guard<std::mutex> Guard(Lock);
  Usage U{0, Slabs.size()};
  for (auto &S : Slabs)
    U.Bytes += S->used();
  return U;
}

Error CodeMemory::check() { return Slab::create(DefaultSlabBytes).takeError(); }
