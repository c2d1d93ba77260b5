# SPDX-License-Identifier: Apache-2.0
"""What Python and NumPy mean: names of one array, order of evaluation, narrow integers, slices, nan, empty arrays."""

import support
from support import np

case = support.Cases()
errors = support.Cases()


rng = np.random.default_rng(3)

X = rng.normal(size=20)

I = rng.integers(-50, 50, size=20)

M = rng.normal(size=(5, 6))

U = rng.integers(0, 256, size=20, dtype=np.uint8)

I8 = rng.integers(-128, 128, size=20, dtype=np.int8)

F = rng.normal(size=20).astype(np.float32)

U32 = rng.integers(0, 2**32, size=20, dtype=np.uint32)

U64 = rng.integers(0, 2**64 - 1, size=20, dtype=np.uint64)

I16 = rng.integers(-(2**15), 2**15, size=20, dtype=np.int16)

B = rng.random(20) > 0.5


@case(M)
def swap_rows_views(a):
    a[0], a[1] = (a[1], a[0])
    return a


@case(M)
def swap_rows_fancy(a):
    a[[0, 3]] = a[[3, 0]]
    return a


@case(M)
def swap_cols(a):
    a[:, 0], a[:, 1] = (a[:, 1].copy(), a[:, 0].copy())
    return a


@case(X)
def chain_alias(x):
    a = b = np.zeros(3)
    a[0] = x[0]
    b[1] = 5
    return (a, b)


@case(M, fit=support.nearly)
def row_write(a):
    for row in a:
        row *= 2
        row[0] = -1
    return a.sum()


@case(X)
def rev_inplace(x):
    x += x[::-1]
    return x


@case(X)
def shift_inplace(x):
    x[1:] += x[:-1]
    return x


@case(X, np.array([1, 1, 1, 3, 3]))
def fancy_add(x, idx):
    x[idx] += 1
    return x


@case(X, np.array([1, 1, 1, 3, 3]))
def fancy_set(x, idx):
    x[idx] = np.arange(5.0)
    return x


@case(X)
def mask_set(x):
    x[x > 0] = -x[x > 0]
    return x


@case(X)
def mask_two(x):
    x[(x > 0) & (x < 1)] *= 2
    x[~(x > 0) | (x == 1)] += 1
    return x


@case(U)
def u8_sub(u):
    s = 0
    for i in range(1, len(u)):
        s += abs(u[i] - u[i - 1])
    return s


@case(U)
def u8_sub_int(u):
    s = 0
    for i in range(1, len(u)):
        s += abs(int(u[i]) - int(u[i - 1]))
    return s


