# SPDX-License-Identifier: Apache-2.0
"""Arrays on a device that is not there: over the fake driver, which records launches, with a stand-in for CuPy. In processes of their
own, where the dynamic linker finds the fake driver."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = pathlib.Path(os.environ.get("TC_BUILD_DIR", HERE.parents[1] / "build")) / "lib"

COMMON = """
import ctypes, warnings
import cupy, numpy as np
import tensor_comprehensions as tc
from programs import BASICS

recorder = ctypes.CDLL(RECORDER)
recorder.tc_fake_launches.restype = ctypes.c_char_p

def launches():
    rows = [line.split() for line in recorder.tc_fake_launches().decode().splitlines()]
    return [(row[0], int(row[1]), int(row[2]), [int(word) for word in row[3:]]) for row in rows]

def message(call, kind=tc.ArgumentError):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("no error")

def put(*shape, device=0, dtype=np.float32):
    return cupy.ndarray(shape, dtype, device=device)

basics = tc.define(BASICS)
"""


@pytest.fixture
def run(tmp_path):
    if importlib.util.find_spec("nvidia.cuda_nvrtc") is None and importlib.util.find_spec("nvidia.cu13") is None:
        pytest.skip("the package nvidia-cuda-nvrtc is not installed")
    (tmp_path / "libcuda.so.1").symlink_to(LIBRARIES / "libtc_fake_cuda.so")

    def run_code(code):
        environment = {
            **os.environ, "LD_LIBRARY_PATH": str(tmp_path), "TC_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join([str(HERE / "standins"), str(HERE), os.environ.get("PYTHONPATH", "")]),
        }
        text = f"RECORDER = {str(LIBRARIES / 'libtc_fake_device.so')!r}\n" + COMMON + code
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300, env=environment)
        assert done.returncode == 0, done.stderr

    return run_code


def test_a_call_goes_to_the_current_stream_with_the_arrays_addresses(run):
    run("""
a, b = put(24, 40), put(40, 56)
for address in (0, 0x5150):
    with cupy.stream(address):
        c = basics.matmul(a, b[::-1])
    assert type(c) is cupy.ndarray and c.shape == (24, 56) and c.dtype == np.float32
    name, device, stream, parameters = launches()[-1]
    assert stream == address and device == 0
    assert {a.data.ptr, b[::-1].data.ptr, c.data.ptr} <= set(parameters), (parameters, a.data.ptr)
assert cupy.made[-1] == ((24, 56), 0)
assert basics.matmul.compile(a, b[::-1]).target == "cuda"
assert basics.matmul.compile(a, b[::-1]).inputs[1].strides == (-56, 1)
""")


def test_each_device_has_its_own_code_and_memory(run):
    run("""
a, b = put(24, 40, device=1), put(40, 56, device=1)
c = basics.matmul(a, b)
assert c.data.device_id == 1 and launches()[-1][1] == 1 and cupy.made[-1] == ((24, 56), 1)
said = message(lambda: basics.matmul(a, put(40, 56)))
assert "'A' of 'matmul' lies on cuda:1" in said and "on cuda:0" in said, said
said = message(lambda: basics.matmul(a, np.zeros((40, 56), np.float32)))
assert "a tensor of cupy" in said and "one of numpy" in said, said
""")


def test_numbers_outputs_and_updates(run):
    run("""
x, y, out = put(99), put(99), put(99)
made = basics.scaled(2.5, x)
number = next(array for array in reversed(cupy.made) if array[0] == ())
assert number == ((), 0) and len(made) == 2
assert basics.update(2.0, x, y) is y
assert {x.data.ptr, y.data.ptr} <= set(launches()[-1][3])
assert basics.scaled(1.0, x, outputs=(out, None))[0] is out
assert any(out.data.ptr in launch[3] for launch in launches())
assert "shares memory" in message(lambda: basics.update(2.0, x[1:], x[:-1]))
assert "complex64" in message(lambda: basics.total(put(9, dtype=np.complex64)))
assert ">f4" in message(lambda: basics.total(put(9, dtype=np.dtype(">f4"))))
""")


def test_an_array_with_a_cuda_interface_alone(run):
    run("""
class Plain:
    def __init__(self, array, **changes):
        self.array, self.changes = array, changes
    @property
    def __cuda_array_interface__(self):
        array = self.array
        return {"shape": array.shape, "typestr": array.dtype.str, "data": (array.data.ptr, False), "strides": None, "version": 3, **self.changes}

memory = np.zeros(24 * 40, np.float32)
a, b, c = Plain(put(24, 40)), Plain(put(40, 56)[::2], shape=(40, 56), strides=(-224, 4)), Plain(put(24, 56))
DEVICE = 0
from tensor_comprehensions import _interfaces
_interfaces._device_of = lambda address: DEVICE  # the fake driver does not know these addresses
assert basics.matmul(a, b, outputs=c) is c
name, device, stream, parameters = launches()[-1]
assert stream == 0 and {a.array.data.ptr, b.array.data.ptr, c.array.data.ptr} <= set(parameters)
assert "give outputs=" in message(lambda: basics.matmul(a, b))
assert "has a mask" in message(lambda: basics.matmul(a, Plain(put(40, 56), mask=a), outputs=c))
assert "read-only" in message(lambda: basics.matmul(a, b, outputs=Plain(put(24, 56), data=(c.array.data.ptr, True))))
""")
