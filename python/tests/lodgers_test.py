# SPDX-License-Identifier: Apache-2.0
"""Functions as strangers write them: geometry, dynamic programming, graphs, sparse matrices and time series."""

import heapq
import math
from collections import deque
from collections import namedtuple
from dataclasses import dataclass

import support
from support import np

import dhpvm

case = support.Cases()


rng = np.random.default_rng(2)

X = rng.normal(size=100)

I = rng.integers(0, 20, size=100)

P = rng.random((40, 2))

G = rng.integers(1, 10, size=(8, 8)).astype(float)

INDPTR = np.array([0, 2, 3, 6, 8])

IDX = np.array([0, 2, 1, 0, 2, 3, 1, 3])

DATA = np.arange(1.0, 9)

A4 = rng.random((3, 4, 5, 6))


@case(P)
def hull(pts):
    p = pts[np.lexsort((pts[:, 1], pts[:, 0]))]

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower = []
    for i in range(len(p)):
        while len(lower) >= 2 and cross(p[lower[-2]], p[lower[-1]], p[i]) <= 0:
            lower.pop()
        lower.append(i)
    upper = []
    for i in reversed(range(len(p))):
        while len(upper) >= 2 and cross(p[upper[-2]], p[upper[-1]], p[i]) <= 0:
            upper.pop()
        upper.append(i)
    return p[np.array(lower[:-1] + upper[:-1])]


@case(P)
def polygon_area(p):
    x, y = (p[:, 0], p[:, 1])
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


