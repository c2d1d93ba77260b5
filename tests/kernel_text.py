#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the OpenCL C and the PTX of the kernels in tests/kernels with the files beside them.

With --bless these are written anew, for a change that was meant.
"""

import argparse
import difflib
import os
import subprocess
import sys
from pathlib import Path

KERNELS = Path(__file__).resolve().parent / "kernels"
FORMS = {"opencl": ".cl", "ptx": ".ptx"}


def text_of(run, program, form):
    """The text of the program's kernel; None, with the problem printed, if the program fails."""
    # Nobody knows which toolkit is installed: without its library the texts are the same everywhere.
    environment = {**os.environ, "DHPVM_LIBDEVICE": "/nowhere/libdevice.10.bc"}
    command = [run, "--jit=eager", "--jit-wait", "--no-cache", "--device=host", f"--print-kernel={form}", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    if done.returncode == 0:
        return done.stderr
    print(f"{program} ended with exit code {done.returncode}:\n{done.stderr}")
    return None


def check(run, program, form, bless):
    """Whether the text is as expected."""
    expected_file = program.with_suffix(FORMS[form])
    text = text_of(run, program, form)
    if text is None:
        return False
    if bless:
        expected_file.write_text(text)
        return True
    expected = expected_file.read_text() if expected_file.exists() else ""
    if text == expected:
        return True
    lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), str(expected_file), "now", lineterm="")
    print("\n".join(lines))
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="the folder of dhpvm-run")
    parser.add_argument("--bless", action="store_true", help="take what there is now for what is right")
    options = parser.parse_args()
    run = options.bin.resolve() / "dhpvm-run"
    programs = sorted(KERNELS.glob("*.dhp"))
    checks = [(program, form) for program in programs for form in FORMS]
    failed = [f"{p.stem}{FORMS[form]}" for p, form in checks if not check(run, p, form, options.bless)]
    if failed:
        print(f"{len(failed)} of {len(checks)} texts are not what they were: {', '.join(failed)}")
        print(f"If that was meant: {Path(__file__).name} --bin {options.bin} --bless")
        return 1
    print(f"{len(checks)} texts {'written' if options.bless else 'are as expected'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
