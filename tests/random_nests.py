#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random nests of loops compiled, and compares them with the interpreter.

Each program has a few parallel loops with inner loops over rows, columns and vectors, and launches each of them several
times: with other sizes, other operands, operands in one array with the results, and operands that have changed since.
Sizes lie around those of vectors, tiles of rows, bands of rows that share what is packed for them, and blocks of the
inner loop. Some iterations and turns are left out, and some programs end with a trap in the middle of a nest. The
output, bit by bit, and the trap have to be the interpreter's. One program in ten has loops over structs
(random_records.py) instead, one loops by blocks, with caught traps (random_blocks.py), one loops about places and
borders of indices (random_places.py), and one functions and loops about variables with values of several sources
(random_values.py), all of which are compiled before they run.

usage: random_nests.py --bin BIN_DIR [--runs N] [--seed N] [--jobs N] [--options OPTION...] [--check-races] [--keep DIR]

--runs counts programs, from seed --seed on. --options are for dhpvm-run, such as --device=sim. A failing program is
printed with its seed, and kept in --keep. --check-races looks for iterations that get in each other's way, which would
be an error in this script.
"""

import argparse
import concurrent.futures
import random
import re
import sys
import tempfile
from pathlib import Path

import random_blocks
import random_places
import random_records
import random_values
from finished_run import Run

EXIT_TRAP = 3
MOST_TURNS = 120_000  # of innermost loops in one launch, for the interpreter's sake
MOST_TURNS_IF_BRIEF = 4_000

# One below and one above vectors and tiles; rows also around bands of 128.
ROWS = (1, 2, 7, 8, 9, 15, 16, 17, 33, 127, 128, 129, 137)
COLUMNS = (1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 67, 129)
INNER = (0, 1, 2, 8, 15, 16, 17, 33, 64, 67, 129)
LONG_INNER = (255, 257, 2047, 2049, 4097, 8191, 8193)

# The bounds that conditions compare indices with, and the indices of neighbours, kept inside.
BOUNDS = ("0", "1", "7", "cols - 1", "cols - 1", "cols / 2", "rows - 1", "n")
NEIGHBOURS = ("math.max(j - 1, 0)", "math.min(j + 1, cols - 1)", "math.clamp(j - 2, 0, cols - 1)", "((j + 1) % cols)",
              "(if j == 0 { cols - 1 } else { j - 1 })")

# Bounds of inner loops that lanes enter or leave at different times.
TRIANGLE_BEGINNINGS = ("math.min(j, n)", "j % 5", "math.min(j + 1, n)")
TRIANGLE_ENDS = ("n - j % 7", "math.min(n, j + 3)", "math.min(n, j / 2)")

KINDS = ("u8", "i32", "i64", "f32", "f64")


def is_float(kind):
    return kind[0] == "f"


class Operand:
    """Elements of an array that lie by strides: which index has the step of 1, and which one that of a row."""

    def __init__(self, name, kind, along, across, index="k"):
        self.name = name
        self.kind = kind
        self.along = along
        self.across = across
        self.index = index

    def place(self):
        # The turn and the outermost index shift it a little.
        along = {"k": self.index}.get(self.along, self.along)
        across = {"k": self.index}.get(self.across, self.across)
        row = f" + ({across}) * {self.name}_row" if across else ""
        return f"{self.name}_at + {along}{row}"

    def element(self, kind):
        text = f"{self.name}[{self.place()}]"
        return text if kind == self.kind else f"({text} as {kind})"

    def extent(self, sizes):
        """The length of a row, and the number of elements."""
        row = sizes[self.along]
        return row, row * (sizes[self.across] if self.across else 1)


class Nest:
    """A function with one parallel loop."""

    def __init__(self, chooser, name, traps):
        self.random = chooser
        self.name = name
        self.kind = chooser.choice(("f32", "f32", "f32", "f32", "f64", "f64", "i32", "i64", "u8"))
        self.fast = is_float(self.kind) and chooser.random() < 0.15
        self.dimensions = chooser.choice((1, 2, 2, 2, 2, 2, 2, 3))
        self.trap = chooser.choice(("place", "division") if not is_float(self.kind) else ("place",)) if traps else None
        self.turns = chooser.random() < 0.3
        self.reduces = chooser.random() < 0.1
        self.scatters = chooser.random() < 0.1
        self.operands = []
        self.inner = []
        self.turned = chooser.random() < 0.2
        for _ in range(chooser.choice((0, 1, 1, 1, 2)) if not traps else 1):
            self.inner.append(self.inner_loop())
        self.text = self.function()

    def chance(self, share):
        return self.random.random() < share

    def operand(self, forms=None):
        """One that may be read in another place already."""
        if self.operands and self.chance(0.2) and forms is None:
            return self.random.choice(self.operands)
        kind = self.random.choice((self.kind,) * 15 + KINDS)
        outer = self.random.choice({1: ("j",), 2: ("i",), 3: ("i", "i", "h")}[self.dimensions])
        forms = forms or [("k", outer), (outer, "k"), ("j", "k"), ("j", "k"), ("j", "k"), ("k", "j"), ("k", "j")]
        along, across = self.random.choice([*forms, *forms, ("k", None), ("j", None)] if len(forms) > 3 else forms)
        index = self.random.choice(("k",) * 5 + ("n - 1 - k",)) if "k" in (along, across) else "k"
        made = Operand(f"x{len(self.operands)}", kind, along, across, index)
        self.operands.append(made)
        return made

    def own(self):
        """The iteration's own element of the result."""
        if self.turned:
            place = {1: "j", 2: "j * rows + i", 3: "(h * cols + j) * rows + i"}[self.dimensions]
        else:
            place = {1: "j", 2: "i * cols + j", 3: "(h * rows + i) * cols + j"}[self.dimensions]
        return f"c[c_at + {place}]"

    def constant(self):
        return f"({self.random.choice((2, 3, 5))} as {self.kind})"

    def term(self):
        text = self.operand().element(self.kind)
        form = self.random.random()
        if form < 0.6:
            return f"{text} * {self.operand().element(self.kind)}"
        if form < 0.7:
            return f"({text} - {self.operand().element(self.kind)})"
        # Sums of these would not be exact in any order.
        if form < 0.75 and not self.fast:
            return f"{text} * {self.own()}"
        return text

    def condition(self, indices):
        index = self.random.choice(indices)
        if self.chance(0.4):
            return f"{index} {self.random.choice(('==', '!=', '<', '<=', '>', '>='))} {self.random.choice(BOUNDS)}"
        return f"{index} % {self.random.choice((2, 3, 5))} != {self.random.choice((0, 1))}"

    def neighbour(self, element):
        """The element of an index nearby, or of the edge."""
        return re.sub(r"\bj\b", self.random.choice(NEIGHBOURS), element)

    def inner_loop(self):
        """Its lines."""
        lines = []
        for _ in range(self.random.choice((1, 1, 1, 2))):
            term = self.term()
            form = self.random.random()
            if form < 0.15 and not self.fast:
                half = "(0.5 as {0})" if is_float(self.kind) else "(3 as {0})"
                lines.append(f"s = s * {half.format(self.kind)} + {term};")
            elif form < 0.25:
                lines.append(f"if {term} > {self.constant()} {{ s -= {self.constant()}; }}")
            elif form < 0.35:
                lines.append(f"if {self.condition(self.indices('k'))} {{ s += {term}; }}")
            else:
                lines.append(f"s {self.random.choice('+-')}= {term};")
        low = "turn" if self.turns and self.chance(0.5) else "0"
        high = self.random.choice(("n",) * 20 + ("j", "n - 1", "n / 2", *TRIANGLE_ENDS))
        if low == "0" and self.chance(0.1):
            low = self.random.choice(TRIANGLE_BEGINNINGS)
        return lines, low, high

    def elements(self):
        """Lines of a loop without inner ones: elements of rows and of columns."""
        outer = self.random.choice({1: ("j",), 2: ("i",), 3: ("i", "i", "h")}[self.dimensions])
        forms = [(outer, "j"), (outer, "j"), ("j", outer)]
        lines = []
        for _ in range(self.random.choice((1, 1, 2, 3))):
            element = self.operand(forms).element(self.kind)
            if self.chance(0.2):
                element = self.neighbour(element)
            if self.chance(0.3):
                lines.append(f"if {self.condition(self.indices())} {{ s += {element}; }} else {{ s -= {self.neighbour(element)}; }}")
            else:
                lines.append(f"s += {element};")
        return lines

    def indices(self, *more):
        return ["j", *(["i"] if self.dimensions > 1 else []), *(["turn"] if self.turns else []), *more]

    def trapping_line(self):
        if self.trap == "division":
            return f"s += {self.constant()} / (v[{self.random.choice(('k', 'k', 'j'))}] as {self.kind});"
        index = self.random.choice(("v[k]", "v[k]", "v[j]", "v[k] + j"))
        return f"s += w[{index}];"

    def function(self):
        elements = [] if self.inner else self.elements()
        parameters = [f"{o.name}: [{o.kind}], {o.name}_at: i64, {o.name}_row: i64" for o in self.operands]
        if self.trap:
            parameters.append(f"v: [i64], w: [{self.kind}]")
        lines = [
            f"fn {self.name}({', '.join(parameters)}, c: [{self.kind}], c_at: i64, slabs: i64, rows: i64, cols: i64, n: i64, "
            "turns: i64) {"
        ]
        reductions = [*(["+: total"] if self.reduces else []), *(["+: sums[]"] if self.scatters else [])]
        reduction = f" reduce({', '.join(reductions)})" if reductions else ""
        if self.reduces:
            lines.append(f"    var total: {self.kind} = {self.zero()};")
        if self.scatters:
            lines.append(f"    let sums = [{self.kind}](5);")
        ranges = ("h in 0..slabs, ", "i in 0..rows, ", "j in 0..cols")[3 - self.dimensions:]
        lines.append(f"    {'@fastmath ' if self.fast else ''}parallel for {''.join(ranges)}{reduction} {{")
        lines.append(f"        var s: {self.kind} = {self.random.choice((self.zero(), self.constant()))};")
        if self.chance(0.1):
            lines.append(f"        {self.own()} = {self.constant()};")
        body = elements
        trap_in = self.random.randrange(max(len(self.inner), 1))
        for number, (inner, low, high) in enumerate(self.inner):
            body.append(f"for k in {low}..{high} {{")
            body += ["    " + line for line in inner]
            if self.trap and number == trap_in:
                body.append(f"    {self.trapping_line()}")
            body.append("}")
        if self.chance(0.15):
            body = [f"if {self.condition(self.indices())} {{", *("    " + line for line in body), "}"]
        if self.turns:
            body = ["for turn in 0..turns {", *("    " + line for line in body), "}"]
        lines += ["        " + line for line in body]
        store = f"{self.own()} {self.random.choice(('=', '=', '+='))} s;"
        if self.chance(0.15):
            store = f"if {self.condition(['j'])} {{ {store} }}"
        lines.append(f"        {store}")
        if self.reduces:
            lines.append("        total += s;")
        if self.scatters:
            lines.append(f"        sums[{'(i + j)' if self.dimensions > 1 else 'j'} % 5] += s;")
        lines.append("    }")
        if self.reduces:
            lines.append(f"    print({digit(self.kind, 'total', self.fast)});")
        if self.scatters:
            lines.append(f"    for sum in sums {{ print({digit(self.kind, 'sum', self.fast)}); }}")
        return "\n".join([*lines, "}", ""])

    def zero(self):
        return "0.0" if is_float(self.kind) else "0"


