# SPDX-License-Identifier: Apache-2.0
"""Runs one scenario: starts its processes, and lets its events happen. aftermath.py judges the result."""

import os
import re
import subprocess
import time
from pathlib import Path

import aftermath
import random_loops
import reference
import leftovers
from links import Cable, Proxy
from patience import Patience
from processes import OVER, Process, Worker, free_port, parents
from system import adopt_orphans

TICK = 0.003
START = 30.0  # seconds that a worker may take until it listens


class Broken(Exception):
    """The experiment could not be performed, which says nothing about the product."""


class Experiment:
    """The processes of one run, and what happened."""

    def __init__(self, scenario, folder, tool, faults, alone):
        self.scenario, self.folder, self.tool, self.alone = scenario, Path(folder), str(tool), alone
        self.faults = faults if any(event.name == "skew" for event in scenario.events) else None
        self.links = {}
        self.workers = {}
        self.clients = {}
        self.addresses = {}
        self.begun = None  # of the first client
        self.seen = {}  # when a session and a kernel were first seen
        self.notes = []  # events as they happened
        self.patience = None  # with the clients
        self.ended_at = {}  # of clients, by name
        self.started_at = {}
        self.freed = {}  # seconds from the last client's end until a worker had nothing left of sessions, by name

    # Preparations.

    def make(self):
        adopt_orphans()
        if self.scenario.key:
            subprocess.run([self.tool, f"--make-key={self.folder / 'key'}"], check=True, capture_output=True)
        for number, actor in enumerate(self.scenario.workers(), 1):
            worker = Worker(actor, self.folder, self.faults)
            self.workers[actor.name] = worker
            self.connect(number, worker)
            if any(event.name == "fill" and event.target == actor.name for event in self.scenario.events):
                worker.make_disk()
        for actor in self.scenario.clients():
            self.addresses[actor.name] = f"127.0.0.1:{free_port()}"
            for number in range(actor.count):
                name = actor.name if actor.count == 1 else f"{actor.name}-{number + 1}"
                self.clients[name] = Process(actor, name, self.folder, self.faults)
        self.make_program()
        self.share_cache()

    def share_cache(self):
        """Compiling is most of the work, so a program that several scenarios run is compiled once for all of them."""
        if self.scenario.program is None and reference.FOLDER in os.environ:
            for client in self.clients.values():
                client.cache = Path(os.environ[reference.FOLDER]) / f"code-{self.scenario.seed}"

    def connect(self, number, worker):
        """Makes the link to a worker."""
        link = self.scenario.links.get(worker.actor.name)
        port = free_port()
        worker.listen = worker.address = f"127.0.0.1:{port}"
        if link is not None:
            # Without a key, programs and workers talk inside one machine only.
            is_cable = self.alone and self.scenario.key and not link.by_proxy and not link.delay
            made = Cable(number, link) if is_cable else Proxy(link)
            self.links[worker.actor.name] = made
            worker.address, worker.listen = made.address(port)
        self.addresses[worker.actor.name] = worker.address

    def make_program(self):
        if self.scenario.program is None:
            self.program = self.folder / "program.dhp"
            self.program.write_text(random_loops.Program(self.scenario.seed, patient=True).source(), encoding="utf-8")
        else:
            self.program = Path(self.scenario.program)

    # Starting.

    def fill_in(self, options):
        return [re.sub(r"\{([a-z0-9-]+)\}", lambda found: self.address_of(found[1]), option) for option in options]

    def address_of(self, name):
        if name not in self.addresses:
            raise Broken(f"{{{name}}} is no worker or client")
        return self.addresses[name]

    def security(self, options):
        named = any(option.startswith(("--key-file", "--clients", "--certificate")) for option in options)
        return [f"--key-file={self.folder / 'key'}"] if self.scenario.key and not named else []

    def start_worker(self, worker):
        options = self.fill_in(worker.actor.options)
        names = [option.partition("=")[0] for option in options]
        if "--connect" not in names and "--listen" not in names:
            options.append(f"--listen={worker.listen}")
        if "--device" not in names:
            options.append("--device=host")
        link = self.links.get(worker.actor.name)
        worker.start([self.tool, "--worker", *options, *self.security(options)], link.network() if link else None)

    def start_client(self, name, client):
        options = self.fill_in(client.actor.options)
        if not any(option.startswith(("--device", "--connect", "--listen")) for option in options):
            options.append("--device=" + ",".join(f"remote/{worker.address}" for worker in self.workers.values()))
        self.started_at[name] = time.monotonic()
        client.start([self.tool, *options, *self.security(options), str(self.program), *self.scenario.arguments])

    def start_all(self):
        waiting = [worker for worker in self.workers.values() if not worker.actor.late]
        for worker in waiting:
            self.start_worker(worker)
        for worker in waiting:
            self.await_worker(worker)
        for name, client in self.clients.items():
            if not client.actor.late:
                self.start_client(name, client)
        self.begun = time.monotonic()

    def await_worker(self, worker):
        """Waits until it listens and has a process for its first session, or dials."""
        if any(option.startswith("--connect") for option in worker.actor.options):
            return
        leftovers.wait(
            lambda: not worker.runs() or (worker.is_ready() and worker.sessions()), worker.family, seconds=START
        )
        if not (worker.runs() and worker.is_ready() and worker.sessions()):
            raise Broken(f"worker {worker.name} does not listen:\n{worker.errors()}")
        worker.usual = worker.descriptors()

    # While it runs.

    def moment(self, event):
        """The time when an event is due; None while that is not known."""
        begin = self.begun if event.after == "start" else self.seen.get(event.after)
        return None if begin is None else begin + event.at

    def look(self):
        """Notes the first session and the first kernel."""
        for what, sign in (("session", "session 1: '"), ("kernel", " ready")):
            if what not in self.seen and any(event.after == what for event in self.scenario.events):
                if any(worker.process and sign in worker.errors() for worker in self.workers.values()):
                    self.seen[what] = time.monotonic()

    def run(self):
        """Performs events until all clients have ended and `rest` has passed, or the time limit is over."""
        events = sorted(self.scenario.events, key=lambda event: event.at)
        self.patience = Patience(self.scenario.within, self.pids)
        rested = None
        is_over = False
        while not self.patience.is_over():
            self.look()
            for event in list(events):
                due = self.moment(event)
                if due is not None and due <= time.monotonic():
                    events.remove(event)
                    self.happen(event)
            if not events and not is_over:
                is_over = True
                for client in self.clients.values():
                    (client.folder / "work" / OVER).touch()
            for name, client in self.clients.items():
                if client.process is not None and not client.runs():
                    self.ended_at.setdefault(name, time.monotonic())
            waits = [event for event in events if event.name == "start" and event.after == "start"]
            if len(self.ended_at) == sum(client.process is not None for client in self.clients.values()) and not waits:
                rested = rested or time.monotonic() + self.scenario.rest
                if time.monotonic() >= rested:
                    return
            time.sleep(TICK)

    def happen(self, event):
        self.notes.append(f"{time.monotonic() - self.begun:.3f} s: {event.name} {event.target}")
        if event.name in ("cut", "heal"):
            getattr(self.links[event.target], event.name)()
        elif event.name == "break":
            self.links[event.target].break_all()
        elif event.name in ("corrupt", "stall"):
            getattr(self.links[event.target], event.name)()
        elif event.name == "slow" and "share" not in event.settings:
            self.links[event.target].slow(event.settings.get("rate"), event.settings.get("delay"))
        else:
            for name, process in self.processes_of(event.target):
                self.do(event, name, process)

    def processes_of(self, actor):
        return [(process.name, process) for process in self.processes() if process.actor.name == actor]

    def do(self, event, name, process):
        if event.name == "start":
            if process.runs():
                return
            if isinstance(process, Worker):
                self.start_worker(process)
            else:
                self.start_client(name, process)
        elif event.name == "slow":
            process.slow(event.settings["share"])
        elif process.process is None:
            return
        elif event.name == "skew":
            process.skew(event.settings["by"])
        else:
            getattr(process, {"continue": "go_on"}.get(event.name, event.name))()

    def processes(self):
        return [*self.workers.values(), *self.clients.values()]

    def pids(self):
        known = parents()
        return [pid for process in self.processes() if process.runs() for pid in process.family(known)]

    def end(self):
        for process in self.processes():
            process.end()
        for link in self.links.values():
            link.end()


def perform(scenario, folder, tool, faults, alone):
    """Runs a scenario in a folder, and returns its record. All its processes have ended then. `alone`: this process
    has namespaces of its own."""
    experiment = Experiment(scenario, folder, tool, faults, alone)
    try:
        experiment.make()
        experiment.start_all()
        experiment.run()
        return aftermath.record_of(experiment, lambda: reference.of(tool, experiment.program, scenario.arguments))
    finally:
        experiment.end()
