# SPDX-License-Identifier: Apache-2.0
"""Random scenarios, as text: the same one for the same seed."""

import random

SHAKE = (
    *("kill", "kill", "terminate", "crash", "stop", "slow", "start"),
    *("cut", "break", "corrupt", "stall", "exhaust", "fill", "skew"),
)


class Generator:
    """The statements of one scenario. `program`: the seed of its program; None: that of the scenario."""

    def __init__(self, seed, program=None):
        self.random = random.Random(f"scenario {seed}")
        self.lines = [f"seed {seed if program is None else program}", "program random", "within 150s"]
        self.has_key = self.chance(0.5)
        self.workers = ["abc"[number] for number in range(self.random.choice((1, 1, 2, 2, 3)))]
        self.links = {}  # worker to whether it is a proxy
        self.is_late = set()
        self.events = []
        self.make()

    def chance(self, probability):
        return self.random.random() < probability

    def text(self):
        return "\n".join([*self.lines, *self.events, ""])

    def make(self):
        if self.has_key:
            self.lines.append("key")
        for name in self.workers:
            self.worker(name)
        for number in range(self.random.choice((1, 1, 1, 2, 3))):
            self.client(f"client{number + 1}")
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            self.event()

    def worker(self, name):
        words = [f"worker {name}"]
        if self.chance(0.15):
            words.append(f"share={self.random.choice((0.05, 0.1, 0.5))}")
        if len(self.workers) > 1 and self.chance(0.1):
            words.append("late")
            self.is_late.add(name)
        limits = [
            limit for limit in ("memory=1M", "sessions=1", "total-memory=2M", "time=1s", "idle=2s") if self.chance(0.04)
        ]
        if limits:
            words.append(f"--lend={','.join(limits)}")
        if self.chance(0.3):
            words.append(f"--silence={self.random.choice(('300ms', '700ms', '3s'))}")
        if self.chance(0.2):
            words.append("--no-cache")
        self.lines.append(" ".join(words))
        if self.chance(0.5):
            self.link(name)

    def link(self, name):
        words = [f"link {name}"]
        self.links[name] = self.chance(0.5) or not self.has_key
        if self.links[name]:
            words.append("proxy")
            if self.chance(0.4):
                words.append(f"delay={self.random.choice((1, 5, 20))}ms")
        if self.chance(0.4):
            words.append(f"rate={self.random.choice((20, 100, 400, 1000))}Mbit")
        self.lines.append(" ".join(words))

    def client(self, name):
        words = [f"client {name}"]
        addresses = [f"{{{worker}}}" for worker in self.workers]
        devices = ",".join(f"remote/{address}" for address in addresses)
        form = self.random.choice(("remote", "remote", "host and remote", "connect", "policy"))
        if form == "remote":
            words.append(f"--device={devices}")
        elif form == "host and remote":
            words.append(f"--device=host,{devices}")
        else:
            words.append(f"--connect={','.join(addresses)}")
            if form == "policy":
                words.append(f"--policy={self.random.choice(('remote', 'remote:1000', 'fastest'))}")
            else:
                words.append(f"--device={self.random.choice(('remote', 'host,remote', devices))}")
        words.append(f"--write-back={self.random.choice(('lazy', 'eager'))}")
        words.append(f"--silence={self.random.choice(('300ms', '300ms', '700ms', '3s'))}")
        if self.chance(0.5):
            words.append(f"--batch={self.random.choice((1000, 5000))}")
        if self.chance(0.7):
            words.append("--jit-wait")
        if self.has_key and self.chance(0.3):
            words.append(f"--seal={self.random.choice(('full', 'integrity', 'none'))}")
        if self.chance(0.1):
            words.append(f"--deadline={self.random.choice((200, 500))}ms")
        self.lines.append(" ".join(words))

    def moment(self, later=0.0):
        """When an event happens: most soon after a kernel is ready."""
        after = self.random.choice(("kernel+",) * 4 + ("session+", ""))
        return f"{after}{int(1000 * (later + self.random.random() ** 2 * 0.4))}ms"

    def event(self):
        name = self.random.choice(SHAKE)
        worker = self.random.choice(self.workers)
        if name == "start":
            self.start()
        elif name == "corrupt":
            # Without a seal the change would not be detected.
            if self.has_key and self.links.get(worker):
                self.events.append(f"at {self.moment()} corrupt {worker}")
        elif name == "stall":
            if self.links.get(worker):
                self.events.append(f"at {self.moment()} stall {worker}")
        elif name in ("cut", "break"):
            self.disturb_link(name, worker)
        elif name == "stop":
            target = self.random.choice([worker, worker, "client1"])
            self.with_end(name, "continue", target, always=target not in self.workers)
        elif name == "slow":
            self.events.append(f"at {self.moment()} slow {worker} share={self.random.choice((0.05, 0.3))}")
        elif name == "exhaust":
            self.with_end(name, "restore", self.random.choice([worker, worker, "client1"]))
        elif name == "fill":
            self.with_end(name, "free", worker)
        elif name == "skew":
            self.events.append(
                f"at {self.moment()} skew {self.random.choice((worker, 'client1'))} "
                f"by={self.random.choice(('-25h', '2h', '-3s', '10000h'))}"
            )
        elif name in ("kill", "terminate"):
            victim = self.random.choice([worker] * 4 + ["client1"])
            self.events.append(f"at {self.moment()} {self.random.choice((name, 'kill', 'interrupt'))} {victim}")
            if victim == worker and self.chance(0.3):
                self.events.append(f"at {self.moment(0.3)} start {worker}")
        else:
            self.events.append(f"at {self.moment()} {name} {worker}")

    def start(self):
        for name in sorted(self.is_late):
            self.events.append(f"at {self.random.randint(0, 400)}ms start {name}")

    def disturb_link(self, name, worker):
        if worker not in self.links:
            return
        if name == "break" and self.links[worker]:
            self.events.append(f"at {self.moment()} break {worker}")
        else:
            self.with_end("cut", "heal", worker)

    def with_end(self, name, end, target, always=False):
        """An event, and mostly or always the one that undoes it."""
        after, _, at = f"start+{self.moment()}".rpartition("+")
        begin = int(at.removesuffix("ms"))
        after = after.removeprefix("start").strip("+")
        prefix = f"{after}+" if after else ""
        self.events.append(f"at {prefix}{begin}ms {name} {target}")
        if always or self.chance(0.7):
            self.events.append(f"at {prefix}{begin + self.random.choice((50, 200, 600))}ms {end} {target}")
