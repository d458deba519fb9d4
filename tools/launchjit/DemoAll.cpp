//===- DemoAll.cpp - launchjit demo --all ---------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Demo.h"

using namespace llvm;
using namespace launchjit::tool;

/// A kernel through one entry: what its line shows.
struct Outcome {
  explicit Outcome(lj_entry_kind Kind) : Kind(Kind) {}

  lj_entry_kind Kind;
  lj_launcher_info Info = sized<lj_launcher_info>();
  uint64_t LaunchTime = 0;
  std::string Problem; ///< Empty where all is right.
};

static Expected<Ready> prepare(const BundledKernel &B, lj_module &Module) {
  Ready R{&B, nullptr, nullptr, {}};
  Expected<SignaturePtr> S =
      parseSignature(B.Signature(), sized<lj_signature_options>());
  if (!S)
    return S.takeError();
  R.Signature = std::move(*S);
  if (Error E = B.Prepare(R.T, &Module))
    return E;
  lj_kernel_options Options = R.T.options();
  Expected<KernelPtr> Kernel = make<KernelPtr>(
      lj_module_get_kernel, &Module, B.Name, R.Signature.get(), &Options);
  if (!Kernel)
    return Kernel.takeError();
  R.Kernel = std::move(*Kernel);
  return R;
}

static Error tryEntry(const Ready &R, const DemoDriver &Driver, Outcome &O) {
  Expected<LauncherPtr> Launcher =
      make<LauncherPtr>(lj_launcher_create, R.Signature.get(), O.Kind, nullptr);
  if (!Launcher)
    return Launcher.takeError();
  if (Error E = check(lj_launcher_get_info(Launcher->get(), &O.Info)))
    return E;
  Entry Function = nullptr;
  if (Error E = check(lj_kernel_entry(R.Kernel.get(), O.Kind, &Function)))
    return E;
  if (Error E = R.launchAndCheck(O.Kind, Function, Driver))
    return E;
  Expected<uint64_t> Median = R.timeLaunches(O.Kind, Function, Driver);
  if (!Median)
    return Median.takeError();
  O.LaunchTime = *Median;
  return Error::success();
}

static json::Object toJSON(const Outcome &O) {
  return json::Object{{"entry", lj_entry_kind_name(O.Kind)},
                      {"ok", O.Problem.empty()},
                      {"error", json::fixUTF8(O.Problem)},
                      {"origin", lj_origin_name(O.Info.origin)},
                      {"object_size", O.Info.object_size},
                      {"compile_ns", O.Info.compile_ns},
                      {"link_ns", O.Info.link_ns},
                      {"launch_ns", O.LaunchTime}};
}

static std::vector<std::string> toRow(const Ready &R, const Outcome &O,
                                      const DemoDriver &Driver) {
  bool Made = O.Info.origin == LJ_ORIGIN_COMPILED;
  return {O.Kind == LJ_ENTRY_C ? R.Bundled->Name : "",
          lj_entry_kind_name(O.Kind),
          Made ? duration(O.Info.compile_ns) : lj_origin_name(O.Info.origin),
          Made ? duration(O.Info.link_ns) : "",
          O.Problem.empty() ? duration(O.LaunchTime) : "",
          O.Problem.empty() ? "ok: " + checkedText(R, Driver)
                            : "FAILED: " + O.Problem};
}

Expected<int> launchjit::tool::demoAll(const DemoDriver &Driver, bool JSON) {
  if (Driver.Kind == DemoDriver::Null)
    return failure("the null driver leaves nothing to check; set "
                   "LAUNCHJIT_DRIVER to cuda or recording");
  Expected<ModulePtr> Module = loadBundledModule();
  if (!Module)
    return Module.takeError();

  Table T{Table::Left,  Table::Left,  Table::Right,
          Table::Right, Table::Right, Table::Left};
  T.row({"kernel", "entry", "compile", "link", "launch", "result"});
  json::Array Kernels;
  unsigned Tried = 0, Right = 0;
  for (const BundledKernel &B : bundledKernels()) {
    Expected<Ready> R = prepare(B, **Module);
    if (!R)
      return failure(Twine(B.Name) + ": " + toString(R.takeError()));
    json::Array Entries;
    for (lj_entry_kind Kind : {LJ_ENTRY_C, LJ_ENTRY_PACKED}) {
      Outcome O(Kind);
      if (Error E = tryEntry(*R, Driver, O))
        O.Problem = toString(std::move(E));
      ++Tried;
      Right += O.Problem.empty();
      Entries.push_back(toJSON(O));
      T.row(toRow(*R, O, Driver));
    }
    Kernels.push_back(json::Object{{"kernel", B.Name},
                                   {"signature", B.Signature()},
                                   {"abi", R->abi().str()},
                                   {"entries", std::move(Entries)}});
  }

  bool Ok = Right == Tried;
  if (JSON) {
    outs() << formatv("{0:2}\n",
                      json::Value(json::Object{{"driver", Driver.json()},
                                               {"kernels", std::move(Kernels)},
                                               {"ok", Ok}}));
  } else {
    outs() << "driver: " << Driver.describe() << "\n\n";
    T.print(outs(), /*Heading=*/true);
    outs() << '\n'
           << Right << " of " << Tried
           << " launches are right. The python entry is checked by the Python "
              "tests and by\ntools/launchjit/kernels/check.py.\n";
  }
  return Ok ? ExitSuccess : ExitFailure;
}
