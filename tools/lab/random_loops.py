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
        self.made = 0
        self.body()

    def source(self):
        return "\n".join(["import atomic;", "import time;", "", *self.digests(), "fn main() {", *self.lines, "}", ""])

    @staticmethod
    def digests():
        for name in ("i64", "i32", "f64"):
            yield (
                f"fn digest_{name}(a: [{name}]) -> i64 {{\n    var h = 7;\n"
                "    for i in 0..a.len { h = h * 31 + (a[i] as i64); }\n    return h;\n}\n"
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
            + [self.read] * 2
            + [self.write] * 2
            + [self.reduce, self.digest, self.count, self.close, self.move]
        )
        for _ in range(self.random.randint(3, 7) if self.is_patient else self.random.randint(4, 14)):
            self.random.choice(steps)()
        for name in list(self.arrays):
            self.digest(name)

    def new_array(self):
        name = f"a{self.made}"
        self.made += 1
        kind = self.random.choice(self.TYPES)
        # Below 64 KiB an array lies in the heap; a few are large enough to go through small devices in slices.
        lengths = (300, 9000, 20_000, 20_000, 20_000, 60_000)
        # Worth sharing, where links are slow.
        length = self.random.choice(lengths + ((250_000,) if self.is_patient else ()))
        self.arrays[name] = (kind, length)
        self.emit(f"let {name} = [{kind}]({length});")
        if self.random.random() < 0.5:
            self.emit(f"for i in 0..{length} {{ {name}[i] = ((i * 37 + {self.made}) % 1009) as {kind}; }}")

    def pick(self):
        return self.random.choice(list(self.arrays))

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
        kind, length = self.arrays[target]
        others = [name for name in self.arrays if name != target]
        sources = self.random.sample(others, min(len(others), self.random.randint(0, 2)))
        low, high = 0, length
        if self.random.random() < 0.3:
            low = self.random.randint(0, length // 2)
            high = self.random.randint(low, length)
        value = self.value(kind, low, high, sources)
        if self.random.random() < 0.5:
            value = f"{target}[i]{' * 0.25' if kind == 'f64' else ' * 3'} + {value}"
        store = f"{target}[i] = {value};"
        if self.random.random() < 0.2:
            store = f"if i % 3 != 1 {{ {store} }}"
        hint = self.random.choice(("", "", f"@batch({self.random.randint(500, 9000)}) "))
        self.emit(f"{indent}{hint}parallel for i in {low}..{high} {{ {store} }}")

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

    def read(self):
        name = self.pick()
        self.emit(f"print({name}[{self.random.randrange(self.arrays[name][1])}]);")

    def write(self):
        name = self.pick()
        kind, length = self.arrays[name]
        value = f"{self.random.randint(0, 999)}{'.0' if kind == 'f64' else ''}"
        if self.random.random() < 0.7:
            self.emit(f"{name}[{self.random.randrange(length)}] = {value};")
        else:
            low = self.random.randint(0, length // 2)
            self.emit(f"for i in {low}..{self.random.randint(low, length)} {{ {name}[i] = {value}; }}")

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
