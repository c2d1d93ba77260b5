# SPDX-License-Identifier: Apache-2.0
"""A program in the language that holds a function for one combination of types, and all that it calls."""

from __future__ import annotations

import re

from ..cache import Reads
from ..errors import TranslationError
from . import complex_numbers, generators, helpers, parameters
from .handlers import OBSERVED
from .source import Source
from .statements import Statements
from .values import MARK
from .types import COMPLEXES, GENERATOR, KEY_TEXT, NONE, UNKNOWN, Dict, List, Tuple, Unconvertible, outward, text


_MOST_NESTED = 12  # versions of one function that are translated in each other
_CAPTURES = "\1"  # marks where a call passes arrays of the surroundings
_UNUSED = "\2"  # marks a call whose result, if there is one, nobody uses


class Version:
    """A function for one combination of types. It is sequential if iterations of prange loops call it. The entry is
    called from Python. Its callers catch exceptions of the classes in `caught`."""

    def __init__(self, source, types, text_name, is_sequential, is_entry, caught):
        self.source, self.types, self.text_name, self.is_sequential = source, types, text_name, is_sequential
        self.is_entry, self.caught = is_entry, caught
        self.result = UNKNOWN
        self.lines = []
        self.kernels = {}  # name and line by text
        self.captures, self.called = set(), set()  # numbers of arrays, and versions
        self.draws = False  # from the generator of np.random
        self.scope = None

    def takes_shared_generator(self, unit):
        """Notes that it draws from the generator of np.random."""
        unit.module("random")
        self.draws = True
        return True

    def call(self, texts, mark=""):
        """The text of a call with these texts of arguments. `mark` is that of Unit.mark."""
        return f"{self.text_name}({', '.join(texts)}{_CAPTURES}{self.text_name}{_CAPTURES}{mark})"

    def has_effects(self):
        """Whether another call with the same arguments may give something else, or change something else."""
        return any(each.scope is None or each.draws or GENERATOR in each.types or each.written_parameters() or
                   each.changed_parameters() or each.captures for each in _reached(self))

    @staticmethod
    def alone(text):
        """The statement of a call with this text, of which it is not known yet whether there is a result."""
        if _CAPTURES not in text:
            return f"let _ = {text};"
        return f"{_UNUSED}{text.partition('(')[0]}{_UNUSED}{text};"

    def written_parameters(self):
        """The positions of the arrays that it writes to."""
        if self.scope is None:
            return []
        return [i for i, name in enumerate(self.source.parameters) if self.scope.is_written(name)]

    def changed_parameters(self):
        """The positions of the lists that it changes."""
        if self.scope is None:
            return []
        return [i for i, name in enumerate(self.source.parameters) if self.scope.change_of(name) is not None]


