//===- ObjectCache.cpp - Objects that outlive the process -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Cache/ObjectCache.h"
#include "launchjit/Cache/Entry.h"
#include "launchjit/Support/Error.h"
#include "launchjit/Support/FileLimit.h"
#include "launchjit/Support/Fork.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace launchjit;

static constexpr StringLiteral EntrySuffix = ".stub";
static constexpr StringLiteral TemporaryPrefix = ".tmp-";
static constexpr StringLiteral LockName = ".lock";

/// An entry's time of use is written down at most this often. Seconds.
static constexpr int64_t TouchInterval = 3600;
/// A temporary of this age has no writer any more. Seconds.
static constexpr int64_t StaleAge = 600;
/// A process looks at the size of the cache with its first store and every so
/// many later ones, and only one process does in so many seconds.
static constexpr uint64_t SweepStores = 64;
static constexpr int64_t SweepInterval = 60;
/// So many entries are looked at to explain a miss.
static constexpr size_t MaxExplained = 4096;

namespace {

/// A descriptor that is closed at the end.
class FileDescriptor {
public:
  FileDescriptor(const FileCalls &Calls, int FD) : Calls(Calls), FD(FD) {}
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  ~FileDescriptor() {
    if (FD >= 0)
      Calls.Close(FD);
  }
  int get() const { return FD; }
  int closeNow() { return Calls.Close(std::exchange(FD, -1)); }

private:
  const FileCalls &Calls;
  int FD;
};

} // namespace

static Error systemError(const Twine &What) {
  int Number = errno;
  // What is not there is an ordinary miss.
  Status Code = Number == ENOENT ? Status::NotFound : Status::IO;
  return makeError(Code, What + ": " + std::strerror(Number));
}

static Error refused(const Twine &What, const Twine &Why) {
  return makeError(Status::Unsupported, What + " is refused: " + Why);
}

/// Nobody but root and the user may have written this.
static Error checkOwner(const struct stat &S, const Twine &What) {
  if (S.st_uid != geteuid() && S.st_uid != 0)
    return refused(What, "it belongs to user " + Twine(S.st_uid) +
                             ", neither to root nor to user " +
                             Twine(geteuid()));
  if (S.st_mode & (S_IWGRP | S_IWOTH))
    return refused(What, "others than its owner can write it; chmod go-w "
                         "mends that, if you trust what it holds");
  return Error::success();
}

StringRef CacheFile::name() const {
  StringRef Name = FileName;
  bool IsEntry =
      Name.consume_back(EntrySuffix) && Name.size() == 32 &&
      all_of(Name, [](char C) { return isHexDigit(C) && !isUpper(C); });
  return IsEntry ? Name : StringRef();
}

/// .tmp-<process>-<digits>, as publish() makes them: others' files are theirs.
static bool isTemporary(StringRef Name) {
  uint64_t Process;
  return Name.consume_front(TemporaryPrefix) &&
         !Name.consumeInteger(10, Process) && Name.consume_front("-") &&
         !Name.empty() && all_of(Name, isHexDigit);
}

static std::string fileNameOf(StringRef Name) {
  return (Name + EntrySuffix).str();
}

