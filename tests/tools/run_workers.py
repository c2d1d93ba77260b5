#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests workers from outside: two processes, and what can happen to either.

usage: run_workers.py --bin BIN_DIR [unittest arguments]
"""

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN = None
PATIENCE = 60  # seconds; only a hang takes that long
EXIT_TRAP = 3
EXIT_USER = 2

# Several loops, each of which reads what the one before has written.
PROGRAM = """
fn main(args: [str]) {
    let x = [i64](300_000);
    parallel for i in 0..x.len { x[i] = i; }
    var round = 0;
    while round < ROUNDS {
        parallel for i in 0..x.len { x[i] = x[i] * 3 + 1; }
        round += 1;
    }
    var sum = 0;
    parallel for i in 0..x.len reduce(+: sum) { sum += x[i] & 1023; }
    print(f"{sum}");
}
"""


def run(*words, **options):
    return subprocess.run([str(BIN / "dhpvm-run"), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                          **options)


class Worker:
    """A worker of the host's cores, and what it logs."""

    def __init__(self, folder, *options, listen="127.0.0.1:0"):
        self.path = Path(folder) / f"worker{time.monotonic_ns()}.log"
        where = [f"--listen={listen}"] if listen else []
        with open(self.path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([str(BIN / "dhpvm-run"), "--worker", "--device=host", *where, *options],
                                            stdout=log, stderr=log)
        self.address = self.wait_for(r"listening at (\S+)").group(1) if listen else None

    def log(self):
        return self.path.read_text(encoding="utf-8")

    def wait_for(self, pattern):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = re.search(pattern, self.log())
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the worker does not say '{pattern}':\n{self.log()}")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class Workers(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name)
        self.program = self.write("program.dhp", 3)
        self.expected = run("--device=host", self.program).stdout
        self.assertRegex(self.expected, r"^\d+\n$")

    def write(self, name, rounds):
        path = self.folder / name
        path.write_text(PROGRAM.replace("ROUNDS", str(rounds)), encoding="utf-8")
        return path

    def worker(self, *options, **keywords):
        worker = Worker(self.folder, *options, **keywords)
        self.addCleanup(worker.end)
        return worker

    def start_long(self, worker, *options):
        """A program that computes on the worker until something happens to it."""
        program = self.write("long.dhp", 10_000_000)
        client = subprocess.Popen([str(BIN / "dhpvm-run"), f"--device=remote/{worker.address}", *options, str(program)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.kill)
        worker.wait_for(r"kernel '.*' ready(.*\n)+.*kernel '.*' ready")
        return client

    def assert_lost(self, client, seconds):
        begin = time.monotonic()
        out, errors = client.communicate(timeout=PATIENCE)
        self.assertEqual(client.returncode, EXIT_TRAP, errors)
        self.assertIn("worker", errors)
        self.assertLess(time.monotonic() - begin, seconds)
        self.assertEqual(out, "")

    def test_loops_run_there(self):
        worker = self.worker()
        done = run(f"--device=remote/{worker.address}/host", "--explain-offload", self.program)
        self.assertEqual((done.returncode, done.stdout), (0, self.expected), done.stderr)
        self.assertIn(f"ran on remote/{worker.address}/host", done.stderr)
        worker.wait_for(r"session 1: ended .* [1-9]\d* jobs")
        listed = run(f"--connect={worker.address}", "--list-devices")
        self.assertIn(f"remote/{worker.address}/host", listed.stdout)

    def test_traps_name_their_line(self):
        worker = self.worker()
        path = self.folder / "trap.dhp"
        path.write_text("fn main() {\n    let x = [i64](100_000);\n    let d = [i64](100_000);\n"
                        "    parallel for i in 0..x.len {\n        x[i] = 7 / d[i];\n    }\n}\n", encoding="utf-8")
        here = run("--device=host", path)
        there = run(f"--device=remote/{worker.address}", path)
        self.assertEqual(there.returncode, EXIT_TRAP)
        self.assertEqual(there.stderr, here.stderr)

    def test_with_a_key(self):
        key = self.folder / "key"
        other = self.folder / "other"
        for path in (key, other):
            self.assertEqual(run(f"--make-key={path}").returncode, 0)
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        self.assertEqual(run(f"--make-key={key}").returncode, EXIT_USER)
        worker = self.worker(f"--key-file={key}")
        remote = f"--device=remote/{worker.address}"
        for seal in ("full", "integrity", "none"):
            done = run(remote, f"--key-file={key}", f"--seal={seal}", self.program)
            self.assertEqual((done.returncode, done.stdout), (0, self.expected), done.stderr)
        for options in ([], [f"--key-file={other}"]):
            refused = run(remote, *options, self.program)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("key", refused.stderr)
            worker.wait_for(r"refused 127\.0\.0\.1.*key")
        # Others are served as before.
        self.assertEqual(run(remote, f"--key-file={key}", self.program).stdout, self.expected)
        os.chmod(key, 0o644)
        self.assertIn("chmod 600", run(remote, f"--key-file={key}", self.program).stderr)

    def test_without_a_key_only_this_machine_is_talked_to(self):
        refused = run("--worker", "--listen=0.0.0.0:0")
        self.assertEqual(refused.returncode, EXIT_USER)
        self.assertIn("--make-key", refused.stderr)

    def test_workers_may_dial_in(self):
        key = self.folder / "key"
        run(f"--make-key={key}")
        # A port that is free now: the system gave it to a worker that is gone.
        free = self.worker()
        free.end()
        worker = self.worker(f"--connect={free.address}", f"--key-file={key}", listen=None)
        done = run(f"--listen={free.address}", "--device=remote", f"--key-file={key}", self.program)
        self.assertEqual((done.returncode, done.stdout), (0, self.expected), done.stderr)
        self.assertEqual(worker.process.wait(timeout=PATIENCE), 0)

    def test_a_killed_worker(self):
        worker = self.worker()
        client = self.start_long(worker)
        worker.process.kill()
        self.assert_lost(client, 30)

    def test_a_stopped_worker(self):
        worker = self.worker()
        client = self.start_long(worker, "--silence=500ms")
        worker.process.send_signal(signal.SIGSTOP)
        self.assert_lost(client, 30)

    def test_a_killed_client(self):
        worker = self.worker()
        client = self.start_long(worker)
        client.kill()
        client.communicate()
        worker.wait_for(r"session 1: ended")
        self.assertEqual(run(f"--device=remote/{worker.address}", self.program).stdout, self.expected)

    def test_limits_of_a_session(self):
        worker = self.worker("--lend=memory=1M,sessions=1")
        refused = run(f"--device=remote/{worker.address}", self.program)
        self.assertEqual(refused.stdout, self.expected)  # on the host, with a reason
        self.assertIn("runs on the host", refused.stderr)

    def test_draining(self):
        worker = self.worker()
        self.assertEqual(run(f"--device=remote/{worker.address}", self.program).stdout, self.expected)
        worker.process.send_signal(signal.SIGTERM)
        self.assertEqual(worker.process.wait(timeout=PATIENCE), 0)
        self.assertIn("draining", worker.log())

    def test_options_that_do_not_go_together(self):
        for words in (["--worker"], ["--certificate=a", "x.bc"], ["--worker", "--listen=nonsense:x"],
                      ["--seal=tin", "x.bc"], ["--lend=gold=1", "--worker", "--listen=127.0.0.1:0"],
                      ["--silence=1ms", "x.bc"], ["--listen=127.0.0.1:0", "--listen=127.0.0.1:1", "x.bc"]):
            done = run(*words)
            self.assertEqual(done.returncode, EXIT_USER, words)
            self.assertTrue(done.stderr.startswith("dhpvm-run: "), words)


if __name__ == "__main__":
    at = sys.argv.index("--bin")
    BIN = Path(sys.argv[at + 1]).resolve()
    del sys.argv[at:at + 2]
    unittest.main()
