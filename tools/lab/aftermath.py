# SPDX-License-Identifier: Apache-2.0
"""The outcome of an experiment whose clients have ended: their outcomes, and whether its workers serve, end, and leave
nothing behind."""

import time

import leftovers
import outcomes
from links import Cable, Proxy
from patience import states_of
from processes import Process
from scenario import Actor

# A worker must be able to serve this program at the end.
PROBE = """
fn main() {
    let x = [i64](20_000);
    parallel for i in 0..x.len { x[i] = i * 3 + 1; }
    var sum = 0;
    for i in 0..x.len { sum += x[i]; }
    print(sum);
}
"""
ATTEMPTS = 3
PROBED = f"{sum(i * 3 + 1 for i in range(20_000))}\n"


def record_of(experiment, reference):
    """A dictionary, for --json: outcomes of clients, events as they happened, problems. `reference` runs the
    interpreter."""
    scenario = experiment.scenario
    clients = {
        name: client_of(experiment, name, client, reference)
        for name, client in experiment.clients.items()
        if client.process is not None
    }
    return {
        "scenario": scenario.name,
        "seed": scenario.seed,
        "clients": clients,
        "events": experiment.notes,
        "problems": problems_of(experiment),
        "freed": experiment.freed,
    }


def client_of(experiment, name, client, reference):
    has_ended = name in experiment.ended_at
    states = None
    if not has_ended:
        states = states_of(client.family())
        client.end()
    client.is_slow = not has_ended and experiment.patience.is_exhausted()
    verdict = outcomes.judge(experiment.scenario, client, client.process.returncode if has_ended else None, reference)
    if verdict["outcome"] == "hang":
        verdict["problem"] += f"\n{states}"
    seconds = experiment.ended_at.get(name, time.monotonic()) - experiment.started_at[name]
    return verdict | {"seconds": seconds}


def problems_of(experiment):
    """Undoes the events, and lists failures of workers and leftovers."""
    ended = max(experiment.ended_at.values(), default=time.monotonic())
    links = experiment.links.values()
    workers = experiment.workers.values()
    for link in links:
        link.heal()
    for process in experiment.processes():
        process.release()
    found = []
    for worker in workers:
        found += outcomes.problems_of(worker, experiment.scenario.logged.get(worker.name, []))
    for worker in workers:
        if worker.runs() and worker.is_ready() and not worker.is_ending:
            left = leftovers.of_sessions(worker)
            experiment.freed[worker.name] = time.monotonic() - ended
            found += left or probe(experiment, worker)
    for worker in workers:
        if worker.process is not None:
            found += leftovers.of_ending(worker)
    for link in links:
        if isinstance(link, Proxy):
            link.end()
    machines = [link.machine.pid for link in links if isinstance(link, Cable)]
    found += leftovers.of_processes(machines, experiment.alone)
    if experiment.alone:
        found += leftovers.of_machine(machines)
    for process in experiment.processes():
        found += leftovers.of_files(process)
    return found


def probe(experiment, worker):
    """The problems of a worker that does not serve another client. On a busy machine one client may be late."""
    found = []
    for number in range(ATTEMPTS):
        found = serve(experiment, worker, f"probe-{worker.name}-{number}")
        if not found:
            return leftovers.of_sessions(worker)
    return found


def serve(experiment, worker, name):
    path = experiment.folder / f"{name}.dhp"
    path.write_text(PROBE, encoding="utf-8")
    client = Process(Actor(name, [], is_worker=False), name, experiment.folder, None)
    client.start(
        [experiment.tool, *experiment.security([]), "--explain-offload", f"--device=remote/{worker.address}", str(path)]
    )
    leftovers.wait(lambda: not client.runs(), lambda: client.family() + worker.family())
    code = client.process.returncode
    client.end()
    if (code, client.out()) != (0, PROBED) or "ran on remote/" not in client.errors():
        return [f"{worker.name} does not serve another client: code {code}, {client.out()!r}, {client.errors()}"]
    return leftovers.of_files(client)
