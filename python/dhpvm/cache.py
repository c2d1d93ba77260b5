# SPDX-License-Identifier: Apache-2.0
"""Translations of functions on disk: a later process compiles and translates nothing.

An entry holds for one function as Python has compiled it, for the types of its arguments, and for what its source
refers to: constants, functions, modules, arrays. These are looked at again when the entry is read. The entries are next
to the machine code that engines keep, in files that nobody else may write.
"""

from __future__ import annotations

import builtins
import contextlib
import marshal
import os
import sys
import time
import zlib
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from . import _core, structs

_SUFFIX = ".python"
_VERSION = 1
_MOST_ENTRIES = 2000
_OTHERS_WRITE = 0o022
ABSENT = object()  # behind a name that there is not


class Entry:
    """A translated function: the program as bytecode and as text, and what calls of it need."""

    __slots__ = ("name", "text", "file", "origins", "parameters", "results", "captured", "code")

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values):
            setattr(self, name, value)

    def values(self):
        return tuple(getattr(self, name) for name in self.__slots__)


class Place:
    """Where the entry of a function for these types is, or would be. `folder` is None where nothing is kept."""

    def __init__(self, folder, function, kinds, hints):
        self.folder, self._function = folder, function
        mark = _mark_of_function(function), _closure(function)
        self.key = repr((_versions(), hints, kinds, mark)).encode("utf-8", "surrogatepass")
        self.name = f"{zlib.crc32(self.key):08x}{zlib.adler32(self.key):08x}"

    def _path(self):
        return os.path.join(self.folder, self.name + _SUFFIX)

    def read(self):
        """The entry; None if there is none for the function as it is now."""
        if self.folder is None:
            return None
        try:
            with open(self._path(), "rb") as file:
                given = os.fstat(file.fileno())
                if given.st_uid != os.geteuid() or given.st_mode & _OTHERS_WRITE:
                    return None
                checksum, content = file.read(4), file.read()
            if int.from_bytes(checksum, "little") != zlib.crc32(content):
                return None
            key, reads, captured, values = marshal.loads(content)
        except (OSError, ValueError, EOFError, TypeError):
            return None
        found = _same(reads, self._function) if key == self.key else None
        if found is None:
            return None
        entry = Entry(*values)
        entry.captured = [found[i] for i in captured]
        entry.results["shape"] = _with_classes(entry.results["shape"], found)
        return entry

    def write(self, entry, reads):
        """Keeps the entry, if what its source refers to can be looked at again."""
        noted = reads.noted(self._function)
        if self.folder is None or noted is None:
            return
        captured = [reads.position(array) for array in entry.captured]
        values = Entry(*entry.values())
        values.captured = None
        try:
            values.results = {**entry.results, "shape": _without_classes(entry.results["shape"], reads)}
        except ValueError:  # a class that the source does not name itself
            return
        content = marshal.dumps((self.key, noted, captured, values.values()))
        path = None
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            # As tempfile.mkstemp does, whose import takes longer than all of this.
            given = os.path.join(self.folder, f"{self.name}.{os.getpid()}.{id(entry)}.{time.monotonic_ns()}")
            descriptor = os.open(given, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            path = given
            with open(descriptor, "wb") as file:
                file.write(zlib.crc32(content).to_bytes(4, "little") + content)
            os.replace(path, self._path())
            path = None
            _remove_oldest(self.folder)
        except OSError:
            if path is not None:  # a full disk
                with contextlib.suppress(OSError):
                    os.unlink(path)
            # The next process translates again.


_CLASS = "class'"  # in front of the position of a class, in the shape of a result on disk


def _without_classes(shape, reads):
    if isinstance(shape, type):
        return _CLASS, reads.position(shape)
    return type(shape)(_without_classes(each, reads) for each in shape) if isinstance(shape, (tuple, list)) else shape


def _with_classes(shape, found):
    if isinstance(shape, tuple) and shape and shape[0] == _CLASS:
        return found[shape[1]]
    return type(shape)(_with_classes(each, found) for each in shape) if isinstance(shape, (tuple, list)) else shape


class Reads:
    """What the sources of a translation have referred to: the objects behind names, by the function that has the
    name."""

    def __init__(self):
        self._found, self._places, self._imports = {}, {}, {}

    def note(self, function, path, value):
        """`function` refers to an object, or to ABSENT, by a path of names."""
        key = (function, path)
        if key not in self._found:
            self._found[key] = value
            inner = getattr(value, "__wrapped__", value)
            if isinstance(inner, FunctionType):
                self._places.setdefault(inner, key)

    def imports(self, function, text):
        self._imports.setdefault(function, []).append(text)

    def position(self, thing):
        """The position of an array or class in what `noted` returns; a ValueError if it is not there."""
        return [value is thing for value in self._found.values()].index(True)

    def noted(self, entry):
        """All of it, as `_same` looks at it again. None if that is not possible."""
        functions, values = [entry], list(self._found.values())
        for function, _ in self._found:  # in the order in which they were reached
            if function not in functions:
                functions.append(function)
        keys = list(self._found)
        if any(function not in self._places for function in functions[1:]):
            return None
        places = [keys.index(self._places[function]) for function in functions[1:]]
        noted = []
        for (function, path), value in self._found.items():
            noted.append((functions.index(function), path, _mark(value, values)))
        imports = [tuple(self._imports.get(function, ())) for function in functions]
        return noted, places, imports


def _same(reads, entry):
    """The objects that the names refer to now; None if one is another than it was."""
    noted, places, imports = reads
    functions, names, values = {0: entry}, {}, []
    for position, (function, path, mark) in enumerate(noted):
        if function not in names:
            names[function] = _imported(functions[function], imports[function])
        value = _value(functions[function], names[function], path)
        values.append(value)
        if _mark(value, values) != mark:
            return None
        if position in places:
            functions[places.index(position) + 1] = getattr(value, "__wrapped__", value)
    return values


def _imported(function, texts):
    """What the imports in a function's body name."""
    names = {}
    for text in texts:
        try:
            exec(text, {"__package__": function.__globals__.get("__package__")}, names)  # noqa: S102
        except ImportError:
            pass  # its names are absent
    return names


def _value(function, imported, path):
    """The object that a function refers to by a path of names and of keys of tuples and dictionaries."""
    name = path[0]
    free = function.__code__.co_freevars
    try:
        if name in imported:
            value = imported[name]
        elif name in free:
            value = function.__closure__[free.index(name)].cell_contents
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            value = getattr(builtins, name)
        for kind, step in path[1:]:
            if kind == "[]" and not isinstance(value, (tuple, dict)):
                return ABSENT  # as Source.meaning has it
            value = getattr(value, step) if kind == "." else value[step]
    except (AttributeError, LookupError, TypeError, ValueError):
        return ABSENT
    return value


def _mark(value, values):
    """What a translation depends on in an object, as data: equal marks give equal translations. Arrays are told apart
    by the first position in `values` that has the same one."""
    if value is ABSENT:
        return ("absent",)
    inner = getattr(value, "__wrapped__", value)
    if isinstance(inner, FunctionType):
        return _mark_of_function(inner)
    if isinstance(value, (tuple, frozenset)):
        return (type(value).__name__, *(_mark(item, values) for item in value))
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return (type(value).__qualname__, repr(value))
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if isinstance(value, (type, BuiltinFunctionType)):
        own = structs.mark(value) if isinstance(value, type) else ""
        return (type(value).__name__, str(value.__module__), value.__qualname__, own)
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "ndim"):
        if value.ndim == 0:
            return (kind.__qualname__, repr(value))
        # The default of a parameter is not among the values: its content is an argument of the call.
        position = next((i for i, each in enumerate(values) if each is value), None)
        return ("array", value.dtype.str, value.ndim, position)
    if kind.__module__.partition(".")[0] == "numpy":
        return (kind.__qualname__, repr(value))  # ufuncs and types
    # Only what such an object has under a name is read, which is noted by itself.
    return (kind.__module__, kind.__qualname__)


