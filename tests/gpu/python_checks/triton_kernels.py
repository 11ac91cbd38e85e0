# SPDX-License-Identifier: Apache-2.0
"""Triton's kernels on 16x16 tensors, whose launches are compared with ours."""

import triton
import triton.language as tl


@triton.jit
def add(a, b, c, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i) + tl.load(b + i))


@triton.jit
def matmul(a, b, c, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))
