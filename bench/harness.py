# SPDX-License-Identifier: Apache-2.0
"""The common part of the reports: it runs programs next to each other, and checks figures against bars.

Two programs that are compared run in turns: after each repetition of one comes one of the other, so that whatever else
the machine does meets both alike (bench/programs/kernels/measure.dhp describes the protocol).
"""

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parent
PROGRAMS = BENCH / "programs"


def fail(text):
    sys.exit(f"{Path(sys.argv[0]).stem}: {text}")


def progress(text):
    """One line on a terminal that says what is being done; nothing in a pipe."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def machine():
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


# ---- Figures --------------------------------------------------------------------------------------------------------


@dataclass
class Figure:
    """One measured value, and the bar it must reach: `at_least`, or else at most."""

    name: str
    value: float
    unit: str
    bar: float | None
    at_least: bool
    met: bool

    @staticmethod
    def of(name, value, unit, bar, at_least):
        met = bar is None or (value >= bar if at_least else value <= bar)
        return Figure(name, value, unit, bar, at_least, met)

    def bar_text(self):
        return "" if self.bar is None else f"{'>=' if self.at_least else '<='} {self.bar:g}"

    def verdict(self):
        return "" if self.bar is None else ("pass" if self.met else "MISSED")


def markdown(heads, rows):
    """The lines of a table; all columns but the first are set to the right."""
    yield "| " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


class Report:
    """Tables and figures of one benchmark: what it prints, and what docs/performance.md shows of it. `about` says how
    it measures."""

    def __init__(self, about):
        self.about, self.tables, self.figures = about, [], []

    def table(self, heads, rows):
        self.tables.append({"heads": list(heads), "rows": [list(row) for row in rows]})

    def print(self):
        print(f"{machine()}. {self.about}\n")
        for table in self.tables:
            print("\n".join(markdown(**table)), end="\n\n")
        width = max((len(figure.name) for figure in self.figures), default=0) + 2
        print(f"{'what':<{width}}{'measured':>12} {'unit':<8}{'bar':>12}")
        for figure in self.figures:
            print(
                f"{figure.name:<{width}}{figure.value:>12.4g} {figure.unit:<8}{figure.bar_text():>12}  {figure.verdict()}".rstrip()
            )
        print()

    def write(self, path, **details):
        """As JSON; `details` are what the tables are made from. Writes nothing without a path."""
        if path:
            everything = {"machine": machine(), "about": self.about, "tables": self.tables,
                          "figures": [vars(figure) for figure in self.figures], "details": details}  # fmt: skip
            path.write_text(json.dumps(everything, indent=1) + "\n")


# ---- Processes ------------------------------------------------------------------------------------------------------


def run(command):
    """Seconds and output of one process."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        done = subprocess.run(command, stdout=output, stdin=subprocess.DEVNULL, check=False)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}")
        output.seek(0)
        return seconds, output.read()


@dataclass
class Result:
    """The output of a measured program: times of its repetitions in seconds, and other lines. `statistics` are those
    of `--stats=json`, `threads` the number that OpenMP uses."""

    times: list
    lines: list
    statistics: dict
    threads: int | None
    seconds: float
    peak_mib: float
    processor: list = field(default_factory=list)  # seconds of processor time of each turn, of all threads together

    def statistic(self, name):
        """A counter; none where this version does not have it. Times are in milliseconds if the name says so, whatever
        unit they are counted in."""
        if name in self.statistics:
            return self.statistics[name]
        nanoseconds = self.statistics.get(name.replace("_ms", "_ns"), self.statistics.get(name.replace("_ms", "")))
        return None if nanoseconds is None else nanoseconds / 1e6


