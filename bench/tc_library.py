# SPDX-License-Identifier: Apache-2.0
"""The C interface (tc/c_api.h) through ctypes, for benchmarks: tensors of PyTorch in place, no copies, on the CPU or a CUDA device."""

from __future__ import annotations

import ctypes
import json

import torch

_CODES = {
    torch.bool: (6, 8), torch.int8: (0, 8), torch.int16: (0, 16), torch.int32: (0, 32), torch.int64: (0, 64), torch.uint8: (1, 8),
    torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float32: (2, 32), torch.float64: (2, 64),
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}


class _Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int), ("device_id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class _Request(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_char_p), ("cuda_path", ctypes.c_char_p), ("alignment", ctypes.c_int64), ("options_json", ctypes.c_char_p),
        ("outputs", ctypes.c_void_p), ("num_outputs", ctypes.c_int32),
    ]


class _Resources(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("registers", ctypes.c_int32), ("local_bytes", ctypes.c_int64), ("spill_stores", ctypes.c_int64),
        ("spill_loads", ctypes.c_int64), ("shared_bytes", ctypes.c_int64),
    ]


class ArgumentError(RuntimeError):
    """Tensors that do not fit."""


class TargetError(RuntimeError):
    """The target is not there, or refuses."""


_ERRORS = {2: ArgumentError, 4: TargetError}


def _device(tensor: torch.Tensor) -> _Device:
    return _Device(2, tensor.device.index or 0) if tensor.is_cuda else _Device(1, 0)


def _view(tensor: torch.Tensor) -> _Tensor:
    rank = tensor.dim()
    numbers = ctypes.c_int64 * max(rank, 1)
    code, bits = _CODES[tensor.dtype]
    view = _Tensor(tensor.data_ptr(), _device(tensor), rank, _DataType(code, bits, 1), numbers(*tensor.shape), numbers(*tensor.stride()), 0)
    view.owner = tensor
    return view


def _pointers(views):
    return (ctypes.POINTER(_Tensor) * max(len(views), 1))(*[ctypes.pointer(view) for view in views])


class Library:
    def __init__(self, path: str):
        self._lib = ctypes.CDLL(path)
        self._lib.tc_last_error.restype = ctypes.c_char_p
        self._lib.tc_executor_scratch_bytes.restype = ctypes.c_int64

    def _check(self, status: int):
        if status != 0:
            raise _ERRORS.get(status, RuntimeError)(self._lib.tc_last_error().decode())

    def compile(self, text: str, inputs, options: dict | None = None) -> "Executor":
        views = [_view(tensor) for tensor in inputs]
        handle = ctypes.c_void_p()
        encoded = json.dumps(options).encode() if options else None
        self._check(self._lib.tc_compile(text.encode(), None, _pointers(views), len(views), None, 0, None, 0, encoded, None, ctypes.byref(handle)))
        return Executor(self, handle)

    def compile_cuda(self, text: str, inputs, options: dict | str | None = None, cuda_path: str | None = None) -> "CudaExecutor":
        """For tensors that start at multiples of 16 bytes on one device, which is made ready for capture."""
        views = [_view(tensor) for tensor in inputs]
        handle = ctypes.c_void_p()
        encoded = options if isinstance(options, str) else json.dumps(options) if options else None
        device = inputs[0].device.index or 0
        request = _Request(f"cuda:{device}".encode(), cuda_path.encode() if cuda_path else None, 16, encoded.encode() if encoded else None)
        self._check(self._lib.tc_compile_for(text.encode(), None, _pointers(views), len(views), None, 0, None, 0, ctypes.byref(request), None, ctypes.byref(handle)))
        executor = CudaExecutor(self, handle, device)
        self._check(self._lib.tc_executor_prepare(handle, device))
        return executor


class Executor:
    """A compiled comprehension; call it with the input tensors, it returns a tuple of outputs."""

    def __init__(self, library: Library, handle: ctypes.c_void_p):
        self._library, self._handle = library, handle
        self.scratch_bytes = library._lib.tc_executor_scratch_bytes(handle)

    def outputs(self) -> list[torch.Tensor]:
        """Fresh outputs, poisoned."""
        lib, result = self._library._lib, []
        for position in range(lib.tc_executor_num_outputs(self._handle)):
            dtype, ndim, shape = _DataType(), ctypes.c_int32(64), (ctypes.c_int64 * 64)()
            self._library._check(lib.tc_executor_output(self._handle, position, ctypes.byref(dtype), ctypes.byref(ndim), shape))
            kind = _DTYPES[(dtype.code, dtype.bits)]
            tensor = torch.empty(tuple(shape[: ndim.value]), dtype=kind)
            tensor.fill_(float("nan") if kind.is_floating_point else 77)
            result.append(tensor)
        return result

    def bind(self, inputs, outputs):
        """A function without arguments that runs the kernels on these tensors, without checks."""
        scratch = torch.empty(max(self.scratch_bytes, 1) + 64, dtype=torch.uint8)
        aligned = (scratch.data_ptr() + 63) // 64 * 64
        addresses = [t.data_ptr() for t in inputs] + [t.data_ptr() for t in outputs] + [aligned]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        function, handle, count = self._library._lib.tc_executor_run_unchecked, self._handle, len(addresses)

        def run():
            function(handle, pointers, count, None)

        run.keep = (inputs, outputs, scratch)
        return run

    def __call__(self, *inputs):
        outputs = self.outputs()
        self.bind(inputs, outputs)()
        return tuple(outputs)

    def __del__(self):
        self._library._lib.tc_executor_free(self._handle)


