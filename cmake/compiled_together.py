# SPDX-License-Identifier: Apache-2.0
"""Says which source files are compiled together in a build from nothing.

usage: compiled_together.py ROOT LIST

DHPVM_ONE_GO includes several files of a target into one that is compiled. Names in an unnamed namespace of one file,
and those that it takes from another namespace, are then seen by the next file: two of them must not use a name for two
things, nor one that a header of the other declares in their namespace or around it. LIST has a line
`FOLDER=TARGET=PATH` for each source file of each target, where FOLDER is that of the CMakeLists.txt. Prints
`FOLDER=PATH=GROUP`, one file a line: files of the same targets share a group where no name keeps them apart.
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

from check_house import sources  # noqa: E402
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


def grouped(units, declares):
    """The units in groups without a clash. Those that clash with most others choose first, which makes fewer groups."""
    apart = {unit: set() for unit in units}
    for at, unit in enumerate(units):
        for other in units[:at]:
            if clashes(unit, other, declares) or clashes(other, unit, declares):
                apart[unit].add(other)
                apart[other].add(unit)
    groups = []
    for unit in sorted(units, key=lambda unit: (-len(apart[unit]), unit.path)):
        group = next((group for group in groups if len(group) < MOST_FILES and not apart[unit] & set(group)), None)
        if group is None:
            group = []
            groups.append(group)
        group.append(unit)
    return groups


def compiled_together(root, listed):
    """The folder, path and group of each source file of `listed`, which names folder, target and path."""
    targets = defaultdict(set)  # by folder and path
    for folder, target, path in listed:
        targets[folder, path].add(target)
    declares = defaultdict(set)  # by namespace and name: the headers that declare it
    for path in sources(root):
        if path.suffix == ".h":
            for namespace, name, _, _ in declared(root / path):
                declares[namespace, name].add(path)
    known = {}
    alike = defaultdict(list)  # by folder and targets
    for (folder, path), names_of_targets in sorted(targets.items()):
        names = {(ns, name): origin for ns, name, origin, hidden in declared(root / path) if hidden}
        unit = Unit(path, names, headers_of(root, path, known))
        alike[folder, frozenset(names_of_targets)].append(unit)
    numbers = defaultdict(int)  # of the groups of a folder
    for (folder, _), units in alike.items():
        for group in grouped(units, declares):
            for unit in group:
                yield folder, unit.path, numbers[folder]
            numbers[folder] += 1


if __name__ == "__main__":
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    listed_sources = [(folder, target, Path(path)) for folder, target, path in (line.split("=") for line in lines)]
    for its_folder, source, number in compiled_together(Path(sys.argv[1]), listed_sources):
        print(f"{its_folder}={source.as_posix()}={number}")
