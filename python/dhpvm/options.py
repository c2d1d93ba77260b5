# SPDX-License-Identifier: Apache-2.0
"""Options of engines and programs, as the compiled part takes them: checked, in bytes and nanoseconds."""

from __future__ import annotations

import os
from collections import namedtuple

from .errors import ArgumentError

Rights = namedtuple("Rights", "read write environment run", defaults=((), (), False, False))
Rights.__doc__ = """The parts of the system that programs may use: folders with all below them, whether the environment
may be read, and whether other programs may be started, which have all rights of the process."""

ENGINE = {"threads", "system_access", "code_cache", "code_cache_directory", "trace", "rights", "workers", "listen",
          "arrival", "silence", "provider", "key", "certificate", "private_key", "authority", "seal", "list_kernels",
          "list_language"}
PROGRAM = {"heap", "off_heap", "device_memory", "stack", "fuel", "deadline", "device", "require_device", "jit",
           "jit_threshold", "jit_wait", "check_races", "policy", "batch", "rights"}
WORKER = {"devices", "listen", "clients", "patience", "silence", "time", "idle", "memory", "sessions", "provider",
          "key", "certificate", "private_key", "authority", "seal"}
_TIMES = {"arrival", "silence", "deadline", "patience", "time", "idle"}
_PATHS = {"key", "certificate", "private_key", "authority", "code_cache_directory"}
_CHOICES = {
    "seal": {"none": 0, "integrity": 1, "full": 2},
    "jit": {"off": 0, "on": 1, "eager": 2, "baseline": 3, False: 0, True: 1},
    "policy": {"fastest": 0, "remote": 1},
}


def take(options, known):
    """The options that are given, with the names and units of the C interface."""
    taken = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"there is no option '{name}'; there are {', '.join(sorted(known))}")
        if value is None:
            continue
        if name in _CHOICES:
            if value not in _CHOICES[name]:
                choices = ", ".join(repr(choice) for choice in _CHOICES[name] if isinstance(choice, str))
                raise ArgumentError(f"{name} is {value!r}, and can be {choices}")
            value = _CHOICES[name][value]
        elif name in _TIMES:
            name, value = f"{name}_ns", nanoseconds(value)
        elif name == "rights":
            value = _rights(value)
        elif name in _PATHS:
            value = os.fspath(value)
        elif name in ("workers", "devices", "clients") or (name == "listen" and known is WORKER):
            value = [value] if isinstance(value, str) else list(value)
        taken[name] = value
    return taken


def _rights(given):
    """Rights as the compiled part takes them."""
    if not isinstance(given, Rights):
        raise ArgumentError(f"rights is {given!r}, and should be dhpvm.Rights(read=[..], write=[..])")
    folders = ([os.fspath(folder) for folder in _listed(folders)] for folders in given[:2])
    return (*folders, bool(given.environment), bool(given.run))


def _listed(value):
    return [value] if isinstance(value, (str, os.PathLike)) else value


def nanoseconds(seconds):
    """Seconds, or a datetime.timedelta, as nanoseconds."""
    if hasattr(seconds, "total_seconds"):
        seconds = seconds.total_seconds()
    if isinstance(seconds, (str, bytes)) or not hasattr(seconds, "__float__"):
        raise TypeError(f"a time is a number of seconds or a timedelta, and this is {type(seconds).__name__}")
    if seconds < 0:
        raise ArgumentError(f"a time of {seconds} seconds is negative")
    if not seconds * 1e9 < 2**63:
        raise ArgumentError(f"a time of {seconds} seconds: it can be 292 years at most")
    return int(seconds * 1e9)
