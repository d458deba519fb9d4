//===- Tool.h - What the commands of the launchjit tool share -------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tool sees the library through its C interface only; what LLVM gives it
// (options, JSON, streams) is a copy of its own.
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_TOOLS_TOOL_H
#define LAUNCHJIT_TOOLS_TOOL_H

#include "launchjit-c/launchjit.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace launchjit::tool {

enum ExitStatus { ExitSuccess = 0, ExitFailure = 1, ExitUsage = 2 };

/// The command line was wrong: exit status 2. Any other error is 1.
class UsageError : public llvm::ErrorInfo<UsageError> {
public:
  static char ID;
  explicit UsageError(const llvm::Twine &Message) : Message(Message.str()) {}
  void log(llvm::raw_ostream &OS) const override { OS << Message; }
  std::error_code convertToErrorCode() const override;

private:
  std::string Message;
};

inline llvm::Error usageError(const llvm::Twine &Message) {
  return llvm::make_error<UsageError>(Message);
}

llvm::Error failure(const llvm::Twine &Message);

template <auto Delete> struct Deleter {
  template <typename T> void operator()(T *Handle) const { Delete(Handle); }
};
using ErrorPtr = std::unique_ptr<lj_error, Deleter<lj_error_delete>>;
using SignaturePtr =
    std::unique_ptr<lj_signature, Deleter<lj_signature_delete>>;
using LauncherPtr = std::unique_ptr<lj_launcher, Deleter<lj_launcher_delete>>;
using ModulePtr = std::unique_ptr<lj_module, Deleter<lj_module_delete>>;
using KernelPtr = std::unique_ptr<lj_kernel, Deleter<lj_kernel_delete>>;
using RecordedPtr = std::unique_ptr<lj_recorded, Deleter<lj_recorded_delete>>;

/// Success for null; takes \p E over.
llvm::Error check(lj_error *E);

/// Calls a function of the library that makes a handle through its last
/// parameter.
template <typename Pointer, typename... Params, typename... Args>
llvm::Expected<Pointer> make(lj_error *(*Function)(Params...),
                             Args &&...Arguments) {
  typename Pointer::pointer Handle = nullptr;
  if (llvm::Error E = check(Function(Arguments..., &Handle)))
    return E;
  return Pointer(Handle);
}

/// A struct of the interface with its struct_size set.
template <typename T> T sized() {
  T Value{};
  Value.struct_size = sizeof(T);
  return Value;
}

inline llvm::StringRef str(lj_string S) { return {S.data, S.size}; }

/// Where one parameter of a kernel lies in its buffer, in bytes.
struct Place {
  uint32_t Offset, Size;
  uint32_t end() const { return Offset + Size; }
};
/// Those of the kernel \p Index, of which \p Info tells; none where the binary
/// does not say.
llvm::Expected<std::vector<Place>>
kernelParameters(const lj_module &M, size_t Index, const lj_kernel_info &Info);

/// A buffer that gives itself back.
class Buffer : public lj_buffer {
public:
  Buffer() : lj_buffer{nullptr, 0} {}
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { lj_buffer_delete(this); }
  llvm::StringRef str() const { return {data, size}; }
};

/// One command: made before the command line is read, since making it
/// registers its options.
class Command {
public:
  virtual ~Command() = default;
  Command(const Command &) = delete;
  Command &operator=(const Command &) = delete;

  llvm::cl::SubCommand Sub;
  /// What --help of the command opens with.
  const char *const Help;
  /// For a command that runs a program: what stands behind "--", with a null
  /// behind it. Other commands read what is there as arguments of theirs.
  const bool TakesProgram;
  llvm::ArrayRef<char *> Program;

  /// The exit status, or what went wrong.
  virtual llvm::Expected<int> run() = 0;

protected:
  Command(const char *Name, const char *Summary, const char *Help,
          bool TakesProgram = false);

  llvm::cl::opt<bool> JSON;
};

/// A command that takes a signature.
class SignatureCommand : public Command {
protected:
  SignatureCommand(const char *Name, const char *Summary, const char *Help);

  /// Parses what the command line says. The error of a signature that does
  /// not parse points into it.
  llvm::Expected<SignaturePtr> parse() const;

private:
  llvm::cl::opt<std::string> Text;
  llvm::cl::opt<std::string> Scratch;
  llvm::cl::opt<bool> LargeParameters;
};

llvm::Expected<SignaturePtr>
parseSignature(llvm::StringRef Text, const lj_signature_options &Options);

/// The category of all our options; others are hidden from --help.
llvm::cl::OptionCategory &category();

inline constexpr lj_entry_kind EntryKinds[] = {LJ_ENTRY_C, LJ_ENTRY_PACKED,
                                               LJ_ENTRY_PYTHON};

/// A stub's symbol: lj_<entry>_<key>.
std::string stubSymbol(lj_entry_kind Entry, llvm::StringRef Key);

/// Keys and values in the order of the calls.
using JSONStream = llvm::json::OStream;
/// Writes one JSON object and a newline to the standard output.
void printJSON(llvm::function_ref<void(JSONStream &)> Attributes);

llvm::Error writeFile(llvm::StringRef Path, llvm::StringRef Bytes);

/// "56,965".
std::string grouped(uint64_t N);
/// "56,965 bytes".
std::string bytes(uint64_t N);
/// "1 file", "56,965 files".
std::string count(uint64_t N, llvm::StringRef One, llvm::StringRef Many);
/// Three digits and a unit: "2.13 ms", "22.1 µs", "830 ns".
std::string duration(uint64_t Nanoseconds);

/// Rows of cells; each column is as wide as its widest cell.
class Table {
public:
  enum Alignment { Left, Right };
  explicit Table(std::initializer_list<Alignment> Columns) : Columns(Columns) {}

  void row(std::vector<std::string> Cells) { Rows.push_back(std::move(Cells)); }
  /// The first row is a heading.
  void print(llvm::raw_ostream &OS, bool Heading, unsigned Indent = 0) const;

private:
  std::vector<Alignment> Columns;
  std::vector<std::vector<std::string>> Rows;
};

/// \p Text filled up with spaces to \p Width columns of a terminal.
std::string padded(llvm::StringRef Text, unsigned Width,
                   Table::Alignment A = Table::Left);

/// Runs from where it is made.
class Stopwatch {
public:
  uint64_t nanoseconds() const {
    return std::chrono::nanoseconds(Clock::now() - Start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point Start = Clock::now();
};

} // namespace launchjit::tool

#endif // LAUNCHJIT_TOOLS_TOOL_H
