# SPDX-License-Identifier: Apache-2.0
"""Functions as strangers write them: texts as bytes, transforms, linear algebra, optimisation and sorting."""

import heapq
import math
from collections import Counter
from collections import defaultdict

import support
from support import np

import dhpvm

case = support.Cases()
errors = support.Cases()


rng = np.random.default_rng(4)

X = rng.normal(size=60)

I = rng.integers(0, 30, size=60)

M = rng.normal(size=(6, 8))

S = rng.normal(size=(5, 5))

S = S @ S.T + 5 * np.eye(5)

TXT = np.frombuffer(b"the quick brown fox jumps over 13 lazy dogs, 42 times; a=7.5", dtype=np.uint8).copy()

V3 = rng.random((5, 6, 7))

B = rng.random((6, 8)) > 0.5

C = rng.normal(size=16) + 1j * rng.normal(size=16)


def helper(a, b=2.0, *, scale=1.0):
    return (a + b) * scale


LIMIT = 1e-09

TABLE = (1, 2, 4, 8)

NAMES = {"a": 1, "b": 2}


@case(X)
def uses_helpers(x):
    t = 0.0
    for v in x:
        t += helper(v, scale=0.5) + helper(v, 3.0)
    return t


@case(X)
def global_const(x):
    return np.sum(np.abs(x) > LIMIT) * TABLE[2]


@case(TXT)
def count_words(t):
    words = 0
    inw = False
    longest = 0
    cur = 0
    for c in t:
        if ord("a") <= c <= ord("z") or ord("A") <= c <= ord("Z"):
            if not inw:
                words += 1
                inw = True
            cur += 1
            longest = max(longest, cur)
        else:
            inw = False
            cur = 0
    return (words, longest)


@case(TXT)
def parse_numbers(t):
    out = []
    i = 0
    n = len(t)
    while i < n:
        if 48 <= t[i] <= 57:
            v = 0
            while i < n and 48 <= t[i] <= 57:
                v = v * 10 + (t[i] - 48)
                i += 1
            out.append(v)
        else:
            i += 1
    return out


@case(TXT)
def char_hist(t):
    h = np.zeros(26, dtype=np.int64)
    low = np.where((t >= 65) & (t <= 90), t + 32, t)
    for c in low:
        if 97 <= c <= 122:
            h[c - 97] += 1
    return h


@case(TXT)
def caesar(t):
    out = t.copy()
    m = (t >= 97) & (t <= 122)
    out[m] = (t[m] - 97 + 13) % 26 + 97
    return out


@case(TXT)
def b64(t):
    alphabet = np.arange(64)
    out = []
    for i in range(0, len(t) - 2, 3):
        w = int(t[i]) << 16 | int(t[i + 1]) << 8 | int(t[i + 2])
        out.extend([alphabet[w >> 18 & 63], alphabet[w >> 12 & 63], alphabet[w >> 6 & 63], alphabet[w & 63]])
    return np.array(out)


@case(TXT)
def huffman_lengths(t):
    freq = np.bincount(t, minlength=128)
    heap = []
    parent = []
    for s in range(128):
        if freq[s]:
            heap.append((int(freq[s]), len(parent)))
            parent.append(-1)
    heapq.heapify(heap)
    leaves = len(parent)
    while len(heap) > 1:
        f1, a = heapq.heappop(heap)
        f2, b = heapq.heappop(heap)
        k = len(parent)
        parent.append(-1)
        parent[a] = parent[b] = k
        heapq.heappush(heap, (f1 + f2, k))
    out = []
    for i in range(leaves):
        d = 0
        j = i
        while parent[j] != -1:
            j = parent[j]
            d += 1
        out.append(d)
    return out


@case(X)
def haar(x):
    a = x[:32].copy()
    out = np.zeros(32)
    n = 32
    while n > 1:
        h = n // 2
        avg = (a[:n:2] + a[1:n:2]) / math.sqrt(2)
        det = (a[:n:2] - a[1:n:2]) / math.sqrt(2)
        a[:h] = avg
        a[h:n] = det
        n = h
    return a


@case(C, fit=support.nearly)
def dft(x):
    N = len(x)
    n = np.arange(N)
    k = n.reshape((N, 1))
    W = np.exp(-2j * np.pi * k * n / N)
    return W @ x


