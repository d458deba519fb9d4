//===- Replay.cpp - launchjit replay --------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace launchjit::tool;

namespace {

using ReplayPtr = std::unique_ptr<lj_replay, Deleter<lj_replay_delete>>;

class ReplayCommand final : public Command {
public:
  ReplayCommand()
      : Command("replay", "Repeat launches that were saved",
                "Repeats the launches that a program saved with "
                "LAUNCHJIT_DEBUG=dump=DIR: all in\nDIR in order, up to the "
                "first that fails, or the one of a folder in it. Tells how\n"
                "long each took and which buffers it changed.\n\nTo step "
                "through a kernel: cuda-gdb --args launchjit replay DIR, or\n"
                "compute-sanitizer launchjit replay DIR."),
        Where(cl::Positional, cl::Required, cl::desc("<folder>"), cl::sub(Sub),
              cl::cat(category())),
        Device("device", cl::init(-1), cl::value_desc("n"),
               cl::desc("The device, instead of the one that it ran on"),
               cl::sub(Sub), cl::cat(category())),
        Times("times", cl::init(1), cl::value_desc("n"),
              cl::desc("Launch so often, the buffers filled anew each time"),
              cl::sub(Sub), cl::cat(category())),
        Compare("compare",
                cl::desc("Launch twice or more, and fail if the buffers differ "
                         "afterwards"),
                cl::sub(Sub), cl::cat(category())),
        Output("output", cl::value_desc("folder"),
               cl::desc("Write the buffers after the launch there"),
               cl::sub(Sub), cl::cat(category())),
        List("list", cl::desc("Only list the launches"), cl::sub(Sub),
             cl::cat(category())),
        Force("force",
              cl::desc("Launch although a buffer was not saved, or an address "
                       "cannot be replaced"),
              cl::sub(Sub), cl::cat(category())) {}

  Expected<int> run() override {
    if (Times < 1)
      return usageError("--times is " + Twine(Times) + "; it is 1 or more");
    auto Folders = launches();
    if (!Folders)
      return Folders.takeError();
    Table T{Table::Left,  Table::Left,  Table::Left, Table::Left,
            Table::Right, Table::Right, Table::Left};
    T.row({"launch", "kernel", "grid", "block", "buffers", "bytes", "time"});
    json::Array All;
    Error Failed = Error::success();
    for (const std::string &Folder : *Folders) {
      json::Object Told;
      Told["launch"] = json::fixUTF8(sys::path::filename(Folder));
      Failed = List ? list(Folder, T, Told) : replay(Folder, Told);
      if (Failed)
        break;
      All.push_back(std::move(Told));
    }
    if (JSON)
      printJSON([&](JSONStream &J) {
        J.attribute("launches", json::Value(std::move(All)));
      });
    else if (List && !Failed)
      T.print(outs(), /*Heading=*/true);
    if (Failed)
      return std::move(Failed);
    return ExitSuccess;
  }

private:
  /// The folders of all launches, in order.
  Expected<std::vector<std::string>> launches() const {
    StringRef Dir = StringRef(Where).rtrim('/');
    if (Dir.empty())
      Dir = Where;
    if (sys::fs::exists(Dir + "/launch.json"))
      return std::vector<std::string>{Dir.str()};
    std::vector<std::string> Found;
    std::error_code EC;
    for (sys::fs::directory_iterator I(Dir, EC), End; I != End && !EC;
         I.increment(EC))
      if (!sys::path::filename(I->path()).starts_with(".") &&
          sys::fs::exists(I->path() + "/launch.json"))
        Found.push_back(I->path());
    if (EC)
      return failure("cannot read '" + Dir + "': " + EC.message());
    if (Found.empty())
      return failure("'" + Dir +
                     "' has no launch that was saved; "
                     "LAUNCHJIT_DEBUG=dump=DIR saves them");
    llvm::sort(Found);
    return Found;
  }

  static std::string dimensions(const json::Object &O, StringRef Name) {
    std::string Text;
    for (const json::Value &V : *O.getArray(Name))
      Text += (Text.empty() ? "" : " x ") +
              std::to_string(V.getAsInteger().value_or(0));
    return Text;
  }

