# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs launchjit.triton when, and only if, a program imports Triton.

Imported by launchjit_triton.pth where LAUNCHJIT_TRITON is set, and by
`python -m launchjit.triton`. Imports neither Triton nor launchjit by itself.
"""

import importlib.util
import os
import sys

_MODULES = {"triton.backends.nvidia.driver", "triton.compiler.compiler"}


class _Finder:
    """Finds the modules as the other finders do, and acts once they are run."""

    def __init__(self, require):
        self._require = require
        self._left = set(_MODULES)

    def find_spec(self, name, path=None, target=None):
        if name not in self._left:
            return None
        self._left.discard(name)  # the other finders ask this one, too
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        loader = spec.loader
        run = loader.exec_module

        def exec_module(module):
            run(module)
            self._loaded(module)

        loader.exec_module = exec_module
        return spec

    def _loaded(self, module):
        try:
            from launchjit.triton import _patch

            _patch(module)
        except Exception as error:
            self._left.clear()
            if self._require:
                raise
            import warnings

            warnings.warn(f"Triton is left as it is: {error}", RuntimeWarning, stacklevel=2)
        if not self._left and self in sys.meta_path:
            sys.meta_path.remove(self)


def enable(require=False):
    """From now on an import of Triton gets launchjit.triton installed. Where that
    cannot be (an unknown version of Triton, say), the import fails if required;
    otherwise Triton is left as it is, with a warning."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            finder._require = finder._require or require
            return
    if _MODULES.isdisjoint(sys.modules):
        sys.meta_path.insert(0, _Finder(require))
    else:
        from launchjit.triton import install

        install()


def _start():
    value = os.environ.get("LAUNCHJIT_TRITON", "")
    if value in ("1", "require"):
        enable(value == "require")
    elif value not in ("", "0"):
        sys.stderr.write(f"LAUNCHJIT_TRITON={value} is ignored; allowed are 0, 1 and require\n")
