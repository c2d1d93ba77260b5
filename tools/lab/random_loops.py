# SPDX-License-Identifier: Apache-2.0
"""Random programs of parallel loops, which share a few arrays between loops, and between loops and the host, which
reads, writes and closes them in between."""

import random


class Program:
    """A random program; the same one for the same seed. A patient one repeats its loops for longer, and sleeps in
    between."""

    TYPES = ("i64", "i64", "i32", "f64")

    def __init__(self, seed, patient):
        self.random = random.Random(seed)
        self.is_patient = patient
        self.most_turns = 10 if patient else 6
        self.lines = []
        self.arrays = {}  # name to (type, length), without those that are closed
        self.pairs = {}  # likewise of structs, to the length
        self.tables = {}  # likewise of rank 2, to (rows, columns)
        self.made = 0
        self.body()

    def source(self):
        main = ["fn main() {", *self.lines, "}", ""]
        return "\n".join(["import atomic;", "import time;", "", *self.functions(), *main])

    @staticmethod
    def functions():
        """Digests of arrays, and loops over two arrays, which may be the same one."""
        elements = dict.fromkeys(("i64", "i32", "f64"), "a[i] as i64")
        elements["Pair"] = "a[i].a * 3 + (a[i].b as i64)"
        yield "struct Pair { a: i64; b: f64; }\n"
        for name, element in elements.items():
            yield (
                f"fn digest_{name}(a: [{name}]) -> i64 {{\n    var h = 7;\n"
                f"    for i in 0..a.len {{ h = h * 31 + ({element}); }}\n    return h;\n}}\n"
            )
        yield (
            "fn digest_table(a: [i64, 2]) -> i64 {\n    var h = 7;\n"
            "    for i in 0..a.rows { for j in 0..a.cols { h = h * 31 + a[i, j]; } }\n    return h;\n}\n"
        )
        for name in ("i64", "i32", "f64"):
            yield (
                f"fn write_both_{name}(a: [{name}], b: [{name}], at: i64, by: i64, n: i64) {{\n"
                f"    parallel for i in 0..n {{\n        a[at + i] = (i * 3) as {name};\n"
                f"        b[at + by + i] = (i * 5 + at) as {name};\n    }}\n}}\n"
            )
            yield (
                f"fn move_{name}(a: [{name}], b: [{name}], at: i64, by: i64, n: i64) {{\n"
                f"    parallel for i in 0..n {{ b[at + by + i] = a[at + i]; }}\n}}\n"
            )

    def emit(self, text):
        self.lines.append("    " + text)

    def body(self):
        # Valid in every array. Where the host knows them, a loop that reads there does not have to be waited for.
        self.emit("let positions = [i64](64);")
        self.emit("for i in 0..64 { positions[i] = (i * 37) % 300; }")
        for _ in range(self.random.randint(2, 4)):
            self.new_array()
        steps = (
            [self.loop] * 8
            + [self.rounds] * (6 if self.is_patient else 2)
            + [self.parts] * 4
            + [self.two_names] * 2
            + [self.read] * 2
            + [self.write] * 2
            + [self.reduce, self.digest, self.count, self.close, self.move, self.exchange, self.renew]
            + [self.parts_of_pairs, self.parts_of_table]
        )
        for _ in range(self.random.randint(3, 7) if self.is_patient else self.random.randint(4, 14)):
            self.random.choice(steps)()
        for name in list(self.arrays):
            self.digest(name)
        for name in self.pairs:
            self.emit(f"print(digest_Pair({name}));")
        for name in self.tables:
            self.emit(f"print(digest_table({name}));")

    def fresh(self):
        name = f"a{self.made}"
        self.made += 1
        return name

    def new_array(self):
        name = self.fresh()
        kind = self.random.choice(self.TYPES)
        # Below 64 KiB an array lies in the heap; a few are large enough to go through small devices in slices.
        lengths = (300, 9000, 20_000, 20_000, 20_000, 60_000)
        # Worth sharing, where links are slow.
        length = self.random.choice(lengths + ((250_000,) if self.is_patient else ()))
        self.arrays[name] = (kind, length)
        self.emit(f"var {name} = [{kind}]({length});")
        if self.random.random() < 0.5:
            self.emit(f"for i in 0..{length} {{ {name}[i] = ((i * 37 + {self.made}) % 1009) as {kind}; }}")

    def pick(self):
        return self.random.choice(list(self.arrays))

    def like(self, name):
        """Other arrays of the same type and length."""
        return [other for other in self.arrays if other != name and self.arrays[other] == self.arrays[name]]

    def element(self, name, low, high, wanted):
        """An element for iteration i of low..high: it must be in range, and of type `wanted`."""
        kind, length = self.arrays[name]
        forms = [f"(i * {self.random.randint(1, 13)} + {self.random.randint(0, 99)}) % {length}", "positions[i & 63]"]
        if high <= length:
            forms += ["i"] * 3
            shift = self.random.randint(1, 3)
            if low >= shift:
                forms.append(f"i - {shift}")
            if high + shift <= length:
                forms.append(f"i + {shift}")
        text = f"{name}[{self.random.choice(forms)}]"
        return text if kind == wanted else f"({text} as {wanted})"

    def value(self, kind, low, high, sources):
        terms = [self.element(name, low, high, kind) for name in sources] + [f"(i as {kind})"]
        constants = [f"{self.random.randint(1, 9)}{'.0' if kind == 'f64' else ''}" for _ in terms]
        if kind == "f64":
            # Exact, so that digests of the values are.
            return " + ".join(f"{term} * 0.5" for term in terms)
        return " + ".join(f"{term} * {constant}" for term, constant in zip(terms, constants))

    def loop(self, indent=""):
        target = self.pick()
        length = self.arrays[target][1]
        low, high = 0, length
        if self.random.random() < 0.3:
            low = self.random.randint(0, length // 2)
            high = self.random.randint(low, length)
        self.loop_over(target, low, high, indent)

    def loop_over(self, target, low, high, indent, step=1):
        """A loop that writes elements low..high of an array."""
        kind = self.arrays[target][0]
        others = [name for name in self.arrays if name != target]
        sources = self.random.sample(others, min(len(others), self.random.randint(0, 2)))
        value = self.value(kind, low, high, sources)
        if self.random.random() < 0.5:
            value = f"{target}[i]{' * 0.25' if kind == 'f64' else ' * 3'} + {value}"
        store = f"{target}[i] = {value};"
        if self.random.random() < 0.2:
            store = f"if i % 3 != 1 {{ {store} }}"
        hint = self.random.choice(("", "", f"@batch({self.random.randint(500, 9000)}) "))
        stride = f" step {step}" if step != 1 else ""
        self.emit(f"{indent}{hint}parallel for i in {low}..{high}{stride} {{ {store} }}")

    def part(self, length):
        """The bounds of a part of so many elements: none, a few, or many."""
        low = self.random.randrange(length)
        return low, min(low + self.random.choice((0, 1, 64, 100, 300, 1000, length // 3)), length)

    def parts(self):
        """Loops over several parts of an array, and the host, which reads and writes what lies between."""
        target = self.pick()
        length = self.arrays[target][1]
        turns = self.random.choice((1, 1, 2, 4))
        indent = "    " if turns > 1 else ""
        if turns > 1:
            self.emit(f"for turn in 0..{turns} {{")
        end = 0
        for _ in range(self.random.randint(2, 4)):
            low, high = self.part(length)
            if end < length and self.random.random() < 0.2:
                low, high = end, min(end + 100, length)  # touches the one before
            self.loop_over(target, low, high, indent, self.random.choice((1, 1, 1, 2, 7)))
            end = high
        form = self.random.random()
        if form < 0.4:
            self.read(indent, target)
        elif form < 0.6:
            self.write(indent, target)
        elif form < 0.7:
            low, high = self.part(length)
            self.emit(f"{indent}print(digest_{self.arrays[target][0]}({target}[{low}..{high}]));")
        if turns > 1:
            self.emit("}")

    def two_names(self):
        """One loop has an array under two names, or two arrays."""
        first = self.pick()
        kind, length = self.arrays[first]
        second = self.random.choice([first, first, *self.like(first)])
        count = self.random.choice((0, 1, 64, 100, 140))
        by = self.random.randint(count, length - count)
        at = self.random.randint(0, length - by - count)
        self.emit(f"{self.random.choice(('write_both', 'move'))}_{kind}({first}, {second}, {at}, {by}, {count});")

    def exchange(self):
        """Two arrays that change their names at each turn."""
        first = self.pick()
        others = self.like(first)
        if not others:
            return
        second = self.random.choice(others)
        self.emit(f"for turn in 0..{self.random.randint(1, 3)} {{")
        self.loop("    ")
        self.emit(f"    let other = {first};")
        self.emit(f"    {first} = {second};")
        self.emit(f"    {second} = other;")
        self.emit("}")

    def renew(self):
        """The host fills an array, or makes it anew as a copy."""
        name = self.pick()
        if self.random.random() < 0.3:
            zero = ".0" if self.arrays[name][0] == "f64" else ""
            self.emit(f"{name}.fill({self.random.randint(0, 99)}{zero});")
        else:
            self.emit(f"{name} = {self.random.choice([name, *self.like(name)])}.copy();")

    def parts_of_pairs(self):
        """Loops over parts of an array of structs; some write only one field."""
        if not self.pairs or self.random.random() < 0.3:
            name = self.fresh()
            self.pairs[name] = self.random.choice((200, 5000, 20_000))
            self.emit(f"let {name} = [Pair]({self.pairs[name]});")
            self.emit(f"for i in 0..{self.pairs[name]} {{ {name}[i] = Pair(a: i, b: 0.5); }}")
        name = self.random.choice(list(self.pairs))
        for _ in range(self.random.randint(1, 3)):
            low, high = self.part(self.pairs[name])
            body = self.random.choice(
                (f"{name}[i].a = i * 3;", f"{name}[i].b = 2.0;", f"{name}[i].a += 1; {name}[i].b = (i as f64) * 0.5;")
            )
            self.emit(f"parallel for i in {low}..{high} {{ {body} }}")

    def parts_of_table(self):
        """Loops over boxes of an array of rank 2."""
        if not self.tables or self.random.random() < 0.3:
            name = self.fresh()
            self.tables[name] = self.random.choice(((30, 20), (200, 70), (10, 3000)))
            rows, columns = self.tables[name]
            self.emit(f"let {name} = [i64, 2]({rows}, {columns}, fill: {self.random.randint(0, 9)});")
        name = self.random.choice(list(self.tables))
        rows, columns = self.tables[name]
        for _ in range(self.random.randint(1, 3)):
            top, bottom = sorted(self.random.randint(0, rows) for _ in range(2))
            left, right = sorted(self.random.randint(0, columns) for _ in range(2))
            value = self.random.choice(("i * 7 + j", f"{name}[i, j] * 3 + i"))
            self.emit(f"parallel for i in {top}..{bottom}, j in {left}..{right} {{ {name}[i, j] = {value}; }}")

    def rounds(self):
        self.emit(f"for turn in 0..{self.random.randint(2, self.most_turns)} {{")
        for _ in range(self.random.randint(1, 3)):
            self.loop("    ")
        if self.is_patient and self.random.random() < 0.7:
            self.emit(f"    time.sleep({self.random.choice((0.001, 0.004, 0.02))});")
        if self.random.random() < 0.3:
            name = self.pick()
            self.emit(f"    print({name}[{self.random.randrange(self.arrays[name][1])}]);")
        self.emit("}")

    def move(self):
        if self.random.random() < 0.5:
            self.emit(f"positions[{self.random.randrange(64)}] = {self.random.randrange(300)};")
        else:
            new = f"(positions[i] * 7 + {self.random.randint(0, 99)}) % 300"
            self.emit(f"parallel for i in 0..64 {{ positions[i] = {new}; }}")

    def reduce(self):
        name = self.pick()
        kind, length = self.arrays[name]
        zero = "0.0" if kind == "f64" else f"0{kind}"
        variable = f"s{len(self.lines)}"
        self.emit(f"var {variable} = {zero};")
        self.emit(f"parallel for i in 0..{length} reduce(+: {variable}) {{ {variable} += {name}[i]; }}")
        self.emit(f"print({variable});")

    def count(self):
        """Atomic updates: chunks write the same elements."""
        name = self.pick()
        if self.arrays[name][0] == "f64":
            return
        target = f"c{len(self.lines)}"
        self.emit(f"let {target} = [i64](16);")
        self.emit(
            f"parallel for i in 0..{self.arrays[name][1]} " f"{{ atomic.add({target}[(({name}[i] as i64) & 15)], 1); }}"
        )
        self.emit(f"print({target}[3], digest_i64({target}));")

    def read(self, indent="", name=None):
        name = name or self.pick()
        self.emit(f"{indent}print({name}[{self.random.randrange(self.arrays[name][1])}]);")

    def write(self, indent="", name=None):
        name = name or self.pick()
        kind, length = self.arrays[name]
        value = f"{self.random.randint(0, 999)}{'.0' if kind == 'f64' else ''}"
        if self.random.random() < 0.7:
            self.emit(f"{indent}{name}[{self.random.randrange(length)}] = {value};")
        else:
            low = self.random.randint(0, length // 2)
            self.emit(f"{indent}for i in {low}..{self.random.randint(low, length)} {{ {name}[i] = {value}; }}")

    def digest(self, name=None):
        name = name or self.pick()
        self.emit(f"print(digest_{self.arrays[name][0]}({name}));")

    def close(self):
        if len(self.arrays) < 2:
            return
        name = self.pick()
        del self.arrays[name]
        self.emit(f"{name}.close();")
        if self.random.random() < 0.5:
            self.new_array()