@case(U)
def u8_arr(u):
    return (u + 50, u * 2, u - 100, ~u, u << 1, u >> 1, u // 3, u % 7, -u, u / 2, u**2)


@case(I8)
def i8_arr(u):
    return (u + 50, u * 2, u - 100, ~u, u << 1, u >> 1, u // 3, u % 7, -u, u / 2, u**2, np.abs(u), u // -3, u % -7)


@case(I8)
def i8_scal(u):
    r = np.zeros(len(u), dtype=np.int64)
    for i in range(len(u)):
        r[i] = u[i] * u[i] + u[i]
    return r


@case(I8, U)
def mixed(a, b):
    return (a + b, a * b, a < b, np.maximum(a, b), a - b)


@case(U32, I)
def mixed32(a, b):
    return (a + b, a * b, a < b, a // np.where(b == 0, 1, b), a % np.where(b == 0, 1, b))


@case(U64)
def u64s(a):
    s = np.uint64(0)
    for v in a:
        s += v
    return (s, a.sum(), a.max(), a >> np.uint64(3), a // np.uint64(7), a.astype(np.float64), a % np.uint64(1000))


@case(U64)
def u64_cmp(a):
    n = 0
    for v in a:
        if v > 5:
            n += 1
        if v >= 2**63:
            n += 100
    return n


@case(F)
def f32(x):
    s = x[0]
    for v in x[1:]:
        s = s * 0.5 + v
    t = np.float32(0)
    for v in x:
        t += v
    return (s, t, x * 2, x / 3, x**2, np.sqrt(np.abs(x)), x.sum() * 0 + 1, x * np.float64(2), x * 1.5 + 1)


@case(F, X)
def f32_64(a, b):
    c = a * b
    a += b.astype(np.float32)
    return (c, a)


@case(I, X)
def int_float_div(i, x):
    return (
        i // 7,
        i % 7,
        i // -7,
        i % -7,
        x // 0.3,
        x % 0.3,
        x // -0.3,
        x % -0.3,
        i / 7,
        divmod(7, -2),
        divmod(-7.5, 2),
    )


@case(X)
def rounds(x):
    y = x * 10
    return (
        np.round(y),
        np.round(y, 1),
        np.rint(y),
        np.floor(y),
        np.ceil(y),
        np.trunc(y),
        round(2.5),
        round(-0.5),
        round(3.14159, 2),
        int(-2.7),
    )


@case(np.array([0.5, 1.5, 2.5, -0.5, 1e20, np.nan, np.inf, -np.inf, -0.0, 0.0]))
def edge_unary(x):
    return (
        np.sign(x),
        np.abs(x),
        np.isnan(x),
        np.isfinite(x),
        np.signbit(x),
        np.round(x),
        np.minimum(x, 0),
        np.maximum(x, 0),
        np.fmin(x, 0),
        np.fmax(x, 0),
        np.clip(x, -1, 1),
        -x,
    )


@case(np.array([1.0, np.nan, 2.0]))
def nan_minmax(x):
    return (
        min(x[0], x[1]),
        min(x[1], x[0]),
        max(x[0], x[1]),
        max(x[1], x[0]),
        x.max(),
        x.min(),
        x.argmax(),
        x.argmin(),
        np.nanmax(x),
        np.nanmin(x),
    )


@case(np.array([1.0, np.nan, 2.0, -np.inf]))
def nan_sort(x):
    return (np.sort(x), np.argsort(x), np.unique(x), np.median(x))


@case(X)
def casts(x):
    y = x * 1000
    return (
        y.astype(np.int8),
        y.astype(np.int16),
        y.astype(np.int32),
        y.astype(np.int64),
        (np.abs(y) % 256).astype(np.uint8),
        y.astype(bool),
        y.astype(np.float32),
    )


@case(I)
def casts_i(x):
    return (
        x.astype(np.int8),
        x.astype(np.uint8),
        (x * 100).astype(np.int8),
        x.astype(np.uint32),
        x.astype(np.float32),
        x.astype(bool),
    )


@case(X)
def slices(x):
    return (
        x[5:2].copy(),
        x[-3:].copy(),
        x[:100].copy(),
        x[100:].copy(),
        x[-100:3].copy(),
        x[::-2].copy(),
        x[15:2:-3].copy(),
        x[-2:-5:-1].copy(),
        x[2:-2:4].copy(),
    )


@case(X, -3, -1)
def slices_var(x, a, b):
    return (x[a:].copy(), x[:b].copy(), x[a:b].copy(), x[b:a:-1].copy(), x[::b].copy())


@case(X)
def loopvar(x):
    for i in range(5):
        i *= 2
    t = 0
    for k in range(3):
        pass
    n = 3
    for j in range(n):
        n += 1
        t += j
    return (i, k, n, t)


@case(3)
def grow_list(n):
    xs = [1, 2, 3]
    for v in xs:
        if len(xs) < 10:
            xs.append(v * 2)
    return xs


@case(3)
def shrink_list(n):
    xs = [1, 2, 3, 4, 5, 6]
    out = []
    for v in xs:
        out.append(v)
        if v % 2 == 0:
            xs.remove(v)
    return (xs, out)


@case(3)
def late_binding(n):
    fs = 0
    k = 1
    f = lambda x: x + k
    k = 10
    return f(n)


@case(5)
def recursion(n):

    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n)


@case(X, 50)
def try_index(x, i):
    try:
        v = x[i]
    except IndexError:
        v = -1.0
    else:
        v += 1
    finally:
        v *= 2
    return v


@case(0)
def zerodiv(n):
    try:
        return 1 // n
    except ZeroDivisionError as e:
        return -1


@case(X, 2)
def while_else(x, n):
    i = 0
    while i < n:
        if x[i] > 100:
            break
        i += 1
    else:
        return -i
    return i


@case(X)
def and_or_values(x):
    n = 0
    m = len(x)
    return (n or m, m and 5, n and 5, 0.0 or 3.0, (n or m) + 1)


@case(X)
def tuple_order(x):
    i = 0
    i, x[i] = (3, 99.0)
    return (x, i)


@case(X)
def tuple_swap(x):
    i, j = (0, 1)
    i, j = (j, i + j)
    (a, b), c = ((i, j), x[i])
    return (i, j, a, b, c)


@case(X)
def pow_floats(x):
    y = np.abs(x)
    return (y**2, y**3, y**0.5, y ** (-1), y ** (-2.0), y**1.5, x**2, 2**x, x**0)


@case(X)
def aranges(x):
    return (
        np.arange(0, 1, 0.1),
        np.arange(5),
        np.arange(2, 10, 3),
        np.arange(10, 0, -3),
        np.linspace(0, 1, 7),
        np.linspace(1, 2, 5, endpoint=False),
        np.arange(3.0),
        np.arange(1, 2, 0.3),
    )


@case(B, X)
def bools(b, x):
    return (
        b.sum(),
        b + b,
        b * x,
        b & (x > 0),
        ~b,
        b.mean(),
        b.astype(int) - 1,
        b.any(),
        b.all(),
        b ^ True,
        np.count_nonzero(b),
    )


@case(X)
def argparts(x):
    return (
        np.searchsorted(np.sort(x), [0.0, 0.5]),
        np.argsort(-x)[:3],
        np.argmax(x > 1),
        np.where(x > 0, x, 0),
        np.flatnonzero(x > 1),
    )


@case(I, fit=support.nearly)
def int_reduce(i):
    return (i.sum(), i.mean(), i.prod(), i.min(), i.std(), i.var(), np.median(i), np.cumsum(i), i.argmin(), np.ptp(i))


@case(I8, U, I16)
def narrow_reduce(a, b, c):
    return (
        a.sum(),
        b.sum(),
        c.sum(),
        a.mean(),
        b.cumsum(),
        c.prod(),
        a.max(),
        b.min(),
        np.dot(a.astype(np.int32), b.astype(np.int32)),
        np.diff(b),
        np.diff(a),
    )


@case(np.array([], dtype=float))
def empty(x):
    s = 0.0
    for v in x:
        s += v
    return (s, x.sum(), x.prod(), len(x), x * 2, np.sort(x), np.cumsum(x), x[1:].copy(), x.any(), x.all())


@case(np.array([], dtype=float))
def empty_mean(x):
    return x.mean()


@case(X)
def unpack_row(x):
    a, b, *c = x[:5]
    return (a, b, len(c))


@case(X, M)
def cmp_chain_arrays(x, m):
    return ((m > 0).sum(axis=1), np.any(m > 1, axis=0), np.all(m > -3), x[:5, None] > x[None, :4])


@case(X)
def delete_insert(x):
    return (
        np.delete(x, 2),
        np.insert(x, 1, 5.0),
        np.append(x, [1.0, 2]),
        np.concatenate([x[:2], x[-2:]]),
        np.roll(x, 3),
    )


@case(X)
def int_index_float(x):
    k = len(x) / 2
    return x[int(k)]


@errors(X)
def assert_msg(x):
    assert len(x) < 10, f"too many: {len(x)}"
    return 1


@errors(X, 3)
def raise_fmt(x, n):
    if n > 2:
        raise ValueError(f"n={n} mean {x[0]:.3f} {n!r}")
    return 1


@case(X)
def unbound_and(x):
    found = False
    for v in x:
        if v > 100:
            found = True
            y = v
    return found and y > 0


@errors(X)
def unbound_ifexp(x):
    if x[0] > 100:
        y = 1
    return y if x[0] > -1000 else 0


@errors(X)
def del_use(x):
    y = 1
    del y
    return y


@case(X)
def np_scalar_ops(x):
    a = np.float32(1) / np.float32(3)
    b = np.int32(2147483647) + np.int32(1)
    c = np.uint8(200) + np.uint8(100)
    d = np.int64(5) / np.int64(2)
    e = np.int8(-128)
    return (a, b, c, d, -e, abs(e), np.uint8(5) - np.uint8(7))


class Meanings(support.Comparisons):
    def test_results(self):
        case.compare(self)

    def test_errors(self):
        errors.compare_errors(self)


if __name__ == "__main__":
    support.main()
