# SPDX-License-Identifier: Apache-2.0
"""Functions of Python, compiled for the types of their arguments."""

from __future__ import annotations

import functools
import inspect
import itertools
import re

from . import _core, arrays, cache, errors, options, passed_lists, signature, structs
from .drawing import Explanation
from .engine import Engine, current, on_end
from .translate import types

_ALWAYS_BIND = 2**32  # no call has so many arguments
_numbers = itertools.count(1)
# Options of Numba's jit that say what is so here.
_OF_NUMBA = {"parallel", "nopython", "cache", "nogil", "boundscheck", "forceobj", "looplift", "error_model"}
_DIAGNOSTIC = re.compile(r"\.dhp:(?P<line>\d+):\d+: (?P<kind>error|warning): (?P<text>.*)$", re.M)


def jit(function=None, *, fastmath=False, debug=False, device=None, **limits):
    """Compiles a function for the types of its arguments, when it is called with them for the first time.

    Loops over `dhpvm.prange` run in parallel, on the device or the workers of the engine in use. `fastmath` lets loops
    reorder floating-point operations; `device` wishes for a device, "gpu" for example; `debug` interprets the function
    and raises where iterations get in each other's way. Others are options of dhpvm.Engine: `deadline`, `heap`, ..
    """
    for name in _OF_NUMBA.intersection(limits):
        raise TypeError(f"leave out {name}: loops over dhpvm.prange run in parallel, compiled code is kept on disk, "
                        "and indices are checked, in each function")
    if function is None:
        return lambda given: jit(given, fastmath=fastmath, debug=debug, device=device, **limits)
    if isinstance(function, str):
        raise TypeError("types are those of the arguments of each call: write @dhpvm.jit")
    if not inspect.isfunction(function):
        raise TypeError(f"jit is for functions that are written with def, and this is {type(function).__name__}")
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise errors.TranslationError(f"{_place(function)}{function.__name__} has *args or **kwargs, which cannot be "
                                      "compiled: write each parameter")
    return CompiledFunction(function, fastmath, debug, device, limits)


class CompiledFunction(_core.Dispatcher):
    """A function compiled by dhpvm.jit; `__wrapped__` is the function itself."""

    def __init__(self, function, fastmath, debug, device, limits):
        # All arguments of a function with keyword-only parameters go through _bind.
        super().__init__(_ALWAYS_BIND if function.__code__.co_kwonlyargcount else function.__code__.co_argcount)
        functools.update_wrapper(self, function)
        self._signature = inspect.signature(function)
        self._hints = ["@fastmath"] * fastmath + [f'@device("{device}")'] * (device is not None)
        self._options = {**limits, **({"jit": "off", "check_races": True} if debug else {})}
        options.take(self._options, options.PROGRAM)
        self._given = (fastmath, debug, device, limits)
        self._programs = {}
        on_end(self)

    def __repr__(self):
        return f"<compiled {self.__wrapped__!r}>"

    def __reduce__(self):
        # Where the decorator put it: by name, as functions of Python travel.
        return self.__qualname__

    def __get__(self, instance, owner=None):
        raise TypeError(f"{self.__qualname__} is a method: compile functions, and pass them the arrays")

    def _bind(self, arguments, keywords):
        bound = self._signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _specialise(self, arguments):
        program = self._compile(arguments)
        self._programs[program.key] = program
        return program.function

    def _compile(self, arguments, engine=None, given=None):
        try:
            kinds = tuple(type_of(argument, name) for argument, name in zip(arguments, self._signature.parameters))
        except errors.TranslationError as error:
            raise errors.TranslationError(f"{_place(self.__wrapped__)}{error}") from None
        layouts = [_layout(argument) for argument in arguments]
        return CompiledProgram(self.__wrapped__, kinds, layouts, self._hints, engine or current(),
                               given or self._options)

    def forget(self, engine):
        """Drops what it has been compiled to for this engine."""
        self._forget_versions(engine)
        self._programs = {key: program for key, program in self._programs.items() if program.engine is not engine}

    def signatures(self):
        """The combinations of types that it has been compiled for."""
        return [program.signature for program in self._programs.values()]

    def inspect(self, *arguments):
        """The program in the language that calls with these arguments run; without arguments, the last one."""
        if arguments:
            return self._compile(self._bind(arguments, {})).text
        return next(reversed(self._programs.values())).text if self._programs else ""

    def inspect_ptx(self, *arguments, target="ptx"):
        """The code of its parallel loops as a GPU of NVIDIA gets it, whether there is one here or not.

        Runs the function once with copies of the arguments, on the host. Other targets: "ptx:sm_90" for a processor,
        "opencl", "llvm" and "asm" for the host.
        """
        from .listing import Listing

        engine = Engine(list_kernels={"llvm": 1, "asm": 2}.get(target, 3), list_language=target, code_cache=False)
        given = {**self._options, "jit": "eager", "jit_wait": True, "device": "host"}
        with Listing() as listing:
            copies = [_copy(argument) for argument in self._bind(arguments, {})]
            self._compile(copies, engine, given).function(*copies)
        return "\n".join(dict.fromkeys(listing.texts))

    def explain(self):
        """Explains how each parallel loop was run, and why it ran no faster. Notebooks draw it."""
        return Explanation("\n".join(program.explain() for program in self._programs.values()))


