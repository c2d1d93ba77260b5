#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the benchmark reports, with fake programs: results that differ must be found, and programs take turns."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import harness  # noqa: E402
import performance_page  # noqa: E402
import run_gpu  # noqa: E402
import run_jit  # noqa: E402
import run_kernels  # noqa: E402
import run_remote  # noqa: E402

DIGEST = ["sample 1.0", "sample -3.0", "count 2", "bits 00ff", "sum -2.0", "magnitude 4.0"]
# Writes its name into a file at each repetition, and the time that this is said to have taken: 1, 2, 3 ns and so on.
FAKE = """
import sys
name, log, repetitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("threads 2")
for i in range(repetitions):
    if sys.argv[-1] == "paced" and not sys.stdin.readline():
        break
    with open(log, "a") as file:
        file.write(name)
    print("result", i)
    print("time_ns", i + 1, flush=True)
print('{"compiles": 7, "compile_ms_median": 3.5}', file=sys.stderr)
sys.exit(9 if name == "bad" else 0)
"""


def changed(old, new):
    return [line.replace(old, new) for line in DIGEST]


class DifferenceTest(unittest.TestCase):
    def test_equal(self):
        self.assertIsNone(run_kernels.difference(DIGEST, DIGEST, 0.0))
        self.assertIsNone(run_kernels.difference(["other text", *DIGEST, *DIGEST], DIGEST + DIGEST, 1e-9))

    def test_bits(self):
        self.assertIn("bits", run_kernels.difference(DIGEST, changed("00ff", "00fe"), 0.0))
        self.assertIsNone(run_kernels.difference(DIGEST, changed("00ff", "00fe"), 1e-9))

    def test_tolerance(self):
        for line in ("sample -3.0", "sum -2.0"):
            close, far = changed(line, line.replace(".0", ".0000001")), changed(line, line.replace(".0", ".1"))
            self.assertIsNone(run_kernels.difference(DIGEST, close, 1e-6))
            self.assertIn("tolerance", run_kernels.difference(DIGEST, far, 1e-6))

    def test_not_a_number(self):
        self.assertIn("tolerance", run_kernels.difference(DIGEST, changed("sample 1.0", "sample nan"), 1e-6))

    def test_missing(self):
        self.assertIn("0 results", run_kernels.difference([], [], 0.0))
        self.assertIn("2 results", run_kernels.difference(DIGEST + DIGEST, DIGEST, 0.0))
        self.assertIn("numbers", run_kernels.difference(DIGEST, changed("count 2", "count 3"), 0.0))


class ProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"
        self.fake = Path(folder.name) / "fake.py"
        self.fake.write_text(FAKE)

    def command(self, name, repetitions):
        return [sys.executable, self.fake, name, self.log, repetitions]

    def test_turns(self):
        a, b = harness.take_turns(
            (self.command("a", 5), None, None), (self.command("b", 5), None, None), warm_up=2, runs=3
        )
        self.assertEqual(self.log.read_text(), "aabb" + "ab" * 3)
        self.assertEqual([round(time * 1e9) for time in b.times], [3, 4, 5])
        self.assertEqual((a.lines[-1], a.threads, a.statistic("compiles")), ("result 4", 2, 7))

    def test_too_few_repetitions(self):
        with self.assertRaisesRegex(SystemExit, "ended before its time"):
            harness.take_turns(
                (self.command("a", 3), None, None), (self.command("b", 5), None, None), warm_up=2, runs=3
            )

    def test_exit_code(self):
        with self.assertRaisesRegex(SystemExit, "exit code 9"):
            harness.Program(self.command("bad", 1)).finish()

    def test_other_output(self):
        a, b = (harness.Program(self.command("a", n)).finish() for n in (1, 2))
        run_jit.compare("the same", a, a)
        with self.assertRaisesRegex(SystemExit, "does not print the same"):
            run_jit.compare("another", a, b)

    def test_units_of_times(self):
        def result(statistics):
            return harness.Result([], [], statistics, None, 0.0, 0.0)

        self.assertEqual(result({"compile_ms_median": 2}).statistic("compile_ms_median"), 2)
        self.assertEqual(result({"compile_median": 2_000_000}).statistic("compile_ms_median"), 2)
        self.assertEqual(result({"compile_ns_median": 2_000_000}).statistic("compile_ms_median"), 2)
        self.assertIsNone(result({}).statistic("compile_ms_median"))


