# SPDX-License-Identifier: Apache-2.0
"""Random programs for random_nests.py with parallel loops over arrays of structs: fields of mixed widths are read and
written by one iteration for itself, whole or one by one, under conditions, and at steps of one or several structs."""

import random

KINDS = ("f64", "i64", "f32", "i32", "u32", "i16", "u16", "i8", "u8", "bool")
# One below and one above vectors.
LENGTHS = (0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 131, 257, 1021)


class Record:
    """A struct and a function with a parallel loop over an array of them."""

    def __init__(self, chooser, number):
        self.random = chooser
        self.struct = f"Record{number}"
        self.name = f"step{number}"
        kinds = chooser.choice(
            (KINDS, KINDS, ("f64", "f32", "i32"), ("f64", "u8", "bool"), ("f32", "u8"), ("u16", "u8"))
        )
        self.fields = [(f"f{n}", chooser.choice(kinds)) for n in range(chooser.randint(2, 8))]
        self.step = chooser.choice((1, 1, 1, 1, 2, 3))
        self.first = chooser.randrange(self.step)
        self.traps = chooser.random() < 0.2

    def fields_text(self):
        return f"struct {self.struct} {{ {' '.join(f'{name}: {kind};' for name, kind in self.fields)} }}\n"

    def place(self):
        return "a[i]" if self.step == 1 else f"a[{self.step} * i + {self.first}]"

    def number(self, of):
        name, kind = self.random.choice(self.fields)
        return f"({of}.{name} as i64)" if kind == "bool" else f"({of}.{name} as f64 as i64)"

    def condition(self, of):
        return f"{self.number(of)} % {self.random.choice((2, 3, 5))} {self.random.choice(('==', '!='))} {self.random.choice((0, 1))}"

    def value(self, kind, of):
        if kind == "bool":
            return self.condition(of)
        text = self.random.choice((f"{self.number(of)} % 251", f"({self.number(of)} + i) % 127", "s % 113"))
        return f"({text}) as {kind}"

    def assignments(self, of, most):
        chosen = self.random.sample(self.fields, self.random.randint(1, min(most, len(self.fields))))
        return [f"{of}.{name} = {self.value(kind, of)};" for name, kind in chosen]

    def function(self):
        place = self.place()
        is_whole = self.random.random() < 0.4
        of = "p" if is_whole else place
        body = [f"var p = {place};"] if is_whole else []
        body.append(f"var s = {self.number(of)};")
        body += [f"s += {self.number(of)};" for _ in range(self.random.randint(0, 4))]
        if self.traps:
            body.append(f"s += v[s % {self.random.choice((7, 7, 7, 8))} + 6];")
        body += self.assignments(of, 4) if self.random.random() < 0.7 else []
        if self.random.random() < 0.6:
            body += [f"if {self.condition(of)} {{", *("    " + line for line in self.assignments(of, 8)), "}"]
        body += self.assignments(of, 2) if self.random.random() < 0.3 else []
        body += [f"{place} = p;"] if is_whole else []
        body.append("out[i] = s;")
        lines = "\n".join("        " + line for line in body)
        return f"fn {self.name}(a: [{self.struct}], v: [i64], n: i64, out: [i64]) {{\n    parallel for i in 0..n {{\n{lines}\n    }}\n}}\n"

    def helpers(self):
        numbers = [
            f"(i * {n + 3} + seed * 31) % {self.random.choice((2, 3, 127, 251))}" for n in range(len(self.fields))
        ]
        values = [f"{text} == 1" if kind == "bool" else f"({text} - {100 if kind in ('f64', 'i64', 'f32', 'i32') else 0}) as {kind}"
                  for text, (_, kind) in zip(numbers, self.fields, strict=True)]  # fmt: skip
        digests = "\n".join(
            f"        h = h * 31 + ({f'a[i].{name} as i64' if kind == 'bool' else f'a[i].{name} as f64 as i64'});"
            for name, kind in self.fields
        )
        yield self.fields_text()
        yield (f"fn fill_{self.name}(a: [{self.struct}], seed: i64) {{\n"
               f"    for i in 0..a.len {{ a[i] = {self.struct}({', '.join(values)}); }}\n}}\n")
        yield (
            f"fn digest_{self.name}(a: [{self.struct}]) -> i64 {{\n    var h = 7;\n    for i in 0..a.len {{\n{digests}\n    }}\n"
            "    return h;\n}\n"
        )
        yield self.function()


class Program:
    """A random program; the same one for the same seed. A brief one launches its loops once or twice."""

    def __init__(self, seed, brief=False):
        self.random = random.Random(seed)
        self.launches = (1, 2) if brief else (4, 7)
        self.records = [Record(self.random, number) for number in range(2)]

    def source(self):
        helpers = [text for record in self.records for text in record.helpers()]
        lines = []
        for record in self.records:
            for launch in range(self.random.randint(*self.launches)):
                length = self.random.choice(LENGTHS)
                name = f"{record.name}_{launch}"
                lines += [f"let {name} = [{record.struct}]({length});", f"let {name}_out = [i64]({length});",
                          f"let {name}_v = [i64](13);", f"fill_{record.name}({name}, {self.random.randint(1, 99)});"]
                for _ in range(self.random.randint(1, 2)):
                    count = max(length - record.first + record.step - 1, 0) // record.step
                    lines.append(f"{record.name}({name}, {name}_v, {count}, {name}_out);")
                lines += [f"print(digest_{record.name}({name}));",
                          f"{{ var h = 7; for x in {name}_out {{ h = h * 31 + x; }} print(h); }}"]
        body = "\n".join("    " + line for line in lines)
        return "\n".join([*helpers, f"fn main() {{\n{body}\n}}\n"])
