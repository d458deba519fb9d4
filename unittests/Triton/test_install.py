# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installing and removing launchjit.triton, each in a Python of its own."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import worlds
from launchjit import _lib

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "lib" / "Bindings" / "Python"
PRELUDE = """
import sys
sys.path[:0] = paths
import ctypes
import worlds
import launchjit as lj
import launchjit.triton
def kernel():
    from install_kernels import empty
    return empty
def driver():
    from triton.runtime import driver
    made = driver.active
    made.get_current_stream(made.get_current_device())
    return made
def is_ours(run):
    return hasattr(run, "_native")
"""


def run(code, *, prelude=True, arguments=(), fails=None, **environment):
    paths = [str(HERE), str(HERE.parent / "Python")]
    if worlds.VERSION < (3, 8):
        paths.insert(0, str(HERE / "standin"))
    text = (f"paths = {paths!r}\n{PRELUDE}" if prelude else "") + textwrap.dedent(code)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ["PYTHONPATH"]]),
           **environment}
    done = subprocess.run([sys.executable, *arguments, "-c", text], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if fails is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode != 0 and fails in done.stderr, done.stderr
    return done


def test_before_the_driver_is_made():
    """install() neither makes the driver nor opens CUDA."""
    run("""
        launchjit.triton.install()
        assert launchjit.triton.installed()
        from triton.runtime.driver import driver as made
        if hasattr(made, "_default"):
            assert made._default is None and made._active is None
        else:
            assert made.default._obj is None
        assert not any("libcuda" in line for line in open("/proc/self/maps"))
        driver()
        assert is_ours(kernel()[(1,)](1).run)
        launchjit.triton.install()
        launchjit.triton.uninstall()
        assert not launchjit.triton.installed()
        launchjit.triton.uninstall()
        driver()
    """)


def test_after_the_driver_was_made():
    run("""
        made = driver()
        theirs, utils = made.launcher_cls, made.utils
        first = kernel()[(1,)](1)
        assert not is_ours(first.run)
        launchjit.triton.install()
        launchjit.triton.install()
        assert driver() is made and made.utils is not utils
        second = kernel()[(1,)](1, num_warps=8)
        assert is_ours(second.run) and second.run is not first.run
        kernel()[(1,)](1)  # keeps its launcher
        launchjit.triton.uninstall()
        assert made.launcher_cls is theirs and made.utils is utils
        kernel()[(1,)](1, num_warps=8)  # and so does this one
        third = kernel()[(1,)](1, num_warps=2)
        assert not is_ours(third.run)
        import triton.backends.nvidia.driver as module
        assert module.CudaLauncher is theirs
        assert len(worlds.recorded()) == 5
    """)


def test_globals_come_back():
    run("""
        driver()
        import triton.backends.nvidia.driver as module
        import triton.compiler.compiler as compiler
        def state():
            return {**vars(module), "metadata": compiler.CompiledKernel.launch_metadata}
        before = state()
        launchjit.triton.install()
        assert state() != before
        launchjit.triton.uninstall()
        assert state() == before
    """)


def test_threads():
    run("""
        import threading
        driver()
        import triton.backends.nvidia.driver as module
        theirs = module.CudaLauncher
        def work():
            for _ in range(50):
                launchjit.triton.install()
                launchjit.triton.uninstall()
        threads = [threading.Thread(target=work) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert module.CudaLauncher is theirs and not launchjit.triton.installed()
    """)


UNKNOWN = "import triton; triton.__version__ = '3.99.0'\n"


def test_unknown_version():
    run(UNKNOWN + """
try:
    launchjit.triton.install()
    raise SystemExit("installed")
except lj.Error as error:
    assert "3.99.0" in str(error) and "3.4, 3.5, 3.6, 3.7, 3.8, 3.9" in str(error)
assert not launchjit.triton.installed()
""" + f"launchjit.triton.install(treat_as='{worlds.VERSION[0]}.{worlds.VERSION[1]}')\n" + """
assert launchjit.triton.installed()
driver()
assert is_ours(kernel()[(1,)](1).run)
try:
    launchjit.triton.uninstall()
    launchjit.triton.install(treat_as="4.0")
    raise SystemExit("installed")
except lj.Error as error:
    assert "4.0" in str(error)
""")


def test_without_triton():
    run("""
        sys.modules["triton"] = None
        try:
            launchjit.triton.install()
            raise SystemExit("installed")
        except ImportError:
            pass
        assert not launchjit.triton.installed()
        launchjit.triton.uninstall()
    """)


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """A Python whose site-packages have the .pth file, as the wheel puts it."""
    place = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    site = next((place / "lib").glob("python*/site-packages"))
    ours = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    (site / "triton.pth").write_text(f"{ours}\n")
    for name in ("launchjit_triton.pth", "_launchjit_triton.py"):
        shutil.copy(PACKAGE / name, site)
    (site / "launchjit").symlink_to(PACKAGE / "launchjit")
    return place / "bin" / "python"


def start(python, *arguments, **environment):
    path = [str(HERE)] + ([str(HERE / "standin")] if worlds.VERSION < (3, 8) else [])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "LAUNCHJIT_LIBRARY": _lib.path,
           **environment}
    if len(arguments) == 1:
        arguments = "-c", textwrap.dedent(*arguments)
    return subprocess.run([python, *arguments], env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


INSTALLED = "import triton, sys; m = sys.modules.get('launchjit.triton'); print(bool(m and m.installed()))"


@pytest.mark.parametrize("value, result", [("", False), ("0", False), ("1", True),
                                           ("require", True)])
def test_environment(venv, value, result):
    done = start(venv, INSTALLED, LAUNCHJIT_TRITON=value)
    assert (done.returncode, done.stdout) == (0, f"{result}\n"), done.stderr
    # Nothing is imported that the program does not import.
    done = start(venv, "import sys; print([name for name in sys.modules "
                       "if name.split('.')[0] in ('triton', 'launchjit', 'torch')])",
                 LAUNCHJIT_TRITON=value)
    assert done.stdout == "[]\n", done.stderr


def test_environment_reaches_children(venv):
    done = start(venv, f"import subprocess, sys; "
                       f"subprocess.run([sys.executable, '-c', {INSTALLED!r}])",
                 LAUNCHJIT_TRITON="1")
    assert done.stdout == "True\n", done.stderr


def test_environment_with_a_wrong_value(venv):
    done = start(venv, INSTALLED, LAUNCHJIT_TRITON="yes")
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert "LAUNCHJIT_TRITON=yes" in done.stderr


# A Triton of an unknown version: its own one, with another number.
OTHER = """
    import importlib.util, sys
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name != "triton":
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec("triton")
            run = spec.loader.exec_module
            def exec_module(module):
                source = spec.loader.get_source("triton").replace(
                    "__version__ =", "__version__ = '3.99.0' #")
                exec(compile(source, spec.origin, "exec"), module.__dict__)
            spec.loader.exec_module = exec_module
            return spec
    sys.meta_path.insert(0, Finder())
"""


def test_environment_with_an_unknown_version(venv):
    done = start(venv, textwrap.dedent(OTHER) + INSTALLED, LAUNCHJIT_TRITON="1")
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
    assert done.stderr.count("Triton is left as it is") == 1 and "3.99.0" in done.stderr
    done = start(venv, textwrap.dedent(OTHER) + INSTALLED, LAUNCHJIT_TRITON="require")
    assert done.returncode and "3.99.0" in done.stderr


def test_environment_without_a_library(venv):
    """What is wrong with launchjit itself does not end a program either."""
    done = start(venv, INSTALLED.replace("m and", "m and hasattr(m, 'installed') and"),
                 LAUNCHJIT_TRITON="1", LAUNCHJIT_LIBRARY="/nonexistent.so")
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
    assert "Triton is left as it is" in done.stderr
    done = start(venv, INSTALLED, LAUNCHJIT_TRITON="require", LAUNCHJIT_LIBRARY="/nonexistent.so")
    assert done.returncode and "/nonexistent.so" in done.stderr


def module(*arguments, cwd=None):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [str(PACKAGE)] + ([str(HERE / "standin")] if worlds.VERSION < (3, 8) else []))}
    return subprocess.run([sys.executable, "-m", "launchjit.triton", *arguments], env=env,
                          text=True, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


SCRIPT = ("import sys, triton, launchjit.triton\n"
          "print(__name__, sys.argv, sys.path[0], launchjit.triton.installed())\n")


def test_module_runs_programs(tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    done = module(str(tmp_path / "program.py"), "-x", "a b")
    assert done.stdout == f"__main__ {[str(tmp_path / 'program.py'), '-x', 'a b']} {tmp_path} True\n", \
        done.stderr
    done = module("-m", "program", "y", cwd=tmp_path)
    assert done.stdout == f"__main__ {[str(tmp_path / 'program.py'), 'y']} {tmp_path} True\n", \
        done.stderr
    done = module("-c", SCRIPT, "z", cwd=tmp_path)
    assert done.stdout == f"__main__ {['-c', 'z']}  True\n", done.stderr


def test_module_requires_where_the_environment_does_not(venv):
    arguments = ["-m", "launchjit.triton", "-c", textwrap.dedent(OTHER) + INSTALLED]
    done = start(venv, *arguments, LAUNCHJIT_TRITON="1")
    assert done.returncode and "3.99.0" in done.stderr and not done.stdout, done.stderr


def test_module_is_used_wrongly():
    for arguments in ((), ("-m",), ("-c",)):
        done = module(*arguments)
        assert done.returncode == 2 and done.stderr.startswith("usage: ")
    assert module("--help").stdout.startswith("usage: ")
    assert module("/nonexistent.py").returncode
    done = module("-c", "raise SystemExit(7)")
    assert (done.returncode, done.stderr) == (7, "")


def test_fork():
    """A child launches where the parent has installed and not used CUDA."""
    run("""
        import os
        launchjit.triton.install()
        import triton
        child = os.fork()
        if not child:
            driver()
            assert is_ours(kernel()[(1,)](1).run)
            assert len(worlds.recorded()) == 1
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        driver()
        kernel()[(1,)](1)
    """)


def test_launch_metadata():
    """Built only when somebody listens, and then as Triton builds it."""
    run("""
        import triton
        from triton import knobs
        driver()
        seen = []
        def note(metadata):
            seen.append(metadata if metadata is None else metadata.get())
        from install_kernels import noted, calls
        def launch():
            del seen[:], calls[:]
            noted[(2,)](5)
            return list(seen), list(calls)
        def add(which):
            hook = getattr(knobs.runtime, which)
            if hasattr(hook, "add"):
                hook.add(note)
            else:
                setattr(knobs.runtime, which, note)
        def remove(which):
            hook = getattr(knobs.runtime, which)
            if hasattr(hook, "remove"):
                hook.remove(note)
            else:
                setattr(knobs.runtime, which, None)
        def all_ways():
            noted[(2,)](5)
            kernel = next(iter(noted.device_caches[0][0].values()))
            results = [launch()]
            for hooks in (["launch_enter_hook"], ["launch_exit_hook"],
                          ["launch_enter_hook", "launch_exit_hook"]):
                [add(hook) for hook in hooks]
                got = launch()
                for metadata in got[0]:
                    if metadata:
                        metadata.pop("function", None)
                results.append(got)
                [remove(hook) for hook in hooks]
            # Triton's own tests put a copy of all knobs in their place.
            original, knobs.runtime = knobs.runtime, knobs.runtime.copy()
            knobs.runtime.launch_enter_hook = note
            got = launch()
            results.append((len(got[0]), got[1]))
            knobs.runtime = original
            for value in (None, note):
                before = knobs.runtime.launch_enter_hook
                knobs.runtime.launch_enter_hook = value
                got = launch()
                results.append((len(got[0]), got[1]))
                knobs.runtime.launch_enter_hook = before
            kernel[(2, 1, 1)](5)
            return results
        theirs = all_ways()
        launchjit.triton.install()
        noted.device_caches.clear()
        ours = all_ways()
        # Nobody listened to the first, for which Triton built what nobody saw.
        assert ours == theirs, (ours, theirs)
        assert ours[1][1] == [(2,)] or worlds.VERSION == (3, 4), ours
    """)
