# SPDX-License-Identifier: Apache-2.0
"""The part that dhpvm.dask and dhpvm.ray share: an engine here that workers dial, one on each machine of a cluster."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import tempfile
from pathlib import Path

from .engine import Engine, Worker, forget, make_key

PORT = 7471


class DialledWorker:
    """A worker in this process that dials the program at `address`, unless another process of this machine does so.
    `key` is the content of the key file, which travels as the cluster sends it."""

    def __init__(self, address, key, options):
        mark = hashlib.sha256(f"{os.getuid()} {address}".encode()).hexdigest()[:16]
        self._lock = open(Path(tempfile.gettempdir()) / f"dhpvm-{mark}.lock", "w", encoding="utf-8")
        self._worker = None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        with _file_of(key) as path:
            self._worker = Worker(clients=[address], key=path, **options)

    def close(self):
        if self._worker is not None:
            self._worker.close()
        self._lock.close()


@contextlib.contextmanager
def engine(start, listen=None, key=None, worker=None, **more):
    """In the block, loops run on what workers lend. `start(address, key, worker)` is a context that has them dial."""
    address = listen or f"{own_address()}:{PORT}"
    with contextlib.ExitStack() as stack:
        if key is None:
            key = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "key"
            make_key(key)
        used = Engine(listen=address, key=key, **{"device": "remote", **more})
        stack.callback(forget, used)
        stack.enter_context(start(address, Path(key).read_bytes(), worker or {}))
        yield stack.enter_context(used)


def own_address():
    """The address under which other machines are likely to reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: the system only chooses an interface
        except OSError:
            return "127.0.0.1"
        return probe.getsockname()[0]


@contextlib.contextmanager
def _file_of(content):
    """A file with this content that only this user can read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        path.touch(0o600)
        path.write_bytes(content)
        yield path
