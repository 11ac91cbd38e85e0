# SPDX-License-Identifier: Apache-2.0
"""Tensors of each library from one NumPy array, and back."""

import jax
import numpy as np
import pytest
import torch

jax.config.update("jax_enable_x64", True)

LIBRARIES = {
    "numpy": (lambda array: array, lambda tensor: tensor),
    "torch": (lambda array: torch.from_numpy(array.copy()), lambda tensor: tensor.numpy()),
    "jax": (jax.numpy.asarray, np.asarray),
}
TYPES = {"numpy": np.ndarray, "torch": torch.Tensor, "jax": jax.Array}


class Library:
    def __init__(self, name):
        self.name = name
        self.make, self.array = LIBRARIES[name]
        self.type = TYPES[name]


@pytest.fixture(params=sorted(LIBRARIES))
def library(request):
    return Library(request.param)


@pytest.fixture
def random():
    return np.random.default_rng(2026)
