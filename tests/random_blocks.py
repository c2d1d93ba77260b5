# SPDX-License-Identifier: Apache-2.0
"""Random programs for random_nests.py with parallel loops that go by blocks: reductions into elements of arrays and of
structs, by functions, and searches; with assertions and traps that the program catches, most of them in the last
iterations."""

import random

KINDS = ("i64", "i64", "i32", "f64", "f32", "u8")
# One below and one above blocks of 64 iterations, and many blocks.
LENGTHS = (0, 1, 2, 63, 64, 65, 127, 129, 1000, 1025, 4097)


class Loop:
    """A function with one such loop over x: [T] and keys: [i64], whose elements lie in 0..bins. It prints what comes
    out."""

    def __init__(self, chooser, number):
        self.random = chooser
        self.name = f"blocks{number}"
        self.kind = chooser.choice(KINDS)
        self.dimensions = chooser.choice((1, 1, 1, 2, 3))
        self.step = chooser.choice((1, 1, 1, 2, 7, -1)) if self.dimensions == 1 else 1
        self.form = chooser.choice((self.into_elements, self.into_elements, self.by_function, self.search, self.search))
        self.asserts = chooser.random() < 0.4

    def chance(self, share):
        return self.random.random() < share

    def head(self, reductions):
        low, high = ("n - 1", "-1") if self.step < 0 else ("0", "n")
        ranges = [f"i in {low}..{high}" + (f" step {self.step}" if self.step != 1 else "")]
        ranges += ["j in 0..3"] if self.dimensions > 1 else []
        ranges += ["h in 0..=1"] if self.dimensions > 2 else []
        return f"    parallel for {', '.join(ranges)} reduce({', '.join(reductions)}) {{"

    def condition(self):
        index = self.random.choice(
            ["i", *(["j"] if self.dimensions > 1 else []), *(["h"] if self.dimensions > 2 else [])]
        )
        return self.random.choice((f"{index} % {self.random.choice((2, 3, 5))} == {self.random.choice((0, 1))}",
                                   f"keys[i] > {self.random.choice((0, 1, 3))}", f"x[i] > (3 as {self.kind})"))

    def guarded(self, line):
        """The line, under a condition, in an inner loop, or behind a `continue`."""
        form = self.random.random()
        if form < 0.2:
            return [f"if {self.condition()} {{ {line} }}"]
        if form < 0.35:
            return [f"for k in 0..{self.random.choice((1, 2, 5))} {{ if {self.condition()} {{ continue; }} {line} }}"]
        if form < 0.45:
            return [f"if {self.condition()} {{ continue; }}", line]
        if form < 0.55:
            return [f"around: for k in 0..3 {{ for l in 0..3 {{ if l > k {{ continue around; }} {line} }} }}"]
        return [line]

    def checks(self):
        if not self.asserts:
            return []
        return [self.random.choice(("assert(keys[i] <= limit);", 'assert(keys[i] <= limit, "a key is too large");',
                                    "assert(small(keys[i], limit));", 'if keys[i] > limit { trap("a key"); }'))]

    def into_elements(self):
        is_integer = self.kind[0] != "f"
        op = self.random.choice(("+", "+", "min", "max", "*") + (("|", "^", "&") if is_integer else ()))
        is_struct = self.chance(0.25)
        rank = self.random.choice((1, 1, 2))
        kind = f"Pair{self.name}" if is_struct else self.kind
        place = "sums[keys[i]]" if rank == 1 else f"sums[keys[i], {self.random.choice(('i % 3', 'keys[i] % 3'))}]"
        updated = f"{place}.{self.random.choice('ab')}" if is_struct else place
        update = f"{updated} = math.{op}({updated}, x[i]);" if op in ("min", "max") else f"{updated} {op}= x[i];"
        also = self.chance(0.2) and self.dimensions == 1
        size = "bins" if rank == 1 else "bins, 3"
        lines = [
            f"    let sums = [{kind}{', 2' if rank == 2 else ''}]({size});",
            *(["    let own = [i64](n);"] if also else []),
            self.head([f"{op}: sums[]"]),
        ]
        body = [*self.checks(), *self.guarded(update), *(["own[i] = keys[i];"] if also else [])]
        lines += ["        " + line for line in body] + ["    }"]
        each = "" if rank == 1 else "for q in 0..3 { "
        element = "sums[p]" if rank == 1 else "sums[p, q]"
        parts = [f"{element}.a", f"{element}.b"] if is_struct else [element]
        shown = ", ".join(bits(self.kind, part) for part in parts)
        lines.append(f"    for p in 0..bins {{ {each}print({shown});{' }' if each else ''} }}")
        return lines

    def by_function(self):
        lines = [
            (
                f"    var best = Best{self.name}(x[0], -1);"
                if self.chance(0.5)
                else f"    var best = Best{self.name}(3 as {self.kind}, 7);"
            ),
            self.head([f"nearer_{self.name}: best"]),
        ]
        update = f"best = nearer_{self.name}(best, Best{self.name}(x[i], i));"
        lines += ["        " + line for line in (*self.checks(), *self.guarded(update))]
        return [*lines, "    }", f"    print({bits(self.kind, 'best.value')}, best.at);"]

    def search(self):
        hit = self.random.choice(
            (
                f"x[i] == ({self.random.choice((200, 5, 97))} as {self.kind})",
                "keys[i] == limit",
                "i == n - 1",
                "keys[i] < 0",
            )
        )
        if self.chance(0.4):
            lines = ["    var found = false;", self.head(["any: found"])]
            update = self.random.choice((f"found = {hit};", f"if {hit} {{ found = true; }}"))
            shown = "found"
        else:
            lines = ["    var at = -7;", self.head(["first: at"])]
            update = f"if {hit} {{ at = i{' * 10 + j' if self.dimensions > 1 else ''}; }}"
            shown = "at"
        # Iterations behind a hit may trap or not.
        lines += ["        " + line for line in self.guarded(update)]
        return [*lines, "    }", f"    print({shown});"]

    def function(self):
        lines = self.form()
        head = f"fn {self.name}(x: [{self.kind}], keys: [i64], n: i64, bins: i64, limit: i64) {{"
        return "\n".join(
            [
                f"struct Pair{self.name} {{ a: {self.kind}; b: {self.kind}; }}",
                f"struct Best{self.name} {{ value: {self.kind}; at: i64; }}",
                f"fn nearer_{self.name}(a: Best{self.name}, b: Best{self.name}) -> Best{self.name} =>",
                "    if b.value > a.value || b.value == a.value && b.at < a.at { b } else { a };",
                head,
                *lines,
                "}",
                "",
            ]
        )


