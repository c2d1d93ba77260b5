# SPDX-License-Identifier: Apache-2.0
"""Lists the functions of libdhpvm.so that a short program executes, for the linker to place them side by side.

usage: startup_order.py BUILD > cmake/startup_order.txt
       startup_order.py --check LIBRARY

The kernel maps 64 KiB around each page of code that a process touches, so that functions which are spread over the
library cost a page fault and 64 KiB of resident memory each. The first form runs hello world under callgrind; it needs
Valgrind. The second fails if many of the listed names are not in the library any more. A name that is missing costs
nothing else: the linker ignores it. Names do not depend on the build's options, so that one list serves all.
"""

import bisect
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIST = Path(__file__).with_name("startup_order.txt")
HELLO = 'fn main() {\n    print("hello, world");\n}\n'
# The share of the names that may be missing before the list has to be made anew.
MOST_MISSING = 0.25


def functions(library):
    """Address and name of each function in C++, sorted."""
    output = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    return sorted((int(line[1], 16), line[2]) for line in re.finditer(r"^([0-9a-f]{16}) [tTwW] (_Z\S+)$", output, re.M))


def executed(profile, library):
    """The addresses inside `library` in a profile of callgrind, whose names and positions are compressed."""
    names = {}
    is_inside = False
    address = 0
    found = set()
    for line in profile.read_text().splitlines():
        if named := re.match(r"(c?)ob=\((\d+)\)(?: (.*))?", line):
            if named[3]:
                names[named[2]] = named[3]
            if not named[1]:
                is_inside = Path(names[named[2]]).name.startswith(library)
        elif position := re.match(r"(0x[0-9a-f]+|[+-]\d+|\*) ", line):
            if position[1].startswith("0x"):
                address = int(position[1], 16)
            elif position[1] != "*":
                address += int(position[1])
            if is_inside:
                found.add(address)
    return found


def make_list(build):
    library = build / "lib" / "libdhpvm.so"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "hello.dhp"
        source.write_text(HELLO)
        subprocess.run([build / "bin" / "dhpvmc", source], check=True)
        profile = Path(folder) / "profile"
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={profile}"]
        program = [build / "bin" / "dhpvm-run", source.with_suffix(".bc")]
        subprocess.run([*valgrind, *program], check=True, stdout=subprocess.DEVNULL)
        addresses = executed(profile, library.name)
    known = functions(library)
    begins = [begin for begin, _ in known]
    called = {known[max(bisect.bisect(begins, address) - 1, 0)][1] for address in addresses}
    return [name for _, name in known if name in called]


def check(library):
    listed = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    known = {name for _, name in functions(library)}
    missing = [name for name in listed if name not in known]
    print(f"{len(missing)} of {len(listed)} functions are not in {library} any more")
    if len(missing) > MOST_MISSING * len(listed):
        sys.exit("make cmake/startup_order.txt anew: cmake/startup_order.py says how")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        check(Path(sys.argv[2]))
    elif len(sys.argv) == 2 and Path(sys.argv[1]).is_dir():
        print("# Made by startup_order.py: the functions of libdhpvm.so that hello world executes.")
        print("\n".join(dict.fromkeys(make_list(Path(sys.argv[1])))))
    else:
        sys.exit(__doc__)
