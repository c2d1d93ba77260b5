#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random arrays in NumPy's files, whole and damaged: the module `npy` reads what is in them, writes what this program
and, where it is there, NumPy read back, and takes damaged ones calmly.

usage: npy_against_python.py --bin BIN_DIR [--runs N] [--seed N] [--options OPTION...]

--runs counts files. --options are for dhpvm-run. A file that is read or written differently is printed.
"""

import argparse
import ast
import io
import itertools
import math
import random
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

try:
    import numpy
except ImportError:
    numpy = None

# The names of each type in NumPy, struct and the language.
TYPES = {"i1": ("b", "i8"), "u1": ("B", "u8"), "i2": ("h", "i16"), "u2": ("H", "u16"), "i4": ("i", "i32"), "u4": ("I", "u32"),
         "i8": ("q", "i64"), "u8": ("Q", "u64"), "f4": ("f", "f32"), "f8": ("d", "f64"), "b1": ("?", "bool")}  # fmt: skip
NAMES = [name for _, name in TYPES.values()]

# For every line of the file, PATH RANK TYPE: reads the array, writes it to PATH.out, as .npz where PATH is one, and
# prints type, shape and elements.
PROGRAM = """
import io;
import npy;
import str;

fn bools(path: str, npz: bool) -> str! {
    let out = Npz();
    if npz {
        let all = try npy.read_npz(path);
        let a = try all.bools(all.names()[0]);
        out.add_bools("again", a);
        try out.write(path + ".out");
        return f"{try all.describe(all.names()[0])} {a}";
    }
    let a = try npy.read_bools(path);
    try npy.write_bools(path + ".out", a);
    return f"{try npy.describe(path)} {a}";
}

fn copy<T>(path: str, rank: str, npz: bool) -> str! {
    let all = if npz { try npy.read_npz(path) } else { Npz() };
    let name = if all.names().len > 0 { all.names()[0] } else { "" };
    let out = Npz();
    let head = if npz { try all.describe(name) } else { try npy.describe(path) };
    let shown = match rank {
        "2" => {
            let a: [T, 2] = if npz { try all.matrix(name) } else { try npy.read_matrix(path) };
            if npz { out.add_matrix("again", a); } else { try npy.write_matrix(path + ".out", a); }
            str(a)
        }
        "3" => {
            let a: [T, 3] = if npz { try all.cube(name) } else { try npy.read_cube(path) };
            if npz { out.add_cube("again", a); } else { try npy.write_cube(path + ".out", a); }
            str(a)
        }
        else => {
            let a: [T] = if npz { try all.array(name) } else { try npy.read(path) };
            if npz { out.add("again", a); } else { try npy.write(path + ".out", a); }
            str(a)
        }
    };
    if npz { try out.write(path + ".out"); }
    return f"{head} {shown}";
}

fn result(path: str, rank: str, type: str) -> str! {
    let npz = path.ends_with(".npz");
    return match type {
BRANCHES
        else => bools(path, npz),
    };
}

