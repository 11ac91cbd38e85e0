# SPDX-License-Identifier: Apache-2.0
"""Arrays that publish `__cuda_array_interface__` or `__array_interface__` and no DLPack."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from ._errors import ArgumentError

# Streams by name in the interface: the legacy default stream and that of each thread.
_DEFAULT_STREAMS = (None, 1, 2)
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

Read = tuple[int, tuple[int, ...], tuple[int, ...], str, bool, int, Any]


def read(array: Any, what: str) -> Read:
    """(address, shape, strides in bytes, type, read-only, device or -1, owner)"""
    if hasattr(array, "__cuda_array_interface__"):
        return _read_cuda(array, what)
    import numpy

    host = numpy.asarray(array)
    return (host.ctypes.data, host.shape, host.strides, _element_type(host.dtype.str, what), not host.flags.writeable, -1, host)


def _element_type(typestr: str, what: str) -> str:
    import numpy

    dtype = numpy.dtype(typestr)
    if not dtype.isnative or dtype.kind not in "biuf":
        raise ArgumentError(f"{what} has element type '{typestr}', which the language lacks")
    return dtype.name


def _read_cuda(array: Any, what: str) -> Read:
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise ArgumentError(f"{what} has a mask")
    address, read_only = interface["data"]
    shape = tuple(int(size) for size in interface["shape"])
    kind = _element_type(interface["typestr"], what)
    strides = interface.get("strides")
    if strides is None:
        step, made = int(interface["typestr"][2:]), []
        for size in reversed(shape):
            made.append(step)
            step *= size
        strides = reversed(made)
    stream = interface.get("stream")
    if stream not in _DEFAULT_STREAMS:
        # Kernels of such arrays go to the legacy default stream.
        _call("cuStreamSynchronize", ctypes.c_void_p(stream))
    return (address, shape, tuple(int(stride) for stride in strides), kind, bool(read_only), _device_of(address), array)


def _device_of(address: int) -> int:
    if address == 0:
        return 0
    device = ctypes.c_int()
    _call("cuPointerGetAttribute", ctypes.byref(device), ctypes.c_int(_DEVICE_ORDINAL), ctypes.c_uint64(address))
    return device.value


@functools.cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise ArgumentError(f"an array with a CUDA interface needs the driver's library: {error}") from None


def _call(name: str, *arguments: Any) -> None:
    code = getattr(_driver(), name)(*arguments)
    if code != 0:
        raise ArgumentError(f"an array with a CUDA interface: {name} gave error {code}")
