//===- Inspect.cpp - launchjit inspect ------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"

using namespace llvm;
using namespace launchjit::tool;

namespace {

struct KernelFacts {
  lj_kernel_info Info;
  std::string Demangled;
  std::vector<Place> Parameters; ///< Empty where the binary does not tell.
};

/// "128", "128 x 2 x 1", or nothing where the binary does not say.
std::string dimensions(const int64_t (&Sizes)[3]) {
  if (Sizes[0] < 0)
    return "";
  return join(map_range(Sizes, [](int64_t Size) { return utostr(Size); }),
              " x ");
}

std::string known(int64_t Value) { return Value < 0 ? "" : grouped(Value); }

/// The parameters as they lie in the buffer, a character for a byte: each
/// begins with its number, and what is between them is a dot.
std::string ruler(ArrayRef<Place> Parameters) {
  std::string Bytes(Parameters.empty() ? 0 : Parameters.back().end(), '.');
  for (auto [I, P] : enumerate(Parameters)) {
    std::string Field = "|" + utostr(I);
    if (Field.size() > P.Size)
      Field = "|";
    Field.resize(P.Size, '-');
    Bytes.replace(P.Offset, P.Size, Field);
  }
  return Bytes;
}

class Inspect final : public Command {
public:
  Inspect()
      : Command("inspect", "Show the kernels in a cubin or PTX file",
                "Shows what a cubin or PTX file says of its kernels: what they "
                "need, and where\ntheir parameters lie; and its variables. No "
                "driver is needed.\n\nThe ruler under a kernel has a character "
                "for each "
                "byte of its parameters, 64 to\na line: |3-- is parameter 3, "
                "of 4 bytes; a "
                "dot is a byte between parameters."),
        Path(cl::Positional, cl::Required, cl::desc("<file>"), cl::sub(Sub),
             cl::cat(category())) {}

  Expected<int> run() override {
    Expected<ModulePtr> M =
        make<ModulePtr>(lj_module_create_from_file, Path.c_str());
    if (!M)
      return M.takeError();
    if (Error E = read(**M))
      return E;
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J, **M); });
    else
      writeText(**M);
    return ExitSuccess;
  }

