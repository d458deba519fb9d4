# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What takes the place of Triton's CudaLauncher."""

from __future__ import annotations

import functools
import operator
import re

from .._errors import SignatureError
from .._lib import pylib
from ..signature import Signature

# {CUfunction: device}: what load_binary loaded, and where.
devices: dict[int, int] = {}


class KernelSignature(bytes):
    """What build_signature_metadata of Triton 3.7 and later gives, with the types
    that it was made of: a byte does not tell i1 from i32."""

    def __new__(cls, codes, types):
        self = super().__new__(cls, codes)
        self.types = tuple(types)
        self.natives = {}
        return self


def _spell(type) -> str:
    """A type as our grammar has it."""
    if isinstance(type, tuple):
        return "(" + ", ".join(map(_spell, type)) + ")"
    return "*i8" if type[0] == "*" else type


def _make_native(types, version, name="kernel", cooperative=False, pdl=False, names=()):
    """The native callable for kernels of these types, which are expanded."""
    spelled = [_spell(type) for type in types]
    parse = functools.partial(Signature, scratch="g" if version < (3, 5) else "gp",
                              large_parameters=True)
    # Names are for messages; one may be a type's in our grammar, as `half` is, and
    # descriptors, which are taken apart, have more types than names.
    named = [f"{name}: {type}" for name, type in zip(names, spelled)]
    try:
        signature = parse(", ".join(named if len(names) == len(spelled) else spelled))
    except SignatureError:
        signature = parse(", ".join(spelled))
    chain = None
    if version >= (3, 5):
        from triton.knobs import HookChain as chain
    return pylib.lj_python_triton_launch(signature._handle, str(name).encode(errors="replace"),
                                         version[1], bool(cooperative), bool(pdl), devices, chain)


def make_launch(version):
    """The `launch` of the CudaUtils of Triton 3.7 and later."""

    def nest(annotations, types):
        return tuple(nest(a.nested_tuple, types) if a.type == 2 else
                     next(types) if a.type == 1 else "constexpr" for a in annotations)

    def launch(gridX, gridY, gridZ, stream, function, cooperative, pdl, kernel_metadata,
               launch_metadata, enter_hook, exit_hook, global_scratch, profile_scratch,
               annotations, signature, args):
        if not isinstance(signature, KernelSignature):
            raise TypeError("the kernel's signature must be what build_signature_metadata "
                            f"gave, not {type(signature).__name__}")
        nested = nest(annotations, iter(signature.types))
        native = signature.natives.get(nested)
        if native is None:
            native = signature.natives[nested] = _make_native(nested, version)
        return native(gridX, gridY, gridZ, stream, function, cooperative, pdl, global_scratch,
                      profile_scratch, kernel_metadata, launch_metadata, enter_hook, exit_hook,
                      *args)

    return launch


def _expand(types, meta, version):
    """The types with tensor descriptors taken apart, as up to 3.6."""
    metas = iter(meta or ())
    for type in types:
        match = isinstance(type, str) and re.match(r"tensordesc<([^[>]*)\[([^]]*)\]", type)
        if not match:
            yield type
            continue
        rank = match[2].count(",") + 1
        if next(metas, None) is None:
            yield "*" + match[1]
            yield from ["i64"] * (2 * rank)
            if version >= (3, 5):
                yield "i1"
        else:
            yield "nvTmaDesc"
        yield from ["i32"] * rank
        yield from ["i64"] * rank
    assert next(metas, None) is None, "up to Triton 3.7 there is no tensor descriptor in a tuple"


def _leaves(types):
    for type in types:
        if isinstance(type, tuple):
            yield from _leaves(type)
        elif type != "constexpr":
            yield type


def launcher_class(driver, version):
    """A class that takes the place of CudaLauncher in `driver`, which is the
    module triton.backends.nvidia.driver of a Triton of this version: the same
    interface, and the contract triton-3.x.

    Called for a kernel that needs neither scratch memory nor descriptors nor
    instrumentation it runs no Python code of its own. For others Triton's own
    __call__ gets these and calls `launch`.
    """
    theirs = driver.CudaLauncher

    class CudaLauncher(pylib.lj_python_triton_base(), theirs):
        _call = theirs.__call__

        def __init__(self, src, metadata):
            meta = getattr(metadata, "tensordesc_meta", None)
            signature = dict(src.signature)
            make = functools.partial(_make_native, version=version, name=metadata.name,
                                     cooperative=metadata.launch_cooperative_grid,
                                     pdl=metadata.launch_pdl, names=list(signature))
            has_descriptors = any(type.startswith("tensordesc")
                                  for type in _leaves(signature.values()))
            if version >= (3, 7):
                super().__init__(src, metadata)
            else:
                types = list(_expand(signature.values(), meta, version))
                for type in _leaves(types):
                    driver.ty_to_cpp(type)  # KeyError for one that is unknown
                self._set_up(metadata)
                self.launch = make(types)
                if has_descriptors:
                    self.launch = driver.wrap_handle_tensordesc(
                        self.launch, *([signature] if version >= (3, 5) else []), meta)
            if not (has_descriptors or getattr(self, "gsan_enabled", False)
                    or self.global_scratch_size > 0
                    or getattr(self, "profile_scratch_size", 0) > 0):
                native = make(signature.values()) if version >= (3, 7) else self.launch
                super().__setattr__("_native", native)
                super().__setattr__("_direct", True)

        def _set_up(self, metadata):
            self.num_ctas = (getattr(metadata, "num_ctas", 1) if version >= (3, 6) else
                             functools.reduce(operator.mul, metadata.cluster_dims, 1))
            names = ["global_scratch_size", "global_scratch_align", "launch_cooperative_grid",
                     "launch_pdl"]
            if version >= (3, 5):
                names += ["profile_scratch_size", "profile_scratch_align"]
            for name in names:
                setattr(self, name, getattr(metadata, name))

        def __setattr__(self, name, value):
            # Whoever puts another `launch` there, say, wants it called.
            super().__setattr__("_direct", False)
            super().__setattr__(name, value)

    CudaLauncher.__module__ = theirs.__module__
    CudaLauncher.__qualname__ = "CudaLauncher"
    return CudaLauncher
