//===- CacheBundle.cpp - launchjit cache bundle ---------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit::tool;

static Error systemError(const Twine &What, int Number = errno) {
  return failure(What + ": " + std::strerror(Number));
}

namespace {

class CacheBundle final : public Command {
public:
  CacheBundle()
      : Command(
            "cache bundle", "Make a read-only cache of what a program uses",
            "Runs a program with an empty cache in a new folder, and keeps "
            "what it stored there:\nexactly the launchers that it used. An "
            "image or a package ships the folder, and sets\n"
            "LAUNCHJIT_CACHE_PATH to its place; any user's process then loads "
            "from it what it\nneeds. If the program fails, nothing is kept.\n\n"
            "With --json the program's standard output goes to the standard "
            "error.",
            /*TakesProgram=*/true),
        Folder(cl::Positional, cl::Required,
               cl::desc("<folder> -- <program> [<argument>...]"), cl::sub(Sub),
               cl::cat(category())) {}

  Expected<int> run() override {
    if (Program.empty())
      return usageError("bundle needs a program: launchjit cache bundle "
                        "FOLDER -- PROGRAM [ARGUMENT...]");
    if (StringRef(Folder).empty())
      return usageError("bundle needs the name of a folder");
    // LAUNCHJIT_CACHE_PATH could not name it.
    if (StringRef(Folder).contains(':'))
      return usageError("a bundle's folder has no colon in its name");
    if (Error E = prepare())
      return E;
    Error E = runProgram();
    if (!E)
      E = finish();
    if (!E)
      return ExitSuccess;
    discard();
    return std::move(E);
  }

private:
  Error prepare() {
    SmallString<128> Absolute = StringRef(Folder);
    if (std::error_code EC = sys::fs::make_absolute(Absolute))
      return failure("the current folder is unknown: " + EC.message());
    sys::path::remove_dots(Absolute); // a slash at the end, too
    Directory = Absolute.str().str();
    Made = mkdir(Directory.c_str(), S_IRWXU) == 0;
    if (!Made && errno != EEXIST)
      return systemError("cannot make the folder " + Directory);
    if (Error E = Made ? Error::success() : checkEmpty())
      return E;
    if (chmod(Directory.c_str(), S_IRWXU))
      return systemError("cannot change the mode of " + Directory);

    // For the program, and for what this process asks the library.
    setenv("LAUNCHJIT_CACHE", "rw", /*overwrite=*/1);
    setenv("LAUNCHJIT_CACHE_DIR", Directory.c_str(), /*overwrite=*/1);
    setenv("LAUNCHJIT_CACHE_MAX_SIZE", std::to_string(UINT64_MAX).c_str(),
           /*overwrite=*/1);
    unsetenv("LAUNCHJIT_CACHE_PATH");
    return Error::success();
  }

  Error checkEmpty() {
    struct stat S;
    if (stat(Directory.c_str(), &S))
      return systemError("cannot examine " + Directory);
    FormerMode = S.st_mode & 07777;
    std::error_code EC;
    sys::fs::directory_iterator First(Directory, EC), End;
    if (EC)
      return failure("cannot read the folder " + Directory + ": " +
                     EC.message());
    if (First != End)
      return failure(Directory + " is not empty; a bundle is made in a new or "
                                 "empty folder");
    return Error::success();
  }

  /// Waits for the program, and hands on to it what a supervisor tells us. The
  /// signals stay blocked afterwards, so that no half of a bundle is left.
  Error runProgram() {
    sigset_t Handled, Former;
    sigemptyset(&Handled);
    for (int Signal : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP})
      sigaddset(&Handled, Signal);
    signal(SIGCHLD, SIG_DFL); // if it was ignored, there would be no status
    sigprocmask(SIG_BLOCK, &Handled, &Former);

