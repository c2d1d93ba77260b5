#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that libdhpvm.so exports the public API and nothing of the libraries it is built from, that its symbols of C++
carry the version of the headers, and that the functions of the C interface are those of its header, with versions.

usage: check_exports.py NM LIBRARY HEADER
"""

import re
import subprocess
import sys
from pathlib import Path

DHPVM = re.compile(r"^_Z(T[VIS])?NK?5dhpvm")
# The linker's own marks, and those of versions.
VERSION = re.compile(r"^DHPVM_(C_[0-9]+|CPP)$")
C_FUNCTION = re.compile(r"^(dhpvm_\w+)(@@DHPVM_C_[0-9]+)?$")
LINKER = {"_init", "_fini", "__bss_start", "_edata", "_end"}


def api_names(version_header):
    """The C++ API lives in an inline namespace of its version; the rooms, and what they share, must not show."""
    number = {name: re.search(rf"define DHPVM_VERSION_{name} (\d+)", version_header)[1] for name in ("MAJOR", "MINOR")}
    namespace = f"v{number['MAJOR']}_{number['MINOR']}"
    # As the linker sees them: not every nm writes the names of versioned symbols as C++ has them.
    return re.compile(DHPVM.pattern + f"{len(namespace)}{namespace}")


def problems_of(symbols, api):
    for symbol in symbols:
        name = symbol.strip()
        if name in LINKER or VERSION.match(name.partition("@")[0]):
            continue
        if DHPVM.match(name):
            if not api.match(name):
                yield f"exports a symbol outside of the API's inline namespace: {name}"
        elif not name.startswith("dhpvm_"):
            yield f"exports a symbol that is not the API's: {name}"
    if not any(api.match(symbol.strip()) for symbol in symbols):
        yield f"exports no symbol that matches {api.pattern}"


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
    api = api_names(Path(header).with_name("version.h").read_text(encoding="utf-8"))
    problems = list(problems_of(symbols, api))
    problems += c_problems(symbols, c_functions(Path(header).read_text(encoding="utf-8")))
    if not exported:
        problems.append("exports nothing: the public API is missing")
    print("\n".join(problems))
    print(f"{len(exported)} exported symbols, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
