# SPDX-License-Identifier: Apache-2.0
"""A function of Python as what it was written as: its syntax tree, where it stands, and what its names mean."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from types import CellType, FunctionType

from ..cache import ABSENT
from ..errors import TranslationError
from . import (absent, bounded, cells, counters, iterators, keyed, leaving, mapped, matches, named_values, scopes,
               splits, unassigned, yields)
from .comprehensions import Spread

# Names that nobody can write, of functions that are written here, and of NumPy.
_OWN_NAMES = {**keyed.NAMES, **iterators.NAMES, **splits.NAMES, "'numpy": None}


class Source:
    """The syntax tree of a function, with the line numbers of its file. `reads` notes what its names mean."""

    def __init__(self, function, reads):
        self.function, self._reads = function, reads
        # A function in a function means by its names what the outer one means.
        self._home = function.__dict__.get("home", function)
        self.name = function.__name__
        self.file = function.__code__.co_filename
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise TranslationError(f"the source of {self.name} cannot be read: define it in a file or a notebook "
                                   "cell") from None
        tree = _parsed("".join(lines))
        self.tree = tree.body[0] if tree else None
        if function.__code__.co_name == "<lambda>":
            self.name, self.tree = self.name.strip("<>"), _lambda_in(tree)
        if tree:
            ast.increment_lineno(tree, max(first, 1) - 1)
        if not isinstance(self.tree, ast.FunctionDef):
            raise TranslationError(f"{self.name} is no function that is written with def, and no lambda that stands "
                                   "in a statement alone")
        self._lines = {max(first, 1) + i: line for i, line in enumerate(lines)}
        self.names = {**function.__globals__, **_captured(function)}
        self.imported = self._import()
        # Variables of the function around it, which its calls pass behind its own parameters.
        self.captured = function.__dict__.get("captured_variables", ())
        self.parameters = [each.arg for each in self.tree.args.posonlyargs + self.tree.args.args +
                           self.tree.args.kwonlyargs] + [*self.captured]
        self._functions, self._generators, code = {}, {}, function.__code__
        self._functions = self._take_functions()
        self.names.update(_OWN_NAMES)
        spread = Spread(self._means_of_python, self._nested, self._generator_called)
        self._rewrite_statements(spread.name)
        for each in (self.tree, *self._generators.values()):
            iterators.replace(each, self._meant)
            keyed.give_lambdas(each)
            self._pass_captured(each)
        mapped.replace(self.tree, self._meant, spread.name)
        bounded.replace(self.tree, code.co_cellvars, self._meant, spread.name)
        self.tree.body = counters.replace(self.tree.body, self._meant, spread.name)
        assigned = scopes.stored(self.tree.body)
        self.tree.body = yields.Yields(spread, self._generator_called, self._means_of_python, self.fail,
                                       assigned).block(self.tree.body)
        self.tree.body = named_values.take(self.tree.body)
        self.renamed = _rename(self.tree.body, self.parameters, spread.made)
        if not self.is_ours:
            self.renamed += unassigned.guard(self.tree, self.parameters, self.fail)

    def _rewrite_statements(self, new_name):
        """Writes statements that the language does not have by those that it has."""
        for each in (self.tree, *self._generators.values()):
            matches.replace(each, new_name, self.fail)
        cells.use(self.tree.body, self.function.__dict__.get("cells", ()), self.fail)
        cells.make(self.tree.body, self._cells, {name: [each for each, function in self._functions.items() if
                                                        name in function.captured_variables] for name in self._cells},
                   self.fail)
        absent.replace(self.tree, self.parameters, new_name)
        self.tree.body = splits.replace(self.tree.body, self._meant, new_name)
        self.tree.body = leaving.replace(self.tree.body, new_name)

    def _meant(self, node):
        """The object of the surroundings that a name is; None for others."""
        code = self.function.__code__
        try:
            return self.meaning(node, {*code.co_varnames, *code.co_cellvars})
        except LookupError:
            return None

    def _means_of_python(self, node):
        """The function of Python or the module that a name is, sum for example; None for others."""
        code = self.function.__code__
        if not isinstance(node, ast.Name) or node.id in code.co_varnames + code.co_cellvars:
            return None
        given = self.names.get(node.id)
        self._note(node, getattr(builtins, node.id, ABSENT) if given is None else given)
        return getattr(builtins, node.id, None) if given is None else given if inspect.ismodule(given) else None

    @property
    def is_ours(self):
        """Whether it is one of those that are written here: in array_functions.py, for example."""
        return (self.function.__module__ or "").startswith(f"{__package__}.")

    def _import(self):
        """Takes up what the function imports. Returns the names, which are no variables."""
        names = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                text = ast.unparse(node)
                self._reads.imports(self._home, text)
                try:
                    exec(text, {"__package__": self.function.__globals__.get("__package__")}, names)  # noqa: S102
                except ImportError as error:
                    self.fail(node, str(error))
        self.names.update(names)
        return set(names)

    def _take_functions(self):
        """The functions that are defined in its body, by name. They are no statements of it."""
        code = self.function.__code__
        codes = {each.co_name: each for each in code.co_consts if inspect.iscode(each)}
        lambdas = [each for each in code.co_consts if inspect.iscode(each) and each.co_name == "<lambda>"]
        nodes, others = [], []
        written = _lambdas(self.tree.body)
        for node in self.tree.body:
            if _is_named_lambda(node) and len(lambdas) == len(written):
                codes[node.targets[0].id] = lambdas[written.index(node.value)]
                node = _as_function(node.value, node.targets[0].id)
            if isinstance(node, ast.FunctionDef) and codes[node.name].co_flags & inspect.CO_GENERATOR:
                self._generators[node.name] = node
                continue
            (nodes if isinstance(node, ast.FunctionDef) else others).append(node)
        self._nested = nodes
        self._cells = cells.changed_by(nodes, code.co_cellvars)
        self.tree.body = others or [ast.Pass(lineno=self.tree.lineno)]
        values = {node.name: CellType() for node in nodes}
        captured = {name: [each for each in codes[name].co_freevars if each not in values and
                           each in code.co_cellvars + self.captured] for name in values}
        for _ in values:  # what they call captures, too
            for name in values:
                called = [each for other in codes[name].co_freevars for each in captured.get(other, ())]
                captured[name] = list(dict.fromkeys(captured[name] + called))
        found = {}
        for node in nodes:
            defaults = [_default(each) for each in node.args.defaults]
            named = {each.arg: _default(given) for each, given in zip(node.args.kwonlyargs, node.args.kw_defaults)
                     if given is not None}
            if node.decorator_list or ABSENT in (*defaults, *named.values()):
                self.fail(node, "a function in a function is compiled without decorators, and its defaults are numbers")
            closure = tuple(values.get(name) or (CellType() if name in captured[node.name] or name not in self.names
                                                else CellType(self.names[name]))
                            for name in codes[node.name].co_freevars)
            found[node.name] = FunctionType(codes[node.name], self.function.__globals__, node.name, tuple(defaults),
                                            closure)
            found[node.name].__kwdefaults__ = named
            found[node.name].captured_variables = tuple(captured[node.name])
            found[node.name].cells = self._cells.keys() & set(captured[node.name])
            found[node.name].home = self._home
            values[node.name].cell_contents = found[node.name]
        return found

    def _generator_called(self, node):
        """The definition of the generator that is called at a node; None for anything else."""
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Name) and node.func.id in self._generators:
            return self._generators[node.func.id]
        code = self.function.__code__
        local_names = {*code.co_varnames, *code.co_cellvars}
        try:
            function = self.meaning(node.func, local_names)
        except LookupError:
            return None
        function = getattr(function, "__wrapped__", function)
        if not inspect.isfunction(function) or not function.__code__.co_flags & inspect.CO_GENERATOR:
            return None
        if function not in self._generators:
            self._generators[function] = self._generator(node, function, local_names)
        return self._generators[function]

    def _generator(self, node, function, local_names):
        """The definition of a generator of the surroundings, whose names mean the same here."""
        try:
            tree = _parsed(inspect.getsource(function))
        except (OSError, TypeError):
            tree = None
        definition = tree.body[0] if tree else None
        if not isinstance(definition, ast.FunctionDef):
            self.fail(node, f"the source of {function.__name__} cannot be read: define it in a file or a notebook cell")
        known, code = {**function.__globals__, **_captured(function)}, function.__code__
        for name in {each.id for each in ast.walk(definition) if isinstance(each, ast.Name)} - {*code.co_varnames,
                                                                                              *code.co_cellvars}:
            given = known.get(name, getattr(builtins, name, ABSENT))
            here = ABSENT if name in local_names else self.names.get(name, getattr(builtins, name, ABSENT))
            if given is not ABSENT and given is not here:
                self.fail(node, f"{function.__name__} uses '{name}', which is something else here: pass it as an "
                                "argument, or rename it")
        return definition

    def _pass_captured(self, tree):
        """Calls of functions that capture variables pass their values now, as keywords that nobody can write."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                function = self._functions.get(node.func.id) or self.names.get(node.func.id)
                for name in getattr(function, "captured_variables", ()):
                    value = ast.copy_location(ast.Name(name, ast.Load()), node)
                    node.keywords.append(ast.copy_location(ast.keyword(f"'{name}", value), node))

    def fail(self, node, message):
        """Raises the error at a node."""
        line = getattr(node, "lineno", self.tree.lineno)
        message = re.sub(r"(\w)'\d+", r"\1", message)  # as the user calls renamed variables
        shown = self._lines.get(line, "").strip()
        error = TranslationError(f"{self.file}:{line}: {message}\n    {shown}")
        error.line, error.file, error.message = line, self.file, message
        raise error

    def meaning(self, node, local_names):
        """The object that a name or a dotted name of the surroundings refers to; LookupError if it is none."""
        try:
            found = self._meaning(node, local_names)
        except LookupError:
            self._note(node, ABSENT, local_names)
            raise
        self._note(node, found, local_names)
        return found

    def _note(self, node, value, local_names=()):
        path = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            is_attribute = isinstance(node, ast.Attribute)
            if not is_attribute and not isinstance(node.slice, ast.Constant):
                return
            path.append((".", node.attr) if is_attribute else ("[]", node.slice.value))
            node = node.value
        if isinstance(node, ast.Name) and node.id not in local_names and node.id not in self._functions and \
                node.id not in _OWN_NAMES and not self.is_ours:
            self._reads.note(self._home, (node.id, *reversed(path)), value)

    def _meaning(self, node, local_names):
        if isinstance(node, ast.Name):
            if node.id in self._functions:
                return self._functions[node.id]
            if node.id in local_names:
                raise LookupError
            if node.id in self.names:
                return self.names[node.id]
            return getattr_or_lookup_error(builtins, node.id)
        if isinstance(node, ast.Attribute):
            return getattr_or_lookup_error(self.meaning(node.value, local_names), node.attr)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            whole = self.meaning(node.value, local_names)
            if isinstance(whole, (tuple, dict)):
                return whole[node.slice.value]
        raise LookupError


