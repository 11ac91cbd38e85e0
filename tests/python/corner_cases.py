# SPDX-License-Identifier: Apache-2.0
"""Programs for test_corners.py: name -> (text, sizes and consts, inputs, reference)."""

import numpy as np

RANDOM = np.random.default_rng(20)
CASES = {}


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def bools(*shape):
    return RANDOM.random(shape) < 0.5


def ints(low, high, *shape, dtype=np.int32):
    return RANDOM.integers(low, high, shape, dtype=dtype)


def case(name, text, reference, defines=None, **inputs):
    CASES[name] = (text, defines or {}, inputs, reference)


X = floats(13)

# ---- bools

A, B = bools(20), bools(20)
case("order of bools",
     "def f(bool(N) a, bool(N) b) -> (lt, le, gt, ge, eq, ne) {"
     " lt(i) = a(i) < b(i)  le(i) = a(i) <= b(i)  gt(i) = a(i) > b(i)  ge(i) = a(i) >= b(i)  eq(i) = a(i) == b(i)  ne(i) = a(i) != b(i) }",
     lambda a, b: {"lt": ~a & b, "le": ~a | b, "gt": a & ~b, "ge": a | ~b, "eq": a == b, "ne": a != b}, a=A, b=B)
case("arithmetic of bools guards nothing",
     "def f(bool(N) a, bool(N) b) -> (s, p, l, h) { s(i) = a(i) + b(i+1)  p(i) = a(i) * b(i+1)  l(i) = min(a(i), b(i+1))  h(i) = max(a(i), b(i+1)) }",
     lambda a, b: {"s": a[:-1] | b[1:], "p": a[:-1] & b[1:], "l": a[:-1] & b[1:], "h": a[:-1] | b[1:]}, a=A, b=B)
case("order of comparisons",
     "def f(float(N) x) -> (y) { y(i) = (x(i) > 0) < (i > 3) || (x(i) > 1) >= (x(N-1-i) > 0) }",
     lambda x: {"y": ((x > 0) < (np.arange(13) > 3)) | ((x > 1) >= (x[::-1] > 0))}, x=X)
case("conditions that compare conditions",
     "def f(float(N,N) x) -> (a, b, c) { a(i) +=! x(i,j) where (i < 3) == (j < 5)  b(i) +=! x(i,j) where (i < 3) != (j%2 == 0)"
     "  c +=! x(i,j) where (i < 3) < (j > 1), min(i > 0, j > i) }",
     lambda x: {"a": [x[i][(np.arange(9) < 5) == (i < 3)].sum() for i in range(9)],
                "b": [x[i][(np.arange(9) % 2 == 0) != (i < 3)].sum() for i in range(9)],
                "c": sum(x[i, j] for i in range(9) for j in range(9) if (i < 3) < (j > 1) and i > 0 and j > i)}, x=floats(9, 9))
case("any and all",
     "def f(bool(N,M) a) -> (p, q, bool(N) r, bool(N) s, u) { p(i) max=! a(i,j)  q(i) min=! a(i,j)  r(i) +=! a(i,j)  s(i) *=! a(i,j)  u(i) +=! a(i,j) }",
     lambda a: {"p": a.any(1), "q": a.all(1), "r": a.any(1), "s": a.all(1), "u": a.sum(1)}, a=RANDOM.random((9, 40)) < 0.05)
case("product of bool matrices",
     "def f(bool(M,K) a, bool(K,N) b) -> (bool(M,N) y, z) { y(i,j) +=! a(i,k) && b(k,j)  z(i,j) +=! a(i,k) * b(k,j) }",
     lambda a, b: {"y": (a.astype(int) @ b.astype(int)) > 0, "z": a.astype(int) @ b.astype(int)},
     a=RANDOM.random((9, 20)) < 0.3, b=RANDOM.random((20, 17)) < 0.3)

# ---- subscripts and ranges

case("remainder by a size on the left", "def f(float(N) x, const int32 M) -> (y, z) { y((i+1)%N) = x(i)  z(i%M) +=! x(i) }",
     lambda x: {"y": np.roll(x, 1), "z": [x[m::4].sum() for m in range(4)]}, {"M": 4}, x=X)
case("reshape by a size", "def f(float(N,M) x) -> (y) { y(k/N,k%N) = x(k/M,k%M) where k in 0:N*M }", lambda x: {"y": x.reshape(7, 4)}, x=floats(4, 7))
case("two triangles", "def f(float(N,N) a) -> (y) { y(i) +=! a(i,j) * a(j,k) where k in 0:j+1, j in 0:i+1 }",
     lambda a: {"y": [sum(a[i, j] * a[j, k] for j in range(i + 1) for k in range(j + 1)) for i in range(9)]}, a=floats(9, 9))
