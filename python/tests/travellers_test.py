# SPDX-License-Identifier: Apache-2.0
"""Functions as users of Numba and npbench write them: ranges that count either way, heaps, texts with numbers, chains
of assignments to parts of arrays."""

import contextlib
import heapq
import io

import support
from support import np

import dhpvm
from dhpvm import prange

case = support.Cases()


# ---- Ranges.

def sweep(a, direction):
    n = len(a)
    if direction > 0:
        start, stop, step = 1, n, direction
    else:
        start, stop, step = n - 2, -1, direction
    s, i = 0.0, 0
    for i in range(start, stop, step):
        a[i] += 0.5 * a[i]
        s += i
        step = 7  # changes nothing
    return s, i


def listed(a, b, c):
    return list(range(a, b, c))


@case(3, 2, np.arange(5.0))
def bounds_that_change(a, b, x):
    s = 0.0
    for i, v in zip(range(a, 100, b), x):
        a += 1
        b += 1
        s += i * v
    for i, v in zip(reversed(range(a)), x):
        a += 1
        s += i * v
    return s


# ---- Heaps.

@case(np.array([0, 2, 4, 5, 6, 6]), np.array([1, 2, 2, 3, 4, 1]), np.array([1.0, 4.0, 2.0, 6.0, 3.0, 1.0]))
def shortest(first, to, length):
    distance = np.full(len(first), np.inf)
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for e in range(first[u], first[min(u + 1, len(first) - 1)]):
            v = to[e]
            if d + length[e] < distance[v]:
                distance[v] = d + length[e]
                heapq.heappush(heap, (distance[v], v))
    return distance


@case(np.random.default_rng(5).integers(0, 9, 40))
def heaps(x):
    heap = list(x)
    heapq.heapify(heap)
    found = [heapq.heapreplace(heap, 5), heapq.heappushpop(heap, 4), heapq.heappushpop(heap, -1)]
    found += heap
    while len(heap) > 3:
        found.append(heapq.heappop(heap))
    return found


def pop_from_nothing(n):
    heap = [1]
    while n > 0:
        heapq.heappop(heap)
        n -= 1
    return len(heap)


def heap_of_array(x):
    heapq.heapify(x)


@case(3)
def least_pair(n):
    found = [(n, 1.0)]
    for i in range(5):
        found.append(((i * 7) % 4, i * 0.5))
    best = found[0]
    counts = [0, 0, 0]
    for k in range(len(found)):
        pair = found[k]
        if pair < best:
            best = pair
        counts[0] += found[k] <= (1, 1.0)
        counts[1] += (n, 1.0) >= found[k]
        counts[2] += (1, 2, 3) > found[k] if k > 0 else (1,) > (1, 2)
    return best, counts


# ---- Arrays.

@case(np.arange(20.0).reshape(5, 4) ** 2)
def chained(a):
    c = np.zeros((4, 4))
    for i in range(3):
        c[i + 1:, i] = c[i, i + 1:] = a[:, i] @ a[:, i + 1:]
    b = c[0] = c[:, 1] = a[1] + a[2]
    c[2] = c[3, ::-1] = c[0]
    return c, b


@case(np.arange(8.0).reshape(1, 8, 1), fit=support.nearly)
def squeezed(a):
    row = np.squeeze(a, axis=(0, 2))
    row[2] = 7.0
    m = np.sum(a, axis=1, keepdims=True)
    made = np.ndarray((2, 3), dtype=np.int32)
    made[:] = 4
    return row * 2, a.squeeze(0) + m.squeeze(axis=2), np.squeeze(a, 2) + 1, made


@case(3, np.float32(2.5))
def ranges(n, x):
    return (np.arange(0, 10, step=2), np.arange(stop=n), np.arange(start=1, stop=n * 3, step=2, dtype=np.float32),
            np.arange(n, stop=9), np.arange(n, 9, 2, np.int64), np.arange(x))


def put(x):
    x[0, 1] = 7.0


@case(np.arange(6.0).reshape(2, 3))
@case(np.arange(24.0).reshape(4, 6)[::2, ::2])
def written_by_views(a):
    t = np.transpose(a)
    t[0, 1] = 5.0
    u = np.expand_dims(a, 0)
    u[0, 0, 2] = 6.0
    v = a.transpose()[1:]
    v[0, 0] = 8.0
    put(np.swapaxes(a, 0, 1)[::-1])
    return a[0, 2]


@case(np.arange(6.0))
def names(a):
    x = y = a + 1
    x[0] = 5
    p = q = (len(a), 2.5)
    r = s = []
    r.append(3)
    d = e = {}
    d[1] = 2.0
    a[1:] = a[:-1] = a[1:] + 1.0
    a[:3] = a[2:5] = a[1:4]
    a[0] = b = c = 3.5
    return y, p[0] + q[1], len(s), e[1], b + c


def squeezed_alone(a):
    return np.squeeze(a)


def squeezed_away(a):
    return np.squeeze(a, axis=0)


