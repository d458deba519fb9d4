//===- Doctor.cpp - launchjit doctor --------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

using namespace llvm;
using namespace launchjit::tool;

namespace {

/// CUdevice_attribute of cuda.h.
enum DeviceAttribute {
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97
};

enum class State { Ok, Note, Problem };

struct Finding {
  std::string Name;
  State S;
  std::string Text;
  std::string Advice; ///< What to do; empty where there is nothing to do.
};

struct Device {
  std::string Name;
  int Major = 0, Minor = 0, Multiprocessors = 0, Shared = 0;
};

struct Variable {
  const char *Name, *Default, *Help;
  const char *Value; ///< Null where it is unset.
};

class Doctor final : public Command {
public:
  Doctor()
      : Command(
            "doctor", "Look at this machine and say what to do",
            "Looks at the library, at whether launchers can be made and run "
            "here, at the\nobject cache, the CUDA driver and its devices, and "
            "at the environment variables\nin force. Nothing is changed.\n\n"
            "Exit status: 1 if something that this machine has, or that a "
            "LAUNCHJIT_...\nvariable asks for, does not work; 0 otherwise. A "
            "machine without an NVIDIA GPU\nis told so and is no problem, for "
            "launchers can be made there all the same.") {}

  Expected<int> run() override {
    lj_set_log_sink(keepLog, this);
    readEnvironment();
    checkLibrary();
    checkLauncher();
    checkCache();
    checkDriver();
    checkVariables();
    lj_set_log_sink(nullptr, nullptr);
    for (const std::string &Message : Logged)
      find("log", State::Note, Message);

    bool Ok = none_of(Findings,
                      [](const Finding &F) { return F.S == State::Problem; });
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J, Ok); });
    else
      writeText(Ok);
    return Ok ? ExitSuccess : ExitFailure;
  }

