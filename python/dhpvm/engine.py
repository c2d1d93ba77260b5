# SPDX-License-Identifier: Apache-2.0
"""Engines: what all programs of a process share, and which of them is used where none is named."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections import namedtuple

from . import _core, cache, options

Device = namedtuple("Device", "name description problem")
WorkerUse = namedtuple("WorkerUse", "name host state seal jobs bytes_sent bytes_received")


class Engine:
    """Threads, compiled code, workers and limits that programs share.

    Options of the engine: `threads`, `system_access`, `code_cache`, `code_cache_directory`, `trace`, `rights` (a
    dhpvm.Rights: the parts of the system that programs may use); of workers:
    `connect` (addresses to dial, "host:7471"), `listen`, `key` (a file of `dhpvm.make_key`), `certificate`,
    `private_key`, `authority`, `seal`, `arrival` and `silence` (seconds), `provider`.

    Options of its programs: `device` ("auto", "host", "cuda:0", ..), `require_device` (no loop runs on the host
    instead), `policy` ("fastest" or "remote"), `heap`, `off_heap`, `device_memory`, `stack` (bytes), `fuel`,
    `deadline` (seconds of each call), `jit`, `jit_wait`, `check_races`, `batch`.
    """

    def __init__(self, *, connect=None, **given):
        if connect is not None:
            given["workers"] = connect
        known = options.ENGINE | options.PROGRAM
        unknown = set(given) - known
        if unknown:
            options.take({name: None for name in unknown}, known)
        engine = {name: value for name, value in given.items() if name in options.ENGINE}
        self._program_options = {name: value for name, value in given.items() if name not in engine}
        options.take(self._program_options, options.PROGRAM)
        self.cache_folder = cache.folder(engine)
        self._core = _core.Engine(options.take(engine, options.ENGINE))
        _engines.add(self)

    def compile(self, source, *, name="program.dhp", import_paths=(), **limits):
        """A module from source text."""
        from .module import Module

        return Module(self, self._compiled(source, name, import_paths), {**self._program_options, **limits})

    def _compiled(self, source, name, import_paths):
        return self._core.compile(source, os.fspath(name), [os.fspath(path) for path in import_paths])

    def load(self, path, *, import_paths=(), **limits):
        """A module from a file: source text, or bytecode. Also from the bytes of a .bc file."""
        from .module import Module

        if isinstance(path, (bytes, bytearray, memoryview)):
            program = self._core.load(bytes(path))
        else:
            os.stat(path)  # FileNotFoundError
            program = self._core.open(os.fspath(path), [os.fspath(folder) for folder in import_paths])
        return Module(self, program, {**self._program_options, **limits})

    def define(self, name, signature, function=None):
        """Makes a function of Python callable from programs of the engine that declare it, `extern fn NAME(..);`.

            engine.define("log", "(str)", print)

        `signature` is written as in the language: "(f64, [const f32, 2]) -> i64". Without a function it is a
        decorator. Modules that are made later find it. Exceptions end the call of the program, and pass through it.
        """
        if function is None:
            return lambda given: (self.define(name, signature, given), given)[1]
        if not callable(function):
            raise TypeError(f"define takes a function, and this is {type(function).__name__}")
        from . import signature as signatures

        if "resource" in signature:
            raise TypeError("functions of Python take and return numbers, bool, str, and arrays of numbers")
        results = [signatures.parameter(each).description() for each in signatures.parse(signature)[1]]
        self._core.define(f"host.{name.removeprefix('host.')}", signature, function, results)

    def devices(self):
        """The devices of this machine and of the engine's workers."""
        return [Device(*device) for device in self._core.devices()]

    def workers(self):
        """Each worker that programs have used, or tried to use."""
        return [WorkerUse(*use) for use in self._core.workers()]

    def write_trace(self, path):
        """Writes what the engine has done, if it was made with trace=True, for chrome://tracing or Perfetto."""
        self._core.write_trace(os.fspath(path))

    def __enter__(self):
        """Makes it the engine of functions that are compiled and called until the block ends, in all threads: those
        that the block starts use it as well, which a variable of the context would not give them."""
        _use(self)
        return self

    def __exit__(self, *_):
        _leave(self)