private:
  Error read(const lj_module &M) {
    if (StringRef(lj_module_format(&M)) == "fatbin")
      return failure(Path + " is a fatbin, whose members are not read; "
                            "extract one with cuobjdump -xelf all");
    for (size_t I = 0, N = lj_module_num_kernels(&M); I != N; ++I) {
      KernelFacts K = {sized<lj_kernel_info>(), "", {}};
      if (Error E = check(lj_module_kernel_info(&M, I, &K.Info)))
        return E;
      K.Demangled = demangle(str(K.Info.name).str());
      auto Parameters = kernelParameters(M, I, K.Info);
      if (!Parameters)
        return Parameters.takeError();
      K.Parameters = std::move(*Parameters);
      Kernels.push_back(std::move(K));
    }
    for (size_t I = 0, N = lj_module_num_variables(&M); I != N; ++I) {
      Variables.push_back(sized<lj_variable_info>());
      if (Error E = check(lj_module_variable_info(&M, I, &Variables.back())))
        return E;
    }
    return Error::success();
  }

  std::string arch(const lj_module &M) const {
    unsigned Arch = lj_module_arch(&M);
    return Arch ? "sm_" + utostr(Arch) : "";
  }

  void writeJSON(JSONStream &J, const lj_module &M) const {
    // What the binary does not say is null.
    auto Number = [&](const char *Name, int64_t Value) {
      J.attribute(Name, Value < 0 ? json::Value(nullptr) : json::Value(Value));
    };
    auto Dimensions = [&](const char *Name, const int64_t(&Sizes)[3]) {
      J.attribute(Name, Sizes[0] < 0 ? json::Value(nullptr)
                                     : json::Value(json::Array(Sizes)));
    };
    J.attribute("file", json::fixUTF8(Path));
    J.attribute("format", lj_module_format(&M));
    J.attribute("arch", arch(M));
    J.attributeArray("kernels", [&] {
      for (const KernelFacts &K : Kernels)
        J.object([&] {
          J.attribute("name", json::fixUTF8(str(K.Info.name)));
          J.attribute("demangled", json::fixUTF8(K.Demangled));
          J.attribute("arch", arch(M));
          Number("registers", K.Info.registers);
          Number("shared", K.Info.static_shared);
          Number("local", K.Info.local);
          Number("max_threads", K.Info.max_threads);
          Dimensions("required_block", K.Info.required_block);
          Dimensions("required_cluster", K.Info.required_cluster);
          if (K.Info.num_parameters < 0)
            return J.attribute("parameters", nullptr);
          J.attributeArray("parameters", [&] {
            for (const Place &P : K.Parameters)
              J.object([&] {
                J.attribute("offset", P.Offset);
                J.attribute("size", P.Size);
              });
          });
        });
    });
    J.attributeArray("variables", [&] {
      for (const lj_variable_info &V : Variables)
        J.object([&] {
          J.attribute("name", json::fixUTF8(str(V.name)));
          J.attribute("size", V.size);
          J.attribute("constant", V.constant);
        });
    });
  }

  void writeKernel(const KernelFacts &K) const {
    outs() << '\n';
    WithColor(outs(), raw_ostream::SAVEDCOLOR, /*Bold=*/true) << K.Demangled;
    outs() << '\n';
    Table Facts{Table::Left, Table::Left};
    auto Fact = [&](const char *Name, std::string Value) {
      if (!Value.empty())
        Facts.row({Name, std::move(Value)});
    };
    if (StringRef(K.Demangled) != str(K.Info.name))
      Fact("name", str(K.Info.name).str());
    Fact("registers", known(K.Info.registers));
    Fact("shared", K.Info.static_shared < 0 ? "" : bytes(K.Info.static_shared));
    Fact("local", K.Info.local <= 0 ? "" : bytes(K.Info.local) + " a thread");
    Fact("threads", known(K.Info.max_threads));
    Fact("block", dimensions(K.Info.required_block));
    Fact("cluster", dimensions(K.Info.required_cluster));
    if (K.Info.num_parameters >= 0)
      Fact("parameters", K.Parameters.empty()
                             ? "none"
                             : grouped(K.Parameters.size()) + ", " +
                                   bytes(K.Parameters.back().end()) + ": " +
                                   join(map_range(K.Parameters,
                                                  [](const Place &P) {
                                                    return utostr(P.Size);
                                                  }),
                                        " "));
    Facts.print(outs(), /*Heading=*/false, /*Indent=*/2);
    constexpr size_t Line = 64;
    std::string Bytes = ruler(K.Parameters);
    StringRef Rest = Bytes, Last;
    for (size_t I = 0; !Rest.empty(); I += Line) {
      StringRef Now = Rest.take_front(Line);
      Rest = Rest.drop_front(Now.size());
      if (Now != Last)
        outs() << "  " << padded(utostr(I), 5, Table::Right) << "  " << Now
               << '\n';
      else if (Rest.take_front(Line) != Now)
        outs() << "    ...  as above\n";
      Last = Now;
    }
  }

  void writeText(const lj_module &M) const {
    std::string Arch = arch(M);
    outs() << Path << ": " << lj_module_format(&M)
           << (Arch.empty() ? "" : ", " + Arch) << ", "
           << count(Kernels.size(), "kernel", "kernels") << ", "
           << count(Variables.size(), "variable", "variables") << '\n';
    for (const KernelFacts &K : Kernels)
      writeKernel(K);
    if (Variables.empty())
      return;
    outs() << '\n';
    Table T{Table::Left, Table::Right, Table::Left};
    T.row({"variable", "bytes", ""});
    for (const lj_variable_info &V : Variables)
      T.row({str(V.name).str(), grouped(V.size), V.constant ? "constant" : ""});
    T.print(outs(), /*Heading=*/true);
  }

  cl::opt<std::string> Path;
  std::vector<KernelFacts> Kernels;
  std::vector<lj_variable_info> Variables;
};

} // namespace

CommandPtr launchjit::tool::makeInspect() {
  return std::make_unique<Inspect>();
}
