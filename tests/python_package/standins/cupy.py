# SPDX-License-Identifier: Apache-2.0
"""The part of CuPy that the package asks, over memory of the host: for tests with the fake driver."""

import contextlib
import types

import numpy

_current = {"device": 0, "stream": {0: 0, 1: 0}}
made = []  # (shape, device) of every array that was allocated


class Memory:
    def __init__(self, ptr, device_id):
        self.ptr, self.device_id = ptr, device_id


class ndarray:
    def __init__(self, shape, dtype=numpy.float32, array=None, device=None):
        self._array = numpy.zeros(shape, dtype) if array is None else array
        self._device = _current["device"] if device is None else device
        if array is None:
            made.append((tuple(self._array.shape), self._device))

    @property
    def data(self):
        return Memory(self._array.ctypes.data, self._device)

    shape = property(lambda self: self._array.shape)
    strides = property(lambda self: self._array.strides)
    dtype = property(lambda self: self._array.dtype)

    def __getitem__(self, key):
        return ndarray(None, array=self._array[key], device=self._device)

    def view(self, dtype):
        return ndarray(None, array=self._array.view(dtype), device=self._device)

    def reshape(self, shape):
        return ndarray(None, array=self._array.reshape(shape), device=self._device)


def full(shape, value, dtype):
    array = ndarray(shape, dtype)
    array._array[...] = value
    return array


@contextlib.contextmanager
def _on_device(device):
    before, _current["device"] = _current["device"], device
    yield
    _current["device"] = before


@contextlib.contextmanager
def stream(address, device=0):
    """Calls meanwhile go to this stream."""
    before, _current["stream"][device] = _current["stream"][device], address
    yield
    _current["stream"][device] = before


cuda = types.SimpleNamespace(
    Device=_on_device,
    get_current_stream=lambda device: types.SimpleNamespace(ptr=_current["stream"][device]),
    runtime=types.SimpleNamespace(getDevice=lambda: _current["device"]),
)
