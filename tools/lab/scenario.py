# SPDX-License-Identifier: Apache-2.0
"""A scenario: the processes of an experiment, the network between them, and the events; and its text form.

docs/laboratory.md describes the text. A line is a statement; its words are split as a shell splits them, and `#` begins
a comment.
"""

import re
import shlex
from dataclasses import dataclass, field

EVENTS = (
    "start",
    "kill",
    "interrupt",
    "terminate",
    "stop",
    "continue",
    "crash",
    "cut",
    "heal",
    "break",
    "corrupt",
    "stall",
    "slow",
    "fill",
    "free",
    "exhaust",
    "restore",
    "skew",
)
OF_LINKS = ("cut", "heal", "break", "corrupt", "stall")
OF_WORKERS = ("crash", "fill", "free")
OUTCOMES = ("right", "error")
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
NAME = re.compile(r"[a-z][a-z0-9-]*")


class BadScenario(Exception):
    """The text is no scenario; the message says why."""


def seconds(text):
    """Seconds of a time such as 250ms, 1.5s, -2h."""
    match = re.fullmatch(r"([+-]?\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if not match:
        raise BadScenario(f"'{text}' is no time: 250ms, 1.5s")
    return float(match[1]) * UNITS[match[2]]


def bytes_per_second(text):
    """Bytes per second of a rate such as 10Mbit or 500kbit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG])bit", text)
    if not match:
        raise BadScenario(f"'{text}' is no rate: 500kbit, 10Mbit, 1Gbit")
    return float(match[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[match[2]] / 8


def share(text):
    value = float(text) if re.fullmatch(r"\d*\.?\d+", text) else 0
    if not 0 < value <= 1:
        raise BadScenario(f"'{text}' is no share of a processor: 0.1, at most 1")
    return value


def count(text):
    if not re.fullmatch(r"[1-9]\d*", text):
        raise BadScenario(f"'{text}' is no number")
    return int(text)


SETTINGS = {"rate": bytes_per_second, "delay": seconds, "share": share, "count": count, "by": seconds}


def settings(words, allowed):
    """A dictionary of what NAME=VALUE words say; `allowed` are the names."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in allowed:
            raise BadScenario(
                f"'{word}' is not understood here: only {', '.join(each + '=' for each in allowed) or 'nothing'}"
            )
        found[name] = SETTINGS[name](value)
    return found


@dataclass
class Actor:
    """A process that takes part: a worker, or a client, which may be several."""

    name: str
    options: list[str]  # of dhpvm-run; {NAME} is the address of a worker, or of a client where workers dial in
    is_worker: bool
    late: bool = False  # an event starts it
    share: float = 1.0
    count: int = 1


@dataclass
class Link:
    """The link to a worker. Without `rate`, it is as fast as the machine."""

    rate: float | None = None
    delay: float = 0.0
    by_proxy: bool = False


@dataclass
class Event:
    after: str  # what it counts from: start, session or kernel
    at: float
    name: str
    target: str
    settings: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.name} {self.target} at {self.after} + {self.at * 1000:.0f} ms"