case("a bound that is negative for some", "def f(float(N,N) a) -> (y) { y(i) +=! a(i,j) where j in i+2:N }",
     lambda a: {"y": [a[i, i + 2:].sum() for i in range(6)]}, a=floats(6, 6))
case("condition with gaps", "def f(float(N) x) -> (y) { y +=! x(i) where i%3 == 1 && i < N-1 || i == 0 }",
     lambda x: {"y": sum(x[i] for i in range(13) if i % 3 == 1 and i < 12 or i == 0)}, x=X)
case("index of a clause alone", "def f(float(N) x) -> (y) { y(i) +=! x(i) where k in 0:5 }", lambda x: {"y": 5 * x}, x=X)
case("clamped", "def f(float(N) x) -> (y) { y(i) = x(max(i-1,0)) + x(min(i+1,N-1)) where i in 0:N }",
     lambda x: {"y": np.r_[x[0], x[:-1]] + np.r_[x[1:], x[-1]]}, x=X)
case("divisions of negative positions", "def f(float(N) x) -> (y, z) { y(i) = x((i-3)/2+2) where i in 0:9  z(i) = x((-i)%5) where i in 0:9 }",
     lambda x: {"y": [x[(i - 3) // 2 + 2] for i in range(9)], "z": [x[-i % 5] for i in range(9)]}, x=X)
case("down and up", "def f(float(N) x) -> (y) { a(i) = (x(2*i) + x(2*i+1)) / 2  y(i) = a(i/2) - x(i) }",
     lambda x: {"y": np.repeat((x[:26:2] + x[1::2]) / 2, 2) - x[:26]}, x=floats(27))
case("transposed convolution", "def f(float(C,H) x, float(C,O,P) w) -> (y) { y(o,2*h+p) +=! x(c,h) * w(c,o,p) }",
     lambda x, w: {"y": [[sum(x[c, h] * w[c, o, k - 2 * h] for c in range(3) for h in range(5) if 0 <= k - 2 * h < 3) for k in range(11)] for o in range(2)]},
     x=floats(3, 5), w=floats(3, 2, 3))
case("const strides of either sign", "def f(float(N) x, const int32 a, const int32 b) -> (y, z) { y(i) = x(a*i+N-1) where i in 0:(N+1)/2  z(i) = x(b*i+1) where i in 0:(N+1)/b }",
     lambda x: {"y": x[::-2], "z": x[1::3]}, {"a": -2, "b": 3}, x=X)
case("pad in a pad", "def f(float(N) x, float(M) z) -> (y) { y(i) = pad(x(i-2), pad(z(i), 7)) where i in 0:9 }",
     lambda x, z: {"y": [x[i - 2] if 0 <= i - 2 < 4 else z[i] if i < 8 else 7 for i in range(9)]}, x=floats(4), z=floats(8))
case("pad of a gather", "def f(float(N) x, int32(M) k) -> (y) { y(i) = pad(x(k(i)+1), 0.5) }",
     lambda x, k: {"y": [x[v + 1] if 0 <= v + 1 < 4 else 0.5 for v in k.tolist()]}, x=floats(4), k=np.array([-5, -2, -1, 0, 2, 3, 100, 2**31 - 1, -(2**31)], np.int32))

# ---- gathers and scatters

case("gather of a gather", "def f(float(N) x, int32(M) k, int32(L) m) -> (y) { y(i) = x(k(m(i))) }",
     lambda x, k, m: {"y": [x[v] if 0 <= v < 13 else np.nan for v in (k[j] if 0 <= j < 7 else 0 for j in m)]}, x=X, k=ints(-9, 19, 7), m=ints(-3, 9, 10))
case("positions beyond 63 bits", "def f(uint64(N) k, int64(N) m, float(B) x) -> (y, h) { y(i) = x(k(i))  h(j) = 0.0 where j in 0:3  h(m(i)) += x(0) }",
     lambda k, m, x: {"y": [x[0], np.nan, np.nan, np.nan, x[3]], "h": [x[0], 0, x[0]]},
     k=np.array([0, 2**32, 2**63, 2**64 - 1, 3], np.uint64), m=np.array([0, 2**32, -(2**63), 2**63 - 1, 2], np.int64), x=floats(4))
case("scatter at two gathered positions", "def f(int32(N) k, int32(N) m, int32(N) x, const int32 B) -> (int32(B,B) h) { h(k(i),2*m(i)+1) +=! x(i) }",
     lambda k, m, x: {"h": [[sum(x[i] for i in range(30) if k[i] == a and 2 * m[i] + 1 == b) for b in range(5)] for a in range(5)]},
     {"B": 5}, k=ints(-1, 6, 30), m=ints(-1, 3, 30), x=ints(-9, 9, 30))
case("sort by counting",
     "def f(int32(N) k, const int32 B) -> (int32(N) s) { h(b) = 0 where b in 0:B  h(k(i)) += 1  o(b) +=! h(c) where c in 0:b, b in 0:B"
     "  r(i) +=! k(j) == k(i) ? 1 : 0 where j in 0:i, i in 0:N  s(i) = 0 where i in 0:N  s(o(k(i)) + r(i)) = k(i) }",
     lambda k: {"s": np.sort(k)}, {"B": 6}, k=ints(0, 6, 40))

# ---- argmin, argmax

V = np.array([[1, 3, 3, np.nan, 5], [2, 2, 2, 2, 2], [-np.inf, np.inf, np.inf, 0, 0]], np.float32)
case("ties and NaN", "def f(float(N,M) x) -> (a, b) { a(i) argmax=! x(i,j)  b(i) argmin=! x(i,j) }", lambda x: {"a": [3, 0, 1], "b": [3, 0, 0]}, x=V)
case("flat positions", "def f(float(N,M) x) -> (a, b) { a argmin=! x(i,j) where j in 2:9, i in 3:8  b argmax=! x(j,i) where i in 2:9 }",
     lambda x: {"a": x[3:8, 2:9].argmin(), "b": x[:, 2:9].argmax()}, x=floats(9, 11))
case("two largest", "def f(float(N,M) x) -> (a, b) { a(i) argmax=! x(i,j)  b(i) argmax=! j == a(i) ? -inf : x(i,j) }",
     lambda x: {"a": x.argmax(1), "b": np.argsort(-x, 1)[:, 1]}, x=floats(9, 40))

# ---- numbers

DIVIDENDS = np.array([7, -7, 7, -7, 0, 5, -128, -128, -128, -127, 127], np.int8)
DIVISORS = np.array([2, 2, -2, -2, 3, 0, -1, 1, 0, -1, -1], np.int8)
case("division of int8", "def f(int8(N) a, int8(N) b) -> (q, m, int32(N) w) { q(i) = a(i) / b(i)  m(i) = a(i) % b(i)  w(i) = a(i) / b(i) }",
     lambda a, b: {"q": [3, -4, -4, 3, 0, 0, -128, -128, 0, 127, -127], "m": [1, 1, -1, -1, 0, 0, 0, 0, 0, 0, 0], "w": [3, -4, -4, 3, 0, 0, 128, -128, 0, 127, -127]},
     a=DIVIDENDS, b=DIVISORS)
case("wrapped once", "def f(int8(N) a, int8(N) b) -> (y, int32(N) z, w) { y(i) = a(i) * b(i) + 100  z(i) = a(i) * b(i) + 100  w(i) = int8(a(i) * b(i)) + 100 }",
     lambda a, b: {"y": (a.astype(int) * b + 100).astype(np.int8), "z": a.astype(int) * b + 100, "w": ((a.astype(int) * b).astype(np.int8) + np.int64(100)).astype(np.int8)},
     a=ints(-128, 128, 60, dtype=np.int8), b=ints(-128, 128, 60, dtype=np.int8))
STEPS = np.array([0, -0.5, 1.5, 127.6, -129, 255.9, 300, -0.9, 65536, 2**31, -(2.0**31), 5e9, 1e19, 2e19, -1e19, np.inf, -np.inf, np.nan], np.float32)
case("saturated casts", "def f(float(N) x) -> (a, b, c, d) { a(i) = int8(x(i))  b(i) = uint16(x(i))  c(i) = int32(x(i))  d(i) = uint64(x(i)) }",
     lambda x: {"a": [0, 0, 1, 127, -128, 127, 127, 0, 127, 127, -128, 127, 127, 127, -128, 127, -128, 0],
                "b": [0, 0, 1, 127, 0, 255, 300, 0, 65535, 65535, 0, 65535, 65535, 65535, 0, 65535, 0, 0],
                "c": [0, 0, 1, 127, -129, 255, 300, 0, 65536, 2**31 - 1, -(2**31), 2**31 - 1, 2**31 - 1, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0],
                "d": np.array([0, 0, 1, 127, 0, 255, 300, 0, 65536, 2**31, 0, 5000000000, int(np.float32(1e19)), 2**64 - 1, 0, 2**64 - 1, 0, 0], np.uint64)}, x=STEPS)
case("sums of narrow types", "def f(int8(N) a, uint8(N) u) -> (s, int8 t, m, v) { s +=! a(i)  t +=! a(i)  m min=! a(i)  v +=! u(i) }",
     lambda a, u: {"s": a.astype(int).sum(), "t": (a.astype(int).sum() + 128) % 256 - 128, "m": a.min(), "v": u.astype(int).sum()},
     a=ints(-128, 128, 300, dtype=np.int8), u=ints(0, 256, 300, dtype=np.uint8))

# ---- loops


def floyd(d):
    d = d.astype(float)
    for k in range(len(d)):
        d = np.minimum(d, d[:, k:k + 1] + d[k:k + 1, :])
    return {"d": d}


case("shortest paths", "def f(float(N,N) d) -> (d) { for k in 0:N { t(i,j) = min(d(i,j), d(i,k) + d(k,j))  d(i,j) = t(i,j) } }", floyd, d=np.abs(floats(14, 14)))


def lower_upper(a):
    a = a.astype(float)
    for k in range(len(a)):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return {"a": a}


case("LU factors in place",
     "def f(float(N,N) a) -> (a) { for k in 0:N { a(i,k) = a(i,k) / a(k,k) where i in k+1:N  a(i,j) = a(i,j) - a(i,k) * a(k,j) where i in k+1:N, j in k+1:N } }",
     lower_upper, a=floats(11, 11) + 9 * np.eye(11, dtype=np.float32))


def viterbi(start, step, emit, seen):
    best, back = start + emit[:, seen[0]], []
    for o in seen[1:]:
        paths = best[:, None] + step
        back.append(paths.argmax(0))
        best = paths.max(0) + emit[:, o]
    path = [best.argmax()]
    for pointers in reversed(back):
        path.insert(0, pointers[path[0]])
    return {"p": path}


case("most likely path",
     "def f(float(S) start, float(S,S) step, float(S,V) emit, int32(T) seen) -> (int32(T) p) { d(0,s) = start(s) + emit(s,seen(0))"
     "  for t in 1:T { m(s) max=! d(t-1,q) + step(q,s)  b(t,s) argmax=! d(t-1,q) + step(q,s)  d(t,s) = m(s) + emit(s,seen(t)) }"
     "  p(T-1) argmax=! d(T-1,s)  for t in 1:T { p(T-1-t) = b(T-t,p(T-t)) } }",
     viterbi, start=floats(5), step=floats(5, 5), emit=floats(5, 4), seen=ints(0, 4, 9))


def edits(a, b):
    d = np.add.outer(np.arange(len(a) + 1), np.arange(len(b) + 1))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            d[i + 1, j + 1] = min(d[i, j + 1] + 1, d[i + 1, j] + 1, d[i, j] + (x != y))
    return {"D": d}


case("edit distance",
     "def f(int8(N) a, int8(M) b) -> (int32(N+1,M+1) D) { D(i,0) = i where i in 0:N+1  D(0,j) = j where j in 1:M+1"
     "  for i in 1:N+1 { for j in 1:M+1 { D(i,j) = min(D(i-1,j) + 1, D(i,j-1) + 1, D(i-1,j-1) + (a(i-1) == b(j-1) ? 0 : 1)) } } }",
     edits, a=ints(0, 3, 11, dtype=np.int8), b=ints(0, 3, 9, dtype=np.int8))


def life(g):
    for _ in range(6):
        n = sum(np.roll(g, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - g
        g = ((n == 3) | (g == 1) & (n == 2)).astype(np.int8)
    return {"g": g}


case("cells on a torus",
     "def f(int8(H,W) g, const int32 T) -> (g) { for t in 0:T { n(h,w) +=! g((h+p+H-1)%H,(w+q+W-1)%W) where p in 0:3, q in 0:3, h in 0:H, w in 0:W"
     "  m(h,w) = n(h,w) - g(h,w)  g(h,w) = m(h,w) == 3 || g(h,w) == 1 && m(h,w) == 2 ? 1 : 0 } }", life, {"T": 6}, g=ints(0, 2, 9, 12, dtype=np.int8))
case("neighbours exchanged",
     "def f(float(N) x) -> (x) { for s in 0:N { for i in 0:N-1 { lo = min(x(i), x(i+1))  hi = max(x(i), x(i+1))  x(i) = lo  x(i+1) = hi } } }",
     lambda x: {"x": np.sort(x)}, x=floats(11))


def affine_steps(x):
    for t in range(4):
        x = x * (t + 1) + 1
    return {"y": x}


case("a call in a loop", "def step(float(N) x, float a) -> (y) { y(i) = x(i) * a + 1 }"
     " def f(float(N) x) -> (y) { z(i) = x(i)  for t in 0:4 { u = step(z, float(t+1))  z(i) = u(i) }  y(i) = z(i) }", affine_steps, x=X)
