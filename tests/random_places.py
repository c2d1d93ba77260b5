# SPDX-License-Identifier: Apache-2.0
"""Random programs for random_nests.py and random_kernels.py with parallel loops about places: searches that leave nested
loops early, atomic updates of fields and reductions of elements that iterations meet in, structs of mixed widths that a
function folds, and indices whose parts pass the borders of 30, 31 and 32 bits, with loops that run near those."""

import random

# One below and one above groups, and blocks of reductions.
LENGTHS = (1, 2, 31, 33, 64, 127, 257, 300, 1000)
LONG = (4097, 4500)
BORDERS = (0, 5, 2**30 - 3, 2**30, 2**31 - 7, 2**31, 2**32 - 9, 2**32, 2**40, -1, -5, -(2**31) - 2)
DIVISORS = (1, 2, 3, 7, 64, 641, 2**31 - 1, 2**31, 2**32 + 1, 2**62, -1, -3, -(2**31))
WIDE = ("i32", "u32", "i64", "u64")
NARROW = ("u8", "i16", "bool")
FLOATS = ("f32", "f64")
ZERO = {"bool": "false", "f32": "0.0", "f64": "0.0"}


def number(kind, text):
    """A value of the kind as an i64; those of floats here are whole."""
    return f"({text} as i64)"


def value(chooser, kind, text):
    """The i64 as a value of the kind."""
    if kind == "bool":
        return f"({text}) % 3 == 1"
    return f"(({text}) % {chooser.choice((7, 100, 113))}) as {kind}"


class Loop:
    """A function with one parallel loop, what it needs at the top level, and how it is called."""

    def __init__(self, chooser, name, length):
        self.random = chooser
        self.name = name
        self.length = length
        self.kind = chooser.choice((*WIDE, "u8", "i16", "f32", "f64"))
        self.fields = [(f"f{n}", chooser.choice(WIDE + FLOATS + NARROW)) for n in range(chooser.randint(2, 6))]
        self.struct = f"S_{name}"

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def struct_text(self):
        return f"struct {self.struct} {{ {' '.join(f'{field}: {kind};' for field, kind in self.fields)} }}"

    def element(self, index):
        return number(self.kind, f"a[({index}) % a.len]")

    def condition(self, *terms):
        term = self.pick(*terms)
        return self.pick(f"{term} % {self.pick(2, 3, 5)} == {self.pick(0, 1)}", f"{term} > {self.pick(0, 2, 9, 50)}",
                         f"{term} % 7 != {self.pick(0, 3)}")  # fmt: skip

    def filled(self, name, length):
        """Lines that make an array of the loop's kind."""
        return [f"let {name} = [{self.kind}]({length});",
                f"for i in 0..{length} {{ {name}[i] = ((i * {self.pick(3, 7, 31)} + {self.pick(1, 5, 11)}) % 97) as {self.kind}; }}"]  # fmt: skip

    def sum_of_fields(self, fields):
        return " ".join(f"h = h * 31 + {number(kind, f'x.{field}')};" for field, kind in fields)


class Search(Loop):
    """Nested loops that are left by several ways."""

    def function(self):
        inner = [f"s += {self.element(self.pick('i + j + k', 'i * k + j', 'j * 5 + k', 'i * 3 + s % 11'))};"]
        exits = [
            f"if {self.condition('s', 'k', '(i + k)', 'a[k % a.len] as i64')} {{ {self.pick('break', 'break', 'continue')}; }}",
            f"if s > limit {{ at = j * 100 + k; {self.pick('break', 's -= limit; continue')}; }}",
        ]
        inner = [*exits[: self.pick(0, 1)], *inner, *exits[self.pick(0, 1):]]
        body = [f"if {self.condition('(i + j)', 's', 'j')} {{ {self.pick('continue', 'break')}; }}"] if self.chance(0.5) else []
        low, high = self.pick(("0", "m"), ("j", "m"), ("0", "j + 1"), ("i % 3", "m - j % 2"))
        body += [f"for k in {low}..{high} {{", *("    " + line for line in inner), "}"]
        if self.chance(0.6):
            body.append(f"if {self.pick('at >= 0', 's % 7 == 3', 'at > 200 || s > 3 * limit')} {{ break; }}")
        lines = ["var s = 0;", "var at = -1;", "for j in 0..m {", *("    " + line for line in body), "}"]
        if self.chance(0.5):
            step = self.pick("s /= 2", f"s -= {self.element('i + t')} + 1", "s = s / 3 + t % 2")
            leave = self.pick("break", "at = t; break", "t += 2; continue")
            lines += ["var t = 0;", "while s > 0 && t < 40 {", f"    {step};", "    t += 1;",
                      f"    if {self.condition('s', 't', '(s + i)')} {{ {leave}; }}", "}", "s += t;"]  # fmt: skip
        lines.append("out[i] = s * 1000 + at;")
        return [f"fn {self.name}(a: [{self.kind}], m: i64, limit: i64, out: [i64]) {{", "    parallel for i in 0..out.len {",
                *("        " + line for line in lines), "    }", "}"]  # fmt: skip

    def call(self):
        return [*self.filled("a", self.pick(1, 10, 64, 90)), f"let out = [i64]({self.length});",
                f"{self.name}(a, {self.pick(1, 4, 9)}, {self.pick(20, 100, 400)}, out);",
                "for x in out { h = h * 31 + x; }"]  # fmt: skip


