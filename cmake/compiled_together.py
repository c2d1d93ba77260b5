# SPDX-License-Identifier: Apache-2.0
"""Says which source files are compiled together in a build from nothing.

usage: compiled_together.py ROOT

DHPVM_ONE_GO includes several files of a room into one that is compiled. Names in an unnamed namespace of one file, and
those that it takes from another namespace, are then seen by the next file: two of them must not use a name for two
things, nor one that a header of the other declares in their namespace or around it. Prints `PATH=GROUP`, one file a
line: a file goes into the first group of its room that has room for it and no such name.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

INCLUDED = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# In a group. 24 take 15 % less processor time than 8 in compiler/check; 16 leave enough units for two processors.
MOST_FILES = 16

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from check_house import room_of, sources  # noqa: E402
from type_names import declarations  # noqa: E402


def declared(path):
    """The declarations of the file in namespaces: namespace, name, origin, and whether no other file sees it."""
    for scopes, name, origin, is_static in declarations(path.read_text(encoding="utf-8", errors="replace")):
        hidden = is_static or origin is not None or "" in scopes
        yield "::".join(scope for scope in scopes if scope), name, origin, hidden


def enclosing(namespace):
    """This namespace and all around it."""
    while namespace:
        yield namespace
        namespace = namespace.rpartition("::")[0]
    yield ""


class Unit:
    """A source file, with the names that it keeps for itself and the headers of the project that it reads."""

    def __init__(self, path, names, headers):
        self.path = path
        self.names = names  # by namespace and name: where the file takes it from; None for its own
        self.headers = headers


def headers_of(root, path, known):
    """The headers of the project that the file includes, directly or not. `known` keeps the answers."""
    if path not in known:
        known[path] = set()
        for name in INCLUDED.findall((root / path).read_text(encoding="utf-8", errors="replace")):
            for header in (Path(name), Path("include", name)):
                if (root / header).is_file():
                    known[path] |= {header} | headers_of(root, header, known)
    return known[path]


def clashes(unit, other, declares):
    """Whether the names that `unit` keeps for itself mean something else in `other`."""
    for (namespace, name), origin in unit.names.items():
        if (namespace, name) in other.names and (origin is None or other.names[namespace, name] != origin):
            return True
        for outer in enclosing(namespace):
            if declares.get((outer, name), set()) & other.headers:
                return True
    return False


def compiled_together(root):
    files = sources(root)
    declares = defaultdict(set)  # by namespace and name: the headers that declare it
    for path in files:
        if path.suffix == ".h":
            for namespace, name, _, _ in declared(root / path):
                declares[namespace, name].add(path)
    known = {}
    groups = defaultdict(list)  # by room, and whether of its tests
    for path in files:
        if path.suffix != ".cpp":
            continue
        names = {(ns, name): origin for ns, name, origin, hidden in declared(root / path) if hidden}
        unit = Unit(path, names, headers_of(root, path, known))
        room = groups[room_of(path.as_posix()), path.stem.endswith("_test")]
        for number, group in enumerate(room):
            apart = any(clashes(unit, other, declares) or clashes(other, unit, declares) for other in group)
            if len(group) < MOST_FILES and not apart:
                break
        else:
            number, group = len(room), []
            room.append(group)
        group.append(unit)
        yield path, number


if __name__ == "__main__":
    for source, number in compiled_together(Path(sys.argv[1])):
        print(f"{source.as_posix()}={number}")
