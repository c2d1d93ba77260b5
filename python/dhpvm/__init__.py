# SPDX-License-Identifier: Apache-2.0
"""DHPVM from Python: programs in the language, and Python functions, compiled and run in parallel on what is near.

    import dhpvm, numpy as np

    @dhpvm.jit
    def saxpy(a, x, y):
        for i in dhpvm.prange(len(x)):
            y[i] += a * x[i]

docs/python.md explains it from a loop over NumPy arrays to two workers.
"""

from __future__ import annotations

from . import _core, arrays, errors
from .arrays import Array
from .engine import Device, Engine, Worker, WorkerUse, current, make_key, trace, workers
from .errors import *  # noqa: F403: the exceptions
from .jit import CompiledFunction, jit
from .module import Function, Module
from .options import Rights
from .parallel import atomic_add, normal, prange, uniform
from .progress import Progress, progress

__version__ = _core.version()
Object = _core.Object


def array(elements, dtype=None):
    """A copy of the elements that stays where functions use it, on a device for example, until it is looked at."""
    return arrays.make(elements, dtype)


def compile(source, *, name="program.dhp", import_paths=(), **limits):
    """A module from source text in the language."""
    return current().compile(source, name=name, import_paths=import_paths, **limits)


def load(path, *, import_paths=(), **limits):
    """A module from a file of source text or bytecode, or from the bytes of a .bc file."""
    return current().load(path, import_paths=import_paths, **limits)


def define(name, signature, function=None):
    """Makes a function of Python callable from programs: see Engine.define."""
    return current().define(name, signature, function)


def load_ipython_extension(shell):
    """%load_ext dhpvm"""
    from .notebook import load

    load(shell)


_core.set_exception_maker(errors.make_exception)
_core.set_array_maker(arrays.to_array)
_core.set_held_maker(arrays.of_place, Array)
_core.set_list_maker(arrays.from_list)
_core.set_tensor_maker(arrays.of_tensor)
_core.set_callback_array_maker(arrays.of_callback)
