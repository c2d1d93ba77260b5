#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the language corpus, tests/programs/**/*.dhp, on one or more executors.

Every program carries its expectations as comments; tests/README.md lists them. An executor is a way to run a program:
from source, from bytecode, with a collection at every allocation, and so on. All of them must give the same result.
"""

import argparse
import contextlib
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import program as corpus
from turns import of_turn

# The exit code with which a test tells ctest that it was skipped.
EXIT_SKIPPED = 77
# `  at FUNCTION (FILE:LINE)` in a stack trace, innermost frame first. Frames without a line (natives) have no match.
FRAME = re.compile(r"^\s*at .* \((?P<file>[^()]*):(?P<line>[1-9]\d*)\)$", re.MULTILINE)
# `FILE:LINE:COLUMN: error: MESSAGE`.
DIAGNOSTIC = re.compile(r"^(?P<file>.*?):(?P<line>\d+):\d+: error: (?P<text>.*)$", re.MULTILINE)


@dataclass
class Executor:
    """The way to run a program. `compile` is a list of commands that come before; each step's words may use {source},
    {work} (a folder of its own), {run}, {dhpvmc}, {worker} (where it listens)."""

    name: str
    meaning: str
    run: list[str]
    compile: list[list[str]] = field(default_factory=list)
    takes_slow: bool = True  # also programs marked `// slow`
    takes_errors: bool = True  # also programs that must not compile
    device: str | None = None  # what the machine must have
    loops_only: bool = False  # programs without parallel loops would show nothing new
    worker: list[str] | None = None  # runs beside the programs, with these options


# The kinds of devices on vendors' drivers, as the build reads them.
KINDS_FILE = Path(__file__).resolve().parent.parent / "offload/drivers/device_kinds.def"
LIBRARY = Path(__file__).resolve().parent.parent / "stdlib"
DEVICE_KINDS = re.findall(r"^X\((\w+)\)$", KINDS_FILE.read_text(), re.MULTILINE)

EXECUTORS = [
    Executor("interpreter", "dhpvm-run on the source", ["{run}", "--jit=off", "{source}"]),
    Executor(
        "gc-stress",
        "a collection at every allocation",
        ["{run}", "--jit=off", "--gc-stress=1", "{source}"],
        takes_slow=False,
        takes_errors=False,
    ),
    Executor("jit", "all functions compiled before the start", ["{run}", "--jit=eager", "{source}"]),
    Executor(
        "jit-gc-stress",
        "the same, with a collection at every allocation, and the heap checked after each",
        ["{run}", "--jit=eager", "--gc-stress=1", "--gc-verify", "{source}"],
        takes_slow=False,
        takes_errors=False,
    ),
    Executor(
        "jit-hot",
        "functions and loops compiled as soon as they are found running",
        ["{run}", "--jit=on", "--jit-threshold=1", "--jit-wait", "{source}"],
        takes_errors=False,
    ),
    Executor(
        "jit-baseline",
        "the same, with the code of loops that is made in little time",
        ["{run}", "--jit=baseline", "--jit-threshold=1", "--jit-wait", "{source}"],
        takes_errors=False,
        loops_only=True,
    ),
    Executor(
        "hot-gc-stress",
        "the same, with a collection at every allocation: loops in place, which --jit=eager has none of",
        ["{run}", "--jit=on", "--jit-threshold=1", "--jit-wait", "--gc-stress=1", "--gc-verify", "{source}"],
        takes_slow=False,
        takes_errors=False,
        loops_only=True,
    ),
    Executor(
        "device-sim",
        "parallel loops on a simulated accelerator with little memory, in small batches",
        ["{run}", "--jit-wait", "--device=sim?mem=400KB", "--batch=1000", "{source}"],
        takes_errors=False,
        loops_only=True,
    ),
    Executor(
        "device-inline",
        "parallel loops on the host as a device, whose memory the program shares",
        ["{run}", "--jit-wait", "--device=host?inline", "{source}"],
        takes_errors=False,
        loops_only=True,
    ),
    *(
        Executor(
            f"device-{kind}",
            f"parallel loops on the first device of the kind {kind}",
            ["{run}", "--jit-wait", f"--device={kind}:0", "--batch=5000", "{source}"],
            takes_errors=False,
            device=f"{kind}:0",
            loops_only=True,
        )
        for kind in DEVICE_KINDS
    ),
    Executor(
        "device-cuda-joined",
        "the same on an NVIDIA GPU in as few launches as possible: short loops run as one, repeated ones as graphs",
        ["{run}", "--jit-wait", "--device=cuda:0", "{source}"],
        takes_errors=False,
        device="cuda:0",
        loops_only=True,
    ),
    Executor(
        "device-remote",
        "parallel loops on a worker in a process of its own, in small batches",
        ["{run}", "--jit-wait", "--device=remote/{worker}/host", "--batch=1000", "{source}"],
        takes_errors=False,
        loops_only=True,
        worker=["--device=host"],
    ),
    Executor(
        "gc-verify",
        "a collection at every 7th allocation, and the heap checked after each",
        ["{run}", "--jit=off", "--gc-stress=7", "--gc-verify", "{source}"],
        takes_slow=False,
        takes_errors=False,
    ),
    Executor(
        "bytecode",
        "dhpvmc, then dhpvm-run on the .bc",
        ["{run}", "{work}/a.bc"],
        [["{dhpvmc}", "{source}", "-o", "{work}/a.bc"]],
    ),
    Executor(
        "roundtrip",
        "bytecode to text and back, then dhpvm-run",
        ["{run}", "{work}/b.bc"],
        [
            ["{dhpvmc}", "{source}", "-o", "{work}/a.bc"],
            ["{run}", "--disasm", "{work}/a.bc", ">", "{work}/a.dasm"],
            ["{dhpvmc}", "{work}/a.dasm", "-o", "{work}/b.bc"],
        ],
        takes_errors=False,
    ),
]


@dataclass
class Outcome:
    exit_code: int
    stdout: str
    stderr: str
    command: list[str]
    compiled: bool = True  # the run itself was reached
    leftovers: list[str] = field(default_factory=list)  # files of a compilation that failed


class Runner:
    def __init__(self, bin_dir, timeout, worker_bin=None, preload=None):
        self.preloaded = {"LD_PRELOAD": str(preload)} if preload else {}
        self.words = {"run": str(bin_dir / "dhpvm-run"), "dhpvmc": str(bin_dir / "dhpvmc")}
        self.worker_tool = str((worker_bin or bin_dir) / "dhpvm-run")
        self.timeout = timeout

    def execute(self, command, work, stdin, variables=None):
        """Runs one command in the folder `work`; `> FILE` at its end sends its output there."""
        words, target = command, None
        if len(command) > 2 and command[-2] == ">":
            words, target = command[:-2], Path(command[-1])
        try:
            done = subprocess.run(
                words,
                input=stdin,
                capture_output=True,
                cwd=work,
                env={**os.environ, **self.preloaded, **(variables or {})},
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            stdout, stderr = late.stdout or b"", late.stderr or b""
            note = f"\nthe test runner stopped it after {self.timeout:g} s"
            return Outcome(-1, text_of(stdout), text_of(stderr) + note, command)
        if target and done.returncode == 0:
            target.write_bytes(done.stdout)
        return Outcome(done.returncode, text_of(done.stdout), text_of(done.stderr), command)

    def run(self, program, executor):
        """The Outcome of `program` on `executor`; of the step that failed, if one before the run does."""
        stdin = "".join(line + "\n" for line in program.stdin).encode()
        with tempfile.TemporaryDirectory(prefix="dhpvm-program-") as work:
            words = dict(self.words, source=str(program.path.resolve()), work=work)
            for step in executor.compile:
                outcome = self.execute([word.format(**words) for word in step], work, b"")
                if outcome.exit_code != 0:
                    outcome.compiled = False
                    outcome.leftovers = sorted(os.listdir(work))
                    return outcome
            command = [word.format(**words) for word in executor.run]
            args = [word.replace("$DIR", str(program.path.resolve().parent)) for word in program.args]
            return self.execute([command[0], *program.flags, *command[1:], *args], work, stdin, program.environment)


def text_of(data):
    return data.decode("utf-8", errors="replace")


def lines_of(text):
    return [line.rstrip() for line in text.splitlines()]


def compare_stdout(program, outcome):
    actual = lines_of(outcome.stdout)
    expected = [line.rstrip() for line in program.stdout]
    if actual != expected:
        diff = difflib.unified_diff(expected, actual, "expected output", "actual output", lineterm="")
        yield "the output differs:\n" + "\n".join(diff)


def compare_trap(trap, stderr):
    if trap.text not in stderr:
        yield f"expected the trap '{trap.text}', which the error output does not contain"
    if trap.line is not None:
        frame = FRAME.search(stderr)
        if not frame:
            yield f"expected the trap at line {trap.line}, but the stack trace has no frame with a line"
        elif int(frame["line"]) != trap.line:
            yield f"expected the trap at line {trap.line}, but the innermost frame is at line {frame['line']}"


def compare_error(error, stderr):
    if error.line is None:
        if error.text not in stderr:
            yield f"expected the compile error '{error.text}', which the error output does not contain"
        return
    found = [(int(match["line"]), match["text"]) for match in DIAGNOSTIC.finditer(stderr)]
    if not any(line == error.line and error.text in text for line, text in found):
        there = "; ".join(f"line {line}: {text}" for line, text in found) or "no diagnostics"
        yield f"expected the compile error '{error.text}' at line {error.line}; found {there}"


def compare(program, outcome):
    """Everything about `outcome` that is not as `program` expects it; empty when the test passed."""
    problems = []
    if not outcome.compiled and not program.errors:
        problems.append(f"this step failed: {shlex.join(outcome.command)}")
    if outcome.exit_code != program.expected_exit_code:
        problems.append(f"expected exit code {program.expected_exit_code}, got {describe_exit(outcome.exit_code)}")
    if program.errors:
        for error in program.errors:
            problems += compare_error(error, outcome.stderr)
        if outcome.leftovers:
            problems.append(f"the failed compilation left files behind: {', '.join(outcome.leftovers)}")
    if program.trap:
        problems += compare_trap(program.trap, outcome.stderr)
    if outcome.compiled:
        problems += compare_stdout(program, outcome)
    if "OpenCL C has nothing like" in outcome.stderr:  # such a loop runs on the host, with the same result
        problems.append("a loop cannot be printed as OpenCL C")
    return problems


def describe_exit(code):
    if code == 70:
        return "70 (an internal error)"
    return str(code) if code >= 0 else f"the signal {-code}"


def report(program, executor, outcome, problems):
    """The text that explains a failed test."""
    lines = [f"FAILED {program.path} on {executor.name}"]
    for problem in problems:
        lines += ["  " + line for line in problem.splitlines()]
    if outcome.stderr.strip():
        tail = lines_of(outcome.stderr)[-40:]
        lines += ["  error output:"] + ["    " + line for line in tail]
    lines.append("  command: " + shlex.join(outcome.command))
    return "\n".join(lines)


def reason_to_skip(program, executor):
    for key in ("", executor.name):
        if key in program.skips:
            return program.skips[key]
    return None


def has_parallel_loops(source):
    """Whether the module in this file, or one that it imports, has a parallel loop."""
    seen, left = set(), [source]
    while left:
        path = left.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        text = path.read_text(encoding="utf-8")
        if "parallel for" in text:
            return True
        for name in re.findall(r"^import ([\w.]+)", text, re.MULTILINE):
            left += [folder / (name.replace(".", "/") + ".dhp") for folder in (source.parent, LIBRARY)]
    return False


def applies(program, executor):
    """Whether this pair is a test at all, as opposed to one that is skipped for a reason."""
    if program.slow and not executor.takes_slow:
        return False
    if executor.loops_only and not has_parallel_loops(program.path):
        return False
    return executor.takes_errors or not program.errors


def collect(paths):
    """All programs below `paths`, and the problems of those whose expectations are wrong."""
    files = []
    for path in paths:
        files += sorted(path.rglob("*.dhp")) if path.is_dir() else [path]
    programs, problems = [], []
    for file in files:
        try:
            loaded = corpus.load(file)
        except (corpus.BadProgram, OSError, UnicodeDecodeError) as problem:
            problems.append(f"FAILED {problem}")
            continue
        if not loaded.library:
            programs.append(loaded)
    return programs, problems


def run_all(programs, executors, runner, jobs):
    """Runs every applicable pair; prints failures and skips as they come. Returns passed, failed, skipped."""
    times = []

    def one(pair):
        program, executor = pair
        reason = reason_to_skip(program, executor)
        if reason:
            return f"SKIP {program.path} on {executor.name}: {reason}", None
        started = time.monotonic()
        outcome = runner.run(program, executor)
        times.append((time.monotonic() - started, f"{program.path.parent.name}/{program.path.name}"))
        problems = compare(program, outcome)
        return (report(program, executor, outcome, problems), False) if problems else ("", True)

    # Long ones take longest, mostly: first, so that no processor waits for the last one.
    programs = sorted(programs, key=lambda program: -program.path.stat().st_size)
    pairs = [(program, executor) for executor in executors for program in programs if applies(program, executor)]
    counts = {True: 0, False: 0, None: 0}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for text, passed in pool.map(one, pairs):
            counts[passed] += 1
            if text:
                print(text, flush=True)
    slowest = sorted(times, reverse=True)[:5]
    if slowest:
        print("slowest: " + ", ".join(f"{name} {seconds:.1f} s" for seconds, name in slowest))
    return counts[True], counts[False], counts[None]


def with_devices(executors, bin_dir):
    """Those executors whose device is there; says which are left out, and why."""
    if all(executor.device is None for executor in executors):
        return executors
    listing = subprocess.run([bin_dir / "dhpvm-run", "--list-devices"], capture_output=True, check=True, text=True)
    problems = {}
    for line in listing.stdout.splitlines():
        name, _, description = line.partition(" ")
        problems[name] = description.strip() if "cannot be used:" in description else None
    able = []
    for executor in executors:
        problem = problems.get(executor.device, "there is no such device") if executor.device else None
        if problem:
            print(f"SKIP {executor.name}: {executor.device}: {problem}")
        else:
            able.append(executor)
    return able


@contextlib.contextmanager
def worker_of(executors, runner):
    """Runs the worker that these executors need, if one does: adds where it listens to the runner's words."""
    options = next((executor.worker for executor in executors if executor.worker is not None), None)
    if options is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="dhpvm-worker-") as folder:
        log = Path(folder) / "log"
        with open(log, "wb") as sink:
            worker = subprocess.Popen([runner.worker_tool, "--worker", "--listen=127.0.0.1:0", *options], stderr=sink)
        try:
            deadline = time.monotonic() + runner.timeout
            while not (address := re.search(r"listening at (\S+)", log.read_text(encoding="utf-8"))):
                if worker.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"FAILED: the worker does not start:\n{log.read_text(encoding='utf-8')}")
                time.sleep(0.01)
            runner.words["worker"] = address[1]
            yield
        finally:
            worker.kill()
            worker.wait()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="programs or folders (default: tests/programs)")
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run and dhpvmc")
    parser.add_argument("--worker-bin", type=Path, help="that of the worker, if it is another build (default: --bin)")
    parser.add_argument("--preload", type=Path, metavar="FILE", help="a library that is loaded into the programs first")
    names = [executor.name for executor in EXECUTORS]
    parser.add_argument("--executor", action="append", choices=names, help="may be repeated (default: all)")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="run every Nth program only (default 1: all); DHPVM_TURN is the first, or all")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each program (default 60)")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    programs, problems = collect(options.paths or [Path(__file__).parent / "programs"])
    for problem in problems:
        print(problem)
    if not programs and not problems:
        print("FAILED: there are no programs to run")
        return 1
    programs = of_turn(programs, options.every)
    for tool in ("dhpvm-run", "dhpvmc"):
        if not shutil.which(str(options.bin / tool)):
            print(f"FAILED: {options.bin / tool} is not there; build it first (./dev build)")
            return 1
    executors = [e for e in EXECUTORS if not options.executor or e.name in options.executor]
    executors = with_devices(executors, options.bin)
    paths = [path and path.resolve() for path in (options.worker_bin, options.preload)]
    runner = Runner(options.bin.resolve(), options.timeout, *paths)
    with worker_of(executors, runner):
        passed, failed, skipped = run_all(programs, executors, runner, options.jobs)
    failed += len(problems)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed:
        return 1
    return 0 if passed else EXIT_SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
