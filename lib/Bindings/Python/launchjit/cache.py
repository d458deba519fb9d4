# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The object cache: launchers' code, kept on disk for the next process.

path: the user's own cache, a folder; None where there is no place for one.
layers: the read-only caches that are searched before it, a tuple of paths.
mode: "rw", "ro" or "off".
max_bytes: above it, the least recently used entries go.

LAUNCHJIT_CACHE, LAUNCHJIT_CACHE_DIR, LAUNCHJIT_CACHE_PATH and
LAUNCHJIT_CACHE_MAX_SIZE set these when the process first uses the cache. No
failure of it ever changes a result: each is a miss, and is counted.
"""

from __future__ import annotations

import os
from ctypes import c_uint64, c_void_p

from . import _lib
from ._errors import ArgumentRangeError, Error, check
from ._lib import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    path: str | None
    layers: tuple[str, ...]
    mode: str
    max_bytes: int

_MODES = ("off", "ro", "rw")


class Entry(_lib.Record):
    """One file of a cache.

    key: 32 hexadecimal digits.
    path: of the file.
    bytes: its size.
    last_used: seconds since the epoch, to within an hour.
    """

    __slots__ = ("key", "path", "bytes", "last_used")


def stats() -> dict[str, int]:
    """What the cache did so far in this process: "hits" and "misses", what was
    "stored", entries refused as "damaged", files and folders refused as
    "foreign" for who may write them, system calls that "failed", and entries
    "pruned"."""
    result = _lib.CacheStats()
    check(lib.lj_cache_get_stats(result))
    return {name: getattr(result, name) for name, _ in result._fields_[1:]}


def entries() -> list[Entry]:
    """The entries of all caches that are searched, in that order. A folder that
    is refused or cannot be read has none: verify says why."""
    return [entry for _, found, _ in _folders() for entry in found]


def verify(recompile: bool = False) -> list[tuple[str, str]]:
    """Reads every entry to its last byte; gives the path of each that is of no
    use, and why, and so each folder that is refused or cannot be read. With
    `recompile`, each is compared with fresh code too, but for those of other
    versions of the library or of LLVM; raises Error where code cannot be
    made."""
    wrong = []
    for folder, found, problem in _folders():
        if problem:
            wrong.append((folder, problem))
        for entry in found:
            problem = _problem(os.fsencode(entry.path), recompile)
            if problem:
                wrong.append((entry.path, problem))
    return wrong


def prune(max_bytes: int | None = None, *, dry_run: bool = False) -> list[Entry]:
    """Removes the entries of the user's own cache that were not used for the
    longest time, until at most `max_bytes` (those in force, unless given) are
    left; gives what was removed, or with `dry_run` would be. Raises Error where
    another process is pruning, or the mode is not "rw"."""
    if max_bytes is None:
        max_bytes = _info().max_bytes
    if not 0 <= max_bytes < 2**64:
        raise ArgumentRangeError(f"max_bytes: {max_bytes} does not fit; allowed is 0 to {2**64 - 1}")
    listing = c_void_p()
    check(lib.lj_cache_prune(c_uint64(max_bytes), bool(dry_run), listing, None))
    return _take(listing)


def clear(*, dry_run: bool = False) -> list[Entry]:
    """Removes every entry of the user's own cache, as prune does."""
    listing = c_void_p()
    check(lib.lj_cache_clear(bool(dry_run), listing, None))
    return _take(listing)


def _info() -> _lib.CacheInfo:
    result = _lib.CacheInfo()
    check(lib.lj_cache_get_info(result))
    return result


def _layers() -> list[bytes]:
    paths = []
    for i in range(_info().num_layers):
        layer = _lib.String()
        check(lib.lj_cache_layer(i, layer))
        paths.append(layer.bytes())
    return paths


def _folders() -> list[tuple[str, list[Entry], str]]:
    """Each folder in the order of the search: its path, its entries, and why they
    are not known or ""."""
    folders = []
    for path in filter(None, [*_layers(), _info().directory.bytes()]):
        listing = c_void_p()
        try:
            check(lib.lj_cache_list(path, len(path), listing))
            folders.append((os.fsdecode(path), _take(listing), ""))
        except Error as error:
            folders.append((os.fsdecode(path), [], str(error)))
    return folders


def _take(listing) -> list[Entry]:
    try:
        return [_entry(listing, i) for i in range(lib.lj_cache_listing_size(listing))]
    finally:
        lib.lj_cache_listing_delete(listing)


def _entry(listing, index) -> Entry:
    file = _lib.CacheFile()
    check(lib.lj_cache_listing_get(listing, index, file))
    return Entry(str(file.key), os.fsdecode(file.path.bytes()), file.bytes, file.last_used)


# Of lj_stub_output and lj_status.
_OBJECT, _INVALID_ARGUMENT, _NOT_FOUND, _UNSUPPORTED = 0, 1, 7, 11


def _problem(path: bytes, recompile: bool) -> str:
    """What is wrong with an entry; "" for nothing."""
    handle = c_void_p()
    status, message = _outcome(lib.lj_cache_entry_read(path, len(path), handle))
    if status:
        return message if status != _NOT_FOUND else ""  # gone since it was listed
    try:
        if not recompile:
            return ""
        fresh = _lib.Buffer()
        status, message = _outcome(lib.lj_cache_entry_recompile(handle, _OBJECT, fresh))
        if status == _UNSUPPORTED:
            raise Error(message)  # it is not the entry's fault
        if status:
            return message if status != _INVALID_ARGUMENT else ""  # of another build
        if fresh.take() == lib.lj_cache_entry_object(handle).bytes():
            return ""
        return "its code is not what is made of its key now"
    finally:
        lib.lj_cache_entry_delete(handle)


def _outcome(error) -> tuple[int, str]:
    """An lj_error's status, 0 for null, and what it says; gives it back."""
    status = lib.lj_error_status(error) if error else 0
    try:
        check(error)
    except Error as e:
        return status, str(e)
    return 0, ""


def __getattr__(name):
    if name == "path":
        return os.fsdecode(_info().directory.bytes()) or None
    if name == "layers":
        return tuple(map(os.fsdecode, _layers()))
    if name == "mode":
        return _MODES[_info().mode]
    if name == "max_bytes":
        return _info().max_bytes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