@case(C)
def fft_rec(x):
    n = len(x)
    if n == 1:
        return x.copy()
    e = fft_rec(x[::2])
    o = fft_rec(x[1::2])
    out = np.empty(n, dtype=np.complex128)
    for k in range(n // 2):
        t = np.exp(-2j * np.pi * k / n) * o[k]
        out[k] = e[k] + t
        out[k + n // 2] = e[k] - t
    return out


@case(X, 8.0, 2.0, 3)
def biquad(x, fs, fc, order):
    w0 = 2 * np.pi * fc / fs
    alpha = np.sin(w0) / (2 * 0.707)
    b = np.array([(1 - np.cos(w0)) / 2, 1 - np.cos(w0), (1 - np.cos(w0)) / 2])
    a = np.array([1 + alpha, -2 * np.cos(w0), 1 - alpha])
    b /= a[0]
    a /= a[0]
    y = np.zeros_like(x)
    z1 = z2 = 0.0
    for i, v in enumerate(x):
        y[i] = b[0] * v + z1
        z1 = b[1] * v - a[1] * y[i] + z2
        z2 = b[2] * v - a[2] * y[i]
    return y


@case(X, 4, fit=support.nearly)
def lms(x, taps):
    w = np.zeros(taps)
    e = np.zeros(len(x))
    for n in range(taps, len(x)):
        u = x[n - taps : n][::-1]
        e[n] = x[n] - w @ u
        w += 0.05 * e[n] * u
    return (w, e)


@case(X)
def goertzel(x):
    k = 5
    n = len(x)
    w = 2 * math.pi * k / n
    c = 2 * math.cos(w)
    s1 = s2 = 0.0
    for v in x:
        s1, s2 = (v + c * s1 - s2, s1)
    return s1 * s1 + s2 * s2 - c * s1 * s2


@case(S, fit=support.nearly)
def power_iter(A):
    v = np.ones(A.shape[0]) / np.sqrt(A.shape[0])
    lam = 0
    for _ in range(100):
        w = A @ v
        n = np.linalg.norm(w)
        v = w / n
        if abs(n - lam) < 1e-10:
            break
        lam = n
    return (lam, v)


@case(S, np.arange(5.0))
def chol_solve(A, b):
    n = len(b)
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j] - L[i, :j] @ L[j, :j]
            L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
    y = np.zeros(n)
    for i in range(n):
        y[i] = (b[i] - L[i, :i] @ y[:i]) / L[i, i]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (y[i] - L[i + 1 :, i] @ x[i + 1 :]) / L[i, i]
    return x


@case(1.0, 2.0)
def bisect(a, b, tol=1e-12):

    def f(x):
        return x**3 - x - 2

    fa = f(a)
    it = 0
    while b - a > tol:
        it += 1
        m = (a + b) / 2
        fm = f(m)
        if fm == 0:
            return (m, it)
        if fa * fm < 0:
            b = m
        else:
            a, fa = (m, fm)
    return ((a + b) / 2, it)


@case(0.0, 2.0, 20)
def simpson(a, b, n):
    if n % 2:
        raise ValueError("n must be even")
    h = (b - a) / n
    x = np.linspace(a, b, n + 1)
    y = np.exp(-(x**2))
    return h / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())


@errors(0.0, 2.0, 21)
def simpson_bad(a, b, n):
    if n % 2:
        raise ValueError("n must be even")
    return 0.0


@case(np.array([5.0, 3.0]), 0.1)
def adam(x, lr):
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    b1, b2, eps = (0.9, 0.999, 1e-08)
    for t in range(1, 51):
        g = np.array([2 * x[0], 4 * x[1]])
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        x = x - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    return x


@case(M, fit=support.nearly)
def layer_norm(x, eps=1e-05):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (x - mu) / np.sqrt(var + eps)


@case(M, M[:4], fit=support.nearly)
def attention(q, k):
    s = q @ k.T / np.sqrt(q.shape[-1])
    s -= s.max(axis=-1, keepdims=True)
    e = np.exp(s)
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ k


@case(M, np.array([0, 1, 2, 0, 1, 2]), fit=support.nearly)
def onehot_xent(logits, y):
    z = logits - logits.max(axis=1)[:, None]
    logp = z - np.log(np.exp(z).sum(axis=1))[:, None]
    oh = np.eye(logits.shape[1])[y]
    return (-(oh * logp).sum() / len(y), -logp[np.arange(len(y)), y].mean())


