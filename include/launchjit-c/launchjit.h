/*===- launchjit.h - All of the C interface -*- C -*-===*\
|*
|* Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===--------------------------------------------------------------------===*/

#ifndef LAUNCHJIT_C_LAUNCHJIT_H
#define LAUNCHJIT_C_LAUNCHJIT_H

#include "launchjit-c/attribute.h"
#include "launchjit-c/bound.h"
#include "launchjit-c/cache.h"
#include "launchjit-c/driver.h"
#include "launchjit-c/error.h"
#include "launchjit-c/host.h"
#include "launchjit-c/kernel.h"
#include "launchjit-c/launcher.h"
#include "launchjit-c/memory.h"
#include "launchjit-c/module.h"
#include "launchjit-c/observe.h"
#include "launchjit-c/python.h"
#include "launchjit-c/recording.h"
#include "launchjit-c/replay.h"
#include "launchjit-c/signature.h"

#endif /* LAUNCHJIT_C_LAUNCHJIT_H */
