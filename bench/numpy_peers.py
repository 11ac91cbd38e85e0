# SPDX-License-Identifier: Apache-2.0
"""The operators of the suite as a user of NumPy would write them. 16-bit floats, which NumPy lacks, are given as float32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def erf(x: np.ndarray) -> np.ndarray:
    """Abramowitz and Stegun 7.1.26; error at most 1.5e-7. NumPy has none."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.copysign(1 - series * np.exp(-x * x), x)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def linear_gelu(x, w, b):
    z = x @ w.T + b
    return 0.5 * z * (1 + erf(z * np.float32(0.70710678)))


def swiglu(x, g, u):
    z = x @ g.T
    return z / (1 + np.exp(-z)) * (x @ u.T)


def group_convolution(i, w, b):
    windows = sliding_window_view(i, w.shape[3:], axis=(3, 4))
    n, g, c, h, v, kh, kw = windows.shape
    rows = windows.transpose(1, 0, 3, 4, 2, 5, 6).reshape(g, n * h * v, c * kh * kw)
    y = rows @ w.reshape(g, -1, c * kh * kw).transpose(0, 2, 1)
    return y.reshape(g, n, h, v, -1).transpose(1, 0, 4, 2, 3) + b[None, :, :, None, None]


def convolution_nchw(i, w):
    windows = sliding_window_view(i, w.shape[2:], axis=(2, 3))
    n, c, h, v, kh, kw = windows.shape
    rows = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * v, c * kh * kw)
    return (rows @ w.reshape(w.shape[0], -1).T).reshape(n, h, v, -1).transpose(0, 3, 1, 2)


def convolution_nhwc(i, w):
    windows = sliding_window_view(i, w.shape[:2], axis=(1, 2))
    n, h, v, c, kh, kw = windows.shape
    rows = windows.transpose(0, 1, 2, 4, 5, 3).reshape(n * h * v, kh * kw * c)
    return (rows @ w.reshape(kh * kw * c, -1)).reshape(n, h, v, -1)


def depthwise(i, w):
    h, v = i.shape[2] - w.shape[1] + 1, i.shape[3] - w.shape[2] + 1
    return sum(i[:, :, p : p + h, q : q + v] * w[:, p, q][:, None, None] for p in range(w.shape[1]) for q in range(w.shape[2]))


def mlp3(i, w2, b2, w3, b3, w4, b4):
    h2 = np.maximum(i @ w2.T + b2, 0)
    h3 = np.maximum(h2 @ w3.T + b3, 0)
    return h2, h3, np.maximum(h3 @ w4.T + b4, 0)


def group_norm(i, gamma, beta):
    axes = (2, 3, 4)
    mean, var = i.mean(axes, keepdims=True), i.var(axes, keepdims=True)
    return (i - mean) / np.sqrt(var + 1e-5) * gamma[None, :, :, None, None] + beta[None, :, :, None, None]


def rmsnorm(x, r, w):
    h = x + r
    return h / np.sqrt((h * h).mean(1, keepdims=True) + 1e-6) * w, h


def layernorm(x, g, b):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g + b


def cross_entropy(logits, target):
    m = logits.max(1)
    return np.log(np.exp(logits - m[:, None]).sum(1)) + m - logits[np.arange(len(target)), target]


def attention(q, k, v, causal=False):
    p = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5)
    if causal:
        p = np.where(np.tri(q.shape[2], k.shape[2], dtype=bool), p, -np.inf)
    return softmax(p) @ v


PEERS: dict[str, Callable] = {
    "tmm": lambda a, b: a @ b.T,
    "tbmm": lambda x, y: x @ y.swapaxes(1, 2),
    "c3": lambda i, w: i @ w.T,
    "matmul": lambda a, b: a @ b,
    "linear_gelu": linear_gelu,
    "swiglu": swiglu,
    "gemv": lambda w, x: w @ x,
    "dequant_int8_gemv": lambda w, s, x: x @ w.astype(np.float32).T * s,
    "gconv": group_convolution,
    "conv2d_nchw": convolution_nchw,
    "conv2d_nhwc": convolution_nhwc,
    "depthwise3x3": depthwise,
    "jacobi2d": lambda a: np.float32(0.2) * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]),
    "kronecker3": lambda a, b, c, x: np.einsum("an,bo,cp,mnop->mabc", a, b, c, x, optimize=True),
    "mlp1": lambda i, w, b: np.maximum(i @ w + b, 0),
    "mlp3": mlp3,
    "tensordot": lambda a, b: np.einsum("ncdhw,ndehw->ncehw", a, b, optimize=True),
    "mttkrp": lambda a, b, c: np.einsum("ijk,jr,kr->ir", a, b, c, optimize=True),
    "group_norm": group_norm,
    "moments": lambda i: (i.mean(1), i.var(1)),
    "softmax": softmax,
    "rmsnorm": rmsnorm,
    "layernorm": layernorm,
    "column_sum": lambda x: x.sum(0),
    "full_sum": lambda x: x.sum(),
    "transpose021": lambda x: np.ascontiguousarray(x.transpose(0, 2, 1)),
    "cross_entropy": cross_entropy,
    "lut1": lambda t, i: t[i].sum(1),
    "lut2": lambda t, i, t2, i2: (t[i].sum(1), t2[i2].sum(1)),
    "attention_bf16_causal": lambda q, k, v: attention(q, k, v, causal=True),
    "attention": attention,
}


def peer(name: str) -> Callable:
    """The form of a case: that of the longest key which its name starts with."""
    return PEERS[max((key for key in PEERS if name.startswith(key)), key=len)]
