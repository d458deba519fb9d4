//===- Demo.cpp - launchjit demo ------------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Demo.h"
#include "Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include <algorithm>
#include <optional>

using namespace llvm;
using namespace launchjit::tool;

//===----------------------------------------------------------------------===//
// The driver, and a launch that is checked
//===----------------------------------------------------------------------===//

Expected<DemoDriver> DemoDriver::open() {
  DemoDriver D;
  D.Info = sized<lj_driver_info>();
  Error E = check(lj_driver_get_info(&D.Info));
  const char *Asked = std::getenv("LAUNCHJIT_DRIVER");
  if (E && !(Asked && *Asked)) {
    D.Why = toString(std::move(E));
    setenv("LAUNCHJIT_DRIVER", "recording", /*overwrite=*/1);
    E = check(lj_driver_get_info(&D.Info));
  }
  if (E)
    return E;
  StringRef Kind = D.Info.kind;
  D.Kind = Kind == "recording" ? Recording : Kind == "null" ? Null : Cuda;
  Buffer Name;
  if (ErrorPtr Unnamed{lj_driver_device_name(0, &Name)}; !Unnamed)
    D.Device = Name.str().str();
  return D;
}

std::string DemoDriver::describe() const {
  switch (Kind) {
  case Recording:
    return "recording: launches are checked and kept, nothing runs";
  case Null:
    return "null: every call succeeds at once, nothing runs";
  case Cuda:
    break;
  }
  return "CUDA " + std::to_string(Info.version / 1000) + "." +
         std::to_string(Info.version % 1000 / 10) + ", " + Device;
}

json::Object DemoDriver::json() const {
  return json::Object{{"kind", Info.kind},
                      {"path", json::fixUTF8(str(Info.path))},
                      {"version", Info.version},
                      {"device", json::fixUTF8(Device)},
                      {"chosen_because", json::fixUTF8(Why)}};
}

Error Ready::launchAndCheck(lj_entry_kind Kind, Entry Function,
                            const DemoDriver &Driver) const {
  if (Error E = T.clearOutputs())
    return E;
  if (Error E = checkStatus(call(Kind, Function)))
    return E;
  if (Driver.Kind == DemoDriver::Cuda)
    return T.checkOutputs();
  if (Driver.Kind == DemoDriver::Null)
    return Error::success();

  Expected<RecordedPtr> Recorded = make<RecordedPtr>(lj_driver_take_recorded);
  if (!Recorded)
    return Recorded.takeError();
  size_t Count = lj_recorded_count(Recorded->get());
  if (Count != 1)
    return failure(Twine(Count) + " launches were recorded, not 1");
  auto Launch = sized<lj_recorded_launch>();
  if (Error E = check(lj_recorded_get(Recorded->get(), 0, &Launch)))
    return E;
  return T.checkRecorded(Launch, Bundled->Name);
}

Expected<uint64_t> Ready::timeLaunches(lj_entry_kind Kind, Entry Function,
                                       const DemoDriver &Driver) const {
  // The GPU's queue must not fill up, or a launch waits for another.
  constexpr unsigned Rounds = 10, LaunchesOfRound = 100;
  std::vector<uint64_t> Times;
  for (unsigned Round = 0; Round != Rounds; ++Round) {
    for (unsigned I = 0; I != LaunchesOfRound; ++I) {
      Stopwatch Watch;
      int Status = call(Kind, Function);
      Times.push_back(Watch.nanoseconds());
      if (Error E = checkStatus(Status))
        return E;
    }
    if (Error E = check(lj_synchronize()))
      return E;
  }
  if (Driver.Kind == DemoDriver::Recording)
    if (Expected<RecordedPtr> Drained =
            make<RecordedPtr>(lj_driver_take_recorded);
        !Drained)
      return Drained.takeError();
  std::nth_element(Times.begin(), Times.begin() + Times.size() / 2,
                   Times.end());
  return Times[Times.size() / 2];
}

