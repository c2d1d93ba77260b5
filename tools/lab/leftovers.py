# SPDX-License-Identifier: Apache-2.0
"""Finds what processes leave behind: sessions, descriptors, other processes, sockets, files, shared memory.

Each function returns a list of lines; an empty one is right.
"""

import os
import signal
import time
from pathlib import Path

from patience import Patience, states_of
from processes import MARK, OVER, parents

PATIENCE = 20.0  # seconds for what takes a moment
TICK, LONGEST_TICK = 0.005, 0.05
# A worker opens a few things once, such as libraries and what lies under its log.
SPARE_DESCRIPTORS = 4
SOCKET_STATES = {"01": "connected", "0A": "listening"}


def wait(condition, processes=list, seconds=None):
    """Whether it became true in time, which stands still while one of these processes, given as a function, waits for
    a processor."""
    if condition():
        return True
    patience = Patience(PATIENCE if seconds is None else seconds, processes)
    while not condition():
        if patience.is_over():
            return False
        time.sleep(min(TICK + (time.monotonic() - patience.begin) / 20, LONGEST_TICK))
    return True


def of_sessions(worker):
    """Sessions whose clients have ended."""
    if not wait(lambda: not worker.runs() or not worker.sessions_open(), worker.family):
        still = ", ".join(sorted(worker.sessions_open()))
        return [f"{worker.name}: sessions {still} have not ended\n{states_of(worker.family())}"]
    # One waits for the next session, if it could be started.
    if not wait(lambda: not worker.runs() or len(worker.sessions()) <= 1, worker.family):
        return [f"{worker.name}: {len(worker.sessions())} processes of sessions, and no session"]
    if worker.usual is None:
        return []
    most = worker.usual + SPARE_DESCRIPTORS
    if worker.runs() and not wait(lambda: worker.descriptors() <= most, worker.family):
        named = [os.readlink(path) for path in Path(f"/proc/{worker.process.pid}/fd").iterdir()]
        return [f"{worker.name}: {len(named)} descriptors, after {worker.usual} before: {', '.join(sorted(named))}"]
    return []


def of_ending(worker):
    """Asks a worker to end, and waits until it and all processes that it has started have ended."""
    if not worker.runs():
        return []
    family = worker.family()
    # A second signal would not wait for the clients that are asked to leave.
    if not worker.is_ending:
        worker.process.send_signal(signal.SIGTERM)
    if not wait(lambda: not worker.runs(), worker.family):
        return [f"{worker.name} has not ended after SIGTERM:\n{worker.errors()}"]
    if worker.process.returncode != 0 and not worker.was_harmed:
        return [f"{worker.name} ended with code {worker.process.returncode} after SIGTERM:\n{worker.errors()}"]
    left = set(family) & set(parents())
    return [f"{worker.name}: process {pid} has outlived it" for pid in sorted(left)]


def of_processes(known, alone):
    """Processes that have lost their parents, and still exist. All others of the experiment must have ended."""

    def left():
        reap()
        own = os.getpid()
        if alone:
            return [pid for pid in parents() if pid != own and pid not in known]
        return [pid for pid, parent in parents().items() if parent == own and pid not in known and is_marked(pid)]

    if wait(lambda: not left(), left):
        return []
    return [f"process {pid} is left: {command_of(pid)}" for pid in left()]


def reap():
    """Reaps orphans that have ended."""
    for pid, parent in all_children():
        if parent == os.getpid():
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def all_children():
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state == "Z":
            yield int(path.parent.name), int(parent)


def is_marked(pid):
    try:
        return f"{MARK}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "?"


def of_machine(known):
    """The sockets and the shared memory of an experiment with namespaces of its own."""
    found = []
    for place in ("self", *known):
        for table in ("tcp", "tcp6", "udp"):
            for line in Path(f"/proc/{place}/net/{table}").read_text(encoding="utf-8").splitlines()[1:]:
                words = line.split()
                if words[3] in SOCKET_STATES:
                    found.append(f"a {table} socket is left {SOCKET_STATES[words[3]]}: {words[1]} to {words[2]}")
    found += [f"shared memory is left: /dev/shm/{path.name}" for path in Path("/dev/shm").iterdir()]
    for kind in ("shm", "sem", "msg"):
        lines = Path(f"/proc/sysvipc/{kind}").read_text(encoding="utf-8").splitlines()[1:]
        found += [f"System V {kind} is left: {line}" for line in lines]
    return found


def of_files(process):
    """Files where there should be none. Those in the cache do not count: the cache removes parts that killed processes
    have left."""
    return [
        f"{process.name} has left the file {path.relative_to(process.folder)}"
        for part in ("temporary", "work")
        for path in (process.folder / part).rglob("*")
        if path.name != OVER
    ]
