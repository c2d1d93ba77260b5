# SPDX-License-Identifier: Apache-2.0
"""Random programs for random_nests.py and random_kernels.py about variables that get values of several sources: one
variable, and so one register of compiled code, is a constant of any size on one way and an element of a narrow array,
a comparison, a length, a cast, a field or the result of a call on another. The ways go through conditions, matches and
loops that are left early; in functions also through closures, nullables and caught traps, in parallel loops into
elements and reductions."""

import random

INTEGERS = ("i64", "i32", "u8", "u16", "u32", "i8", "i16", "u64")
FLOATS = ("f32", "f64")
KINDS = (*INTEGERS, *FLOATS, "bool")
# Most variables have 64 bits, which narrower integers without a sign become without an instruction.
VARIABLES = ("i64",) * 6 + ("u64", "u64", "i32", "i32", "u32", "f64", "f32", "u16", "i16")
RESULTS = ("i64",) * 4 + ("u64", "i32", "u32")
CONSTANTS = (0, 1, -1, -1, -2, -9, 7, 127, 255, -128, -129, 32767, -32768, 65535, -70000, 2**31 - 1, 2**31, -(2**31),
             -(2**31) - 1, 2**32 - 1, 2**32, 2**32 + 5, -(2**32), 2**53 + 1, -(2**62))  # fmt: skip
LENGTHS = (1, 2, 15, 33, 64, 100)
ELEMENTS = (0, 1, 2, 3, 100, 127, 128, 200, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, -1, -2,
            -128, -32768, -(2**31), -(2**62))  # fmt: skip


def literal(value, kind):
    """A constant of the kind: the integer, or the one with its lowest bits."""
    if kind in FLOATS:
        return f"{value}.0{kind}" if value >= 0 else f"(-{-value}.0{kind})"
    bits = int(kind[1:])
    value &= 2**bits - 1
    if kind[0] == "u" or value < 2 ** (bits - 1):
        return f"{value}{kind}"
    value -= 2**bits
    return f"{kind}.min" if value == -(2 ** (bits - 1)) else f"(-{-value}{kind})"


