#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what strangers can do to a worker before it knows who they are: nothing.

While they do it, clients are served without waiting, and the worker's memory, descriptors, threads and log stay
bounded.

usage: run_front_door.py --bin BIN_DIR [unittest arguments]
"""

import os
import random
import resource
import socket
import struct
import sys
import threading
import time
import unittest
from pathlib import Path

import run_workers

# From the first byte to the result, compared with the program's time without strangers.
LONGEST_WAIT = 1.0


def message(content):
    return struct.pack("<I", len(content)) + content


def preamble(identity=1, version=2, lane=0):
    return b"DHPV" + struct.pack("<HBBBBH", version, identity, 2, lane, 0, 0)


class Recorder(threading.Thread):
    """Passes a conversation on to a worker, and keeps what the client has said."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.worker = address
        self.said = []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.door.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            host, port = self.worker.split(":")
            there = socket.create_connection((host, int(port)))
            said = bytearray()
            self.said.append(said)
            for source, sink, note in ((client, there, said), (there, client, None)):
                threading.Thread(target=self.pump, args=(source, sink, note), daemon=True).start()

    @staticmethod
    def pump(source, sink, note):
        try:
            while data := source.recv(65536):
                if note is not None:
                    note += data
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class FrontDoor(run_workers.Case):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.secret = f"--key-file={self.key()}"
        self.door = self.worker(self.secret)
        host, port = self.door.address.split(":")
        self.where = (host, int(port))
        self.program = self.rounds(2, 50_000)
        self.result = self.expected(self.program)
        self.serve()  # what is loaded once is loaded now
        begin = time.monotonic()
        self.serve()
        self.usual = time.monotonic() - begin

    def serve(self):
        done = run_workers.run(self.door.device, self.secret, "--explain-offload", self.program)
        self.assert_done(done, self.result)
        self.assertIn("ran on remote/", done.stderr)

    def assert_serves_at_once(self):
        begin = time.monotonic()
        self.serve()
        self.assertLess(time.monotonic() - begin, 3 * self.usual + LONGEST_WAIT)
        self.assertIsNone(self.door.process.poll(), self.door.log())

    def status(self, name):
        for line in Path(f"/proc/{self.door.process.pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
        raise AssertionError(name)

    @staticmethod
    def ticks(worker):
        words = Path(f"/proc/{worker.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return int(words[11]) + int(words[12])

    def dial(self, *pieces):
        there = socket.create_connection(self.where)
        self.addCleanup(there.close)
        for piece in pieces:
            try:
                there.sendall(piece)
            except OSError:
                break
        return there

    def assert_cut_off(self, there):
        there.settimeout(run_workers.PATIENCE)
        try:
            while there.recv(65536):
                pass
        except ConnectionError:
            pass

    def test_what_is_no_conversation_is_cut_off(self):
        hello = preamble()
        talks = [
            [b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"],
            [b"SSH-2.0-OpenSSH_9.2\r\n"],
            [b"\xff" * 4096],
            [message(b"")],
            [message(b"DHPV")],
            [message(b"X" * 4097)],
            [message(hello[:11])],
            [message(preamble(version=0xFFFF))],
            [message(preamble(identity=0))],
            [message(preamble(identity=9))],
            [message(preamble(lane=7))],
            [message(preamble(lane=2))],
            [message(preamble(identity=2))],
            [message(hello + b"\x16\x03\x01\xff\xff" + b"A" * 4000)],
            [message(hello), message(b"\x17" * 4096)],
        ]
        # Three kinds of these ended a worker when libfabric's provider for TCP took the connections.
        talks += [[bytes([kind, operation, 0, 0, 0, 0, 0, 0]) + struct.pack(">Q", size) + b"\0" * 512]
                  for kind in range(4) for operation in range(12) for size in (16, 512, 1 << 63)]
        for there in [self.dial(*pieces) for pieces in talks]:
            self.assert_cut_off(there)
        self.assert_serves_at_once()

    def test_random_bytes(self):
        dice = random.Random(2026)
        for _ in range(300):
            pieces = [dice.randbytes(dice.choice((1, 3, 4, 16, 300, 5000))) for _ in range(dice.randrange(1, 4))]
            if dice.random() < 0.5:
                pieces[0] = message(preamble() + pieces[0])
            self.dial(*pieces).close()
        self.assert_serves_at_once()

    def test_recorded_and_changed(self):
        tape = Recorder(self.door.address)
        self.addCleanup(tape.door.close)
        done = run_workers.run(f"--device=remote/{tape.address}", self.secret, self.program)
        self.assert_done(done, self.result)
        dice = random.Random(7)
        for said in tape.said:
            self.dial(bytes(said))
            for _ in range(100):
                changed = bytearray(said[:dice.choice((20, 600, 2000))])
                for _ in range(dice.randrange(4)):
                    changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
                self.dial(bytes(changed)).close()
        self.assert_serves_at_once()
        self.assertEqual(self.door.log().count("'dhpvm-run' from"), 4, self.door.log())

    def test_nobody_makes_both_sides_speak_an_earlier_version(self):
        """Somebody between the two says that the worker knows no ranges of versions, and passes on what follows."""
        door = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(door.close)
        dialled = []

        def lie():
            try:
                while True:
                    client, _ = door.accept()
                    dialled.append(client)
                    if len(dialled) % 2 != 0:  # it offers a range
                        client.recv(65536)
                        client.sendall(message(b"DHPV" + struct.pack("<HBBBBH", 2, 1, 2, 0, 1, 0)))
                        continue
                    there = socket.create_connection(self.where)
                    for source, sink in ((client, there), (there, client)):
                        threading.Thread(target=Recorder.pump, args=(source, sink, None), daemon=True).start()
            except OSError:
                pass

        threading.Thread(target=lie, daemon=True).start()
        refused = run_workers.run(f"--device=remote/127.0.0.1:{door.getsockname()[1]}", self.secret, self.program)
        self.assertEqual(refused.returncode, run_workers.EXIT_TRAP, refused.stderr)
        self.assertGreaterEqual(len(dialled), 2)
        self.door.wait_for(r"speaks version \d+ of the protocol, and its first message says 2: somebody interferes")
        self.assert_serves_at_once()

    def test_crowds_at_once(self):
        before = self.status("VmRSS"), self.status("Threads")
        silent = [self.dial() for _ in range(700)]
        half_open = [self.dial(message(preamble())[:9]) for _ in range(700)]
        begun = [self.dial(message(preamble() + b"\x16\x03\x01")) for _ in range(700)]
        self.assert_serves_at_once()
        self.assertLess(len(os.listdir(f"/proc/{self.door.process.pid}/fd")), 1200)
        self.assertEqual(self.status("Threads"), before[1])
        self.assertLess(self.status("VmRSS"), before[0] + (64 << 10))
        for crowd in (silent, half_open, begun):
            self.assert_cut_off(crowd[0])
        self.assert_serves_at_once()

    def test_a_crowd_that_never_ends(self):
        stop = threading.Event()

        def come():
            while not stop.is_set():
                try:
                    with socket.create_connection(self.where) as there:
                        there.sendall(b"nonsense" * 8)
                except OSError:
                    pass

        crowd = [threading.Thread(target=come) for _ in range(4)]
        for each in crowd:
            each.start()
        try:
            end = time.monotonic() + 4
            while time.monotonic() < end:
                self.assert_serves_at_once()
        finally:
            stop.set()
            for each in crowd:
                each.join()
        self.assertLess(self.door.log().count("refused"), 21 * 30)

    def test_no_descriptor_left(self):
        limit = f"{len(os.listdir(f'/proc/{self.door.process.pid}/fd')) + 20}"
        small = self.worker(self.secret, prefix=("prlimit", f"--nofile={limit}:{limit}"))
        host, port = small.address.split(":")
        crowd = [socket.create_connection((host, int(port))) for _ in range(60)]
        time.sleep(0.2)
        spent = self.ticks(small)
        time.sleep(1)
        self.assertLess(self.ticks(small) - spent, os.sysconf("SC_CLK_TCK") / 2)
        for each in crowd:
            each.close()
        done = run_workers.run(small.device, self.secret, self.program)
        self.assert_done(done, self.result)


if __name__ == "__main__":
    run_workers.BIN = run_workers.take_bin(sys.argv)
    unittest.main()
