#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures workers: processes that lend their devices to programs elsewhere, and holds the figures against the bars.

Workers are started as processes of this machine. What is compared takes turns: libfabric by hand with the worker, message by
message, and the worker without a key with the one with a key, run by run.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import Figure, fail, machine, print_figures, progress

BAR_JOB_US, BAR_BATCH_US = 80.0, 10.0
BAR_PLAIN, BAR_PLAIN_RATIO, BAR_SEALED = 4.5, 0.8, 2.0
BAR_JOB_BYTES = 128
BAR_KILLED_MS, BAR_STOPPED_MS = 100.0, 3000.0
BAR_MEMORY_MIB = 40.0

# PoCL-Remote (`pocld`, version 7.1 of 2026), loopback on a quiet machine of this kind: quoted, not measured again here.
POCL = {
    "no-op kernel and clFinish, median": "117 to 140 us",
    "100 kernels, one finish, each": "85 to 95 us",
    "16 MiB written, in plaintext": "3.4 to 4.4 GB/s",
    "16 MiB read": "4.6 to 5.7 GB/s",
}


class Worker:
    """A process of dhpvm-run --worker that listens at a port of its own choice."""

    def __init__(self, binaries, *options):
        self.log = tempfile.NamedTemporaryFile(prefix="dhpvm-worker-", suffix=".log")
        command = [binaries / "dhpvm-run", "--worker", "--listen=127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        deadline = time.monotonic() + 30
        while not (found := re.search(r"listening at (\S+)", self.text())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end()
                fail(f"{' '.join(map(str, command))} does not listen:\n{self.text()}")
            time.sleep(0.01)
        self.address = found.group(1)

    def text(self):
        return Path(self.log.name).read_text(errors="replace")

    def resident_mib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


@dataclass
class Samples:
    """Values of figures of several runs, by name."""

    values: dict = field(default_factory=dict)
    units: dict = field(default_factory=dict)

    def add(self, lines):
        for line in lines.splitlines():
            entry = json.loads(line)
            self.values.setdefault(entry["name"], []).append(entry["value"])
            self.units[entry["name"]] = entry["unit"]

    def median(self, name):
        return statistics.median(self.values[name])

    def figure(self, label, name, bar=None, at_least=False):
        return Figure.of(label, self.median(name), self.units[name], bar, at_least)


def upload_bar(samples):
    """What an upload in plaintext must reach, beside the quicker of the two ways to use libfabric by hand."""
    raw = max(samples.median(f"libfabric, {how}, 16 MiB") for how in ("spinning", "blocking"))
    return min(BAR_PLAIN, BAR_PLAIN_RATIO * raw)


class Report:
    def __init__(self, binaries, folder, options):
        self.binaries, self.folder, self.options = binaries.resolve(), Path(folder), options
        self.figures, self.notes = [], []
        for name in ("dhpvm-run", "remote_bench"):
            if not (self.binaries / name).is_file():
                fail(f"there is no {self.binaries / name}: build with -DDHPVM_BENCH=ON, as `./dev build release` does")
        self.key = self.folder / "key"
        subprocess.run([self.binaries / "dhpvm-run", f"--make-key={self.key}"], check=True)

    def worker(self, *options):
        return Worker(self.binaries, *options)

    def queues(self, worker, *options):
        """What remote_bench says of the host device of a worker."""
        command = [self.binaries / "remote_bench", f"{worker.address}/host", "--json", *map(str, options)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
        if done.returncode != 0:
            fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}; the worker says\n{worker.text()}")
        return done.stdout

    def loopback(self):
        plain, sealed = Samples(), Samples()
        key = f"--key-file={self.key}"
        with self.worker("--device=host") as open_worker, self.worker("--device=host", key) as closed_worker:
            for turn in range(self.options.turns):
                progress(f"jobs and bulk data on loopback, turn {turn + 1} of {self.options.turns}")
                runs = f"--runs={self.options.runs}"
                plain.add(self.queues(open_worker, runs))
                sealed.add(self.queues(closed_worker, runs, key))
        self.figures += [
            plain.figure("no-op job, submitted and waited for", "no-op job", BAR_JOB_US),
            sealed.figure("the same, with a key", "no-op job"),
            plain.figure("libfabric by hand, there and back, spinning", "libfabric, spinning, there and back"),
            plain.figure("the same, blocking", "libfabric, blocking, there and back"),
            plain.figure("100 jobs in one batch, each", "job of a batch of 100", BAR_BATCH_US),
            sealed.figure("the same, with a key", "job of a batch of 100"),
            plain.figure("16 MiB upload, plaintext", "upload of 16 MiB", upload_bar(plain), True),
            sealed.figure("16 MiB upload, sealed", "upload of 16 MiB", BAR_SEALED, True),
            plain.figure("16 MiB download, plaintext", "download of 16 MiB"),
            sealed.figure("16 MiB download, sealed", "download of 16 MiB"),
            plain.figure("libfabric by hand, 16 MiB, spinning", "libfabric, spinning, 16 MiB"),
            plain.figure("the same, blocking", "libfabric, blocking, 16 MiB"),
            plain.figure("second job of a kernel: bytes over its payload", "bytes sent for a job, over its scalars", BAR_JOB_BYTES),
            sealed.figure("the same, with a key", "bytes sent for a job, over its scalars", BAR_JOB_BYTES),
            plain.figure("a kernel's module", "size of a kernel's module"),
            plain.figure("bytes sent for a new kernel", "bytes sent for a new kernel"),
            plain.figure("new kernel: until it is ready", "new kernel, until it is ready"),
            plain.figure("the same kernel again", "the same kernel again"),
        ]  # fmt: skip

    def loss(self):
        killed, stopped = Samples(), Samples()
        for turn in range(self.options.turns):
            progress(f"a worker is killed, turn {turn + 1}")
            with self.worker("--device=host") as worker:
                killed.add(self.queues(worker, f"--kill={worker.process.pid}"))
        for _ in range(0 if self.options.quick else 3):
            progress("a worker is stopped")
            with self.worker("--device=host") as worker:
                stopped.add(self.queues(worker, f"--stop={worker.process.pid}"))
                worker.process.send_signal(signal.SIGCONT)
        self.figures.append(killed.figure("killed worker, until that is known", "until a killed worker is known to be", BAR_KILLED_MS))
        if stopped.values:
            self.figures.append(stopped.figure("stopped worker, until it is given up", "until a stopped worker is given up", BAR_STOPPED_MS))

    def memory(self):
        with self.worker("--device=host") as worker:
            self.figures.append(Figure.of("idle worker that lends its cores, resident", worker.resident_mib(), "MiB", BAR_MEMORY_MIB, False))
        if self.options.quick:
            return
        with self.worker() as worker:
            self.figures.append(Figure.of("the same, with all devices (vendors' libraries)", worker.resident_mib(), "MiB", None, False))

    def print(self):
        progress("")
        print(machine())
        print(f"load average {', '.join(f'{load:.1f}' for load in os.getloadavg())}\n")
        print_figures(self.figures)
        for note in self.notes:
            print(note)
        print("PoCL-Remote, measured before on a machine of this kind: " + "; ".join(f"{what} {value}" for what, value in POCL.items()))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvm-bench and remote_bench")
    parser.add_argument("--quick", action="store_true", help="see that everything works, and measure nothing worth reading")
    parser.add_argument("--turns", type=int, default=None, help="times that everything is measured (default 7)")
    parser.add_argument("--runs", type=int, default=None, help="repetitions in each turn (default 15)")
    parser.add_argument("--only", choices=["loopback", "loss", "memory"], action="append", help="measure this alone; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to FILE")
    options = parser.parse_args(arguments)
    options.turns = options.turns or (1 if options.quick else 7)
    options.runs = options.runs or (2 if options.quick else 15)

    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        report = Report(options.bin, folder, options)
        for name in options.only or ["loopback", "loss", "memory"]:
            getattr(report, name)()
    report.print()
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "figures": [vars(f) for f in report.figures]}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
