# SPDX-License-Identifier: Apache-2.0
"""Calls with tensors of each library: values, types of results, layouts, numbers, sizes, memory that the caller gives."""

import jax
import ml_dtypes
import numpy as np
import pytest
import torch

import tensor_comprehensions as tc
from programs import BASICS, MATMUL


@pytest.fixture(scope="module")
def basics():
    return tc.define(BASICS)


def float32(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def close(got, reference, length=1):
    np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(reference, np.float64), rtol=1e-5, atol=1e-5 * length)


@pytest.mark.parametrize("m,k,n", [(1, 1, 1), (5, 7, 3), (31, 33, 127), (64, 64, 64)])
def test_result_has_the_library_of_the_inputs(library, random, basics, m, k, n):
    a, b = float32(random, m, k), float32(random, k, n)
    c = basics.matmul(library.make(a), library.make(b))
    assert isinstance(c, library.type)
    assert tuple(c.shape) == (m, n)
    close(library.array(c), a.astype(np.float64) @ b, k)


def test_several_results_are_a_tuple(library, random, basics):
    x = float32(random, 9)
    y, z = basics.scaled(3, library.make(x))
    close(library.array(y), 3 * x)
    close(library.array(z), 3 + x)


def test_a_result_of_rank_zero(library, random, basics):
    x = float32(random, 1000)
    s = basics.total(library.make(x))
    assert isinstance(s, library.type) and tuple(s.shape) == ()
    close(library.array(s), x.sum(dtype=np.float64), 100)


def test_a_scalar_is_a_number_or_a_tensor_of_rank_zero(library, random, basics):
    x = float32(random, 4)
    for s in (2.5, np.float32(2.5), np.float64(2.5), library.make(np.asarray(2.5, np.float32))):
        close(library.array(basics.scaled(s, library.make(x))[0]), 2.5 * x)


def test_arguments_by_name_and_sizes_that_no_shape_gives(library, random, basics):
    x = float32(random, 12)
    for size in (3, 4):
        y = basics.unflatten(x=library.make(x), M=size)
        close(library.array(y), x.reshape(-1, size))
    with pytest.raises(tc.ArgumentError, match="'M'|size"):
        basics.unflatten(library.make(x))
    with pytest.raises(tc.ArgumentError):
        basics.unflatten(library.make(x), M=5)


def test_empty_tensors(library, basics):
    c = basics.matmul(library.make(np.zeros((0, 4), np.float32)), library.make(np.zeros((4, 3), np.float32)))
    assert tuple(c.shape) == (0, 3)
    c = basics.matmul(library.make(np.zeros((2, 0), np.float32)), library.make(np.zeros((0, 3), np.float32)))
    close(library.array(c), np.zeros((2, 3)))


@pytest.mark.parametrize("view", ["transposed", "every second", "backwards", "broadcast", "offset", "read-only"])
def test_numpy_views_are_read_in_place(random, basics, view):
    base = float32(random, 12, 12)
    a = {
        "transposed": lambda: base.T,
        "every second": lambda: base[::2, ::3],
        "backwards": lambda: base[::-1, ::-2],
        "broadcast": lambda: np.broadcast_to(base[:1], (6, 12)),
        "offset": lambda: base[3:, 1:8],
        "read-only": lambda: np.frombuffer(base.tobytes(), np.float32).reshape(12, 12),
    }[view]()
    b = float32(random, a.shape[1], 5)
    close(basics.matmul(a, b), a.astype(np.float64) @ b, 12)


def test_torch_views_are_read_in_place(random, basics):
    base, b = torch.from_numpy(float32(random, 12, 12)), torch.from_numpy(float32(random, 12, 5))
    for a in (base.T, base[:, 0:1].expand(12, 12), base[1::2], base.as_strided((4, 12), (2, 5))):
        close(basics.matmul(a, b), a.double() @ b.double(), 12)


