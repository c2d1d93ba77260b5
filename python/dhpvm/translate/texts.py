# SPDX-License-Identifier: Apache-2.0
"""Texts with numbers in them: f"n is {n}", "n is %d" % n, "n is {}".format(n) and "n is " + str(n) are one thing."""

from __future__ import annotations

import ast
import re

from .types import Text

# %[flags][width][.precision]type, and the format specification of Python, which is that of the language.
_CONVERSION = r"%(?:(%)|([-+ #0]*)(\d*)((?:\.\d+)?)([sridugGeEfFxXo]))"
_SPECIFICATION = r"(?:[^{}\"\\]?[<>^])?[+\- ]?(#?)0?\d*,?((?:\.\d+)?)([bdoxXeEfFgG%]?)"
_INTEGERS = ("b", "d", "o", "x", "X")


def joined(statements, node):
    """The formatted text that an expression makes, as f"..". None for expressions that make none."""
    parts = _parts(statements, node)
    if parts is None or not any(isinstance(each, ast.FormattedValue) for each in parts):
        return None
    return ast.fix_missing_locations(ast.copy_location(ast.JoinedStr(parts), node))


def is_formatting(node):
    """Whether a text is formatted, if only in a way that is not known here."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod) and _is_text(node.left)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_text(node.func.value)


def specification(node, is_integer):
    """The format of a number in a formatted text, as the language takes it; None for those that it does not take."""
    text = "".join(str(getattr(each, "value", "{")) for each in node.format_spec.values) if node.format_spec else ""
    found = re.fullmatch(_SPECIFICATION, text)
    if found is None:
        return None
    alternate, precision, kind = found.groups()
    if kind in _INTEGERS:
        fits = is_integer and not precision
    else:  # `#` keeps the point, and zeros behind it
        fits = not alternate and not (precision and is_integer and not kind)
    return text if fits else None


def _parts(statements, node):
    """Texts and formatted values; None where something else is among them."""
    if isinstance(node, ast.JoinedStr):
        return node.values
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node]
    if isinstance(node, ast.Name) and isinstance(statements.expressions.value(node).type, Text):
        return [ast.FormattedValue(node, -1, None)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _parts(statements, node.left), _parts(statements, node.right)
        return None if None in (left, right) else left + right
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        given = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return _converted(node.left.value, given) if _is_text(node.left) else None
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format" and _is_text(node.func.value):
        return _filled(node.func.value.value, node)
    if len(node.args) == 1 and not node.keywords and statements.means(node.func, str):
        return [ast.FormattedValue(node.args[0], -1, None)]
    return None


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _value(node, text):
    """A number in this format."""
    return ast.FormattedValue(node, -1, ast.JoinedStr([ast.Constant(text)]) if text else None)


def _converted(text, given):
    """The parts of "n is %d" % n."""
    parts, at, left = [], 0, list(given)
    for found in re.finditer(_CONVERSION, text):
        parts.append(ast.Constant(text[at:found.start()] + (found[1] or "")))
        at = found.end()
        if found[1]:
            continue
        if not left:
            return None
        flags, width, precision, kind = found.groups()[1:]
        align = "<" if "-" in flags else ">" if width and kind in "sr" else ""
        sign = next((each for each in "+ " if each in flags and kind not in "sr"), "")
        zero = "0" if "0" in flags and not align else ""
        kind = {"s": "", "r": "", "i": "d", "u": "d"}.get(kind, kind)
        if precision and kind in ("", *"dxXo"):  # of digits, or of letters
            return None
        form = align + sign + "#" * ("#" in flags) + zero + width + precision + kind
        parts.append(_value(left.pop(0), form))
        if found[5] == "r":
            parts[-1].conversion = ord("r")
    return None if left or "%" in text[at:] else [*parts, ast.Constant(text[at:])]


def _filled(text, call):
    """The parts of "n is {}".format(n)."""
    import string

    named, parts, following = {each.arg: each.value for each in call.keywords}, [], 0
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError:
        return None
    for literal, field, form, conversion in pieces:
        parts.append(ast.Constant(literal))
        if field is None:
            continue
        place = str(following) if field == "" else field
        following += field == ""
        if place.isdigit() and int(place) < len(call.args):
            parts.append(_value(call.args[int(place)], form))
        elif place in named:
            parts.append(_value(named[place], form))
        else:
            return None
        if conversion not in (None, "r", "s") or "{" in form:
            return None
        if conversion:
            parts[-1].conversion = ord(conversion)
    return parts
