# SPDX-License-Identifier: Apache-2.0
"""Arrays between Python and programs, where NumPy is there and where it is not."""

from __future__ import annotations

import array

FORMATS = "?bBhHiIqQfd"  # of the buffer protocol, by kind from 1 on
_HOST = (1, 3)  # of DLPack: memory of the host, and such that a GPU reaches


def to_array(elements):
    """An array of a program as users see it: NumPy's, or a memoryview where there is no NumPy."""
    try:
        import numpy
    except ImportError:
        return memoryview(elements)
    return numpy.asarray(elements)


def from_list(numbers, kind, rank):
    """A copy of the numbers in a list, read-only."""
    code = FORMATS[kind - 1]
    if rank == 1 and code != "?":
        return memoryview(array.array(code, numbers)).toreadonly()
    import numpy

    copy = numpy.array(numbers, dtype=code)
    copy.flags.writeable = False
    return copy


def of_callback(elements, kind, shape, is_read_only):
    """The array that a host function is given, over its own copy of the elements."""
    view = memoryview(elements)
    if is_read_only:
        view = view.toreadonly()
    try:
        import numpy
    except ImportError:
        return view.cast(FORMATS[kind - 1], shape)
    return numpy.frombuffer(view, FORMATS[kind - 1]).reshape(shape)


def of_tensor(tensor):
    """An array over the memory of a tensor of another package, which has __dlpack__ and no buffer."""
    import numpy

    if tensor.__dlpack_device__()[0] not in _HOST:
        raise TypeError(f"a tensor of {type(tensor).__module__} lies on a device: pass one in the host's memory, "
                        "x.cpu() for example")
    array = numpy.from_dlpack(tensor)
    if not array.flags.writeable and hasattr(tensor, "__array__"):
        # Old versions of the protocol do not say that the memory can be written.
        same = numpy.asarray(tensor)
        if same.__array_interface__["data"][0] == array.__array_interface__["data"][0]:
            return same
    return array