class Meeting(Loop):
    """Atomic updates of fields; each field has one operation, so that their order is of no account."""

    def function(self):
        lines = [f"let at = {self.pick('i', 'i * 7 + 3', 'i / 3', 'a[i] as i64 & 15', 'i & 3')} % cells.len;",
                 f"let x = {self.element('i')} + i % {self.pick(5, 40)};"]  # fmt: skip
        for field, kind in self.fields:
            if kind in NARROW or self.chance(0.2):
                continue
            operation = self.pick("min", "max") if kind in FLOATS else self.pick("add", "add", "min", "max", "and_", "or_", "xor")
            update = f"atomic.{operation}(cells[at].{field}, {value(self.random, kind, self.pick('x', 'x * 3 + i', 'i'))});"
            lines.append(f"if {self.condition('x', 'i')} {{ {update} }}" if self.chance(0.3) else update)
        return [self.struct_text(), f"fn {self.name}(a: [{self.kind}], cells: [{self.struct}]) {{", "    parallel for i in 0..a.len {",
                *("        " + line for line in lines), "    }", "}"]  # fmt: skip

    def call(self):
        values = ", ".join(value(self.random, kind, f"i * {n + 3} + 50") for n, (_, kind) in enumerate(self.fields))
        count = self.pick(1, 5, 32, 61)
        return [*self.filled("a", self.length), f"let cells = [{self.struct}]({count});",
                f"for i in 0..{count} {{ cells[i] = {self.struct}({values}); }}", f"{self.name}(a, cells);",
                f"for x in cells {{ {self.sum_of_fields(self.fields)} }}"]  # fmt: skip


class Scatter(Loop):
    """Reductions of elements: of vectors, of a matrix, and of fields."""

    def function(self):
        self.fields = [(field, "u8" if kind == "bool" else kind) for field, kind in self.fields]  # that can be added
        self.tops = self.pick(("max", "math.max"), ("min", "math.min"), None)
        self.has_cells = self.chance(0.5)
        sums = self.pick("i64", "f32", "f64", "u32", "i32")
        self.sums = sums
        at = self.pick("i % 7", "(i * 5 + j) % sums.cols", "j % sums.cols", "(a[i] as i64 & 63) % sums.cols")
        lines = [f"let x = {self.element('i + j')} + j;", f"sums[{self.pick('j % 2', 'i % 2', '(x + i) % 2')}, ({at}) % sums.cols] += x as {sums};"]
        heads = ["+: sums[]"]
        if self.tops:
            heads.append(f"{self.tops[0]}: tops[]")
            lines.append(f"tops[i % tops.len] = {self.tops[1]}(tops[i % tops.len], x * 3 - j);")
        if self.has_cells:
            heads.append("+: cells[]")
            field, kind = self.random.choice(self.fields)
            lines.append(f"if {self.condition('x', 'i')} {{ cells[(i + j) % cells.len].{field} += {value(self.random, kind, 'x')}; }}")
        lines = ["for j in 0..m {", *("    " + line for line in lines), "}"]
        return [self.struct_text(), f"fn {self.name}(a: [{self.kind}], m: i64, sums: [{sums}, 2], tops: [i64], cells: [{self.struct}]) {{",
                f"    parallel for i in 0..a.len reduce({', '.join(heads)}) {{", *("        " + line for line in lines), "    }", "}"]  # fmt: skip

    def call(self):
        columns = self.pick(1, 7, 33)
        return [*self.filled("a", self.length), f"let sums = [{self.sums}, 2](2, {columns});", "let tops = [i64](9);",
                f"let cells = [{self.struct}]({self.pick(1, 4, 30)});", f"{self.name}(a, {self.pick(1, 1, 3)}, sums, tops, cells);",
                f"for i in 0..2 {{ for j in 0..{columns} {{ h = h * 31 + (sums[i, j] as i64); }} }}",
                "for x in tops { h = h * 31 + x; }", f"for x in cells {{ {self.sum_of_fields(self.fields)} }}"]  # fmt: skip


