#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the laboratory sees what it looks for, with a stand-in for dhpvm-run that misbehaves as it is told.

usage: lab_test.py --lab PROGRAM [unittest arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LAB = None
EXIT_FOUND, EXIT_USER = 1, 2
PATIENCE = 120

# As a worker it listens, has a process for the next session, and ends when it is asked to. Everything else it is told by its
# arguments; the interpreter's run, which --jit=off tells, is right.
STAND_IN = r'''#!/usr/bin/env python3
import os, signal, subprocess, sys, time
words = sys.argv[1:]
told = [word for word in words if not word.startswith("-")][1:]
if "--worker" in words:
    spare = subprocess.Popen(["sleep", "60"])
    def end(*_):
        if "--immortal" not in words: spare.kill(); spare.wait()
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    print("listening at 127.0.0.1:1", file=sys.stderr, flush=True)
    if "--open-session" in words: print("session 1: 'x' from y", file=sys.stderr, flush=True)
    if "--dies" in words: time.sleep(0.4); spare.kill(); sys.exit(70)
    while True: signal.pause()
probe = any("probe-" in word for word in words)
if probe: print("ran on remote/", file=sys.stderr); print(599990000); sys.exit(0)
if "--jit=off" in words: print(7); sys.exit(0)
if "wrong" in told: print(8); sys.exit(0)
if "torn" in told: print(8, end=""); print("device lost", file=sys.stderr); sys.exit(3)
if "lost" in told: print("device lost", file=sys.stderr); sys.exit(3)
if "odd" in told: print("hm", file=sys.stderr); sys.exit(3)
if "hang" in told: time.sleep(60)
if "orphan" in told: subprocess.Popen(["sleep", "60"], start_new_session=True)
if "file" in told: open(os.environ["TMPDIR"] + "/left", "w").close()
if "memory" in told: open("/dev/shm/left", "w").close()
print(7)
'''


class Lab(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        tool = self.folder / "dhpvm-run"
        tool.write_text(STAND_IN, encoding="utf-8")
        tool.chmod(0o755)
        (self.folder / "program").write_text("", encoding="utf-8")

    def perform(self, text, *options):
        """The exit code, what was printed, and the records."""
        path = self.folder / "scenario.lab"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, LAB, "--bin", self.folder, "--json", self.folder / "all.json", "--patience=1", *options,
                               path], capture_output=True, text=True, timeout=PATIENCE, check=False)
        records = self.folder / "all.json"
        return done.returncode, done.stdout + done.stderr, json.loads(records.read_text()) if records.exists() else None

    def outcome(self, told, more="", *options):
        code, printed, records = self.perform(f"program program {told}\nworker a\nclient c\nwithin 1s\n{more}", *options)
        record, = records
        return code, record["clients"]["c"]["outcome"], printed

    def test_outcomes(self):
        self.assertEqual(self.outcome("")[:2], (0, "right"))
        self.assertEqual(self.outcome("lost")[:2], (0, "error"))
        self.assertEqual(self.outcome("hang", "at 10ms kill c\n")[:2], (0, "ended"))
        for told, found in (("wrong", "wrong"), ("torn", "wrong"), ("odd", "wrong"), ("hang", "hang")):
            self.assertEqual(self.outcome(told)[:2], (EXIT_FOUND, found), told)

    def test_expectations(self):
        self.assertEqual(self.outcome("lost", "expect error 'device l'\n")[0], 0)
        for told, expected in (("lost", "expect right"), ("", "expect error"), ("", "expect right something"),
                               ("", "log a 'session 1: ended'")):
            self.assertEqual(self.outcome(told, expected + "\n")[0], EXIT_FOUND, expected)

    def test_leftovers(self):
        for network in ("auto", "loopback"):
            for told, found in (("orphan", "process"), ("file", "c has left the file temporary/left")):
                code, outcome, printed = self.outcome(told, "", "--network", network)
                self.assertEqual((code, outcome), (EXIT_FOUND, "right"), printed)
                self.assertIn(found, printed)

    def test_workers(self):
        for option, found in (("--immortal", "has outlived it"), ("--dies", "has ended by itself with code 70"),
                              ("--open-session", "sessions 1 have not ended")):
            code, printed, _ = self.perform(f"program program\nworker a {option}\nclient c\nrest 500ms\n")
            self.assertEqual(code, EXIT_FOUND, option)
            self.assertIn(found, printed, option)

    def test_what_is_no_scenario(self):
        for text, line in (("worker a\n", "there is no client"), ("client c\nat 1s kill d\n", "2: there is no worker or client 'd'"),
                           ("client c\nat soon kill c\n", "'soon' is no time"), ("worker c\nclient c\n", "there are two 'c'"),
                           ("client c speed=1\n", "'speed=1' is not understood"), ("worker a\nclient c\nat 1s cut a", "needs a link"),
                           ("client c\nat 1s explode c", "'explode' is no event"), ("hello\n", "begins no statement"),
                           ("worker a\nlink a rate=10\nclient c", "'10' is no rate"), ("client c\nprogram nowhere\n", "nowhere")):
            code, printed, _ = self.perform(text)
            self.assertEqual(code, EXIT_USER, text)
            self.assertIn(line, printed)

    def test_random_scenarios_repeat(self):
        printed = [subprocess.run([sys.executable, LAB, "--bin", self.folder, "--random=20", "--print"], capture_output=True,
                                  text=True, check=True).stdout for _ in range(2)]
        self.assertEqual(*printed)
        self.assertEqual(printed[0].count("\nprogram random\n"), 20)


if __name__ == "__main__":
    at = sys.argv.index("--lab")
    LAB = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    unittest.main()
