#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dhpvm-lab: experiments with programs and workers whose machines and networks fail."""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import experiment
import leftovers
import reference
import report
import system
from patience import MOST
from random_scenario import Generator
from scenario import BadScenario, parse

EXIT_FOUND, EXIT_USER = 1, 2
GRACE = 240.0  # seconds beyond a scenario's own for everything around it, on a machine that is not busy


class Job:
    """A process that performs a scenario, and the folder in which it does."""

    def __init__(self, scenario, options, alone):
        self.scenario, self.options, self.alone = scenario, options, alone
        self.folder = Path(tempfile.mkdtemp(prefix="dhpvm-lab-"))
        self.begun = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self.inside()

    def inside(self):
        """Performs the scenario, and ends the process."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            system.end_with_parent(signal.SIGKILL)
            if self.alone:
                system.enter_namespaces()
                first = os.fork()
                if first != 0:
                    os.waitpid(first, 0)
                    os._exit(0)
                system.end_with_parent(signal.SIGKILL)
                system.settle()
            with open(self.folder / "record.json", "w", encoding="utf-8") as file:
                json.dump(self.perform(), file)
        finally:
            os._exit(0)

    def perform(self):
        try:
            return experiment.perform(self.scenario, self.folder, self.options.run, self.options.faults, self.alone)
        except Exception:
            return self.failed(traceback.format_exc())

    def failed(self, problem):
        return {
            "scenario": self.scenario.name,
            "seed": self.scenario.seed,
            "clients": {},
            "events": [],
            "problems": [problem],
        }

    def poll(self):
        """The record; None before there is one."""
        done, _ = os.waitpid(self.pid, os.WNOHANG)
        late = time.monotonic() - self.begun > MOST * (self.scenario.within + GRACE)
        if not done and not late:
            return None
        if not done:
            self.stop()
        path = self.folder / "record.json"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        record = json.loads(text) if text else self.failed("the experiment has not come to an end")
        record["wall"] = time.monotonic() - self.begun
        record["text"] = self.scenario.text
        self.put_away(record)
        return record

    def put_away(self, record):
        """Keeps the files of a failed experiment if --keep was given."""
        if report.is_bad(record) and self.options.keep:
            kept = self.options.keep / self.scenario.name
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.folder, kept, symlinks=True, ignore=shutil.ignore_patterns("cache", "temporary"))
            (kept / f"{self.scenario.name}.lab").write_text(self.scenario.text, encoding="utf-8")
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def scenarios_of(options):
    """All requested scenarios. Raises BadScenario, OSError."""
    found = []
    for path in options.scenarios:
        for file in sorted(path.glob("*.lab")) if path.is_dir() else [path]:
            scenario = parse(file.stem, file.read_text(encoding="utf-8"))
            if scenario.program is not None:
                scenario.program = str((file.parent / scenario.program).resolve(strict=True))
            found.append(scenario)
    for seed in range(options.seed, options.seed + options.random):
        program = options.seed + (seed - options.seed) % (options.programs or options.random)
        found.append(parse(f"random-{seed}", Generator(seed, program).text()))
    return found


def perform_all(scenarios, options, alone):
    """Yields a record for each, in the order in which they end."""
    waiting = list(reversed(scenarios))
    jobs = []
    try:
        while waiting or jobs:
            while waiting and len(jobs) < options.jobs:
                jobs.append(Job(waiting.pop(), options, alone))
            for job in list(jobs):
                record = job.poll()
                if record is not None:
                    jobs.remove(job)
                    yield record
            time.sleep(0.01)
    finally:
        for job in jobs:
            job.stop()
            shutil.rmtree(job.folder, ignore_errors=True)


def find(name, *places):
    """The first of the places that has the file; None if none has."""
    return next((place / name for place in places if (place / name).exists()), None)


def arguments():
    parser = argparse.ArgumentParser(
        prog="dhpvm-lab",
        description=__doc__.partition(": ")[2].capitalize(),
        epilog=(
            "Scenarios are described in docs/laboratory.md. Exit code 0: all is right; 1: something is wrong; "
            "2: the command line."
        ),
    )
    parser.add_argument(
        "scenarios", nargs="*", type=Path, metavar="SCENARIO", help="a file, or a folder of files *.lab"
    )
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random scenarios")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the first one's seed (default 1)")
    parser.add_argument(
        "--programs",
        type=int,
        metavar="N",
        help="random scenarios share N programs, which are compiled once (default: each has one of its own)",
    )
    parser.add_argument("--print", action="store_true", help="print the scenarios, and perform none")
    parser.add_argument(
        "--jobs",
        type=int,
        default=2 * (os.cpu_count() or 1),
        metavar="N",
        help="experiments at once (default: two for each processor)",
    )
    parser.add_argument(
        "--network",
        choices=("auto", "namespaces", "loopback"),
        default="auto",
        help="namespaces, where they may be made, or this machine's own loopback",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=leftovers.PATIENCE,
        metavar="SECONDS",
        help="how long what is to end after a scenario may take (default %(default)g)",
    )
    parser.add_argument(
        "--bin", type=Path, metavar="DIR", help="the folder of dhpvm-run (default: next to this program)"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep files of experiments that have failed there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome there")
    parser.add_argument("--verbose", action="store_true", help="a line for each scenario, whatever came of it")
    options = parser.parse_args()
    here = options.bin or Path(sys.argv[0]).absolute().parent
    path = shutil.which("dhpvm-run")
    options.run = find("dhpvm-run", here, *([Path(path).parent] if path else []))
    if options.run is None:
        parser.error("there is no dhpvm-run: name its folder with --bin")
    options.run = options.run.resolve()
    libraries = options.run.parent.parent / "lib"
    options.faults = find("libdhpvm_lab_faults.so", libraries, libraries / "dhpvm", *libraries.glob("*/dhpvm"))
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    return options


def choose_network(options):
    """Whether each experiment has namespaces of its own."""
    if options.network == "loopback":
        return False
    allowed = system.namespaces_are_allowed()
    if options.network == "namespaces" and not allowed:
        sys.exit("dhpvm-lab: this user may make no namespaces here")
    return allowed


def main():
    options = arguments()
    # Ending it by either leaves nothing behind.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(EXIT_FOUND))
    try:
        scenarios = scenarios_of(options)
    except (BadScenario, OSError) as problem:
        print(f"dhpvm-lab: {problem}", file=sys.stderr)
        return EXIT_USER
    if options.print:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        print("\n".join(f"# {scenario.name}\n{scenario.text}" for scenario in scenarios))
        return 0
    alone = choose_network(options)
    leftovers.PATIENCE = options.patience
    summary = report.Summary(options)
    with tempfile.TemporaryDirectory(prefix="dhpvm-lab-") as folder:
        os.environ[reference.FOLDER] = folder
        doable = summary.without_impossible(scenarios, alone)
        for record in perform_all(doable, options, alone):
            summary.take(record)
    return EXIT_FOUND if summary.tell() else 0


if __name__ == "__main__":
    sys.exit(main())
