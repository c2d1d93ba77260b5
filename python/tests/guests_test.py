# SPDX-License-Identifier: Apache-2.0
"""Functions as strangers write them: signals, finance, images, sequences of bases, physics and statistics."""

import math

import support
from support import np

case = support.Cases()


rng = np.random.default_rng(1)

X = rng.normal(size=200)

Y = rng.normal(size=200)

I = rng.integers(0, 50, size=200)

IMG = rng.random((24, 31))

POS = rng.normal(size=(20, 3))

U8 = rng.integers(0, 256, size=(16, 20), dtype=np.uint8)

SEQ1 = np.frombuffer(b"GATTACAGATTACCAGGATC", dtype=np.uint8).copy()

SEQ2 = np.frombuffer(b"GCATGCGATTACA", dtype=np.uint8).copy()


@case(X, 0.3)
def ema(x, alpha):
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = alpha * x[i] + (1 - alpha) * out[i - 1]
    return out


@case(X, np.array([0.2, 0.3, 0.2]), np.array([1.0, -0.5, 0.25]))
def lfilter(x, b, a):
    y = np.zeros(len(x))
    for n in range(len(x)):
        acc = 0.0
        for k in range(len(b)):
            if n - k >= 0:
                acc += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n - k >= 0:
                acc -= a[k] * y[n - k]
        y[n] = acc / a[0]
    return y


@case(X)
def zero_crossings(x):
    s = np.sign(x)
    s[s == 0] = 1
    return np.where(np.diff(s) != 0)[0]


@case(X, 0.5, 3)
def find_peaks(x, height=None, distance=1):
    peaks = []
    last = -distance
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1]:
            if height is not None and x[i] < height:
                continue
            if i - last < distance:
                if peaks and x[i] > x[peaks[-1]]:
                    peaks[-1] = i
                    last = i
                continue
            peaks.append(i)
            last = i
    return np.array(peaks)


