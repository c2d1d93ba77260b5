#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what NVIDIA's ptxas says about the kernels of some loops with the table in docs/gpu-kernels.md.

It is a mistake if a kernel needs more registers, spilled bytes, shared memory or instructions than there. --bless
writes the table anew, with what nvcc makes of the same loops in gpu/twins.cu, if it is there. No GPU is needed.
"""

import argparse
import re
import struct
import subprocess
import sys
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path

from ptx_check import EXIT_SKIPPED, find_ptxas, kernels_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "gpu-kernels.md"
PROCESSOR = "sm_80"
BENCH = ROOT / "bench" / "programs" / "kernels"
OWN = ROOT / "tests" / "gpu" / "structs.dhp"
# The loop's name, which that of its twin is, too; its program, with arguments; its number among the loops that run.
LOOPS = [
    ("sgemm", BENCH / "sgemm.dhp", ["64"], 1),
    ("dgemm", BENCH / "dgemm.dhp", ["64"], 1),
    ("matmul_nt", BENCH / "matmul_nt.dhp", ["64"], 1),
    ("row_sums", BENCH / "row_sums.dhp", ["64"], 1),
    ("transpose", BENCH / "transpose.dhp", ["64"], 1),
    ("saxpy", BENCH / "saxpy.dhp", ["64"], 1),
    ("stencil3d", BENCH / "stencil3d.dhp", ["24"], 1),
    ("convolution2d", BENCH / "convolution2d.dhp", ["64"], 1),
    ("remainders", OWN, [], 0),
    ("moments", OWN, [], 1),
]
RELEASE = re.compile(r"release [\d.]+, V[\d.]+")


@dataclass
class Needs:
    """The needs of a kernel, by ptxas."""

    registers: int
    spilled: int  # bytes stored and loaded
    shared: int  # bytes
    instructions: int  # machine instructions, with what fills the last line up

    def exceeds(self, other):
        return any(mine > theirs for mine, theirs in zip(astuple(self), astuple(other)))


def code_sizes(cubin):
    """Bytes of machine code by kernel: the sizes of the ELF file's sections .text.NAME."""
    begin, size, count, names = *struct.unpack_from("<Q", cubin, 40), *struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, begin + size * n) for n in range(count)]
    texts = headers[names][4]
    sizes = {}
    for name, _, _, _, _, length in headers:
        text = cubin[texts + name : cubin.index(b"\0", texts + name)].decode()
        if text.startswith(".text."):
            sizes[text.removeprefix(".text.")] = length
    return sizes


def needs_of(command, cubin):
    """By kernel, after the command, which prints what -v makes ptxas print, has written `cubin`."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr or done.stdout}")
    sizes = code_sizes(cubin.read_bytes())
    needs = {}
    for part in re.split(r"Compiling entry function '", done.stderr + done.stdout)[1:]:
        name = part[: part.index("'")]
        number = lambda pattern, text=part: sum(int(found) for found in re.findall(pattern, text))
        spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        needs[name] = Needs(registers, spilled, number(r"(\d+) bytes smem"), sizes[name] // 16)
    return needs


def our_needs(run, ptxas, folder):
    found = {}
    for program, arguments in {(program, tuple(arguments)) for _, program, arguments, _ in LOOPS}:
        texts, problems = kernels_of(run, program, list(arguments), PROCESSOR, library="/nowhere/libdevice.10.bc")
        if problems:
            raise SystemExit("\n".join(problems))
        for name, of, _, number in LOOPS:
            if of != program:
                continue
            source = folder / "kernel.ptx"
            source.write_text(texts[number])
            cubin = folder / "kernel.cubin"
            needs = needs_of([ptxas, "-v", f"-arch={PROCESSOR}", "-o", cubin, source], cubin)
            found[name] = needs["dhpvm_kernel"]
    return found


def twins(ptxas, folder):
    nvcc = Path(ptxas).with_name("nvcc")
    if not nvcc.is_file():
        raise SystemExit(f"{nvcc} is missing, which the table's second half is made by")
    cubin = folder / "twins.cubin"
    # Without fused products, as our kernels are.
    return needs_of(
        [
            nvcc,
            "-cubin",
            f"-arch={PROCESSOR}",
            "-fmad=false",
            "-Xptxas=-v",
            "-o",
            cubin,
            ROOT / "tests" / "gpu" / "twins.cu",
        ],
        cubin,
    )


def row(name, ours, twin):
    cells = [name, *astuple(ours), *(astuple(twin) if twin else ["-"] * 4)]
    return "| " + " | ".join(map(str, cells)) + " |"


def table_of(page):
    """The needs in the page's table, by kernel, and the release of ptxas that it is from."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    release = RELEASE.search(text)
    return {name: Needs(*map(int, cells)) for name, *cells in rows}, release[0] if release else ""


def bless(ours, ptxas, release, folder):
    theirs = twins(ptxas, folder)
    rows = "\n".join(row(name, ours[name], theirs.get(name)) for name, *_ in LOOPS)
    text = PAGE.read_text(encoding="utf-8")
    text = re.sub(r"(?<=\|---\|\n)(\|.*\n)*", lambda _: rows + "\n", text, count=1)
    PAGE.write_text(RELEASE.sub(release, text), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="the folder of dhpvm-run")
    parser.add_argument("--bless", action="store_true", help="take what there is now for what is right")
    options = parser.parse_args()
    ptxas, places = find_ptxas()
    if ptxas is None:
        print(f"SKIP: ptxas is not in {', '.join(places)}. It is part of CUDA's toolkit; set DHPVM_PTXAS to its path")
        return EXIT_SKIPPED
    printed = subprocess.run([ptxas, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    found = RELEASE.search(printed)
    release = found[0] if found else "unknown"
    expected, known = table_of(PAGE)
    if release != known and not options.bless:
        print(f"SKIP: {ptxas} is of {release}, and the table of {known}: each release gives other registers")
        return EXIT_SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        ours = our_needs(options.bin.resolve() / "dhpvm-run", ptxas, Path(folder))
        if options.bless:
            bless(ours, ptxas, release, Path(folder))
            return 0
    worse = [name for name in ours if name not in expected or ours[name].exceeds(expected[name])]
    for name in worse:
        print(f"{name} needs {ours[name]} and not, as {PAGE.name} says, {expected.get(name)}")
    if worse:
        print(f"If that was meant: {Path(__file__).name} --bin {options.bin} --bless")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
