//===- Trace.cpp - A Chrome trace of builds and launches ------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Support/Trace.h"
#include "launchjit/Support/Environment.h"
#include "launchjit/Support/FileLimit.h"
#include "launchjit/Support/Fork.h"
#include "launchjit/Support/Log.h"
#include "llvm/Support/Format.h"
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

uint64_t launchjit::nowNs() {
  timespec T;
  clock_gettime(CLOCK_MONOTONIC, &T);
  return uint64_t(T.tv_sec) * 1000000000 + T.tv_nsec;
}

namespace {

/// All of it runs behind a ForkShield.
class TraceFile {
public:
  explicit TraceFile(std::string Pattern) : Pattern(std::move(Pattern)) {}

  void add(StringRef Category, StringRef Name, uint64_t BeginNs, uint64_t EndNs,
           function_ref<void(json::OStream &)> Arguments);
  void finish();

private:
  bool open();
  void flush();

  // What waits is written when it is so much, or so old that somebody who
  // follows the file would miss it.
  static constexpr size_t MaxWaiting = 64 << 10;
  static constexpr uint64_t MaxAgeNs = 500000000;

  const std::string Pattern;
  std::mutex Lock;
  const pid_t First = getpid();
  pid_t Owner = 0; ///< The process that the rest is of; 0 before the first.
  int FD = -1;
  bool Closed = false; ///< The end is written, or the file is no good.
  uint64_t LastFlush = 0;
  std::string Waiting;
};

} // namespace

bool TraceFile::open() {
  Owner = getpid();
  if (FD >= 0)
    close(FD); // the parent's
  std::string Number = std::to_string(Owner), Path = Pattern;
  size_t At = Path.find("%p");
  bool Own = At != std::string::npos;
  if (Own)
    Path.replace(At, 2, Number);
  else if (Owner != First)
    Path += "." + Number;
  // Whoever writes a trace holds its lock, so that a program which inherited
  // the variable does not overwrite it.
  auto Open = [&] {
    FD = ::open(Path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return FD >= 0 && flock(FD, LOCK_EX | LOCK_NB) == 0;
  };
  bool Opened = Open();
  if (!Opened && FD >= 0 && errno == EWOULDBLOCK && !Own && Owner == First) {
    close(FD);
    Path += "." + Number;
    Opened = Open();
  }
  if (!Opened || ftruncate(FD, 0)) {
    // A pipe or /dev/stdout cannot be cut, and need not be.
    if (FD < 0 || errno != EINVAL) {
      log(LogLevel::Warn, "trace",
          "LAUNCHJIT_TRACE: cannot write " + Path + ": " +
              std::strerror(errno));
      return false;
    }
  }
  Waiting = "[";
  LastFlush = nowNs();
  return true;
}

/// write(2) without the SIGPIPE of a pipe whose reader has left: a trace may
/// not end the program.
static ssize_t writeBytes(int FD, StringRef Bytes) {
  sigset_t Pipe, Pending, Old;
  sigemptyset(&Pipe);
  sigaddset(&Pipe, SIGPIPE);
  sigpending(&Pending);
  pthread_sigmask(SIG_BLOCK, &Pipe, &Old);
  ssize_t N = write(FD, Bytes.data(), Bytes.size());
  int Number = errno;
  if (N < 0 && Number == EPIPE && !sigismember(&Pending, SIGPIPE)) {
    timespec AtOnce = {};
    while (sigtimedwait(&Pipe, nullptr, &AtOnce) < 0 && errno == EINTR)
      ;
  }
  pthread_sigmask(SIG_SETMASK, &Old, nullptr);
  errno = Number;
  return N;
}

void TraceFile::flush() {
  StringRef Rest = Waiting;
  off_t At = lseek(FD, 0, SEEK_CUR);
  if (At >= 0 && fileSizeLimit() < At + Rest.size()) {
    log(LogLevel::Warn, "trace",
        "LAUNCHJIT_TRACE ends here: the file size limit (ulimit -f)");
    Closed = true;
    Rest = "";
  }
  while (!Rest.empty()) {
    ssize_t N = writeBytes(FD, Rest);
    if (N < 0 && errno == EINTR)
      continue;
    if (N < 0) {
      log(LogLevel::Warn, "trace",
          Twine("LAUNCHJIT_TRACE ends here: cannot write: ") +
              std::strerror(errno));
      Closed = true;
      break;
    }
    Rest = Rest.drop_front(N);
  }
  Waiting.clear();
}

void TraceFile::add(StringRef Category, StringRef Name, uint64_t BeginNs,
                    uint64_t EndNs,
                    function_ref<void(json::OStream &)> Arguments) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Owner != getpid()) // what waited in the parent is the parent's to write
    Closed = !open();
  if (Closed)
    return;
  raw_string_ostream OS(Waiting);
  // Not behind the event: so the file is whole but for the bracket at any time.
  OS << (Waiting == "[" ? "\n" : ",\n");
  json::OStream J(OS);
  auto Microseconds = [&](StringRef Key, uint64_t Ns) {
    J.attributeBegin(Key);
    J.rawValue([&](raw_ostream &Out) {
      Out << format("%" PRIu64 ".%03u", Ns / 1000, unsigned(Ns % 1000));
    });
    J.attributeEnd();
  };
  J.object([&] {
    J.attribute("ph", "X");
    J.attribute("cat", Category);
    J.attribute("name", json::fixUTF8(Name));
    Microseconds("ts", BeginNs);
    Microseconds("dur", EndNs - BeginNs);
    J.attribute("pid", Owner);
    J.attribute("tid", int64_t(syscall(SYS_gettid)));
    J.attributeObject("args", [&] { Arguments(J); });
  });
  OS.flush();
  if (Waiting.size() >= MaxWaiting || EndNs >= LastFlush + MaxAgeNs ||
      Owner != First) {
    flush();
    LastFlush = EndNs;
  }
}

void TraceFile::finish() {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Owner != getpid() || Closed)
    return;
  Waiting += "\n]\n";
  flush();
  Closed = true;
}

/// Null where none is wanted. Never destroyed.
static TraceFile *traceFile() {
  ForkShield Shield;
  static TraceFile *File = []() -> TraceFile * {
    auto Pattern = getEnvironment("LAUNCHJIT_TRACE");
    if (!Pattern)
      return nullptr;
    std::atexit([] {
      ForkShield Shield;
      traceFile()->finish();
    });
    return new TraceFile(*Pattern);
  }();
  return File;
}

bool launchjit::isTracing() { return traceFile(); }

void launchjit::trace(StringRef Category, StringRef Name, uint64_t BeginNs,
                      uint64_t EndNs,
                      function_ref<void(json::OStream &)> Arguments) {
  ForkShield Shield;
  if (TraceFile *File = traceFile())
    File->add(Category, Name, BeginNs, EndNs, Arguments);
}