@case(np.array([1.0, 2, 3, 4, 5, 6, 7, 8]) + 0j)
def fft_iter(x):
    n = len(x)
    a = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            a[i], a[j] = (a[j], a[i])
    length = 2
    while length <= n:
        ang = -2 * math.pi / length
        w = complex(math.cos(ang), math.sin(ang))
        for i in range(0, n, length):
            wk = 1 + 0j
            for k in range(length // 2):
                u = a[i + k]
                v = a[i + k + length // 2] * wk
                a[i + k] = u + v
                a[i + k + length // 2] = u - v
                wk *= w
        length <<= 1
    return a


@case(X, 5)
def median_filter(x, k):
    h = k // 2
    p = np.pad(x, h, mode="edge")
    out = np.zeros_like(x)
    for i in range(x.size):
        out[i] = np.median(p[i : i + k])
    return out


@case(X, 16, 8, fit=support.nearly)
def frames_energy(x, size, hop):
    n = 1 + (len(x) - size) // hop
    out = np.empty(n)
    w = np.hanning(size)
    for i in range(n):
        seg = x[i * hop : i * hop + size] * w
        out[i] = np.sum(seg**2)
    return out


@case(X, 3.0)
def hampel(x, t=3.0, k=7):
    y = x.copy()
    n = len(x)
    for i in range(k, n - k):
        w = x[i - k : i + k + 1]
        m = np.median(w)
        mad = 1.4826 * np.median(np.abs(w - m))
        if abs(x[i] - m) > t * mad:
            y[i] = m
    return y


@case(X, np.array([1, 2, 1.0]), fit=support.nearly)
def conv_same(x, h):
    return np.convolve(x, h, mode="same") / h.sum()


@case(X, Y, 10, fit=support.nearly)
def xcorr(x, y, maxlag):
    lags = np.arange(-maxlag, maxlag + 1)
    r = np.zeros(len(lags))
    xm = x - x.mean()
    ym = y - y.mean()
    for i, l in enumerate(lags):
        if l < 0:
            r[i] = np.dot(xm[:l], ym[-l:])
        elif l == 0:
            r[i] = np.dot(xm, ym)
        else:
            r[i] = np.dot(xm[l:], ym[:-l])
    return r / (np.std(x) * np.std(y) * len(x))


@case(100.0, 105.0, 0.05, 0.2, 1.0)
def black_scholes(s, k, r, sigma, t):
    d1 = (math.log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    cdf = lambda z: 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))
    call = s * cdf(d1) - k * math.exp(-r * t) * cdf(d2)
    put = k * math.exp(-r * t) * cdf(-d2) - s * cdf(-d1)
    return (call, put)


@case(100.0, 100.0, 1.0, 0.05, 0.2, 50, True)
def binomial_american(S, K, T, r, sigma, N, put=True):
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    j = np.arange(N + 1)
    prices = S * u ** (N - j) * d**j
    sign = -1 if put else 1
    v = np.maximum(sign * (prices - K), 0)
    for i in range(N - 1, -1, -1):
        prices = prices[:-1] * d
        v = disc * (p * v[:-1] + (1 - p) * v[1:])
        v = np.maximum(v, sign * (prices - K))
    return v[0]


@case(np.array([-100.0, 30, 40, 50, 20]), 0.1)
def irr(cf, guess=0.1, tol=1e-10, maxiter=100):
    rate = guess
    for _ in range(maxiter):
        npv = 0.0
        d = 0.0
        for t, c in enumerate(cf):
            npv += c / (1 + rate) ** t
            d -= t * c / (1 + rate) ** (t + 1)
        new = rate - npv / d
        if abs(new - rate) < tol:
            return new
        rate = new
    raise ValueError(f"no convergence after {maxiter} steps")


@case(100 + np.cumsum(X))
def max_drawdown(p):
    peak = p[0]
    best = 0.0
    start = end = cur = 0
    for i in range(1, len(p)):
        if p[i] > peak:
            peak = p[i]
            cur = i
        dd = (peak - p[i]) / peak
        if dd > best:
            best = dd
            start, end = (cur, i)
    return (best, start, end)


@case(100 + np.cumsum(X), 14)
def rsi(p, n=14):
    d = np.diff(p)
    up = np.where(d > 0, d, 0.0)
    dn = np.where(d < 0, -d, 0.0)
    au = np.mean(up[:n])
    ad = np.mean(dn[:n])
    out = np.full(len(p), np.nan)
    out[n] = 100 - 100 / (1 + au / ad)
    for i in range(n, len(d)):
        au = (au * (n - 1) + up[i]) / n
        ad = (ad * (n - 1) + dn[i]) / n
        rs = au / ad if ad != 0 else np.inf
        out[i + 1] = 100 - 100 / (1 + rs)
    return out


@case(100 + np.cumsum(X), 5, 20)
def crossover(p, fast, slow):

    def sma(x, n):
        c = np.cumsum(x)
        c[n:] = c[n:] - c[:-n]
        return c[n - 1 :] / n

    f = sma(p, fast)[slow - fast :]
    s = sma(p, slow)
    pos = (f > s).astype(np.int64)
    return np.flatnonzero(np.diff(pos)) + slow


@case(np.array([1.0, 2, 3, 5, 10]), np.array([0.01, 0.015, 0.02, 0.022, 0.03]), np.linspace(0, 12, 7))
def yield_curve(t, r, q):
    return np.exp(-np.interp(q, t, r) * q)


@case(X.reshape(50, 4), 0.95, fit=support.nearly)
def var_cvar(ret, level):
    w = np.ones(ret.shape[1]) / ret.shape[1]
    port = ret @ w
    s = np.sort(port)
    k = int((1 - level) * len(s))
    return (-s[k], -s[: k + 1].mean())


@case(IMG, fit=support.nearly)
def sobel(img):
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    ky = kx.T
    h, w = img.shape
    out = np.zeros((h, w))
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            p = img[y - 1 : y + 2, x - 1 : x + 2]
            gx = (p * kx).sum()
            gy = (p * ky).sum()
            out[y, x] = np.hypot(gx, gy)
    return out


@case(U8)
def otsu(img):
    hist = np.bincount(img.ravel(), minlength=256)
    total = img.size
    sum_all = np.dot(np.arange(256), hist)
    wb = 0
    sb = 0
    best = -1.0
    thr = 0
    for t in range(256):
        wb += hist[t]
        if wb == 0:
            continue
        wf = total - wb
        if wf == 0:
            break
        sb += t * hist[t]
        mb = sb / wb
        mf = (sum_all - sb) / wf
        v = wb * wf * (mb - mf) ** 2
        if v > best:
            best = v
            thr = t
    return (thr, img > thr)


@case(U8)
def equalize(img):
    hist, _ = np.histogram(img, bins=256, range=(0, 256))
    cdf = hist.cumsum()
    m = cdf[cdf > 0].min()
    lut = np.round((cdf - m) / (img.size - m) * 255).astype(np.uint8)
    return lut[img]


@case(IMG > 0.5)
def label(mask):
    h, w = mask.shape
    lab = np.zeros((h, w), dtype=np.int32)
    cur = 0
    for sy in range(h):
        for sx in range(w):
            if not mask[sy, sx] or lab[sy, sx]:
                continue
            cur += 1
            stack = [(sy, sx)]
            lab[sy, sx] = cur
            while stack:
                y, x = stack.pop()
                for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                    ny, nx = (y + dy, x + dx)
                    if 0 <= ny < h and 0 <= nx < w and mask[ny, nx] and (not lab[ny, nx]):
                        lab[ny, nx] = cur
                        stack.append((ny, nx))
    return (lab, cur)


@case(IMG, 7, 9)
def bilinear(img, h, w):
    H, W = img.shape
    out = np.zeros((h, w), dtype=img.dtype)
    for i in range(h):
        fy = i * (H - 1) / (h - 1)
        y0 = int(fy)
        y1 = min(y0 + 1, H - 1)
        wy = fy - y0
        for j in range(w):
            fx = j * (W - 1) / (w - 1)
            x0 = int(fx)
            x1 = min(x0 + 1, W - 1)
            wx = fx - x0
            top = img[y0, x0] * (1 - wx) + img[y0, x1] * wx
            bot = img[y1, x0] * (1 - wx) + img[y1, x1] * wx
            out[i, j] = top * (1 - wy) + bot * wy
    return out


@case(U8)
def integral_image(img):
    s = np.zeros((img.shape[0] + 1, img.shape[1] + 1), np.int64)
    s[1:, 1:] = img.astype(np.int64).cumsum(0).cumsum(1)
    return s


@case(rng.integers(0, 256, size=(8, 9, 3), dtype=np.uint8))
def to_gray(rgb):
    return np.clip(0.299 * rgb[..., 0] + 0.587 * rgb[..., 1] + 0.114 * rgb[..., 2], 0, 255).astype(np.uint8)


@case(U8)
def dither(img):
    f = img.astype(np.float64)
    h, w = f.shape
    for y in range(h):
        for x in range(w):
            old = f[y, x]
            new = 255.0 if old > 127 else 0.0
            f[y, x] = new
            err = old - new
            if x + 1 < w:
                f[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    f[y + 1, x - 1] += err * 3 / 16
                f[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    f[y + 1, x + 1] += err / 16
    return f.astype(np.uint8)


@case(IMG > 0.6, 1)
def dilate(m, r=1):
    out = np.zeros_like(m)
    for dy in range(-r, r + 1):
        for dx in range(-r, r + 1):
            out |= np.roll(np.roll(m, dy, axis=0), dx, axis=1)
    return out


@case(SEQ1, SEQ2, 2, -1, -2)
def smith_waterman(a, b, match=2, mismatch=-1, gap=-2):
    n, m = (len(a), len(b))
    H = np.zeros((n + 1, m + 1), dtype=np.int32)
    best = 0
    bi = bj = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] + gap, H[i, j - 1] + gap)
            if H[i, j] > best:
                best = H[i, j]
                bi, bj = (i, j)
    path = []
    i, j = (bi, bj)
    while i > 0 and j > 0 and (H[i, j] > 0):
        path.append((i, j))
        if H[i, j] == H[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch):
            i -= 1
            j -= 1
        elif H[i, j] == H[i - 1, j] + gap:
            i -= 1
        else:
            j -= 1
    return (best, path[::-1])


@case(SEQ1)
def gc_skew(s):
    g = np.cumsum(s == ord("G"))
    c = np.cumsum(s == ord("C"))
    return (g - c) / np.maximum(g + c, 1)


@case(SEQ1, 3)
def kmers(s, k):
    code = {65: 0, 67: 1, 71: 2, 84: 3}
    counts = np.zeros(4**k, dtype=np.int64)
    for i in range(len(s) - k + 1):
        v = 0
        for j in range(k):
            v = v * 4 + code[s[i + j]]
        counts[v] += 1
    return counts


@case(SEQ1)
def revcomp(s):
    table = np.zeros(256, np.uint8)
    for a, b in zip(b"ACGT", b"TGCA"):
        table[a] = b
    return table[s[::-1]]


@case(SEQ1, SEQ2)
def edit_distance(a, b):
    prev = np.arange(len(b) + 1)
    for i, ca in enumerate(a):
        cur = np.empty_like(prev)
        cur[0] = i + 1
        for j, cb in enumerate(b):
            cur[j + 1] = min(prev[j] + (ca != cb), prev[j + 1] + 1, cur[j] + 1)
        prev = cur
    return prev[-1]


@case(SEQ1)
def run_length(s):
    out = []
    i = 0
    while i < len(s):
        j = i
        while j < len(s) and s[j] == s[i]:
            j += 1
        out.append((int(s[i]), j - i))
        i = j
    return out


@case(SEQ1)
def crc32(data):
    crc = 4294967295
    for b in data:
        crc ^= int(b)
        for _ in range(8):
            if crc & 1:
                crc = crc >> 1 ^ 3988292384
            else:
                crc >>= 1
    return crc ^ 4294967295


@case(SEQ1)
def fnv(data):
    h = np.uint64(14695981039346656037)
    for b in data:
        h = (h ^ np.uint64(b)) * np.uint64(1099511628211)
    return h


@case(SEQ1, SEQ2[:4])
def kmp(text, pat):
    m = len(pat)
    fail = [0] * m
    k = 0
    for i in range(1, m):
        while k > 0 and pat[k] != pat[i]:
            k = fail[k - 1]
        if pat[k] == pat[i]:
            k += 1
        fail[i] = k
    res = []
    q = 0
    for i in range(len(text)):
        while q > 0 and pat[q] != text[i]:
            q = fail[q - 1]
        if pat[q] == text[i]:
            q += 1
        if q == m:
            res.append(i - m + 1)
            q = fail[q - 1]
    return res


@case(POS, np.zeros((20, 3)), np.ones(20), 0.01, 5, fit=support.nearly)
def nbody(pos, vel, mass, dt, steps):
    n = pos.shape[0]
    for _ in range(steps):
        acc = np.zeros_like(pos)
        for i in range(n):
            for j in range(i + 1, n):
                d = pos[j] - pos[i]
                r2 = np.dot(d, d) + 0.001
                inv = r2 ** (-1.5)
                acc[i] += mass[j] * inv * d
                acc[j] -= mass[i] * inv * d
        vel += dt * acc
        pos += dt * vel
    ke = 0.5 * np.sum(mass[:, None] * vel**2)
    return ke


@case(POS, 4.0)
def lj_energy(p, box):
    e = 0.0
    for i in range(len(p) - 1):
        d = p[i + 1 :] - p[i]
        d -= box * np.round(d / box)
        r2 = (d**2).sum(axis=1)
        r2 = r2[r2 < (box / 2) ** 2]
        i6 = 1.0 / r2**3
        e += 4 * np.sum(i6 * i6 - i6)
    return e


@case(np.where(rng.random((12, 12)) < 0.5, -1, 1).astype(np.int8), 0.4, 300, 12345)
def ising(s, beta, n, seed):
    L = s.shape[0]
    state = seed
    acc = 0
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        i = state % L
        state = (1103515245 * state + 12345) % 2147483648
        j = state % L
        nb = s[(i + 1) % L, j] + s[(i - 1) % L, j] + s[i, (j + 1) % L] + s[i, (j - 1) % L]
        dE = 2 * s[i, j] * nb
        state = (1103515245 * state + 12345) % 2147483648
        if dE <= 0 or state / 2147483648 < math.exp(-beta * dE):
            s[i, j] = -s[i, j]
            acc += 1
    return (acc, s.sum())


@case(np.array([1.0, 1.0, 1.0]), 0.01, 100)
def lorenz(y0, dt, n, sigma=10.0, rho=28.0, beta=8 / 3):

    def f(y):
        return np.array([sigma * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - beta * y[2]])

    out = np.empty((n + 1, 3))
    out[0] = y0
    y = y0.copy()
    for k in range(n):
        k1 = f(y)
        k2 = f(y + dt / 2 * k1)
        k3 = f(y + dt / 2 * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[k + 1] = y
    return out


@case(IMG.copy(), 0.1, 20)
def heat(u, alpha, n):
    for _ in range(n):
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += alpha * lap
        u[0, :] = u[1, :]
        u[-1, :] = u[-2, :]
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
    return u


@case(100, 50, 0.5)
def wave(nx, nt, c):
    x = np.linspace(0, 1, nx)
    u = np.exp(-100 * (x - 0.5) ** 2)
    up = u.copy()
    for n in range(nt):
        un = np.zeros(nx)
        un[1:-1] = 2 * u[1:-1] - up[1:-1] + c**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        up, u = (u, un)
    return u


@case(0.0, 1.0, 1e-06)
def rk45(t, tend, tol):
    y = 1.0
    h = 0.1
    steps = 0
    rejected = 0
    f = lambda t, y: -2 * t * y
    while t < tend:
        if t + h > tend:
            h = tend - t
        k1 = f(t, y)
        k2 = f(t + h / 4, y + h * k1 / 4)
        k3 = f(t + 3 * h / 8, y + h * (3 * k1 + 9 * k2) / 32)
        k4 = f(t + 12 * h / 13, y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = f(t + h, y + h * (439 * k1 / 216 - 8 * k2 + 3680 * k3 / 513 - 845 * k4 / 4104))
        k6 = f(t + h / 2, y + h * (-8 * k1 / 27 + 2 * k2 - 3544 * k3 / 2565 + 1859 * k4 / 4104 - 11 * k5 / 40))
        err = abs(h * (k1 / 360 - 128 * k3 / 4275 - 2197 * k4 / 75240 + k5 / 50 + 2 * k6 / 55))
        if err <= tol:
            t += h
            y += h * (16 * k1 / 135 + 6656 * k3 / 12825 + 28561 * k4 / 56430 - 9 * k5 / 50 + 2 * k6 / 55)
            steps += 1
        else:
            rejected += 1
        h *= min(4.0, max(0.1, 0.9 * (tol / (err + 1e-300)) ** 0.2))
    return (y, steps, rejected)


@case(X.reshape(100, 2), 3, 10)
def kmeans(x, k, iters):
    c = x[:k].copy()
    lab = np.zeros(len(x), dtype=np.int64)
    for it in range(iters):
        d = ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)
        new = np.argmin(d, axis=1)
        if np.array_equal(new, lab) and it > 0:
            break
        lab = new
        for j in range(k):
            m = lab == j
            if m.any():
                c[j] = x[m].mean(axis=0)
    else:
        it = -1
    return (c, lab, it)


@case(X, Y)
def spearman(x, y):
    rx = np.argsort(np.argsort(x))
    ry = np.argsort(np.argsort(y))
    d = rx - ry
    n = len(x)
    return 1 - 6 * np.sum(d**2) / (n * (n**2 - 1))


@case(X, Y)
def kendall(x, y):
    c = d = 0
    for i in range(len(x)):
        for j in range(i):
            s = np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
            if s > 0:
                c += 1
            elif s < 0:
                d += 1
    return (c - d) / (c + d)


@case(X, 20, 7)
def bootstrap(x, n, seed):
    r = np.uint64(seed)
    means = np.zeros(n)
    for b in range(n):
        t = 0.0
        for i in range(len(x)):
            r ^= r << np.uint64(13)
            r ^= r >> np.uint64(7)
            r ^= r << np.uint64(17)
            t += x[int(r % np.uint64(len(x)))]
        means[b] = t / len(x)
    means.sort()
    return (means[int(0.025 * n)], means[int(0.975 * n)])


@case(X)
def welford(x):
    n = 0
    mean = 0.0
    m2 = 0.0
    for v in x:
        n += 1
        delta = v - mean
        mean += delta / n
        m2 += delta * (v - mean)
    if n < 2:
        return (float("nan"), float("nan"))
    return (mean, m2 / (n - 1))


@case(X, np.linspace(-3, 3, 9), 0.4, fit=support.nearly)
def kde(x, grid, bw):
    d = (grid[:, np.newaxis] - x[np.newaxis, :]) / bw
    return np.exp(-0.5 * d * d).sum(1) / (len(x) * bw * np.sqrt(2 * np.pi))


@case((X > 0).astype(int), np.abs(Y))
def auc(labels, scores):
    order = np.argsort(-scores)
    tp = fp = 0
    a = 0.0
    last = (0, 0)
    for i in order:
        if labels[i] == 1:
            tp += 1
        else:
            fp += 1
            a += tp
    return a / (tp * fp) if tp and fp else None


@case(I, fit=support.nearly)
def mode_and_entropy(x):
    v, c = np.unique(x, return_counts=True)
    p = c / c.sum()
    return (v[c.argmax()], -(p * np.log2(p)).sum())


@case(X.reshape(40, 5))
def zscore(x):
    mu = x.mean(axis=0, keepdims=True)
    sd = x.std(axis=0, ddof=1, keepdims=True)
    return (x - mu) / np.where(sd == 0, 1, sd)


@case(X.reshape(40, 5), fit=support.nearly)
def mahalanobis(x):
    mu = x.mean(0)
    cov = np.cov(x, rowvar=False)
    inv = np.linalg.inv(cov)
    d = x - mu
    return np.sqrt(np.einsum("ij,jk,ik->i", d, inv, d))


class Guests(support.Comparisons):
    def test_results(self):
        case.compare(self)


if __name__ == "__main__":
    support.main()