    posix_spawnattr_t Attributes;
    posix_spawnattr_init(&Attributes);
    posix_spawnattr_setflags(&Attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&Attributes, &Former);
    posix_spawn_file_actions_t Actions;
    posix_spawn_file_actions_init(&Actions);
    if (JSON)
      posix_spawn_file_actions_adddup2(&Actions, STDERR_FILENO, STDOUT_FILENO);
    pid_t Child = 0;
    int Failed = posix_spawnp(&Child, Program.front(), &Actions, &Attributes,
                              Program.data(), environ);
    posix_spawn_file_actions_destroy(&Actions);
    posix_spawnattr_destroy(&Attributes);
    if (Failed)
      return systemError(Twine("cannot run ") + Program.front(), Failed);

    int Status = 0;
    while (waitpid(Child, &Status, WNOHANG) != Child) {
      int Signal = 0;
      sigwait(&Handled, &Signal);
      // The others come from the terminal, and reach the program without us.
      if (Signal == SIGTERM || Signal == SIGHUP)
        kill(Child, Signal);
    }
    std::string Kept = "; no bundle is kept";
    if (WIFSIGNALED(Status))
      return failure(Twine(Program.front()) + " was ended by signal " +
                     Twine(WTERMSIG(Status)) + " (" +
                     strsignal(WTERMSIG(Status)) + ")" + Kept);
    if (WEXITSTATUS(Status))
      return failure(Twine(Program.front()) + " ended with status " +
                     Twine(WEXITSTATUS(Status)) + Kept);
    return Error::success();
  }

  Error finish() {
    Expected<CacheView> V = CacheView::read();
    if (!V)
      return V.takeError();
    if (Error E = V->problems())
      return E;
    ArrayRef<lj_cache_file> Files = V->Folders.front().Files;
    if (Files.empty())
      return failure(Twine(Program.front()) +
                     " stored no launcher; does it use launchjit, and is "
                     "LAUNCHJIT_JIT not off?");
    for (const lj_cache_file &F : Files) {
      if (Expected<CacheEntryPtr> Entry = readEntry(F); !Entry)
        return Entry.takeError();
      if (chmod(str(F.path).str().c_str(), 0644))
        return systemError("cannot change the mode of " + str(F.path));
    }
    removeOwnFiles();
    if (chmod(Directory.c_str(), 0755))
      return systemError("cannot change the mode of " + Directory);

    uint64_t Bytes = totalBytes(Files);
    if (JSON)
      printJSON([&](JSONStream &J) {
        J.attribute("directory", json::fixUTF8(Directory));
        J.attribute("entries", Files.size());
        J.attribute("bytes", Bytes);
      });
    else
      writeText(Files.size(), Bytes);
    return Error::success();
  }

  void writeText(size_t Entries, uint64_t Bytes) const {
    outs() << count(Entries, "launcher", "launchers") << ", " << bytes(Bytes)
           << " in " << Directory
           << "\nTo use them, in any place to which the folder is copied:\n"
              "  LAUNCHJIT_CACHE_PATH="
           << Directory << '\n';
    if (geteuid())
      outs() << "For other users than this one the files must belong to root: "
                "chown -R root:root\n";
  }

  /// The lock and what was left unfinished.
  void removeOwnFiles() const {
    std::error_code EC;
    for (sys::fs::directory_iterator
             I(Directory, EC, /*follow_symlinks=*/false),
         End;
         !EC && I != End; I.increment(EC))
      if (StringRef Name = sys::path::filename(I->path());
          Name == ".lock" || Name.starts_with(".tmp-"))
        unlink(I->path().c_str());
  }

  /// Leaves things as they were.
  void discard() const {
    lj_error_delete(lj_cache_clear(/*dry_run=*/0, nullptr, nullptr));
    removeOwnFiles();
    if (Made)
      rmdir(Directory.c_str());
    else
      chmod(Directory.c_str(), FormerMode);
  }

  cl::opt<std::string> Folder;
  std::string Directory;
  bool Made = false;
  mode_t FormerMode = 0;
};

} // namespace

CommandPtr launchjit::tool::makeCacheBundle() {
  return std::make_unique<CacheBundle>();
}
