#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the corpus where the native code generator is not there: the programs and their library, copied without it.

A build without LLVM (DHPVM_CODEGEN=OFF) compiles the same files to the same programs; what it lacks is this library.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import run_programs


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run and dhpvmc")
    parser.add_argument("--every", default="1", help="run every Nth program only (default 1: all)")
    parser.add_argument("paths", nargs="*", help="programs or folders (default: tests/programs)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dhpvm-without-codegen-") as folder:
        copy = Path(folder)
        (copy / "bin").mkdir()
        (copy / "lib").mkdir()
        for program in ("dhpvm-run", "dhpvmc"):
            shutil.copy2(options.bin / program, copy / "bin")
        for library in (options.bin.parent / "lib").glob("libdhpvm.so*"):
            shutil.copy2(library, copy / "lib", follow_symlinks=False)
        linked = subprocess.run(["ldd", copy / "bin/dhpvm-run"], capture_output=True, text=True, check=True).stdout
        if f"=> {copy}/" not in linked:
            print(f"FAILED: dhpvm-run takes another library than the copy:\n{linked}")
            return 1
        choice = ["--executor", "bytecode", "--every", options.every]
        return run_programs.main(["--bin", str(copy / "bin"), *choice, *options.paths])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