@case(np.array([[4.0, 2.0, 0.5], [2.0, 5.0, 1.0], [0.5, 1.0, 3.0]]), fit=support.nearly)
def roots(m):
    return np.linalg.cholesky(m), np.linalg.cholesky(m.astype(np.float32)), np.linalg.cholesky(m[:2, :2])


def root(m):
    return np.linalg.cholesky(m)


# ---- Texts.

def raising(k, n, x, a):
    y = a[1]
    if k == 0:
        raise ValueError("value %g at %d is above %s" % (x, n, y))
    if k == 1:
        raise ValueError("n is {} of {:.3f} {z:g}%, {{}}".format(n, x, z=x))
    if k == 2:
        raise RuntimeError("n is " + str(n) + f", x {x:8.3f}" + " and " + str(y))
    if k == 3:
        raise ValueError("%5d|%-6d|%05.1f|%s%%|%+.2e|%x" % (n, n, x, n, x, n))
    if k == 4:
        raise IndexError("%d" % n)
    if k == 5:
        raise ValueError("{0} {1:>9.2f} {0}".format(n, x) + "%+s|% s|%#x" % (n, x, n))
    assert n < 0, "n is %i" % n
    return 1


def printing(n, x):
    print("%d items" % n, "x = {:10.4f}".format(x), "n = " + str(n))
    print("a{}", n, x, n > 2, sep=", ", end=";\n")
    print(f"{n:3d}|", end="")
    print(x / 3, 1e300 * x, end=" ", flush=True)
    print(sep="-")
    print("b", "c", sep="")
    print(f"{x:g} {n:5d}|{n:05d}|{x:>10.2f}|{x:+.2f}|{x:.1%}|{n:,}|{n:.2f}|{n:x}|{x:*^12.3f}")


def integer_format(x):
    print(f"{x:d}")


def unknown_format(n):
    print("%5.3d" % n)


def with_point(n):
    print("%#.0f" % n)


def precise(n):
    print(f"{n:.3}")


def too_few(n):
    print("%d %d" % n)


def of_iterations(a):
    for i in prange(len(a)):
        assert a[i] > 0, "%d is wrong" % i
    return a


class Travellers(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_ranges(self):
        for direction in (1, 2, -1, -3):
            self.compare(sweep, np.arange(10.0), direction)
        for bounds in ((0, 10, 3), (10, 0, -3), (0, 0, 1), (0, 5, -1)):
            self.compare(listed, *bounds)
        for call in (lambda: dhpvm.jit(sweep)(np.arange(4.0), 0), lambda: dhpvm.jit(listed)(1, 2, 0)):
            self.assertRaisesRegex(ValueError, "arg 3 must not be zero", call)

    def test_heaps(self):
        self.compare(pop_from_nothing, 1)
        self.assertRaisesRegex(IndexError, "index out of range", dhpvm.jit(pop_from_nothing), 2)
        self.assertRaisesRegex(dhpvm.TranslationError, "a heap is a list", dhpvm.jit(heap_of_array), np.zeros(3))

    def test_arrays(self):
        self.assertRaisesRegex(dhpvm.TranslationError, "name the axis of size 1", dhpvm.jit(squeezed_alone),
                               np.zeros((1, 3)))
        self.compare(squeezed_away, np.arange(3.0).reshape(1, 3))
        self.assertRaisesRegex(ValueError, "size not equal to one", dhpvm.jit(squeezed_away), np.zeros((2, 3)))
        self.assertRaisesRegex(dhpvm.TranslationError, r"write a\[0\]", dhpvm.jit(squeezed_away), np.zeros(1))
        self.assertRaisesRegex(ValueError, "not positive definite", dhpvm.jit(root), -np.eye(2))
        self.assertRaisesRegex(ValueError, "not square", dhpvm.jit(root), np.ones((2, 3)))

    def test_texts(self):
        compiled, a = dhpvm.jit(raising), np.array([1.5, 0.1])
        for k in range(7):
            with self.assertRaises(Exception) as expected:
                raising(k, 42, 0.805003123, a)
            with self.assertRaises(type(expected.exception)) as found:
                compiled(k, 42, 0.805003123, a)
            self.assertEqual(str(found.exception).split("\n")[0], str(expected.exception.args[0]))
        texts = []
        for function in (printing, dhpvm.jit(printing)):
            with contextlib.redirect_stdout(io.StringIO()) as text:
                function(1234, 0.80503)
            texts.append(text.getvalue())
        self.assertEqual(*texts)
        for function, value in ((integer_format, 2.5), (unknown_format, 3), (too_few, 3),
                                (with_point, 2.5), (precise, 3)):
            self.assertRaisesRegex(dhpvm.TranslationError, "this format is not one", dhpvm.jit(function), value)
        self.assertRaisesRegex(dhpvm.TranslationError, "leave the numbers out", dhpvm.jit(of_iterations), np.ones(3))


if __name__ == "__main__":
    support.main()