class Code:
    """A function of some variables: it is called for numbers c from 0 to n - 1, or has a parallel loop over them."""

    def __init__(self, chooser, name):
        self.random = chooser
        self.name = name
        self.in_kernel = chooser.random() < 0.5
        self.arrays = [(f"a{n}", kind) for n, kind in enumerate(chooser.sample(KINDS, 4))]
        self.result = chooser.choice(RESULTS)
        self.parameter = chooser.choice(INTEGERS)
        self.variables = {}  # that are assigned: names to types
        self.fixed = {"c": "i64", "n": "i64", "p": self.parameter}
        self.made = 0
        self.loops = 0
        self.budget = chooser.randint(3, 8)
        self.reduction = chooser.choice(("+", "min", "max", "^", "better", None, None)) if self.in_kernel else None
        self.lines = self.body()

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def fresh(self, prefix):
        self.made += 1
        return f"{prefix}_{self.made}"

    def constant(self, kind):
        value = self.random.choice(CONSTANTS)
        if kind in INTEGERS and self.chance(0.1):
            return f"{kind}.{self.pick('min', 'max')}"
        if kind in INTEGERS and self.chance(0.2):
            return f"({literal(value, self.pick('i64', 'i64', 'i32', 'i16'))} as {kind})"
        return literal(value, kind)

    def index(self):
        return self.pick("c", "c", "(c + 1)", "(c * 7 + 3)", "(c >> 1)", "(n - c)")

    def operand(self):
        """A number that is there already, and its type."""
        if self.chance(0.6):
            name, kind = self.random.choice(self.arrays)
            text = f"{name}[{self.index()} & 15]"
            return (f"({text} as u8)", "u8") if kind == "bool" else (text, kind)
        return self.random.choice(list({**self.fixed, **self.variables}.items()))

    def converted(self, kind):
        text, found = self.operand()
        return text if found == kind else f"({text} as {kind})"

    def comparison(self):
        left, kind = self.operand()
        op = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"({left} {op} {self.pick(self.converted(kind), self.constant(kind))})"

    def condition(self):
        return self.pick(self.comparison(), f"(c % {self.pick(2, 3, 4)} {self.pick('==', '!=')} {self.pick(0, 1)})",
                         f"(c {self.pick('<', '>')} {self.pick(3, 8, 'n / 2')})")  # fmt: skip

    def value(self, kind, depth=1):
        form = self.random.random()
        if form < 0.25:
            return self.constant(kind)
        if form < 0.6 or depth == 0:
            return self.converted(kind)
        other = self.random.choice(INTEGERS)
        if form < 0.68:
            return f"({self.comparison()} as i64 as {kind})" if kind in FLOATS else f"({self.comparison()} as {kind})"
        if form < 0.74:
            return f"({self.converted(other)} as {kind})"
        if form < 0.77:
            return f"(a{self.random.randrange(4)}.len as {kind})"
        if form < 0.82:
            return f"(early_{other}({self.condition()}, {self.value(other, 0)}) as {kind})"
        low, high = self.value(kind, 0), self.value(kind, 0)
        if form < 0.88:
            return f"(if {self.condition()} {{ {low} }} else {{ {high} }})"
        if form < 0.92:
            return f"(match {self.index()} & 7 {{ 0 | 5 => {low}, 1..4 => {self.value(kind, 0)}, else => {high}, }})"
        if form < 0.95 or (self.in_kernel and form < 0.97):
            return f"math.{self.pick('min', 'max')}({low}, {high})"
        if self.in_kernel:
            return f"({low} {self.pick('+', '-', '*')} {high})"
        return self.pick(
            f"(fn(x: {self.parameter}) -> {kind} => if {self.condition()} {{ x as {kind} }} else {{ {low} }})(p)",
            f"((given_{self.parameter}({self.condition()}, p) ?? {self.constant(self.parameter)}) as {kind})",
            f"(text_of(c)[0] as {kind})",
        )

    def declare(self):
        """A variable, two by a tuple, or a struct, whose fields are variables."""
        form = self.random.random()
        if form < 0.12:
            pair = {self.fresh("v"): self.random.choice(VARIABLES) for _ in range(2)}
            values = ", ".join(f"{self.value(kind)} as {kind}" for kind in pair.values())
            self.variables |= pair
            return [f"var ({', '.join(pair)}) = ({values});"]
        if form < 0.24:
            name = self.fresh("s")
            fields = {"wide": "i64", "half": "i32", "byte": "u8", "real": "f32"}
            values = ", ".join(self.value(kind) for kind in fields.values())
            self.variables |= {f"{name}.{field}": kind for field, kind in fields.items()}
            return [f"var {name} = Mixed({values});"]
        kind = self.random.choice(VARIABLES)
        first = self.constant(kind) if self.chance(0.7) else self.value(kind)
        name = self.fresh("v")
        self.variables[name] = kind
        return [f"var {name}: {kind} = {first};"]

    def assign(self):
        name, kind = self.random.choice(list(self.variables.items()))
        form = self.random.random()
        if form < 0.7:
            return [f"{name} = {self.value(kind)};"]
        if form < 0.85:
            op = self.pick("+", "-", "*") if kind in FLOATS else self.pick("+", "-", "^", "|", "&", "*")
            return [f"{name} {op}= {self.value(kind)};"]
        return [f"{name} = math.{self.pick('min', 'max')}({name}, {self.value(kind)});"]

    def block(self, depth, least=1):
        """Statements whose own variables end with them."""
        before = dict(self.variables)
        lines = [line for _ in range(self.random.randint(least, 2)) for line in self.statement(depth)]
        self.variables = before
        return ["    " + line for line in lines]

    def choose(self, depth):
        lines = [f"if {self.condition()} {{", *self.block(depth)]
        if self.chance(0.3):
            lines += [f"}} else if {self.condition()} {{", *self.block(depth)]
        if self.chance(0.4):
            lines += ["} else {", *self.block(depth)]
        return [*lines, "}"]

    def match(self, depth):
        arms = [f"0 | {self.pick(3, 5)}", "1..3", "else"]
        lines = [line for arm in arms for line in (f"    {arm} => {{", *self.block(depth), "    }")]
        return [f"match {self.index()} & 7 {{", *lines, "}"]

    def leave(self):
        return f"    if {self.condition()} {{ {self.pick('break', 'continue', 'continue')}; }}"

    def repeat(self, depth):
        """A loop: variables carry values from turn to turn."""
        if self.loops == 2:
            return self.choose(depth)
        name = self.fresh("k")
        form = self.random.random()
        before = []
        if form < 0.25:
            before = [f"var {name} = {self.pick(-2, -1, 0)};"]
            head, kind = f"while {name} < {self.pick(3, 5)} && {self.condition()} {{", "i64"
            first = [f"    {name} += 1;"]
        elif form < 0.4:
            array, kind = self.random.choice(self.arrays)
            head, first = f"for {name} in {array} {{", []
        else:
            kind = self.pick("i64", "i64", "i32")
            bounds = "0i32..7i32" if kind == "i32" else self.pick("0..(n & 15)", "-3..4", "0..9", "2..12 step 3")
            head, first = f"for {name} in {bounds} {{", []
        self.loops += 1
        if kind != "bool":
            self.fixed[name] = kind
        first += [self.leave()] if self.chance(0.5) else []
        lines = [*before, head, *first, *self.block(depth), *([self.leave()] if self.chance(0.3) else []), "}"]
        self.fixed.pop(name, None)
        self.loops -= 1
        return lines

    def extreme(self):
        """The largest element or the smallest, and where it lies."""
        array, kind = self.random.choice(self.arrays)
        wide = self.random.choice(("i64", "i64", "i32", "f64"))
        best, at, k = self.fresh("v"), self.fresh("v"), self.fresh("k")
        first = self.constant(wide)
        self.variables |= {best: wide, at: "i64"}
        return [f"var {best}: {wide} = {first};", f"var {at} = {self.pick(-1, -1, 0, -7)};",
                f"for {k} in 0..{self.pick(16, '(n & 15)', '(c & 15)')} {{",
                f"    let x = {array}[{k}] as {'i64 as ' if kind == 'bool' else ''}{wide};",
                f"    if x {self.pick('<', '>')} {best} {{ {best} = x; {at} = {k}; }}", "}"]  # fmt: skip

    def attempt(self, depth):
        return ["try {", *self.block(depth), f'    if {self.condition()} {{ trap("t"); }}', *self.block(depth, 0),
                f"}} catch {self.fresh('caught')} {{", *self.block(depth, 0), "}"]  # fmt: skip

    def change_by_closure(self):
        whole = [entry for entry in self.variables.items() if "." not in entry[0]]
        if not whole:
            return self.declare()
        name, kind = self.random.choice(whole)
        change = self.fresh("f")
        return [f"let {change} = fn(x: {self.parameter}) {{ if {self.condition()} {{ {name} = x as {kind}; }} }};",
                f"{change}(p);"]  # fmt: skip

    def statement(self, depth):
        self.budget -= 1
        if self.chance(0.1):
            return self.declare()
        if depth == 0 or self.budget < 0:
            return self.assign()
        forms = [self.assign, self.extreme]
        nested = [self.choose] * 3 + [self.repeat] * 2 + [self.match]
        if not self.in_kernel:
            forms.append(self.change_by_closure)
            nested.append(self.attempt)
        return self.random.choice(forms)() if self.chance(0.35) else self.random.choice(nested)(depth - 1)

    def leave_function(self):
        return "continue;" if self.in_kernel else f"return {self.value(self.result)};"

    def body(self):
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.declare()]
        while self.budget > 0:
            if self.chance(0.08):
                lines.append(f"if {self.condition()} {{ {self.leave_function()} }}")
            lines += self.statement(3)
        lines.append("var h = 7;")
        for name, kind in self.variables.items():
            shown = f"({name} * 16.0) as i64" if kind in FLOATS else f"{name} as i64"
            lines.append(f"h = h * 31 + ({shown});")
        return [*lines, f"let r = (h as {self.result}) ^ {self.value(self.result)};"]

    def function(self):
        parameters = ", ".join(f"{name}: [{kind}]" for name, kind in self.arrays)
        own = f"{'out: [' + self.result + ']' if self.in_kernel else 'c: i64'}, n: i64, p: {self.parameter}"
        lines = ["    " + line for line in self.lines]
        if not self.in_kernel:
            return [f"fn {self.name}({parameters}, {own}) -> {self.result} {{", *lines, "    return r;", "}"]
        head = f"fn {self.name}({parameters}, {own}) {{"
        last = ["out[c] = r;"]
        first = []
        shown = []
        reduction = ""
        if self.reduction == "better":
            first = [f"    var best = Best({self.pick(-1, -9, 'i64.min', 3)}, -1);"]
            last.append("best = better(best, Best(r as i64, c));")
            shown = ["    print(best.value, best.at);"]
            reduction = " reduce(better: best)"
        elif self.reduction:
            first = [f"    var total: {self.result} = {self.constant(self.result)};"]
            is_extreme = self.reduction in ("min", "max")
            last.append(f"total = math.{self.reduction}(total, r);" if is_extreme else f"total {self.reduction}= r;")
            shown = ["    print(total);"]
            reduction = f" reduce({self.reduction}: total)"
        return [head, *first, f"    parallel for c in 0..n{reduction} {{", *("    " + line for line in lines),
                *("        " + line for line in last), "    }", *shown, "}"]  # fmt: skip

    def call(self):
        n = self.random.choice(LENGTHS)
        lines = []
        for name, kind in self.arrays:
            value = f"elements[(i * {self.pick(1, 3, 5)} + {self.random.randrange(23)}) % elements.len]"
            value = f"{value} % 3 == 1" if kind == "bool" else f"{value} as {kind}"
            lines += [f"let {name} = [{kind}](16);", f"for i in 0..16 {{ {name}[i] = {value}; }}"]
        arrays = ", ".join(name for name, _ in self.arrays)
        arguments = f"{n}, {self.constant(self.parameter)}"
        if self.in_kernel:
            lines += [f"let out = [{self.result}]({n});", f"{self.name}({arrays}, out, {arguments});"]
            return [*lines, "for x in out { h = h * 31 + (x as i64); }"]
        return [*lines, f"for c in 0..{n} {{ h = h * 31 + ({self.name}({arrays}, c, {arguments}) as i64); }}"]