  static Error list(const std::string &Folder, Table &T, json::Object &Told) {
    auto R = make<ReplayPtr>(lj_replay_open, Folder.c_str());
    if (!R)
      return R.takeError();
    auto Value = json::parse(str(lj_replay_json(R->get())));
    if (!Value)
      return Value.takeError();
    const json::Object &O = *Value->getAsObject(); // the library checked it
    uint64_t Bytes = 0;
    size_t Count = lj_replay_num_buffers(R->get());
    for (size_t I = 0; I != Count; ++I) {
      auto B = sized<lj_replay_buffer>();
      if (Error E = check(lj_replay_get_buffer(R->get(), I, &B)))
        return E;
      Bytes += B.size;
    }
    T.row({sys::path::filename(Folder).str(), O.getString("kernel")->str(),
           dimensions(O, "grid"), dimensions(O, "block"), grouped(Count),
           grouped(Bytes), O.getString("time").value_or("").str()});
    Told["saved"] = std::move(*Value);
    return Error::success();
  }

  Error replay(const std::string &Folder, json::Object &Told) const {
    StringRef Name = sys::path::filename(Folder);
    auto R = make<ReplayPtr>(lj_replay_open, Folder.c_str());
    if (!R)
      return R.takeError();
    StringRef Notes = str(lj_replay_notes(R->get()));
    if (!Notes.empty())
      errs() << Notes;
    auto Options = sized<lj_replay_options>();
    Options.device = Device;
    Options.force = Force;
    size_t Count = lj_replay_num_buffers(R->get());
    std::vector<lj_replay_buffer> Buffers(Count, sized<lj_replay_buffer>());
    std::vector<std::string> First(Count);
    uint64_t Best = UINT64_MAX;
    json::Array Runs;
    for (int I = 0, N = Compare ? std::max<int>(Times, 2) : Times; I != N;
         ++I) {
      uint64_t Time = 0;
      if (Error E = check(lj_replay_run(R->get(), &Options, &Time)))
        return failure(Name + ": " + toString(std::move(E)));
      Best = std::min(Best, Time);
      Runs.push_back(Time);
      for (size_t B = 0; B != Count; ++B) {
        if (Error E = check(lj_replay_get_buffer(R->get(), B, &Buffers[B])))
          return E;
        if (!Compare || !Buffers[B].contents)
          continue;
        StringRef Now(Buffers[B].contents, Buffers[B].size);
        if (I == 0)
          First[B] = Now.str();
        else if (Now != First[B])
          return failure(Name + ": " + str(Buffers[B].file) + " after launch " +
                         Twine(I + 1) + " is not as after the first");
      }
    }
    if (Error E = write(Name, Buffers))
      return E;
    if (!JSON)
      outs() << Name << ": " << duration(Best)
             << (Runs.size() > 1 ? ", the fastest of " + grouped(Runs.size())
                                 : "")
             << '\n';
    Table T{Table::Left, Table::Right, Table::Left};
    json::Array Changes;
    for (const lj_replay_buffer &B : Buffers) {
      std::string File =
          B.contents ? str(B.file).str() : std::string("(not saved)");
      T.row({File, bytes(B.size),
             !B.contents ? ""
             : !B.bytes_changed
                 ? "unchanged"
                 : bytes(B.bytes_changed) + " changed, the first at " +
                       grouped(B.first_changed)});
      json::Object Each{{"file", str(B.file).str()},
                        {"address", B.address},
                        {"size", B.size},
                        {"bytes_changed", B.bytes_changed}};
      if (B.bytes_changed)
        Each["first_changed"] = B.first_changed;
      Changes.push_back(std::move(Each));
    }
    if (!JSON)
      T.print(outs(), /*Heading=*/false, /*Indent=*/2);
    Told["ns"] = std::move(Runs);
    Told["buffers"] = std::move(Changes);
    return Error::success();
  }

  Error write(StringRef Name, ArrayRef<lj_replay_buffer> Buffers) const {
    if (Output.empty())
      return Error::success();
    std::string Folder = (Output + "/" + Name).str();
    if (std::error_code EC = sys::fs::create_directories(Folder))
      return failure("cannot make '" + Folder + "': " + EC.message());
    for (const lj_replay_buffer &B : Buffers)
      if (B.contents)
        if (Error E = writeFile(Folder + "/" + str(B.file).str(),
                                {B.contents, size_t(B.size)}))
          return E;
    return Error::success();
  }

  cl::opt<std::string> Where;
  cl::opt<int> Device, Times;
  cl::opt<bool> Compare;
  cl::opt<std::string> Output;
  cl::opt<bool> List, Force;
};

} // namespace

CommandPtr launchjit::tool::makeReplay() {
  return std::make_unique<ReplayCommand>();
}
