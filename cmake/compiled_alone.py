# SPDX-License-Identifier: Apache-2.0
"""Names the source files that cannot be compiled together with others of their room.

usage: compiled_alone.py ROOT

DHPVM_ONE_GO includes several files of a room into one that is compiled. Names in an unnamed namespace of one file, and
those that it takes from another namespace, are then seen by the next file: two of them must not use a name for two
things, nor a name that a header declares in their namespace or around it. Prints the paths of files that do, one a
line; the first file with a name is not among them.
"""

import sys
from collections import defaultdict
from pathlib import Path

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


def clashes(own, others):
    """Whether two files mean different things by one name."""
    return any(key in others and (origin is None or others[key] != origin) for key, origin in own.items())


def compiled_alone(root):
    files = sources(root)
    seen = defaultdict(set)  # namespace and name: the headers that declare it
    for path in files:
        if path.suffix == ".h":
            for namespace, name, _, _ in declared(root / path):
                seen[namespace, name].add(path.with_suffix("").as_posix())
    taken = defaultdict(dict)  # room, and whether of its tests: the names of files so far
    for path in files:
        if path.suffix != ".cpp":
            continue
        # A file defines what its own header declares.
        own = {(ns, name): origin for ns, name, origin, hidden in declared(root / path) if hidden}
        group = taken[room_of(path.as_posix()), path.stem.endswith("_test")]
        headers = {header for namespace, name in own for outer in enclosing(namespace) for header in seen[outer, name]}
        if headers - {path.with_suffix("").as_posix()} or clashes(own, group):
            yield path
        else:
            group.update(own)


if __name__ == "__main__":
    for alone in compiled_alone(Path(sys.argv[1])):
        print(alone.as_posix())