@case(V3)
def maxpool(v):
    c, h, w = v.shape
    out = np.empty((c, h // 2, w // 2))
    for k in range(c):
        for i in range(h // 2):
            for j in range(w // 2):
                out[k, i, j] = v[k, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max()
    return out


@case(V3, fit=support.nearly)
def mip(v):
    return (v.max(axis=0), v.argmax(axis=2), v.mean(axis=(0, 1)), v[:, ::2, 1:].sum())


@case(B)
def life(g):
    n = np.zeros(g.shape, dtype=np.int64)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy or dx:
                n += np.roll(g, (dy, dx), (0, 1))
    return (n == 3) | g & (n == 2)


@case(B)
def dist_transform(m):
    h, w = m.shape
    d = np.where(m, 0, h + w)
    for y in range(h):
        for x in range(w):
            if y > 0:
                d[y, x] = min(d[y, x], d[y - 1, x] + 1)
            if x > 0:
                d[y, x] = min(d[y, x], d[y, x - 1] + 1)
    for y in range(h - 1, -1, -1):
        for x in range(w - 1, -1, -1):
            if y < h - 1:
                d[y, x] = min(d[y, x], d[y + 1, x] + 1)
            if x < w - 1:
                d[y, x] = min(d[y, x], d[y, x + 1] + 1)
    return d


@case(30, 20, 25)
def mandel(w, h, n):
    out = np.zeros((h, w), dtype=np.uint16)
    for j in dhpvm.prange(h):
        for i in range(w):
            c = complex(-2 + 3 * i / w, -1 + 2 * j / h)
            z = 0j
            for k in range(n):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag > 4:
                    out[j, i] = k
                    break
            else:
                out[j, i] = n
    return out


@case(200)
def sieve(n):
    s = np.ones(n + 1, dtype=bool)
    s[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            s[i * i :: i] = False
    return np.nonzero(s)[0]


@case(27)
def collatz(n):
    steps = 0
    peak = n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        peak = max(peak, n)
        steps += 1
    return (steps, peak)


@case(8)
def queens(n):
    cols = [0] * n
    count = 0
    row = 0
    pos = [-1] * n
    while row >= 0:
        pos[row] += 1
        while pos[row] < n and any((pos[r] == pos[row] or abs(pos[r] - pos[row]) == row - r for r in range(row))):
            pos[row] += 1
        if pos[row] >= n:
            pos[row] = -1
            row -= 1
        elif row == n - 1:
            count += 1
        else:
            row += 1
    return count


@case(5)
def pascal(n):
    t = [[1]]
    for i in range(1, n):
        t.append([1] + [t[-1][j] + t[-1][j + 1] for j in range(i - 1)] + [1])
    return t


@case(I)
def group_sum(k):
    d = defaultdict(float)
    for i, v in enumerate(k):
        d[int(v)] += i * 0.5
    return sorted(d.items())


@case(I)
def counter(k):
    c = Counter(k.tolist())
    return c.most_common(3)


@case(I)
def two_sum(a):
    seen = {}
    for i, v in enumerate(a):
        if 31 - v in seen:
            return (seen[31 - v], i)
        seen[v] = i
    return None


@case(I, 7)
def mod_inverse_table(a, p):

    def egcd(a, b):
        if a == 0:
            return (b, 0, 1)
        g, x, y = egcd(b % a, a)
        return (g, y - b // a * x, x)

    out = []
    for v in a:
        if v % p:
            g, x, _ = egcd(int(v % p), p)
            out.append(x % p)
    return out


@case(1000003, 3)
def modpow(m, b):
    r = 1
    e = m - 2
    while e:
        if e & 1:
            r = r * b % m
        b = b * b % m
        e >>= 1
    return r


@case(X)
def quicksort(a):
    a = a.copy()
    stack = [(0, len(a) - 1)]
    while stack:
        lo, hi = stack.pop()
        if lo >= hi:
            continue
        p = a[(lo + hi) // 2]
        i, j = (lo, hi)
        while i <= j:
            while a[i] < p:
                i += 1
            while a[j] > p:
                j -= 1
            if i <= j:
                a[i], a[j] = (a[j], a[i])
                i += 1
                j -= 1
        stack.append((lo, j))
        stack.append((i, hi))
    return a


@case(X)
def merge_sort_inv(a):

    def sort(v):
        n = len(v)
        if n < 2:
            return (v.copy(), 0)
        l, a1 = sort(v[: n // 2])
        r, b1 = sort(v[n // 2 :])
        out = np.empty(n)
        i = j = 0
        inv = a1 + b1
        for k in range(n):
            if j >= len(r) or (i < len(l) and l[i] <= r[j]):
                out[k] = l[i]
                i += 1
            else:
                out[k] = r[j]
                j += 1
                inv += len(l) - i
        return (out, inv)

    return sort(a)


@case(X)
def heap_k(x):
    h = []
    for v in x:
        if len(h) < 5:
            heapq.heappush(h, v)
        elif v > h[0]:
            heapq.heapreplace(h, v)
    return sorted(h, reverse=True)


@case(I)
def radix(a):
    out = a.copy()
    exp = 1
    while out.max() // exp > 0:
        cnt = np.zeros(10, dtype=int)
        for v in out:
            cnt[v // exp % 10] += 1
        pos = np.cumsum(cnt) - cnt
        nxt = np.empty_like(out)
        for v in out:
            d = v // exp % 10
            nxt[pos[d]] = v
            pos[d] += 1
        out = nxt
        exp *= 10
    return out


@case(X, I)
def structured(x, i):
    t = list(zip(x.tolist(), i.tolist()))
    t.sort(key=lambda p: (p[1], -p[0]))
    return t[:5]


@case(X, fit=support.nearly)
def dict_of_stats(x):
    return {"mean": x.mean(), "std": x.std(), "q": np.percentile(x, [25, 50, 75])}


@case(X, "median")
def mode_text(x, how="mean"):
    if how == "mean":
        return x.mean()
    elif how in ("median", "med"):
        return np.median(x)
    else:
        raise ValueError(f"unknown {how!r}")


@errors(X, "foo")
def mode_bad(x, how="mean"):
    if how == "mean":
        return x.mean()
    raise ValueError(f"unknown mode {how!r}, use 'mean'")


@case(X)
def type_change(x):
    t = 0
    for v in x:
        if v > 0:
            t += v
        else:
            t -= 1
    return t


@case(X)
def clip_pipeline(x):
    lo, hi = (np.percentile(x, 5), np.percentile(x, 95))
    y = np.clip(x, lo, hi)
    y = (y - y.min()) / (y.max() - y.min())
    return (y * 255).astype(np.uint8)


@case(X)
def moving_avg(x, w=5):
    c = np.cumsum(np.insert(x, 0, 0.0))
    return (c[w:] - c[:-w]) / w


@case(X)
def stride_windows(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 4)
    return (w.mean(axis=1), w.max(axis=-1))


@case(X)
def map_filter(x):
    return sum(map(lambda v: v * v, filter(lambda v: v > 0, x)))


@case(X)
def nanops(x):
    y = np.where(x > 1, np.nan, x)
    return (np.nanmean(y), np.isnan(y).sum(), np.nansum(y), y[~np.isnan(y)].size, np.nan_to_num(y, nan=-1.0))


@case(X, fit=support.nearly)
def poly(x):
    p = np.polyfit(np.arange(10.0), x[:10], 2)
    return np.polyval(p, 5.0)


@case(X, fit=support.nearly)
def grad(x):
    return (np.gradient(x), np.trapezoid(x, dx=0.1), np.cumsum(x[::-1])[::-1].copy(), np.diff(x, 2), np.ediff1d(x))


@case(X)
def gini(x):
    y = np.sort(np.abs(x))
    n = len(y)
    i = np.arange(1, n + 1)
    return (2 * i - n - 1) @ y / (n * y.sum())


@case(X, X + 1)
def ks(a, b):
    a = np.sort(a)
    b = np.sort(b)
    al = np.concatenate((a, b))
    return np.max(
        np.abs(np.searchsorted(a, al, side="right") / len(a) - np.searchsorted(b, al, side="right") / len(b))
    )


@case(X)
def acceptance(x):
    state = 42
    acc = 0
    cur = 0.0
    tot = 0.0
    for p in x:
        state = state * 6364136223846793005 + 1442695040888963407 & 18446744073709551615
        u = (state >> 11) / 9007199254740992.0
        if math.log(u + 1e-300) < -(p * p - cur * cur) / 2:
            cur = p
            acc += 1
        tot += cur
    return (acc, tot)


@case(5)
def halton(n):
    out = np.zeros((n, 2))
    for d, b in enumerate((2, 3)):
        for i in range(n):
            f, r, k = (1.0, 0.0, i + 1)
            while k > 0:
                f /= b
                r += f * (k % b)
                k //= b
            out[i, d] = r
    return out


@case(X)
def lcg32(x):
    s = np.uint32(12345)
    out = np.zeros(5, np.uint32)
    for i in range(5):
        s = s * np.uint32(1664525) + np.uint32(1013904223)
        out[i] = s
    return out


@case(1)
def xorshift(seed):
    s = seed
    r = []
    for _ in range(5):
        s ^= s << 13 & 4294967295
        s ^= s >> 17
        s ^= s << 5 & 4294967295
        r.append(s)
    return r


@case(X)
def isin_etc(x):
    a = np.round(x).astype(int)
    return (np.isin(a, [0, 1]), np.unique(a, return_inverse=True)[1], np.setdiff1d(a, [0]), np.bincount(a - a.min()))


class Neighbours(support.Comparisons):
    def test_results(self):
        case.compare(self)

    def test_errors(self):
        errors.compare_errors(self)


if __name__ == "__main__":
    support.main()
