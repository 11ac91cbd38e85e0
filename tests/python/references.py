# SPDX-License-Identifier: Apache-2.0
"""For every def in examples/: sizes, inputs, and an independent NumPy function that computes the outputs.

The references are written from the definition of each operator, in float64, and share nothing with the compiler, the
interpreter or the text of the example.
"""

from __future__ import annotations

import numpy as np

import references_convolution  # noqa: F401  (registers its examples)
from example_case import REGISTRY, Integers, example

EXAMPLES = REGISTRY


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax_rows(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# ---- products ---------------------------------------------------------------------------------------------------------

@example("matmul.tc", inputs={"A": "float(M,K)", "B": "float(K,N)"})
def matmul_nn(A, B):
    return {"C": A @ B}


@example("matmul.tc", inputs={"A": "float(M,K)", "B": "float(N,K)"})
def matmul_nt(A, B):
    return {"C": A @ B.T}


@example("matmul.tc", inputs={"A": "float(K,M)", "B": "float(K,N)"})
def matmul_tn(A, B):
    return {"C": A.T @ B}


@example("matmul.tc", inputs={"A": "float(K,M)", "B": "float(N,K)"})
def matmul_tt(A, B):
    return {"C": A.T @ B.T}


@example("batched_matmul.tc", inputs={"X": "float(B,M,K)", "Y": "float(B,K,N)"})
def batched_matmul(X, Y):
    return {"Z": np.einsum("bmk,bkn->bmn", X, Y)}


@example("matmul_in_place.tc", inputs={"A": "float(M,K)", "B": "float(K,N)", "C": "float(M,N)"})
def accumulate_product(A, B, C):
    return {"C": C + A @ B}


@example("matmul_gradients.tc", inputs={"A": "float(M,K)", "B": "float(K,N)", "dC": "float(M,N)"})
def product_gradients(A, B, dC):
    return {"dA": dC @ B.T, "dB": A.T @ dC}


def layer(x, W, b):
    return np.maximum(x @ W.T + b, 0)


@example("mlp.tc", inputs={"x": "float(B,M)", "W": "float(N,M)", "bias": "float(N)"})
def fully_connected(x, W, bias):
    return {"y": layer(x, W, bias)}


@example("mlp.tc", atol=1e-3,
         inputs={"x": "float(B,M)", "W1": "float(N,M)", "b1": "float(N)", "W2": "float(O,N)", "b2": "float(O)"})
def mlp2(x, W1, b1, W2, b2):
    return {"y": layer(layer(x, W1, b1), W2, b2)}


@example("mlp.tc", atol=1e-2,
         inputs={"x": "float(B,M)", "W1": "float(N,M)", "b1": "float(N)", "W2": "float(O,N)", "b2": "float(O)",
                 "W3": "float(P,O)", "b3": "float(P)"})
def mlp3(x, W1, b1, W2, b2, W3, b3):
    return {"y": layer(layer(layer(x, W1, b1), W2, b2), W3, b3)}


@example("mlp.tc", atol=1e-2,
         inputs={"x": "float(B,M)", "W1": "float(N,M)", "b1": "float(N)", "W2": "float(O,N)", "b2": "float(O)",
                 "W3": "float(P,O)", "b3": "float(P)", "W4": "float(Q,P)", "b4": "float(Q)"})
def mlp4(x, W1, b1, W2, b2, W3, b3, W4, b4):
    h1 = layer(x, W1, b1)
    h2 = layer(h1, W2, b2)
    h3 = layer(h2, W3, b3)
    return {"h1": h1, "h2": h2, "h3": h3, "y": layer(h3, W4, b4)}


@example("kronecker.tc", inputs={"W2": "float(D2,N2)", "X": "float(M,N0,N1,N2)"})
def kronecker_last(W2, X):
    return {"XW2": np.einsum("mabc,dc->mabd", X, W2)}


@example("kronecker.tc", inputs={"W1": "float(D1,N1)", "XW2": "float(M,N0,N1,D2)"})
def kronecker_middle(W1, XW2):
    return {"XW1": np.einsum("mabc,db->madc", XW2, W1)}


@example("kronecker.tc", inputs={"W0": "float(D0,N0)", "XW1": "float(M,N0,D1,D2)"})
def kronecker_first(W0, XW1):
    return {"Y": np.einsum("mabc,da->mdbc", XW1, W0)}


@example("kronecker.tc", atol=1e-3,
         inputs={"W0": "float(D0,N0)", "W1": "float(D1,N1)", "W2": "float(D2,N2)", "X": "float(M,N0,N1,N2)"})
def kronecker3(W0, W1, W2, X):
    factor = np.kron(np.kron(W0, W1), W2)
    shape = (X.shape[0], W0.shape[0], W1.shape[0], W2.shape[0])
    return {"Y": (X.reshape(X.shape[0], -1) @ factor.T).reshape(shape)}


@example("tensordot.tc",
         inputs={"I0": "float(N,C1,C2,H,W)", "I1": "float(N,C2,C3,H,W)"})
def tensordot(I0, I1):
    return {"O": (I0[:, :, :, None] * I1[:, None]).sum(2)}


@example("block_diagonal_matmul.tc", inputs={"x": "float(B,G,I)", "blocks": "float(G,I,O)"})
def block_diagonal_matmul(x, blocks):
    return {"y": np.stack([x[:, g] @ blocks[g] for g in range(x.shape[1])], 1)}


@example("block_diagonal_matmul.tc", inputs={"x": "float(B,G*I)", "blocks": "float(G,I,O)"})
def block_diagonal_matmul_flat(x, blocks):
    groups = np.split(x, blocks.shape[0], 1)
    return {"y": np.stack([part @ block for part, block in zip(groups, blocks)], 1)}


@example("mttkrp.tc", inputs={"A": "float(I,J,K)", "B": "float(J,R)", "C": "float(K,R)"})
def mttkrp(A, B, C):
    khatri_rao = (B[:, None] * C[None]).reshape(-1, B.shape[1])
    return {"D": A.reshape(A.shape[0], -1) @ khatri_rao}


@example("matrix_chain.tc", atol=1e-3,
         inputs={"A": "float(I,J)", "B": "float(J,K)", "C": "float(K,L)", "D": "float(L,M)"})
def matrix_chain(A, B, C, D):
    return {"E": A @ (B @ (C @ D))}


@example("swiglu.tc", atol=1e-3, inputs={"x": "float(M,K)", "Wg": "float(N,K)", "Wu": "float(N,K)"})
def swiglu(x, Wg, Wu):
    gate = x @ Wg.T
    return {"y": gate * sigmoid(gate) * (x @ Wu.T)}


@example("dequantized_matmul.tc", atol=1e-2,
         inputs={"W": Integers("int8(N,K)", -128, 128), "scale": "float(N)", "x": "float(B,K)"})
def dequantized_matmul(W, scale, x):
    return {"y": x @ (W * scale[:, None]).T}


@example("dequantized_matmul.tc", inputs={"A": Integers("int8(M,K)", -128, 128), "B": Integers("int8(K,N)", -128, 128)})
def int8_matmul(A, B):
    return {"C": (A.astype(np.int64) @ B.astype(np.int64)).astype(np.int32)}


# ---- reductions and normalisations ------------------------------------------------------------------------------------

@example("sums.tc", inputs={"x": "float(N)"})
def sum_to_scalar(x):
    return {"s": x.sum()}


@example("sums.tc", inputs={"x": "float(M,N)"})
def row_sums(x):
    return {"s": x.sum(1)}


@example("sums.tc", inputs={"x": "float(M,N)"})
def column_sums(x):
    return {"s": x.sum(0)}


@example("sums.tc", inputs={"x": "float(A,B,C,D)"})
def sum_of_everything(x):
    return {"s": x.sum()}


@example("moments.tc", inputs={"x": "float(N,K)"})
def moments(x):
    return {"mean": x.mean(1), "var": x.var(1)}


@example("batch_norm.tc", inputs={"x": "float(N,C,H,W)", "gamma": "float(C)", "beta": "float(C)"})
def batch_norm(x, gamma, beta):
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    over = lambda v: v[:, None, None]
    return {"y": over(gamma) * (x - over(mean)) / np.sqrt(over(var) + 1e-5) + over(beta), "mean": mean, "var": var}


@example("layer_norm.tc", inputs={"x": "float(N,D)", "gamma": "float(D)", "beta": "float(D)"})
def layer_norm(x, gamma, beta):
    return {"y": (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta}


@example("group_norm.tc", inputs={"x": "float(N,G,D,H,W)", "gamma": "float(G,D)", "beta": "float(G,D)"})
def group_norm(x, gamma, beta):
    mean, var = x.mean((2, 3, 4), keepdims=True), x.var((2, 3, 4), keepdims=True)
    return {"y": (x - mean) / np.sqrt(var + 1e-5) * gamma[..., None, None] + beta[..., None, None]}


@example("rms_norm.tc", inputs={"x": "float(N,D)", "residual": "float(N,D)", "weight": "float(D)"})
def rms_norm(x, residual, weight):
    h = x + residual
    return {"y": h / np.sqrt((h**2).mean(1, keepdims=True) + 1e-6) * weight, "h": h}


@example("softmax.tc", inputs={"x": "float(N,D)"})
def softmax(x):
    return {"y": softmax_rows(x)}


@example("softmax.tc", inputs={"x": "float(N,D)"})
def softmax_reusing_a_name(x):
    return {"y": softmax_rows(x)}


@example("log_softmax.tc", inputs={"x": "float(N,D)"})
def log_softmax(x):
    return {"y": np.log(softmax_rows(x))}


@example("cross_entropy.tc", inputs={"logit": "float(N,V)", "label": Integers("int64(N)", 0, "V")})
def cross_entropy(logit, label):
    return {"loss": -np.log(softmax_rows(logit))[np.arange(len(label)), label]}


@example("cross_entropy.tc", inputs={"logit": "float(N,V)", "label": Integers("int64(N)", 0, "V"), "dloss": "float(N)"})
def cross_entropy_gradient(logit, label, dloss):
    return {"dlogit": dloss[:, None] * (softmax_rows(logit) - np.eye(logit.shape[1])[label])}


@example("nearest_point.tc", inputs={"query": "float(Q,D)", "point": "float(P,D)"})
def nearest_point(query, point):
    d2 = ((query[:, None] - point[None]) ** 2).sum(-1)
    return {"distance": d2.min(1), "nearest": d2.argmin(1).astype(np.int32)}


@example("prefix_sum.tc", inputs={"x": "float(M,N)"})
def prefix_sum_by_triangle(x):
    return {"y": np.cumsum(x, 1)}


@example("prefix_sum.tc", inputs={"x": "float(M,N)"})
def prefix_sum_by_for(x):
    return {"y": np.cumsum(x, 1)}


# ---- gathers and scatters ---------------------------------------------------------------------------------------------

@example("embedding_sum.tc", inputs={"table": "float(E,D)", "index": Integers("int32(B,L)", 0, "E")})
def embedding_sum(table, index):
    return {"out": table[index].sum(1)}


@example("embedding_sum.tc", inputs={"table1": "float(E1,D)", "index1": Integers("int32(B,L1)", 0, "E1"),
                                     "table2": "float(E2,D)", "index2": Integers("int32(B,L2)", 0, "E2")})
def embedding_sum_of_two_tables(table1, index1, table2, index2):
    return {"out1": table1[index1].sum(1), "out2": table2[index2].sum(1)}


@example("embedding_sum.tc", inputs={"dout": "float(B,D)", "index": Integers("int32(B,L)", 0, "E"), "dtable": "float(E,D)"})
def embedding_sum_gradient(dout, index, dtable):
    out = np.zeros_like(dtable)
    np.add.at(out, index, dout[:, None])
    return {"dtable": out}


@example("gather.tc", inputs={"x": "float(N,D)", "row": Integers("int32(L)", 0, "N")})
def gather_rows(x, row):
    return {"y": x[row]}


@example("gather.tc", inputs={"x": "float(N,D)", "column": Integers("int64(N,K)", 0, "D")})
def gather_along_axis(x, column):
    return {"y": np.take_along_axis(x, column, 1)}


@example("gather.tc", inputs={"x": "float(N,D)", "row": Integers("int32(L)", -2, "N+2")})
def gather_or_zero(x, row):
    inside = (row >= 0) & (row < len(x))
    return {"y": np.where(inside[:, None], x[np.where(inside, row, 0)], 0)}


@example("scatter.tc", inputs={"row": Integers("int32(L)", -1, "N+1"), "x": "float(L,D)", "y": "float(N,D)"})
def scatter_add(row, x, y):
    out = y.copy()
    for target, values in zip(row, x):
        if 0 <= target < len(y):
            out[target] += values
    return {"y": out}


@example("scatter.tc", inputs={"row": lambda random, s: random.permutation(s["N"])[: s["L"]].astype(np.int32),
                 "x": "float(L,D)", "y": "float(N,D)"})
def scatter_rows(row, x, y):
    out = y.copy()
    out[row] = x
    return {"y": out}


@example("scatter.tc", inputs={"bin": Integers("int32(L)", 0, "B"), "count": Integers("int32(B)", 0, 5)})
def histogram(bin, count):
    return {"count": count + np.bincount(bin, minlength=len(count)).astype(np.int32)}


# ---- copies, casts, comparisons ---------------------------------------------------------------------------------------


@example("concatenation.tc", inputs={"A": "float(M,K)", "B": "float(M,L)"})
def concatenate_columns(A, B):
    return {"C": np.concatenate([A, B], 1)}


@example("concatenation.tc", inputs={"A": "float(K,N)", "B": "float(L,N)"})
def concatenate_rows(A, B):
    return {"C": np.concatenate([A, B], 0)}


DIMS = "ABCDE"


def _copies():
    """copy1 to copy5, reverse1 and transpose2 to transpose5."""
    orders = {"copy1": (0,), "copy2": (0, 1), "copy3": (0, 1, 2), "copy4": (0, 1, 2, 3), "copy5": (0, 1, 2, 3, 4),
              "transpose2": (1, 0), "transpose3": (0, 2, 1), "transpose4": (0, 2, 3, 1), "transpose5": (4, 2, 0, 3, 1)}
    for name, order in orders.items():
        reference = lambda x, order=order: {"y": x.transpose(order)}
        reference.__name__ = name
        example("copies_and_transposes.tc", rtol=0, atol=0,
                inputs={"x": f"float({','.join(DIMS[: len(order)])})"})(reference)


_copies()


@example("copies_and_transposes.tc", inputs={"x": "float(A)"}, rtol=0, atol=0)
def reverse1(x):
    return {"y": x[::-1]}


def _awkward_floats(random, s):
    x = (random.standard_normal(s["N"]) * 200).astype(np.float32)
    x[:: 5] = 0
    x[3:4] = np.nan
    x[4:5] = 1e10
    return x


def _saturated(x, kind):
    limits = np.iinfo(kind)
    return np.clip(np.trunc(np.nan_to_num(x, nan=0)), limits.min, limits.max).astype(kind)


@example("casts.tc", inputs={"x": _awkward_floats}, rtol=0, atol=0)
def casts_from_float(x):
    with np.errstate(over="ignore"):
        half = x.astype(np.float16)
    return {"whole": _saturated(x, np.int32), "byte": _saturated(x, np.uint8), "half_precision": half,
            "nonzero": x != 0, "wide": x}


@example("casts.tc", rtol=0, atol=0,
         inputs={"x": Integers("int32(N)", -5000, 5000)})
def casts_from_integer(x):
    return {"wrapped": x.astype(np.int8), "single": x.astype(np.float32),
            "rounded": x.astype(np.float16).astype(np.float32)}


def _coarse(random, s):
    return random.integers(-2, 3, s["N"]).astype(np.float32)


@example("comparisons.tc", inputs={"a": _coarse, "b": _coarse})
def comparisons(a, b):
    return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}


@example("comparisons.tc", inputs={"a": _coarse, "b": _coarse})
def logic(a, b):
    rising = np.zeros(len(a), bool)
    rising[1:] = a[1:] > a[:-1]
    return {"both": (a > 0) & (b > 0), "either": (a > 0) | (b > 0), "neither": ~((a > 0) | (b > 0)), "rising": rising}


# ---- networks and stencils --------------------------------------------------------------------------------------------


@example("wavenet_block.tc", consts=("dilation",),
         inputs={"x": "float(B,R,T)", "Wf": "float(D,R,2)", "bf": "float(D)", "Wg": "float(D,R,2)", "bg": "float(D)",
                 "Wr": "float(R,D)", "br": "float(R)", "Ws": "float(S,D)", "bs": "float(S)"})
def wavenet_block(x, Wf, bf, Wg, bg, Wr, br, Ws, bs, dilation):
    past = np.zeros_like(x)
    past[:, :, dilation:] = x[:, :, : max(x.shape[2] - dilation, 0)]
    taps = lambda W, b: np.einsum("dr,brt->bdt", W[:, :, 1], x) + np.einsum("dr,brt->bdt", W[:, :, 0], past) + b[:, None]
    z = np.tanh(taps(Wf, bf)) * sigmoid(taps(Wg, bg))
    return {"residual": np.einsum("rd,bdt->brt", Wr, z) + br[:, None] + x,
            "skip": np.einsum("sd,bdt->bst", Ws, z) + bs[:, None]}


ROTARY_INPUTS = {"x": "float(B,S,H,2*E)", "cosine": "float(S,E)", "sine": "float(S,E)"}


def _rotate(a, b, cosine, sine):
    c, s = cosine[None, :, None], sine[None, :, None]
    return a * c - b * s, b * c + a * s


@example("rotary_embedding.tc", inputs=ROTARY_INPUTS)
def rotary_embedding(x, cosine, sine):
    return {"y": np.concatenate(_rotate(*np.split(x, 2, -1), cosine, sine), -1)}


@example("rotary_embedding.tc", inputs=ROTARY_INPUTS)
def rotary_embedding_interleaved(x, cosine, sine):
    y = np.empty_like(x)
    y[..., 0::2], y[..., 1::2] = _rotate(x[..., 0::2], x[..., 1::2], cosine, sine)
    return {"y": y}


@example("attention.tc", inputs={"Q": "float(B,H,S,D)", "K": "float(B,H,T,D)", "V": "float(B,H,T,D)"})
def attention(Q, K, V):
    return {"O": softmax_rows(Q @ K.swapaxes(2, 3) / np.sqrt(Q.shape[3])) @ V}


@example("attention.tc", inputs={"Q": "float(B,H,S,D)", "K": "float(B,H,S,D)", "V": "float(B,H,S,D)"})
def causal_attention(Q, K, V):
    scores = Q @ K.swapaxes(2, 3) / np.sqrt(Q.shape[3])
    scores[..., np.triu(np.ones(scores.shape[2:], bool), 1)] = -np.inf
    return {"O": softmax_rows(scores) @ V}


def _five_points(a):
    return 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


@example("stencils.tc", inputs={"a": "float(H,W)"})
def five_point_stencil(a):
    return {"b": _five_points(a)}


@example("stencils.tc", inputs={"a": "float(H,W)", "weight": "float(3,3)"})
def nine_point_stencil(a, weight):
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3))
    return {"b": (windows * weight).sum((2, 3))}


@example("stencils.tc", inputs={"a": "float(H,W)"})
def two_time_steps(a):
    return {"c": _five_points(_five_points(a))}