class Unit:
    """The program. `hints` stand before each parallel loop."""

    def __init__(self, hints=()):
        self.hints = list(hints)
        self._versions, self._modules, self._helpers, self._structs, self._sources = {}, set(), {}, {}, {}
        self._translated = []  # keys of versions that are translated now, in each other
        self._marks = {}  # numbers of nodes
        self.raised = {}  # classes of exceptions that are not Python's own, as keys
        self._captured = []  # arrays of the surroundings, and their types
        self.reads = Reads()

    def version(self, function, types, node=None, caller=None):
        """The function for these types, translated on first need. `caller` has the expressions that the node is in."""
        is_sequential = caller is not None and caller.is_sequential
        caught = frozenset() if caller is None or (function.__module__ or "").startswith(f"{__package__}.") else \
            frozenset(kind for kind in OBSERVED if caller.statements.catches(kind))
        key = (function, types, is_sequential, caller is None, caught)
        if key in self._versions:
            return self._versions[key]
        source = self._sources.get(function)
        if source is None:
            source = self._sources[function] = Source(function, self.reads)
        if len(types) != len(source.parameters):
            message = f"{source.name} takes {len(source.parameters)} arguments, and {len(types)} are given"
            if caller is None:
                raise TranslationError(message)
            caller.fail(node, message)
        if sum(each[0] is function for each in self._translated) >= _MOST_NESTED:
            caller.fail(node, f"{source.name} calls itself with arguments of other types each time: write a loop")
        version = Version(source, types, f"{source.name.strip('_') or 'f'}__{len(self._versions)}", is_sequential,
                          caller is None, caught)
        self._versions[key] = version
        statements = Statements(source, self, types, version)
        version.scope = statements.scope
        self._translated.append(key)
        version.lines = statements.run()
        self._translated.pop()
        return version

    def module(self, name):
        """Imports a module of the language; returns its name."""
        self._modules.add(name)
        return name

    def mark(self, node):
        """What the text of a call has in it that is evaluated exactly once: a number for its node, so that other calls
        with the same text are others. The program has no marks."""
        return f"{MARK}{self._marks.setdefault(node, len(self._marks))}{MARK}"

    def helper(self, name, kind):
        if kind in COMPLEXES:
            raise Unconvertible(f"{name.partition('_')[0]} of complex numbers cannot be compiled")
        own_name = f"_{name}_{kind}"
        if own_name not in self._helpers:
            self._helpers[own_name] = helpers.text(name, kind, own_name)
            if "math." in self._helpers[own_name]:
                self.module("math")
        return own_name

    def function(self, name, text):
        """Adds a function of the language; returns its name."""
        self._helpers.setdefault(name, text)
        return name

    @staticmethod
    def kernel(version, node, head, lines):
        """The name of the function that this version calls for the expression at a node."""
        text = "\n    ".join([head + " {", *lines]) + "\n}"
        name = f"{version.text_name}_loop{len(version.kernels)}"
        return version.kernels.setdefault(text, (name, node.lineno))[0]

    # ---- Arrays of the surroundings, which each function is passed behind its own parameters.

    def capture(self, version, array, kind):
        """The name of the array in this version."""
        number = next((i for i, (each, _) in enumerate(self._captured) if each is array), len(self._captured))
        self._captured[number:] = self._captured[number:] or [(array, kind)]
        version.captures.add(number)
        return f"_c{number}"

    def captures_of(self, version):
        """Numbers and types of those that this version and what it calls use."""
        numbers = sorted({number for each in _reached(version) for number in each.captures})
        return [(number, self._captured[number][1]) for number in numbers]

    def _passed_on(self, version):
        """Names and types of what each call of this version passes behind its arguments."""
        shared = [(generators.SHARED_TEXT, GENERATOR)] if any(each.draws for each in _reached(version)) else []
        return shared + [(f"_c{number}", kind) for number, kind in self.captures_of(version)]

    def captured_arrays(self, version):
        return [self._captured[number][0] for number, _ in self.captures_of(version)]

    def _completed(self, text):
        """The text with the arrays that calls pass on, where Version.call and Version.alone have left marks."""
        if _CAPTURES not in text:
            return text
        versions = {version.text_name: version for version in self._versions.values()}

        def names(match):
            found = [name for name, _ in self._passed_on(versions[match[2]])]
            return match[1] + (", " if match[1] != "(" and found else "") + ", ".join(found)

        text = re.sub(f"(.){_CAPTURES}(\\w+){_CAPTURES}", names, text)
        return re.sub(f"{_UNUSED}(\\w+){_UNUSED}",
                      lambda match: "" if versions[match[1]].result == NONE else "let _ = ", text)

    def struct(self, result):
        """The name of the struct for several results."""
        types = tuple(map(self.type_text, result.items))
        return self._structs.setdefault(types, f"Results{len(self._structs)}")

    def key_text(self, kind):
        """The type of the keys of a dictionary as the language writes it."""
        return "str" if kind == KEY_TEXT else self.type_text(kind)

    def type_text(self, kind):
        """A type as the language writes it."""
        if isinstance(kind, List):
            self.module("list")
            return f"List<{self.type_text(kind.known.element)}>"
        if isinstance(kind, Dict):
            self.module("map")
            known = kind.known
            return f"Map<{self.key_text(known.key)}, {self.type_text(known.value)}>"
        return self.struct(kind) if isinstance(kind, Tuple) else text(kind)

    def text(self):
        """The program, and for each of its lines file, function and line of the Python code it stands for, or None."""
        lines, origins = [], []

        def add(text, origin=None):
            for line in re.sub(f"{MARK}\\d+{MARK}", "", self._completed(text)).split("\n"):
                lines.append(line)
                origins.append(origin)

        if self._has_complex():
            self.module("math")
        bodies = [(version, self._head(version)) for version in self._versions.values()]
        for name in sorted(self._modules):
            add(f"import {name};")
        for declaration in complex_numbers.declarations() if self._has_complex() else ():
            add(declaration)
        for types, name in self._structs.items():
            add(f"struct {name} {{ " + " ".join(f"x{i}: {kind};" for i, kind in enumerate(types)) + " }")
        for helper in self._helpers.values():
            add(helper)
        for version, head in bodies:
            source = version.source
            add(head, (source.file, source.name, source.tree.lineno))
            if version.is_entry and any(each.draws for each in _reached(version)):
                add(f"    let {generators.SHARED_TEXT} = Random(random.entropy());")
            for depth, text, line in version.lines:
                add("    " * depth + text, (source.file, source.name, line))
            add("}")
            for text, (name, line) in version.kernels.items():
                add(f"fn {name}{text}", (source.file, source.name, line))
        return "\n".join(lines) + "\n", origins

    def _has_complex(self):
        texts = [line for version in self._versions.values() for _, line, _ in version.lines]
        texts += [text for version in self._versions.values() for text in version.kernels]
        return any(name in text for name in COMPLEXES for text in (
            *texts, *(self._head(version) for version in self._versions.values())))

    def _head(self, version):
        given = [each for name, kind in zip(version.source.parameters, version.types)
                 for each in parameters.heads(self, version.scope.parameter_text(name),
                                              version.scope.grown(name, kind))]
        given += [f"{name}: {text(kind)}" for name, kind in self._passed_on(version)
                  if kind != GENERATOR or not version.is_entry]
        heads = ", ".join(given)
        result = outward(version.result) if version.is_entry else version.result
        if result == NONE:
            return f"fn {version.text_name}({heads}) {{"
        return f"fn {version.text_name}({heads}) -> {self.type_text(result)} {{"


def _reached(version):
    """The version, and all that it calls."""
    seen, todo = set(), [version]
    while todo:
        each = todo.pop()
        if each not in seen:
            seen.add(each)
            todo.extend(each.called)
    return seen
