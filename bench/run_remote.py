#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures workers: processes that lend their devices to programs elsewhere, and holds the figures against the bars.

Workers are started as processes of this machine. Comparisons take turns: libfabric by hand with the worker, message by
message, and the worker without a key with the one with a key, run by run.
"""

import argparse
import functools
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

from harness import Figure, Report, fail, progress

BAR_JOB_US, BAR_BATCH_US, BAR_LOOP_US = 45.0, 4.0, 80.0
BAR_PLAIN_RATIO, BAR_SEALED, BAR_SEAL_RATIO = 0.95, 2.5, 0.8
BAR_JOB_BYTES = 128
BAR_KILLED_MS, BAR_STOPPED_MS = 100.0, 3000.0
BAR_MEMORY_MIB = 16.0
BAR_OVERLAP, BAR_SEVERAL = 0.9, 1.8
SKIPPED = 77
ALL = ["loopback", "loss", "links", "programs"]

# PoCL-Remote (`pocld`, version 7.1 of 2026), loopback on a quiet machine of this kind: quoted, not measured again here.
POCL = {
    "no-op kernel and clFinish, median": "117 to 140 us",
    "100 kernels, one finish, each": "85 to 95 us",
    "16 MiB written, in plaintext": "3.4 to 4.4 GB/s",
    "16 MiB read": "4.6 to 5.7 GB/s",
}


class Worker:
    """A process of dhpvm-run --worker that listens at a port of its own choice."""

    def __init__(self, binaries, *options, host="127.0.0.1", before=()):
        self.log = tempfile.NamedTemporaryFile(prefix="dhpvm-worker-", suffix=".log")
        command = [*before, binaries / "dhpvm-run", "--worker", f"--listen={host}:0", *options]
        self.command = [*map(str, command)]
        # In a group of its own, which includes the processes of its sessions.
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, start_new_session=True
        )

    @functools.cached_property
    def address(self):
        """Its address, as soon as it listens: several workers start at the same time."""
        deadline = time.monotonic() + 60
        while not (found := re.search(r"listening at (\S+)", self.text())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end()
                fail(f"{' '.join(self.command)} does not listen:\n{self.text()}")
            time.sleep(0.01)
        return found.group(1)

    def text(self):
        return Path(self.log.name).read_text(errors="replace")

    def resident_mib(self):
        """The memory of a worker that listens, and does nothing else yet."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Link:
    """A network of its own that can be reached from this one by a link of a certain rate, in both directions. Lasts as
    long as a process that does nothing but keep it."""

    def __init__(self, number, rate):
        self.keeper = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        here, there, net = f"dhpvm{number}", f"dhpvm{number}w", f"10.77.{number}"
        self.inside = ["nsenter", f"--net=/proc/{self.keeper.pid}/ns/net"]
        self.address = f"{net}.2"
        own = os.stat("/proc/self/ns/net").st_ino
        while os.stat(f"/proc/{self.keeper.pid}/ns/net").st_ino == own:
            time.sleep(0.005)
        self.do("ip", "link", "add", here, "type", "veth", "peer", "name", there)
        self.do("ip", "link", "set", there, "netns", str(self.keeper.pid))
        for before, device, address in (([], here, f"{net}.1/24"), (self.inside, there, f"{net}.2/24")):
            self.do(*before, "ip", "address", "add", address, "dev", device)
            self.do(*before, "ip", "link", "set", device, "up")
            self.do(
                *before,
                "tc",
                "qdisc",
                "add",
                "dev",
                device,
                "root",
                "tbf",
                "rate",
                rate,
                "burst",
                "256kb",
                "latency",
                "20ms",
            )

    @staticmethod
    def do(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"{' '.join(command)}: {done.stdout.strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.keeper.stdin.close()
        self.keeper.wait()


@dataclass
class Samples:
    """Values of figures of several runs, by name."""

    values: dict = field(default_factory=dict)
    bests: dict = field(default_factory=dict)
    units: dict = field(default_factory=dict)

    def add(self, lines):
        for line in lines.splitlines():
            entry = json.loads(line)
            self.values.setdefault(entry["name"], []).append(entry["value"])
            self.bests.setdefault(entry["name"], []).append(entry.get("best", entry["value"]))
            self.units[entry["name"]] = entry["unit"]

    def median(self, name):
        return statistics.median(self.values[name])

    def figure(self, label, name, bar=None, at_least=False):
        return Figure.of(label, self.median(name), self.units[name], bar, at_least)

    def best(self, label, name):
        """The best figure of the machine, which may be busy with something else as well."""
        best = max if self.units[name] == "GB/s" else min
        return Figure.of(label, best(self.bests[name]), self.units[name], None, best is max)


def upload_bar(samples):
    """The bar of an upload in plaintext, from the quicker of the two ways to use libfabric by hand."""
    return BAR_PLAIN_RATIO * max(samples.median(f"libfabric, {how}, 16 MiB") for how in ("spinning", "blocking"))


def sealed_bar(samples):
    """The bar of sealed data: a rate, or a part of that of the seal alone."""
    return min(BAR_SEALED, BAR_SEAL_RATIO * samples.median("AES-256-GCM, one thread, 16 MiB"))


def one_core_each(sealed, plain, name):
    """The rate that a core at each end can reach, if it does nothing but to send or receive, and to seal or open."""
    aes = sealed.median("AES-256-GCM, one thread, 16 MiB")
    return Figure.of("  possible with one core at each end", 1 / (1 / plain.median(name) + 1 / aes), "GB/s", None, True)


class Bench:
    def __init__(self, binaries, folder, options):
        self.binaries, self.folder, self.options = binaries.resolve(), Path(folder), options
        self.figures, self.notes, self.products, self.wrong = [], [], [], False
        for name in ("dhpvm-run", "dhpvm-bench", "remote_bench"):
            if not (self.binaries / name).is_file():
                fail(f"there is no {self.binaries / name}: build with -DDHPVM_BENCH=ON, as `./dev build release` does")
        self.key = self.folder / "key"
        subprocess.run([self.binaries / "dhpvm-run", f"--make-key={self.key}"], check=True)

    def worker(self, *options, **place):
        return Worker(self.binaries, *options, **place)

    def queues(self, worker, *options):
        """The figures of remote_bench for the host device of a worker."""
        command = [self.binaries / "remote_bench", f"{worker.address}/host", "--json", *map(str, options)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
        if done.returncode != 0:
            fail(
                f"{' '.join(map(str, command))} ended with exit code {done.returncode}; the worker says\n{worker.text()}"
            )
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
            plain.best("no-op job at its best", "no-op job"),
            plain.figure("libfabric by hand, there and back, spinning", "libfabric, spinning, there and back"),
            plain.figure("the same, blocking", "libfabric, blocking, there and back"),
            plain.figure("100 jobs in one batch, each", "job of a batch of 100", BAR_BATCH_US),
            sealed.figure("the same, with a key", "job of a batch of 100"),
            plain.figure("16 MiB upload, plaintext", "upload of 16 MiB", upload_bar(plain), True),
            sealed.figure("16 MiB upload, sealed", "upload of 16 MiB", sealed_bar(sealed), True),
            one_core_each(sealed, plain, "upload of 16 MiB"),
            plain.best("16 MiB upload at its best: plaintext", "upload of 16 MiB"),
            sealed.best("  sealed", "upload of 16 MiB"),
            plain.best("  libfabric by hand, spinning", "libfabric, spinning, 16 MiB"),
            plain.best("  the same, blocking", "libfabric, blocking, 16 MiB"),
            plain.figure("16 MiB download, plaintext", "download of 16 MiB"),
            sealed.figure("16 MiB download, sealed", "download of 16 MiB", sealed_bar(sealed), True),
            one_core_each(sealed, plain, "download of 16 MiB"),
            sealed.figure("AES-256-GCM alone, one thread", "AES-256-GCM, one thread, 16 MiB"),
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
        killed, stopped, idle = Samples(), Samples(), []
        for turn in range(self.options.turns):
            with self.worker("--device=host") as worker:
                progress(f"a worker is killed, turn {turn + 1}: {worker.address}")
                idle.append(worker.resident_mib())
                killed.add(self.queues(worker, f"--kill={worker.process.pid}"))
        for _ in range(0 if self.options.quick else 3):
            progress("a worker is stopped")
            with self.worker("--device=host") as worker:
                stopped.add(self.queues(worker, f"--stop={worker.process.pid}"))
                os.killpg(worker.process.pid, signal.SIGCONT)
        self.figures.append(
            killed.figure("killed worker, until that is known", "until a killed worker is known to be", BAR_KILLED_MS)
        )
        if stopped.values:
            self.figures.append(
                stopped.figure(
                    "stopped worker, until it is given up", "until a stopped worker is given up", BAR_STOPPED_MS
                )
            )
        memory = statistics.median(idle)
        self.figures.append(
            Figure.of("idle worker that lends its cores, resident", memory, "MiB", BAR_MEMORY_MIB, False)
        )
        if not self.options.quick:
            with self.worker() as worker:
                progress(f"a worker with all devices: {worker.address}")
                self.figures.append(
                    Figure.of(
                        "the same, with all devices (vendors' libraries)", worker.resident_mib(), "MiB", None, False
                    )
                )

    def programs_on(self, workers, *options):
        """The report of dhpvm-bench remote."""
        file = self.folder / "report.json"
        command = [self.binaries / "dhpvm-bench", "remote", f"--connect={','.join(worker.address for worker in workers)}",
                   f"--json={file}", *map(str, options)]  # fmt: skip
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
        if done.returncode > 1:
            fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}")
        if done.returncode == 1:
            self.wrong = True
        self.notes.append(done.stdout)
        return json.loads(file.read_text())

    def links(self):
        """Beside the network of this machine, where names and rates are nobody else's business."""
        results = self.folder / "links.json"
        owner = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
        command = [
            *owner,
            sys.executable,
            __file__,
            f"--bin={self.binaries}",
            f"--inside={results}",
            f"--runs={self.options.runs}",
        ]
        command += ["--quick"] if self.options.quick else []
        progress("loops over links of 1 Gbit/s and 500 Mbit/s")
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        except OSError as problem:
            return self.notes.append(f"SKIP links of a certain rate: {problem}\n")
        if done.returncode == SKIPPED or done.stdout.startswith("unshare:"):
            return self.notes.append(f"SKIP links of a certain rate: {done.stdout}")
        if done.returncode != 0:
            fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}:\n{done.stdout}")
        found = json.loads(results.read_text())
        self.figures += [Figure(**figure) for figure in found["figures"]]
        self.notes += found["notes"]
        self.wrong = self.wrong or found["wrong"]

    def inside(self):
        """The part of links() that runs in a network of its own."""
        Link.do("ip", "link", "set", "lo", "up")
        key, runs = f"--key-file={self.key}", f"--runs={min(self.options.runs, 7)}"
        data = 4 if self.options.quick else 64  # MiB; for several workers twice as much
        # One thread, so that the other core can see to the network.
        def worker(link):
            return self.worker("--device=host", "--threads=1", key, host=link.address, before=link.inside)

        with Link(1, "1gbit") as link, worker(link) as one:
            overlap = self.programs_on([one], key, runs, "--only=overlap", f"--data={data}M")["overlap"][0]
        with Link(2, "500mbit") as first, Link(3, "500mbit") as second, worker(first) as one, worker(second) as two:
            several = self.programs_on([one, two], key, runs, "--only=several", f"--data={2 * data}M")["several"]
        self.figures += [
            Figure.of("1 Gbit/s, data and compute alike: of the pipelined ideal", overlap["overlap_efficiency"], "", BAR_OVERLAP, True),
            Figure.of("the same, against one stage after the other", overlap["serial_seconds"] / overlap["seconds"], "x", None, True),
            Figure.of("two workers at 500 Mbit/s each, against one", several["gain"], "x", BAR_SEVERAL, True),
        ]  # fmt: skip

    def programs(self):
        progress("loops and products of matrices")
        options = ["--only=loops,products", f"--runs={min(self.options.runs, 7)}"]
        with self.worker("--device=host", "--threads=1") as one:
            if self.options.quick:
                report = self.programs_on([one], *options, "--small")
            else:
                with self.worker("--device=host") as all_cores:
                    report = self.programs_on([one, all_cores], *options)
        loops = report["loops"][0]
        self.figures.append(
            Figure.of("a program's loop of one iteration, waited for", loops["single_seconds"] * 1e6, "us", BAR_LOOP_US, False)
        )
        self.figures.append(
            Figure.of("the same, a hundred before that", loops["batched_seconds"] * 1e6, "us", None, False)
        )
        self.products = report["products"]

    def print(self):
        progress("")
        load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
        report = Report(f"Client and worker are processes of one machine; load average {load}; medians of {self.options.turns} "
                        f"turns of {self.options.runs} runs, the libfabric baseline in turns with them.")  # fmt: skip
        if self.products:
            report.table(
                ["C = A B", "where", "compute", "data movement", "total"],
                [[f"{p['rows']} x {p['columns']}, inner {p['inner']}", p["executor"],
                  *(f"{p[part + '_seconds'] * 1e3:.3g} ms" for part in ("compute", "movement", "total"))] for p in self.products],
            )  # fmt: skip
        report.figures += self.figures
        report.print()
        for note in self.notes:
            print(note)
        if self.wrong:
            print("WRONG: some results differ from those of this machine")
        print(
            "PoCL-Remote, measured before on a machine of this kind: "
            + "; ".join(f"{what} {value}" for what, value in POCL.items())
        )
        return report


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvm-bench and remote_bench"
    )
    parser.add_argument(
        "--quick", action="store_true", help="see that everything works, and measure nothing worth reading"
    )
    parser.add_argument("--turns", type=int, default=None, help="times that everything is measured (default 7)")
    parser.add_argument("--runs", type=int, default=None, help="repetitions in each turn (default 15)")
    parser.add_argument("--only", choices=ALL, action="append", help="measure this alone; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to FILE")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    # Workers are in groups of their own, which nobody else ends.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options.turns = options.turns or (1 if options.quick else 7)
    options.runs = options.runs or (2 if options.quick else 15)

    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        bench = Bench(options.bin, folder, options)
        if options.inside:
            try:
                bench.inside()
            except OSError as problem:
                print(problem)
                return SKIPPED
            options.inside.write_text(
                json.dumps({"figures": [vars(f) for f in bench.figures], "notes": bench.notes, "wrong": bench.wrong})
            )
            return 0
        # Links want privileges that tests do not have.
        for name in options.only or [name for name in ALL if name != "links" or not options.quick]:
            getattr(bench, name)()
    report = bench.print()
    report.write(options.json, products=bench.products)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