@case(P[:7], 0.5, 0.5)
def inside(poly, x, y):
    n = len(poly)
    res = False
    j = n - 1
    for i in range(n):
        xi, yi = poly[i]
        xj, yj = poly[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            res = not res
        j = i
    return res


@case(np.array([1.0, 2, 3]), np.array([0, 0, 1.0]), 0.7)
def rotate(v, axis, angle):
    k = axis / np.linalg.norm(axis)
    c, s = (np.cos(angle), np.sin(angle))
    return v * c + np.cross(k, v) * s + k * np.dot(k, v) * (1 - c)


@case(P, 3)
def knn(p, k):
    d = np.sqrt(((p[:, None] - p[None]) ** 2).sum(-1))
    np.fill_diagonal(d, np.inf)
    return np.argsort(d, axis=1, kind="stable")[:, :k]


@case(np.array([0.1, 0.2]), np.array([0.9, 0.8]), np.array([0.1, 0.9]), np.array([0.8, 0.05]))
def seg_intersect(p, q, r, s):
    d1 = q - p
    d2 = s - r
    den = d1[0] * d2[1] - d1[1] * d2[0]
    if abs(den) < 1e-12:
        return None
    t = ((r[0] - p[0]) * d2[1] - (r[1] - p[1]) * d2[0]) / den
    return p + t * d1


@case(np.array([2, 3, 4, 5]), np.array([3, 4, 5, 6]), 5)
def knapsack(w, v, cap):
    n = len(w)
    dp = np.zeros((n + 1, cap + 1), dtype=int)
    for i in range(1, n + 1):
        for c in range(cap + 1):
            dp[i, c] = dp[i - 1, c]
            if w[i - 1] <= c:
                dp[i, c] = max(dp[i, c], dp[i - 1, c - w[i - 1]] + v[i - 1])
    items = []
    c = cap
    for i in range(n, 0, -1):
        if dp[i, c] != dp[i - 1, c]:
            items.append(i - 1)
            c -= w[i - 1]
    return (dp[n, cap], items[::-1])


@case(I)
def lis(a):
    tails = []
    idx = []
    prev = [-1] * len(a)
    for i, x in enumerate(a):
        lo, hi = (0, len(tails))
        while lo < hi:
            m = (lo + hi) // 2
            if tails[m] < x:
                lo = m + 1
            else:
                hi = m
        if lo == len(tails):
            tails.append(x)
            idx.append(i)
        else:
            tails[lo] = x
            idx[lo] = i
        prev[i] = idx[lo - 1] if lo > 0 else -1
    out = []
    k = idx[-1]
    while k != -1:
        out.append(a[k])
        k = prev[k]
    out.reverse()
    return out


@case(np.array([30, 35, 15, 5, 10, 20, 25]))
def matrix_chain(d):
    n = len(d) - 1
    m = np.zeros((n, n), dtype=np.int64)
    s = np.full((n, n), -1)
    for L in range(2, n + 1):
        for i in range(n - L + 1):
            j = i + L - 1
            m[i, j] = np.iinfo(np.int64).max
            for k in range(i, j):
                q = m[i, k] + m[k + 1, j] + d[i] * d[k + 1] * d[j + 1]
                if q < m[i, j]:
                    m[i, j] = q
                    s[i, j] = k
    return (m[0, -1], s)


@case(np.array([1, 5, 10, 25]), 67)
def coins(c, total):
    INF = 10**9
    best = [0] + [INF] * total
    for t in range(1, total + 1):
        best[t] = min((best[t - x] + 1 for x in c if x <= t), default=INF)
    return best[total]


@case(rng.random((3, 3)), rng.random((3, 4)), np.array([0.3, 0.3, 0.4]), np.array([0, 1, 3, 2, 2, 1]))
def viterbi(trans, emit, start, obs):
    S, T = (trans.shape[0], len(obs))
    logd = np.log(start) + np.log(emit[:, obs[0]])
    back = np.zeros((T, S), dtype=np.int64)
    for t in range(1, T):
        m = logd[:, None] + np.log(trans)
        back[t] = m.argmax(axis=0)
        logd = m.max(axis=0) + np.log(emit[:, obs[t]])
    path = np.empty(T, dtype=int)
    path[-1] = logd.argmax()
    for t in range(T - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return (path, logd.max())


@case(rng.random((2, 2)), rng.random((2, 3)), np.array([0.5, 0.5]), np.array([0, 1, 2, 1]))
def forward(A, B, pi, obs):
    alpha = pi * B[:, obs[0]]
    ll = 0.0
    for o in obs[1:]:
        s = alpha.sum()
        ll += np.log(s)
        alpha /= s
        alpha = alpha @ A * B[:, o]
    return ll + np.log(alpha.sum())


@case(X[:30], X[30:55])
def dtw(a, b, window=None):
    n, m = (len(a), len(b))
    w = max(window, abs(n - m)) if window else max(n, m)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - w), min(m, i + w) + 1):
            D[i, j] = abs(a[i - 1] - b[j - 1]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@case(G, 0)
def dijkstra(w, s):
    n = len(w)
    dist = [math.inf] * n
    prev = [-1] * n
    done = [False] * n
    dist[s] = 0.0
    for _ in range(n):
        u = -1
        for v in range(n):
            if not done[v] and (u == -1 or dist[v] < dist[u]):
                u = v
        if dist[u] == math.inf:
            break
        done[u] = True
        for v in range(n):
            if w[u, v] > 0 and dist[u] + w[u, v] < dist[v]:
                dist[v] = dist[u] + w[u, v]
                prev[v] = u
    return (dist, prev)


@case(INDPTR, IDX, DATA, 0)
def dijkstra_heap(ptr, idx, wt, s):
    n = len(ptr) - 1
    dist = np.full(n, np.inf)
    dist[s] = 0
    q = [(0.0, s)]
    while q:
        d, u = heapq.heappop(q)
        if d > dist[u]:
            continue
        for e in range(ptr[u], ptr[u + 1]):
            v = idx[e]
            nd = d + wt[e]
            if nd < dist[v]:
                dist[v] = nd
                heapq.heappush(q, (nd, v))
    return dist


@case(INDPTR, IDX, 0)
def bfs(ptr, idx, s):
    level = np.full(len(ptr) - 1, -1)
    level[s] = 0
    q = deque([s])
    while q:
        u = q.popleft()
        for v in idx[ptr[u] : ptr[u + 1]]:
            if level[v] < 0:
                level[v] = level[u] + 1
                q.append(v)
    return level


@case(np.array([[0, 1], [1, 2], [3, 4], [2, 0], [4, 5]]), 7)
def components(edges, n):
    parent = np.arange(n)

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for a, b in edges:
        ra, rb = (find(a), find(b))
        if ra != rb:
            parent[max(ra, rb)] = min(ra, rb)
    return np.array([find(i) for i in range(n)])


@case(np.array([[0, 1], [1, 2], [3, 4], [2, 5], [4, 5]]), 6)
def toposort(edges, n):
    adj = [[] for _ in range(n)]
    indeg = [0] * n
    for u, v in edges:
        adj[u].append(v)
        indeg[v] += 1
    todo = [i for i in range(n) if indeg[i] == 0]
    out = []
    while todo:
        u = todo.pop()
        out.append(u)
        for v in adj[u]:
            indeg[v] -= 1
            if not indeg[v]:
                todo.append(v)
    if len(out) < n:
        raise ValueError("cycle")
    return out


@case(G)
def floyd(w):
    d = w.copy()
    n = d.shape[0]
    for k in range(n):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


@case(G)
def prim(w):
    n = len(w)
    used = {0}
    total = 0.0
    edges = []
    while len(used) < n:
        best = (np.inf, -1, -1)
        for u in used:
            for v in range(n):
                if v not in used and (w[u, v], u, v) < best:
                    best = (w[u, v], u, v)
        c, u, v = best
        total += c
        used.add(v)
        edges.append((u, v))
    return (total, edges)


@case(INDPTR, IDX, 0.85, 50)
def pagerank(ptr, idx, d=0.85, iters=50):
    n = len(ptr) - 1
    r = np.ones(n) / n
    for _ in range(iters):
        new = np.full(n, (1 - d) / n)
        for u in range(n):
            deg = ptr[u + 1] - ptr[u]
            if deg:
                share = d * r[u] / deg
                for v in idx[ptr[u] : ptr[u + 1]]:
                    new[v] += share
        if np.abs(new - r).sum() < 1e-12:
            return new
        r = new
    return r


@case(DATA, IDX, INDPTR, np.array([1.0, 2, 3, 4]))
def spmv(data, indices, indptr, x):
    n = len(indptr) - 1
    y = np.zeros(n)
    for i in dhpvm.prange(n):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    return y


@case(DATA, IDX, INDPTR, 4)
def csr_T(data, indices, indptr, m):
    nnz = len(data)
    n = len(indptr) - 1
    cnt = np.bincount(indices, minlength=m)
    ptr = np.concatenate(([0], np.cumsum(cnt)))
    nxt = ptr[:-1].copy()
    d = np.empty_like(data)
    ix = np.empty(nnz, dtype=indices.dtype)
    for r in range(n):
        for k in range(indptr[r], indptr[r + 1]):
            c = indices[k]
            p = nxt[c]
            d[p] = data[k]
            ix[p] = r
            nxt[c] += 1
    return (d, ix, ptr)


@case(G + 10 * np.eye(8), np.arange(8.0), fit=support.nearly)
def cg(A, b, tol=1e-10):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for it in range(len(b) * 2):
        Ap = A @ p
        a = rs / (p @ Ap)
        x += a * p
        r -= a * Ap
        new = r @ r
        if np.sqrt(new) < tol:
            break
        p = r + new / rs * p
        rs = new
    return (x, it)


@case(np.array([1.0, 1, 1]), np.array([4.0, 4, 4, 4]), np.array([1.0, 1, 1]), np.array([1.0, 2, 3, 4]))
def thomas(a, b, c, d):
    n = len(d)
    cp, dp = (np.zeros(n - 1), np.zeros(n))
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i - 1] * cp[i - 1]
        if i < n - 1:
            cp[i] = c[i] / m
        dp[i] = (d[i] - a[i - 1] * dp[i - 1]) / m
    x = dp
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - cp[i] * x[i + 1]
    return x