class Interface:
    """An object with an array interface alone."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


def test_array_interfaces_are_read_in_place(random, basics):
    a, b, c = float32(random, 12, 12)[::-2, 1:], float32(random, 11, 5), np.full((6, 5), np.nan, np.float32)
    made = basics.matmul(Interface(a), Interface(b))
    assert isinstance(made, np.ndarray)
    close(made, a.astype(np.float64) @ b, 12)
    given = Interface(c)
    assert basics.matmul(a, Interface(b), outputs=given) is given
    close(c, a.astype(np.float64) @ b, 12)
    with pytest.raises(tc.ArgumentError, match="<c8"):
        basics.matmul(Interface(a.astype(np.complex64)), b)
    frozen = Interface(np.frombuffer(bytes(120), np.float32).reshape(6, 5))
    with pytest.raises(tc.ArgumentError, match="read-only"):
        basics.matmul(a, b, outputs=frozen)


@pytest.mark.parametrize("kind", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                                  "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_element_types_come_and_go(library, kind):
    copy = tc.op(f"def copy({kind}(N) x) -> ({kind}(N) y) {{ y(i) = x(i) }}")
    extension = kind in ("bfloat16", "float8_e4m3fn", "float8_e5m2")
    dtype = np.dtype(getattr(ml_dtypes, kind) if extension else kind)
    x = np.arange(7).astype(dtype)
    if library.name == "torch" and extension:
        given = torch.arange(7).to(getattr(torch, kind))
        assert torch.equal(copy(given).float(), given.float())
        return
    y = copy(library.make(x))
    assert library.array(y).dtype == dtype
    assert np.array_equal(library.array(y).astype(np.float64), x.astype(np.float64))


def test_numbers_of_narrow_scalar_parameters(random):
    for kind, number in (("float16", 1.5), ("bfloat16", 1.5), ("float64", 0.1), ("int8", -3), ("uint64", 2**63), ("bool", True)):
        made = tc.op(f"def f({kind} s, float(N) x) -> ({kind}(N) y) {{ y(i) = s where exists x(i) }}")(number, torch.zeros(2))
        assert made.tolist() == [number, number], kind


@pytest.mark.parametrize("kind,number", [("int8", 128), ("int32", 1.5), ("uint8", -1), ("bool", 1), ("float", "2"), ("int64", 2**63)])
def test_a_number_that_does_not_fit_is_refused(kind, number):
    f = tc.op(f"def f({kind} s, float(N) x) -> (y) {{ y(i) = float(s) + x(i) }}")
    with pytest.raises(tc.ArgumentError, match="argument 's' of 'f'"):
        f(number, np.zeros(3, np.float32))


def test_outputs_are_written_to_given_memory(random, basics):
    a, b = float32(random, 5, 7), float32(random, 7, 3)
    c = np.full((5, 3), np.nan, np.float32)
    assert basics.matmul(a, b, outputs=c) is c
    close(c, a @ b)
    wide = torch.full((5, 6), float("nan"))
    target = wide[:, ::2]
    assert basics.matmul(torch.from_numpy(a), torch.from_numpy(b), outputs=(target,)) is target
    close(target, a @ b)
    assert torch.isnan(wide[:, 1::2]).all()


def test_given_memory_that_does_not_fit(random, basics):
    a, b = float32(random, 5, 5), float32(random, 5, 5)
    for c, message in ((np.zeros((5, 4), np.float32), "output 'C'"), (np.zeros((5, 5)), "float64"), (a, "shares memory"),
                       (np.broadcast_to(np.zeros(5, np.float32), (5, 5)), "stride 0|read-only"), (torch.zeros(5, 5), "one library")):
        with pytest.raises(tc.ArgumentError, match=message):
            basics.matmul(a, b, outputs=(c,))
    with pytest.raises(tc.ArgumentError, match="returns 1 tensors, outputs= has 2"):
        basics.matmul(a, b, outputs=(a, b))


def test_a_parameter_that_is_updated_in_place(random, basics):
    for make in (lambda x: x, torch.from_numpy):
        x, y = float32(random, 9), float32(random, 9)
        given = make(y.copy())
        assert basics.update(2.0, make(x), given) is given
        close(given, y + 2 * x)
        basics.update(-1.0, make(x), given)
        close(given, y + x)


def test_memory_that_must_not_be_written(random, basics):
    x = float32(random, 9)
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises(tc.ArgumentError, match="read-only"):
        basics.update(1.0, x, frozen)
    with pytest.raises(tc.ArgumentError, match="immutable"):
        basics.total(jax.numpy.asarray(x), outputs=jax.numpy.zeros((), np.float32))
    overlapping = float32(random, 10)
    with pytest.raises(tc.ArgumentError, match="shares memory"):
        basics.update(1.0, overlapping[1:], overlapping[:-1])


def test_accumulation_onto_the_callers_values(random):
    with pytest.warns(tc.ProgramWarning, match="W0203"):
        add = tc.op("def add(float(N,K) x) -> (s) { s(n) += x(n,r_k) }")
        x, s = float32(random, 3, 8), float32(random, 3)
        before = s.copy()
        add(x, outputs=s)
    close(s, before + x.sum(1))
    with pytest.raises(tc.ArgumentError, match="outputs="):
        add(x)


def test_mixed_libraries_are_refused(random, basics):
    a, b = float32(random, 5, 5), float32(random, 5, 5)
    with pytest.raises(tc.ArgumentError, match="'A' of 'matmul' is a tensor of numpy and argument 'B' of 'matmul' one of torch"):
        basics.matmul(a, torch.from_numpy(b))
    with pytest.raises(tc.ArgumentError, match="one library"):
        basics.matmul(jax.numpy.asarray(a), b)


@pytest.mark.parametrize("arguments,message", [
    ((np.zeros((5, 7), np.float32),), "'B' of 'matmul' is missing"),
    ((np.zeros((5, 7), np.float32), np.zeros((3, 3), np.float32)), "K = 7 is expected"),
    ((np.zeros((5, 7), np.float32), np.zeros((7, 3))), "float64 where float32"),
    ((np.zeros((5, 7), np.float32), np.zeros(7, np.float32)), "rank 1 where rank 2"),
    ((np.zeros((5, 7), np.float32), np.zeros((7, 3), np.complex64)), "complex64"),
    ((np.zeros((5, 7), np.float32), np.zeros((7, 3), ">f4")), ">f4"),
    ((np.zeros((5, 7), np.float32), 3.0), "number where a tensor"),
    ((np.zeros((5, 7), np.float32), "B"), "str"),
    ((np.zeros((5, 7), np.float32), None), "NoneType"),
    ((np.zeros((5, 7), np.float32),) * 3, "takes 2 arguments, 3 were given"),
])
def test_arguments_that_do_not_fit(basics, arguments, message):
    with pytest.raises(tc.ArgumentError, match=message):
        basics.matmul(*arguments)


def test_misaligned_and_structured_memory(basics):
    bytes_ = np.zeros(5 * 7 * 4 + 1, np.uint8)
    with pytest.raises(tc.ArgumentError, match="multiple of 4 bytes"):
        basics.matmul(bytes_[1:].view(np.float32).reshape(5, 7), np.zeros((7, 3), np.float32))
    records = np.zeros(4, [("x", "f4"), ("y", "i1")])["x"]
    with pytest.raises(tc.ArgumentError, match="strides"):
        basics.total(records)


def test_keywords_that_do_not_fit(basics):
    a = np.zeros((5, 5), np.float32)
    with pytest.raises(tc.ArgumentError, match="neither a parameter nor a size 'z'"):
        basics.matmul(a, a, z=1)
    with pytest.raises(tc.ArgumentError, match="given twice"):
        basics.matmul(a, a, A=a)


def test_out_of_range_gathers(random, basics):
    w = float32(random, 4, 3)
    assert np.isnan(basics.lookup(w, np.asarray([0, 9], np.int32))[1]).all()
    checked = tc.define(BASICS, tc.MappingOptions().bounds("error"))
    with pytest.raises(tc.ArgumentError, match=r"line \d+: Y\(n,d\) = W\(I\(n\), d\): .*out of range with value 9"):
        checked.lookup(w, np.asarray([0, 9], np.int32))
    close(checked.lookup(w, np.asarray([3, 0], np.int32)), w[[3, 0]])


def test_more_parameters_than_fit_the_stack(random):
    count = 20
    names = [f"x{i}" for i in range(count)]
    parameters = ", ".join(f"float(N) {name}" for name in names)
    total = tc.op(f"def total({parameters}) -> (y) {{ y(i) = {' + '.join(f'{name}(i)' for name in names)} }}")
    xs = [float32(random, 11) for _ in names]
    close(total(*xs), np.sum(xs, axis=0, dtype=np.float64), count)


def test_many_shapes_through_one_callable(random):
    matmul = tc.op(MATMUL)
    for size in (3, 8, 3, 5, 8, 3):
        a, b = float32(random, size, size), float32(random, size, size)
        close(matmul(a, b), a @ b, size)
        close(matmul(a.T, b), a.T @ b, size)
