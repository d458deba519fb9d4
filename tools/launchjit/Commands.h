//===- Commands.h - Every command of the launchjit tool -------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_TOOLS_COMMANDS_H
#define LAUNCHJIT_TOOLS_COMMANDS_H

#include "Tool.h"

namespace launchjit::tool {

using CommandPtr = std::unique_ptr<Command>;

CommandPtr makeDemo();
CommandPtr makeSignature();
CommandPtr makeInspect();
CommandPtr makeCheck();
CommandPtr makeIR();
CommandPtr makeAssembly();
CommandPtr makeObject();
CommandPtr makeReplay();
CommandPtr makeDoctor();
CommandPtr makeCache();
CommandPtr makeCachePath();
CommandPtr makeCacheList();
CommandPtr makeCacheStats();
CommandPtr makeCacheShow();
CommandPtr makeCacheVerify();
CommandPtr makeCachePrune();
CommandPtr makeCacheClear();
CommandPtr makeCacheBundle();

/// --help sorts them.
inline constexpr CommandPtr (*CommandMakers[])() = {
    makeDemo,        makeSignature,   makeInspect,    makeCheck,
    makeIR,          makeAssembly,    makeObject,     makeDoctor,
    makeCache,       makeCachePath,   makeCacheList,  makeCacheStats,
    makeCacheShow,   makeCacheVerify, makeCachePrune, makeCacheClear,
    makeCacheBundle, makeReplay};

} // namespace launchjit::tool

#endif // LAUNCHJIT_TOOLS_COMMANDS_H