def _mark_of_function(function):
    defaults = (*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items()))
    return ("function", function.__name__, str(function.__module__), _mark(defaults, []),
            repr(_code(function.__code__)))


def _closure(function):
    """The marks of what it captures: functions that one function makes differ in nothing else."""
    marks = []
    for cell in function.__closure__ or ():
        try:
            marks.append(_mark(cell.cell_contents, []))
        except ValueError:  # not assigned yet
            marks.append(_mark(ABSENT, []))
    return tuple(marks)


def _code(code):
    """A function's code as Python has compiled it, with the functions in it and its lines."""
    constants = tuple(_code(each) if isinstance(each, CodeType) else (type(each).__name__, repr(each))
                      if not isinstance(each, frozenset) else sorted(map(repr, each)) for each in code.co_consts)
    lines = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    return (code.co_filename, code.co_firstlineno, code.co_name, code.co_argcount, code.co_posonlyargcount,
            code.co_kwonlyargcount, code.co_flags, code.co_code, constants, code.co_names, code.co_varnames,
            code.co_freevars, code.co_cellvars, lines)


_stamps: list = []


def _versions():
    """What the translation is made by: Python, NumPy, and this package with its library."""
    if not _stamps:
        package, stamps = os.path.dirname(__file__), []
        for folder in (package, os.path.join(package, "translate")):
            with os.scandir(folder) as files:
                stamps += sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files
                                 if file.name.endswith(".py"))
        library = os.stat(_core.library_path())
        numpy = sys.modules.get("numpy")
        _stamps.append((_VERSION, sys.version, sys.flags.optimize, getattr(numpy, "__version__", ""), stamps,
                        library.st_mtime_ns, library.st_size))
    return _stamps[0]


def folder(given):
    """The folder for an engine with these options; None if it keeps nothing."""
    if not given.get("code_cache", True):
        return None
    if given.get("code_cache_directory"):
        return os.fspath(given["code_cache_directory"])
    for variable, inner in (("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
        above = os.environ.get(variable, "")
        if above.startswith("/"):
            return os.path.join(above, inner, "dhpvm")
    return None


def _remove_oldest(folder):
    """Makes room where there are too many entries."""
    with os.scandir(folder) as files:
        entries = [file for file in files if file.name.endswith(_SUFFIX)]
    if len(entries) > _MOST_ENTRIES:
        for file in sorted(entries, key=lambda each: each.stat().st_mtime)[:_MOST_ENTRIES // 2]:
            os.unlink(file.path)
