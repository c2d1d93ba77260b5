#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random regular expressions: the module `regex` finds the same matches and groups as Python's `re`, and takes damaged
ones calmly.

usage: regex_against_python.py --bin BIN_DIR [--runs N] [--seed N] [--options OPTION...]

--runs counts expressions, each with a text. --options are for dhpvm-run. An expression that matches differently is
printed. Damaged expressions, and those that repeat what may match nothing, have to give matches or an error, whatever
Python says of them. """

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ATOMS = [
    "a",
    "b",
    "c",
    "ab",
    ".",
    "[ab]",
    "[^a]",
    "[a-c]",
    r"\w",
    r"\d",
    r"\s",
    r"[\w-]",
    r"[^\s]",
    r"\.",
    "é",
    "[é-ü]",
    "1",
    " ",
]
EDGES = ["^", r"\b", r"\B", r"\A", r"\Z"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"]
LETTERS = "aaabbbccc 1.-éü_\n"
# Bytes in hexadecimal: the first and last characters of each size, what is too long, cut short, a surrogate or too
# large, and single bytes.
RARE = """
c280 dfbf e0a080 ed9fbf ee8080 efbfbd efbfbf f0908080 f48fbfbf c080 c1bf e08080 e09fbf eda080 edbfbf f08fbfbf f4908080 c2 e0a0 e282 f09080
80 bf c3 a9 e1 ef f0 ff
""".split()
DAMAGE = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "*",
    "\\",
    "?",
    "|",
    "(?",
    "(?<",
    "{2",
    "\\x",
    "[z-a]",
    "(?=a)",
    "\\1",
    "{99999}",
    "((((",
    "\xff",
]

# Prints, for every pair of an expression and a text, the places of all matches and of their groups. Automata of any
# size have to find the same as the simulation.
PROGRAM = """
import io;
import list;
import regex;
import str;

fn places(found: List<Match>) -> str {
    let out = Builder();
    for m in found {
        for i in 0..m.len() { out.add(f"{m.start_of(i)},{m.end_of(i)} "); }
        out.add(";");
    }
    return out.to_str();
}

fn all_ways(expression: str, text: str) -> str! {
    let simulated = try regex.compile(expression);
    let expected = places(simulated.find_all(text));
    // One that keeps everything; some that forget all the time; one that gives up after a while; and without skipping.
    let ways = [(100000, 4, true), (100000, 4, false), (0, 0, true), (40, 0, false), (20, 1000, true)];
    for (room, patience, skips) in ways {
        let tuned = try regex.compile(expression);
        tuned.tune(room, patience, skips);
        let found = places(tuned.find_all(text));
        if found != expected { return f"{found} with automata of {room}, {patience}, {skips}, and {expected} without"; }
        for from in 0..text.len {
            let (one, other) = (simulated.find(text, from), tuned.find(text, from));
            if (one == null) != (other == null) || (one != null && places([one!]) != places([other!])) {
                return f"{other} at {from} with automata of {room}, {patience}, {skips}, and {one} without";
            }
        }
        if tuned.is_match(text) != (found != "") { return f"is_match differs with automata of {room}, {patience}, {skips}"; }
    }
    return expected;
}

