# SPDX-License-Identifier: Apache-2.0
"""What the package knows of libraries of tensors. The extension module reads most tensors itself; here is the rest, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ._errors import ArgumentError

# DLPack's numbers of device types.
_CPU, _CUDA = 1, 2
# Libraries whose tensors never change.
_IMMUTABLE = {"jax", "tensorflow"}
# Types of NumPy's extension ml_dtypes.
_EXTENSION_TYPES = {"bfloat16", "float8_e4m3fn", "float8_e5m2"}

# Libraries whose results the extension module makes by their C functions, where it finds those; else allocate() does.
direct = {"numpy", "torch"}

# Called once, when a tensor of a library is met for the first time.
first_met: dict[str, Callable[[], None]] = {}


def _library(kind: type) -> str:
    name = (kind.__module__ or "").partition(".")[0]
    return {"jaxlib": "jax"}.get(name, name)


def classify(kind: type) -> tuple[str, str, bool, bool]:
    """How tensors of a Python type are read (array, dlpack, cuda array, interface, wrapped, number, other), their library, whether they are
    immutable, and whether their library orders calls in programs of its own."""
    how, library, immutable = _classify(kind)
    return how, library, immutable, library == "jax"


def _classify(kind: type) -> tuple[str, str, bool]:
    if issubclass(kind, (bool, int, float)):
        return ("number", "", False)
    for base in kind.__mro__:
        library = _library(base)
        if library == "numpy" and base.__name__ == "MaskedArray":
            return ("other", "", False)
        if library == "numpy" and base.__name__ == "generic":
            return ("number", "", False)
        if library == "numpy" and base.__name__ == "ndarray":
            return ("array", "numpy", False)
        if library == "torch" and base.__name__ == "Tensor":
            _meet("torch")
            return ("dlpack" if _plain_torch(kind) else "wrapped", "torch", False)
        if library == "cupy" and base.__name__ == "ndarray":
            return ("cuda array", "cupy", False)
    library = _library(kind)
    if library == "jax" and not kind.__module__.startswith("jaxlib"):
        return ("wrapped", "jax", True)  # a tracer
    if hasattr(kind, "__dlpack__"):
        _meet(library)
        return ("dlpack", library, library in _IMMUTABLE)
    if hasattr(kind, "__cuda_array_interface__"):
        return ("interface", library, False)
    if hasattr(kind, "__array_interface__"):
        return ("interface", "numpy", False)
    return ("other", "", False)


def _meet(library: str) -> None:
    action = first_met.pop(library, None)
    if action is not None:
        action()


def functions(library: str) -> tuple[Any, Any]:
    """What tells whether a tensor's memory holds the negatives of its values, and what is told of a tuple of tensors that were written."""
    if library != "torch":
        return None, None
    import torch

    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__") and hasattr(torch._C, "_increment_version"):
        return torch.Tensor.is_neg, torch._C._increment_version

    def written(tensors: tuple[Any, ...]) -> None:
        for tensor in tensors:
            torch.autograd.graph.increment_version(tensor)

    return torch.Tensor.is_neg, written


def _plain_torch(kind: type) -> bool:
    import torch

    return kind in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_") and _library(type(value)) == "numpy"


def numpy_dtype(name: str) -> Any:
    """The dtype of NumPy's arrays of elements of type `name`."""
    try:
        return _array_type(name)
    except TypeError:
        raise ArgumentError(f"NumPy has no element type '{name}'; give memory of another library") from None


def _extension_type(name: str) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentError(f"NumPy arrays of {name} need the package ml_dtypes") from None
    import numpy

    return numpy.dtype(getattr(ml_dtypes, name))


def element_type(dtype: Any, what: str) -> str:
    """The language's name of a NumPy dtype."""
    # The names of other extension types are not those of memory that the language reads.
    if not dtype.isnative or (dtype.isbuiltin == 2 and dtype.name not in _EXTENSION_TYPES):
        raise ArgumentError(f"{what} has element type '{dtype}', which the language lacks")
    return str(dtype.name)


def read_interface(array: Any, what: str) -> tuple[int, tuple[int, ...], tuple[int, ...], str, bool, int, Any]:
    """An array interface as (address, shape, strides in bytes, type, read-only, device or -1 for memory of the host, owner)."""
    from . import _interfaces

    return _interfaces.read(array, what)


def dlpack_capsule(tensor: Any, library: str, what: str) -> Any:
    """The tensor's memory, not copied, ordered on the stream that current_stream() names. None: it has no memory."""
    if library == "torch":
        return _torch_capsule(tensor, what)
    device_type, device = tensor.__dlpack_device__()
    arguments: dict[str, Any] = {}
    if device_type == _CUDA:
        # 1 is the legacy default stream; a run goes to the library's own current stream.
        arguments["stream"] = current_stream(library, device) or 1
    try:
        return tensor.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:
        pass  # a library of before DLPack 1.0
    except BufferError as error:
        raise ArgumentError(f"{what}: {error}") from error
    try:
        return tensor.__dlpack__(**arguments)
    except BufferError as error:
        raise ArgumentError(f"{what}: {error}") from error


