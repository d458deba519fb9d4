//===- FileLimit.h - How large a file may become --------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SUPPORT_FILELIMIT_H
#define LAUNCHJIT_SUPPORT_FILELIMIT_H

#include <cstdint>

namespace launchjit {

/// How large this process may make a file, bytes (ulimit -f). Beyond it write
/// and ftruncate do not fail: they end the process by SIGXFSZ.
uint64_t fileSizeLimit();

} // namespace launchjit

#endif // LAUNCHJIT_SUPPORT_FILELIMIT_H
