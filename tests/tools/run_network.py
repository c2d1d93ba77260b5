#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests workers on a network that breaks: a cable that is pulled, and connections of which only one end is left.

The network is two namespaces with a cable between them, which whoever may create a user namespace can make without being root;
where that is not allowed, the test is skipped.

usage: run_network.py --bin BIN_DIR [unittest arguments]
"""

import os
import subprocess
import sys
import unittest

import run_workers

HERE, THERE = "10.99.0.1", "10.99.0.2"
EXIT_SKIPPED = 77
INSIDE = "DHPVM_TEST_NETWORK"  # set in the namespaces


def system(*words):
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=run_workers.PATIENCE)


class Machine:
    """A network namespace, at the other end of a cable."""

    def __init__(self):
        # Says that it is there when it is in its namespace.
        self.process = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.plug()

    def plug(self):
        pid = str(self.process.pid)
        system("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", pid)
        for prefix, address in (((), HERE), (self.words(), THERE)):
            system(*prefix, "ip", "address", "add", f"{address}/24", "dev", "cable")
            system(*prefix, "ip", "link", "set", "cable", "up")
            system(*prefix, "ip", "link", "set", "lo", "up")

    def words(self):
        return ("nsenter", "-t", str(self.process.pid), "-n")

    def pull(self):
        system("ip", "link", "delete", "cable")

    def hold(self, up):
        """Without a link nothing arrives, and neither end is told."""
        system("ip", "link", "set", "cable", "up" if up else "down")

    def end(self):
        subprocess.run(["ip", "link", "delete", "cable"], check=False, capture_output=True)
        self.process.kill()
        self.process.communicate()


class Network(run_workers.Case):
    def setUp(self):
        super().setUp()
        self.machine = Machine()
        self.addCleanup(self.machine.end)
        self.options = [f"--key-file={self.key()}", "--silence=700ms"]
        self.remote = self.worker(*self.options, listen=f"{THERE}:0", prefix=self.machine.words())
        self.program = self.rounds(3000)

    def started(self):
        client = self.start(self.remote.device, *self.options, self.program)
        self.remote.wait_for(r"kernel '.*' ready")
        self.assertIsNone(client.poll(), "the program is too short for this test")
        return client

    def test_cable_pulled(self):
        client = self.started()
        self.machine.pull()
        self.assert_goes_on(client, self.expected(self.program))
        # The worker has noticed as well, and serves others when it can be reached again.
        self.remote.wait_for(r"session 1: ended.*no sign of life")
        self.machine.plug()
        self.assert_serves(self.remote, *self.options)

    def test_worker_gone_without_a_word(self):
        client = self.started()
        self.machine.hold(up=False)
        self.remote.process.kill()
        self.remote.process.wait()
        self.machine.hold(up=True)
        self.assert_goes_on(client, self.expected(self.program))

    def test_client_gone_without_a_word(self):
        client = self.started()
        self.machine.hold(up=False)
        client.kill()
        client.communicate()
        self.remote.wait_for(r"session 1: ended.*no sign of life")
        self.machine.hold(up=True)
        self.assert_serves(self.remote, *self.options)

    def test_nobody_there(self):
        self.machine.hold(up=False)
        done = run_workers.run(self.remote.device, *self.options, "--deadline=5s", self.program)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(THERE, done.stderr)


def main():
    if INSIDE not in os.environ:
        needed = ["unshare", "-Urn", "sh", "-c", "unshare -n true && ip link add cable type veth peer name other"]
        tried = subprocess.run(needed, check=False, capture_output=True, text=True)
        if tried.returncode != 0:
            print(f"SKIP: this user may make no network namespaces here: {tried.stderr.strip()}")
            sys.exit(EXIT_SKIPPED)
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-Urn", sys.executable, *sys.argv])
    run_workers.BIN = run_workers.take_bin(sys.argv)
    system("ip", "link", "set", "lo", "up")
    unittest.main()


if __name__ == "__main__":
    main()
