#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs that would go on for minutes or for ever, and asks them to stop: by a deadline, SIGINT and SIGTERM.

usage: stop_test.py --bin FOLDER [--only PREFIX] [--jobs N] [--times]

Each program says when it has begun, and does then one thing that takes long: a native, waiting, loops on a device. All
of them have to end. Programs mostly wait, so that several run at once. --times prints how soon each ended, and runs one
after the other; the test itself only gives up on those that do not end at all.
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Far beyond what is promised (200 ms): machines that run tests are busy.
PATIENCE = 30
EXIT_SKIPPED = 77
# Between the beginning and the request.
DELAY = 0.25

HEAD = 'import io;\nimport str;\nimport time;\nfn begin() { io.write("begun\\n"); io.flush(); }\n'


def calls(prepare, call):
    """A program that makes one call again and again, in case it is over too soon."""
    return f"fn main() {{\n    {prepare}\n    begin();\n    while true {{ {call} }}\n}}\n"


LONG_TEXT = 'let a = str.repeat("a", 8000000);'
NATIVES = {
    "find": calls(LONG_TEXT + ' let b = str.repeat("a", 4000000) + "b";', "if str.find(a, b) == 7 { return; }"),
    "find_last": calls(
        LONG_TEXT + ' let b = "b" + str.repeat("a", 4000000);', "if str.find_last(a, b) == 7 { return; }"
    ),
    "replace": calls(
        LONG_TEXT + ' let b = str.repeat("a", 4000000) + "b";', 'if str.replace(a, b, "") == "" { return; }'
    ),
    "replace-many": calls('let a = str.repeat("a", 100000000);', 'if str.replace(a, "a", "b") == "" { return; }'),
    "repeat": calls("", 'if str.repeat("ab", 200000000) == "" { return; }'),
    "upper": calls('let a = str.repeat("a", 200000000);', 'if str.upper(a) == "" { return; }'),
    "trim": calls('let a = str.repeat(" ", 200000000);', 'if str.trim(a) == "x" { return; }'),
    "join": calls('let a = [str](4000000, fill: "ab");', 'if str.join(a, ", ") == "" { return; }'),
    "compare": calls('let a = str.repeat("a", 100000000); let b = a + "b";', "if a == b { return; }"),
    "sleep": calls("", "time.sleep(3600.0);"),
    "read_line": calls("", 'if (io.read_line() ?? "") == "x" { return; }'),
    "read_input": calls("", 'if io.read_input() == "x" { return; }'),
    "read_pipe": calls("", 'if io.read_text("pipe")! == "x" { return; }'),
    "open_pipe": calls("", 'let f = io.open("pipe")!; if (f.read_line()! ?? "") == "x" { return; }'),
    "write_pipe": calls("", 'io.write_text("pipe", "x")!;'),
    "read_zeros": calls("", 'if io.read_bytes("/dev/zero")!.len == 7 { return; }'),
    "write_output": calls('let a = str.repeat("a", 1000000);', "io.write(a);"),
    "interpreted": calls("var i = 0;", "i += 1;"),
}
# An iteration takes about a millisecond, and all of them minutes.
WORK = "var x = a[i]; for k in 0..n { x = x * 0.999 + 0.5; } a[i] = x;"
ARRAY = "let a = [f64](200000, fill: 1.0); var n = 300000;"
LOOPS = {
    "long": f"fn main() {{ {ARRAY} begin(); parallel for i in 0..a.len {{ {WORK} }} print(a[7]); }}",
    # The iterations are longer than they were when the loop was measured.
    "longer": f"fn work(a: [f64], n: i64) {{ parallel for i in 0..a.len {{ {WORK} }} }}\n"
    f"fn main() {{ {ARRAY} work(a, 100); begin(); while true {{ work(a, n); n += 1; }} }}",
    # Each takes about a second, and no caller waits for them.
    "forty": f"fn main() {{ {ARRAY} begin(); for j in 0..40 {{ parallel for i in 0..1500 {{ {WORK} }} }} print(a[7]); }}",
    "short": "fn main() { let a = [f64](1000000, fill: 1.0); begin();"
    " while true { parallel for i in 0..a.len { a[i] = a[i] * 0.5 + 1.0; } } }",
    "reduction": f"fn main() {{ {ARRAY} begin(); while true {{ var s = 0.0; parallel for i in 0..a.len reduce(+: s) {{"
    " var x = a[i]; for k in 0..n / 30 { x = x * 0.999 + 0.5; } s += x; } if s == 7.0 { return; } } }",
    "rows": "fn main() { let a = [f64, 2](2000, 300, fill: 1.0); begin(); parallel for i in 0..2000, j in 0..300 {"
    " var x = a[i, j]; for k in 0..100000 { x = x * 0.999 + 0.5; } a[i, j] = x; } print(a[7, 7]); }",
}
# Loops that are deferred until their results are needed, and run together then.
CHAIN = ("fn main() { let a = [f64](200000, fill: 1.0); let b = [f64](200000); let n = 300000; begin(); while true {"
         f" parallel for i in 0..a.len {{ {WORK} }} parallel for i in 0..a.len {{ b[i] = a[i] * 2.0; }}"
         " if b[7] == -1.0 { return; } } }")
