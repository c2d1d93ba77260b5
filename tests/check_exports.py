#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that libdhpvm.so exports the public API and nothing of the libraries it is built from, and that the functions
of the C interface are those of its header, each with a version.

usage: check_exports.py NM LIBRARY HEADER
"""

import re
import subprocess
import sys
from pathlib import Path

# As the linker sees them: not every nm writes the names of versioned symbols as C++ has them.
ALLOWED = re.compile(r"^(dhpvm_|_ZNK?5dhpvm|_ZT[VIS]N5dhpvm)")
# Rooms are inside: their namespaces must not show.
ROOMS = ("base", "bytecode", "gc", "vm", "compiler", "codegen", "offload", "stdlib")
INTERNAL = re.compile(r"^_Z(T[VIS])?NK?5dhpvm(" + "|".join(f"{len(room)}{room}" for room in ROOMS) + ")")
# The linker's own marks, and those of versions.
VERSION = re.compile(r"^DHPVM_(C_[0-9]+|CPP)$")
C_FUNCTION = re.compile(r"^(dhpvm_\w+)(@@DHPVM_C_[0-9]+)?$")
LINKER = {"_init", "_fini", "__bss_start", "_edata", "_end"}


def problems_of(symbols):
    for symbol in symbols:
        name = symbol.strip()
        if name in LINKER or VERSION.match(name.partition("@")[0]):
            continue
        if not ALLOWED.match(name):
            yield f"exports a symbol that is not the API's: {name}"
        elif INTERNAL.match(name):
            yield f"exports an internal symbol: {name}"


def c_functions(header):
    """The functions that a header of C declares."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    return set(re.findall(r"DHPVM_C_API[^;(]*?\b(dhpvm_\w+)\(", text))


def c_problems(symbols, declared):
    exported = {}
    for symbol in symbols:
        if match := C_FUNCTION.match(symbol.strip()):
            exported[match[1]] = match[2]
    yield from (f"declares a function that is not exported: {name}" for name in sorted(declared - exported.keys()))
    yield from (f"exports a function that no header declares: {name}" for name in sorted(exported.keys() - declared))
    yield from (f"exports a function without a version: {name}" for name, version in exported.items() if not version)


def main():
    nm, library, header = sys.argv[1:]
    listing = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = [line.split(" ", 2)[2] for line in listing.splitlines()]
    exported = [symbol for symbol in symbols if symbol not in LINKER]
    problems = list(problems_of(symbols))
    problems += c_problems(symbols, c_functions(Path(header).read_text(encoding="utf-8")))
    if not exported:
        problems.append("exports nothing: the public API is missing")
    print("\n".join(problems))
    print(f"{len(exported)} exported symbols, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