@case(G)
def lu(A):
    n = A.shape[0]
    U = A.copy()
    L = np.eye(n)
    piv = np.arange(n)
    for k in range(n - 1):
        m = k + np.argmax(np.abs(U[k:, k]))
        if U[m, k] == 0:
            raise np.linalg.LinAlgError("singular")
        if m != k:
            U[[k, m]] = U[[m, k]]
            L[[k, m], :k] = L[[m, k], :k]
            piv[[k, m]] = piv[[m, k]]
        L[k + 1 :, k] = U[k + 1 :, k] / U[k, k]
        U[k + 1 :] -= np.outer(L[k + 1 :, k], U[k])
    return (L, U, piv)


@case(G, fit=support.nearly)
def gram_schmidt(A):
    Q = np.zeros_like(A)
    for j in range(A.shape[1]):
        v = A[:, j].copy()
        for i in range(j):
            v -= Q[:, i] @ A[:, j] * Q[:, i]
        Q[:, j] = v / np.linalg.norm(v)
    return Q


@case(X, 5)
def rolling_max(x, w):
    q = deque()
    out = []
    for i, v in enumerate(x):
        while q and x[q[-1]] <= v:
            q.pop()
        q.append(i)
        if q[0] <= i - w:
            q.popleft()
        if i >= w - 1:
            out.append(x[q[0]])
    return np.array(out)