class Fold(Loop):
    """Structs that a function puts together, field by field, each by something associative."""

    def function(self):
        fields = []
        for field, kind in self.fields:
            both = (f"a.{field}", f"b.{field}")
            if kind == "bool":
                text = self.pick(f"{both[0]} || {both[1]}", f"{both[0]} && {both[1]}", both[1])
            else:
                forms = [f"math.max({both[0]}, {both[1]})", f"math.min({both[0]}, {both[1]})", both[1], both[0],
                         f"if {both[0]} == 0{'.0' if kind in FLOATS else ''} {{ {both[1]} }} else {{ {both[0]} }}"]  # fmt: skip
                text = self.pick(*forms, *([] if kind in FLOATS else [f"{both[0]} + {both[1]}", f"{both[0]} ^ {both[1]}"] * 2))
            fields.append(text)
        values = ", ".join(value(self.random, kind, self.pick("x", "x + i", "i * 3")) for _, kind in self.fields)
        zeros = ", ".join(ZERO.get(kind, "0") for _, kind in self.fields)
        join = f"join_{self.name}"
        skip = [f"        if {self.condition('x', 'i')} {{ continue; }}"] if self.chance(0.4) else []
        return [self.struct_text(), f"fn {join}(a: {self.struct}, b: {self.struct}) -> {self.struct} =>",
                f"    {self.struct}({', '.join(fields)});", f"fn {self.name}(a: [{self.kind}]) -> {self.struct} {{",
                f"    var all = {self.struct}({zeros});", f"    parallel for i in 0..a.len reduce({join}: all) {{",
                f"        let x = {self.element('i')};", *skip, f"        all = {join}(all, {self.struct}({values}));", "    }",
                "    return all;", "}"]  # fmt: skip

    def call(self):
        return [*self.filled("a", self.length), f"{{ let x = {self.name}(a); {self.sum_of_fields(self.fields)} }}"]


class Border(Loop):
    """Indices with parts that need more bits than they do themselves, and iterations with large numbers."""

    def place(self):
        """`d`, or another place, by way of large numbers."""
        return self.pick(
            "d + big - big", "(d * 4294967297) >> 32", "(d << 33) >> 33", "d ^ big ^ big", "(d + 4294967296) as u32 as i64",
            "(d + 2147483648) as i32 as i64 + 2147483648", "(d * 2147483648) / 2147483648", "(d | (1 << 40)) & 0xffff",
            "math.abs((d * big + 3) % a.len)", "math.abs((d * d * d * 1000003) % a.len)", "math.min(d, 2147483648)",
            "(d as i32) as i64", "i - low", "(d + 4294967296 * (d & 1)) & 0xffffffff", "(d * 65536 * 65536 + d) & 0xfffff",
        )  # fmt: skip

    def function(self):
        self.traps = self.chance(0.25)
        lines = ["let d = i - low;", f"var x = {self.place()};"]
        if self.traps:
            lines.append(f"if d == {self.pick(0, 1, 30)} {{ x += {self.pick('4294967296', '-4294967296', '8589934592', '2147483648', 'big')}; }}")
        lines += [f"var s = {number(self.kind, 'a[x]')};", f"s += {number(self.kind, f'a[{self.place()}]')};"]
        if self.chance(0.5):
            lines.append(f"for k in {self.pick('big..big + 5', 'big - 3..big + 2', 'big..big + 9 step 4')} {{ s = s * 3 + {self.element('math.abs(k - big + d)')}; }}")
        if self.chance(0.6):
            dividend = self.pick("i", "d", "d * 1099511627776 + i", "i * i", "-d", "i * 2147483647")
            lines.append(f"s += ({dividend}) / w * 3 + ({dividend}) % w;")
        lines.append("out[d] = s;")
        return [f"fn {self.name}(a: [{self.kind}], low: i64, high: i64, big: i64, w: i64, out: [i64]) {{",
                "    parallel for i in low..high {", *("        " + line for line in lines), "    }", "}"]  # fmt: skip

    def call(self):
        low = self.random.choice(BORDERS)
        big = self.random.choice(BORDERS[2:9])
        return [*self.filled("a", self.length), f"let out = [i64]({self.length});",
                f"{self.name}(a, {low}, {low + self.length}, {big}, {self.random.choice(DIVISORS)}, out);",
                "for x in out { h = h * 31 + x; }"]  # fmt: skip


KINDS = (Search, Search, Meeting, Scatter, Fold, Border, Border, Border)


class Program:
    """A random program; the same one for the same seed. A brief one has fewer launches."""

    def __init__(self, seed, brief=False):
        self.random = random.Random(seed)
        count = self.random.randint(2, 3) if brief else self.random.randint(4, 7)
        lengths = LENGTHS if brief else LENGTHS + LONG
        self.loops = [self.random.choice(KINDS)(self.random, f"loop{n}", self.random.choice(lengths)) for n in range(count)]

    def source(self):
        text = ["import atomic;", "import math;", ""]
        main = []
        for loop in sorted(self.loops, key=lambda loop: getattr(loop, "traps", False)):
            text += [*loop.function(), ""]
            main += ["{", "    var h = 7;", *("    " + line for line in loop.call()), "    print(h);", "}"]
        return "\n".join([*text, "fn main() {", *("    " + line for line in main), "}", ""])