def _parsed(text):
    """The syntax tree; None if the lines are a part of a statement, as those of a lambda may be."""
    try:
        return ast.parse(textwrap.dedent(text))
    except SyntaxError:
        return None


def _lambda_in(tree):
    """The function of the lambda expression in these lines; None if it is not the only one."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)] if tree else []
    return _as_function(found[0], "lambda") if len(found) == 1 else None


def _as_function(node, name):
    """The statement that defines what a lambda expression is."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.FunctionDef(name, node.args, [body], [], None)
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _default(node):
    """The value of a default that is a constant; else ABSENT."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ABSENT


def _is_named_lambda(node):
    """f = lambda x: ..."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.targets) == 1 and \
        isinstance(node.targets[0], ast.Name)


def _lambdas(nodes):
    """The lambda expressions that these nodes evaluate themselves, in their order."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Lambda):
            found.append(node)
        elif not isinstance(node, (ast.FunctionDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            found += _lambdas(ast.iter_child_nodes(node))
    return found


def getattr_or_lookup_error(owner, name):
    try:
        return getattr(owner, name)
    except AttributeError:
        raise LookupError from None


def _captured(function):
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    captured = {}
    for name, cell in cells:
        try:
            captured[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            pass
    return captured


def _rename(body, parameters, made):
    """Gives a variable that is assigned again in the first level of the function a new name from there on, "x'1", so
    that `x = x[1:] * 2` may change its type. Adds the new names to those that are made, and returns them."""
    seen, current = set(parameters), {}

    def rename(node):
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                each.id = current.get(each.id, each.id)

    def assign(target):
        if target.id in seen:
            base = target.id.partition("'")[0]
            made.append(f"{base}'{len(made) + 1}")
            current[target.id] = target.id = made[-1]
        seen.add(target.id)

    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            rename(statement.value)
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                # From the left: in `i, a[i] = 1, x` the index is the new value.
                for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                    (assign if isinstance(each, ast.Name) else rename)(each)
        else:
            rename(statement)
        seen |= {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and
                 isinstance(each.ctx, ast.Store)}
    return made