# An iteration that takes minutes.
ITERATION = ("fn main() { let a = [f64](8, fill: 1.0); begin(); parallel for i in 0..8 {"
             " var x = a[i]; for k in 0..1000000000000 { x = x * 0.999 + 0.5; } a[i] = x; } print(a[7]); }")
# The two signals take turns.
REQUESTS = [{"deadline": None, "SIGINT": signal.SIGINT}, {"deadline": None, "SIGTERM": signal.SIGTERM}]


def table(run):
    """Name, source and options of all that is to be run."""
    for name, source in NATIVES.items():
        yield f"native/{name}", source, []
    devices = {"host": "host", "sim": "sim", "two": "sim,sim?units=4"}
    if has_opencl(run):
        devices |= {"opencl": "opencl", "mixed": "sim,opencl"}
    else:
        print("SKIP loops on OpenCL: this machine has no platform", flush=True)
    for device, names in devices.items():
        for name, source in LOOPS.items():
            yield f"{device}/{name}", source, ["--jit-wait", f"--device={names}"]
    for device in ["host", "sim"]:
        yield f"{device}/iteration", ITERATION, ["--jit-wait", f"--device={device}"]
    for options in ["", "&lazy=1"]:
        yield "sim/chain" + options, CHAIN, ["--jit-wait", "--device=sim?mem=2MB" + options]
    if has_opencl(run):
        yield "opencl/chain", CHAIN, ["--jit-wait", "--device=opencl", "--device-memory=2M"]


def has_opencl(run):
    done = subprocess.run([run, "--list-devices"], capture_output=True, text=True, timeout=4 * PATIENCE)
    return "opencl:" in done.stdout


def stop(run, folder, source, options, request):
    """Runs the program, asks it to stop, and says how long it went on; None if it did not end."""
    program = folder / "program.dhp"
    program.write_text(HEAD + source)
    if not (folder / "pipe").exists():
        os.mkfifo(folder / "pipe")
    # The deadline counts from the call of main, a moment before the program says that it has begun.
    words = [run, *options] + ([f"--deadline={int(DELAY * 1000)}ms"] if request is None else [])
    words += [str(program)]
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            ready, _, _ = select.select([process.stdout], [], [], 4 * PATIENCE)
            if not ready or os.read(process.stdout.fileno(), 6) != b"begun\n":
                process.kill()
                errors = process.stderr.read().decode(errors="replace")
                # On a busy machine the deadline may pass before.
                return (0, None) if "deadline exceeded" in errors else (None, "it has not begun: " + errors)
            time.sleep(DELAY)
            begin = time.monotonic()
            if request is not None:
                process.send_signal(request)
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                return None, f"it has not ended {PATIENCE} s after the request"
            return time.monotonic() - begin, judge(code, process.stderr.read().decode(errors="replace"), request)
        finally:
            process.kill()


def judge(code, errors, request):
    """The problem with the end, if there is one."""
    if code < 0 and (request is None or code != -request):
        return f"it was ended by signal {-code}: {errors}"
    if code == 0:
        return "it came to its end, as if nobody had asked it to stop"
    expected = ("deadline exceeded",) if request is None else ("interrupted", "asked to stop")
    # The program may have only output that is never read.
    if code > 0 and not any(text in errors for text in expected):
        return f"it says something else: {errors}"
    return None


def examine(run, name, source, options, label, request):
    """Stops the program in a folder of its own: its name, how long it went on, and the problem if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, problem = stop(run, Path(folder), source, options, request)
    return f"{name} {label}", seconds, problem


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    run = str((options.bin / "dhpvm-run").resolve())
    chosen = [(number, *program) for number, program in enumerate(table(run)) if program[0].startswith(options.only)]
    if not chosen:
        return (
            EXIT_SKIPPED if options.only in ("opencl/", "mixed/") else f"no program's name begins with '{options.only}'"
        )
    failed = 0
    with ThreadPoolExecutor(1 if options.times else options.jobs) as pool:
        endings = [
            pool.submit(examine, run, *program, label, request)
            for number, *program in chosen
            for label, request in REQUESTS[number % 2].items()
        ]
        for name, seconds, problem in (ending.result() for ending in endings):
            if problem is not None:
                failed += 1
                print(f"FAILED {name}: {problem}", flush=True)
            elif options.times:
                print(f"{name}: {seconds * 1000:.0f} ms", flush=True)
    print(f"{failed} programs did not stop as they should")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