def _torch_capsule(tensor: Any, what: str) -> Any:
    """For versions of PyTorch without the functions of DLPack's exchange. Nothing waits: runs go to the current stream."""
    import torch

    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return None
    if tensor.is_neg():
        raise ArgumentError(f"{what} holds the negatives of its values: give its resolve_neg()")
    return torch.utils.dlpack.to_dlpack(tensor.detach())  # type: ignore[attr-defined]


def current_stream(library: str, device: int) -> int:
    """Address of the library's current CUDA stream; 0 is the legacy default stream."""
    if library == "cupy":
        import cupy

        return int(cupy.cuda.get_current_stream(device).ptr)
    if library == "torch":
        import torch

        return int(torch.cuda.current_stream(device).cuda_stream)
    return 0


def allocate(library: str, shape: tuple[int, ...], name: str, device_type: int, device: int) -> Any:
    """Memory for an output. Immutable libraries on the CPU get a NumPy array, which finish() turns into their tensor."""
    if library == "cupy":
        import cupy

        if cupy.cuda.runtime.getDevice() == device:
            return cupy.ndarray(shape, _array_type(name))
        with cupy.cuda.Device(device):
            return cupy.ndarray(shape, _array_type(name))
    if library == "torch":  # a version without functions of DLPack's exchange
        import torch

        place = torch.device("cuda", device) if device_type == _CUDA else torch.device("cpu")
        return torch.empty(shape, dtype=getattr(torch, name), device=place)
    if library == "numba" and device_type == _CUDA:
        from numba import cuda

        with cuda.gpus[device]:
            return cuda.device_array(shape, _array_type(name))
    if device_type == _CPU:
        return _aligned_array(shape, name)
    if library in _IMMUTABLE:
        raise ArgumentError(f"an executor does not run on arrays of {library} on a GPU: call the comprehension itself")
    raise ArgumentError(f"outputs for tensors of {library} on a CUDA device cannot be allocated: give outputs=")


def _array_type(name: str) -> Any:
    import numpy

    return _extension_type(name) if name in _EXTENSION_TYPES else numpy.dtype(name)


def _aligned_array(shape: tuple[int, ...], name: str) -> Any:
    """A NumPy array that starts at a multiple of 64 bytes, as libraries demand of memory that they take over without a copy."""
    import numpy

    kind = _array_type(name)
    size = kind.itemsize
    for extent in shape:
        size *= extent
    block = numpy.empty(size + 64, numpy.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size].view(kind).reshape(shape)


def finish(library: str, array: Any) -> Any:
    """The tensor of an immutable library that holds an array from allocate()."""
    if library == "jax":
        import jax

        if array.dtype.name in _EXTENSION_TYPES:  # DLPack of NumPy lacks the types of ml_dtypes
            return jax.numpy.asarray(array)
        return jax.dlpack.from_dlpack(array)
    if library == "tensorflow":
        import tensorflow

        return tensorflow.experimental.dlpack.from_dlpack(array.__dlpack__())
    return array


def device_scalar(library: str, device: int, name: str, number: bytes) -> Any:
    """A number as a tensor of rank 0 on a CUDA device, written by a kernel on the current stream: nothing is copied or waited for, so
    that graphs may hold it."""
    # As an integer of the same width, which every library can fill in.
    bits = int.from_bytes(number, sys.byteorder, signed=True)
    kind = f"int{8 * len(number)}"
    if library == "torch":
        import torch

        made = torch.full((), bits, dtype=getattr(torch, kind), device=torch.device("cuda", device))
        return made.view(getattr(torch, name))
    if library == "cupy":
        import cupy

        with cupy.cuda.Device(device):
            return cupy.full((), bits, dtype=kind).view(_array_type(name))
    raise ArgumentError(f"numbers beside tensors of {library} on a CUDA device are not supported: give a tensor of rank 0")


def has_jax(arguments: Iterable[Any]) -> bool:
    """Whether an argument is an array or a tracer of JAX."""
    jax = sys.modules.get("jax")
    return jax is not None and any([isinstance(argument, jax.Array) for argument in arguments])


def has_torch(arguments: Iterable[Any]) -> bool:
    """Whether an argument is a tensor of PyTorch."""
    if not loaded("torch"):
        return False
    import torch

    return any(isinstance(argument, torch.Tensor) for argument in arguments)


def loaded(library: str) -> bool:
    return sys.modules.get(library) is not None
