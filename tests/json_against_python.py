#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random JSON texts, whole and damaged: the module `json` takes the same ones as Python's, and reads the same values.

usage: json_against_python.py --bin BIN_DIR [--runs N] [--seed N] [--options OPTION...]

--runs counts texts. --options are for dhpvm-run. A text that is read differently is printed.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_LEVELS = 512
I64 = range(-(2**63), 2**63)
PIECES = ["[", "]", "{", "}", ",", ":", '"', "\\", "\\u", "\\ud800", "\\uDC00", "0", "-", ".", "e", "1e999", "true", "nul", " ",
          "\n", "\x00", "\x1f", "é", "\U0001f600", "[[", "[" * 600, "9" * 30, "/*", "NaN", "'"]  # fmt: skip
TEXTS = ["", "a", 'quo"te', "back\\slash", "line\nend", "\x00\x1f\x7f", "é€\U0001f600", "long " * 60, "\u2028", "/"]
NUMBERS = [
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**63,
    10**25,
    0.1,
    -0.0,
    1e-7,
    1e22,
    1e23,
    5e-324,
    1.7976931348623157e308,
    2**53 + 1.0,
]

# Prints, for every text of the file, the value, and the values as arrays of numbers; nothing for an error.
PROGRAM = """
import io;
import json;

fn value(text: str) -> str! => json.format(try json.parse(text), text.len % 3);
fn floats(text: str) -> str! => str(try json.parse_floats(text));
fn ints(text: str) -> str! => str(try json.parse_ints(text));
fn tell(result: str!) { io.write((result catch { "" }) + "\\x1e"); }

fn main(args: [str]) {
    let all = io.read_text(args[0])!;
    var at = 0;
    while at < all.len {
        let head = all.find("\\n", at);
        let end = head + 1 + all[at..head].parse_int()!;
        let text = all[head + 1..end];
        tell(value(text));
        tell(floats(text));
        tell(ints(text));
        at = end;
    }
}
"""


def random_number(rng):
    return rng.choice(
        [
            lambda: rng.choice(NUMBERS),
            lambda: rng.randrange(-1000, 1000),
            lambda: rng.randrange(-(10**18), 10**18),
            lambda: rng.uniform(-1e6, 1e6),
            lambda: math.ldexp(rng.random(), rng.randrange(-1000, 1000)),
        ]
    )()


def random_value(rng, depth):
    kind = rng.randrange(8 if depth < 5 else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind <= 2:
        return random_number(rng)
    if kind <= 4:
        return rng.choice(TEXTS) + rng.choice(TEXTS)
    if kind == 5:
        return [random_number(rng) for _ in range(rng.randrange(12))]
    if kind == 6:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {rng.choice(TEXTS) + str(rng.randrange(30)): random_value(rng, depth + 1) for _ in range(rng.randrange(14))}


def random_text(rng):
    value = [random_number(rng) for _ in range(5)] if rng.random() < 0.2 else random_value(rng, 0)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, None, 1]))
    data = bytearray(text.encode())
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(5)
        if change == 0:
            data[at:at] = rng.choice(PIECES).encode()
        elif change == 1:
            del data[at : at + rng.randrange(4)]
        elif change == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 3:
            del data[at:]
        else:
            data[at:at] = data[at : at + rng.randrange(20)]
    return bytes(data)


class Refused(Exception):
    pass


def checked(value, depth=0):
    """The value that the module reads, as it prints it: integers beyond 64 bits are floats, as large as they may be."""
    if isinstance(value, str):
        if any(0xD800 <= ord(c) <= 0xDFFF for c in value):
            raise Refused
        return value
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int) and value not in I64:
        value = float(value) if abs(value) < 2**1024 - 2**970 else math.inf
    if isinstance(value, float) and math.isinf(value):
        raise Refused
    if isinstance(value, (list, dict)):
        if depth == MOST_LEVELS:
            raise Refused
        if isinstance(value, list):
            return [checked(x, depth + 1) for x in value]
        return {checked(k): checked(x, depth + 1) for k, x in value.items()}
    return value


def refuse(_):
    raise Refused


def keeping_minus_zero(text):
    return -0.0 if text == "-0" else int(text)


def fields(pairs):
    # Also those that a later field of the same name replaces must be right.
    for _, value in pairs:
        checked(value)
    return dict(pairs)


def expected(data):
    """The value, or None if the text must be refused, in a tuple."""
    try:
        text = data.decode().removeprefix("\ufeff")
        return (
            checked(json.loads(text, parse_constant=refuse, parse_int=keeping_minus_zero, object_pairs_hook=fields)),
        )
    except (Refused, ValueError, RecursionError):
        return None


def same(a, b):
    """The same values of the same types, to the sign of zero."""
    return repr(a) == repr(b)


def as_numbers(value, is_integer):
    if not isinstance(value, list) or any(isinstance(x, (bool, str, list, dict, type(None))) for x in value):
        return None
    if is_integer:
        return value if all(isinstance(x, int) for x in value) else None
    return [float(x) for x in value]


def problem(data, printed):
    value = expected(data)
    if value is None:
        return "" if printed == ["", "", ""] else "is taken, and Python refuses it"
    if printed[0] == "":
        return "is refused, and Python takes it"
    if not same(json.loads(printed[0], parse_int=keeping_minus_zero), value[0]):
        return f"is read as {printed[0]}"
    for text, is_integer in ((printed[1], False), (printed[2], True)):
        numbers = as_numbers(value[0], is_integer)
        found = json.loads(text, parse_int=keeping_minus_zero) if text else None
        if not same(found, numbers):
            return f"has the numbers {numbers}, and {text or 'an error'} is read"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs="*", default=[])
    args = parser.parse_args()
    sys.setrecursionlimit(20_000)
    rng = random.Random(args.seed)
    texts = [random_text(rng) for _ in range(args.runs)]
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder, "read.dhp"), Path(folder, "texts")
        program.write_text(PROGRAM)
        file.write_bytes(b"".join(b"%d\n%s" % (len(text), text) for text in texts))
        command = [args.bin / "dhpvm-run", *args.options, program, file]
        run = subprocess.run(command, capture_output=True, timeout=500, check=False)
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}\n{run.stderr.decode(errors='replace')}")
    printed = run.stdout.decode().split("\x1e")
    if len(printed) != 3 * len(texts) + 1:
        sys.exit(f"{len(printed) - 1} results of {len(texts)} texts")
    wrong = 0
    for i, text in enumerate(texts):
        found = problem(text, printed[3 * i : 3 * i + 3])
        if found:
            wrong += 1
            print(f"{text!r} {found}")
    taken = sum(1 for first in printed[0:-1:3] if first)
    print(f"{len(texts)} texts, of which {taken} are JSON: {wrong} are read differently")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