fn main(args: [str]) {
    for pair in io.read_text(args[0])!.split("\\x1e") {
        let parts = pair.split("\\x1f");
        io.write((all_ways(parts[0], parts[1]) catch err { "error: " + err.message }) + "\\x1e");
    }
}
"""


def random_expression(rng, depth=0, wild=False):
    kind = rng.randrange(10)
    if depth > 3 or kind < 4:
        return rng.choice(ATOMS)
    if kind < 6:
        return random_expression(rng, depth + 1, wild) + random_expression(rng, depth + 1, wild)
    if kind == 6:
        return f"(?:{random_expression(rng, depth + 1, wild)}|{random_expression(rng, depth + 1, wild)})"
    if kind == 7:
        return f"({random_expression(rng, depth + 1, wild)}|{random_expression(rng, depth + 1, wild)})"
    if kind == 8:
        return rng.choice(EDGES) + random_expression(rng, depth + 1, wild)
    return f"({repeated(rng, depth, wild)})" if rng.random() < 0.5 else repeated(rng, depth, wild)


def repeated(rng, depth, wild):
    # A part that may match nothing is repeated in wild ones only: which of the empty turns counts differs between
    # Python and automata.
    body = random_expression(rng, depth + 1, wild)
    if wild:
        return f"(?:{body}){rng.choice(REPEATS)}"
    if re.compile(body, re.ASCII).match("") or any(edge in body for edge in EDGES) or has_empty_group(body):
        body = rng.choice(ATOMS)
    return f"(?:{body}){rng.choice(REPEATS)}"


def has_empty_group(body):
    return (
        any(mark in body for mark in ("*", "?", "{0"))
        and re.compile(body.replace("(?:", "("), re.ASCII).fullmatch("") is not None
    )


def damaged(rng, expression):
    at = rng.randrange(len(expression) + 1)
    return expression[:at] + rng.choice(DAMAGE) + expression[at + rng.randrange(2) :]


def in_bytes(text):
    return text.encode(errors="surrogateescape")


def expected(expression, text):
    """Places in bytes, as the program prints them."""
    at = [0]
    for c in text:
        at.append(at[-1] + len(in_bytes(c)))
    compiled = re.compile(expression, re.ASCII)
    spans, start = [], 0
    # Behind an empty match the search goes on at the next character; Python's finditer tries for one that is not empty
    # first.
    while start <= len(text) and (m := compiled.search(text, start)):
        spans.append([m.span(i) for i in range(compiled.groups + 1)])
        start = m.end() + (m.end() == m.start())
    return "".join("".join(f"{at[a]},{at[b]} " if a >= 0 else "-1,-1 " for a, b in one) + ";" for one in spans)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs="*", default=[])
    args = parser.parse_args()
    rng = random.Random(args.seed)
    cases = []
    for _ in range(args.runs):
        kind = rng.choices(["whole", "wild", "damaged"], [8, 3, 2])[0]
        expression = random_expression(rng, wild=kind == "wild")
        if rng.random() < 0.3:
            expression = "(?m)" + rng.choice(["", "^"]) + expression + rng.choice(["", "$"])
        rare = rng.choice([0, 0.1, 0.5])
        pieces = (
            bytes.fromhex(rng.choice(RARE)) if rng.random() < rare else rng.choice(LETTERS).encode()
            for _ in range(rng.randrange(1, 25))
        )
        text = b"".join(pieces).decode(errors="surrogateescape")
        cases.append((damaged(rng, expression) if kind == "damaged" else expression, text, kind == "whole"))
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder, "match.dhp"), Path(folder, "cases")
        program.write_text(PROGRAM)
        file.write_bytes(in_bytes("\x1e".join(f"{expression}\x1f{text}" for expression, text, _ in cases)))
        command = [args.bin / "dhpvm-run", *args.options, program, file]
        run = subprocess.run(command, capture_output=True, timeout=500, check=False)
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}\n{run.stderr.decode(errors='replace')}")
    printed = run.stdout.decode().split("\x1e")[:-1]
    if len(printed) != len(cases):
        sys.exit(f"{len(printed)} results of {len(cases)} cases")
    wrong = matched = 0
    for (expression, text, is_whole), found in zip(cases, printed):
        if not is_whole:
            if "automata" in found:
                wrong += 1
                print(f"{expression!r} in {text!r}: {found!r}")
            continue
        wanted = expected(expression, text)
        matched += wanted != ""
        if found != wanted:
            wrong += 1
            print(f"{expression!r} in {text!r}: {found!r}, and Python finds {wanted!r}")
    print(f"{len(cases)} expressions, of which {matched} match: {wrong} match differently")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
