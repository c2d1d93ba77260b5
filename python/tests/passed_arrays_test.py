# SPDX-License-Identifier: Apache-2.0
"""Arrays that one version of a function gets in its later calls, after one whose dtype it knows."""

import gc
import sys
import unittest

import support
from support import np

import dhpvm


def total(a):
    s = 0.0
    for x in a:
        s += x
    return s


def corners(a):
    return a[0, 0], a[0, -1], a[-1, 0], a[-1, -1], a.shape[0], a.shape[1]


def double(a):
    for i in range(len(a)):
        a[i] *= 2


class PassedArrays(unittest.TestCase):
    def setUp(self):
        self.total, self.corners, self.double = map(dhpvm.jit, (total, corners, double))
        self.x = np.arange(6.0)
        self.assertEqual(self.total(self.x), 15)
        self.assertEqual(self.corners(self.x.reshape(2, 3)), (0, 2, 3, 5, 2, 3))
        self.double(self.x)

    def test_other_sizes_and_strides(self):
        x = np.arange(24.0)
        for a in (x, x[:0], x[:1], x[::3], x[::-1], x[5:2:-1], np.zeros(0), np.zeros((0, 3))[:, 0]):
            self.assertEqual(self.total(a), total(a))
        m = x.reshape(4, 6)
        for a in (m, m.T, m[1:3, ::2], m[::-1, ::-1], np.asfortranarray(m), m[:1], m[:, :1], m[2:3, 4:5]):
            self.assertEqual(self.corners(a), corners(a))
        y = x[::2]
        self.double(y)
        self.assertEqual(x[:4].tolist(), [0, 1, 4, 3])

    def test_one_element_for_all(self):
        self.assertEqual(self.total(np.broadcast_to(np.float64(2), 5)), 10)
        self.assertEqual(self.corners(np.broadcast_to(np.arange(3.0), (4, 3))), (0, 2, 0, 2, 4, 3))
        self.assertEqual(self.corners(np.broadcast_to(np.float64(2), (4, 3))), (2, 2, 2, 2, 4, 3))
        with self.assertRaises(ValueError):
            self.double(np.broadcast_to(np.float64(2), 5))

    def test_read_only(self):
        x = np.ones(3)
        x.flags.writeable = False
        self.assertEqual(self.total(x), 3)
        with self.assertRaisesRegex(ValueError, "read-only"):
            self.double(x)

    def test_other_types(self):
        for kind in (np.float32, np.int64, np.bool_, np.uint8):
            self.assertEqual(self.total(np.ones(5, kind)), 5)
        for bad in (np.ones(3, ">f8"), np.ma.masked_array(np.ones(3), [0, 1, 0]), np.array(["a"]),
                    np.array([1, "a"], object), np.zeros(2, "M8[s]")):
            with self.assertRaises(dhpvm.TranslationError):
                self.total(bad)
        self.assertEqual(self.total(np.ones(3, np.dtype("f8", copy=True))), 3)

    def test_shared_memory(self):
        both = dhpvm.jit(lambda a, b: a.sum() + b.sum())
        x = np.arange(8.0)
        for _ in range(3):
            self.assertEqual(both(x, x[2:]), 28 + 27)

    def test_references(self):
        x, before = np.arange(6.0), None
        for _ in range(3):
            for _ in range(100):
                self.total(x)
            gc.collect()
            counts = sys.getrefcount(x), sys.getrefcount(x.dtype)
            self.assertEqual(counts[0], 2)
            self.assertIn(before and counts[1] - before, (None, 0))
            before = counts[1]


if __name__ == "__main__":
    support.main()
