#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions on workers, and the sample: the same bits as here."""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import support  # noqa: F401: skips where there is no NumPy
import numpy as np

import dhpvm

RUN = Path(os.environ.get("BIN", "build/release/bin")) / "dhpvm-run"
SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "python" / "heat.py"


@dhpvm.jit
def saxpy(a, x, y):
    for i in dhpvm.prange(len(x)):
        y[i] += a * x[i]


class Workers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.key = Path(cls.folder.name) / "key"
        dhpvm.make_key(cls.key)
        cls.processes, cls.addresses = [], []
        for _ in range(2):
            cls.start()

    @classmethod
    def start(cls):
        log = Path(cls.folder.name) / f"{len(cls.processes)}.log"
        with open(log, "w", encoding="utf-8") as file:
            cls.processes.append(subprocess.Popen(
                [str(RUN), "--worker", "--device=host", "--listen=127.0.0.1:0", f"--key-file={cls.key}"], stdout=file,
                stderr=file))
        deadline = time.monotonic() + 20
        while not (found := re.search(r"listening at (\S+)", log.read_text())):
            if time.monotonic() > deadline or cls.processes[-1].poll() is not None:
                raise AssertionError(log.read_text())
            time.sleep(0.02)
        cls.addresses.append(found[1])

    @classmethod
    def tearDownClass(cls):
        for process in cls.processes:
            process.terminate()
        for process in cls.processes:
            process.wait(20)
        cls.folder.cleanup()

    def test_loops_on_two_workers(self):
        x = np.arange(300_000.0)
        here, there = x / 7, x / 7
        saxpy(0.1, x, here)
        with dhpvm.workers(*self.addresses, key=self.key, always=True) as engine:
            for _ in range(3):
                saxpy(0.1, x, there)
        for _ in range(2):
            saxpy(0.1, x, here)
        self.assertTrue((here == there).all())
        self.assertGreater(sum(use.jobs for use in engine.workers()), 0)
        self.assertEqual({use.seal for use in engine.workers()}, {"full"})

    def test_a_worker_that_is_not_there(self):
        with dhpvm.workers("127.0.0.1:1", key=self.key, always=True, arrival=0.1):
            with self.assertRaisesRegex(dhpvm.DeviceTrap, "127.0.0.1:1"):
                saxpy(0.1, np.zeros(10), np.zeros(10))
        self.assertRaises(TypeError, dhpvm.workers().__enter__)

    def test_the_sample(self):
        result = subprocess.run([sys.executable, str(SAMPLE), "300", "6", *self.addresses], capture_output=True,
                                text=True, timeout=60, env={**os.environ, "DHPVM_KEY": str(self.key)})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the same bits as Python: True", result.stdout)
        self.assertIn("the same bits on workers: True", result.stdout)

    def test_the_sample_of_ten_minutes(self):
        result = subprocess.run([sys.executable, str(SAMPLE.with_name("bilateral.py")), "60", *self.addresses],
                                capture_output=True, text=True, timeout=60,
                                env={**os.environ, "DHPVM_KEY": str(self.key)})
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("the loop is NumPy's: True", "compiled, too: True", "the same on workers: True"):
            self.assertIn(text, result.stdout)


if __name__ == "__main__":
    if not RUN.is_file():
        print(f"skipped: {RUN} is not built")
        sys.exit(77)
    support.main()