def digit(kind, value, is_fast):
    """A number that says which bits a value has. The sign of zero is of no account in a loop with @fastmath."""
    if is_fast:
        value = f"({value} + 0.0)"
    return f"({random_blocks.bits(kind, value)} as i64)"


class Program:
    """A random program; the same one for the same seed. A brief one launches its loops once or twice, over less."""

    def __init__(self, seed, brief=False):
        self.random = random.Random(seed)
        self.most_turns = MOST_TURNS_IF_BRIEF if brief else MOST_TURNS
        traps = self.random.random() < 0.3
        self.nests = [Nest(self.random, f"nest{n}", traps and n == 1) for n in range(2)]
        self.arrays = {}  # name to type
        self.lines = []
        for nest in self.nests:
            for _ in range(self.random.randint(*((1, 2) if brief else (3, 6)))):
                self.launch(nest, fails=False)
        if traps:
            self.launch(self.nests[-1], fails=True)

    def source(self):
        return "\n".join(
            ["import math;", "", *helpers(), *(nest.text for nest in self.nests), "fn main() {", *self.lines, "}", ""]
        )

    def emit(self, text):
        self.lines.append("    " + text)

    def sizes(self, nest):
        """The sizes of a launch, by the name of the index."""
        if nest.dimensions > 1 and self.random.random() < 0.1:
            found = {
                "h": 1,
                "i": self.random.choice((1, 8, 9)),
                "j": self.random.choice((1, 3, 33)),
                "k": self.random.choice(LONG_INNER),
            }
            if self.most_turns == MOST_TURNS or found["i"] * found["j"] * found["k"] <= 10 * self.most_turns:
                return found
        found = {"h": self.random.choice((1, 2, 3)) if nest.dimensions == 3 else 1,
                 "i": self.random.choice(ROWS) if nest.dimensions > 1 else 1,
                 "j": self.random.choice(COLUMNS),
                 "k": self.random.choice(INNER)}
        while found["h"] * found["i"] * found["j"] * found["k"] > self.most_turns:
            largest = max(("i", "j", "k"), key=found.get)
            found[largest] //= 2
        return found

    def launch(self, nest, fails):
        sizes = self.sizes(nest)
        if fails:
            sizes["k"] = max(sizes["k"], 1)
        turns = self.random.randint(1, 3) if nest.turns else 1
        results = sizes["h"] * sizes["i"] * sizes["j"]
        # For inner loops that go as far as j.
        reach = dict(sizes, k=max(sizes["k"], sizes["j"]))
        needed = {}
        for operand in nest.operands:
            needed[operand.name] = operand.extent(reach)
        layout = self.lay_out(nest, needed, results)
        arguments = []
        for operand in nest.operands:
            array, at = layout[operand.name]
            # A row may be longer than what is read of it, and then the operand begins at its own.
            arguments.append(f"{array}, {at + self.shift(operand, sizes, reach)}, {needed[operand.name][0]}")
        if nest.trap:
            arguments.append(self.trap_arguments(nest, reach, fails))
        array, at = layout["c"]
        count = f"{sizes['h']}, {sizes['i']}, {sizes['j']}, {sizes['k']}, {turns}"
        call = f"{nest.name}({', '.join(arguments)}, {array}, {at}, {count});"
        digest = f"print(digest_{self.form(nest.kind, nest)}({array}));"
        self.emit(call)
        self.emit(digest)
        if not fails and nest.operands and self.random.random() < 0.5:
            # The same places hold something else in the next launch.
            name = layout[self.random.choice(nest.operands).name][0]
            self.emit(f"change_{self.form(self.arrays[name], nest)}({name}, {self.random.randint(1, 99)});")
            self.emit(call)
            self.emit(digest)

    @staticmethod
    def shift(operand, sizes, reach):
        """Turns that count downwards from n - 1 get below 0 in loops that go as far as j."""
        if operand.index == "k":
            return 0
        below = reach["k"] - sizes["k"]
        row = reach[operand.along] if operand.across == "k" else 1
        return below * row

    def lay_out(self, nest, needed, results):
        """The begin of each operand and of the result: in arrays of their own, or several in one."""
        layout = {}
        shared = self.random.random() < 0.4
        parts = {}
        for name, kind, length in [
            *((o.name, o.kind, needed[o.name][1] * 2 + 8) for o in nest.operands),
            ("c", nest.kind, results),
        ]:
            if shared or (kind in parts and name != "c" and self.random.random() < 0.3):
                parts.setdefault(kind, []).append((name, length))
            else:
                array = self.new_array(nest, kind, length + 3)
                layout[name] = (array, self.random.randint(0, 3))
        for kind, members in parts.items():
            self.random.shuffle(members)
            at = self.random.randint(0, 5)
            array = self.new_array(nest, kind, at + sum(length for _, length in members))
            for name, length in members:
                layout[name] = (array, at)
                at += length
        return layout

    @staticmethod
    def form(kind, nest):
        """The names of the helpers for a nest's arrays."""
        return f"{kind}_fast" if nest.fast and is_float(kind) else kind

    def new_array(self, nest, kind, length):
        name = f"a{len(self.arrays)}"
        self.arrays[name] = kind
        self.emit(f"let {name} = [{kind}]({length});")
        self.emit(f"change_{self.form(kind, nest)}({name}, {self.random.randint(1, 99)});")
        return name

    def trap_arguments(self, nest, reach, fails):
        count = max(reach["k"], reach["j"], 1)
        name = f"v{len(self.lines)}"
        self.emit(f"let {name} = [i64]({count});")
        self.emit(f"for m in 0..{count} {{ {name}[m] = m % 7 + 1; }}")
        if fails:
            for _ in range(self.random.randint(1, 3)):
                wrong = 0 if nest.trap == "division" else self.random.choice((-1000, 1000, 5000))
                self.emit(f"{name}[{self.random.randrange(count)}] = {wrong};")
        array = self.new_array(nest, nest.kind, 8 + reach["j"])
        return f"{name}, {array}"