std::string launchjit::tool::checkedText(const Ready &R,
                                         const DemoDriver &Driver) {
  switch (Driver.Kind) {
  case DemoDriver::Cuda:
    return R.Bundled->Checked;
  case DemoDriver::Recording: {
    size_t N = R.T.Arguments.size();
    return "grid, block, attributes and " + grouped(N) +
           (N == 1 ? " parameter" : " parameters") + " as recorded";
  }
  case DemoDriver::Null:
    break;
  }
  return "nothing to check with the null driver";
}

//===----------------------------------------------------------------------===//
// One kernel, step by step
//===----------------------------------------------------------------------===//

namespace {

/// What the demo tells: line by line as text, or at the end as JSON.
class Report {
public:
  explicit Report(bool JSON) : JSON(JSON) {}

  /// A step with what it made and, where it was timed, its nanoseconds. \p
  /// Ours is launchjit's own work, not the driver's.
  void step(StringRef Name, const Twine &Detail,
            std::optional<uint64_t> Time = std::nullopt, bool Ours = false) {
    std::string Text = Detail.str();
    if (Ours)
      Total += *Time;
    if (JSON) {
      json::Object Step{{"step", Name.trim().str()},
                        {"detail", json::fixUTF8(Text)}};
      if (Time)
        Step["ns"] = *Time;
      Steps.push_back(std::move(Step));
      return;
    }
    WithColor(outs(), raw_ostream::CYAN) << padded(Name, 15);
    outs() << (Time
                   ? padded(Text, 66) + padded(duration(*Time), 9, Table::Right)
                   : Text)
           << '\n';
  }

  void line(const Twine &Text = "") {
    if (!JSON)
      outs() << Text << '\n';
  }

  void fact(StringRef Key, json::Value Value) { Root[Key] = std::move(Value); }

  uint64_t total() const { return Total; }

  void finish() {
    if (!JSON)
      return;
    fact("launchjit_ns", Total);
    fact("steps", std::move(Steps));
    outs() << formatv("{0:2}\n", json::Value(std::move(Root)));
  }

  const bool JSON;

private:
  uint64_t Total = 0;
  json::Array Steps;
  json::Object Root;
};

class Demo final : public Command {
public:
  Demo()
      : Command(
            "demo", "Go the whole way on a bundled kernel",
            "Makes the launcher of a bundled kernel, launches it and "
            "checks what came of it,\nwith the time of each step.\n\n"
            "On a GPU the kernel's results are checked. Where there is no "
            "CUDA driver, and\nLAUNCHJIT_DRIVER does not name one, the demo "
            "takes the recording driver, says\nso, and checks what was "
            "recorded.\n\nIts object cache is a temporary one, so that every "
            "run shows the same."),
        All("all", cl::desc("Check every bundled kernel, through c and packed"),
            cl::sub(Sub), cl::cat(category())),
        Reload("reload", cl::ReallyHidden,
               cl::desc("Be the process that finds a launcher in the cache"),
               cl::sub(Sub), cl::cat(category())) {}

  Expected<int> run() override {
    if (Reload)
      return reload();
    // Every run is to show the same.
    setenv("LAUNCHJIT_CACHE", All ? "off" : "rw", /*overwrite=*/1);
    unsetenv("LAUNCHJIT_CACHE_PATH");
    Expected<DemoDriver> Driver = DemoDriver::open();
    if (!Driver)
      return Driver.takeError();
    if (!JSON && !Driver->Why.empty())
      outs()
          << "Nothing will run: the demo takes the recording driver, for the "
             "CUDA driver cannot\nbe opened ("
          << Driver->Why << ").\n\n";
    if (All)
      return demoAll(*Driver, JSON);
    Report R(JSON);
    if (Error E = showOne(*Driver, R))
      return E;
    R.finish();
    return ExitSuccess;
  }

private:
  static Error showOne(const DemoDriver &Driver, Report &R);
  static Expected<int> reload();

