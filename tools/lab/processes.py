# SPDX-License-Identifier: Apache-2.0
"""The processes of an experiment: workers and clients, their output, and the events that concern them."""

import os
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import system

MARK = "DHPVM_LAB"  # in the environment of every process of an experiment
PULSE = 0.05  # in which a process with a share of a processor runs once
DISK = 1 << 20  # bytes of a disk that can be filled
# In the folder where a client runs: the scenario's events have all happened.
OVER = "events-are-over"


def parents():
    """The number of each process's parent, by its own."""
    found = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rsplit(b")", 1)[1].split()[:2]
        except OSError:
            continue
        if state != b"Z":
            found[int(name)] = int(parent)
    return found


def bind(pids, processors):
    """Lets these processes, and what they will start, run on these processors only."""
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), processors)
        except OSError:
            pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A dhpvm-run in a folder of its own, where it also has its temporary files and its cache."""

    def __init__(self, actor, name, folder, faults):
        self.actor, self.name = actor, name
        self.folder = folder / name
        self.faults = faults  # the library that is preloaded for it, if there is one
        self.process = None
        self.was_harmed = False  # by an event that ends processes
        self.was_exhausted = False
        self.is_ending = False  # an event has asked the process that runs now to end
        self.is_stopped = False
        self.is_slow = False  # it has not ended, and the machine has hardly let it run
        self.slowing = None  # the thread that stops and continues it
        self.share = actor.share
        self.clock = None
        self.has_disk = False  # of its own, which can be filled
        self.log_begins = 0  # where in the error output the process that runs now begins
        self.cache = self.folder / "cache"
        self.errors_path = str(self.folder / "errors")
        self.errors_read = (0, "")  # bytes of the error output, and its text
        for part in ("cache", "temporary", "work"):
            (self.folder / part).mkdir(parents=True)
        for stream in ("out", "errors"):
            (self.folder / stream).touch()

    def environment(self):
        found = {
            **os.environ,
            MARK: "1",
            "HOME": str(self.folder),
            "XDG_CACHE_HOME": str(self.cache),
            "TMPDIR": str(self.folder / "temporary"),
        }
        if self.faults:
            # A number of nanoseconds that an event changes.
            self.clock = self.folder / "clock"
            self.clock.write_bytes(bytes(8))
            found |= {"LD_PRELOAD": str(self.faults), "DHPVM_LAB_CLOCK": str(self.clock)}
        return found

    def start(self, command, network=None):
        def prepare():
            # The experiment ignores it, and its processes would inherit that.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if network is not None:
                system.join_network(network)

        self.is_stopped = self.is_ending = False
        with open(self.folder / "out", "ab") as out, open(self.folder / "errors", "ab") as errors:
            self.log_begins = errors.tell()
            # A group of its own, which also has what it starts.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                process_group=0,
                preexec_fn=prepare,
                cwd=self.folder / "work",
                env=self.environment(),
            )
        if self.share < 1:
            self.slow(self.share)

    def out(self):
        return (self.folder / "out").read_text(encoding="utf-8", errors="replace")

    def errors(self):
        """The error output so far. Called often, so the file is read only when it has grown."""
        size = os.stat(self.errors_path).st_size
        if size != self.errors_read[0]:
            with open(self.errors_path, "rb") as file:
                data = file.read()
            self.errors_read = (len(data), data.decode(errors="replace"))
        return self.errors_read[1]

    def log(self):
        """The error output of the process that runs now, if it was started several times."""
        return (self.folder / "errors").read_bytes()[self.log_begins :].decode(errors="replace")

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def family(self, known=None):
        """The numbers of the process and of what it has started. `known`: those of parents()."""
        known = known or parents()
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in known.items() if parent == pid]
        return found

    def signal_all(self, number):
        if self.process is not None:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass

    # Events.

    def kill(self):
        self.was_harmed = self.is_ending = True
        if self.runs():
            self.process.kill()
            self.signal_all(signal.SIGCONT)

    def interrupt(self):
        self.was_harmed = self.is_ending = True
        if self.runs():
            self.process.send_signal(signal.SIGINT)

    def terminate(self):
        self.was_harmed = self.is_ending = True
        if self.runs():
            self.process.send_signal(signal.SIGTERM)

    def stop(self):
        self.is_stopped = True
        self.signal_all(signal.SIGSTOP)

    def go_on(self):
        self.is_stopped = False
        self.signal_all(signal.SIGCONT)

    def slow(self, share):
        """Limits it to a share of one processor."""
        self.share = share
        if share < 1 and self.slowing is None:
            self.slowing = threading.Thread(target=self.pulse, daemon=True)
            self.slowing.start()

    def pulse(self):
        usual = os.sched_getaffinity(0)
        bound = set()
        while self.share < 1 and self.runs():
            family = set(self.family())
            bind(family - bound, {min(usual)})
            bound = family
            if not self.is_stopped:
                self.signal_all(signal.SIGCONT)
            time.sleep(PULSE * self.share)
            self.signal_all(signal.SIGSTOP)
            time.sleep(PULSE * (1 - self.share))
        if self.runs():
            bind(self.family(), usual)
        if not self.is_stopped:
            self.signal_all(signal.SIGCONT)
        self.slowing = None

    def exhaust(self):
        """Takes away its descriptors: it can open nothing more."""
        self.was_exhausted = True
        for pid in self.family():
            try:
                used = len(os.listdir(f"/proc/{pid}/fd"))
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))
            except OSError:
                pass

    def restore(self):
        for pid in self.family():
            try:
                hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(hard, 1024), hard))
            except OSError:
                pass

    def skew(self, by):
        before = struct.unpack("q", self.clock.read_bytes())[0]
        with open(self.clock, "r+b") as clock:
            clock.write(struct.pack("q", before + int(by * 1e9)))

    def release(self):
        """Undoes events: it runs at full speed, with descriptors and space on its disk."""
        self.share = 1.0
        slowing = self.slowing
        if slowing is not None:
            slowing.join()
        if self.is_stopped:
            self.go_on()
        if self.runs():
            self.restore()

    def end(self):
        self.release()
        if self.runs():
            self.process.kill()
        self.signal_all(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        if self.has_disk:
            system.unmount(self.folder / "cache")
            self.has_disk = False


class Worker(Process):
    """A worker that lends the host's cores."""

    def __init__(self, actor, folder, faults):
        super().__init__(actor, actor.name, folder, faults)
        self.port = None
        self.address = None  # where clients find it
        self.usual = None  # its descriptors and processes before anybody came

    def make_disk(self):
        """Puts its caches and temporary files on a disk of their own."""
        system.mount("tmpfs", self.folder / "cache", "tmpfs", 0, f"size={DISK}")
        (self.folder / "temporary").rmdir()
        (self.folder / "cache" / "temporary").mkdir()
        (self.folder / "temporary").symlink_to("cache/temporary")
        self.has_disk = True

    def fill(self):
        try:
            with open(self.folder / "cache" / "filled", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
        except OSError:
            pass

    def free(self):
        (self.folder / "cache" / "filled").unlink(missing_ok=True)

    def release(self):
        super().release()
        if self.has_disk:
            self.free()

    def crash(self):
        """Ends the processes of its sessions by a signal."""
        self.was_harmed = True
        for pid in self.sessions():
            try:
                os.kill(pid, signal.SIGABRT)
            except ProcessLookupError:
                pass

    def sessions(self):
        """The processes of its sessions, and the one that waits for the next."""
        return [pid for pid, parent in parents().items() if parent == self.process.pid]

    def sessions_begun(self):
        return set(re.findall(r"session (\d+): '", self.log()))

    def sessions_open(self):
        """The numbers of sessions that the log has not seen end."""
        return self.sessions_begun() - set(re.findall(r"session (\d+): ended", self.log()))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def is_ready(self):
        return "listening at" in self.log()
