# SPDX-License-Identifier: Apache-2.0
"""Random programs for random_functions.py about indices that loops check ahead: arrays, lists, rows of both and arrays
of two dimensions, accessed in arms of conditions, in loops that count up in steps or until something is found, at the
counter, beside it, beyond it or at another place. Lists grow and shrink meanwhile, rows and arrays of fields are
replaced by others that are known under several names, and indices that are out of range are caught or end the function.
"""

import random

HEAD = """class Holder { items: [i64]; }
fn hash_of(a: [i64]) -> i64 {
    var h = 7;
    for x in a { h = (h * 31 + x) & 0xffffffff; }
    return h;
}
"""
PARAMETERS = ("n: i64, k: i64, m: i64, a: [i64], given: [i64], xs: List<i64>, ll: List<List<i64>>, t: [[i64]], "
              "g: [i64, 2], h: Holder")  # fmt: skip
MAIN_BEGIN = """fn main() {
    var sum = 0;
    for round in 0..25 {
        let n = round % 9;
        let a = [i64](8);
        let b = [i64](5 + round % 6);
        for i in 0..8 { a[i] = i * 3 + round; }
        for i in 0..b.len { b[i] = i ^ round; }
        let ll: List<List<i64>> = [[1, 2, 3], [4, 5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16], [2, 3, 4, 5, 6, 7]];
        let t = [a, b, [i64](3), a, b, [i64](9)];
        let g = [i64, 2](6, 7, fill: round);
        let h = Holder(b);
        let ys: List<i64> = [1, 2, 3, 4, 5, 6];
"""
MAIN_END = """        sum = (sum * 3 + hash_of(a) + hash_of(b) + hash_of(h.items)) & 0xffffffffff;
        for y in ys { sum = (sum * 3 + y) & 0xffffffffff; }
        for l in ll { for y in l { sum = (sum * 3 + y) & 0xffffffffff; } }
        for l in t { sum = (sum * 3 + hash_of(l)) & 0xffffffffff; }
        for i in 0..6 { for j in 0..7 { sum = (sum * 3 + g[i, j]) & 0xffffffffff; } }
        print(sum);
    }
}
"""
DEEPEST = 4  # of statements