class Program:
    """A running program that waits for its turn (`paced`), or runs through."""

    def __init__(self, command, environment=None, cpus=None, paced=False):
        self.command = [str(word) for word in command] + (["paced"] if paced else [])
        self.errors = tempfile.TemporaryFile()
        self.times, self.lines, self.threads, self.processor = [], [], None, []
        self.start = time.perf_counter()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE if paced else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
            env={**os.environ, **(environment or {})}, preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
        )  # fmt: skip

    def read(self, until_time):
        for line in self.process.stdout:
            key, _, value = line.decode(errors="replace").rstrip("\n").partition(" ")
            if key == "time_ns":
                self.times.append(int(value) / 1e9)
                if until_time:
                    return
            elif key == "threads" and value.isdigit():
                self.threads = int(value)
            else:
                self.lines.append((key + " " + value).rstrip())
        if until_time:
            self.finish()
            fail(f"{' '.join(self.command)} ended before its time")

    def processor_seconds(self):
        """The processor time of its threads so far; 0 where the system does not report it."""
        used = 0
        for task in Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            try:
                used += int(task.read_text().split()[0])
            except OSError:
                pass  # a thread that has just ended
        return used / 1e9

    def turn(self):
        """One repetition."""
        before = self.processor_seconds()
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # read() says what happened
        self.read(until_time=True)
        self.processor.append(self.processor_seconds() - before)

    def finish(self):
        """Lets it end, and gives its result."""
        if self.process.stdin:
            self.process.stdin.close()
        self.read(until_time=False)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - self.start
        self.errors.seek(0)
        errors = self.errors.read().decode(errors="replace")
        self.end()
        if self.process.returncode != 0:
            fail(f"{' '.join(self.command)} ended with exit code {self.process.returncode}\n{errors.rstrip()}")
        counters = [line for line in errors.splitlines() if line.startswith("{")]
        return Result(self.times, self.lines, json.loads(counters[-1]) if counters else {}, self.threads, seconds,
                      usage.ru_maxrss / 1024, self.processor)  # fmt: skip

    def end(self):
        """Lets nothing of it remain, whatever state it is in."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream:
                stream.close()


def take_turns(*commands, warm_up, runs):
    """The results of programs whose repetitions alternate; each is (command, environment, cpus). All must be made to do
    warm_up + runs repetitions; the times of the first ones are left out."""
    programs = []
    try:
        for command, environment, cpus in commands:
            programs.append(Program(command, environment, cpus, paced=True))
            for _ in range(warm_up):
                programs[-1].turn()
        for _ in range(runs):
            for program in programs:
                program.turn()
        results = [program.finish() for program in programs]
    finally:
        for program in programs:
            program.end()
    for result in results:
        result.times, result.processor = result.times[warm_up:], result.processor[warm_up:]
    return results


def real_time():
    """The prefix of a command so that only real-time processes keep it from the cores; nothing where the system
    does not permit that."""
    command = ["chrt", "--rr", "1"]
    try:
        permitted = subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    except FileNotFoundError:
        permitted = False
    return command if permitted else []


# ---- Our programs ---------------------------------------------------------------------------------------------------


class VirtualMachine:
    """The tools in a folder, a folder for what they write, and what this version of them can do."""

    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries.resolve(), Path(folder)
        self.tool = self.binaries / "dhpvm-run"
        if not self.tool.is_file():
            fail(f"there is no {self.tool} (./dev build release)")
        self.options = subprocess.run([self.tool, "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
        self.has_native_code = self.has("--jit")

    def has(self, option):
        return option in self.options

    def compile(self, source):
        """Bytecode of a program file."""
        target = self.folder / f"{source.parent.name}-{source.stem}.bc"
        subprocess.run([self.binaries / "dhpvmc", source, "-o", target], check=True)
        return target

    def compile_text(self, name, text):
        source = self.folder / f"{name}.dhp"
        source.write_text(text)
        return self.compile(source)

    def flags(self, jit, cache=None, threads=None):
        """Options of dhpvm-run: as many of them as it has. `cache` is a folder, or False for none."""
        chosen = ["--stats=json"]
        if self.has_native_code:
            chosen.append(f"--jit={jit}")
        if cache and self.has("--cache-dir"):
            chosen.append(f"--cache-dir={cache}")
        if cache is False and self.has("--no-cache"):
            chosen.append("--no-cache")
        if threads and self.has("--threads"):
            chosen.append(f"--threads={threads}")
        return chosen

    def interpreter(self):
        """The option that keeps to the interpreter."""
        return ["--jit=off"] if self.has_native_code else []

    def executors(self):
        """The ways to run a program whose results must agree."""
        return ["off", "eager"] if self.has_native_code else ["off"]


def baseline(binaries, suite, name):
    path = binaries.resolve() / "baselines" / suite / name
    if not path.is_file():
        fail(f"there is no {path}: build with -DDHPVM_BENCH=ON, as `./dev build release` does")
    return path


# The process reports its own peak, because wait4's for a child includes the memory of the parent when it forked.
HELLO_PEAK = """import io;
fn main() {
    print("hello, world");
    print(io.read_text("/proc/self/status")!);
}
"""


def start_up(machine_, runs, flags=()):
    """Median milliseconds of printing one line, from bytecode, and the resident MiB at the peak (none where the system
    does not tell)."""
    target = machine_.compile_text("hello", 'fn main() { print("hello, world"); }\n')
    samples = [run([machine_.tool, *flags, target]) for _ in range(runs + 3)][3:]
    if any(output != b"hello, world\n" for _, output in samples):
        fail("hello world printed something else")
    peak = None
    if Path("/proc/self/status").is_file():
        _, output = run([machine_.tool, *flags, machine_.compile_text("hello_peak", HELLO_PEAK)])
        for line in output.decode().splitlines():
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) / 1024
    return statistics.median(seconds for seconds, _ in samples) * 1e3, peak
