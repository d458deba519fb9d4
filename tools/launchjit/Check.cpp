//===- Check.cpp - launchjit check ----------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace launchjit::tool;

namespace {

class CheckSignature final : public SignatureCommand {
public:
  CheckSignature()
      : SignatureCommand(
            "check", "Does a signature fit a kernel in a binary?",
            "Compares a signature with what a cubin or PTX file says of a "
            "kernel's parameters,\nas loading it does, and shows the two "
            "layouts side by side.\n\nExit status: 0 if the signature fits, 1 "
            "if not."),
        Where(cl::Positional, cl::Required, cl::desc("<file>[:<kernel>]"),
              cl::sub(Sub), cl::cat(category())) {}

  Expected<int> run() override {
    Expected<SignaturePtr> S = parse();
    if (!S)
      return S.takeError();
    if (Error E = readKernel())
      return E;
    for (size_t I = 0, N = lj_signature_num_parameters(S->get()); I != N; ++I) {
      Ours.push_back(sized<lj_parameter>());
      if (Error E = check(lj_signature_parameter(S->get(), I, &Ours.back())))
        return E;
    }
    auto Options = sized<lj_kernel_options>();
    Error E = check(lj_module_get_kernel(M.get(), Kernel.c_str(), S->get(),
                                         &Options, &Made));
    if (E)
      Problem = toString(std::move(E));
    lj_kernel_delete(Made);
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J); });
    else
      writeText();
    return Problem.empty() ? ExitSuccess : ExitFailure;
  }

private:
  /// Opens the file and finds the kernel: the one that is named, or the only
  /// one. A name may follow the last colon, unless the whole is a file.
  Error readKernel() {
    StringRef Path = Where, Name;
    if (!sys::fs::exists(Path) && Path.contains(':'))
      std::tie(Path, Name) = Path.rsplit(':');
    auto Module =
        make<ModulePtr>(lj_module_create_from_file, Path.str().c_str());
    if (!Module)
      return Module.takeError();
    M = std::move(*Module);
    SmallVector<std::string> Names;
    for (size_t I = 0, N = lj_module_num_kernels(M.get()); I != N; ++I) {
      auto Info = sized<lj_kernel_info>();
      if (Error E = check(lj_module_kernel_info(M.get(), I, &Info)))
        return E;
      Names.push_back(str(Info.name).str());
      if (!Name.empty() && Name != Names.back())
        continue;
      Kernel = Names.back();
      auto Parameters = kernelParameters(*M, I, Info);
      if (!Parameters)
        return Parameters.takeError();
      Theirs = std::move(*Parameters);
    }
    if (is_contained(Names, Name) || (Name.empty() && Names.size() == 1))
      return Error::success();
    return failure((Name.empty()
                        ? "name the kernel, as in " + Path + ":<kernel>: "
                        : Path + " has no kernel '" + Name + "': ") +
                   "it has " + (Names.empty() ? "none" : join(Names, ", ")));
  }

  bool agrees(size_t I) const {
    return I < Ours.size() && I < Theirs.size() &&
           Ours[I].offset == Theirs[I].Offset && Ours[I].size == Theirs[I].Size;
  }

  /// What else may be meant; empty where nothing comes to mind.
  std::string advice() const {
    size_t More = Theirs.size() - Ours.size();
    if (Theirs.size() <= Ours.size() || More > 2 ||
        any_of(drop_begin(Theirs, Ours.size()),
               [](const Place &P) { return P.Size != 8; }) ||
        any_of(Ours, [](const lj_parameter &P) { return P.hidden; }))
      return "";
    return "the last are the hidden parameters of a Triton kernel: "
           "add --scratch " +
           std::string(More == 1 ? "g" : "gp");
  }

  void writeJSON(JSONStream &J) const {
    J.attribute("fits", Problem.empty());
    J.attribute("kernel", json::fixUTF8(Kernel));
    if (!Problem.empty())
      J.attribute("problem", json::fixUTF8(Problem));
    if (std::string Advice = advice(); !Advice.empty())
      J.attribute("advice", Advice);
    J.attributeArray("parameters", [&] {
      for (size_t I = 0; I != std::max(Ours.size(), Theirs.size()); ++I)
        J.object([&] {
          J.attribute("agrees", agrees(I));
          if (I < Ours.size())
            J.attributeObject("signature", [&] {
              J.attribute("name", str(Ours[I].name));
              J.attribute("type", str(Ours[I].type));
              J.attribute("offset", Ours[I].offset);
              J.attribute("size", Ours[I].size);
            });
          if (I < Theirs.size())
            J.attributeObject("binary", [&] {
              J.attribute("offset", Theirs[I].Offset);
              J.attribute("size", Theirs[I].Size);
            });
        });
    });
  }

  void writeText() const {
    Table T{Table::Right, Table::Left,  Table::Left,  Table::Right,
            Table::Right, Table::Right, Table::Right, Table::Left};
    T.row(
        {"#", "name", "type", "offset", "size", "binary: offset", "size", ""});
    for (size_t I = 0; I != std::max(Ours.size(), Theirs.size()); ++I) {
      std::vector<std::string> Row = {
          std::to_string(I),         "", "", "", "", "", "",
          agrees(I) ? "" : "differs"};
      if (I < Ours.size()) {
        Row[1] = str(Ours[I].name).str();
        Row[2] = str(Ours[I].type).str();
        Row[3] = std::to_string(Ours[I].offset);
        Row[4] = std::to_string(Ours[I].size);
      }
      if (I < Theirs.size()) {
        Row[5] = std::to_string(Theirs[I].Offset);
        Row[6] = std::to_string(Theirs[I].Size);
      }
      T.row(std::move(Row));
    }
    T.print(outs(), /*Heading=*/true);
    outs() << '\n'
           << (Problem.empty() ? "The signature fits kernel '" + Kernel + "'."
                               : Problem)
           << '\n';
    if (std::string Advice = advice(); !Advice.empty())
      outs() << "Perhaps " << Advice << ".\n";
  }

  cl::opt<std::string> Where;
  ModulePtr M;
  std::string Kernel;
  lj_kernel *Made = nullptr;
  std::vector<lj_parameter> Ours;
  std::vector<Place> Theirs;
  std::string Problem; ///< Empty where the signature fits.
};

} // namespace

CommandPtr launchjit::tool::makeCheck() {
  return std::make_unique<CheckSignature>();
}
