#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that libdhpvm.so exports the public API and nothing of the libraries it is built from.

usage: check_exports.py NM LIBRARY
"""

import re
import subprocess
import sys

ALLOWED = re.compile(r"^(dhpvm::|dhpvm_|(vtable|typeinfo|typeinfo name) for dhpvm::)")
# Rooms are inside: their namespaces must not show.
INTERNAL = re.compile(r"\bdhpvm::(base|bytecode|gc|vm|compiler|codegen|offload|stdlib)::")
# The linker's own marks.
LINKER = {"_init", "_fini", "__bss_start", "_edata", "_end"}


def problems_of(symbols):
    for symbol in symbols:
        name = symbol.strip()
        if name in LINKER:
            continue
        if not ALLOWED.match(name):
            yield f"exports a symbol that is not the API's: {name}"
        elif INTERNAL.search(name.split("(")[0]):
            yield f"exports an internal symbol: {name}"


def main():
    nm, library = sys.argv[1:]
    listing = subprocess.run([nm, "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = [line.split(" ", 2)[2] for line in listing.splitlines()]
    exported = [symbol for symbol in symbols if symbol not in LINKER]
    problems = list(problems_of(symbols))
    if not exported:
        problems.append("exports nothing: the public API is missing")
    print("\n".join(problems))
    print(f"{len(exported)} exported symbols, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