def helpers():
    """Functions that fill an array and print one, by type; those of loops with @fastmath have whole numbers, whose sums
    are exact in any order."""
    for kind in KINDS:
        for suffix, is_fast in (("", False), *([("_fast", True)] if is_float(kind) else [])):
            value = "(i * 7919 + seed * 104729) % 2003"
            value = (
                f"{value} % 7"
                if kind == "u8"
                else f"{value} % 13 - 6" if is_fast or not is_float(kind) else f"{value} - 1000"
            )
            value = f"({value}) as {kind}" + (" / 317.0" if is_float(kind) and not is_fast else "")
            yield f"fn change_{kind}{suffix}(a: [{kind}], seed: i64) {{\n    for i in 0..a.len {{ a[i] = {value}; }}\n}}\n"
            yield (f"fn digest_{kind}{suffix}(a: [{kind}]) -> i64 {{\n    var h = 7;\n"
                   f"    for i in 0..a.len {{ h = h * 31 + {digit(kind, 'a[i]', is_fast)}; }}\n    return h;\n}}\n")


def judge(done, expected):
    """Why the run is wrong; None if it is right."""
    if done.code is None:
        return done.errors
    if done.code != expected.code:
        return f"exit code {done.code}, not {expected.code}"
    if done.out != expected.out:
        return "another output"
    # The trap comes behind what --explain-offload says.
    if not done.errors.endswith(expected.errors):
        return "another trap"
    return None