def helpers():
    for kind in INTEGERS:
        yield f"fn given_{kind}(given: bool, x: {kind}) -> {kind}? {{ if given {{ return x; }} return null; }}"
    for kind in INTEGERS:
        wide = "i64" if kind != "i64" else "i32"
        yield f"fn early_{kind}(c: bool, x: {kind}) -> {wide} {{ if c {{ return x as {wide}; }} return -3; }}"
    yield f"const elements = [{', '.join(map(str, ELEMENTS))}];"
    yield 'fn text_of(c: i64) -> str => f"{c}";'
    yield "struct Mixed { wide: i64; half: i32; byte: u8; real: f32; }"
    yield "struct Best { value: i64; at: i64; }"
    yield "fn better(a: Best, b: Best) -> Best =>"
    yield "    if b.value > a.value || b.value == a.value && b.at < a.at { b } else { a };"


class Program:
    """A random program; the same one for the same seed. A brief one has fewer functions."""

    def __init__(self, seed, brief=False):
        self.random = random.Random(seed)
        self.codes = [Code(self.random, f"code{n}") for n in range(2 if brief else 5)]

    def source(self):
        text = ["import math;", "", *helpers(), ""]
        main = []
        for code in self.codes:
            text += [*code.function(), ""]
            main += ["{", "    var h = 7;", *("    " + line for line in code.call()), "    print(h);", "}"]
        return "\n".join([*text, "fn main() {", *("    " + line for line in main), "}", ""])
