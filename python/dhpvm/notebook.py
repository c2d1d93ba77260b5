# SPDX-License-Identifier: Apache-2.0
"""Cells in the language: `%load_ext dhpvm`, then `%%dhpvm`."""

from __future__ import annotations

import itertools
import shlex

from .engine import current
from .errors import CompileError

_numbers = itertools.count(1)


def load(shell):
    """Registers the magic of cells with IPython's shell."""
    shell.register_magic_function(lambda line, cell: run(shell, line, cell), "cell", "dhpvm")


def run(shell, line, cell):
    """%%dhpvm [NAME] [OPTION=VALUE ..]: compiles the cell, and defines its functions in the notebook, or the module
    NAME with them. Options are limits: deadline=1.5. A main function runs."""
    name, limits = None, {}
    for word in shlex.split(line):
        option, separator, value = word.partition("=")
        if not separator and name is None and word.isidentifier():
            name = word
            continue
        if not separator:
            raise ValueError(f"%%dhpvm takes a name and options, and '{word}' is none: %%dhpvm kernels deadline=1.5")
        limits[option] = _number(value)
    file_name = f"cell{next(_numbers)}.dhp"
    try:
        module = current().compile(cell, name=file_name, **limits)
    except CompileError as error:
        # IPython shows no more than is needed to mend the cell.
        raise CompileError(str(error)) from None
    names = [each for each in module.functions() if each != "main"]
    shell.push({name: module} if name else {each: getattr(module, each) for each in names})
    if "main" in module.functions():
        module.main()


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