class CompiledProgram:
    """A function for one combination of types on one engine."""

    def __init__(self, function, kinds, layouts, hints, engine, given):
        self.engine, self.key = engine, (tuple(kinds), id(engine))
        self.signature = ", ".join(str(kind) for kind, _ in kinds)
        place = cache.Place(engine.cache_folder, function, kinds, hints)
        entry = place.read()
        module = entry and _loaded(entry, engine, given)
        if module is None:
            entry, reads = _translated(function, kinds, hints, place.name)
            module = _compiled(entry, engine, given)
            entry.code = module.to_bytes()
            place.write(entry, reads)
        self.text, self._file, self._isolate = entry.text, entry.file, module._isolate
        layout = [layouts, entry.captured] if entry.captured or any(layouts) else []
        self.function = _core.Function(self._isolate, entry.name, entry.parameters, entry.results, *layout)

    def explain(self):
        return _python_lines(errors.python_lines(self._isolate.explain()), self._file)


def _loaded(entry, engine, given):
    """The module of an entry that was kept; None if it cannot be used here."""
    if not errors.has_lines(entry.file, entry.origins):
        return None
    try:
        module = engine.load(entry.code, **given)
    except errors.Error:
        return None  # compiling it anew tells why
    errors.register_lines(entry.file, entry.origins)
    return module


def _translated(function, kinds, hints, name):
    """The function as a program, without its bytecode, and what its sources refer to."""
    from .translate.unit import Unit  # takes longer to import than all else

    unit = Unit(hints)
    version = unit.version(function, tuple(kind for kind, _ in kinds))
    text, origins = unit.text()
    file = f"{function.__name__}.{name}.dhp"
    while not errors.has_lines(file, origins):  # what the function refers to has changed meanwhile
        file = f"{function.__name__}.{name}.{next(_numbers)}.dhp"
    errors.register_lines(file, origins)
    written, captured = version.written_parameters(), unit.captured_arrays(version)
    leaves = [leaf for i, (kind, is_python) in enumerate(kinds) for leaf in _leaves(kind, is_python, i in written)]
    leaves += [(types.Array(types.NUMPY_NAMES[array.dtype.name], array.ndim), False, False) for array in captured]
    parameters = [
        signature.parameter(_type_name(kind), signature.WRITTEN if is_written else signature.READ,
                            is_python).description()
        for kind, is_python, is_written in leaves]
    results = _results(version.result)
    shape = _shape(version.result)
    layout = signature.results(map(types.text, results), [getattr(kind, "position", None) for kind in results],
                               None if shape is False or not _is_composed(shape) else shape)
    return cache.Entry(version.text_name, text, file, origins, parameters, layout, captured, None), unit.reads


def _results(result):
    """The types of the values that a program returns for a result."""
    if result == types.NONE:
        return []
    result = types.outward(result)
    if isinstance(result, types.Tuple):
        return [part for item in result.items for part in (_results(item) or [item])]
    return _parts(result)


def _parts(kind):
    """A complex number is passed as two numbers."""
    if isinstance(kind, types.Scalar) and kind.is_complex:
        return [types.Scalar(kind.part)] * 2
    return [kind]


def _shape(kind):
    """The result as ResultLayout describes it."""
    if isinstance(kind, types.Optional):
        return "optional", _shape(kind.kind)
    if isinstance(kind, types.Named):
        return "named", kind.names, [_shape(item) for item in kind.items]
    if isinstance(kind, types.Struct):
        return "named", kind.maker, [_shape(item) for item in kind.items]
    if isinstance(kind, types.List) and isinstance(kind.element, types.Struct):
        return "named", ("list", kind.element.maker), [("tuples", len(types.outward(kind).items))]
    if isinstance(kind, types.Dict) and not isinstance(kind, types.Set):
        return "named", None, [_shape(types.List(each)) for each in (kind.known.key, kind.known.value)]
    if types.builder(kind):
        return types.builder(kind), len(types.outward(kind).items)
    if isinstance(kind, types.Tuple):
        return [_shape(item) for item in kind.items]
    return isinstance(kind, types.Scalar) and kind.is_complex


