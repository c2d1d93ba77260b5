# SPDX-License-Identifier: Apache-2.0
"""Programs in the language, and their functions."""

from __future__ import annotations

from . import _core, options, signature
from .drawing import Explanation


class Function(_core.Function):
    """A function of a program.

    It takes int, float, bool, str, None, objects of its program, and whatever has a buffer: NumPy arrays of one to
    three dimensions are lent to the program without a copy, which may write to them. Lists and tuples of numbers are
    copied first.
    """

    def __init__(self, isolate, name, text):
        parameters, results = signature.parse(text)
        self.__name__ = name
        self.signature = f"{name}{text}"
        super().__init__(isolate, name, [signature.parameter(each).description() for each in parameters],
                         signature.results(results))

    def __repr__(self):
        return f"<function {self.signature} of a program>"


class Module:
    """A compiled program that runs: its functions are attributes.

        m = dhpvm.compile("fn twice(x: f64) -> f64 => 2.0 * x;")
        m.twice(21)
    """

    def __init__(self, engine, program, given):
        self._engine, self._program, self._options = engine, program, given
        self._isolate = program.isolate(options.take(given, options.PROGRAM))
        self._signatures = dict(program.exports())

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.__dict__.get("_signatures", ()):
            raise AttributeError(f"the program has no function '{name}'; it has {', '.join(self._signatures) or 'none'}"
                                 if "_signatures" in self.__dict__ else name)
        function = Function(self._isolate, name, self._signatures[name])
        setattr(self, name, function)
        return function

    def __dir__(self):
        return [*super().__dir__(), *self._signatures]

    def functions(self):
        """The names of its functions, with their signatures."""
        return dict(self._signatures)

    def main(self, *arguments):
        """Runs its main function, and returns the exit code."""
        return self._isolate.run_main([str(argument) for argument in arguments])

    def explain(self):
        """Explains how each parallel loop was run, and why it ran no faster. Notebooks draw it."""
        return Explanation(self._isolate.explain())

    def statistics(self):
        """Counters of the program, by name."""
        return self._isolate.statistics()

    def interrupt(self):
        """Ends the running call with an InterruptTrap. From any thread."""
        self._isolate.interrupt()

    def limit(self, *, fuel=None, deadline=None):
        """Sets what is left of fuel, and the seconds that each call may take from now on."""
        if fuel is not None:
            self._isolate.set_fuel(fuel)
        if deadline is not None:
            self._isolate.set_deadline(options.nanoseconds(deadline))

    def reload(self, source, *, name="program.dhp", import_paths=()):
        """Goes on with newer source text. Functions that have been taken run the new code from their next call on, and
        must have the same signatures in it; objects and variables of the program stay in the old one."""
        program = self._engine._compiled(source, name, import_paths)
        self._isolate.reload(program)
        self._program, self._signatures = program, dict(program.exports())

    def to_bytes(self):
        """The program as the content of a .bc file, for dhpvm.load."""
        return self._program.to_bytes()

    def __reduce__(self):
        return _restore, (self.to_bytes(), self._options)


def _restore(content, given):
    from .engine import current

    return current().load(content, **given)
