#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures kernels of parallel loops on an NVIDIA GPU, by the GPU's own clock, with all data there.

Programs are in bench/programs/kernels. The time of a loop is that of its launches in the timeline (--trace), the median
of all executions. The report sets three things beside it: the rate of a copy by the driver; loops as one writes them
first in CUDA (tests/gpu/twins.cu), compiled by NVRTC; and cuBLAS. They need CuPy, and are left out without it. At small
sizes results are compared with those of the host's cores.
"""

import argparse
import collections
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import PROGRAMS, Figure, Program, Report, VirtualMachine, fail, progress
from run_kernels import KERNELS, compare

BAR_BANDWIDTH, BAR_SGEMM = 0.9, 0.5
SKIPPED = 77
REPETITIONS, WARM_UP = 12, 3
TWINS = Path(__file__).resolve().parent.parent / "tests" / "gpu" / "twins.cu"


@dataclass
class Loop:
    """A program, and what one execution of its loop has to move and to compute at the least."""

    program: str
    size: int
    check_size: int
    bytes: callable = lambda n: 0
    flops: callable = lambda n: 0
    twin: callable = None  # gets the GPU's Beside and the size; gives seconds


@dataclass
class Times:
    """The executions of one loop in a timeline: seconds of the GPU for each."""

    seconds: list

    def median(self):
        return statistics.median(self.seconds[WARM_UP:] or self.seconds)


def times_of(trace):
    """By loop, in the order in which they first ran: an execution takes as long as the launches of its chunks. Under
    None: short loops that waited for others and were submitted with them, a launch each."""
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    loops = [
        (event["ts"], event["ts"] + event["dur"], event["name"])
        for event in events
        if event["ph"] == "X" and event["name"].startswith("parallel for at ")
    ]
    launches = collections.defaultdict(list)
    for event in events:
        if event["name"] == "launch":
            launches[event["args"].get("flow")].append(event["dur"] / 1e6)
    times = {name: Times([]) for _, _, name in sorted(loops)}
    joined = {event["args"]["flow"]: event["ts"] for event in events if event["name"] == "submit a chunk"}
    for begin, end, name in sorted(loops):
        own = [flow for flow, when in joined.items() if begin <= when <= end]
        if own:
            times[name].seconds.append(sum(sum(launches[flow]) for flow in own))
        for flow in own:
            del joined[flow]
    times[None] = Times([seconds for flow in joined for seconds in launches[flow]])
    return times


class Beside:
    """What others do on the same GPU, through CuPy."""

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.module = cupy.RawModule(code=TWINS.read_text(), options=("-std=c++17",))

    def seconds(self, work):
        """The median of REPETITIONS, by the GPU's clock."""
        cupy, taken = self.cupy, []
        for _ in range(WARM_UP + REPETITIONS):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            taken.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
        return statistics.median(taken[WARM_UP:])

    def noise(self, *shape, dtype="float32"):
        return self.cupy.random.random(shape, dtype=dtype)

    def launch(self, name, grid, block, *arguments):
        kernel = self.module.get_function(name)
        return self.seconds(lambda: kernel(grid, block, arguments))

    def memory_rate(self):
        """Bytes read and written in a second by a copy of 2 GiB."""
        source = self.noise(1 << 29)
        target = self.cupy.empty_like(source)
        return 2 * source.nbytes / self.seconds(lambda: self.cupy.copyto(target, source))

    def cublas(self, n, dtype):
        left, right = self.noise(n, n, dtype=dtype), self.noise(n, n, dtype=dtype)
        out = self.cupy.empty_like(left)
        return self.seconds(lambda: self.cupy.matmul(left, right, out=out))

    def product(self, name, n, dtype="float32"):
        arrays = [self.noise(n, n, dtype=dtype) for _ in range(3)]
        int32, grid = self.cupy.int32, ((n + 31) // 32, (n + 7) // 8)
        return self.launch(name, grid, (32, 8), *arrays, *[int32(n)] * 3)

    def row_sums(self, n):
        int32 = self.cupy.int32
        return self.launch(
            "row_sums", ((n + 255) // 256,), (256,), self.noise(n, n), self.noise(n), int32(n), int32(n)
        )

    def transpose(self, n):
        int32, grid = self.cupy.int32, ((n + 31) // 32, (n + 7) // 8)
        return self.launch("transpose", grid, (32, 8), self.noise(n, n), self.noise(n, n), int32(n), int32(n))

    def saxpy(self, n):
        numbers = self.cupy.float32(0.5), self.noise(n), self.noise(n), self.cupy.int32(n)
        return self.launch("saxpy", ((n + 255) // 256,), (256,), *numbers)

    def stencil3d(self, n):
        grid = (n + 31) // 32, (n + 7) // 8, n
        return self.launch(
            "stencil3d", grid, (32, 8, 1), self.noise(n, n, n), self.noise(n, n, n), *[self.cupy.int32(n)] * 3
        )

    def convolution2d(self, n):
        grid = (n + 31) // 32, (n + 7) // 8
        arrays = self.noise(n, n), self.noise(25), self.noise(n, n)
        return self.launch("convolution2d", grid, (32, 8), *arrays, *[self.cupy.int32(n)] * 2)


LOOPS = {
    "stream": Loop("stream", 1 << 28, 100_000),
    "saxpy": Loop("saxpy", 1 << 28, 5000, lambda n: 12 * n, twin=lambda gpu, n: gpu.saxpy(n)),
    "dot": Loop("dot", 1 << 28, 10_000, lambda n: 8 * n),
    "row_sums": Loop("row_sums", 8192, 300, lambda n: 4 * n * n, twin=lambda gpu, n: gpu.row_sums(n)),
    "softmax": Loop("softmax", 8192, 300, lambda n: 8 * n * n),
    "layer_norm": Loop("layer_norm", 8192, 300, lambda n: 8 * n * n),
    "transpose": Loop("transpose", 8192, 300, lambda n: 8 * n * n, twin=lambda gpu, n: gpu.transpose(n)),
    "gemv": Loop("gemv", 8192, 300, lambda n: 4 * n * n),
    "stencil3d": Loop("stencil3d", 512, 40, lambda n: 8 * n**3, twin=lambda gpu, n: gpu.stencil3d(n)),
    "convolution2d": Loop("convolution2d", 8192, 100, lambda n: 8 * n * n, lambda n: 50 * n * n,
                          lambda gpu, n: gpu.convolution2d(n)),
    "jacobi": Loop("jacobi", 8192, 100, lambda n: 12 * n * n),
    "add_image": Loop("add_image", 8192, 100),
    "blur": Loop("blur", 8192, 100),
    "histogram": Loop("histogram", 1 << 27, 20_000, lambda n: 4 * n),
    "spmv": Loop("spmv", 1_000_000, 2000),
    "black_scholes": Loop("black_scholes", 1 << 25, 2000),
    "monte_carlo": Loop("monte_carlo", 1 << 26, 20_000),
    "mandelbrot": Loop("mandelbrot", 2048, 100),
    "julia": Loop("julia", 2048, 100),
    "nbody": Loop("nbody", 131_072, 100),
    "kmeans": Loop("kmeans", 64_000_000, 1000),
    "md": Loop("md", 1_000_000, 300),
    "particles": Loop("particles", 10_000_000, 300),
    "sgemm": Loop("sgemm", 4096, 100, flops=lambda n: 2 * n**3, twin=lambda gpu, n: gpu.product("sgemm", n)),
    "dgemm": Loop("dgemm", 4096, 100, flops=lambda n: 2 * n**3,
                  twin=lambda gpu, n: gpu.product("dgemm", n, "float64")),
    "matmul_nt": Loop("matmul_nt", 4096, 100, flops=lambda n: 2 * n**3,
                      twin=lambda gpu, n: gpu.product("matmul_nt", n)),
    "matmul_tn": Loop("matmul_tn", 4096, 100, flops=lambda n: 2 * n**3),
}  # fmt: skip
# Bytes for an element of the vectors, of the loops of `stream` in their order.
STREAM = {"copy": 16, "mul": 16, "add": 24, "triad": 24, "dot": 16}


class Bench:
    """Our programs on one GPU."""

    def __init__(self, vm, device):
        self.vm, self.device = vm, device

    def command(self, loop, device, size, repetitions, *options):
        # Without a cache, for the first execution is not measured, and the code of today is.
        flags = ["--jit-wait", "--no-cache", f"--device={device}", "--off-heap=none", *options]
        return [self.vm.tool, *flags, self.vm.compile(PROGRAMS / "kernels" / f"{loop.program}.dhp"), size, repetitions]

    def output(self, command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
        return [line for line in done.stdout.splitlines() if not line.startswith("time_ns ")]

    def check(self, name):
        """The results of a small size are those of the host's cores, or near where a kernel may differ."""
        loop = LOOPS[name]
        ours, host = (
            Program(self.command(loop, device, loop.check_size, 2, *options)).finish()
            for device, options in ((self.device, ["--require-device"]), ("host", []))
        )
        kernel = KERNELS.get(name)
        tolerance = max(kernel.tolerance, 1e-5) if kernel else 0.0
        compare(f"{name}: on {self.device}, and on the host", ours, host, tolerance)

    def times(self, name, size):
        """The times of the program's loops that run in every repetition."""
        trace = self.vm.folder / "trace.json"
        self.output(self.command(LOOPS[name], self.device, size, WARM_UP + REPETITIONS, f"--trace={trace}"))
        times = times_of(trace)
        joined = times.pop(None)
        found = [loop for loop in times.values() if len(loop.seconds) >= WARM_UP + REPETITIONS]
        # The program has one short loop, which has waited for its next executions.
        if not found and len([loop for loop in times.values() if len(loop.seconds) > 1]) == 1:
            return [joined]
        return found


def rows_of(bench, name, size, beside, rate):
    """One row for each loop of the program."""
    loop = LOOPS[name]
    times = bench.times(name, size)
    names = [f"{name} {part}" for part in STREAM] if name == "stream" else [name]
    if name == "stream" and len(times) != len(STREAM):
        fail(f"of the {len(STREAM)} loops of {name} {len(times)} were submitted by themselves: choose a larger size")
    if len(times) != len(names) and len(names) == 1:
        names = [f"{name} {number + 1}" for number in range(len(times))]
    for label, (part, taken) in zip(names, zip(STREAM if name == "stream" else [name] * len(times), times)):
        seconds = taken.median()
        moved = STREAM[part] * size if name == "stream" else loop.bytes(size)
        yield {
            "name": label, "size": size, "seconds": seconds, "all_s": taken.seconds,
            "bytes_per_s": moved / seconds, "flops_per_s": loop.flops(size) / seconds,
            "share": moved / seconds / rate if rate else None,
            "twin_s": loop.twin(beside, size) if beside and loop.twin else None,
        }  # fmt: skip


def report_of(gpu, rows, rate, cublas):
    report = Report(f"{gpu}. Medians of executions, by the GPU's clock; all data is on the GPU.")
    heads = ["loop", "size", "time", "GB/s", "of a copy's rate", "TFLOP/s", "CUDA by hand", "times as fast"]
    table = []
    for row in rows:
        twin = row["twin_s"]
        table.append([
            row["name"], f"{row['size']:,}", f"{row['seconds'] * 1e3:.3f} ms",
            f"{row['bytes_per_s'] / 1e9:.0f}" if row["bytes_per_s"] else "",
            f"{row['share']:.2f}" if row["share"] else "",
            f"{row['flops_per_s'] / 1e12:.2f}" if row["flops_per_s"] else "",
            f"{twin * 1e3:.3f} ms" if twin else "", f"{twin / row['seconds']:.2f}" if twin else "",
        ])  # fmt: skip
    report.table(heads, table)
    if rate:
        shares = [row["share"] for row in rows if row["name"].startswith("stream ")]
        report.figures.append(Figure.of("rate of a copy of 2 GiB by the driver", rate / 1e9, "GB/s", None, True))
        if shares:
            name = "loops of BabelStream against that rate, least"
            report.figures.append(Figure.of(name, min(shares), "", BAR_BANDWIDTH, True))
    for row in rows:
        if row["name"] in cublas:
            name = f"{row['name']} {row['size']} against cuBLAS"
            bar = BAR_SGEMM if row["name"] == "sgemm" else None
            report.figures.append(Figure.of(name, cublas[row["name"]] / row["seconds"], "times as fast", bar, True))
    return report


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run and dhpvmc")
    parser.add_argument("--device", default="cuda:0", metavar="NAME")
    parser.add_argument("--only", action="append", choices=LOOPS, metavar="LOOP", help="may be repeated")
    parser.add_argument("--size", type=float, default=1.0, metavar="FACTOR", help="multiplies every size (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    parser.add_argument("--quick", action="store_true", help="measure nothing: compare the results of small sizes")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        vm = VirtualMachine(options.bin, folder)
        listing = subprocess.run([vm.tool, "--list-devices"], stdout=subprocess.PIPE, text=True, check=True).stdout
        usable = dict(line.split(maxsplit=1) for line in listing.splitlines() if "cannot be used" not in line)
        if options.device not in usable:
            print(f"SKIP: there is no device {options.device}\n{listing}")
            return SKIPPED
        bench = Bench(vm, options.device)
        names = options.only or list(LOOPS)
        for name in names:
            progress(name)
            bench.check(name)
        if options.quick:
            print(f"{len(names)} programs: results agree between {options.device} and the host")
            return 0
        try:
            beside = Beside()
        except ImportError as problem:
            print(f"nothing to compare with: {problem}")
            beside = None
        rate = beside.memory_rate() if beside else None
        rows = []
        for name in names:
            progress(name)
            size = max(int(LOOPS[name].size * options.size), LOOPS[name].check_size)
            rows += rows_of(bench, name, size, beside, rate)
        sizes = {row["name"]: row["size"] for row in rows}
        types = {"sgemm": "float32", "dgemm": "float64", "matmul_nt": "float32", "matmul_tn": "float32"}
        cublas = {name: beside.cublas(sizes[name], types[name]) for name in types if beside and name in sizes}
        progress("")
    report = report_of(usable[options.device].strip(), rows, rate, cublas)
    report.print()
    report.write(options.json, device=options.device, memory_rate=rate, cublas_s=cublas, loops=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
