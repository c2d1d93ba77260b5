# SPDX-License-Identifier: Apache-2.0
"""The variables of one function: which of them are iterations' own, and their types."""

from __future__ import annotations

import ast

from .types import NONE, UNKNOWN, Array, Dict, List, Optional, Scalar, Text, Tuple, join
from .values import Value, constant, struct_of

# Words of the language, and names that translated functions use themselves.
RESERVED = set("as break catch class const continue else extern false fn for if import in init interface intrinsic is "
               "let match null parallel return struct this true try use var while reduce step fill print str hash "
               "assert trap main math list map sort atomic bool i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 resource Weak "
               "Error".split())


class Frame:
    """Variables that live as long as a function, an iteration of a parallel loop, or a loop. They are constant if they
    are loop variables of the language."""

    def __init__(self, key, names, is_constant=False):
        self.key, self.names, self.is_constant = key, names, is_constant
        self.reductions = {}


class Variables:
    """Types are found by translating several times: they stay between passes, and only ever grow."""

    def __init__(self, source):
        self._source = source
        code = source.function.__code__
        self._names = (set(code.co_varnames + code.co_cellvars) | set(source.renamed) | set(source.captured)) - \
            source.imported
        self._types = {}
        self._aliases = {}
        self._written = set()
        self._lists, self._changed = {}, {}  # those that Python passes, with their types, and nodes that change lists
        self.has_changed = True
        self.in_parallel = False
        self.assigned_parameters = set()
        self._used_everywhere = set()  # arrays and lists that are assigned in one block and used in another
        self.begin_pass()

    def begin_pass(self):
        self.has_changed = False
        self._frames = [Frame(0, self._names)]
        self._blocks = [0]
        self._next_block = 1
        self._declared = dict.fromkeys(self._used_everywhere, (0,))
        self._views = {}
        self._nones, self._in_parts = set(), set()
        self._writes, self._copied_views = [], []

    def names(self):
        """Every name that is local to the function."""
        return self._names

    def part(self, name, position):
        """The variable for an item of a tuple that is assigned several times."""
        part = f"{name}#{position}"
        self._frame_of(name).names.add(part)
        return part

    @staticmethod
    def text(name):
        if "#" in name:
            name, _, position = name.partition("#")
            return f"_i{position}_{Variables.text(name)}"
        if "'" in name:
            name, _, number = name.partition("'")
            return f"_v{number}_{name}"
        return f"{name}_" if name in RESERVED or name.startswith("_") or name.endswith("_") else name

    def parameter_text(self, name):
        """The name in the head of the function."""
        return f"_in_{name}" if name in self.assigned_parameters else self.text(name)

    # ---- Frames and blocks.

    def enter(self, frame):
        self._frames.append(frame)

    def leave(self):
        self._frames.pop()

    def open_block(self):
        self._blocks.append(self._next_block)
        self._next_block += 1

    def close_block(self):
        self._blocks.pop()

    def _frame_of(self, name):
        return next(frame for frame in reversed(self._frames) if name in frame.names)

    def depth(self):
        return len(self._blocks)

    def reduction(self, name):
        """The operator if the variable is a reduction here, else None."""
        for frame in reversed(self._frames):
            if name in frame.reductions or name in frame.names:
                return frame.reductions.get(name)
        return None

    def scalars(self, key):
        """Names and types of a frame's numbers, for their declarations."""
        return [(name, kind) for (frame, name), kind in self._types.items()
                if frame == key and isinstance(kind, Scalar)]

    def type_of(self, name):
        """The type of a variable of the function."""
        return self._types.get((0, name), UNKNOWN)

    def grow(self, node, kind):
        """Gives the list that a node names, xs or table[i], or the dictionary this type. False if it has no name."""
        while True:
            is_call = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("get", "setdefault")
            if not is_call and (not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice)):
                break
            node = node.func.value if is_call else node.value
            kind = Dict(UNKNOWN, kind) if isinstance(self.kind_at(node), Dict) else List(kind)
        if not isinstance(node, ast.Name) or node.id not in self._names:
            return False
        self.assign(node, node.id, kind)
        return True

    def kind_at(self, node):
        """The type of a variable, or of an item of a list or dictionary."""
        if isinstance(node, ast.Subscript):
            kind = self.kind_at(node.value)
            return kind.value if isinstance(kind, Dict) else getattr(kind, "element", UNKNOWN)
        return self.type_of(node.id) if isinstance(node, ast.Name) else UNKNOWN

    def grown(self, name, kind):
        """The type of a parameter that is a list or dictionary, with what the function puts into it; of others the one
        that is given."""
        return self.type_of(name) if isinstance(kind, (List, Dict)) else kind

    # ---- Use.

    def read(self, node):
        if node.id in self._nones:
            return constant(None)
        frame = self._frame_of(node.id)
        kind = self._types.get((frame.key, node.id), UNKNOWN)
        if self.is_in_parts(node.id):
            return struct_of(kind, (Value(self.text(self.part(node.id, i)), item) for i, item in enumerate(kind.items)))
        if isinstance(kind, (Array, List, Dict, Optional, Tuple)):
            self._check_block(node, node.id)
        if self.in_parallel and isinstance(kind, List):
            made = "a row of it, or an array of all" if isinstance(kind.element, Array) else "an array"
            self._source.fail(node, f"a prange loop reads no list: make {made} before it, and read that")
        return self._views.get(node.id) or Value(self.text(node.id), kind)

    def define(self, key, name, kind):
        """A parameter or loop variable."""
        if kind == NONE:
            self._nones.add(name)
            self.assigned_parameters.add(name)
            return
        if isinstance(kind, Text):
            self._views[name] = constant(kind.value)
        if isinstance(kind, (List, Dict)):  # with what earlier passes have put into it
            kind = join(self._types.get((key, name), UNKNOWN), kind)
        self._types[key, name] = kind
        if isinstance(kind, Array):
            self._declared[name] = (0,)

    def assign(self, node, name, kind):
        """Notes that the variable is given a value of this type."""
        frame = self._frame_of(name)
        if name in self._nones and self.depth() > 1:
            self._source.fail(node, f"'{name}' is None before this block, and may be so behind it: assign it in "
                                    f"`if {name} is None` alone, outside of loops")
        self._nones.discard(name)
        if frame.is_constant:
            self._source.fail(node, f"the loop variable '{name}' of a parallel loop cannot be assigned")
        old = self._types.get((frame.key, name), UNKNOWN)
        new = join(old, kind)
        if new is None:
            self._source.fail(node, f"'{name}' is {_article(kind)} here and {_article(old)} elsewhere: a variable has "
                                    "one type; use two names")
        if new != old:
            self._types[frame.key, name] = new
            self.has_changed = True
        return new

    def assign_parts(self, node, name, kind):
        """Notes that the variable is given a tuple of numbers of these types; returns those of its items."""
        if name in self._views:
            self._source.fail(node, f"'{name}' is a view of an array elsewhere: give it a name of its own")
        joined = self.assign(node, name, kind)
        self._in_parts.add(name)
        return [self.assign(node, self.part(name, i), item) for i, item in enumerate(joined.items)]

    def part_type(self, name, position):
        """The type of an item of a tuple that is assigned several times."""
        return self._types.get((self._frame_of(name).key, f"{name}#{position}"), UNKNOWN)

    def is_in_parts(self, name):
        if name in self._in_parts:
            return True
        # A loop reads what its last turn has assigned.
        return name not in self._views and name not in self._declared and (
            self._frame_of(name).key, f"{name}#0") in self._types

    # ---- Arrays, which are references.

    def declare_array(self, node, name):
        """Whether this is the first assignment, which declares the variable."""
        if name in self._declared:
            self._check_block(node, name)
            return False
        self._declared[name] = tuple(self._blocks)
        return True

    def declare_view(self, name):
        """A view or a tuple, which each assignment makes anew."""
        self._declared[name] = tuple(self._blocks)

    def declare_before_all(self, name):
        """Declares the variable before all blocks."""
        if name not in self._used_everywhere:
            self._used_everywhere.add(name)
            self.has_changed = True

    def used_everywhere(self):
        """Names and types of what is declared before all blocks."""
        return [(name, self.type_of(name)) for name in sorted(self._used_everywhere)]

    def _check_block(self, node, name):
        declared = self._declared.get(name)
        if declared is not None and tuple(self._blocks[:len(declared)]) != declared:
            if name not in self._views and name not in self._source.parameters and isinstance(
                    self.type_of(name), (Array, List, Dict, Optional)):
                self.declare_before_all(name)
                return
            self._source.fail(node, f"'{name}' is first made in a block that has ended: make it before")

    def name_view(self, name, value):
        """From now on the variable is this view of an array."""
        self._views[name] = value

    def forget_view(self, name):
        self._views.pop(name, None)

    def alias(self, name, other):
        """Both are the same array from now on."""
        self._aliases.setdefault(name, set()).add(other)
        self._aliases.setdefault(other, set()).add(name)

    def copied_view(self, node, name):
        """The node is a copy of what NumPy may have in the memory of this array: neither may be written from now on,
        or in the next turn of a loop around it."""
        self._copied_views.append((node, name, len(self._writes) if self.depth() == 1 else 0))

    def check_copied_views(self):
        for node, name, begin in self._copied_views:
            if self.same_arrays(name) & set(self._writes[begin:]):
                self._source.fail(node, f"this may be the memory of '{name}' in NumPy, and one of both is written: "
                                        "write .copy() behind it")

    # ---- Lists that Python passes: it would not see that they change.

    def take_list(self, node, name, kind):
        """A parameter that is such a list."""
        self.assigned_parameters.add(name)
        self._lists[name] = self.assign(node, name, kind)
        self.declare_array(node, name)

    def changed(self, name, node):
        """Notes that the list gets other items."""
        self._changed[name] = node

    def change_of(self, name):
        """A node that changes the list; None if none does."""
        return next((self._changed[each] for each in self.same_arrays(name) if each in self._changed), None)

    def check_lists(self):
        for name, kind in self._lists.items():
            node = self.change_of(name)
            if node is None and isinstance(kind.element, Scalar) and self.is_written(name):
                node = self._source.tree
            if node is not None:
                self._source.fail(node, f"the caller would not see that '{name}' changes: make a list of it, "
                                        f"found = list({name}), and return that")

    def same_arrays(self, name):
        """All names that may be the same array."""
        found, todo = set(), [name]
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo.extend(self._aliases.get(each, ()))
        return found

    def written(self, name, node):
        outside = self.same_arrays(name) - self._names
        if outside:
            self._source.fail(node, f"'{outside.pop()}' is an array of the surroundings, which can be read: pass it as "
                                    "an argument to write to it")
        self._written.add(name)
        self._writes.append(name)

    def is_written(self, name):
        return bool(self.same_arrays(name) & self._written)


def _article(kind):
    text = str(kind)
    return f"an {text}" if text[0] in "aiu" else f"a {text}"
