//===- CodegenLibrary.cpp - The code generator, opened on the first miss --===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Codegen/Request.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/Fork.h"
#include <dlfcn.h>
#include <mutex>

using namespace llvm;
using namespace launchjit;

namespace {

struct Library {
  std::mutex Lock;
  CodegenCFunction Compile = nullptr;
  std::string Problem;  ///< Why Compile is null.
  bool Refused = false; ///< It will not be another library later.

  /// Tries again what failed before, such as for want of a file descriptor.
  Expected<CodegenCFunction> get() {
    std::lock_guard<std::mutex> Guard(Lock);
    if (!Compile && !Refused)
      Problem = open();
    if (!Compile)
      return makeError(Status::Unsupported, Problem);
    return Compile;
  }

  std::string open() {
    Dl_info Own;
    if (!dladdr(reinterpret_cast<void *>(&compileStub), &Own))
      return "the folder of liblaunchjit.so cannot be found";
    StringRef Folder = StringRef(Own.dli_fname).rsplit('/').first;
    if (Folder == Own.dli_fname)
      Folder = ".";
    std::string Path = (Folder + "/liblaunchjit-codegen.so").str();
    void *Handle = dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!Handle)
      return std::string("the code generator cannot be loaded: ") + dlerror();
    auto *BuildId = reinterpret_cast<const char *(*)()>(
        dlsym(Handle, CodegenBuildIdSymbol));
    auto *Function =
        reinterpret_cast<CodegenCFunction>(dlsym(Handle, CodegenSymbol));
    Refused = !BuildId || !Function || StringRef(BuildId()) != codegenBuildId();
    if (!BuildId || !Function)
      return Path + " is no code generator of launchjit";
    if (Refused)
      return Path + " is refused: it is of another build (" + BuildId() +
             ") than this library (" + codegenBuildId() + ")";
    Compile = Function;
    return "";
  }
};

/// What the boundary's callback fills.
struct Answer {
  Status Code = Status::Internal;
  SmallVector<char, 0> Bytes;
};

} // namespace

Expected<SmallVector<char, 0>> launchjit::compileStub(const StubRequest &R) {
  ForkShield Shield;
  static Library *Lib = new Library;
  auto Compile = Lib->get();
  if (!Compile)
    return Compile.takeError();
  CodegenCRequest C{R.ABI.data(),
                    R.Contract.data(),
                    R.Triple.data(),
                    R.Symbol.data(),
                    R.ABI.size(),
                    R.Contract.size(),
                    R.Triple.size(),
                    R.Symbol.size(),
                    static_cast<uint32_t>(R.Entry),
                    static_cast<uint32_t>(R.Output)};
  Answer A;
  (*Compile)(
      &C,
      [](void *Context, int Code, const char *Bytes, size_t Size) {
        auto &A = *static_cast<Answer *>(Context);
        A.Code = static_cast<Status>(Code);
        A.Bytes.assign(Bytes, Bytes + Size);
      },
      &A);
  if (A.Code != Status::Success)
    return makeError(A.Code, StringRef(A.Bytes.data(), A.Bytes.size()));
  return std::move(A.Bytes);
}
