# SPDX-License-Identifier: Apache-2.0
"""Runs a process to its end, for tests that compare what random programs print."""

import subprocess

PATIENCE = 300  # seconds; only a hang takes that long, on a busy machine, too


class Run:
    """A finished process."""

    def __init__(self, words):
        self.words = words
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.code, self.out, self.errors = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            self.code, self.out, self.errors = None, "", f"still running after {PATIENCE} s"
