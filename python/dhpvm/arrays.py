# SPDX-License-Identifier: Apache-2.0
"""Arrays between Python and programs, where NumPy is there and where it is not."""

from __future__ import annotations

import array

from . import _core

FORMATS = "?bBhHiIqQfd"  # of the buffer protocol, by kind from 1 on
_PARTS = {"F": "f", "D": "d"}  # of a complex number, which has two
_HOST = (1, 3)  # of DLPack: memory of the host, and such that a GPU reaches


class Array(_core.HeldArray):
    """An array that stays where compiled functions have used it last, on a device for example, until it is looked at.

    numpy.asarray(x), x[i], memoryview(x) and __dlpack__ look at it. dhpvm.array makes one, and so do functions that are
    passed one."""

    def __init__(self, dtype, shape, host=None, place=None):
        super().__init__()
        self.dtype, self.shape, self._host, self._place = dtype, shape, host, place

    # ---- For the compiled part.

    def _fits(self, kind, lanes, rank):
        return len(self.shape) == rank and _element(self.dtype) == (kind, lanes)

    def _in(self, isolate):
        """The place of the elements in this program."""
        if self._place is None or not self._place.is_in(isolate):
            import numpy

            place = _core.ArrayPlace(isolate, *_element(self.dtype), list(self.shape))
            numpy.asarray(place.elements(True))[...] = self
            self._place, self._host = place, None
        return self._place

    def _buffer(self, can_write):
        if self._place is not None:
            return self._place.elements(can_write)
        return self._host if can_write else memoryview(self._host).toreadonly()

    # ---- For users.

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        import math

        return math.prod(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def copy(self):
        """The elements as an array of NumPy of their own."""
        import numpy

        return numpy.array(self)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        import numpy

        return numpy.asarray(self)[index]

    def __setitem__(self, index, value):
        import numpy

        numpy.asarray(self._buffer(True))[index] = value

    def __dlpack__(self, **given):
        import numpy

        return numpy.asarray(self._buffer(True)).__dlpack__(**given)

    def __dlpack_device__(self):
        return _HOST[0], 0

    def __repr__(self):
        return f"<dhpvm.Array of {self.dtype.name}, {' x '.join(map(str, self.shape))}>"


def _element(dtype):
    """The kind of the numbers in an element, and how many there are."""
    part = _PARTS.get(dtype.char)
    return FORMATS.index(part or dtype.char) + 1, 2 if part else 1


def make(elements, dtype=None):
    """A copy of the elements as a dhpvm.Array, which may live on a device."""
    import numpy

    copy = numpy.array(elements, dtype, order="C", ndmin=1)
    # There are several characters for integers of one size.
    kind = numpy.dtype(f"{copy.dtype.kind}{copy.dtype.itemsize}") if copy.dtype.kind in "iufb" else copy.dtype
    kind = next((each for each in map(numpy.dtype, [*FORMATS, *_PARTS]) if each == kind), None)
    if kind is None or not copy.dtype.isnative or copy.ndim > 3:
        raise TypeError(f"programs have no arrays of {copy.dtype} with {copy.ndim} dimensions: pass numbers or bools, "
                        "in up to 3 dimensions")
    return Array(kind, copy.shape, host=copy.view(kind))


def of_place(place):
    """The result of a function."""
    import numpy

    kind, shape, lanes = place.description()
    code = FORMATS[kind - 1]
    return Array(numpy.dtype(code.upper() if lanes == 2 else code), shape, place=place)


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
