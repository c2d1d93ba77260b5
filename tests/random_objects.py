# SPDX-License-Identifier: Apache-2.0
"""Random programs for random_functions.py about objects that functions make and drop: results of methods and of inlined
functions, objects of other objects, of both sides of a condition, of loops that are left early, and of results and
nullables. Some are compared by identity, changed by functions that are called, kept in a list, or caught by a handler
while a trap goes by: which of them need to be objects at all is for the compiler to find out."""

import random

HEAD = """class V {
    x: i64; y: i64; z: f64;
    fn plus(o: V) -> V => V(x + o.x, y - o.y, z + o.z);
    fn times(k: i64) -> V => V(x * k, y + k, z * 0.5);
    fn swap() { let t = x; x = y; y = t; }
    fn norm() -> i64 => x * x + y * y;
    fn me() -> V => this;
}
class Box { v: V; n: i64; }
fn make(a: i64, b: i64) -> V => V(a, b, (a - b) as f64);
fn pick(first: bool, a: V, b: V) -> V => if first { a } else { b };
fn touch(v: V) { v.x += 1; }
fn check(v: V, n: i64) -> V! {
    if v.x % 7 == n { return Error("seven"); }
    return v;
}
fn element(v: V, a: [i64]) -> i64 => a[v.x & 15];
"""
ELEMENTS = "[1, 2, 3, 4, 5, 6, 7, 8, 9]"
DEEPEST = 4  # of statements and of expressions