@case(X, 4, fit=support.nearly)
def rolling_deque(x, w):
    buf = deque(maxlen=w)
    out = np.empty(len(x))
    for i in range(len(x)):
        buf.append(x[i])
        out[i] = sum(buf) / len(buf)
    return out


@case(X, 0.5, 0.1, 4)
def holt(y, alpha, beta, h):
    level, trend = (y[0], y[1] - y[0])
    for v in y[1:]:
        prev = level
        level = alpha * v + (1 - alpha) * (level + trend)
        trend = beta * (level - prev) + (1 - beta) * trend
    return [level + k * trend for k in range(1, h + 1)]


@case(X, 3, fit=support.nearly)
def acf(x, nlags):
    x = x - x.mean()
    c0 = (x * x).sum()
    return np.array([1.0 if k == 0 else (x[k:] * x[:-k]).sum() / c0 for k in range(nlags + 1)])


@case(X)
def fill_forward(x):
    y = x.copy()
    y[::7] = np.nan
    m = np.isnan(y)
    idx = np.where(~m, np.arange(len(y)), 0)
    idx = np.maximum.accumulate(idx)
    return y[idx]


@case(X, 1.5)
def cusum(x, h):
    pos = neg = 0.0
    alarms = []
    for i in range(len(x)):
        pos = max(0, pos + x[i] - 0.2)
        neg = min(0, neg + x[i] + 0.2)
        if pos > h or -neg > h:
            alarms.append(i)
            pos = neg = 0.0
    return alarms


@case(X, np.array([1.0, 2, 3]))
def kalman(z, params):
    q, r, p0 = params
    x = 0.0
    p = p0
    out = np.zeros((z.size, 2))
    for i in range(z.size):
        p += q
        k = p / (p + r)
        x += k * (z[i] - x)
        p *= 1 - k
        out[i] = (x, p)
    return out


@case(X, np.arange(100) * 0.5, np.arange(0, 50, 5.0))
def resample(v, t, edges):
    which = np.searchsorted(edges, t, side="right") - 1
    s = np.bincount(which, weights=v, minlength=len(edges))
    c = np.bincount(which, minlength=len(edges))
    with np.errstate(divide="ignore", invalid="ignore"):
        return s / c


@case(X)
def select(x):
    return np.select([x < -1, x < 0, x < 1], [-1.0, x * 2, x**2], default=9)


@case(X, fit=support.nearly)
def huber(r, d=1.0):
    a = np.abs(r)
    return np.where(a <= d, 0.5 * r**2, d * (a - 0.5 * d)).mean()


@case(X)
def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


Pt = namedtuple("Pt", "x y")


@dataclass
class Stat:
    mean: float
    n: int


@case(X)
def ret_named(x):
    return Pt(x.min(), x.max())


@case(X, fit=support.nearly)
def ret_data(x):
    return Stat(x.mean(), len(x))


@case(X)
def ret_data_list(x):
    out = []
    for i in range(3):
        out.append(Pt(x[i], i))
    return out


class Lodgers(support.Comparisons):
    def test_results(self):
        case.compare(self)


if __name__ == "__main__":
    support.main()
