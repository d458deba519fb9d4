//===- DebugSupport.cpp - Telling gdb and perf of generated code ----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/JIT/DebugSupport.h"
#include "launchjit/Support/DebugOptions.h"
#include "launchjit/Support/FileLimit.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "launchjit/Support/Trace.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

//===----------------------------------------------------------------------===//
// gdb: "JIT Compilation Interface" in its manual
//===----------------------------------------------------------------------===//

extern "C" {
struct jit_code_entry {
  jit_code_entry *next_entry, *prev_entry;
  const char *symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry *relevant_entry, *first_entry;
};
// In LLVM's OrcTargetProcess: a program that uses ORC too has one list, and no
// way to ORC's lock (see DebugSupport.h).
extern jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code();
}

namespace {

enum GDBAction : uint32_t { Register = 1, Unregister = 2 };

class GDBRegistration final : public DebugRegistration {
public:
  GDBRegistration(ArrayRef<char> Object, StringRef Symbol, const char *Code)
      : Object(Object.begin(), Object.end()) {
    placeSections(Symbol, Code);
    Entry.symfile_addr = this->Object.data();
    Entry.symfile_size = this->Object.size();
    std::lock_guard<std::mutex> Guard(lock());
    Entry.prev_entry = nullptr;
    Entry.next_entry = __jit_debug_descriptor.first_entry;
    if (Entry.next_entry)
      Entry.next_entry->prev_entry = &Entry;
    __jit_debug_descriptor.first_entry = &Entry;
    tell(Register);
  }

  ~GDBRegistration() override {
    std::lock_guard<std::mutex> Guard(lock());
    if (Entry.prev_entry)
      Entry.prev_entry->next_entry = Entry.next_entry;
    else
      __jit_debug_descriptor.first_entry = Entry.next_entry;
    if (Entry.next_entry)
      Entry.next_entry->prev_entry = Entry.prev_entry;
    tell(Unregister);
  }

private:
  static std::mutex &lock() {
    static std::mutex Lock;
    return Lock;
  }

  void tell(GDBAction Action) {
    __jit_debug_descriptor.relevant_entry = &Entry;
    __jit_debug_descriptor.action_flag = Action;
    __jit_debug_register_code();
  }

  /// Writes into the object where the section that holds \p Symbol lies.
  void placeSections(StringRef Symbol, const char *Code) {
    using ELFT = object::ELF64LE;
    auto File =
        object::ELFFile<ELFT>::create(StringRef(Object.data(), Object.size()));
    if (!File)
      return consumeError(File.takeError());
    auto Sections = File->sections();
    if (!Sections)
      return consumeError(Sections.takeError());
    for (const ELFT::Shdr &Table : *Sections) {
      if (Table.sh_type != ELF::SHT_SYMTAB)
        continue;
      auto Symbols = File->symbols(&Table);
      auto Names = File->getStringTableForSymtab(Table);
      if (!Symbols || !Names) {
        consumeError(Symbols.takeError());
        consumeError(Names.takeError());
        return;
      }
      for (const ELFT::Sym &S : *Symbols) {
        auto Name = S.getName(*Names);
        if (!Name)
          consumeError(Name.takeError());
        else if (*Name == Symbol && S.st_shndx < Sections->size())
          // The header lies in our own copy of the bytes.
          const_cast<ELFT::Shdr &>((*Sections)[S.st_shndx]).sh_addr =
              reinterpret_cast<uintptr_t>(Code) - S.st_value;
      }
    }
  }

  SmallVector<char, 0> Object;
  jit_code_entry Entry = {};
};

//===----------------------------------------------------------------------===//
// perf: a jitdump file
//===----------------------------------------------------------------------===//

class PerfDump {
public:
  PerfDump() {
    SmallString<128> Path;
    std::error_code EC = sys::fs::createUniqueDirectory("launchjit-perf", Path);
    int FD = -1;
    if (!EC) {
      sys::path::append(Path, "jit-" + Twine(getpid()) + ".dump");
      EC = sys::fs::openFileForReadWrite(Path, FD, sys::fs::CD_CreateNew,
                                         sys::fs::OF_None);
    }
    // perf record notices the file by this mapping.
    void *Mark = EC ? MAP_FAILED
                    : mmap(nullptr, sysconf(_SC_PAGESIZE),
                           PROT_READ | PROT_EXEC, MAP_PRIVATE, FD, 0);
    if (Mark == MAP_FAILED) {
      log(LogLevel::Warn, "engine",
          "perf is not told of stubs: cannot make " + Path + ": " +
              (EC ? EC.message() : std::strerror(errno)));
      return;
    }
    log(LogLevel::Info, "engine", "stubs are described for perf in " + Path);
    Out = std::make_unique<raw_fd_ostream>(FD, /*shouldClose=*/true);
    struct {
      uint32_t Magic, Version, Size, Machine, Padding, Process;
      uint64_t Time, Flags;
    } Header = {0x4A695444, 1, sizeof Header, Machine, 0, uint32_t(getpid()),
                nowNs(),    0};
    static_assert(sizeof Header == 40);
    write(&Header, sizeof Header);
    Out->flush();
  }

  void add(StringRef Symbol, ArrayRef<char> Code) {
    // A child of fork has no dump: the file and its name are its parent's.
    if (!Out || Generation != forkGeneration())
      return;
    std::lock_guard<std::mutex> Guard(Lock);
    if (fileSizeLimit() < Out->tell() + 100 + Symbol.size() + Code.size())
      return;
    auto Address = reinterpret_cast<uintptr_t>(Code.data());
    struct {
      uint32_t Kind, Size;
      uint64_t Time;
      uint32_t Process, Thread;
      uint64_t Address, CodeAddress, CodeSize, Index;
    } Load = {0,
              uint32_t(sizeof Load + Symbol.size() + 1 + Code.size()),
              nowNs(), // perf record -k mono has the same clock
              uint32_t(getpid()),
              uint32_t(syscall(SYS_gettid)),
              Address,
              Address,
              Code.size(),
              Index++};
    static_assert(sizeof Load == 56);
    write(&Load, sizeof Load);
    *Out << Symbol << '\0';
    write(Code.data(), Code.size());
    Out->flush();
    Out->clear_error(); // a full disk must not end the process
  }

private:
#if defined(__x86_64__)
  static constexpr uint32_t Machine = ELF::EM_X86_64;
#else
  static constexpr uint32_t Machine = ELF::EM_AARCH64;
#endif

  void write(const void *Bytes, size_t Size) {
    Out->write(static_cast<const char *>(Bytes), Size);
  }

  std::mutex Lock;
  std::unique_ptr<raw_fd_ostream> Out;
  uint64_t Generation = forkGeneration();
  uint64_t Index = 0;
};

} // namespace

std::unique_ptr<DebugRegistration>
launchjit::registerForDebugging(ArrayRef<char> Object, StringRef Symbol,
                                ArrayRef<char> Code) {
  const DebugOptions &Options = DebugOptions::get();
  if (Options.Perf) {
    static PerfDump *Dump = new PerfDump;
    Dump->add(Symbol, Code);
  }
  if (Options.GDB)
    return std::make_unique<GDBRegistration>(Object, Symbol, Code.data());
  return nullptr;
}