class CudaExecutor(Executor):
    """The same on a CUDA device; runs are enqueued on PyTorch's current stream."""

    GUARD = 4096  # bytes on both sides of every output

    def __init__(self, library: Library, handle: ctypes.c_void_p, device: int):
        super().__init__(library, handle)
        self.device = torch.device("cuda", device)

    def guarded_outputs(self):
        """Fresh outputs, poisoned, each between guard zones, and the blocks that hold them."""
        lib, outputs, blocks = self._library._lib, [], []
        for position in range(lib.tc_executor_num_outputs(self._handle)):
            dtype, ndim, shape = _DataType(), ctypes.c_int32(64), (ctypes.c_int64 * 64)()
            self._library._check(lib.tc_executor_output(self._handle, position, ctypes.byref(dtype), ctypes.byref(ndim), shape))
            kind = _DTYPES[(dtype.code, dtype.bits)]
            extents = tuple(shape[: ndim.value])
            size = kind.itemsize
            for extent in extents:
                size *= extent
            block = torch.full((size + 2 * self.GUARD,), 0xFF, dtype=torch.uint8, device=self.device)
            outputs.append(block[self.GUARD : self.GUARD + size].view(kind).view(extents))
            blocks.append((block, size))
        return outputs, blocks

    def guards_hold(self, blocks) -> bool:
        return all(bool((block[: self.GUARD] == 0xFF).all()) and bool((block[self.GUARD + size :] == 0xFF).all()) for block, size in blocks)

    def scratch(self) -> torch.Tensor:
        return torch.empty(max(self.scratch_bytes, 64), dtype=torch.uint8, device=self.device)

    def bind(self, inputs, outputs, stream: torch.cuda.Stream | None = None):
        """A function that enqueues a run without checks, on `stream` or on the current one."""
        scratch = self.scratch()
        addresses = [t.data_ptr() for t in inputs] + [t.data_ptr() for t in outputs] + [scratch.data_ptr()]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        library, handle, count, device = self._library, self._handle, len(addresses), self.device.index or 0
        function = library._lib.tc_executor_run_on

        def run():
            handle_of_stream = (stream or torch.cuda.current_stream()).cuda_stream
            library._check(function(handle, pointers, count, device, ctypes.c_void_p(handle_of_stream)))

        run.keep = (inputs, outputs, scratch)
        return run

    def run_checked(self, inputs, outputs, scratch: torch.Tensor, claim: dict[int, int] | None = None):
        """A checked run on the current stream. `claim`: by position among inputs and outputs, the CUDA device on which a view says that it lies,
        whatever memory it has."""
        views = [_view(tensor) for tensor in (*inputs, *outputs)]
        for position, device in (claim or {}).items():
            views[position].device = _Device(2, device)
        first = len(inputs)
        stream = ctypes.c_void_p(torch.cuda.current_stream(self.device).cuda_stream)
        self._library._check(self._library._lib.tc_executor_run_with(
            self._handle, _pointers(views[:first]), first, _pointers(views[first:]), len(outputs), ctypes.c_void_p(scratch.data_ptr()), stream))

    def stage(self, name: str) -> str:
        text = ctypes.c_char_p()
        self._library._check(self._library._lib.tc_executor_stage_text(self._handle, name.encode(), ctypes.byref(text)))
        return text.value.decode()

    def compile_ms(self) -> float:
        value = ctypes.c_double()
        self._library._lib.tc_executor_source(self._handle, ctypes.byref(value))
        return value.value

    def resources(self) -> list[dict]:
        result = []
        for kernel in range(self._library._lib.tc_executor_num_kernels(self._handle)):
            found = _Resources()
            self._library._check(self._library._lib.tc_executor_kernel_resources(self._handle, kernel, ctypes.byref(found)))
            result.append({name: getattr(found, name) for name, _ in _Resources._fields_} | {"name": found.name.decode()})
        return result
