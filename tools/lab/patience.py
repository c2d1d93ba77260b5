# SPDX-License-Identifier: Apache-2.0
"""Time limits on a machine that is busy: time for which processes wait for a processor does not count."""

import os
import time
from pathlib import Path

MOST = 4  # times the limit, in all
LOOK = 0.25  # seconds between looks at the processes


class Patience:
    """A limit in seconds for what these processes, given as a function, have to do. On a machine that is busy enough,
    minutes pass before a process has run for a moment: the time of the one that waits longest for a processor is
    added, again and again, because what is waited for may be done by one process after the other."""

    def __init__(self, seconds, processes):
        self.seconds, self.processes = seconds, processes
        self.begin = self.looked = time.monotonic()
        self.waited = waits_of(processes())
        self.added = 0.0

    def is_over(self):
        now = time.monotonic()
        if now - self.looked > min(LOOK, self.seconds / 4):
            self.look(now)
        return now - self.begin > self.seconds + self.added

    def look(self, now):
        waited = waits_of(self.processes())
        longest = max((seconds - self.waited.get(thread, 0) for thread, seconds in waited.items()), default=0)
        # The kernel counts a wait when it is over.
        self.added = min(self.added + longest, now - self.begin, (MOST - 1) * self.seconds)
        self.waited, self.looked = waited, now

    def is_exhausted(self):
        """Whether all of it was added: who is late then may only be slow."""
        return self.added >= (MOST - 1) * self.seconds


def waits_of(pids):
    """The seconds for which each thread of these processes has waited for a processor, by its folder."""
    found = {}
    for thread in threads_of(pids):
        try:
            found[thread] = int((thread / "schedstat").read_text(encoding="utf-8").split()[1]) / 1e9
        except (OSError, IndexError):
            pass
    return found


def threads_of(pids):
    """Their folders below /proc, of the processes that are still there."""
    found = []
    for folder in (Path(f"/proc/{pid}/task") for pid in pids):
        try:
            found += [folder / name for name in sorted(os.listdir(folder), key=int)]
        except OSError:
            pass
    return found


def states_of(pids):
    """A line for each thread of these processes: its state, what it waits for in the kernel, and the seconds that it
    has run, and has waited for a processor."""
    lines = []
    for thread in threads_of(pids):
        try:
            name, rest = (thread / "stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)
            waits = (thread / "wchan").read_text(encoding="utf-8", errors="replace")
            ran, waited = (thread / "schedstat").read_text(encoding="utf-8").split()[:2]
        except OSError:
            continue
        of = f"process {thread.parent.parent.name}, thread {thread.name} {name.partition('(')[2]}"
        lines.append(f"{of}: {rest.split()[0]} {waits}, ran {int(ran) / 1e9:.2f} s, waited {int(waited) / 1e9:.2f} s")
    return "\n".join(lines)
