//===- Linker.cpp - An object to code, by JITLink -------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/Linker.h"
#include "launchjit/Support/Error.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/Object/ELFTypes.h"
// Only the host's: jitlink::link would bring the linkers of all architectures.
#if defined(__x86_64__)
#include "llvm/ExecutionEngine/JITLink/ELF_x86_64.h"
#define LJ_HOST(Function) Function##_x86_64
#define LJ_MACHINE ELF::EM_X86_64
#else
#include "llvm/ExecutionEngine/JITLink/ELF_aarch64.h"
#define LJ_HOST(Function) Function##_aarch64
#define LJ_MACHINE ELF::EM_AARCH64
#endif
#if LLVM_VERSION_MAJOR >= 20
#include "llvm/ExecutionEngine/Orc/SymbolStringPool.h"
#endif

using namespace llvm;
using namespace llvm::jitlink;
using namespace launchjit;

/// Those functions take it that the object is of their kind.
static bool isOfHost(StringRef Object) {
  using Ehdr = object::ELF64LE::Ehdr;
  if (Object.size() < sizeof(Ehdr))
    return false;
  const auto *H = reinterpret_cast<const Ehdr *>(Object.data());
  return H->checkMagic() && H->getFileClass() == ELF::ELFCLASS64 &&
         H->getDataEncoding() == ELF::ELFDATA2LSB && H->e_type == ELF::ET_REL &&
         H->e_machine == LJ_MACHINE;
}

static Expected<std::unique_ptr<LinkGraph>> readObject(MemoryBufferRef Object) {
  if (!isOfHost(Object.getBuffer()))
    return makeError(Status::Internal,
                     "it is no relocatable ELF object of this architecture");
#if LLVM_VERSION_MAJOR >= 20
  return LJ_HOST(createLinkGraphFromELFObject)(
      Object, std::make_shared<orc::SymbolStringPool>());
#else
  return LJ_HOST(createLinkGraphFromELFObject)(Object);
#endif
}

static StringRef nameOf(const Symbol &S) {
#if LLVM_VERSION_MAJOR >= 20
  return S.hasName() ? *S.getName() : StringRef();
#else
  return S.hasName() ? S.getName() : StringRef();
#endif
}

/// Whether a graph is that of a stub: one block of code and nothing else. A
/// cached object may be anything, and the linker takes much on trust.
static bool isStub(LinkGraph &G, StringRef Name) {
  const Block *Code = nullptr;
  for (Section &S : G.sections())
    for (const Block *B : S.blocks()) {
      if (!B->edges_empty())
        return false;
      if (S.getMemLifetime() == orc::MemLifetime::NoAlloc)
        continue; // the symbol table and the like
      if (Code || B->isZeroFill() ||
          S.getMemProt() != (orc::MemProt::Read | orc::MemProt::Exec) ||
          S.getMemLifetime() != orc::MemLifetime::Standard)
        return false;
      Code = B;
    }
  auto Externals = G.external_symbols();
  if (!Code || Externals.begin() != Externals.end())
    return false;
  return any_of(G.defined_symbols(), [&](const Symbol *S) {
    return nameOf(*S) == Name && &S->getBlock() == Code &&
           S->getOffset() == 0 && S->getSize() == Code->getSize() &&
           S->getSize() != 0;
  });
}

namespace {

/// One link; it ends before jitlink::link returns, since nothing in it waits.
class Context final : public JITLinkContext {
public:
  struct Outcome {
    std::optional<ErrorDetail> Problem;
    void *Entry = nullptr;
    JITLinkMemoryManager::FinalizedAlloc Code;
  };

  Context(CodeMemory &Memory, StringRef EntryName, Outcome &Out)
      : JITLinkContext(nullptr), Memory(Memory), EntryName(EntryName),
        Out(Out) {}

  JITLinkMemoryManager &getMemoryManager() override { return Memory; }
  void notifyFailed(Error E) override {
    Out.Problem = takeDetail(std::move(E));
  }

  void lookup(const LookupMap &Symbols,
              std::unique_ptr<JITLinkAsyncLookupContinuation> Go) override {
    if (Symbols.empty())
      return Go->run(AsyncLookupResult());
    Go->run(makeError(Status::Internal, "a stub refers to other symbols"));
  }

  Error notifyResolved(LinkGraph &G) override {
    for (const Symbol *S : G.defined_symbols())
      if (nameOf(*S) == EntryName)
        Out.Entry = S->getAddress().toPtr<void *>();
    return Out.Entry ? Error::success()
                     : makeError(Status::Internal, "it does not define it");
  }

  void notifyFinalized(JITLinkMemoryManager::FinalizedAlloc Code) override {
    Out.Code = std::move(Code);
  }

  /// Those are for unwind tables, the GOT and stubs of calls.
  bool shouldAddDefaultTargetPasses(const Triple &) const override {
    return false;
  }
  Error modifyPassConfig(LinkGraph &, PassConfiguration &Config) override {
    Config.PrePrunePasses.push_back(markAllSymbolsLive);
    return Error::success();
  }

private:
  CodeMemory &Memory;
  StringRef EntryName;
  Outcome &Out;
};

} // namespace

Expected<Linker::Linked> Linker::link(ArrayRef<char> Object, StringRef Symbol) {
  Context::Outcome Out;
  auto Graph = readObject(
      MemoryBufferRef(StringRef(Object.data(), Object.size()), Symbol));
  if (Graph && !isStub(**Graph, Symbol))
    Out.Problem = {Status::Internal, "it is not one function and nothing else"};
  else if (Graph)
    LJ_HOST(link_ELF)(std::move(*Graph),
                      std::make_unique<Context>(Memory, Symbol, Out));
  else
    Out.Problem = takeDetail(Graph.takeError());
  if (Out.Problem) {
    Out.Problem->Message =
        ("cannot link " + Symbol + ": " + Out.Problem->Message).str();
    return makeError(std::move(*Out.Problem));
  }
  size_t Size = CodeMemory::sizeOf(Out.Code);
  return Linked{std::move(Out.Code), Out.Entry, Size};
}

void Linker::unlink(JITLinkMemoryManager::FinalizedAlloc Code) {
  std::vector<JITLinkMemoryManager::FinalizedAlloc> All;
  All.push_back(std::move(Code));
  Memory.deallocate(std::move(All), [](Error E) {
    consumeError(std::move(E)); // CodeMemory has none
  });
}
