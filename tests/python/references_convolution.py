# SPDX-License-Identifier: Apache-2.0
"""References of the convolutions and poolings: windows by stride tricks forward, explicit accumulation backward."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from example_case import Integers, example


def windows(x, P, Q, stride=1, dilation=1):
    """(..., H, W) -> (..., H', W', P, Q): all windows inside the image."""
    spread = sliding_window_view(x, (dilation * (P - 1) + 1, dilation * (Q - 1) + 1), axis=(-2, -1))
    return spread[..., ::stride, ::stride, ::dilation, ::dilation]


def convolve(x, K, bias=0.0, **how):
    """x (N,C,H,W), K (M,C,P,Q) -> (N,M,H',W')"""
    return np.einsum("nchwpq,mcpq->nmhw", windows(x, *K.shape[2:], **how), K) + np.reshape(bias, (-1, 1, 1))


def input_gradient(dy, K, shape, stride=1, dilation=1):
    """Gradient of convolve with respect to an x whose image has `shape`."""
    dx = np.zeros((dy.shape[0], K.shape[1], *shape))
    for p in range(K.shape[2]):
        for q in range(K.shape[3]):
            h, w = dilation * p, dilation * q
            view = dx[:, :, h : h + stride * dy.shape[2] : stride, w : w + stride * dy.shape[3] : stride]
            view += np.einsum("nmhw,mc->nchw", dy, K[:, :, p, q])
    return dx


def weight_gradient(x, dy, P, Q, stride=1, dilation=1):
    dK = np.zeros((dy.shape[1], x.shape[1], P, Q))
    for p in range(P):
        for q in range(Q):
            h, w = dilation * p, dilation * q
            view = x[:, :, h : h + stride * dy.shape[2] : stride, w : w + stride * dy.shape[3] : stride]
            dK[:, :, p, q] = np.einsum("nchw,nmhw->mc", view, dy)
    return dK


def full(dy, K, **how):
    """Image shape of the x that dy = convolve(x, K) came from when no row was dropped."""
    stride, dilation = how.get("stride", 1), how.get("dilation", 1)
    return [stride * (n - 1) + dilation * (k - 1) + 1 for n, k in zip(dy.shape[2:], K.shape[2:])]


XKB = {"x": "float(N,C,H,W)", "K": "float(M,C,P,Q)", "bias": "float(M)"}
DYK = {"dy": "float(N,M,H,W)", "K": "float(M,C,P,Q)"}


@example("convolution.tc", inputs=XKB)
def convolution(x, K, bias):
    return {"y": convolve(x, K, bias)}


@example("convolution.tc", inputs=DYK)
def convolution_input_gradient(dy, K):
    return {"dx": input_gradient(dy, K, full(dy, K))}


@example("convolution.tc", inputs={"x": "float(N,C,H1,W1)", "dy": "float(N,M,H2,W2)"})
def convolution_weight_gradient(x, dy):
    P, Q = x.shape[2] - dy.shape[2] + 1, x.shape[3] - dy.shape[3] + 1
    return {"dK": weight_gradient(x, dy, P, Q), "dbias": dy.sum((0, 2, 3))}


@example("strided_convolution.tc", inputs=XKB)
def strided_convolution(x, K, bias):
    return {"y": convolve(x, K, bias, stride=2)}


@example("strided_convolution.tc", consts=("height", "width"), inputs=DYK)
def strided_convolution_input_gradient(dy, K, height, width):
    return {"dx": input_gradient(dy, K, (height, width), stride=2)}


@example("strided_convolution.tc", inputs={"x": "float(N,C,H1,W1)", "dy": "float(N,M,H2,W2)", "K": "float(M,C,P,Q)"})
def strided_convolution_weight_gradient(x, dy, K):
    return {"dK": weight_gradient(x, dy, *K.shape[2:], stride=2)}


@example("dilated_convolution.tc", inputs=XKB)
def dilated_convolution(x, K, bias):
    return {"y": convolve(x, K, bias, dilation=2)}


@example("dilated_convolution.tc", inputs=DYK)
def dilated_convolution_input_gradient(dy, K):
    return {"dx": input_gradient(dy, K, full(dy, K, dilation=2), dilation=2)}


@example("dilated_convolution.tc", inputs={"x": "float(N,C,H1,W1)", "dy": "float(N,M,H2,W2)"})
def dilated_convolution_weight_gradient(x, dy):
    P, Q = [(a - b) // 2 + 1 for a, b in zip(x.shape[2:], dy.shape[2:])]
    return {"dK": weight_gradient(x, dy, P, Q, dilation=2)}


def per_group(function, groups):
    """The results of `function` for every group, stacked along axis 1."""
    return np.stack([function(g) for g in range(groups)], 1)


@example("grouped_convolution.tc", inputs={"x": "float(N,G,C,H,W)", "K": "float(G,F,C,P,Q)", "bias": "float(G,F)"})
def grouped_convolution(x, K, bias):
    return {"y": per_group(lambda g: convolve(x[:, g], K[g], bias[g]), len(K))}


@example("grouped_convolution.tc", inputs={"dy": "float(N,G,F,H,W)", "K": "float(G,F,C,P,Q)"})
def grouped_convolution_input_gradient(dy, K):
    return {"dx": per_group(lambda g: input_gradient(dy[:, g], K[g], full(dy[:, g], K[g])), len(K))}


@example("grouped_convolution.tc", inputs={"x": "float(N,G,C,H1,W1)", "dy": "float(N,G,F,H2,W2)"})
def grouped_convolution_weight_gradient(x, dy):
    P, Q = [a - b + 1 for a, b in zip(x.shape[3:], dy.shape[3:])]
    dK = np.stack([weight_gradient(x[:, g], dy[:, g], P, Q) for g in range(x.shape[1])])
    return {"dK": dK, "dbias": dy.sum((0, 3, 4))}


@example("depthwise_convolution.tc", inputs={"x": "float(N,C,H,W)", "K": "float(C,P,Q)", "bias": "float(C)"})
def depthwise_convolution(x, K, bias):
    return {"y": np.einsum("nchwpq,cpq->nchw", windows(x, *K.shape[1:]), K) + bias[:, None, None]}


@example("depthwise_convolution.tc", inputs={"dy": "float(N,C,H,W)", "K": "float(C,P,Q)"})
def depthwise_convolution_input_gradient(dy, K):
    one = lambda c: input_gradient(dy[:, c : c + 1], K[c][None, None], full(dy, K[None]))
    return {"dx": np.concatenate([one(c) for c in range(len(K))], 1)}


@example("depthwise_convolution.tc", inputs={"x": "float(N,C,H1,W1)", "dy": "float(N,C,H2,W2)"})
def depthwise_convolution_weight_gradient(x, dy):
    P, Q = [a - b + 1 for a, b in zip(x.shape[2:], dy.shape[2:])]
    one = lambda c: weight_gradient(x[:, c : c + 1], dy[:, c : c + 1], P, Q)[0, 0]
    return {"dK": np.stack([one(c) for c in range(x.shape[1])]), "dbias": dy.sum((0, 2, 3))}


# Filters of at least two taps: with stride 2 a single tap would leave gaps.
@example("transposed_convolution.tc", inputs={"x": "float(N,C,H,W)", "K": "float(C,M,P,Q)", "bias": "float(M)"})
def transposed_convolution(x, K, bias):
    return {"y": input_gradient(x, K, full(x, K, stride=2), stride=2) + bias[:, None, None]}


@example("transposed_convolution.tc", inputs={"dy": "float(N,M,2*(H-1)+P,2*(W-1)+Q)", "K": "float(C,M,P,Q)"})
def transposed_convolution_input_gradient(dy, K):
    return {"dx": convolve(dy, K, stride=2)}


@example("transposed_convolution.tc", inputs={"x": "float(N,C,H1,W1)", "dy": "float(N,M,H2,W2)"})
def transposed_convolution_weight_gradient(x, dy):
    P, Q = [b - 2 * (a - 1) for a, b in zip(x.shape[2:], dy.shape[2:])]
    return {"dK": weight_gradient(dy, x, P, Q, stride=2), "dbias": dy.sum((0, 2, 3))}


MASK = {"mask": Integers("bool(P,Q)", 0, 2)}


@example("masked_convolution.tc", inputs={"x": XKB["x"], "K": XKB["K"], **MASK, "bias": XKB["bias"]})
def masked_convolution(x, K, mask, bias):
    return {"y": convolve(x, K * mask, bias)}


@example("masked_convolution.tc", inputs=XKB)
def causal_convolution(x, K, bias):
    P, Q = K.shape[2:]
    before_centre = np.arange(P * Q).reshape(P, Q) < P * Q // 2
    border = np.pad(x, ((0, 0), (0, 0), (P // 2, P // 2), (Q // 2, Q // 2)))
    return {"y": convolve(border, K * before_centre, bias)}


@example("masked_convolution.tc", inputs={**DYK, **MASK})
def masked_convolution_input_gradient(dy, K, mask):
    return {"dx": input_gradient(dy, K * mask, full(dy, K))}


@example("masked_convolution.tc", inputs={"x": "float(N,C,H1,W1)", "dy": "float(N,M,H2,W2)", **MASK})
def masked_convolution_weight_gradient(x, dy, mask):
    return {"dK": weight_gradient(x, dy, *mask.shape) * mask}


@example("reversed_convolution.tc", inputs={"a": "float(X)", "k": "float(2*X-1)", "b": "float"})
def reversed_convolution(a, k, b):
    X = len(a)
    return {"y": np.convolve(a, k)[X - 1 : 2 * X - 1] + b}


@example("reversed_convolution.tc", inputs={"a": "float(X)", "k": "float(2*X-1)", "dy": "float(X)"})
def reversed_convolution_gradients(a, k, dy):
    X = len(a)
    toeplitz = k[X - 1 + np.arange(X)[:, None] - np.arange(X)]  # y = toeplitz @ a
    dk = np.zeros_like(k)
    np.add.at(dk, X - 1 + np.arange(X)[:, None] - np.arange(X), np.outer(dy, a))
    return {"da": toeplitz.T @ dy, "dk": dk, "db": dy.sum()}


def positions(random, s):
    at = [random.integers(0, s["H"] - s["P"] + 1, (s["N"], s["L"])), random.integers(0, s["W"] - s["Q"] + 1, (s["N"], s["L"]))]
    return np.stack(at, -1).astype(np.int32)


@example("perforated_convolution.tc", inputs={"x": "float(N,C,H,W)", "K": "float(M,C,P,Q)", "at": positions, "bias": "float(M)"})
def perforated_convolution(x, K, at, bias):
    everywhere = convolve(x, K, bias)
    picked = [image[:, p[:, 0], p[:, 1]] for image, p in zip(everywhere, at)]
    return {"y": np.stack(picked)}


@example("perforated_convolution.tc", inputs={"dy": "float(N,M,L)", "K": "float(M,C,P,Q)", "at": positions, "dx": "float(N,C,H,W)"})
def perforated_convolution_input_gradient(dy, K, at, dx):
    out = np.zeros_like(dx)
    P, Q = K.shape[2:]
    for n, l in np.ndindex(*at.shape[:2]):
        h, w = at[n, l]
        out[n, :, h : h + P, w : w + Q] += np.tensordot(dy[n, :, l], K, 1)
    return {"dx": out}


@example("perforated_convolution.tc", inputs={"x": "float(N,C,H,W)", "dy": "float(N,M,L)", "at": positions, "K": "float(M,C,P,Q)"})
def perforated_convolution_weight_gradient(x, dy, at, K):
    dK = np.zeros_like(K)
    P, Q = K.shape[2:]
    for n, l in np.ndindex(*at.shape[:2]):
        h, w = at[n, l]
        dK += np.multiply.outer(dy[n, :, l], x[n, :, h : h + P, w : w + Q])
    return {"dK": dK}


@example("max_pooling.tc", inputs={"x": "float(N,C,H,W)"}, rtol=0, atol=0)
def max_pooling(x):
    return {"y": windows(x, 2, 2, stride=2).max((-2, -1))}


@example("max_pooling.tc", inputs={"x": "float(N,C,H,W)"}, rtol=0, atol=0)
def max_pooling_3x3(x):
    border = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    return {"y": windows(border, 3, 3, stride=2).max((-2, -1))}


@example("average_pooling.tc", consts=("K",), inputs={"x": "float(N,C,H,W)"})
def average_pooling(x, K):
    return {"y": windows(x, K, K)[:, :, ::K, ::K].mean((-2, -1))}
