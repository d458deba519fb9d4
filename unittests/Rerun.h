//===- Rerun.h - A test, again in a process of its own --------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_UNITTESTS_RERUN_H
#define LAUNCHJIT_UNITTESTS_RERUN_H

#include <initializer_list>
#include <string>

namespace launchjit {

/// What a process left behind: its wait status and all that it printed.
struct Exited {
  int Status = -1;
  std::string Output;
};

/// Whether this is the process that rerun() started.
bool isRerun();

/// Runs the calling test alone in a fresh process: nothing is compiled, opened
/// or logged there yet, and the environment is read anew. \p Settings, each
/// "NAME=value", go before ours. \p Program is a copy of this one.
Exited rerun(std::initializer_list<std::string> Settings = {},
             std::string Program = "/proc/self/exe");

} // namespace launchjit

#endif // LAUNCHJIT_UNITTESTS_RERUN_H