fn main(args: [str]) {
    for line in io.read_text(args[0])!.lines() {
        let words = line.words();
        io.write((result(words[0], words[1], words[2]) catch err { "error: " + err.message }) + "\\n");
    }
}
""".replace("BRANCHES", "\n".join(f'        "{name}" => copy<{name}>(path, rank, npz),' for name in NAMES[:-1]))


def random_element(rng, type):
    if type == "b1":
        return rng.random() < 0.5
    if type[0] == "f":
        value = rng.choice([0.0, -0.0, 1.5, math.inf, -math.inf, rng.gauss(0, 1), rng.gauss(0, 1) * 1e30, 5e-324])
        return struct.unpack("<f", struct.pack("<f", value))[0] if type == "f4" else value
    bits = 8 * int(type[1])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type[0] == "i" else (0, 2**bits - 1)
    return rng.choice([low, high, 0, 1, rng.randint(low, high)])


def encoded(rng, type, shape, elements):
    """A .npy file of elements row by row, in a random order of bytes and dimensions."""
    order = rng.choice("<>") if type[1] != "1" else "|"
    by_columns = rng.random() < 0.3
    if by_columns:
        places = itertools.product(*(range(n) for n in reversed(shape)))
        strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        elements = [elements[sum(s * i for s, i in zip(strides, reversed(place)))] for place in places]
    data = struct.pack(order.replace("|", "<") + TYPES[type][0] * len(elements), *elements)
    head = repr({"descr": order + type, "fortran_order": by_columns, "shape": shape})
    head = head if rng.random() < 0.7 else head.replace(" ", "").replace("'", '"')
    version = rng.choice([1, 1, 1, 2, 3])
    length = "<H" if version == 1 else "<I"
    head = head.ljust(rng.randrange(64, 200)) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(length, len(head)) + head.encode() + data


def decoded(file):
    """Type, shape and elements of a .npy file as the module writes it."""
    assert file[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + struct.unpack("<H", file[8:10])[0]
    assert end % 64 == 0
    assert file[end - 1 : end] == b"\n"
    head = ast.literal_eval(file[10:end].decode())
    assert not head["fortran_order"]
    type = head["descr"][1:]
    assert head["descr"][0] == ("|" if type[1] == "1" else "<")
    count = math.prod(head["shape"])
    return type, head["shape"], list(struct.unpack("<" + TYPES[type][0] * count, file[end:]))


def holds(wanted, type):
    """Whether the wanted type has all values of the other."""
    if wanted == type or type == "b1":
        return True
    if wanted == "b1":
        return False
    if wanted[0] == "f":
        digits = {"f4": 24, "f8": 53}
        bits = digits.get(type, 8 * int(type[1]) - (type[0] == "i"))
        return bits <= digits[wanted]
    if type[0] == "f" or (type[0] == "i" and wanted[0] == "u"):
        return False
    return int(wanted[1]) > int(type[1])


def zipped(rng, file):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ["weights.npy", "é.npy"][: rng.randrange(1, 3)]:
            # numpy.savez asks for the larger form of sizes, too.
            with archive.open(name, "w", force_zip64=rng.random() < 0.5) as entry:
                entry.write(file)
        archive.comment = rng.choice([b"", b"a comment"])
    return out.getvalue()


def damaged(rng, file):
    at = rng.randrange(len(file))
    return rng.choice(
        [file[:at], file[:at] + bytes([rng.randrange(256)]) + file[at + 1 :], file[:at] + b"9" + file[at:], file[at:]]
    )


class Case:
    def __init__(self, rng, folder, number):
        self.type, self.wanted = rng.choice(list(TYPES)), rng.choice(list(TYPES))
        if rng.random() < 0.5:
            self.wanted = self.type
        rank = 1 if "b1" == self.wanted else rng.randrange(1, 4)
        self.shape = tuple(rng.choice([0, 1, rng.randrange(2, 6)]) for _ in range(rank))
        self.elements = [random_element(rng, self.type) for _ in range(math.prod(self.shape))]
        file = encoded(rng, self.type, () if self.shape == (1,) and rng.random() < 0.5 else self.shape, self.elements)
        self.is_npz = rng.random() < 0.4
        file = zipped(rng, file) if self.is_npz else file
        self.is_whole = rng.random() < 0.7
        self.path = Path(folder, f"{number}.np{'z' if self.is_npz else 'y'}")
        self.path.write_bytes(file if self.is_whole else damaged(rng, file))
        self.line = f"{self.path} {len(self.shape)} {TYPES[self.wanted][1]}\n"

    def problem(self, printed):
        if not self.is_whole:
            return None
        if not holds(self.wanted, self.type):
            return None if "read it as " + TYPES[self.type][1] in printed else printed
        if not printed.startswith(f"Description(type: {TYPES[self.type][1]}, shape: "):
            return printed
        out = self.path.with_name(self.path.name + ".out")
        file = out.read_bytes()
        if self.is_npz:
            with zipfile.ZipFile(out) as archive:
                if archive.testzip() or archive.namelist() != ["again.npy"]:
                    return "the archive that is written is damaged"
                file = archive.read("again.npy")
        found = decoded(file)
        if str(found) != str((self.wanted, self.shape, [as_type(self.wanted, x) for x in self.elements])):
            return f"{found} is written"
        if numpy:
            loaded = numpy.load(out)["again"] if self.is_npz else numpy.load(out)
            if (
                loaded.dtype.str[1:] != self.wanted
                or loaded.shape != self.shape
                or str(loaded.flatten().tolist()) != str(found[2])
            ):
                return f"NumPy reads {loaded!r}"
        return None


def as_type(type, value):
    return value if type == "b1" else float(value) if type[0] == "f" else int(value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs="*", default=[])
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        cases = [Case(rng, folder, number) for number in range(args.runs)]
        program, file = Path(folder, "copy.dhp"), Path(folder, "cases")
        program.write_text(PROGRAM)
        file.write_text("".join(case.line for case in cases))
        command = [args.bin / "dhpvm-run", *args.options, program, file]
        run = subprocess.run(command, capture_output=True, timeout=500, check=False)
        if run.returncode != 0:
            sys.exit(f"exit code {run.returncode}\n{run.stderr.decode(errors='replace')}")
        printed = run.stdout.decode(errors="replace").split("\n")[:-1]
        if len(printed) != len(cases):
            sys.exit(f"{len(printed)} results of {len(cases)} files")
        wrong = 0
        for case, line in zip(cases, printed):
            problem = case.problem(line)
            if problem:
                wrong += 1
                print(f"{case.type} {case.shape} {case.elements} as {case.line.strip()}: {problem}")
    print(f"{len(cases)} files, {'also by NumPy' if numpy else 'without NumPy'}: {wrong} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