  cl::opt<bool> All;
  cl::opt<bool> Reload;
};

/// Makes the launcher and tells how.
Expected<LauncherPtr> showLauncher(const lj_signature &S, Report &R) {
  Stopwatch Watch;
  Expected<LauncherPtr> L =
      make<LauncherPtr>(lj_launcher_create, &S, LJ_ENTRY_C, nullptr);
  uint64_t Time = Watch.nanoseconds();
  if (!L)
    return L;
  auto Info = sized<lj_launcher_info>();
  if (Error E = check(lj_launcher_get_info(L->get(), &Info)))
    return E;
  R.fact("key", std::string(Info.key));
  R.fact("origin", lj_origin_name(Info.origin));
  R.fact("object_size", Info.object_size);
  R.step("launcher", Twine(lj_origin_name(Info.origin)) + ", key " + Info.key,
         Time, true);
  if (Info.origin == LJ_ORIGIN_INTERPRETED)
    return L;

  Buffer IR;
  if (Error E = check(lj_stub_emit(&S, LJ_ENTRY_C, nullptr, LJ_STUB_IR, &IR)))
    return E;
  R.fact("ir_size", IR.size);
  R.step("  compile",
         bytes(IR.size) + " of IR to an object of " + bytes(Info.object_size) +
             ", code generator loaded",
         Info.compile_ns);
  R.step("  link", bytes(Info.code_size) + " of executable memory",
         Info.link_ns);
  return L;
}

/// What the recording driver kept of the last launch, decoded.
Error showRecorded(const Ready &Add, Report &R) {
  Expected<RecordedPtr> Recorded = make<RecordedPtr>(lj_driver_take_recorded);
  if (!Recorded)
    return Recorded.takeError();
  size_t Count = lj_recorded_count(Recorded->get());
  if (Count != 1)
    return failure(Twine(Count) + " launches were recorded, not 1");
  auto L = sized<lj_recorded_launch>();
  if (Error E = check(lj_recorded_get(Recorded->get(), 0, &L)))
    return E;

  R.step("recorded", str(L.kernel) + Twine("<<<") + dimensions(L.grid) + ", " +
                         dimensions(L.block) + ", " + Twine(L.shared) +
                         ", stream 0x" + Twine::utohexstr(L.stream) +
                         ">>> on device " + Twine(L.device));
  json::Array Attributes, Parameters;
  for (const lj_attribute &A : ArrayRef(L.attributes, L.num_attributes)) {
    R.line("               " + describe(A));
    Attributes.push_back(describe(A));
  }
  Table T{Table::Left, Table::Left, Table::Left, Table::Left};
  for (size_t I = 0; I != L.num_parameters; ++I) {
    auto P = sized<lj_parameter>();
    if (Error E = check(lj_signature_parameter(Add.Signature.get(), I, &P)))
      return E;
    StringRef Bytes = str(L.parameters[I]);
    std::string Value = decoded(str(P.type), Bytes);
    T.row({str(P.name).str(), str(P.type).str(), "= " + Value,
           "from bytes " + toHex(Bytes, /*LowerCase=*/true)});
    Parameters.push_back(json::Object{{"name", str(P.name).str()},
                                      {"type", str(P.type).str()},
                                      {"value", Value},
                                      {"bytes", toHex(Bytes, true)}});
  }
  if (!R.JSON)
    T.print(outs(), /*Heading=*/false, /*Indent=*/15);
  R.fact(
      "recorded",
      json::Object{{"kernel", str(L.kernel).str()},
                   {"grid", json::Array{L.grid[0], L.grid[1], L.grid[2]}},
                   {"block", json::Array{L.block[0], L.block[1], L.block[2]}},
                   {"shared", L.shared},
                   {"stream", L.stream},
                   {"device", L.device},
                   {"attributes", std::move(Attributes)},
                   {"parameters", std::move(Parameters)}});
  return Error::success();
}

/// Makes a kernel and finds its entry point; \p Time is what that took.
Expected<Entry> makeKernel(lj_module &Module, Ready &Add, uint64_t &Time) {
  lj_kernel_options Options = Add.T.options();
  Stopwatch Watch;
  Expected<KernelPtr> Kernel =
      make<KernelPtr>(lj_module_get_kernel, &Module, Add.Bundled->Name,
                      Add.Signature.get(), &Options);
  if (!Kernel)
    return Kernel.takeError();
  Entry Function = nullptr;
  if (Error E = check(lj_kernel_entry(Kernel->get(), LJ_ENTRY_C, &Function)))
    return E;
  Time = Watch.nanoseconds();
  Add.Kernel = std::move(*Kernel);
  return Function;
}

/// A kernel with other names, pointers and block: data only.
Error showReuse(lj_module &Module, Ready &Add, Entry First,
                const DemoDriver &Driver, Report &R) {
  constexpr StringLiteral Text = "x: *i32, y: *i32, z: *i32, count: i32";
  Expected<SignaturePtr> S =
      parseSignature(Text, sized<lj_signature_options>());
  if (!S)
    return S.takeError();
  Add.Kernel.reset();
  Add.Signature = std::move(*S);
  Add.T.Block[0] *= 2;
  Add.T.Grid[0] = (Add.T.Grid[0] + 1) / 2;
  uint64_t Time = 0;
  Expected<Entry> Function = makeKernel(Module, Add, Time);
  if (!Function)
    return Function.takeError();

  R.line();
  R.step("another kernel", Text + ", block " + Twine(Add.T.Block[0]), Time,
         true);
  R.fact("same_code", *Function == First);
  R.step("  launcher",
         *Function == First
             ? "the same code: nothing was compiled, linked or looked up"
             : "an own one");

  if (Error E = Add.launchAndCheck(LJ_ENTRY_C, *Function, Driver))
    return E;
  R.step("  result", checkedText(Add, Driver));
  return Error::success();
}

/// What the other process has to do, and tells.
Expected<int> Demo::reload() {
  Expected<SignaturePtr> S = parseSignature(
      bundledKernels().front().Signature(), sized<lj_signature_options>());
  if (!S)
    return S.takeError();
  Stopwatch Watch;
  Expected<LauncherPtr> L =
      make<LauncherPtr>(lj_launcher_create, S->get(), LJ_ENTRY_C, nullptr);
  uint64_t Time = Watch.nanoseconds();
  if (!L)
    return L.takeError();
  auto Info = sized<lj_launcher_info>();
  if (Error E = check(lj_launcher_get_info(L->get(), &Info)))
    return E;
  printJSON([&](JSONStream &J) {
    J.attribute("origin", lj_origin_name(Info.origin));
    J.attribute("key", Info.key);
    J.attribute("ns", Time);
    J.attribute("link_ns", Info.link_ns);
  });
  return ExitSuccess;
}

/// The same launcher in another process, which finds it on the disk.
Error showReload(Report &R) {
  SmallString<128> Output;
  if (std::error_code EC =
          sys::fs::createTemporaryFile("launchjit", "json", Output))
    return failure("cannot make a temporary file: " + EC.message());
  FileRemover Remove(Output);
  std::string Self = sys::fs::getMainExecutable(nullptr, nullptr);
  std::optional<StringRef> Redirects[] = {std::nullopt, Output.str(),
                                          std::nullopt};
  std::string Problem;
  Stopwatch Watch;
  int Status = sys::ExecuteAndWait(Self, {Self, "demo", "--reload"},
                                   std::nullopt, Redirects, 0, 0, &Problem);
  uint64_t Time = Watch.nanoseconds();
  auto Text = MemoryBuffer::getFile(Output);
  if (Status || !Text)
    return failure("the second process failed: " + Problem);
  Expected<json::Value> Value = json::parse((*Text)->getBuffer());
  if (!Value)
    return Value.takeError();
  const json::Object &Told = *Value->getAsObject();
  StringRef Origin = Told.getString("origin").value_or("");
  R.step("second process", "start to end, with the library's loading", Time);
  R.step("  launcher",
         Twine(Origin == "cache" ? "from the " : "") + Origin + ", key " +
             Told.getString("key").value_or(""),
         Told.getInteger("ns").value_or(0));
  R.fact("reload", std::move(*Value));
  return Error::success();
}

/// Makes the launcher, and loads it in another process from a cache of the
/// demo's own.
Expected<LauncherPtr> showCachedLauncher(const lj_signature &S, Report &R) {
  SmallString<128> Cache;
  if (std::error_code EC = sys::fs::createUniqueDirectory("launchjit", Cache))
    return failure("cannot make a folder for the cache in the temporary "
                   "folder ($TMPDIR): " +
                   EC.message());
  setenv("LAUNCHJIT_CACHE_DIR", Cache.c_str(), /*overwrite=*/1);
  Expected<LauncherPtr> L = showLauncher(S, R);
  Error E = L ? showReload(R) : L.takeError();
  if (std::error_code EC = sys::fs::remove_directories(Cache))
    errs() << "launchjit: warning: cannot remove " << Cache << ": "
           << EC.message() << '\n';
  if (E)
    return std::move(E);
  return L;
}

Error Demo::showOne(const DemoDriver &Driver, Report &R) {
  R.fact("driver", Driver.json());
  R.step("driver", Driver.describe());

  Ready Add{&bundledKernels().front(), nullptr, nullptr, {}};
  std::string Text = Add.Bundled->Signature();
  Stopwatch ParseWatch;
  Expected<SignaturePtr> S =
      parseSignature(Text, sized<lj_signature_options>());
  uint64_t Time = ParseWatch.nanoseconds();
  if (!S)
    return S.takeError();
  Add.Signature = std::move(*S);
  R.step("signature", Text, Time, true);
  R.step("  ABI", Add.abi() + ", " +
                      bytes(lj_signature_size(Add.Signature.get())) +
                      " of parameters");
  R.fact("signature", Text);
  R.fact("abi", Add.abi().str());

  Expected<LauncherPtr> Launcher = showCachedLauncher(*Add.Signature, R);
  if (!Launcher)
    return Launcher.takeError();

  Stopwatch ModuleWatch;
  Expected<ModulePtr> Module = loadBundledModule();
  Time = ModuleWatch.nanoseconds();
  if (!Module)
    return Module.takeError();
  R.step("binary",
         bytes(bundledPTX().size()) + " of PTX for sm_" +
             Twine(lj_module_arch(Module->get())) + ", " +
             Twine(lj_module_num_kernels(Module->get())) + " kernels",
         Time, true);

  if (Error E = Add.Bundled->Prepare(Add.T, Module->get()))
    return E;
  Expected<Entry> Function = makeKernel(**Module, Add, Time);
  if (!Function)
    return Function.takeError();
  R.fact("kernel", Add.Bundled->Name);
  R.step("kernel",
         Twine(Add.Bundled->Name) + ", block " + Twine(Add.T.Block[0]) +
             ": the signature fits the binary",
         Time, true);

  Stopwatch LoadWatch;
  if (Error E = check(lj_kernel_load(Add.Kernel.get(), 0)))
    return E;
  R.step("load", "by the driver, on device 0", LoadWatch.nanoseconds());

  if (Error E = Add.T.clearOutputs())
    return E;
  Stopwatch LaunchWatch;
  int Status = Add.call(LJ_ENTRY_C, *Function);
  Time = LaunchWatch.nanoseconds();
  if (Error E = checkStatus(Status))
    return E;
  R.step("first launch", "the driver's part included", Time);
  if (Driver.Kind == DemoDriver::Recording)
    if (Error E = showRecorded(Add, R))
      return E;

  Expected<uint64_t> Median = Add.timeLaunches(LJ_ENTRY_C, *Function, Driver);
  if (!Median)
    return Median.takeError();
  R.step("launch", "median of 1,000, the driver's part included", *Median);
  if (Error E = Add.launchAndCheck(LJ_ENTRY_C, *Function, Driver))
    return E;
  R.step("result", checkedText(Add, Driver));
  R.fact("checked", checkedText(Add, Driver));

  if (Error E = showReuse(**Module, Add, *Function, Driver, R))
    return E;
  R.line();
  R.line("launchjit's own part took " + duration(R.total()) +
         ". Kernels of one process share launchers, and\nlater processes load "
         "them from the object cache (launchjit cache --help).");
  R.fact("ok", true);
  return Error::success();
}

} // namespace

CommandPtr launchjit::tool::makeDemo() { return std::make_unique<Demo>(); }