class Scenario:
    """The contents of its statements."""

    def __init__(self, name):
        self.name = name
        self.seed = 1
        self.program = None  # the path of a source or bytecode; None: random loops
        self.arguments = []
        self.key = False
        self.within = 30.0
        self.rest = 0.0  # between the end of the last client and the search for what is left
        self.actors = {}
        self.links = {}
        self.events = []
        self.expected = set()  # outcomes; empty: any of OUTCOMES
        self.mention = None  # what the error output of clients contains
        self.logged = {}  # patterns that must be in the log of a worker
        self.text = ""

    def clients(self):
        return [actor for actor in self.actors.values() if not actor.is_worker]

    def workers(self):
        return [actor for actor in self.actors.values() if actor.is_worker]

    # Statements.

    def take(self, words):
        handler = getattr(self, "take_" + words[0], None)
        if handler is None:
            raise BadScenario(f"'{words[0]}' begins no statement")
        handler(words[1:])

    def take_seed(self, words):
        self.seed = count(self.only(words))

    def take_program(self, words):
        if not words:
            raise BadScenario("program random, or program FILE [ARGUMENT...]")
        self.program = None if words[0] == "random" else words[0]
        self.arguments = words[1:]

    def take_key(self, words):
        if words:
            raise BadScenario("'key' stands alone")
        self.key = True

    def take_within(self, words):
        self.within = seconds(self.only(words))

    def take_rest(self, words):
        self.rest = seconds(self.only(words))

    def take_log(self, words):
        if len(words) != 2 or words[0] not in self.actors:
            raise BadScenario("log WORKER PATTERN")
        self.logged.setdefault(words[0], []).append(words[1])

    def take_worker(self, words):
        self.add_actor(words, True, ("share",))

    def take_client(self, words):
        self.add_actor(words, False, ("share", "count"))

    def take_link(self, words):
        name, *words = words or [""]
        link = Link(by_proxy="proxy" in words)
        for key, value in settings([word for word in words if word != "proxy"], ("rate", "delay")).items():
            setattr(link, key, value)
        if name not in self.actors or not self.actors[name].is_worker:
            raise BadScenario(f"there is no worker '{name}' above")
        self.links[name] = link

    def take_at(self, words):
        if len(words) < 3:
            raise BadScenario("at TIME EVENT NAME")
        moment, name, target, *words = words
        after, plus, time = moment.partition("+")
        if after not in ("session", "kernel"):
            after, plus, time = "start", "+", moment
        if name not in EVENTS:
            raise BadScenario(f"'{name}' is no event; events are {', '.join(EVENTS)}")
        actor = self.actors.get(target)
        if actor is None:
            raise BadScenario(f"there is no worker or client '{target}' above")
        if name in OF_LINKS and target not in self.links:
            raise BadScenario(f"'{name}' needs a link: link {target}")
        if name in ("break", "corrupt", "stall") and not self.links[target].by_proxy:
            raise BadScenario(f"'{name}' needs a proxy: link {target} proxy")
        if name in OF_WORKERS and not actor.is_worker:
            raise BadScenario(f"'{name}' is for workers")
        allowed = {"slow": ("rate", "delay", "share"), "skew": ("by",)}.get(name, ())
        found = settings(words, allowed)
        if allowed and not found:
            raise BadScenario(f"'{name}' needs one of {', '.join(f'{each}=' for each in allowed)}")
        self.events.append(Event(after, seconds(time) if plus else 0.0, name, target, found))

    def take_expect(self, words):
        self.expected = {word for word in words if word in OUTCOMES}
        texts = [word for word in words if word not in OUTCOMES]
        if len(texts) > 1 or not words:
            raise BadScenario("expect right|error... ['TEXT OF THE ERROR OUTPUT']")
        self.mention = texts[0] if texts else None

    @staticmethod
    def only(words):
        if len(words) != 1:
            raise BadScenario("one word is expected here")
        return words[0]

    def add_actor(self, words, is_worker, allowed):
        name, *words = words or [""]
        if not NAME.fullmatch(name):
            raise BadScenario(f"'{name}' is no name: small letters, digits and '-'")
        if name in self.actors:
            raise BadScenario(f"there are two '{name}'")
        options = [word for word in words if word.startswith("-")]
        own = [word for word in words if not word.startswith("-") and word != "late"]
        self.actors[name] = Actor(name, options, is_worker, late="late" in words, **settings(own, allowed))


def parse(name, text):
    """The scenario of a text. Raises BadScenario."""
    scenario = Scenario(name)
    scenario.text = text
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
            if words:
                scenario.take(words)
        except (BadScenario, ValueError) as problem:
            raise BadScenario(f"{name}:{number}: {problem}") from problem
    if not scenario.clients():
        raise BadScenario(f"{name}: there is no client")
    return scenario
