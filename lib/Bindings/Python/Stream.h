//===- Stream.h - The stream of a launch from Python ----------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_BINDINGS_PYTHON_STREAM_H
#define LAUNCHJIT_LIB_BINDINGS_PYTHON_STREAM_H

#include "Self.h"

namespace launchjit::python {

/// The stream that the caller named, if any. 0, or -1 with an exception.
int beginStream(StubPythonLaunch *L, PyObject *O);

/// Orders the launch behind what \p Stream was given so far: a producer still
/// works there. 0, or -1 with an exception.
int launchAfter(StubPythonLaunch *L, void *Stream);

/// Where the caller named none: the stream on which the framework works now,
/// or the legacy one. Known when all arguments are. 0, or -1 with an exception.
int finishStream(StubPythonLaunch *L);

} // namespace launchjit::python

#endif // LAUNCHJIT_LIB_BINDINGS_PYTHON_STREAM_H
