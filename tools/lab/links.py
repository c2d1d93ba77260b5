# SPDX-License-Identifier: Apache-2.0
"""The network between clients and a worker: a cable between two namespaces, or a proxy on loopback."""

import os
import random
import select
import signal
import socket
import subprocess
import threading
import time
from collections import deque

import system

PIECE = 64 << 10
# A proxy holds this much of a direction, like the buffers of a router: a time at the link's rate, and at least PIECE.
QUEUE = 0.05


class Machine:
    """A network namespace, kept alive by a process that does nothing."""

    def __init__(self):
        ready, told = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                system.end_with_parent(signal.SIGKILL)
                system.unshare(system.NEW_NETWORK)
                system.raise_loopback()
                os.write(told, b".")
                while True:
                    signal.pause()
            finally:
                os._exit(1)
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        self.network = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)

    def end(self):
        os.close(self.network)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Cable:
    """A cable to a virtual machine of the worker. Packets that meet a cut are lost, as with any cable."""

    def __init__(self, number, link):
        self.machine = Machine()
        self.name = f"cable{number}"
        self.host = f"10.99.{number}.2"
        pid = self.machine.pid
        self.ip(
            f"link add {self.name} type veth peer name {self.name} netns {pid}\n"
            f"address add 10.99.{number}.1/24 dev {self.name}\nlink set {self.name} up\n"
        )
        self.ip(f"address add {self.host}/24 dev {self.name}\nlink set {self.name} up\n", self.inside())
        if link.rate:
            self.slow(link.rate, None)

    def inside(self):
        return ["nsenter", "-t", str(self.machine.pid), "-n"]

    @staticmethod
    def ip(commands, inside=()):
        subprocess.run([*inside, "ip", "-batch", "-"], input=commands, check=True, capture_output=True, text=True)

    def cut(self):
        self.ip(f"link set {self.name} down\n")

    def heal(self):
        self.ip(f"link set {self.name} up\n")

    def slow(self, rate, delay):
        if delay:
            raise OSError("only a proxy delays: link NAME proxy")
        for inside in ([], self.inside()):
            subprocess.run(
                [
                    *inside,
                    "tc",
                    "qdisc",
                    "replace",
                    "dev",
                    self.name,
                    "root",
                    "tbf",
                    "rate",
                    f"{rate * 8:.0f}bit",
                    "burst",
                    "64kb",
                    "latency",
                    "50ms",
                ],
                check=True,
                capture_output=True,
            )

    def address(self, port):
        """The address for clients of the worker, and the one where it listens."""
        return (f"{self.host}:{port}",) * 2

    def network(self):
        return self.machine.network

    def end(self):
        self.machine.end()


class Flow:
    """One direction of a connection through a proxy."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.waiting = deque()  # (when it may leave, what)
        self.size = 0
        self.ended = False

    def take(self, data, due):
        self.waiting.append((due, data))
        self.size += len(data)

    def deliver(self, now):
        """Sends what is due, as far as the receiver takes it. Returns whether it waits for the receiver."""
        while self.waiting and self.waiting[0][0] <= now:
            due, data = self.waiting[0]
            if not data:
                self.sink.shutdown(socket.SHUT_WR)
                self.waiting.popleft()
                self.ended = True
                return False
            try:
                sent = self.sink.send(data)
            except BlockingIOError:
                return True
            self.size -= sent
            if sent < len(data):
                self.waiting[0] = (due, data[sent:])
                return True
            self.waiting.popleft()
        return False


class Proxy:
    """Accepts connections on loopback and forwards data with delay and at a rate. A cut proxy forwards nothing."""

    def __init__(self, link):
        self.rate, self.delay = link.rate, link.delay
        self.is_cut = False
        self.chance = random.Random(0)
        self.corruptions = 0  # pieces that are still to be changed
        self.stalls = 0  # connections that are still to be held up
        self.worker = None
        self.door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.door.getsockname()[1]
        self.lock = threading.Lock()
        self.free_at = [0.0, 0.0]  # when the link has sent what it was given, by direction
        self.ends = []
        self.has_ended = False
        threading.Thread(target=self.accept, daemon=True).start()

    def address(self, port):
        self.worker = ("127.0.0.1", port)
        return f"127.0.0.1:{self.port}", f"127.0.0.1:{port}"

    @staticmethod
    def network():
        return None

    def accept(self):
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        with self.lock:
            self.ends.append(client)
        there = None
        try:
            while self.is_cut and not self.has_ended:
                time.sleep(0.01)
            there = socket.create_connection(self.worker)
            with self.lock:
                self.ends.append(there)
            for end in (client, there):
                end.setblocking(False)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pass_on([Flow(client, there), Flow(there, client)])
        except (OSError, ValueError):
            # Both ends see the connection broken, whichever of them broke it.
            for end in (client, there):
                self.end_connection(end)
        finally:
            with self.lock:
                self.ends = [end for end in self.ends if end not in (client, there)]
            for end in (client, there):
                if end is not None:
                    end.close()

    def pass_on(self, flows):
        is_held = False
        while not all(flow.ended for flow in flows):
            if self.is_cut:
                time.sleep(0.005)
                continue
            now = time.monotonic()
            blocked = [flow.sink for flow in flows if flow.deliver(now)]
            room = max(PIECE, (self.rate or 1e9) * QUEUE)
            open_flows = [flow for flow in flows if not flow.ended and not (flow.waiting and not flow.waiting[-1][1])]
            if is_held:
                open_flows = []
            readable = {flow.source: flow for flow in open_flows if flow.size < room}
            due = [flow.waiting[0][0] - now for flow in flows if flow.waiting and flow.sink not in blocked]
            wait = min([0.05, *(max(0.0, each) for each in due)])
            ready, _, _ = select.select(list(readable), blocked, [], wait)
            for source in ready:
                flow = readable[source]
                data = self.changed(source.recv(PIECE))
                if self.holds(data):
                    is_held = True
                    data = data[: len(data) // 2]
                flow.take(data, self.due(flows.index(flow), len(data)))

    def changed(self, data):
        """The data, with one bit flipped if that was requested."""
        with self.lock:
            if not data or self.corruptions == 0:
                return data
            self.corruptions -= 1
            bit = self.chance.randrange(8 * len(data))
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        return bytes(flipped)

    def holds(self, data):
        """Whether the connection that carries this is held up from now on. Only data comes in long pieces."""
        with self.lock:
            if self.stalls == 0 or len(data) < PIECE // 4:
                return False
            self.stalls -= 1
            return True

    def due(self, direction, size):
        with self.lock:
            begin = max(time.monotonic(), self.free_at[direction])
            self.free_at[direction] = begin + (size / self.rate if self.rate else 0)
            return self.free_at[direction] + self.delay

    @staticmethod
    def end_connection(end):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass

    def cut(self):
        self.is_cut = True

    def heal(self):
        self.is_cut = False

    def corrupt(self):
        """Changes the next piece of data, in either direction."""
        with self.lock:
            self.corruptions += 1

    def stall(self):
        """Stops the next connection that carries data, in the middle of it."""
        with self.lock:
            self.stalls += 1

    def break_all(self):
        """Closes all connections; new ones are accepted."""
        with self.lock:
            for end in self.ends:
                self.end_connection(end)

    def slow(self, rate, delay):
        self.rate = rate or self.rate
        self.delay = self.delay if delay is None else delay

    def end(self):
        self.has_ended = True
        self.is_cut = False
        # Closing alone does not wake a thread that accepts.
        self.end_connection(self.door)
        self.door.close()
        self.break_all()
