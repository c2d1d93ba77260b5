# SPDX-License-Identifier: Apache-2.0
"""Progress of long loops: a bar on a terminal or in a notebook, or a function of the caller's."""

from __future__ import annotations

import sys
import threading
from collections import namedtuple

from . import _core, errors, options

Progress = namedtuple("Progress", "loop done total seconds has_ended")
Progress.__doc__ = """A loop that runs: where it is in the source, the iterations that are done, and all of them, the
seconds so far, and whether it has ended, well or with an error."""

_WIDTH = 30
_lock = threading.Lock()
_shown = []  # the blocks that there are, outermost first


class progress:
    """Shows how far parallel loops have come that take longer than `every` seconds, of all programs in the block.

        with dhpvm.progress():
            simulate(grid)

    The bar is drawn in notebooks, and on standard error where that is a terminal; elsewhere nothing is shown. With
    `show`, that function is called with each dhpvm.Progress instead, on the thread that runs the loop; an exception
    ends the call that runs it. The function cannot use the program whose loop it is told of.
    """

    def __init__(self, show=None, every=0.1):
        if show is not None and not callable(show):
            raise TypeError(f"progress takes a function of a Progress, and this is {type(show).__name__}")
        self._interval = options.nanoseconds(every)
        self._show = show
        self._entries = []  # one for each `with` that is open, for an object may be used again

    def __enter__(self):
        show = self._show or _display()
        entry = (show and (lambda loop, *rest: show(Progress(errors.python_lines(loop), *rest))), self._interval)
        with _lock:
            _shown.append(entry)
            _core.set_progress_listener(*entry)
            self._entries.append(entry)
        return self

    def __exit__(self, *_):
        # Blocks of several threads end in any order.
        with _lock:
            entry = self._entries.pop()
            del _shown[max(i for i, each in enumerate(_shown) if each is entry)]
            _core.set_progress_listener(*(_shown[-1] if _shown else (None, 0)))


def _display():
    """The function that shows progress here; None: nothing does."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and hasattr(shell, "kernel"):
        return _Notebook().show
    return _terminal if sys.stderr is not None and sys.stderr.isatty() else None


def _terminal(moment):
    """One line, written over and over, and taken away at the end of the loop."""
    filled = int(_WIDTH * moment.done / moment.total)
    line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {text(moment)}"
    sys.stderr.write("\r\x1b[K" + ("" if moment.has_ended else line))
    sys.stderr.flush()


class _Notebook:
    """A bar below the cell. It stays, at the last loop that took long."""

    def __init__(self):
        self._handle = None

    def show(self, moment):
        from IPython.display import HTML, display

        drawn = HTML(drawing(moment))
        if self._handle is None:
            self._handle = display(drawn, display_id=True)
        else:
            self._handle.update(drawn)


def drawing(moment):
    """The bar as HTML."""
    from html import escape

    return (f'<progress value="{moment.done}" max="{moment.total}" style="width: 20em"></progress> '
            f"{escape(text(moment))}")


def text(moment):
    """A moment in words: "45 %, 3 s, 4 s to go, blur.py:12"."""
    share = moment.done / moment.total
    parts = [f"{100 * share:.0f} %", _time(moment.seconds)]
    if share > 0 and not moment.has_ended:
        parts.append(f"{_time(moment.seconds * (1 - share) / share)} to go")
    return ", ".join([*parts, moment.loop.rpartition("/")[2]])


def _time(seconds):
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