def bits(kind, value):
    """A number that says which bits a value has. Any NaN is as good as another: processors give different ones."""
    if kind[0] != "f":
        return value
    value = f"(if math.is_nan({value}) {{ {kind}.nan }} else {{ {value} }})"
    return f"math.bits_f32({value})" if kind == "f32" else f"math.bits({value})"


class Program:
    """A random program; the same one for the same seed. A brief one launches its loops once or twice."""

    def __init__(self, seed, brief=False):
        self.random = random.Random(seed)
        self.launches = (1, 2) if brief else (2, 4)
        self.loops = [Loop(self.random, number) for number in range(3)]

    def source(self):
        lines = []
        for loop in self.loops:
            for launch in range(self.random.randint(*self.launches)):
                lines += self.launch(loop, f"{loop.name}_{launch}")
        body = "\n".join("    " + line for line in lines)
        functions = [loop.function() for loop in self.loops]
        return "\n".join(
            [
                "import math;",
                "",
                "fn small(key: i64, limit: i64) -> bool { assert(key <= limit); return true; }",
                "",
                *functions,
                f"fn main() {{\n{body}\n}}\n",
            ]
        )

    def launch(self, loop, name):
        length = self.random.choice(LENGTHS)
        bins = self.random.choice((1, 3, 4, 17, 500))
        factor = self.random.choice((1, 7, 13))
        yield f"let {name} = [{loop.kind}]({max(length, 1)});"
        yield f"let {name}_keys = [i64]({max(length, 1)});"
        yield (
            f"for i in 0..{name}.len {{ {name}[i] = ((i * {factor} + {self.random.randint(0, 9)}) % 101) as {loop.kind}; "
            f"{name}_keys[i] = (i * {factor}) % {bins}; }}"
        )
        limit = bins
        if length > 0 and loop.form != loop.search and self.random.random() < 0.4:
            # Out of range, and behind the limit of assertions.
            bad = self.random.choice((length - 1, length // 2, 0))
            yield f"{name}_keys[{bad}] = {bins + self.random.randint(1, 9)};"
        call = f"{loop.name}({name}, {name}_keys, {length}, {bins}, {limit});"
        yield self.random.choice((f"try {{ {call} }} catch err {{ print(err.kind.name(), err.message); }}",
                                  f"print(try {{ {call} 1 }} catch err {{ err.message.len }});"))
