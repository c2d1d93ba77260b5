#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An application in a language without a binding of its own: Python's ctypes over the C interface.

It calls functions of a program with numbers, text and arrays, gives the program a function of Python, and gets its
errors as exceptions. Nothing but the standard library is needed; other languages with a foreign function interface do
the same.

usage: dhpvm_ctypes.py [LIBRARY]
"""

import array
import ctypes
import sys
from ctypes import POINTER, Structure, Union, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p

ABI_VERSION = 1
NULL, I64, F64, TEXT, ARRAY, OBJECT = 0, 8, 11, 12, 13, 14  # kinds: see dhpvm/c/values.h


class Text(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Array(Structure):
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("kind", c_uint32), ("access", c_uint32), ("rank", c_uint32),
                ("lanes", c_uint32), ("sizes", c_int64 * 3), ("strides", c_int64 * 3)]


class Member(Union):
    _fields_ = [("i64", c_int64), ("f64", c_double), ("text", Text), ("array", POINTER(Array)), ("object", c_void_p)]


class Value(Structure):
    _fields_ = [("kind", c_uint32), ("reserved", c_uint32), ("of", Member)]


class HostCall(Structure):
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("isolate", c_void_p), ("arguments", POINTER(Value)),
                ("argument_count", c_size_t), ("results", POINTER(Value)), ("result_count", c_size_t)]


HostFunction = ctypes.CFUNCTYPE(c_int32, POINTER(HostCall))


class DhpvmError(Exception):
    pass


class Library:
    """libdhpvm.so: `library.name(...)` calls dhpvm_name with room for an error, which it raises."""

    def __init__(self, path):
        self.shared = ctypes.CDLL(path)
        if self.shared.dhpvm_abi_version() < ABI_VERSION:
            raise DhpvmError(f"{path} is too old: its interface has version {self.shared.dhpvm_abi_version()}")
        for name in ("error_text", "code_text"):
            getattr(self.shared, f"dhpvm_{name}").restype = c_char_p
        for name in ("error_free", "isolate_free", "module_free", "engine_free", "function_free", "error_text"):
            getattr(self.shared, f"dhpvm_{name}").argtypes = [c_void_p]

    def __getattr__(self, name):
        function = getattr(self.shared, f"dhpvm_{name}")

        def call(*arguments):
            error = c_void_p()
            if function(*arguments, byref(error)) != 0:
                text = self.shared.dhpvm_error_text(error).decode()
                self.shared.dhpvm_error_free(error)
                raise DhpvmError(text)

        return call


def value_of(argument, kept):
    """A number, a text or an array.array of doubles for the program; `kept` holds what must outlive the call."""
    value = Value()
    if isinstance(argument, int):
        value.kind, value.of.i64 = I64, argument
    elif isinstance(argument, float):
        value.kind, value.of.f64 = F64, argument
    elif isinstance(argument, str):
        data = ctypes.create_string_buffer(argument.encode())
        kept.append(data)
        value.kind, value.of.text = TEXT, Text(ctypes.addressof(data), len(data) - 1)
    elif isinstance(argument, array.array) and argument.typecode == "d":
        address, count = argument.buffer_info()
        lent = Array(size=ctypes.sizeof(Array), data=address, kind=F64, access=1, rank=1)
        lent.sizes[0] = count
        kept.append(lent)
        value.kind, value.of.array = ARRAY, ctypes.pointer(lent)
    else:
        raise TypeError(f"{type(argument).__name__} is no type of the program")
    return value


def python_of(value):
    if value.kind == TEXT:
        return ctypes.string_at(value.of.text.data, value.of.text.size).decode()
    return {NULL: None, I64: value.of.i64, F64: value.of.f64}[value.kind]


class Program:
    """A compiled program that runs: its functions are called as attributes."""

    def __init__(self, library, source, host_functions):
        self.library, self.kept = library, []
        self.engine, self.module, self.isolate = c_void_p(), c_void_p(), c_void_p()
        library.engine_new(None, byref(self.engine))
        for name, (signature, function) in host_functions.items():
            self.define(name, signature, function)
        text = source.encode()
        library.module_compile(self.engine, text, c_size_t(len(text)), None, byref(self.module))
        library.isolate_new(self.module, None, byref(self.isolate))

    def define(self, name, signature, function):
        def thunk(call):
            call = call.contents
            arguments = [python_of(call.arguments[i]) for i in range(call.argument_count)]
            try:
                result = function(*arguments)
            except Exception as error:  # noqa: BLE001: no exception may leave a callback
                return self.library.shared.dhpvm_host_fail(byref(call), 23, str(error).encode())
            if call.result_count:
                self.last = []
                call.results[0] = value_of(result, self.last)
            return 0

        callback = HostFunction(thunk)
        self.kept.append(callback)
        self.library.engine_define(self.engine, name.encode(), signature.encode(), callback, None, None)

    def __getattr__(self, name):
        function = c_void_p()
        self.library.isolate_function(self.isolate, name.encode(), None, byref(function))
        results = (Value * max(1, self.library.shared.dhpvm_function_result_count(function)))()
        count = self.library.shared.dhpvm_function_result_count(function)

        def call(*arguments):
            kept = []
            values = (Value * max(1, len(arguments)))(*(value_of(argument, kept) for argument in arguments))
            self.library.call(function, values, c_size_t(len(arguments)), results, c_size_t(count))
            found = [python_of(results[i]) for i in range(count)]
            return found[0] if count == 1 else tuple(found) or None

        return call


SOURCE = """
extern fn rate(currency: str) -> f64;

struct Range { low: f64; high: f64; }

fn greet(name: str) -> str => f"hello, {name}";

fn convert(amounts: [f64], currency: str) {
    let r = rate(currency);
    parallel for i in 0..amounts.len { amounts[i] *= r; }
}

fn range(values: [f64]) -> Range {
    var r = Range(values[0], values[0]);
    for v in values { if v < r.low { r.low = v; } if v > r.high { r.high = v; } }
    return r;
}

fn at(values: [f64], index: i64) -> f64 => values[index];
"""

RATES = {"EUR": 1.25, "JPY": 0.0075}


def rate(currency):
    if currency not in RATES:
        raise LookupError(f"no rate for {currency}")
    return RATES[currency]


def main():
    library = Library(sys.argv[1] if len(sys.argv) > 1 else "libdhpvm.so.0.1")
    program = Program(library, SOURCE, {"host.rate": ("(str) -> f64", rate)})
    amounts = array.array("d", [100.0, 20.0, 4.0])
    print(program.greet("ctypes"))
    program.convert(amounts, "EUR")  # works on the memory of the array itself
    print(list(amounts), program.range(amounts))
    for attempt in (lambda: program.convert(amounts, "XYZ"), lambda: program.at(amounts, 3)):
        try:
            attempt()
        except DhpvmError as error:
            print(error)


if __name__ == "__main__":
    main()