class Code:
    """A function of three numbers and of all kinds of arrays and lists."""

    def __init__(self, chooser, name):
        self.random = chooser
        self.name = name
        self.counters = []  # that are visible
        self.made = 0
        self.lines = [f"fn {name}({PARAMETERS}) -> i64 {{", "    var s = n + k;", "    var b = given;"]
        self.statements(1, chooser.randint(3, 6), in_loop=False)
        self.lines += ["    return s;", "}"]

    def pick(self, *choices):
        return self.random.choice(choices)

    def add(self, depth, text):
        self.lines.append("    " * depth + text)

    def counter(self, otherwise):
        return self.random.choice(self.counters) if self.counters else otherwise

    def index(self):
        i = self.counter("n")
        form = self.random.randint(0, 10)
        if form < 4:
            return i
        if form < 6:
            return f"{i} {self.pick('- 1', '- k', '- m', '- 2', '+ 1', '+ k', '+ m', '+ n')}"
        if form < 8:
            return self.pick(f"n - {i}", f"k - {i}", f"m - {i}", "k", "m", "n", "0", "1")
        return self.pick(f"({i} & 7)", f"{i} * 2", f"{i} * k", f"{i} - {self.counter('k')}", "(s & 3)")

    def element(self):
        i = self.index()
        form = self.random.randint(0, 7)
        if form < 5:
            return f"{self.pick('a', 'b', 'xs', 'xs', 'h.items')}[{i}]"
        if form < 7:
            return f"{self.pick('t', 'll')}[{i}][{self.index()}]"
        return f"g[{i}, {self.index()}]"

    def condition(self):
        i = self.counter("s")
        form = self.random.randint(0, 6)
        if form == 0:
            return f"{i} >= {self.pick('k', 'm', '1', '3')}"
        if form == 1:
            return f"{i} < {self.pick('n', 'k', 'm', 'a.len', 'xs.len()', '5')}"
        if form == 2:
            return f"{i} % {self.random.randint(2, 4)} == {self.random.randint(0, 1)}"
        if form == 3:
            return f"s & {self.pick(1, 2, 4)} != 0"
        if form == 4:
            return f"{i} > 0 && {i} < {self.pick('a.len', 'xs.len()', 'n')}"
        if form == 5:
            return f"{self.element()} & 1 == 0"
        return f"{i} != {self.pick('k', 'm', '0')}"

    def statements(self, depth, count, in_loop):
        for _ in range(count):
            if self.random.random() < 0.5 or depth > DEEPEST:
                self.simple(depth)
            else:
                self.block(depth, in_loop)

    def simple(self, depth):
        form = self.random.randint(0, 9)
        if form < 4:
            self.add(depth, f"s = (s * 3 + {self.element()}) & 0xffffff;")
        elif form < 6:
            self.add(depth, f"{self.element()} = s & 255;")
        elif form == 6:
            self.add(depth, f"{self.element()} += {self.pick('1', 's & 7')};")
        else:
            self.change(depth)

    def change(self, depth):
        """Gives a list another length, or puts another array in the place of one."""
        array = self.pick("a", "b", "h.items", "[i64](4)")
        self.add(depth, self.pick(
            "if xs.len() < 40 { xs.push(s & 15); }",
            "if xs.len() > 3 { xs.pop(); }",
            f"if {self.condition()} {{ h.items = {array}; }}",
            f"if {self.condition()} {{ b = {array}; }}",
            f"if s & 7 == 3 {{ ll[{self.index()}] = xs; }}",
            f"t[{self.index()}] = {array};",
        ))  # fmt: skip

    def block(self, depth, in_loop):
        form = self.random.randint(0, 8)
        if form < 3:
            self.add(depth, f"if {self.condition()} {{")
            self.statements(depth + 1, self.random.randint(1, 2), in_loop)
            if self.random.random() < 0.4:
                self.add(depth, "} else {")
                self.statements(depth + 1, 1, in_loop)
            self.add(depth, "}")
        elif form < 6:
            self.counted_loop(depth)
        elif form == 6:
            self.searching_loop(depth)
        elif form == 7 and in_loop:
            self.add(depth, f"if {self.condition()} {{ {self.pick('break', 'continue')}; }}")
        else:
            self.add(depth, "try {")
            self.statements(depth + 1, self.random.randint(1, 2), in_loop=False)
            self.add(depth, f"}} catch e {{ s += {self.random.randint(1, 9)}; }}")

    def counted_loop(self, depth):
        i = self.fresh("i")
        low = self.pick("0", "0", "0", "1", "k", "-1", "2")
        high = self.pick("n", "n", "k", "a.len", "xs.len()", "3", "8", "m", "16")
        step = self.pick("", "", "", "", " step 2", " step k + 1")
        self.add(depth, f"for {i} in {low}{self.pick('..', '..', '..=')}{high}{step} {{")
        self.counters.append(i)
        self.statements(depth + 1, self.random.randint(1, 3), in_loop=True)
        self.counters.pop()
        self.add(depth, "}")

    def searching_loop(self, depth):
        i = self.fresh("w")
        step = f"{i} += {self.pick(1, 1, 2)};"
        is_first = self.random.random() < 0.5
        self.add(depth, f"var {i} = {self.pick('0', 'k', 'n')};")
        end = f"{i} {self.pick('<', '!=')} {self.pick('n + 3', '9', 'a.len')}"
        self.add(depth, f"while {end} && {i} >= 0 && {i} < 60 {{")
        if is_first:
            self.add(depth + 1, step)
        self.counters.append(i)
        self.statements(depth + 1, self.random.randint(1, 2), in_loop=False)
        self.counters.pop()
        if not is_first:
            self.add(depth + 1, step)
        self.add(depth, "}")

    def fresh(self, prefix):
        self.made += 1
        return f"{prefix}{self.made}"


def program(seed):
    """The text of a program that ends without a trap."""
    chooser = random.Random(seed)
    functions = [Code(chooser, f"f{i}") for i in range(chooser.randint(1, 3))]
    calls = []
    for code in functions:
        arguments = "n, round % 4, round % 5 - 1, a, b, ys, ll, t, g, h"
        calls.append(f"        try {{ sum = (sum * 7 + {code.name}({arguments})) & 0xffffffffff; }}")
        calls.append("        catch e { sum += 1; print(e.message); }")
    body = [line for code in functions for line in code.lines]
    return "\n".join(["// SPDX-License-Identifier: Apache-2.0", HEAD, *body, MAIN_BEGIN, *calls, MAIN_END])