def _is_composed(shape):
    """Whether the values of a program are put together: one alone is the result, and several are a tuple of them."""
    return shape is True or isinstance(shape, tuple) or len(shape) == 1 or any(item is not False for item in shape)


def _compiled(entry, engine, given):
    """The module. Errors of the compiler are at the lines of the Python code."""
    try:
        return engine.compile(entry.text, name=entry.file, **given)
    except errors.CompileError as error:
        message, found = str(error), []
    for match in _DIAGNOSTIC.finditer(message):
        origin = errors.origin(entry.file, int(match["line"]))
        if match["kind"] == "error" and origin:
            found.append(f"{origin[0]}:{origin[2]}: {_python_lines(match['text'], entry.file)}")
    raise errors.TranslationError("\n".join(found) or message)


def _python_lines(text, file):
    def replace(match):
        origin = errors.origin(file, int(match[1]))
        return f"line {origin[2]}" if origin else match[0]

    return re.sub(r"\bline (\d+)", replace, text)


def _type_name(kind):
    if isinstance(kind, types.Text):
        return signature.TEXT_MARK + kind.value
    return "None" if kind == types.NONE else types.text(kind)


def _copy(argument):
    if type(argument) in (tuple, list):
        return type(argument)(map(_copy, argument))
    return argument.copy() if hasattr(argument, "copy") else argument


def _leaves(kind, is_python, is_written):
    """Type, origin and use of each parameter of a program that an argument of this type has."""
    if isinstance(kind, types.Listed):
        return [(part, False, is_written and isinstance(kind.element, types.Array)) for part in kind.parameters]
    if isinstance(kind, types.Scalar) and kind.is_complex:
        return [(part, True, False) for part in _parts(kind)]
    if not isinstance(kind, types.Tuple):
        return [(kind, is_python, is_written)]
    origins = is_python if isinstance(is_python, tuple) else [False] * len(kind.items)
    return [leaf for item, origin in zip(kind.items, origins) for leaf in _leaves(item, origin, is_written)]


def _layout(argument):
    """The argument as _core.Function takes it apart: see ArgumentLayout."""
    if type(argument) is tuple:
        return [_layout(item) for item in argument]
    if type(argument) is list:
        return passed_lists.layout(argument)
    if structs.fields(type(argument)):
        return structs.layout(argument)
    dtype = getattr(argument, "dtype", None)
    if isinstance(argument, complex) or (getattr(dtype, "kind", "") == "c" and argument.ndim == 0):
        return type(argument)
    return (dtype, list(_fields(dtype))) if getattr(dtype, "names", None) else None


def _fields(dtype):
    """The fields of records that programs can have, with their types."""
    kinds = {name: dtype.fields[name][0] for name in dtype.names}
    return {name: types.NUMPY_NAMES[kind.name] for name, kind in kinds.items()
            if kind.name in types.NUMPY_NAMES and kind.isnative}