class Code:
    """A function of a number and of a list of objects that outlive it."""

    def __init__(self, chooser, name):
        self.random = chooser
        self.name = name
        self.objects = [f"v{i}" for i in range(chooser.randint(2, 5))]
        self.made = 0
        self.lines = [f"fn {name}(n: i64, keep: List<V>) -> i64 {{", "    var s = n;", f"    let a = {ELEMENTS};"]
        for i, v in enumerate(self.objects):
            self.lines.append(f"    var {v} = V(n + {i}, n * {chooser.randint(1, 4)}, 0.5);")
        self.statements(1, chooser.randint(4, 9), in_loop=False)
        parts = [f"{v}.x * {i + 2} + {v}.y + ({v}.z as i64)" for i, v in enumerate(self.objects)]
        self.lines += [f"    return s + {' + '.join(parts)};", "}"]

    def pick(self, *choices):
        return self.random.choice(choices)

    def one(self):
        return self.random.choice(self.objects)

    def fresh(self, prefix):
        self.made += 1
        return f"{prefix}{self.made}"

    def add(self, depth, text):
        self.lines.append("    " * depth + text)

    def number(self, depth=0):
        v = self.one()
        form = self.random.randint(0, 9 if depth < DEEPEST - 1 else 7)
        if form < 3:
            return f"{v}.x"
        if form < 5:
            return f"{v}.y"
        if form < 8:
            return self.pick(str(self.random.randint(0, 9)), f"(-{self.random.randint(1, 5)})", "s", f"{v}.norm()")
        if form == 8:
            return f"({self.number(depth + 1)} + {self.number(depth + 1)})"
        return f"(({self.number(depth + 1)} & 31) - {self.random.randint(0, 9)})"

    def condition(self):
        if self.random.random() < 0.2:
            return f"{self.one()} == {self.one()}"
        compared = self.pick("==", "<", "!=")
        return f"{self.number()} % {self.random.randint(2, 5)} {compared} {self.random.randint(0, 2)}"

    def value(self, depth=0):
        """An object: a new one, one that is there, or one of two."""
        form = self.random.randint(0, 11)
        if form < 3 or depth == DEEPEST:
            return f"V({self.number()}, {self.number()}, s as f64)"
        if form == 3:
            return self.one()
        if form == 4:
            return f"make({self.number()}, {self.number()})"
        inner = self.value(depth + 1)
        if form == 5:
            return f"({inner} * {self.random.randint(1, 3)})"
        if form == 6:
            return f"Box({inner}, {self.number()}).v"
        if form == 7:
            return f"{inner}.me()"
        other = self.value(depth + 1)
        if form == 8:
            return f"({inner} + {other})"
        if form == 9:
            return f"(if {self.condition()} {{ {inner} }} else {{ {other} }})"
        if form == 10:
            return f"pick({self.condition()}, {inner}, {other})"
        return f"(check({inner}, {self.random.randint(0, 6)}) catch {{ {other} }})"

    def statements(self, depth, count, in_loop):
        for _ in range(count):
            if self.random.random() < 0.6 or depth > DEEPEST:
                self.simple(depth)
            else:
                self.block(depth, in_loop)

    def simple(self, depth):
        v = self.one()
        form = self.random.randint(0, 10)
        if form < 5:
            self.add(depth, f"{v} = {self.value()};")
        elif form == 5:
            self.add(depth, f"{v}.x {self.pick('=', '+=', '^=')} {self.number()};")
        elif form == 6:
            self.add(depth, f"{v}.y -= {self.number()};")
        elif form == 7:
            self.add(depth, self.pick(f"{v}.swap();", f"touch({v});"))
        elif form == 8:
            self.add(depth, f"s = (s * 31 + {self.number()}) & 1048575;")
        elif form == 9:
            self.add(depth, f"if keep.len() < 20 && {self.condition()} {{ keep.push({v}); }}")
        else:
            t = self.fresh("t")
            self.add(depth, f"{{ let {t} = {self.value()}; {t}.x += s; s += {t}.x; {v} = {t}; }}")

    def block(self, depth, in_loop):
        form = self.random.randint(0, 5)
        if form < 2:
            self.add(depth, f"if {self.condition()} {{")
            self.statements(depth + 1, self.random.randint(1, 3), in_loop)
            self.add(depth, "} else {")
            self.statements(depth + 1, self.random.randint(0, 2), in_loop)
            self.add(depth, "}")
        elif form == 2:
            i = self.fresh("i")
            self.add(depth, f"for {i} in 0..{self.pick(1, 2, 3, 7)} {{")
            self.add(depth + 1, f"s += {i};")
            self.statements(depth + 1, self.random.randint(1, 4), in_loop=True)
            self.add(depth, "}")
        elif form == 3 and in_loop:
            self.add(depth, f"if {self.condition()} {{ {self.pick('break', 'continue')}; }}")
        elif form == 4:
            self.add(depth, "try {")
            self.statements(depth + 1, self.random.randint(1, 2), in_loop=False)
            self.add(depth + 1, f"s += element({self.one()}, a);")
            self.add(depth, f"}} catch e {{ s += {self.one()}.x; {self.one()} = {self.value()}; }}")
        else:
            q = self.fresh("q")
            self.add(depth, f"let {q}: V? = if {self.condition()} {{ {self.value()} }} else {{ null }};")
            self.add(depth, f"if {q} != null {{ s += {q}.x; {self.one()} = {q}; }}")


def program(seed):
    """The text of a program that ends without a trap."""
    chooser = random.Random(seed)
    functions = [Code(chooser, f"f{i}") for i in range(chooser.randint(1, 2))]
    lines = ["fn main() {", "    let keep = List<V>();", "    var sum = 0;", "    for n in 0..60 {"]
    for code in functions:
        term = f"(sum * 7 + {code.name}(n, keep)) & 0xffffffffff"
        lines.append(f"        try {{ sum = {term}; }} catch e {{ sum += 1; }}")
    lines.append("        for v in keep { sum = (sum * 3 + v.x - v.y) & 0xffffffffff; }")
    lines += ["        print(sum);", "    }", "}"]
    body = [line for code in functions for line in code.lines]
    return "\n".join(["// SPDX-License-Identifier: Apache-2.0", HEAD, *body, *lines]) + "\n"
