# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled functions: the arguments by the signature, and the version for their types."""

from __future__ import annotations

import ast
import inspect

from . import advice, dtypes, parameters, views
from .types import UNKNOWN
from .values import MARK, Value, constant


def arguments(expressions, node, function, evaluate=None):
    """The arguments of a call of a function: what each parameter is given, a node or a default, and its value, that
    `evaluate` gives for a node."""
    evaluate = evaluate or expressions.value
    if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
        expressions.fail(node, f"write each argument of {function.__name__} by itself: * and ** cannot be compiled")
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*node.args, **{each.arg: each.value for each in node.keywords if each.arg[0] != "'"})
    except TypeError as error:
        others = [each.arg for each in node.keywords if each.arg not in signature.parameters]
        expressions.fail(node, f"{function.__name__}: {error}{advice.of_keywords(others)}")
    nodes = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            expressions.fail(node, f"{function.__name__} has *args or **kwargs, which cannot be compiled: write each "
                                   "parameter")
        given = bound.arguments.get(name)
        if given is None:
            given = constant(parameter.default)
        if given is None:
            expressions.fail(node, f"the default of '{name}' is of type {type(parameter.default).__name__}: pass the "
                                   "argument")
        nodes.append(given)
    nodes += [each.value for each in node.keywords if each.arg[0] == "'"]  # captured variables
    values = [evaluate(each) if isinstance(each, ast.expr) else each for each in nodes]
    check_order(expressions, node, nodes, values)
    return nodes, values


def check_order(expressions, node, nodes, values):
    """Python evaluates the arguments as they are written, f(b=g(), a=h()), and the program in the order of the
    parameters: both are the same, or no call among them changes anything."""
    written = [*node.args, *(each.value for each in node.keywords)]
    places = [nodes.index(each) for each in written if each in nodes]
    for i, place in enumerate(places):
        for before in places[:i]:
            if before > place and (_has_effect(values[before]) or _has_effect(values[place])):
                expressions.fail(node, "a call among these arguments changes something: write them in the order of the "
                                       "parameters, or give its result a name first")


def _has_effect(value):
    return MARK in value.text or any(map(_has_effect, value.items))


def _parts(node):
    """The nodes in a tuple, and in tuples in it; others alone."""
    return [part for each in node.elts for part in _parts(each)] if isinstance(
        node, (ast.List, ast.Tuple)) else [node]


def of_function(expressions, node, function, nodes, values):
    """A call with these values; `nodes` are what they come from."""
    nodes = [dtypes.viewed(expressions, each) if value.view is not None and isinstance(each, ast.expr) else
             dtypes.same_array(expressions, each) for each, value in zip(nodes, values)]
    types, texts, places = [], [], []
    for argument, value in zip(nodes, values):
        if UNKNOWN in (value.type, *(item.type for item in value.items)):
            return Value("0", UNKNOWN)
        kind, given = parameters.passed(expressions, argument, value)
        types.append(kind)
        places.append(len(texts))
        texts += given
    version = expressions.unit.version(function, tuple(types), node, expressions)
    for name, argument, kind, place in zip(version.source.parameters, nodes, types, places):
        grown = version.scope.grown(name, kind)
        if grown != kind and not expressions.scope.grow(argument, grown):  # the function has put something into it
            if UNKNOWN not in (getattr(kind, "element", None), getattr(kind, "key", None)):
                expressions.fail(argument, f"{name} becomes a {grown} in {function.__name__}: give this a name first")
            texts[place] = f"{expressions.unit.type_text(grown)}()"
    for position in version.written_parameters():
        for argument in _parts(nodes[position]):
            base = views.base_of(argument)
            if base is None:
                base = expressions.copied_view_of(argument)
                if base is not None:
                    expressions.scope.copied_view(argument, base.id)
            if base is not None:
                expressions.scope.written(base.id, node)
    for position in version.changed_parameters():
        base = views.base_of(nodes[position])
        if base is not None:
            expressions.scope.changed(base.id, node)
    expressions.version.called.add(version)
    mark = expressions.unit.mark(node) if version.has_effects() else ""
    return Value(version.call(texts, mark), version.result)