static std::string pathOf(StringRef Directory, StringRef Name) {
  return (Directory + "/" + Name + EntrySuffix).str();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

ObjectCache &ObjectCache::process() {
  ForkShield Shield;
  static ObjectCache *Cache = new ObjectCache(CacheOptions::fromEnvironment());
  return *Cache;
}

std::vector<std::string> ObjectCache::searchPath() const {
  std::vector<std::string> Path;
  if (isOff())
    return Path;
  Path = Options.Layers;
  if (!Options.Directory.empty())
    Path.push_back(Options.Directory);
  return Path;
}

/// A folder is opened for each use: it may be removed, and made again, while
/// the process lives.
Expected<int> ObjectCache::openDirectory(const std::string &Directory) const {
  int FD = Options.Calls->OpenAt(AT_FDCWD, Directory.c_str(),
                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (FD < 0)
    return systemError("cannot open the cache " + Directory);
  struct stat S;
  Error E = Options.Calls->FStat(FD, &S)
                ? systemError("cannot examine the cache " + Directory)
                : checkOwner(S, "the cache " + Directory);
  if (!E)
    return FD;
  Options.Calls->Close(FD);
  return std::move(E);
}

Expected<ObjectStore::Object> ObjectCache::readFile(int Dir, StringRef Name,
                                                    const Twine &Where,
                                                    bool Touch) const {
  std::string What = ("the cache entry " + Where).str();
  // A pipe must not hang us, and a link not lead us elsewhere.
  FileDescriptor FD(
      *Options.Calls,
      Options.Calls->OpenAt(Dir, fileNameOf(Name).c_str(),
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0));
  if (FD.get() < 0)
    return errno == ELOOP ? refused(What, "it is a link")
                          : systemError("cannot open " + What);
  struct stat S;
  if (Options.Calls->FStat(FD.get(), &S))
    return systemError("cannot examine " + What);
  if (!S_ISREG(S.st_mode))
    return refused(What, "it is not a file");
  if (Error E = checkOwner(S, What))
    return std::move(E);
  if (static_cast<uint64_t>(S.st_size) > MaxEntryBytes)
    return makeError(Status::Binary, What + " is damaged: it has " +
                                         Twine(S.st_size) +
                                         " bytes, and no entry has more than " +
                                         Twine(MaxEntryBytes));
  Object Bytes;
  // The header first: what is no entry may be large.
  size_t Done = 0;
  for (size_t Wanted : {std::min<size_t>(S.st_size, sizeof(EntryHeader)),
                        static_cast<size_t>(S.st_size)}) {
    if (Done == sizeof(EntryHeader))
      if (Error E = checkEntryHeader(Bytes, S.st_size))
        return makeError(Status::Binary, What + " is damaged: " +
                                             takeDetail(std::move(E)).Message);
    Bytes.resize_for_overwrite(Wanted);
    while (Done != Wanted) {
      ssize_t N =
          Options.Calls->Read(FD.get(), Bytes.data() + Done, Wanted - Done);
      if (N < 0 && errno == EINTR)
        continue;
      if (N < 0)
        return systemError("cannot read " + What);
      if (N == 0)
        break;
      Done += N;
    }
    if (Done != Wanted)
      break; // it was cut meanwhile
  }
  Bytes.truncate(Done);
  if (Touch && S.st_mtime + TouchInterval < time(nullptr))
    futimens(FD.get(), nullptr); // a failure only makes it look older
  return Bytes;
}

Expected<ObjectStore::Object> ObjectCache::read(StringRef Directory,
                                                StringRef Name) const {
  auto Dir = openDirectory(Directory.str());
  if (!Dir)
    return Dir.takeError();
  FileDescriptor D(*Options.Calls, *Dir);
  return readFile(*Dir, Name, pathOf(Directory, Name), /*Touch=*/false);
}

Expected<ObjectStore::Object> ObjectCache::findIn(const std::string &Directory,
                                                  StringRef Name,
                                                  StringRef KeyText) const {
  auto Dir = openDirectory(Directory);
  if (!Dir)
    return Dir.takeError();
  FileDescriptor D(*Options.Calls, *Dir);
  bool Touch =
      Options.Mode == CacheMode::ReadWrite && Directory == Options.Directory;
  std::string Where = pathOf(Directory, Name);
  auto Bytes = readFile(*Dir, Name, Where, Touch);
  if (!Bytes)
    return Bytes.takeError();
  return objectOf(*Bytes, KeyText, Where);
}

std::optional<ObjectStore::Object> ObjectCache::find(StringRef Name,
                                                     StringRef KeyText) {
  for (const std::string &Directory : searchPath()) {
    auto Found = findIn(Directory, Name, KeyText);
    if (Found)
      return std::move(*Found);
    account(Found.takeError());
  }
  return std::nullopt;
}

/// Names what keeps the most similar entry from being the one.
std::string ObjectCache::explain(StringRef KeyText) {
  SmallVector<StringRef> Wanted;
  KeyText.rtrim().split(Wanted, '\n');
  size_t Looked = 0, Fewest = SIZE_MAX;
  std::string Text;
  for (const std::string &Directory : searchPath()) {
    auto Files = list(Directory);
    if (!Files) {
      consumeError(Files.takeError());
      continue;
    }
    for (const CacheFile &F : *Files) {
      if (F.name().empty() || Looked++ >= MaxExplained)
        continue;
      auto Bytes = read(Directory, F.name());
      auto Entry = Bytes ? decodeEntry(*Bytes) : Bytes.takeError();
      if (!Entry) {
        consumeError(Entry.takeError());
        continue;
      }
      SmallVector<StringRef> There;
      Entry->KeyText.rtrim().split(There, '\n');
      std::string Differences;
      size_t N = 0;
      for (StringRef Line : There)
        if (!is_contained(Wanted, Line)) {
          ++N;
          Differences += (N == 1 ? "" : ", ") + Line.str();
        }
      if (N && N < Fewest) {
        Fewest = N;
        Text = ("\nthe nearest entry is " + pathOf(Directory, F.name()) +
                ", which has " + Differences);
      }
    }
  }
  return Text.empty() ? "\nthere is no entry to compare it with" : Text;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Expected<int> ObjectCache::openOrMakeOwn() const {
  auto Dir = openDirectory(Options.Directory);
  if (Dir)
    return Dir;
  ErrorDetail Why = takeDetail(Dir.takeError());
  if (Why.Code != Status::NotFound)
    return makeError(std::move(Why));
  if (std::error_code EC = sys::fs::create_directories(
          Options.Directory, /*IgnoreExisting=*/true, sys::fs::owner_all))
    return makeError(Status::IO, "cannot make the cache " + Options.Directory +
                                     ": " + EC.message());
  return openDirectory(Options.Directory);
}

Error ObjectCache::publish(StringRef Name, ArrayRef<char> Entry) const {
  const FileCalls &Calls = *Options.Calls;
  uint64_t Limit = fileSizeLimit();
  if (Limit < Entry.size())
    return makeError(Status::IO, "cannot write to the cache " +
                                     Options.Directory +
                                     ": the file size limit (ulimit -f) is " +
                                     Twine(Limit) + " bytes");
  auto Dir = openOrMakeOwn();
  if (!Dir)
    return Dir.takeError();
  FileDescriptor D(Calls, *Dir);
  std::string What = "the cache entry " + pathOf(Options.Directory, Name);

  // Unique among all processes and machines that share the folder.
  std::string Temporary = (TemporaryPrefix + Twine(getpid()) + "-" +
                           utohexstr(sys::Process::GetRandomNumber()) +
                           utohexstr(sys::Process::GetRandomNumber()))
                              .str();
  FileDescriptor FD(
      Calls, Calls.OpenAt(*Dir, Temporary.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          S_IRUSR | S_IWUSR));
  if (FD.get() < 0)
    return systemError("cannot write to the cache " + Options.Directory);
  auto Fail = [&](Error E) {
    Calls.UnlinkAt(*Dir, Temporary.c_str());
    return E;
  };
  for (ArrayRef<char> Rest = Entry; !Rest.empty();) {
    ssize_t N = Calls.Write(FD.get(), Rest.data(), Rest.size());
    if (N < 0 && errno == EINTR)
      continue;
    if (N <= 0)
      return Fail(systemError("cannot write " + What));
    Rest = Rest.drop_front(N);
  }
  // NFS tells of a full disk only now.
  if (FD.closeNow())
    return Fail(systemError("cannot write " + What));
  if (Calls.RenameAt(*Dir, Temporary.c_str(), fileNameOf(Name).c_str()))
    return Fail(systemError("cannot publish " + What));
  return Error::success();
}

Expected<bool> ObjectCache::keep(StringRef Name, ArrayRef<char> Entry) {
  if (Options.Mode != CacheMode::ReadWrite || Options.Directory.empty())
    return false;
  if (Error E = publish(Name, Entry))
    return std::move(E);
  sweepNowAndThen();
  return true;
}

//===----------------------------------------------------------------------===//
// Keeping it small
//===----------------------------------------------------------------------===//

Expected<std::vector<CacheFile>> ObjectCache::list(StringRef Directory) const {
  std::vector<CacheFile> Files;
  auto Dir = openDirectory(Directory.str());
  if (!Dir) {
    ErrorDetail Why = takeDetail(Dir.takeError());
    if (Why.Code == Status::NotFound)
      return Files;
    return makeError(std::move(Why));
  }
  DIR *Stream = fdopendir(*Dir); // takes the descriptor
  if (!Stream) {
    Error E = systemError("cannot read the cache " + Directory);
    Options.Calls->Close(*Dir);
    return std::move(E);
  }
  while (const dirent *Item = (errno = 0, readdir(Stream))) {
    CacheFile F{Directory.str(), Item->d_name, 0, 0};
    struct stat S;
    if ((F.name().empty() && !isTemporary(F.FileName)) ||
        fstatat(dirfd(Stream), Item->d_name, &S, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(S.st_mode))
      continue;
    F.Bytes = S.st_size;
    F.LastUsed = S.st_mtime;
    Files.push_back(std::move(F));
  }
  Error E = errno ? systemError("cannot read the cache " + Directory)
                  : Error::success();
  closedir(Stream);
  if (E)
    return std::move(E);
  return Files;
}

Expected<ObjectCache::Removed> ObjectCache::sweep(const Limits &L,
                                                  bool DryRun) {
  if (!DryRun && Options.Mode != CacheMode::ReadWrite)
    return makeError(Status::InvalidArgument,
                     "the cache is " + cacheModeName(Options.Mode) +
                         ", so nothing is removed from it; LAUNCHJIT_CACHE=rw "
                         "allows it");
  if (Options.Directory.empty())
    return Removed{};
  auto Dir = openDirectory(Options.Directory);
  if (!Dir) {
    ErrorDetail Why = takeDetail(Dir.takeError());
    if (Why.Code == Status::NotFound)
      return Removed{};
    return makeError(std::move(Why));
  }
  FileDescriptor D(*Options.Calls, *Dir);
  ForkShield Shield; // a child would hold the lock too
  FileDescriptor Lock(*Options.Calls,
                      DryRun ? -1
                             : openat(*Dir, LockName.data(),
                                      O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                                      S_IRUSR | S_IWUSR));
  if (!DryRun && (Lock.get() < 0 || flock(Lock.get(), LOCK_EX | LOCK_NB))) {
    if (errno != EWOULDBLOCK)
      return systemError("cannot lock the cache " + Options.Directory);
    Removed Nothing;
    Nothing.Busy = true;
    return Nothing;
  }

  auto Files = list(Options.Directory);
  if (!Files)
    return Files.takeError();
  llvm::sort(*Files, [](const CacheFile &A, const CacheFile &B) {
    return A.LastUsed < B.LastUsed;
  });
  uint64_t Total = 0;
  for (const CacheFile &F : *Files)
    Total += F.Bytes;
  bool TooMuch = Total > L.Above;
  int64_t Now = time(nullptr);
  Removed Result;
  for (CacheFile &F : *Files) {
    bool Temporary = F.name().empty();
    if (!L.All && (Temporary ? F.LastUsed > Now - L.StaleAge
                             : !TooMuch || Total <= L.DownTo))
      continue;
    if (!DryRun && Options.Calls->UnlinkAt(*Dir, F.FileName.c_str())) {
      if (errno != ENOENT)
        return systemError("cannot remove " + F.FileName + " from the cache " +
                           Options.Directory);
      continue; // somebody else was faster
    }
    Total -= F.Bytes;
    if (Temporary) {
      ++Result.Temporaries;
      continue;
    }
    if (!DryRun)
      ++Counters.Pruned;
    Result.Entries.push_back(std::move(F));
  }
  if (!DryRun)
    futimens(Lock.get(), nullptr); // when it was done last
  return Result;
}

Expected<ObjectCache::Removed> ObjectCache::prune(uint64_t MaxBytes,
                                                  bool DryRun) {
  return sweep({MaxBytes, MaxBytes, StaleAge}, DryRun);
}

Expected<ObjectCache::Removed> ObjectCache::clear(bool DryRun) {
  // Nobody's half-written entry is worth keeping.
  return sweep({0, 0, 0, /*All=*/true}, DryRun);
}

/// A tenth is left free, so that not every sweep finds the cache full again.
void ObjectCache::sweepNowAndThen() {
  if (Puts.fetch_add(1) % SweepStores)
    return;
  struct stat S;
  if (stat((Options.Directory + "/" + LockName).str().c_str(), &S) == 0) {
    int64_t Age = time(nullptr) - S.st_mtime;
    if (Age >= 0 && Age < SweepInterval) // a clock may have been set back
      return;
  }
  auto Removed = sweep({Options.MaxBytes, Options.MaxBytes / 10 * 9, StaleAge},
                       /*DryRun=*/false);
  if (!Removed)
    account(Removed.takeError());
}
