# Tests of the launchjit tool: RUN lines, read with FileCheck.
#
# Substitutions: %launchjit, %python, %make_launchers and %forge_entry (see Inputs), %kernels (the folder of the bundled
# kernels), %build and %root (the build's and the source's), %libdir ("lib"), %cuda_include.
# LLVM's tools (FileCheck, not, llvm-readelf, ...) are called by name. Features:
# terminal (the system has pseudo-terminals), gdb (it can trace), release (optimised, no sanitizer), asan or tsan, X86 or AArch64, llvm-19 to
# llvm-22. No variable LAUNCHJIT_* is set unless a RUN line sets it.
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "launchjit"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["CMakeLists.txt", "Inputs"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.launchjit_build_dir, "unittests", "tools")

for name in [n for n in config.environment if n.startswith("LAUNCHJIT_")]:
    del config.environment[name]
config.environment["LC_ALL"] = "C.UTF-8"
# A test of the cache says where its own is.
config.environment["LAUNCHJIT_CACHE"] = "off"

if not os.path.exists(os.path.join(config.llvm_tools_dir, "FileCheck")):
    lit_config.fatal(f"{config.llvm_tools_dir} has no FileCheck: run tools/dev deps")
config.environment["PATH"] = config.llvm_tools_dir + os.pathsep + config.environment["PATH"]

config.substitutions += [
    ("%launchjit", os.path.join(config.launchjit_build_dir, "bin", "launchjit")),
    ("%make_launchers", os.path.join(config.launchjit_build_dir, "bin", "launchjit-make-launchers")),
    ("%forge_entry", os.path.join(config.launchjit_build_dir, "bin", "launchjit-forge-entry")),
    ("%python", sys.executable),
    ("%build", config.launchjit_build_dir),
    ("%root", config.launchjit_source_dir),
    ("%libdir", config.launchjit_libdir),
    ("%cuda_include", config.cuda_include_dir),
    ("%kernels", os.path.join(config.launchjit_source_dir, "tools", "launchjit", "kernels")),
]

config.available_features.add(config.launchjit_target)
config.available_features.add(f"llvm-{config.llvm_version}")
for sanitizer, feature in (("address", "asan"), ("thread", "tsan")):
    if sanitizer in config.launchjit_sanitizer:
        config.available_features.add(feature)
try:
    for terminal in os.openpty():
        os.close(terminal)
    config.available_features.add("terminal")
except OSError:
    pass
# A container may not let it trace, and a sanitizer's runtime not be traced.
if shutil.which("gdb") and not config.launchjit_sanitizer:
    run = subprocess.run(["gdb", "-nx", "-batch", "-ex", "run", sys.executable], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if "exited normally" in run.stdout:
        config.available_features.add("gdb")
if config.launchjit_build_type == "Release" and not config.launchjit_sanitizer:
    config.available_features.add("release")
