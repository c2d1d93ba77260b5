#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the laboratory sees what it looks for, with a stand-in for dhpvm-run that misbehaves as it is told.

usage: lab_test.py --lab PROGRAM --faults LIBRARY [unittest arguments]
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LAB = FAULTS = None
EXIT_FOUND, EXIT_USER = 1, 2
PATIENCE = 120

# As a worker it listens, has a process for the next session, and ends when it is asked to. Everything else it is told
# by its arguments; the interpreter's run, which --jit=off tells, is right.
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
    if "--open" in words: print("session 1: 'x' from y", file=sys.stderr, flush=True)
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
while "waits" in told and not os.path.exists("events-are-over"): time.sleep(0.01)
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

    def perform(self, scenarios, *options):
        """The exit code, what was printed, and the records by name, of scenarios by name."""
        folder = self.folder / "scenarios"
        folder.mkdir()
        for name, text in scenarios.items():
            (folder / f"{name}.lab").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [
                sys.executable,
                LAB,
                "--bin",
                self.folder,
                "--json",
                self.folder / "all.json",
                "--patience=10",
                "--jobs=8",
                *options,
                folder,
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        records = json.loads((self.folder / "all.json").read_text(encoding="utf-8"))
        self.assertEqual(done.returncode, EXIT_FOUND if "FAILED" in done.stdout else 0, done)
        return done.stdout + done.stderr, {record["scenario"]: record for record in records}

    @staticmethod
    def told(word, more=""):
        return f"program ../program {word}\nworker a\nclient c\n{more}"

    def test_outcomes(self):
        right = {
            "good": ("", "", "right"),
            "loss": ("lost", "", "error"),
            "killed": ("hang", "at 10ms kill c\n", "ended"),
            "asked": ("lost", "expect error 'device l'\n", "error"),
            "waits": ("waits", "at 200ms stop a\nat 300ms continue a\nwithin 20s\n", "right"),
        }
        wrong = {
            "other": ("wrong", "", "wrong"),
            "torn": ("torn", "", "wrong"),
            "odd": ("odd", "", "wrong"),
            "hang": ("hang", "within 4s\n", "hang"),
            "unwanted": ("lost", "expect right\n", "error"),
            "unharmed": ("", "expect error\n", "right"),
            "silent": ("", "expect right something\n", "right"),
            "log": ("", "log a 'session 1: ended'\n", "right"),
        }
        scenarios = right | wrong
        printed, records = self.perform({name: self.told(word, more) for name, (word, more, _) in scenarios.items()})
        found = {name: record["clients"]["c"]["outcome"] for name, record in records.items()}
        self.assertEqual(found, {name: outcome for name, (_, _, outcome) in scenarios.items()}, printed)
        failed = {line.split()[1].rstrip(":") for line in printed.splitlines() if line.startswith("FAILED")}
        self.assertEqual(failed, set(wrong), printed)

    def test_clients_without_descriptors_for_their_libraries(self):
        client = Process(Actor("c", [], is_worker=False), "c", self.folder, None)
        message = "dhpvm-run: error while loading shared libraries: libc.so.6: cannot open shared object file: Error 24"
        Path(client.errors_path).write_text(message, encoding="utf-8")
        for client.was_exhausted, expected in ((True, "error"), (False, "wrong")):
            found = outcomes.outcome_of(parse("name", "client c\n"), client, 127, lambda: Run(0, "7\n", ""))
            self.assertEqual(found[0], expected)

    def see(self, found, records, printed):
        for name, text in found.items():
            self.assertIn(text, "\n".join(records[name]["problems"]), printed)

    def test_leftovers(self):
        files = "c has left the file temporary/left"
        found = {
            "orphan": "is left: sleep",
            "file": files,
            "memory": "shared memory is left: /dev/shm/left",
            "immortal": "has outlived it",
            "dies": "has ended by itself with code 70",
            "open": "sessions 1 have not ended",
        }
        scenarios = {name: self.told(name) for name in ("orphan", "file", "memory")}
        scenarios |= {
            name: f"program ../program\nworker a --{name}\nclient c\nrest 500ms\n"
            for name in ("immortal", "dies", "open")
        }
        if not namespaces_are_allowed():
            del scenarios["memory"], found["memory"]
        self.see(found, *reversed(self.perform(scenarios)))

    def test_leftovers_on_loopback(self):
        found = {"orphan": "is left: sleep", "file": "c has left the file temporary/left"}
        self.see(found, *reversed(self.perform({name: self.told(name) for name in found}, "--network=loopback")))

    def test_what_is_no_scenario(self):
        for text, line in (
            ("worker a\n", "there is no client"),
            ("client c\nat 1s kill d\n", "2: there is no worker or client 'd'"),
            ("client c\nat soon kill c\n", "'soon' is no time"),
            ("worker c\nclient c\n", "there are two 'c'"),
            ("client c speed=1\n", "'speed=1' is not understood"),
            ("worker a\nclient c\nat 1s cut a", "needs a link"),
            ("worker a\nlink a\nclient c\nat 1s stall a", "needs a proxy"),
            ("client c\nat 1s explode c", "'explode' is no event"),
            ("hello\n", "begins no statement"),
            ("worker a\nlink a rate=10\nclient c", "'10' is no rate"),
        ):
            with self.assertRaises(BadScenario, msg=text) as caught:
                parse("name", text)
            self.assertIn(line, str(caught.exception))

    def test_mistakes_of_users(self):
        path = self.folder / "wrong.lab"
        path.write_text("client c\nprogram nowhere\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, LAB, "--bin", self.folder, path], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, EXIT_USER)
        self.assertIn("nowhere", done.stderr)

    def starve(self, share):
        """Two threads wait for a processor for this share of the time, one after the other."""
        usual, begin = patience.waits_of, time.monotonic()
        self.addCleanup(setattr, patience, "waits_of", usual)

        def waits(_):
            waited = share * (time.monotonic() - begin)
            return {"first": min(waited, 0.06), "second": max(waited - 0.06, 0)}

        patience.waits_of = waits

    def test_patience_with_processes_that_get_no_processor(self):
        self.addCleanup(setattr, leftovers, "PATIENCE", leftovers.PATIENCE)
        leftovers.PATIENCE = 0.05
        for share, is_awaited in ((0.9, True), (0, False)):
            begin = time.monotonic()
            self.starve(share)
            self.assertEqual(leftovers.wait(lambda begin=begin: time.monotonic() > begin + 0.15), is_awaited)
        self.starve(1)
        self.assertFalse(leftovers.wait(lambda: False), "in the end it gives up")

    def test_clients_that_get_no_processor(self):
        client = Process(Actor("c", [], is_worker=False), "c", self.folder, None)
        for client.is_slow, expected in ((True, "slow"), (False, "hang")):
            found = outcomes.judge(parse("name", "client c\nexpect right\n"), client, None, None)
            self.assertEqual((found["outcome"], found["problem"] is None), (expected, client.is_slow))

    def test_starved_processes_are_seen(self):
        one = {min(os.sched_getaffinity(0))}
        pids = []
        for _ in range(2):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            os.sched_setaffinity(process.pid, one)
            pids.append(process.pid)
        self.assertTrue(leftovers.wait(lambda: max(patience.waits_of(pids).values()) > 0.02))
        self.assertRegex(patience.states_of(pids), f"process {pids[0]}, thread {pids[0]} .*: R .*, waited 0\\.")

    def test_processes_that_are_gone(self):
        process = subprocess.Popen(["true"])
        process.wait()
        self.assertEqual((patience.waits_of([process.pid]), patience.states_of([process.pid])), ({}, ""))

    def test_processors_are_given_back(self):
        process = Process(Actor("slow", [], is_worker=True, share=0.5), "slow", self.folder, None)
        process.start(["sleep", "60"])
        self.addCleanup(process.end)
        while len(os.sched_getaffinity(process.process.pid)) > 1:
            time.sleep(0.01)
        process.release()
        self.assertEqual(os.sched_getaffinity(process.process.pid), os.sched_getaffinity(0))

    def test_clocks_are_wrong(self):
        (self.folder / "hour").write_bytes(struct.pack("q", 3_600_000_000_000))
        words = [sys.executable, "-c", "import time; print(time.time(), time.monotonic())"]
        times = []
        for more in ({}, {"LD_PRELOAD": FAULTS, "DHPVM_LAB_CLOCK": str(self.folder / "hour")}):
            done = subprocess.run(words, env=os.environ | more, capture_output=True, text=True, check=True)
            times.append([float(word) for word in done.stdout.split()])
        day, passed = (wrong - right for right, wrong in zip(*times))
        self.assertAlmostEqual(day - passed, 3600, delta=30)
        self.assertLess(passed, PATIENCE)

    def test_random_scenarios_share_programs(self):
        words = [sys.executable, LAB, "--bin", self.folder, "--print", "--random=5", "--seed=7", "--programs=3"]
        printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        seeds = re.findall(r"^seed \d+$", printed, re.MULTILINE)
        self.assertEqual(seeds, ["seed 7", "seed 8", "seed 9", "seed 7", "seed 8"])
        rest = [Generator(4, program).text().partition("\n")[2] for program in (3, None)]
        self.assertEqual(rest[0], rest[1], "the events are those of the seed all the same")

    def test_random_scenarios_repeat(self):
        for seed in range(1, 200):
            text = Generator(seed).text()
            self.assertEqual(text, Generator(seed).text())
            parse("name", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lab", required=True, type=os.path.abspath)
    parser.add_argument("--faults", required=True, type=os.path.abspath)
    options, rest = parser.parse_known_args()
    LAB, FAULTS = options.lab, options.faults
    sys.argv[1:] = rest
    # The modules of a folder, or of the packed program.
    sys.path.insert(0, LAB)
    import leftovers
    import outcomes
    import patience
    from processes import Process
    from random_scenario import Generator
    from reference import Run
    from scenario import Actor, BadScenario, parse
    from system import namespaces_are_allowed

    unittest.main()
