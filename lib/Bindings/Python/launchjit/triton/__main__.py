# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m launchjit.triton: runs a program that uses Triton, without a C
compiler."""

import os
import runpy
import sys

import _launchjit_triton

USAGE = """\
usage: python -m launchjit.triton SCRIPT [ARGUMENTS]
       python -m launchjit.triton -m MODULE [ARGUMENTS]
       python -m launchjit.triton -c CODE [ARGUMENTS]

Runs the program as python does, with launchjit.triton installed once it imports
Triton. A version of Triton that is not known is an error.
"""


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        sys.stderr.write(USAGE)
        sys.exit(2)
    if arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return
    _launchjit_triton.enable(require=True)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        scope = sys.modules["__main__"].__dict__
        exec(compile(arguments[1], "<string>", "exec"),
             {"__name__": "__main__", "__builtins__": scope["__builtins__"]})
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