def check(options, seed):
    """Runs a program; returns the problem, if there is one, and what the compiled run says about its loops."""
    kinds = {3: random_blocks.Program, 4: random_records.Program, 7: random_places.Program, 9: random_values.Program}
    kind = kinds.get(seed % 10, Program)
    program = kind(seed).source()
    path = Path(options.keep) / f"nest-{seed}.dhp"
    path.write_text(program, encoding="utf-8")
    tool = [str(options.bin / "dhpvm-run")]
    races = ["--check-races"] if options.check_races else []
    expected = Run([*tool, "--jit=off", "--device=host", *races, str(path)])
    if expected.code not in (0, EXIT_TRAP) or "data race" in expected.errors:
        return f"seed {seed} does not run in the interpreter:\n{expected.errors}\n{program}", ""
    threads = random.Random(seed).choice((1, 2, 3))
    compiled = "--jit=eager" if kind is random_values.Program else "--jit=on"
    words = [*tool, compiled, "--jit-wait", "--no-cache", "--explain-offload", f"--threads={threads}", *options.options]
    done = Run([*words, str(path)])
    problem = judge(done, expected)
    if problem is None:
        path.unlink()
        return None, done.errors
    return (
        f"seed {seed}: {problem}\n  {' '.join(map(str, done.words))}\n--- expected\n{expected.out}{expected.errors}--- output\n"
        f"{done.out}--- errors\n{done.errors}--- program\n{program}"
    ), done.errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--options", nargs="*", default=[])
    parser.add_argument("--check-races", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        options.keep = options.keep or folder
        Path(options.keep).mkdir(parents=True, exist_ok=True)
        results = list(pool.map(lambda seed: check(options, seed), range(options.seed, options.seed + options.runs)))
    problems = [problem for problem, _ in results if problem]
    for problem in problems[:3]:
        print(problem)
    explained = "".join(text for _, text in results)
    forms = {
        "in tiles of rows": "rows together",
        "packed": "packed for all rows",
        "transposed": "transposed for the lanes",
        "checked": "accesses are checked",
    }
    counts = {form: explained.count(words) for form, words in forms.items()}
    listed = ", ".join(f"{count} {form}" for form, count in counts.items())
    print(f"{options.runs} programs, {explained.count('parallel for at')} nests: {listed}; {len(problems)} wrong")
    if options.runs >= 20 and not options.options and 0 in counts.values():
        print("the programs no longer reach every form of a loop: change their shares")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
