#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests workers from outside: separate processes, and what can happen to each.

usage: run_workers.py --bin BIN_DIR [unittest arguments]
"""

import ctypes
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

BIN = None
PATIENCE = 60  # seconds; only a hang takes that long
EXIT_USER = 2
EXIT_TRAP = 3

# Loops that each read what the one before has written.
ROUNDS = """
fn main() {
    let x = [i64](SIZE);
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

# One loop, in two chunks; see Losing.long_loop.
ONE_LONG_LOOP = """
fn main() {
    let x = [i64](4096);
    @batch(2048)
    parallel for i in 0..x.len {
        var value = i;
        for k in 0..STEPS { value = (value ^ (value >> 7)) * 31 + k; }
        x[i] = value & 65535;
    }
    var sum = 0;
    for i in 0..x.len { sum += x[i]; }
    print(f"{sum}");
}
"""

# Most of the time goes into sending the array there, anew every time.
TRANSFERS = """
fn main() {
    let x = [i64](4_000_000);
    var sum = 0;
    var round = 0;
    while round < 200 {
        for i in 0..64 { x[i * 50_000] = round; }
        parallel for i in 0..x.len reduce(+: sum) { sum += x[i]; }
        round += 1;
    }
    print(f"{sum}");
}
"""


def run(*words, **options):
    return subprocess.run([str(BIN / "dhpvm-run"), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                          **options)


def wait_until(condition, what):
    """Waits, and says at the end of its patience what there is not: a text, or a function that makes one."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"in {PATIENCE} s: {what() if callable(what) else what}")
        time.sleep(0.01)


class Worker:
    """A worker that lends the host's cores, and what it logs."""

    def __init__(self, folder, *options, listen="127.0.0.1:0", prefix=()):
        self.path = Path(folder) / f"worker{time.monotonic_ns()}.log"
        with open(self.path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*prefix, str(BIN / "dhpvm-run"), "--worker", "--device=host",
                                             f"--listen={listen}", *options], stdout=log, stderr=log, process_group=0)
        self.address = self.wait_for(r'listening at ([^\s"]+)').group(1)
        self.device = f"--device=remote/{self.address}"

    def sessions(self):
        """The numbers of the processes of its sessions, and of the one that waits for the next."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = path.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]
            except FileNotFoundError:
                continue
            if int(parent) == self.process.pid:
                found.append(int(path.parent.name))
        return sorted(found)

    def signal_all(self, number):
        """Sends a signal to the worker and the processes of its sessions."""
        os.killpg(self.process.pid, number)

    @staticmethod
    def ticks(*processes):
        """Their processor time, in ticks of the system."""
        total = 0
        for pid in processes:
            words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            total += int(words[11]) + int(words[12])
        return total

    def idle_ticks(self):
        """The processor time, in ticks of the system, of half a second without work."""
        processes = [self.process.pid, *self.sessions()]
        before = self.ticks(*processes)
        time.sleep(0.5)
        return self.ticks(*processes) - before

    def log(self):
        return self.path.read_text(encoding="utf-8")

    def wait_for(self, pattern):
        found = None

        def look():
            nonlocal found
            found = re.search(pattern, self.log())
            return found or self.process.poll() is not None

        wait_until(look, lambda: f"no '{pattern}' in the worker's log:\n{self.log()}")
        if not found:
            raise AssertionError(f"the worker has ended without '{pattern}':\n{self.log()}")
        return found

    def end(self):
        if self.process.poll() is None:
            self.signal_all(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, text):
        path = self.folder / f"program{time.monotonic_ns()}.dhp"
        path.write_text(text, encoding="utf-8")
        return path

    def rounds(self, count, size=300_000):
        return self.write(ROUNDS.replace("ROUNDS", str(count)).replace("SIZE", str(size)))

    def expected(self, program, *options):
        done = run("--device=host", *options, program)
        self.assertRegex(done.stdout, r"^\d+\n$", done.stderr)
        return done.stdout

    def worker(self, *options, **keywords):
        worker = Worker(self.folder, *options, **keywords)
        self.addCleanup(worker.end)
        return worker

    def key(self, name="key"):
        path = self.folder / name
        self.assertEqual(run(f"--make-key={path}").returncode, 0)
        return path

    def start(self, *words):
        client = subprocess.Popen([str(BIN / "dhpvm-run"), *map(str, words)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        return client

    def assert_done(self, done, expected):
        self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)

    def assert_goes_on(self, client, expected):
        """The program's result is right, and a line says that it was not computed where it should have been."""
        out, errors = client.communicate(timeout=PATIENCE)
        self.assertEqual((client.returncode, out), (0, expected), errors)
        self.assertRegex(errors, "runs on the host|is gone, and its work is done elsewhere")

    def assert_serves(self, worker, *options):
        program = self.rounds(1, 50_000)
        self.assert_done(run(worker.device, *options, program), self.expected(program))


class Using(Case):
    def test_loops_run_there(self):
        worker = self.worker()
        program = self.rounds(3)
        done = run(f"--device=remote/{worker.address}/host", "--explain-offload", program)
        self.assert_done(done, self.expected(program))
        self.assertIn(f"ran on remote/{worker.address}/host", done.stderr)
        worker.wait_for(r"session 1: ended .* [1-9]\d* jobs")
        listed = run(f"--connect={worker.address}", "--list-devices")
        self.assertIn(f"remote/{worker.address}/host", listed.stdout)

    def test_the_benchmark_measures_them(self):
        worker = self.worker()
        command = [BIN / "dhpvm-bench", "remote", f"--connect={worker.address}", "--runs=1", "--small", "--data=1M"]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("overlapped", done.stdout)

    def test_logs_for_programs(self):
        worker = self.worker("--log=json")
        program = self.folder / "na\"me\udcff\x1b.dhp"
        self.write(ROUNDS.replace("ROUNDS", "2").replace("SIZE", "50000")).rename(program)
        done = subprocess.run([str(BIN / "dhpvm-run"), worker.device, program], capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        worker.wait_for("ended after")
        entries = [json.loads(line) for line in worker.log().splitlines()]
        begin = [entry for entry in entries if "session" not in entry]
        self.assertIn("listening at", begin[-1]["text"])
        self.assertEqual({entry["session"] for entry in entries[len(begin):]}, {1})
        self.assertRegex(entries[-1]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertNotIn("\x1b", worker.log())
        end = entries[-1]
        self.assertEqual((end["level"], end["cause"], end["seal"]), ("info", "left", "none"))
        self.assertGreater(min(end["jobs"], end["bytes_in"], end["bytes_out"], end["seconds"]), 0)
        self.assertIn("has no more work", end["reason"])

    def test_levels_of_the_log(self):
        free = self.worker()
        free.end()
        program = self.rounds(2, 50_000)
        expected = {"error": [], "warning": ["refused"], "info": ["refused", "ended", "ready"],
                    "debug": ["refused", "ended", "ready", "was launched"]}
        for level, words in expected.items():
            key = self.key(f"key-{level}")
            log = self.folder / f"log-{level}"
            with open(log, "w", encoding="utf-8") as stream:
                worker = subprocess.Popen([str(BIN / "dhpvm-run"), "--worker", "--device=host", f"--log-level={level}",
                                           f"--listen={free.address}", f"--key-file={key}"], stderr=stream)
            self.addCleanup(worker.wait)
            self.addCleanup(worker.kill)
            options = [f"--device=remote/{free.address}", f"--key-file={key}"]
            wait_until(lambda: run(*options, program).returncode == 0, "the worker does not serve")
            run(f"--device=remote/{free.address}", program)
            worker.send_signal(signal.SIGTERM)
            worker.wait()
            text = log.read_text(encoding="utf-8")
            self.assertEqual([word for word in expected["debug"] if word in text], words, text)
        self.assertEqual(run("--worker", "--listen=127.0.0.1:0", "--log-level=loud").returncode, EXIT_USER)

    def test_programs_take_leave(self):
        """However a program ends, it tells its workers, unless it is killed."""
        key = self.key()
        trap = self.write("fn main() { let x = [i64](50_000); parallel for i in 0..x.len { x[i] = i; }\n"
                          "    print(x[x.len]); }\n")
        for options in ([], [f"--key-file={key}"]):
            worker = self.worker(*options)
            for number, (program, code) in enumerate([(self.rounds(2), 0), (trap, EXIT_TRAP)] * 3, 1):
                done = run(worker.device, *options, program)
                self.assertEqual(done.returncode, code, done.stderr)
                worker.wait_for(rf"session {number}: ended .* \(left\), [1-9].* says: the program has no more work")
            client = self.start(worker.device, *options, self.rounds(10_000_000))
            worker.wait_for("session 7: kernel")
            client.send_signal(signal.SIGINT)
            worker.wait_for(r"session 7: ended .* \(left\)")
            client = self.start(worker.device, *options, self.rounds(10_000_000))
            worker.wait_for("session 8: kernel")
            client.kill()
            worker.wait_for(r"warning: session 8: ended .* \(lost\)")

    def test_traps_name_their_line(self):
        worker = self.worker()
        program = self.write("fn main() {\n    let x = [i64](100_000);\n    let d = [i64](100_000);\n"
                             "    parallel for i in 0..x.len {\n        x[i] = 7 / d[i];\n    }\n}\n")
        here = run("--device=host", program)
        there = run(worker.device, program)
        self.assertEqual(there.returncode, EXIT_TRAP)
        self.assertEqual(there.stderr, here.stderr)

    def test_results_may_stay_there(self):
        worker = self.worker()
        program = self.rounds(20)
        self.assert_done(run(worker.device, "--write-back=lazy", program), self.expected(program))

    def test_several_workers(self):
        workers = [self.worker() for _ in range(3)]
        addresses = [worker.address for worker in workers]
        listed = run("--connect=" + ",".join(addresses), "--list-devices").stdout
        for address in addresses:
            self.assertIn(f"remote/{address}/host", listed)
        program = self.rounds(30, 1_000_000)
        devices = ",".join(f"remote/{address}/host" for address in addresses)
        self.assert_done(run("--connect=" + ",".join(addresses), f"--device={devices}", program),
                         self.expected(program))
        for worker in workers:
            worker.wait_for(r"session 2: ended")
        self.assertTrue(any(re.search(r"session 2: ended .* [1-9]\d* jobs", worker.log()) for worker in workers))
        # Where loops run is for the program to find out.
        self.assert_done(run("--connect=" + ",".join(addresses), program), self.expected(program))

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError as problem:
            self.skipTest(f"SKIP: this machine has no IPv6: {problem}")
        worker = self.worker(listen="[::1]:0")
        self.assertTrue(worker.address.startswith("[::1]:"))
        program = self.rounds(2)
        self.assert_done(run(worker.device, program), self.expected(program))
        self.assert_done(run(f"--connect={worker.address}", worker.device, program), self.expected(program))

    def test_a_worker_that_is_not_there(self):
        listed = run("--connect=127.0.0.1:1", "--list-devices")
        self.assertRegex(listed.stdout, "(?m)^remote .*Connection refused")

    def stranger(self, answer):
        """An address where somebody takes connections, and answers each with these bytes and nothing else."""
        door = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(door.close)

        def serve():
            guests = []
            try:
                while True:
                    guests.append(door.accept()[0])
                    guests[-1].sendall(answer)
            except OSError:
                for guest in guests:
                    guest.close()

        threading.Thread(target=serve, daemon=True).start()
        return "127.0.0.1:" + str(door.getsockname()[1])

    def test_clients_of_the_last_release_are_served(self):
        worker = self.worker()
        host, port = worker.address.split(":")
        hello = b"\x00\x05older\x03" + b"0.0"  # a record of version 2: its number, and two texts
        there = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.addCleanup(there.close)
        for content in (b"DHPV" + struct.pack("<HBBBBH", 2, 0, 2, 0, 0, 0), b"\0\0" + hello + struct.pack("<I", 0)):
            there.sendall(struct.pack("<I", len(content)) + content)
        said = b""
        while b"host" not in said:
            piece = there.recv(4096)
            self.assertNotEqual(piece, b"", said)
            said += piece
        self.assertTrue(said.startswith(struct.pack("<I", 12) + b"DHPV\x02\x00"), said)
        self.assertEqual(said[14:16], b"\0\0")
        worker.wait_for("session 1: 'older' from")

    def test_workers_that_are_not_there_are_dialled_less_and_less(self):
        door = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(door.close)
        dialled = []

        def refuse():
            try:
                while True:
                    door.accept()[0].close()
                    dialled.append(time.monotonic())
            except OSError:
                pass

        threading.Thread(target=refuse, daemon=True).start()
        program = self.write("import time;\nfn main() { time.sleep(4.5); print(7); }\n")
        self.assert_done(run("--device=host,remote", f"--connect=127.0.0.1:{door.getsockname()[1]}", program), "7\n")
        # At once, and after 1 s and 2 s more.
        self.assertEqual(len(dialled), 3, dialled)

    def test_workers_that_cannot_be_had_are_left_out(self):
        full = self.worker("--lend=sessions=1,waiting=0")
        self.start(full.device, self.rounds(10_000_000))
        full.wait_for(r"kernel '.*' ready")
        absent = {"full": full.address, "silent": self.stranger(b""),
                  "of another protocol": self.stranger(b"HTTP/1.1 400\r\n\r\n"),
                  "of a later release": self.stranger(
                      struct.pack("<I", 12) + b"DHPV" + struct.pack("<HBBBBH", 9, 0, 2, 0, 1, 8)),
                  "refused": "127.0.0.1:1", "unknown": "nobody.invalid:7100"}
        good = self.worker()
        program = self.rounds(2)
        expected = self.expected(program)
        for kind, address in absent.items():
            begin = time.monotonic()
            done = run(f"--connect={address},{good.address}", "--device=remote", program)
            took = time.monotonic() - begin
            self.assert_done(done, expected)
            lines = [line for line in done.stderr.splitlines() if address in line]
            self.assertEqual(len(lines), 1, (kind, done.stderr))
            self.assertIn("loops run without it until it is there", lines[0], kind)
            self.assertLess(took, 4, kind)  # a handshake has 5 s
        everybody = ",".join([*absent.values(), good.address])
        self.assert_done(run(f"--connect={everybody}", "--device=remote", program), expected)
        for kind in ("full", "of another protocol", "of a later release", "refused", "unknown"):
            # With the host as a device, the program begins; without it no device could run loops.
            self.assert_done(run(f"--connect={absent[kind]}", "--device=host,remote", program), expected)
            refused = run(f"--connect={absent[kind]}", "--device=remote", program)
            self.assertEqual((refused.returncode, refused.stdout), (EXIT_TRAP, ""), kind)
            self.assertIn(absent[kind], refused.stderr)

    def test_options_that_do_not_go_together(self):
        for words in (["--worker"], ["--certificate=a", "x.bc"], ["--worker", "--listen=nonsense:x"],
                      ["--seal=tin", "x.bc"], ["--lend=gold=1", "--worker", "--listen=127.0.0.1:0"],
                      ["--silence=1ms", "x.bc"], ["--listen=127.0.0.1:0", "--listen=127.0.0.1:1", "x.bc"],
                      ["--write-back=never", "x.bc"]):
            done = run(*words)
            self.assertEqual(done.returncode, EXIT_USER, words)
            self.assertTrue(done.stderr.startswith("dhpvm-run: "), words)


class Security(Case):
    def test_keys(self):
        key = self.key()
        other = self.key("other")
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        self.assertEqual(run(f"--make-key={key}").returncode, EXIT_USER)
        worker = self.worker(f"--key-file={key}")
        program = self.rounds(3)
        expected = self.expected(program)
        for seal in ("full", "integrity", "none"):
            self.assert_done(run(worker.device, f"--key-file={key}", f"--seal={seal}", program), expected)
        for options in ([], [f"--key-file={other}"]):
            refused = run(worker.device, *options, program)
            self.assertEqual((refused.returncode, refused.stdout), (EXIT_TRAP, ""))
            self.assertIn("key", refused.stderr)
        wait_until(lambda: len(re.findall(r"refused 127\.0\.0\.1.*key", worker.log())) == 2, "no refusals in the log")
        self.assert_serves(worker, f"--key-file={key}")
        os.chmod(key, 0o644)
        self.assertIn("chmod 600", run(worker.device, f"--key-file={key}", program).stderr)
        refused = run("--worker", "--listen=127.0.0.1:0", f"--key-file={key}")
        self.assertEqual(refused.returncode, EXIT_USER)
        self.assertIn("chmod 600", refused.stderr)

    def test_a_file_of_clients(self):
        keys = {name: self.key(name) for name in ("anna", "next", "bert")}
        path = self.folder / "clients.json"

        def allow(**clients):
            entries = [{"name": name, "keys": [keys[key].read_text().strip() for key in names], "sessions": 1}
                       for name, names in clients.items()]
            path.write_text(json.dumps({"clients": entries}), encoding="utf-8")
            path.chmod(0o600)

        allow(anna=["anna", "next"], bert=["bert"])
        worker = self.worker(f"--clients={path}")
        program = self.rounds(2, 50_000)
        expected = self.expected(program)
        for key in keys.values():
            self.assert_done(run(worker.device, f"--key-file={key}", program), expected)
        worker.wait_for(r"session 1: 'dhpvm-run' from anna \(127\.0\.0\.1")
        self.assertRegex(worker.log(), r"session 1: has key [0-9a-f]{16}")
        # A revoked client is sent away, and others stay.
        long = self.rounds(1500)
        gone = self.start(worker.device, f"--key-file={keys['anna']}", long)
        worker.wait_for("session 4: kernel")
        stays = self.start(worker.device, f"--key-file={keys['bert']}", long)
        worker.wait_for("session 5: kernel")
        path.write_text("{", encoding="utf-8")
        worker.process.send_signal(signal.SIGHUP)
        worker.wait_for("clients stay as they were.*is no file of clients")
        allow(anna=["next"], bert=["bert"])
        worker.process.send_signal(signal.SIGHUP)
        worker.wait_for(r"session 4: ended.*\(revoked\).*, client \w+, key .*has been revoked")
        self.assert_goes_on(gone, self.expected(long))
        out, errors = stays.communicate(timeout=PATIENCE)
        self.assertEqual((stays.returncode, out, errors), (0, self.expected(long), ""))
        refused = run(worker.device, f"--key-file={keys['anna']}", program)
        self.assertEqual(refused.returncode, EXIT_TRAP)
        self.assert_done(run(worker.device, f"--key-file={keys['next']}", program), expected)
        path.chmod(0o644)
        self.assertIn("chmod 600", run("--worker", "--listen=127.0.0.1:0", f"--clients={path}").stderr)

    def test_compiled_code_is_kept_for_each_client_apart(self):
        path = self.folder / "clients.json"
        entries = [{"name": name, "keys": [self.key(name).read_text().strip()]} for name in ("anna", "bert")]
        path.write_text(json.dumps({"clients": entries}), encoding="utf-8")
        path.chmod(0o600)
        cache = self.folder / "cache"
        worker = self.worker(f"--clients={path}", f"--cache-dir={cache}")
        program = self.rounds(2, 50_000)
        expected = self.expected(program)

        def kept(client):
            return {file.name: file.stat().st_ino for file in (cache / "clients" / f"client-{client}").glob("*.code")}

        def serve(client, session):
            self.assert_done(run(worker.device, f"--key-file={self.folder / client}", program), expected)
            worker.wait_for(f"session {session}: ended")
            kernels = len(re.findall(f"session {session}: kernel .* ready", worker.log()))
            wait_until(lambda: len(kept(client)) >= kernels > 0, lambda: f"{kernels} kernels, and {kept(client)}")
            return kept(client)

        first = serve("anna", 1)
        self.assertEqual(kept("bert"), {})
        self.assertEqual(serve("anna", 2), first, "found, and not compiled again")
        self.assertEqual(set(serve("bert", 3)), set(first))
        self.assert_harmless(worker, lambda: kept("anna"), f"--key-file={self.folder / 'anna'}", program)
        self.assert_done(run(worker.device, f"--key-file={self.folder / 'bert'}", program), expected)

    def assert_harmless(self, worker, kept, key, program):
        """An attacker inside a session's process sends nonsense instead of code, to the socket of another process."""
        before = kept()
        long = self.start(worker.device, key, self.rounds(1500))
        worker.wait_for("session 4: kernel")
        try:
            sockets = [self.descriptor_of(pid, 5) for pid in worker.sessions()]
        except PermissionError:
            print("SKIP: attacks by the process of a session: only root reaches its descriptors")
            return
        random = os.urandom
        messages = [b"", b"x", random(55), random(56), random(57), random(16 << 10), random(100_000),
                    random(32) + struct.pack("<QQQ", 1 << 63, 1 << 63, 0) + b"x",
                    random(32) + struct.pack("<QQQ", 0, 10, 0) + b"0123456789",
                    random(32) + struct.pack("<QQQ", 100, 0, 0) + b"too short"]
        for connection in sockets:
            connection.settimeout(PATIENCE)
            for message in messages[1:]:
                connection.send(message)
            with socket.socket() as sent:
                socket.send_fds(connection, [b"x"], [sent.fileno()] * 200)
            # Until it is refused more: 64 MiB.
            with self.assertRaises((BrokenPipeError, ConnectionResetError)):
                for _ in range(200_000):
                    connection.send(messages[6])
            connection.close()
        before_waiting = worker.ticks(worker.process.pid)
        time.sleep(0.5)
        self.assertLess(worker.ticks(worker.process.pid) - before_waiting, 5, "what is closed is not waited for")
        self.assertEqual(kept(), before)
        descriptors = len(list(Path(f"/proc/{worker.process.pid}/fd").iterdir()))
        self.assertLess(descriptors, 60)
        long.kill()
        worker.wait_for("session 4: ended")

    @staticmethod
    def descriptor_of(pid, number):
        """A copy of another process's descriptor."""
        handle = os.pidfd_open(pid)
        copied = ctypes.CDLL(None, use_errno=True).syscall(438, handle, number, 0)
        os.close(handle)
        if copied < 0:
            raise PermissionError(ctypes.get_errno())
        return socket.socket(fileno=copied)

    def test_a_key_at_the_client_only(self):
        worker = self.worker()
        refused = run(worker.device, f"--key-file={self.key()}", self.rounds(1))
        self.assertEqual(refused.returncode, EXIT_TRAP)
        self.assertIn("key", refused.stderr)
        self.assert_serves(worker)

    def test_without_a_key_only_this_machine_is_talked_to(self):
        for role in (["--worker", "--listen=0.0.0.0:0"], ["--worker", "--listen=[::]:0"]):
            refused = run(*role)
            self.assertEqual(refused.returncode, EXIT_USER)
            self.assertIn("--make-key", refused.stderr)
        # 192.0.2.0/24 is unassigned: it would take long to find out by trying.
        refused = run("--device=remote/192.0.2.1", self.rounds(1))
        self.assertEqual(refused.returncode, EXIT_USER)
        self.assertIn("--make-key", refused.stderr)

    def certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True, timeout=PATIENCE)

        for authority in ("authority", "stranger"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                    "-keyout", f"{authority}.key", "-out", f"{authority}.pem", "-subj", f"/CN={authority}")
        for name, authority in (("client", "authority"), ("worker", "authority"), ("intruder", "stranger"),
                                ("late", "authority")):
            (self.folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="utf-8")
            openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                    "-CAcreateserial", "-days", "-1" if name == "late" else "1", "-out", f"{name}.pem", "-extfile",
                    "names")

    def of(self, name, authority="authority"):
        return [f"--certificate={self.folder / name}.pem", f"--private-key={self.folder / name}.key",
                f"--authority={self.folder / authority}.pem"]

    def test_certificates(self):
        if shutil.which("openssl") is None:
            self.skipTest("SKIP: there is no openssl to make certificates with")
        self.certificates()
        worker = self.worker(*self.of("worker"))
        port = worker.address.rsplit(":", 1)[1]
        program = self.rounds(2)
        for address in (worker.address, f"localhost:{port}"):
            self.assert_done(run(f"--device=remote/{address}", *self.of("client"), program), self.expected(program))
        worker.wait_for(r"session 1: .* from client \(127\.0\.0\.1")
        for options, reason in ((self.of("intruder", "stranger"), "not of the authority that is trusted here"),
                                (self.of("intruder"), "does not trust the authority of this side's certificate"),
                                (self.of("late"), "this side's certificate has expired"), ([], "both need the same")):
            refused = run(worker.device, *options, program)
            self.assertEqual((refused.returncode, refused.stdout), (EXIT_TRAP, ""), options)
            self.assertIn(reason, refused.stderr)
        wait_until(lambda: len(re.findall(r"refused 127\.0\.0\.1", worker.log())) == 4, "no refusals in the log")
        self.assertIn("its certificate has expired", worker.log())
        late = self.worker(*self.of("late"))
        self.assertIn("its certificate has expired", run(late.device, *self.of("client"), program).stderr)
        os.chmod(self.folder / "client.key", 0o644)
        self.assertIn("chmod 600", run(worker.device, *self.of("client"), program).stderr)
        os.chmod(self.folder / "client.key", 0o600)
        self.assert_serves(worker, *self.of("client"))

    def test_certificates_in_the_file_of_clients(self):
        if shutil.which("openssl") is None:
            self.skipTest("SKIP: there is no openssl to make certificates with")
        self.certificates()
        path = self.folder / "clients.json"

        def allow(*clients):
            path.write_text(json.dumps({"clients": clients}), encoding="utf-8")
            path.chmod(0o600)

        anna = {"name": "anna", "certificate": "client", "rights": ["use", "operate"]}
        bert = {"name": "bert", "keys": [self.key("bert").read_text().strip()]}
        allow(anna, bert)
        self.assertIn("--certificate", run("--worker", "--listen=127.0.0.1:0", f"--clients={path}").stderr)
        worker = self.worker(f"--clients={path}", *self.of("worker"))
        program = self.rounds(2, 50_000)
        with_key = [f"--key-file={self.folder / 'bert'}"]
        # Both kinds at one door.
        for options in (self.of("client"), with_key):
            self.assert_done(run(worker.device, *options, program), self.expected(program))
        worker.wait_for(r"session 1: ended .*client anna")
        self.assertEqual(run(f"--worker-status={worker.address}", *self.of("client")).returncode, 0)
        self.assertIn('no right to "operate"', run(f"--worker-status={worker.address}", *with_key).stderr)
        # One of the same authority, which the file does not name.
        refused = run(worker.device, *self.of("worker"), program)
        self.assertEqual(refused.returncode, EXIT_TRAP)
        self.assertIn("none with the certificate of 'worker'", refused.stderr)
        long = self.rounds(10_000_000)
        gone = self.start(worker.device, *self.of("client"), long)
        worker.wait_for("session 3: kernel")
        allow(bert)
        worker.process.send_signal(signal.SIGHUP)
        worker.wait_for(r"session 3: ended.*\(revoked\).*none with the certificate")
        gone.kill()
        self.assert_done(run(worker.device, *with_key, program), self.expected(program))


class Operating(Case):
    """Looking at a worker from elsewhere, ending sessions, metrics."""

    def clients(self, path, *entries):
        path.write_text(json.dumps({"clients": list(entries)}), encoding="utf-8")
        path.chmod(0o600)

    def secret(self, name):
        return self.key(name).read_text(encoding="utf-8").strip()

    def ask(self, worker, *options):
        return run(f"--worker-status={worker.address}", *options)

    def status(self, worker, *options):
        done = self.ask(worker, "--json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def fetch(self, worker, path, words=None):
        port = re.search(r"metrics at http://127\.0\.0\.1:(\d+)", worker.log()).group(1)
        with socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE) as there:
            there.sendall(words or f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
            answer = b""
            while piece := there.recv(65536):
                answer += piece
        return answer.decode()

    def test_sessions_are_shown_and_ended(self):
        key = f"--key-file={self.key()}"
        worker = self.worker(key, "--lend=sessions=1", "--metrics=127.0.0.1:0")
        idle = self.status(worker, key)
        self.assertEqual((idle["sessions"], idle["most_sessions"], idle["draining"]), ([], 1, False))
        self.assertEqual([device["name"] for device in idle["devices"]], ["host"])
        client = self.start(worker.device, key, self.rounds(10_000_000))
        worker.wait_for(r"session 1: kernel '.*' ready")
        waiting = self.start(worker.device, key, self.rounds(10_000_000))
        worker.wait_for("session 2: waits at place 1")
        wait_until(lambda: self.status(worker, key)["sessions"][0]["jobs"] > 0, "no jobs")
        first, second = self.status(worker, key)["sessions"]
        self.assertEqual((first["session"], first["place"], first["program"]), (1, 0, "dhpvm-run"))
        self.assertEqual((first["seal"], first["devices"], first["priority"]), ("full", ["host"], 100))
        self.assertGreater(min(first["bytes_in"], first["memory_bytes"], first["seconds"]), 0)
        self.assertRegex(first["key"], "^[0-9a-f]{16}$")
        self.assertEqual((second["session"], second["place"], second["jobs"]), (2, 1, 0))
        table = self.ask(worker, key).stdout
        self.assertRegex(table, r"sessions: 1 of 1, waiting: 1 of 16\ndevice host: ")
        self.assertRegex(table, r"(?m)^1 +served .* dhpvm-run .*host$")
        self.assertRegex(table, r"(?m)^2 +waits, 1 ")
        metrics = self.fetch(worker, "/metrics")
        self.assertIn('\ndhpvm_worker_sessions{state="waiting"} 1\n', metrics)
        self.assertIn(f'\ndhpvm_worker_client_sessions{{client="{first["key"]}"}} 2\n', metrics)
        # The client is told why, and the next one has its place.
        self.assertEqual(self.ask(worker, key, "--end-session=1", "--reason=lunch\x1b is over").returncode, 0)
        worker.wait_for(r"session 1: ended .*\(ended\).*operator has ended the session: lunch is over")
        worker.wait_for("session 2: is served")
        wait_until(lambda: 'cause="ended"} 1\n' in self.fetch(worker, "/metrics"), "no end in the metrics")
        self.assertEqual(self.ask(worker, key, "--end-session=2").returncode, 0)
        worker.wait_for(r"session 2: ended")
        gone = self.ask(worker, key, "--end-session=2")
        self.assertEqual(gone.returncode, EXIT_USER)
        self.assertIn("has no session 2", gone.stderr)
        self.assertIn("operator has ended the session: lunch", client.stderr.readline())
        client.kill()
        waiting.kill()
        self.assertRegex(self.fetch(worker, "/healthz"), r"200 OK\r\n(?s:.*)\r\nok\n$")

    def test_only_who_may_operate_does(self):
        path = self.folder / "clients.json"
        self.clients(path, {"name": "anna", "keys": [self.secret("anna")], "time": 1},
                     {"name": "boss", "keys": [self.secret("boss")], "rights": ["operate"]})
        anna, boss, stranger = (f"--key-file={self.folder / name}" for name in ("anna", "boss", "stranger"))
        self.secret("stranger")
        worker = self.worker(f"--clients={path}")
        program = self.rounds(2, 50_000)
        self.assert_done(run(worker.device, anna, program), self.expected(program))
        self.assertEqual(self.status(worker, boss)["sessions"], [])
        for options, reason in (([anna], 'has no right to "operate" it'), ([stranger], "authenticated"),
                                ([], "only operators may see")):
            for action in ([], ["--end-session=1"]):
                refused = self.ask(worker, *options, *action)
                self.assertNotEqual(refused.returncode, 0, options)
                self.assertIn(reason, refused.stderr)
        refused = run(worker.device, boss, program)
        self.assertEqual(refused.returncode, EXIT_TRAP)
        self.assertIn('has no right to "use" its devices', refused.stderr)
        # Limits of the client, in addition to those of the worker.
        client = self.start(worker.device, anna, self.rounds(10_000_000))
        worker.wait_for(r"ended .*\(time-limit\).*has computed for 1000 ms")
        client.kill()
        # A right that is taken away ends the session.
        self.clients(path, {"name": "anna", "keys": [(self.folder / "anna").read_text().strip()]},
                     {"name": "boss", "keys": [(self.folder / "boss").read_text().strip()], "rights": ["operate"]})
        worker.process.send_signal(signal.SIGHUP)
        worker.wait_for("was read anew")
        client = self.start(worker.device, anna, self.rounds(10_000_000))
        wait_until(lambda: [each["client"] for each in self.status(worker, boss)["sessions"]] == ["anna"], "no session")
        self.clients(path, {"name": "anna", "keys": [(self.folder / "anna").read_text().strip()],
                            "rights": ["operate"]})
        worker.process.send_signal(signal.SIGHUP)
        worker.wait_for(r'\(revoked\).*client anna.*no right to "use"')
        refused = self.ask(worker, boss)
        self.assertNotEqual(refused.returncode, 0)
        self.assertEqual(self.status(worker, anna)["sessions"], [])
        client.kill()

    def test_workers_that_nobody_operates(self):
        open_worker = self.worker()
        key = f"--key-file={self.key()}"
        for options in ([], [key]):
            self.assertNotEqual(self.ask(open_worker, *options).returncode, 0)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        done = run(f"--worker-status=127.0.0.1:{silent.getsockname()[1]}", key)
        self.assertEqual(done.returncode, EXIT_TRAP)
        self.assertIn("gives no answer", done.stderr)

    def test_health_while_draining(self):
        worker = self.worker("--metrics=127.0.0.1:0")
        client = self.start(worker.device, self.rounds(10_000_000))
        worker.wait_for("session 1: kernel")
        self.assertIn("200 OK", self.fetch(worker, "/healthz"))
        self.assertIn("400 Bad", self.fetch(worker, "", b"\x16\x03\x01 what\r\n\r\n"))
        client.send_signal(signal.SIGSTOP)
        worker.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "503" in self.fetch(worker, "/healthz"), "not draining")
        worker.process.send_signal(signal.SIGTERM)
        self.assertEqual(worker.process.wait(timeout=PATIENCE), 0)
        client.kill()
        refused = run("--worker", "--listen=127.0.0.1:0", "--metrics=0.0.0.0:0")
        self.assertEqual(refused.returncode, EXIT_USER)
        self.assertIn("for this machine alone", refused.stderr)

    def test_no_client_runs_what_another_one_has_compiled(self):
        path = self.folder / "clients.json"
        self.clients(path, {"name": "anna", "keys": [self.secret("anna")]},
                     {"name": "bert", "keys": [self.secret("bert")]})
        caches = self.folder / "caches"
        worker = self.worker(f"--clients={path}", f"--cache-dir={caches}")
        program = self.rounds(2, 50_000)
        for name in ("anna", "bert"):
            self.assert_done(run(worker.device, f"--key-file={self.folder / name}", program), self.expected(program))
        compiled = {entry.relative_to(caches).parts[:2] for entry in caches.rglob("*.code")}
        self.assertEqual(compiled, {("clients", "client-anna"), ("clients", "client-bert")})

    def test_weak_seals_are_told(self):
        key = f"--key-file={self.key()}"
        worker = self.worker(key, "--seal=integrity")
        program = self.rounds(2, 50_000)
        done = run(worker.device, key, "--seal=none", program)
        self.assert_done(done, self.expected(program))
        self.assertIn("can be read by others on the network (--seal=integrity)", done.stderr)
        worker.wait_for(r"warning: session 1: its arrays can be read on the network \(seal integrity\)")
        done = run(worker.device, key, program)
        self.assert_done(done, self.expected(program))
        self.assertEqual(done.stderr, "")


class Losing(Case):
    """After any failure of one side, the other goes on, or says why it does not."""

    def started(self, worker, program, *options, after=r"kernel '.*' ready"):
        client = self.start(worker.device, *options, program)
        worker.wait_for(after)
        time.sleep(0.2)
        self.assertIsNone(client.poll(), "the program is too short for this test")
        return client

    def long_loop(self, seconds):
        """A loop that takes about so long, on whatever machine this is, and however busy it is."""
        def program(steps):
            return self.write(ONE_LONG_LOOP.replace("STEPS", str(steps)))

        steps, spent = 25_000, 0.0
        while spent < 1:
            steps *= 3
            begin = time.monotonic()
            run("--device=host", program(steps))
            spent = time.monotonic() - begin
        return program(int(steps * seconds / spent) + steps)


class EndlessKernels(Losing):
    """Loops that would run for minutes end with their program, its deadline or the limit of the worker."""

    def test_deadline_of_the_program(self):
        worker = self.worker()
        for program in (self.rounds(10_000_000), self.long_loop(5)):
            for mode in ("eager", "lazy"):
                done = run(worker.device, f"--write-back={mode}", "--deadline=700ms", program)
                self.assertEqual(done.returncode, EXIT_TRAP, done.stderr)
                self.assertIn("deadline", done.stderr)
        self.assert_serves(worker)

    def endless(self):
        """A loop of minutes that is two launches."""
        return self.write(ONE_LONG_LOOP.replace("STEPS", "10_000_000_000"))

    def assert_ends_soon(self, worker, client, at, session):
        """Both the client, and what the worker does for it; at is when it was to end."""
        client.communicate(timeout=PATIENCE)
        self.assertLess(time.monotonic() - at, 2)
        worker.wait_for(rf"session {session}: ended")
        self.assertLess(time.monotonic() - at, 3)
        self.assertLess(worker.idle_ticks(), os.sysconf("SC_CLK_TCK") / 4)

    def test_endless_kernels_end_with_their_program(self):
        worker = self.worker()
        session = 0
        for options in ([], ["--write-back=lazy"]):
            for signals in (None, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                session += 1
                begin = time.monotonic()
                deadline = ["--deadline=1s"] if signals is None else []
                client = self.start(worker.device, *options, *deadline, self.endless())
                worker.wait_for(rf"session {session}: kernel")
                if signals is not None:
                    time.sleep(0.3)
                    begin = time.monotonic() - 1
                    client.send_signal(signals)
                self.assert_ends_soon(worker, client, begin + 1, session)
        self.assert_serves(worker)

    def test_endless_kernels_end_at_the_limit_of_time(self):
        worker = self.worker("--lend=time=1s")
        client = self.start(worker.device, "--deadline=20s", self.endless())
        worker.wait_for(r"session 1: ended.*\(time-limit\).*has computed for 1000 ms")
        self.assertLess(worker.idle_ticks(), os.sysconf("SC_CLK_TCK") / 4)
        client.kill()


class LosingClients(Losing):
    """Sessions that end before their program, and the worker that serves the next."""

    def test_client_killed(self):
        worker = self.worker("--lend=sessions=1")
        for n, program in enumerate((self.rounds(10_000_000), self.write(TRANSFERS), self.long_loop(3)), 1):
            client = self.start(worker.device, program)
            worker.wait_for(rf"session {n}: kernel")
            time.sleep(0.2)
            client.kill()
            client.communicate()
            worker.wait_for(rf"session {n}: ended")
        # The only session that is allowed is free again as soon as the last kernel is done.
        program = self.rounds(1, 50_000)
        wait_until(lambda: run(worker.device, program).returncode == 0, "the worker keeps the dead session")

    def test_session_that_crashes(self):
        key = self.folder / "key"
        run(f"--make-key={key}")
        for options in [], [f"--key-file={key}"]:
            worker = self.worker(*options)
            program = self.rounds(1000)
            waiting = worker.sessions()
            client = self.started(worker, program, *options)
            other = self.start(worker.device, *options, program)
            worker.wait_for("session 2: kernel")
            os.kill(waiting[0], signal.SIGABRT)
            # Its client gets the reason, and other clients are not affected.
            out, errors = client.communicate(timeout=PATIENCE)
            self.assertEqual((client.returncode, out), (0, self.expected(program)), errors)
            self.assertIn("the process of the session was ended by signal 6", errors)
            worker.wait_for(r"error: session 1: ended .*\(crashed\).*the process of the session was ended by signal 6")
            out, errors = other.communicate(timeout=PATIENCE)
            self.assertEqual((other.returncode, out, errors), (0, self.expected(program), ""))

    def test_processes_of_sessions(self):
        worker = self.worker()
        spare, = worker.sessions()

        def status():
            return Path(f"/proc/{spare}/status").read_text(encoding="utf-8")

        wait_until(lambda: re.search(r"Seccomp:\s+2", status()), "the process keeps its rights")
        self.assertRegex(status(), r"NoNewPrivs:\s+1")
        self.assertRegex(status(), r"Threads:\s+1\n")  # and no device open
        self.assertRegex(Path(f"/proc/{spare}/limits").read_text(encoding="utf-8"), r"Max core file size\s+0\s+0")
        # One that waits and dies is not missed.
        os.kill(spare, signal.SIGKILL)
        worker.wait_for("a process that waited for a session: .*signal 9")
        self.assert_serves(worker)
        # One that hears nothing any more does not keep the worker from ending, and none outlives it.
        client = self.started(worker, self.rounds(10_000_000))
        sessions = worker.sessions()
        self.assertEqual(len(sessions), 2)
        for pid in sessions:
            os.kill(pid, signal.SIGSTOP)
        worker.process.send_signal(signal.SIGINT)
        self.assertEqual(worker.process.wait(timeout=10), 0)
        self.assertEqual([pid for pid in sessions if Path(f"/proc/{pid}").exists()], [])
        client.kill()

    def test_no_session_outlives_its_worker(self):
        worker = self.worker()
        client = self.started(worker, self.rounds(10_000_000))
        sessions = worker.sessions()
        os.kill(sessions[-1], signal.SIGSTOP)
        worker.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in sessions), "a session without a worker")
        client.kill()

    def test_client_stopped(self):
        worker = self.worker("--silence=500ms")
        client = self.started(worker, self.rounds(10_000_000))
        client.send_signal(signal.SIGSTOP)
        worker.wait_for(r"session 1: ended.*\(lost\).*no sign of life")
        self.assert_serves(worker)
        client.kill()

    def test_memory_of_the_worker_used_up(self):
        worker = self.worker("--lend=memory=1M")
        program = self.write(TRANSFERS.replace("round < 200", "round < 2"))
        # In slices that fit, or on the host, but never wrong.
        self.assert_done(run(worker.device, program), self.expected(program))
        program = self.rounds(3)
        done = run(worker.device, "--explain-offload", program)
        self.assert_done(done, self.expected(program))
        self.assert_serves(worker)

    def test_time_of_a_session_used_up(self):
        worker = self.worker("--lend=time=300ms")
        program = self.rounds(20_000)
        client = self.start(worker.device, program)
        self.assert_goes_on(client, self.expected(program))
        worker.wait_for("session 1: ended.*which is the limit")
        self.assert_serves(worker)

    def test_code_of_a_session_used_up(self):
        worker = self.worker("--lend=code=100")
        program = self.rounds(1)
        client = self.start(worker.device, program)
        self.assert_goes_on(client, self.expected(program))

    def test_programs_queue_at_a_full_worker(self):
        worker = self.worker("--lend=sessions=1,waiting=2")
        first = self.started(worker, self.rounds(10_000_000))
        program = self.rounds(2, 50_000)
        waiting = []
        for place in (1, 2):
            waiting.append(self.start(worker.device, "--explain-offload", program))
            worker.wait_for(rf"session {place + 1}: waits at place {place}")
        # The queue is full as well; a program that may use the host begins there.
        self.assertIn("2 that wait", run(worker.device, program).stderr)
        waiting[1].kill()
        worker.wait_for("session 3: ended")
        done = run("--device=host," + worker.device.removeprefix("--device="), program)
        self.assert_done(done, self.expected(program))
        self.assertIn("has place 2 in its queue; loops run without it until it is there", done.stderr)
        first.kill()
        out, errors = waiting[0].communicate(timeout=PATIENCE)
        self.assertEqual((waiting[0].returncode, out), (0, self.expected(program)), errors)
        self.assertIn("has place 1 in its queue; it waits there", errors)
        self.assertIn(f"ran on remote/{worker.address}", errors)
        worker.wait_for("session 2: is served")

    def test_idle_sessions_end(self):
        worker = self.worker("--lend=idle=300ms")
        program = self.write("import time;\nfn main() { let x = [i64](50_000); parallel for i in 0..x.len { x[i] = i; }\n"
                             "    time.sleep(2.0); print(x[7]); }\n")
        self.assert_done(run(worker.device, program), "7\n")
        worker.wait_for(r"session 1: ended .*\(idle\).*nothing to do for 300 ms")

    def test_memory_of_all_sessions(self):
        worker = self.worker("--lend=total-memory=8M")
        program = self.write(TRANSFERS.replace("round < 200", "round < 2"))
        self.assert_done(run(worker.device, program), self.expected(program))

    def test_too_many_sessions(self):
        worker = self.worker("--lend=sessions=1,waiting=0")
        first = self.started(worker, self.rounds(10_000_000))
        refused = run(worker.device, self.rounds(1))
        self.assertEqual(refused.returncode, EXIT_TRAP)
        self.assertIn("which is its limit", refused.stderr)
        worker.wait_for("which is its limit")
        self.assertIsNone(first.poll())

    def test_draining(self):
        worker = self.worker()
        program = self.rounds(2500)
        client = self.started(worker, program)
        worker.process.send_signal(signal.SIGTERM)
        worker.wait_for("draining")
        refused = run(worker.device, self.rounds(1))
        self.assertEqual(refused.returncode, EXIT_TRAP)
        out, errors = client.communicate(timeout=PATIENCE)
        self.assertEqual((client.returncode, out), (0, self.expected(program)), errors)
        # The client has left by itself, and said so once.
        self.assertEqual(errors.count("is gone, and its work is done elsewhere"), 1, errors)
        self.assertIn("is about to end", errors)
        self.assertEqual(worker.process.wait(timeout=PATIENCE), 0)
        # A second signal does not wait.
        worker = self.worker()
        client = self.started(worker, self.rounds(10_000_000))
        worker.process.send_signal(signal.SIGTERM)
        worker.wait_for("draining")
        begin = time.monotonic()
        worker.process.send_signal(signal.SIGTERM)
        self.assertEqual(worker.process.wait(timeout=PATIENCE), 0)
        self.assertLess(time.monotonic() - begin, 15)  # draining has 30 s
        self.assertRegex(worker.log(), r"session 1: ended .*\((shutdown|left)\)")
        client.kill()
        # SIGINT ends sessions at once, and says so.
        worker = self.worker()
        client = self.started(worker, self.rounds(10_000_000))
        worker.process.send_signal(signal.SIGINT)
        self.assertEqual(worker.process.wait(timeout=PATIENCE), 0)
        self.assertRegex(worker.log(), r"session 1: ended .*\(shutdown\)")
        client.kill()


def take_bin(arguments):
    """Takes --bin and its value out of the arguments."""
    at = arguments.index("--bin")
    path = Path(arguments[at + 1]).resolve()
    del arguments[at:at + 2]
    return path


if __name__ == "__main__":
    BIN = take_bin(sys.argv)
    unittest.main()
