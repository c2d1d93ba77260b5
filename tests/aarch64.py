#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs on AArch64, by QEMU, and programs whose workers are of the other architecture.

usage: aarch64.py --bin BIN_DIR --native BIN_DIR --sysroot DIR [--every N] [--jobs N] [--seed N] [PART...]

`--bin` has the programs for AArch64, with the libraries of `--sysroot`, and `--native` those for this machine. Parts:
  interpreter   the corpus, interpreted
  compiled      the corpus, compiled before it runs
  same          random programs: both interpreters print the same
  worker        the corpus on this machine, its loops on a worker of AArch64
  client        the corpus on AArch64, its loops on a worker of this machine

Linux starts the programs by binfmt_misc, so that a worker can start the processes of its sessions. From Linux 6.7 on
each user namespace has its own, which ends with this script; before, the system's must know QEMU (Debian's package
qemu-user-static).
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import random_blocks
import random_nests
import random_records
import random_values
import run_programs

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools" / "lab"))
import random_loops
import system

BINFMT = Path("/proc/sys/fs/binfmt_misc")
# ELF of 64 bits, little-endian, a program or shared object, for AArch64. F: opened now, and so found from anywhere.
RULE = (
    r":dhpvm-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"
    r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:F"
)
PARTS = ("interpreter", "compiled", "same", "worker", "client")
TIMEOUT = 600  # seconds; QEMU takes ten to thirty times as long
RANDOM_PROGRAMS = 24
KINDS = (random_nests.Program, random_blocks.Program, random_records.Program, random_values.Program)


def enter_namespace(emulator):
    """From now on this process starts programs for AArch64 by the emulator. Raises OSError where it may not."""
    user, group = os.geteuid(), os.getegid()
    system.unshare(system.NEW_USER | system.NEW_MOUNTS)
    Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="utf-8")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="utf-8")
    system.mount("none", BINFMT, "binfmt_misc", 0)
    (BINFMT / "register").write_text(RULE % emulator, encoding="ascii")


def starts(tool):
    try:
        return subprocess.run([tool, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


class Parts:
    """The programs that run, and their options."""

    def __init__(self, options):
        self.options = options
        self.has_codegen = any((options.bin.parent / "lib").glob("libdhpvm_codegen*"))

    def corpus(self, executor, tools, worker=None):
        words = ["--bin", str(tools), "--executor", executor, "--jobs", str(self.options.jobs)]
        words += ["--every", str(self.options.every), "--timeout", str(TIMEOUT)]
        return run_programs.main([*words, *(["--worker-bin", str(worker)] if worker else [])])

    def interpreter(self):
        return self.corpus("interpreter", self.options.bin)

    def compiled(self):
        return self.corpus("jit", self.options.bin)

    def worker(self):
        return self.corpus("device-remote", self.options.native, self.options.bin)

    def client(self):
        return self.corpus("device-remote", self.options.bin, self.options.native)

    def same(self):
        with tempfile.TemporaryDirectory(prefix="dhpvm-aarch64-") as folder:
            sources = []
            for seed in range(self.options.seed, self.options.seed + RANDOM_PROGRAMS):
                sources.append(Path(folder) / f"random-{seed}.dhp")
                sources[-1].write_text(source(seed), encoding="utf-8")
            with ThreadPoolExecutor(max_workers=self.options.jobs) as pool:
                found = list(pool.map(self.compare, sources))
            for path, problem in zip(sources, found):
                if problem:
                    print(f"FAILED {path.name}: {problem}\n{path.read_text(encoding='utf-8')}")
        wrong = sum(problem is not None for problem in found)
        print(f"{len(found) - wrong} the same, {wrong} not")
        return int(wrong > 0)

    def compare(self, path):
        """The difference; None if there is none."""
        native, other = (
            subprocess.run(
                [tools / "dhpvm-run", "--jit=off", "--device=host", path],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
            for tools in (self.options.native, self.options.bin)
        )
        if native.returncode != other.returncode:
            return f"exit code {other.returncode}, not {native.returncode}\n{other.stderr}"
        if native.stdout != other.stdout:
            lines = zip(native.stdout.splitlines(), other.stdout.splitlines())
            return "\n".join(f"{theirs}, not {ours}" for ours, theirs in lines if ours != theirs)
        return None if native.stderr == other.stderr else f"{other.stderr}, not\n{native.stderr}"


def source(seed):
    kinds = (*KINDS, random_loops.Program)
    kind = kinds[seed % len(kinds)]
    made = kind(seed, patient=False) if kind is random_loops.Program else kind(seed)
    return made.source()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--bin", type=Path, required=True, help="the folder of dhpvm-run for AArch64")
    parser.add_argument("--native", type=Path, required=True, help="that of dhpvm-run for this machine")
    parser.add_argument("--sysroot", type=Path, required=True, help="the libraries for AArch64")
    parser.add_argument("--emulator", type=Path, default=Path("/usr/bin/qemu-aarch64"))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth program of the corpus only")
    parser.add_argument("--seed", type=int, default=1, help="of the first random program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part '{part}'")
    return options


def main():
    options = parse_arguments()
    options.bin, options.native = options.bin.resolve(), options.native.resolve()
    os.environ["QEMU_LD_PREFIX"] = str(options.sysroot.resolve())
    try:
        enter_namespace(options.emulator)
    except OSError as problem:
        if not starts(options.bin / "dhpvm-run"):
            print(f"skipped: the system starts no programs for AArch64, and lets no user say how: {problem}")
            return run_programs.EXIT_SKIPPED
    parts = Parts(options)
    failed = []
    for name in options.parts or PARTS:
        if not parts.has_codegen and name not in ("interpreter", "same"):
            print(f"SKIP {name}: this build compiles no programs, and so serves and compiles no loops")
            continue
        print(f"---- {name}", flush=True)
        if getattr(parts, name)() != 0:
            failed.append(name)
    print(f"FAILED: {', '.join(failed)}" if failed else "all is right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