private:
  static void keepLog(void *Self, int, const char *, const char *Message) {
    auto *D = static_cast<Doctor *>(Self);
    std::lock_guard<std::mutex> Guard(D->LogLock);
    D->Logged.push_back(Message);
  }

  void find(StringRef Name, State S, const Twine &Text,
            const Twine &Advice = "") {
    Findings.push_back({Name.str(), S, Text.str(), Advice.str()});
  }

  void readEnvironment() {
    for (size_t I = 0, N = lj_num_environment_variables(); I != N; ++I) {
      Variable V{};
      if (ErrorPtr E{lj_environment_variable(I, &V.Name, &V.Default, &V.Help)})
        continue;
      V.Value = std::getenv(V.Name);
      if (V.Value && !*V.Value)
        V.Value = nullptr;
      Variables.push_back(V);
    }
  }

  StringRef value(StringRef Name) const {
    for (const Variable &V : Variables)
      if (Name == V.Name)
        return V.Value ? V.Value : "";
    return "";
  }

  void checkLibrary() {
    Dl_info Info{};
    if (dladdr(reinterpret_cast<void *>(lj_version), &Info) && Info.dli_fname)
      LibraryPath = Info.dli_fname;
    SmallString<128> Real;
    if (!sys::fs::real_path(LibraryPath, Real))
      LibraryPath = Real.str().str();
    std::string Text = (Twine("launchjit ") + lj_version() + ", C interface " +
                        Twine(lj_abi_version()) + ", LLVM " +
                        lj_llvm_version() + ", " + LibraryPath)
                           .str();
    if (lj_abi_version() < LJ_ABI_VERSION)
      find("library", State::Problem, Text,
           "this tool needs C interface " + Twine(LJ_ABI_VERSION) +
               ": make the loader find the library that came with it (see "
               "LD_LIBRARY_PATH)");
    else
      find("library", State::Ok, Text);
  }

  void checkLauncher() {
    if (value("LAUNCHJIT_JIT") == "off")
      find("generated code", State::Note,
           "LAUNCHJIT_JIT=off: launchers are interpreted",
           "unset LAUNCHJIT_JIT for faster launches");
    else if (ErrorPtr E{lj_jit_check()})
      find("generated code", State::Problem, lj_error_message(E.get()),
           lj_error_status(E.get()) == LJ_ERROR_UNSUPPORTED
               ? "allow this process executable memory (seccomp, SELinux "
                 "deny_execmem); until then launchers are interpreted"
               : "");
    else
      find("generated code", State::Ok, "can run in this process");

    auto Options = sized<lj_signature_options>();
    Expected<SignaturePtr> S = parseSignature("*fp32, *fp32, i32", Options);
    if (!S)
      return find("code generator", State::Problem, toString(S.takeError()));

    Buffer Object;
    if (ErrorPtr E{lj_stub_emit(S->get(), LJ_ENTRY_C, nullptr, LJ_STUB_OBJECT,
                                &Object)})
      find("code generator", State::Problem, lj_error_message(E.get()),
           "install liblaunchjit-codegen.so of the same build beside "
           "liblaunchjit.so; until then launchers are interpreted");
    else
      find("code generator", State::Ok,
           "makes a launcher of " + bytes(Object.size));

    // It is to be made here and now, and to leave nothing behind.
    auto Nowhere = sized<lj_cache_store>();
    Nowhere.get = [](void *, const char *, lj_cache_receive, void *) {};
    lj_error_delete(lj_set_cache_store(&Nowhere));
    Expected<LauncherPtr> L =
        make<LauncherPtr>(lj_launcher_create, S->get(), LJ_ENTRY_C, nullptr);
    auto Info = sized<lj_launcher_info>();
    Error E = L ? check(lj_launcher_get_info(L->get(), &Info)) : L.takeError();
    if (E)
      find("launcher", State::Problem, toString(std::move(E)));
    else
      find("launcher", State::Ok,
           Twine(lj_origin_name(Info.origin)) +
               (Info.origin == LJ_ORIGIN_COMPILED
                    ? " in " + duration(Info.compile_ns) + ", linked in " +
                          duration(Info.link_ns)
                    : std::string()));
  }

  void checkCache() {
    Expected<CacheView> V = CacheView::read();
    if (!V)
      return find("cache", State::Problem, toString(V.takeError()));
    if (V->Info.mode == LJ_CACHE_OFF)
      return find("cache", State::Note,
                  "off: each process compiles its launchers anew",
                  "unset LAUNCHJIT_CACHE");
    for (const CacheFolder &F : V->Folders)
      checkCacheFolder(*V, F);
    if (!V->Info.directory.size)
      find("cache", State::Note, "none: " + V->whyNone(),
           "set LAUNCHJIT_CACHE_DIR to a folder of the user's own");
  }

  void checkCacheFolder(const CacheView &V, const CacheFolder &F) {
    StringRef Name = F.Own ? "cache" : "cache layer";
    bool Asked = !value("LAUNCHJIT_CACHE_DIR").empty();
    bool Exists = sys::fs::exists(F.Path);
    if (!F.Problem.empty())
      return find(Name, State::Problem, F.Problem,
                  F.Own ? "until that is mended each process compiles its "
                          "launchers anew; LAUNCHJIT_CACHE_DIR may name "
                          "another place"
                        : "mend that, or take it out of LAUNCHJIT_CACHE_PATH");
    if (!F.Own && !Exists)
      return find(Name, State::Problem, "there is no folder " + F.Path,
                  "make it with launchjit cache bundle, or take it out of "
                  "LAUNCHJIT_CACHE_PATH");
    if (size_t Damaged = F.countDamaged())
      return find(Name, State::Problem,
                  F.Path + ": " + Twine(Damaged) + " of " +
                      count(F.Files.size(), "entry", "entries") +
                      " cannot be used",
                  "launchjit cache verify says why");

    // What the folder will be made in, if it does not exist yet.
    StringRef Place = F.Path;
    while (!sys::fs::exists(Place))
      Place = sys::path::parent_path(Place);
    if (F.Own && V.Info.mode == LJ_CACHE_READ_WRITE &&
        access(Place.str().c_str(), W_OK | X_OK))
      return find(Name, Asked ? State::Problem : State::Note,
                  F.Path + " cannot be written: " + Place + ": " +
                      sys::StrError(),
                  "make it writable, set LAUNCHJIT_CACHE_DIR to another place, "
                  "or LAUNCHJIT_CACHE=ro");
    std::string Text = (V.mode() + Twine(", ") + F.Path).str();
    if (!F.Own)
      Text = F.Path;
    if (!Exists)
      return find(Name, State::Ok,
                  Text + (V.Info.mode == LJ_CACHE_READ_WRITE
                              ? ": will be made"
                              : ": does not exist"));
    Text += ": " + count(F.Files.size(), "entry", "entries") + ", " +
            bytes(totalBytes(F.Files));
    if (F.Own)
      Text += " of at most " + grouped(V.Info.max_bytes);
    find(Name, State::Ok, Text);
  }

  /// Whether there is something for an NVIDIA driver to drive: a PC's, WSL's
  /// or Tegra's device file.
  static bool hasGPU() {
    return sys::fs::exists("/dev/nvidiactl") || sys::fs::exists("/dev/dxg") ||
           sys::fs::exists("/dev/nvmap");
  }

  void checkDriver() {
    Driver = sized<lj_driver_info>();
    if (ErrorPtr E{lj_driver_get_info(&Driver)}) {
      Driver.kind = nullptr;
      DriverError = lj_error_message(E.get());
      bool Asked = !value("LAUNCHJIT_DRIVER").empty() ||
                   !value("LAUNCHJIT_LIBCUDA").empty();
      if (Asked || hasGPU())
        find("driver", State::Problem, DriverError);
      else
        find("driver", State::Note,
             "none, and no NVIDIA GPU: launchers can be made here, not run (" +
                 DriverError + ")");
      return;
    }
    std::string Text = Driver.kind;
    if (Driver.version)
      Text += ", CUDA " + std::to_string(Driver.version / 1000) + "." +
              std::to_string(Driver.version % 1000 / 10);
    if (Driver.path.size)
      Text += ", " + str(Driver.path).str();
    if (StringRef(Driver.kind) == "cuda")
      find("driver", State::Ok, Text);
    else
      find("driver", State::Note, Text + ": nothing runs",
           "unset LAUNCHJIT_DRIVER to launch on a GPU");

    for (int I = 0; I < Driver.num_devices; ++I)
      checkDevice(I);
    if (Driver.num_devices == 0)
      find("devices", State::Problem, "the driver has none",
           "see CUDA_VISIBLE_DEVICES, and what nvidia-smi says");
  }

  void checkDevice(int Index) {
    std::string Label = "device " + std::to_string(Index);
    Device D;
    Buffer Name;
    Error E = check(lj_driver_device_name(Index, &Name));
    auto Get = [&](DeviceAttribute A, int &Value) {
      if (!E)
        E = check(lj_driver_device_attribute(Index, A, &Value));
    };
    Get(ComputeCapabilityMajor, D.Major);
    Get(ComputeCapabilityMinor, D.Minor);
    Get(MultiprocessorCount, D.Multiprocessors);
    Get(MaxSharedMemoryPerBlockOptin, D.Shared);
    if (E)
      return find(Label, State::Problem, toString(std::move(E)));
    D.Name = Name.str().str();
    find(Label, State::Ok,
         D.Name + ", sm_" + Twine(D.Major) + Twine(D.Minor) + ", " +
             grouped(D.Multiprocessors) + " multiprocessors, up to " +
             bytes(D.Shared) + " of shared memory a block");
    Devices.push_back(std::move(D));
  }

  void checkVariables() {
    for (char **Entry = environ; *Entry; ++Entry) {
      StringRef Name = StringRef(*Entry).split('=').first;
      // LAUNCHJIT_LIBRARY is the Python package's.
      if (!Name.starts_with("LAUNCHJIT_") || Name == "LAUNCHJIT_LIBRARY" ||
          any_of(Variables, [&](const Variable &V) { return Name == V.Name; }))
        continue;
      const Variable *Nearest = nullptr;
      unsigned Best = 4;
      for (const Variable &V : Variables)
        if (unsigned D = Name.edit_distance(V.Name, true, Best); D < Best) {
          Nearest = &V;
          Best = D;
        }
      find("environment", State::Note,
           Name + " is set, and the library does not read it",
           Nearest ? Twine("is ") + Nearest->Name + " meant?" : Twine());
    }
  }

  void writeText(bool Ok) const {
    for (const Finding &F : Findings) {
      auto [Word, Color] =
          F.S == State::Ok     ? std::pair("ok", raw_ostream::GREEN)
          : F.S == State::Note ? std::pair("note", raw_ostream::YELLOW)
                               : std::pair("problem", raw_ostream::RED);
      outs() << padded(F.Name, 16);
      WithColor(outs(), Color) << padded(Word, 9);
      outs() << F.Text << '\n';
      if (!F.Advice.empty())
        outs() << std::string(25, ' ') << "-> " << F.Advice << '\n';
    }

    Table T{Table::Left, Table::Left, Table::Left};
    T.row({"variable", "in force", "meaning"});
    for (const Variable &V : Variables)
      T.row({V.Name,
             V.Value ? std::string(V.Value)
                     : (Twine(V.Default) + " (default)").str(),
             V.Help});
    outs() << '\n';
    T.print(outs(), /*Heading=*/true);
    outs() << '\n'
           << (Ok ? "Everything that is here works.\n"
                  : "Something does not work: see the problems above.\n");
  }

  void writeJSON(JSONStream &J, bool Ok) const {
    J.attribute("ok", Ok);
    J.attributeObject("versions", [&] {
      J.attribute("library", lj_version());
      J.attribute("abi", lj_abi_version());
      J.attribute("llvm", lj_llvm_version());
      J.attribute("path", LibraryPath);
    });
    J.attributeArray("checks", [&] {
      for (const Finding &F : Findings)
        J.object([&] {
          J.attribute("name", F.Name);
          J.attribute("state", F.S == State::Ok     ? "ok"
                               : F.S == State::Note ? "note"
                                                    : "problem");
          J.attribute("text", json::fixUTF8(F.Text));
          J.attribute("advice", F.Advice);
        });
    });
    J.attributeObject("driver", [&] {
      J.attribute("kind", Driver.kind ? json::Value(Driver.kind) : nullptr);
      J.attribute("path", json::fixUTF8(str(Driver.path)));
      J.attribute("version", Driver.version);
      J.attribute("error", json::fixUTF8(DriverError));
    });
    J.attributeArray("devices", [&] {
      for (const Device &D : Devices)
        J.object([&] {
          J.attribute("name", json::fixUTF8(D.Name));
          J.attribute("arch", D.Major * 10 + D.Minor);
          J.attribute("multiprocessors", D.Multiprocessors);
          J.attribute("max_shared", D.Shared);
        });
    });
    J.attributeArray("environment", [&] {
      for (const Variable &V : Variables)
        J.object([&] {
          J.attribute("name", V.Name);
          J.attribute("value",
                      V.Value ? json::Value(json::fixUTF8(V.Value)) : nullptr);
          J.attribute("default", V.Default);
          J.attribute("help", V.Help);
        });
    });
  }

  std::mutex LogLock;
  std::vector<std::string> Logged;
  std::vector<Finding> Findings;
  std::vector<Variable> Variables;
  std::string LibraryPath;
  lj_driver_info Driver{};
  std::string DriverError;
  std::vector<Device> Devices;
};

} // namespace

CommandPtr launchjit::tool::makeDoctor() { return std::make_unique<Doctor>(); }
