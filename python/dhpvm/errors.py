# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package. A trap is also the exception that Python has for it: IndexError, for example."""

from __future__ import annotations

import builtins
import itertools
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """A frame of a program's stack. `line` is 0 where it is unknown."""

    function: str
    file: str
    line: int


class Error(Exception):
    """The base of all exceptions of this package. `frames` is the program's stack, innermost first."""

    frames: tuple[Frame, ...] = ()


class CompileError(Error):
    """A program in the language that does not compile. The message holds all diagnostics."""


class TranslationError(Error):
    """Python code that cannot be compiled. The message names the line, and says what to write instead."""


class Trap(Error):
    """A program went wrong while it ran. Its isolate can be used afterwards."""


class ProgramError(Error):
    """A function whose result is `T!` returned an error. `error` is the program's object."""

    error: object = None


class IndexTrap(Trap, IndexError):
    """An index beyond the array."""


class DivisionTrap(Trap, ZeroDivisionError):
    """An integer divided by zero."""


class LengthTrap(Trap, ValueError):
    """An array of negative or impossible size."""


class MemoryTrap(Trap, MemoryError):
    """A limit on memory is reached."""


class StackTrap(Trap, RecursionError):
    """Calls nest too deeply."""


class LimitTrap(Trap, TimeoutError):
    """The program used up its fuel or its time."""


class InterruptTrap(Trap):
    """The program was interrupted by `interrupt()`. Ctrl-C raises KeyboardInterrupt."""


class DeviceTrap(Trap):
    """A device failed or was lost, and the loop could not be run elsewhere."""


class IoError(Error, OSError):
    """A file or a connection."""


class ArgumentError(Error, ValueError):
    """An argument that the library refuses."""


class NotFoundError(Error, LookupError):
    """There is nothing of that name."""


USER_TRAP = 23
# By dhpvm_code: see include/dhpvm/c/types.h. Others are a Trap or an Error.
_CLASSES = {
    1: ArgumentError, 2: NotFoundError, 3: IoError, 7: CompileError, 9: MemoryTrap, 10: MemoryTrap, 11: StackTrap,
    12: LimitTrap, 13: LimitTrap, 14: InterruptTrap, 15: IndexTrap, 16: LengthTrap, 17: DivisionTrap, 25: DeviceTrap,
    26: DeviceTrap, 27: DeviceTrap,
}

# Texts of sources that were made from Python code, by their file name: they turn a frame into one of Python.
_line_maps: dict[str, list] = {}


def register_lines(file_name, origins):
    """For each line of `file_name`, file, function and line of the Python code that it was made from, or None."""
    _line_maps[file_name] = origins


def has_lines(file_name, origins):
    """Whether sources of this name have these lines, or none yet."""
    return _line_maps.get(file_name, origins) == origins


def origin(file_name, line):
    """File, function and line of the Python code; None if there is none."""
    origins = _line_maps.get(file_name, ())
    return origins[line - 1] if 0 < line <= len(origins) else None


def _pythons(frame):
    found = origin(frame.file, frame.line)
    return frame if found is None else Frame(found[1], found[0], found[2])


def python_lines(text):
    """The text with the lines of the Python code in place of those of translated functions."""
    def replace(match):
        found = origin(match[1], int(match[2]))
        return f"{found[0]}:{found[2]}" if found else match[0]

    return re.sub(r"([\w.]+\.dhp):(\d+)", replace, text)


def make_exception(code, is_trap, message, text, frames):
    """The exception for an error of the library. Called by the compiled part."""
    own = [Frame(*frame) for frame in frames]
    # Helpers of translated functions are in no line of the Python code.
    own = [frame for frame in own if frame.file not in _line_maps or origin(frame.file, frame.line)] or own
    # The loops of an expression are functions of their own, at its line.
    seen = tuple(frame for frame, _ in itertools.groupby(_pythons(frame) for frame in own))
    made = _CLASSES.get(code, Trap if is_trap else Error)
    if any(origin(frame.file, frame.line) for frame in own):
        if code == USER_TRAP:
            made, message = _raised(message)
        if issubclass(made, IndexError) and re.search(r"\bindex -\d+ is out of range", message):
            message += "; this index does not count from the end: write a[i % len(a)]"
        stack = (f"\n  at {frame.file}:{frame.line} in {frame.function}" for frame in seen)
        text = python_lines(message) + "".join(stack)
    error = made(text)
    error.frames = seen
    for frame in reversed(seen):
        error = _with_frame(error, frame) if frame.file and frame.line else error
    return error


def _raised(message):
    """The exception for "ValueError: too small", which compiled functions trap with, and its text: a Trap that is a
    ValueError as well."""
    if message.startswith("List: index "):
        return IndexTrap, message.removeprefix("List: ")
    name, separator, text = message.partition(": ")
    given = getattr(builtins, name, None) if separator else None
    if not isinstance(given, type) or not issubclass(given, Exception):
        return Trap, message
    if name not in _RAISED:
        _RAISED[name] = type(f"{name}Trap", (Trap, given), {"__doc__": f"A {name} that a compiled function raised."})
    return _RAISED[name], text


_RAISED: dict[str, type] = {}


def _with_frame(error, frame):
    """The error with a frame of the program in its traceback, so that Python shows the line of the source."""
    try:
        code = compile("\n" * (frame.line - 1) + "raise error", frame.file, "exec")
        exec(code.replace(co_name=frame.function), {"error": error})  # noqa: S102: two words of our own
    except Error as raised:
        # The frame of this function is of no interest to anyone.
        return raised.with_traceback(raised.__traceback__.tb_next)
    return error


def program_error(error):
    """The exception for an object of the class Error."""
    exception = ProgramError(error.message)
    exception.error = error
    return exception
