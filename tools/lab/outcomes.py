# SPDX-License-Identifier: Apache-2.0
"""The possible outcomes of a client, and the check whether an outcome is right.

right    the interpreter's output and exit code
error    an error that says what has happened, with no output but the beginning of the right one
ended    an event has ended it, and what it had written until then was right
wrong    anything else that has ended
slow     it was still running when the scenario's time was over, on a machine too busy to tell why
hang     it was still running when the scenario's time was over
"""

import re
import signal

EXIT_USER, EXIT_TRAP = 2, 3
EXIT_NOT_LOADED = 127  # of the dynamic loader
WORDS = ("right", "error", "ended", "wrong", "slow", "hang")
UNTOLD = ("ended", "slow")  # outcomes that tell nothing about the product
# The fates of programs that lose their workers or their time, in the words of their messages.
EXPLAINED = re.compile(
    r"device (lost|failed)|deadline exceeded|interrupted|asked to stop|cannot reach|is not there|no worker|"
    r"Connection refused|"
    r"which is its limit|out of memory|too many open files|Too many open files|No space left|no sign of life|is gone"
)
NOT_LOADED = "error while loading shared libraries"
ENDINGS = ("kill", "interrupt", "terminate")


def explains(client, code):
    """Whether the error output tells why a client has ended with this code."""
    if code == EXIT_NOT_LOADED:  # Descriptors can be gone before its first instruction.
        return client.was_exhausted and NOT_LOADED in client.errors()
    return code in (EXIT_USER, EXIT_TRAP) and EXPLAINED.search(client.errors()) is not None


def outcome_of(scenario, client, code, reference):
    """An outcome, and its reason. `reference` runs the interpreter, and is not called if its output does not matter: a
    program may run for ever until an event ends it."""
    if code is None and client.is_stopped:
        return "ended", None
    if code is None and client.is_slow:
        return "slow", None
    if code is None:
        return "hang", f"still running after {scenario.within:g} s"
    out = client.out()
    asked = {event.name for event in scenario.events if event.target == client.actor.name and event.name in ENDINGS}
    was_ended = client.was_harmed and ("kill" in asked or code in (-signal.SIGINT, -signal.SIGTERM, EXIT_TRAP))
    says_why = explains(client, code)
    if out == "" and (was_ended or says_why):
        return ("ended" if was_ended else "error"), None
    expected = reference()
    if (code, out) == (expected.code, expected.out):
        return "right", None
    if code == expected.code:
        return "wrong", "another output, with the exit code of a run that went well"
    if not expected.out.startswith(out):
        return "wrong", f"wrong output before exit code {code}"
    if was_ended or says_why:
        return ("ended" if was_ended else "error"), None
    return "wrong", f"exit code {code}, which nothing explains"


def judge(scenario, client, code, reference):
    """The outcome of a client as a dictionary; `problem` is None if it is as it should be."""
    outcome, problem = outcome_of(scenario, client, code, reference)
    errors = client.errors()
    if problem is None and scenario.expected and outcome not in (*UNTOLD, *scenario.expected):
        problem = f"{outcome}, where {' or '.join(sorted(scenario.expected))} is expected"
    if problem is None and scenario.mention and outcome not in UNTOLD and not re.search(scenario.mention, errors):
        problem = f"its error output does not say '{scenario.mention}'"
    return {"outcome": outcome, "code": code, "problem": problem, "errors": errors}


def problems_of(worker, patterns):
    """The failures of a worker without an event; and the patterns that its log does not show."""
    log = worker.errors()
    missing = [
        f"{worker.name}: '{pattern}' is not in its log:\n{log}" for pattern in patterns if not re.search(pattern, log)
    ]
    if worker.process is None or worker.was_harmed or worker.was_exhausted:
        return missing
    found = missing + [
        f"{worker.name}: {line}"
        for line in log.splitlines()
        if re.search(r"\((crashed|killed)\)|error: a process that", line)
    ]
    if not worker.runs() and not any(option.startswith("--connect") for option in worker.actor.options):
        found.append(f"{worker.name} has ended by itself with code {worker.process.returncode}:\n{log}")
    return found