def _place(function):
    """The place of the function's source, in front of a message."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: "


def type_of(argument, name):
    """The type of an argument, and whether it is a number of Python's own."""
    if argument is None:
        return types.NONE, True
    if type(argument) is str and argument.isascii() and "\0" not in argument:
        return types.Text(argument), True
    if isinstance(argument, bool):
        return types.BOOL, True
    if type(argument) is int:
        return types.INT, True
    if type(argument) is float:
        return types.FLOAT, True
    if type(argument) is complex:
        return types.COMPLEX, True
    if type(argument) is tuple and argument:
        items = [type_of(item, f"{name}[{i}]") for i, item in enumerate(argument)]
        for i, (kind, _) in enumerate(items):
            if isinstance(kind, types.Listed):
                raise errors.TranslationError(f"'{name}[{i}]' is a list in a tuple: pass np.array(..), or the list as "
                                              "an argument of its own")
        return types.Tuple(tuple(kind for kind, _ in items)), tuple(is_python for _, is_python in items)
    if type(argument) is list and argument:
        return _type_of_list(argument, name), False
    if structs.fields(type(argument)):
        return _type_of_struct(argument, name)
    if isinstance(argument, arrays.Array):
        return types.Array(types.NUMPY_NAMES[argument.dtype.name], argument.ndim), False
    dtype = getattr(argument, "dtype", None)
    rank = getattr(argument, "ndim", None)
    if getattr(dtype, "names", None) and _fields(dtype) and 1 <= rank <= 3:
        fields = _fields(dtype)
        items = tuple(types.Array(element, rank) for element in fields.values())
        return types.Record(items, tuple(fields), rank), False
    if hasattr(argument, "__dlpack__") and not hasattr(argument, "__array_interface__"):
        argument = arrays.of_tensor(argument)
    if hasattr(argument, "_mask") and hasattr(argument, "filled"):
        raise errors.TranslationError(f"'{name}' is a masked array, which programs do not have: pass x.filled(0), or "
                                      "x.data and x.mask")
    if dtype is None or rank is None:
        advice = {list: "an empty list has no type, pass np.zeros(0)", tuple: "pass np.array(..)",
                  dict: "pass what it holds", str: "pass a number or a bool in its place",
                  bytes: "pass np.frombuffer(x, np.uint8)"}.get(type(argument), "pass the numbers and arrays in it")
        if type(argument).__name__ == "Generator":
            advice = "pass a seed, and write np.random.default_rng(seed) in the function"
        raise errors.TranslationError(f"'{name}' is of type {type(argument).__name__}, and functions are compiled for "
                                      f"int, float, bool, and arrays and numbers of NumPy: {advice}")
    element = types.NUMPY_NAMES.get(dtype.name)
    if element is None and dtype.kind == "V":
        raise errors.TranslationError(f"'{name}' is an array of such records, which programs do not have: pass arrays "
                                      "of records that have fields of numbers")
    if rank == 0 and dtype.kind == "c" and hasattr(argument, "__array_finalize__") and callable(
            getattr(argument, "__setitem__", None)):
        raise errors.TranslationError(f"'{name}' is an array of a complex number without dimensions: pass x[()]")
    if element is None or not dtype.isnative:
        advice = "a.astype(a.dtype.newbyteorder('='))" if element else "a.astype(np.float64), for example"
        raise errors.TranslationError(f"'{name}' is an array of {dtype.str}, which programs do not have: {advice}")
    if rank > 3:
        raise errors.TranslationError(f"'{name}' has {rank} dimensions, and programs have arrays of 1 to 3: "
                                      "reshape it")
    if rank == 0:
        return types.Scalar(element), False
    return types.Array(element, rank), False


def _type_of_struct(argument, name):
    """The type of an object of namedtuple or dataclass, and which of its fields are Python's own."""
    names = structs.fields(type(argument))
    items = [type_of(value, f"{name}.{field}") for field, value in zip(names, structs.values(argument))]
    for field, (kind, _) in zip(names, items):
        if not isinstance(kind, (types.Scalar, types.Array, types.Text)) and kind != types.NONE or (
                isinstance(kind, types.Scalar) and kind.is_complex):
            raise errors.TranslationError(f"'{name}.{field}' is a {kind}: fields of a namedtuple or dataclass that is "
                                          "passed are real numbers and arrays")
    kind = types.Struct(tuple(kind for kind, _ in items), names, structs.is_fixed(type(argument)))
    return kind, tuple(is_python for _, is_python in items)


def _type_of_list(items, name):
    """The type of a list of numbers, or of arrays of one type."""
    kinds = [type_of(item, f"{name}[{i}]")[0] for i, item in enumerate(items)]
    if all(kind == kinds[0] for kind in kinds) and isinstance(kinds[0], types.Array):
        if len(items) > passed_lists.MOST_ARRAYS:
            raise errors.TranslationError(f"'{name}' has {len(items)} arrays, and a list that is passed has up to "
                                          f"{passed_lists.MOST_ARRAYS}: pass np.concatenate(..) and where each begins")
        return types.Listed(kinds[0], len(items))
    if not all(isinstance(kind, types.Scalar) and not kind.is_complex for kind in kinds):
        others = "" if all(kind == kinds[0] for kind in kinds) else " and others"
        raise errors.TranslationError(f"'{name}' is a list of {kinds[0]}{others}: a list that is passed has real "
                                      "numbers, or arrays of one type; pass np.array(..), or a tuple")
    element = passed_lists.of_numbers(items).dtype.name
    return types.Listed(types.Scalar(types.NUMPY_NAMES[element], kinds[0].is_weak and element in (
        "int64", "float64")), 0)
