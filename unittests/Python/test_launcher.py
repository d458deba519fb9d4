# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import launchjit as lj
import pytest
from helpers import JIT


@pytest.mark.parametrize("entry", ["c", "packed", "python"])
def test_made_once(entry):
    signature = lj.Signature(f"a: *fp32, b: fp16, made_once_{entry}: i8, c: i64, d: u8")
    first = lj.Launcher(signature, entry=entry)
    second = lj.Launcher("*i8, fp16, i8, i64, u8", entry=entry)
    assert first.key == second.key
    assert first.address == second.address != 0
    assert first.signature is signature and first.entry == entry
    if not JIT:
        assert first.origin == second.origin == "interpreted"
        assert (first.size, first.code_size, first.compile_ns, first.link_ns) == (0, 0, 0, 0)
        return
    assert (first.origin, second.origin) == ("compiled", "memory")
    assert first.size > first.code_size > 0
    assert first.compile_ns > 0 and first.link_ns > 0
    assert first.origin in repr(first) and first.key in repr(first)


def test_keys_differ():
    keys = {lj.Launcher(signature, entry=entry).key
            for signature in ("i32", "u32", "*i32", "i32, i32")
            for entry in ("c", "packed", "python")}
    assert len(keys) == 12
    assert all(len(key) == 32 and int(key, 16) for key in keys)


def test_code():
    launcher = lj.Launcher("*fp32, *fp32, i32", entry="c")
    symbol = f"lj_c_{launcher.key}"
    assert f"@{symbol}(" in launcher.ir()
    assert f"{symbol}:" in launcher.asm()
    code = launcher.object()
    assert code.startswith(b"\x7fELF") and symbol.encode() in code
    if JIT:
        assert len(code) == launcher.size


def test_errors():
    with pytest.raises(lj.Error, match="cobol"):
        lj.Launcher("i32", entry="cobol")
    with pytest.raises(lj.Error, match="no-such-contract"):
        lj.Launcher("i32", contract="no-such-contract")
    with pytest.raises(lj.SignatureError):
        lj.Launcher("i33")