_lock = threading.Lock()
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
_functions: weakref.WeakSet = weakref.WeakSet()
_stack: list[Engine] = []


def current():
    """The engine of the innermost `with`, else the process's own."""
    with _lock:
        if not _stack:
            _stack.append(Engine())
            _core.set_current_engine(_stack[-1])
        return _stack[-1]


def on_end(function):
    """`function.forget(engine)` is called when an engine of `workers` is needed no more, so that it ends."""
    _functions.add(function)


def forget(engine):
    """Has all functions drop what they have been compiled to for an engine, so that it can end."""
    for function in list(_functions):
        function.forget(engine)


@atexit.register
def _settle():
    """No thread may compile while the process ends, when the compiler's own data goes first, or forks."""
    for engine in list(_engines):
        engine._core.settle(5_000_000_000)


def _after_fork():
    """Functions are compiled anew in a process that was forked off: threads of engines do not come along."""
    global _lock
    _lock = threading.Lock()
    _stack.clear()
    _core.set_current_engine(None)


os.register_at_fork(before=_settle, after_in_child=_after_fork)


def _use(engine):
    current()
    with _lock:
        _stack.append(engine)
        _core.set_current_engine(engine)


def _leave(engine):
    """Ends the engine's last block, which need not be the innermost: blocks of several threads end in any order."""
    with _lock:
        del _stack[max(i for i, each in enumerate(_stack) if each is engine)]
        _core.set_current_engine(_stack[-1])


@contextlib.contextmanager
def workers(*addresses, key=None, always=False, **more):
    """In the block, loops run on these workers where that is faster; with always=True all of them run on the workers.

        with dhpvm.workers("gpubox:7471", key="cluster.key"):
            blur(image, result)
    """
    if not addresses:
        raise TypeError("workers takes at least one address: \"gpubox:7471\"")
    if always:
        more.setdefault("device", ",".join(f"remote/{address}" for address in addresses))
    with Engine(connect=list(addresses), key=key, **more) as engine:
        try:
            yield engine
        finally:
            forget(engine)


class Worker:
    """Lends devices of this machine to programs on others, as `dhpvm-run --worker` does, until it is closed.

        dhpvm.Worker(clients="login:7471", key="cluster.key")

    Options: `devices` (all usable ones), `listen` (addresses, port 0 is any free one) or `clients` (addresses of
    programs to dial, which `Engine(listen=..)` waits at), `patience` with these, `sessions`, `memory` (bytes), `time`,
    `idle`, `silence` (seconds), `key`, `certificate`, `private_key`, `authority`, `seal`, `provider`. Its log goes
    to the logger "dhpvm.worker".
    """

    def __init__(self, **given):
        self._engine = Engine()
        self._core = _core.Worker(self._engine._core, options.take(given, options.WORKER))

    def addresses(self):
        """The addresses where it listens, with the ports that the system chose."""
        return self._core.addresses().split()

    def is_needed(self):
        """Whether work can still arrive: one that dials is not when all programs are gone."""
        return self._core.is_needed()

    def drain(self, patience=60.0):
        """Accepts no new sessions, and waits for those that there are."""
        self._core.drain(options.nanoseconds(patience))

    def close(self):
        """Ends all sessions."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class trace:
    """Writes the work of programs in the block as a trace for chrome://tracing or ui.perfetto.dev; notebooks draw it.

        with dhpvm.trace("run.json") as run:
            blur(image, result)

    Takes the options of an Engine.
    """

    def __init__(self, path, **more):
        self.path, self._engine = path, Engine(trace=True, **more)

    def __enter__(self):
        self._engine.__enter__()
        return self

    def __exit__(self, *_):
        self._engine.__exit__()
        self._engine.write_trace(self.path)
        forget(self._engine)

    def events(self):
        """The events as the trace has them: dictionaries whose "ts" and "dur" are microseconds."""
        import json  # which takes longer to import than all this

        with open(self.path, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def _repr_html_(self):
        from .drawing import timeline

        return timeline(self.events())


def make_key(path):
    """Creates a file with a random key for workers and their clients."""
    _core.make_key_file(os.fspath(path))