class FiguresTest(unittest.TestCase):
    def test_bars(self):
        self.assertTrue(harness.Figure.of("rate", 1.0, "times", 1.0, True).met)
        self.assertFalse(harness.Figure.of("rate", 0.99, "times", 1.0, True).met)
        self.assertFalse(harness.Figure.of("time", 1.01, "s", 1.0, False).met)

    def test_verdicts(self):
        rows = [{"ratio": ratio, "compiles": 1, "compile_ms": 4.0, "compiles_again": 1} for ratio in (0.9, 9.0)]
        report = harness.Report("")
        report.figures += run_kernels.figures_of(rows)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            report.print()
        verdicts = [line.split()[-1] for line in output.getvalue().splitlines()[3:] if line]
        self.assertEqual(verdicts, ["pass", "MISSED", "pass", "MISSED"])


class SamplesTest(unittest.TestCase):
    @staticmethod
    def samples(spinning, blocking):
        samples = run_remote.Samples()
        for value in (spinning, 100.0, 0.1):
            samples.add(f'{{"name": "libfabric, spinning, 16 MiB", "value": {value}, "unit": "GB/s"}}')
        samples.add(f'{{"name": "libfabric, blocking, 16 MiB", "value": {blocking}, "unit": "GB/s"}}')
        return samples

    def test_median(self):
        figure = self.samples(3.0, 2.0).figure("label", "libfabric, spinning, 16 MiB", 3.5, True)
        self.assertEqual((figure.value, figure.unit, figure.met), (3.0, "GB/s", False))

    def test_bar_of_uploads(self):
        self.assertAlmostEqual(run_remote.upload_bar(self.samples(3.0, 2.0)), 2.85)
        self.assertAlmostEqual(run_remote.upload_bar(self.samples(1.0, 5.0)), 4.75)


class PageTest(unittest.TestCase):
    """docs/performance.md is made from docs/performance.json, and README.md says what it says."""

    def test_page_is_up_to_date(self):
        made = performance_page.page(performance_page.load())
        self.assertEqual(performance_page.PAGE.read_text(encoding="utf-8"), made, "./dev bench all --page makes it")

    def test_readme(self):
        kernels = performance_page.load()["kernels"]
        loops = len(kernels["tables"][0]["rows"])
        mean = next(figure["value"] for figure in kernels["figures"] if "geometric mean" in figure["name"])
        readme = (performance_page.ROOT / "README.md").read_text(encoding="utf-8")
        self.assertIn(f"{loops} parallel loops are {mean:.1f} times as fast", " ".join(readme.split()))

    def test_losses_come_first(self):
        figures = [
            {"name": name, "value": value, "unit": "ms", "bar": 10.0, "at_least": False, "met": value <= 10}
            for name, value in (("near", 11.0), ("met", 9.0), ("far", 50.0))
        ]
        origin = {"machine": "m", "about": "a", "commit": "c", "date": "d", "load": 0.5}
        text = performance_page.page({"jit": origin | {"tables": [], "figures": figures}})
        self.assertLess(text.index("| far |"), text.index("| near |"))
        self.assertLess(text.index("| near |"), text.index("| met |"))
        self.assertIn("| far | 50 ms | at most 10 ms | 5.00 |", text)


class GpuTest(unittest.TestCase):
    """Times of loops on a GPU, from a timeline with microseconds: two chunks of one loop, and two short loops behind it
    that were submitted together."""

    def times(self):
        loop = {"ph": "X", "name": "parallel for at a.dhp:1", "ts": 10.0, "dur": 5.0, "args": {}}
        events = [loop, {**loop, "name": "parallel for at a.dhp:2", "ts": 30.0, "dur": 1.0}]
        events += [{"ph": "i", "name": "submit a chunk", "ts": ts, "args": {"flow": flow}}
                   for ts, flow in ((11.0, 1), (12.0, 2), (40.0, 3))]  # fmt: skip
        events += [{"ph": "X", "name": "launch", "ts": 13.0, "dur": dur, "args": {"flow": flow}}
                   for flow, dur in ((1, 2.0), (2, 3.0), (3, 7.0), (3, 8.0))]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "trace.json"
            trace.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
            return run_gpu.times_of(trace)

    def test_chunks_add_up(self):
        (seconds,) = self.times()["parallel for at a.dhp:1"].seconds
        self.assertAlmostEqual(seconds, 5e-6)

    def test_joined_loops_have_a_launch_each(self):
        times = self.times()
        self.assertEqual(times["parallel for at a.dhp:2"].seconds, [])
        self.assertEqual([round(1e6 * seconds) for seconds in times[None].seconds], [7, 8])


if __name__ == "__main__":
    unittest.main()
