# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong types: one kind of error, which names the argument and what is expected. No message of another library shows."""

import jax
import numpy as np
import pytest
import torch

import tensor_comprehensions as tc
from programs import BASICS, MATMUL

A = np.ones((4, 4), np.float32)
X = np.ones(12, np.float32)
basics = tc.define(BASICS)

CASES = {
    # texts, options, names
    "op of a number": (lambda: tc.op(5), "the program is 5 .int. where a text"),
    "define of None": (lambda: tc.define(None), "the program is None"),
    "define of bytes": (lambda: tc.define(b"def"), "bytes"),
    "options that are a number": (lambda: tc.define(MATMUL, 3), "options_factory is 3"),
    "options that are a text": (lambda: tc.define(MATMUL, "naive"), "options_factory is 'naive'"),
    "a factory that gives a number": (lambda: tc.define(MATMUL, lambda *_: 3).matmul(A, A), "options_factory gave for 'matmul' is 3"),
    "a factory that gives None": (lambda: tc.define(MATMUL, lambda *_: None).matmul(A, A), "options_factory gave for 'matmul' is None"),
    "an entry point that is a number": (lambda: tc.compile(MATMUL, 5, A, A), "entry_point is 5"),
    "an unknown entry point": (lambda: tc.compile(MATMUL, "mm", A, A), "no def 'mm'; it has: matmul"),
    "an unknown entry point in a cache": (lambda: tc.CompilationCache().compile(MATMUL, "mm", A, A), "no def 'mm'; it has: matmul"),
    "a text to compile": (lambda: tc.compile(3, "matmul", A, A), "the program is 3"),
    "a folder that is a number": (lambda: tc.CompilationCache(5), "directory is 5"),
    "a file that is None": (lambda: tc.make_load_from_cache_options_factory(None), "filename is None"),
    # values of a call
    "a size that is a text": (lambda: basics.unflatten(X, M="3"), "size 'M' of 'unflatten' is '3' where a whole number"),
    "a size that is a float": (lambda: basics.unflatten(X, M=4.0), "size 'M' of 'unflatten' is 4.0"),
    "a size that is None": (lambda: basics.unflatten(X, M=None), "size 'M' of 'unflatten' is None"),
    "a size that is a bool": (lambda: basics.unflatten(X, M=True), "size 'M' of 'unflatten' is True"),
    "a size beyond 64 bits": (lambda: basics.unflatten(X, M=1 << 70), "size 'M' of 'unflatten' is 11805"),
    "unchecked=": (lambda: basics.matmul(A, A, unchecked="yes"), "'unchecked' of 'matmul' is 'yes' where True or False"),
    "outputs= of a number": (lambda: basics.matmul(A, A, outputs=3), "output 'C' of 'matmul' is .*int.* where a tensor"),
    "outputs= of a generator": (lambda: basics.scaled(1, X, outputs=iter([X, X])), "returns 2 tensors, outputs= has 1"),
    "a list": (lambda: basics.matmul([[1.0]], A), "argument 'A' of 'matmul' is .*list.* where a tensor"),
    "a const that is a text": (lambda: basics.update("a", X, X.copy()), "argument 'a' of 'update' is 'a' where a number"),
    "a const that is a tensor": (lambda: basics.update(A, X, X.copy()), "argument 'a' of 'update'"),
    "a const that is complex": (lambda: basics.update(1j, X, X.copy()), "argument 'a' of 'update' is 1j"),
    "an unknown keyword": (lambda: basics.matmul(A, A, foo=1), "neither a parameter nor a size 'foo'"),
    "an executor of a text": (lambda: basics.matmul.compile(A, A)("x", A), "argument 'A' of 'matmul' is .*str"),
    "a stage that is a number": (lambda: basics.matmul.compile(A, A).stage(5), "the stage is 5"),
    # PyTorch's tracer and JAX
    "a size in traced code": (lambda: torch.vmap(lambda x: basics.unflatten(x, M="3"))(torch.ones(2, 12)), "size 'M' of 'unflatten' is '3'"),
    "an unknown keyword in traced code": (lambda: torch.vmap(lambda x: basics.total(x, foo=1))(torch.ones(2, 12)), "neither a parameter nor a size 'foo'"),
    "a size with JAX": (lambda: basics.unflatten(jax.numpy.ones(12, "float32"), M="3"), "size 'M' of 'unflatten' is '3'"),
    "a list with JAX": (lambda: basics.matmul(jax.numpy.ones((4, 4), "float32"), [[1.0]]), "argument 'B' of 'matmul' is .*list"),
    "a const with JAX": (lambda: basics.update("a", jax.numpy.ones(4, "float32"), jax.numpy.ones(4, "float32")), "argument 'a' of 'update' is 'a'"),
    # options
    "an option of the wrong kind": (lambda: tc.MappingOptions().tile("a"), "option 'tile' is \"a\""),
    "an option that is an object": (lambda: tc.MappingOptions().tasks(object()), "option 'tasks' is <object"),
    "an element that is a text": (lambda: tc.MappingOptions().tile([1, "a"]), "an element of option 'tile' is 'a'"),
    "an element that is a float": (lambda: tc.MappingOptions().tile([1.5]), "an element of option 'tile' is 1.5"),
    "options of a number": (lambda: tc.MappingOptions(3), r"MappingOptions\(base\) is 3"),
    "options of None": (lambda: tc.MappingOptions(None), r"MappingOptions\(base\) is None"),
    "an unknown option": (lambda: tc.MappingOptions()["nope"], "there is no option 'nope'"),
    "threads that are None": (lambda: tc.MappingOptions().mapToThreads(None), "a size is None"),
    "shared memory that is a text": (lambda: tc.MappingOptions().useSharedMemory("no"), "use is 'no' .str. where True or False"),
    "an unknown target": (lambda: tc.MappingOptions().to_json("gpu"), "target is 'gpu' .str. where 'cpu' or 'cuda'"),
    # metadata
    "metadata of a text": (lambda: basics.matmul.output_metadata("x", "y"), "input 1 is 'x'"),
    "a shape that is a number": (lambda: basics.matmul.output_metadata(("float32", 3), A), r"input 1 is \('float32', 3\)"),
    "a shape of texts": (lambda: basics.matmul.output_metadata(A, ("float32", ("a", "b"))), "a size of input 2 is 'a'"),
    "a tuple that is too short": (lambda: basics.matmul.output_metadata(("float32",)), "input 1"),
    "metadata with a size": (lambda: basics.unflatten.output_metadata(("float32", (12,)), M="x"), "size 'M' of 'unflatten' is 'x'"),
    "metadata with a const": (lambda: basics.update.output_metadata(X, X, a="q"), "argument 'a' of 'update' is 'q'"),
    # gradients, comparisons
    "a forward function that is None": (lambda: tc.make_autograd(None, None), "forward is None .NoneType. where a function"),
    "a backward function that is a text": (lambda: tc.make_autograd(basics.matmul, "b"), "backward is 'b'"),
    "a difference that is a text": (lambda: tc.assert_almost_equal("x", [A]), "actual is 'x'"),
    "operations that are a text": (lambda: tc.assert_almost_equal(A, [A], operations="x"), "operations is 'x'"),
    "a precision that is a text": (lambda: tc.assert_almost_equal(A, [A], precision="x"), "precision is 'x'"),
    # the tuner
    "a configuration that is a number": (lambda: tc.autotune(MATMUL, "matmul", A, A, tuner_config=3), "tuner_config is 3"),
    "an unknown field": (lambda: tc.TunerConfig(foo=1), "no field 'foo'"),
    "seconds that are a text": (lambda: tc.TunerConfig(seconds="1m"), "TunerConfig.seconds is '1m'"),
    "an unknown search": (lambda: tc.TunerConfig().search("genetic"), "TunerConfig.search is 'genetic' .str. where one of model"),
    "a seed that is no list": (lambda: tc.TunerConfig(seeds=tc.MappingOptions()), "TunerConfig.seeds is "),
    "threads that are negative": (lambda: tc.TunerConfig().threads(-1), "TunerConfig.threads is -1"),
    "devices that are a number": (lambda: tc.TunerConfig().devices(1), "TunerConfig.devices is 1"),
    "a file that is missing": (lambda: tc.autotune(MATMUL, "matmul", A, A, store_to_cache=True), "need a cache_filename"),
    "loading that is a text": (lambda: tc.autotune(MATMUL, "matmul", A, A, load_from_cache="x"), "load_from_cache is 'x'"),
    "candidates that are no number": (lambda: tc.MappingOptionsCache("x").load(MATMUL, "matmul", [A, A], "3"), "num_candidates is '3'"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_names_the_argument(name):
    call, message = CASES[name]
    with pytest.raises(tc.ArgumentError, match=message) as caught:
        call()
    assert "std::" not in str(caught.value) and "incompatible function" not in str(caught.value)


def test_names_that_are_missing():
    with pytest.raises(AttributeError, match="no def 'nothing'; it has: matmul"):
        basics.nothing
    with pytest.raises(KeyError):
        basics["nothing"]


def test_numbers_of_numpy_are_sizes():
    assert basics.unflatten(X, M=np.int32(4)).shape == (3, 4)


def test_errors_of_a_factory_are_its_own():
    with pytest.raises(TypeError, match="positional argument"):
        tc.define(MATMUL, lambda program: tc.MappingOptions()).matmul(A, A)


def test_no_options_may_be_named():
    x = np.ones((3, 3), np.float32)
    for compiled in (tc.compile(MATMUL, "matmul", None, x, x), tc.CompilationCache().compile(MATMUL, "matmul", None, x, x)):
        assert compiled.options == tc.MappingOptions() and (compiled(x, x) == 3).all()


def test_comparisons_see_shapes_imaginary_parts_and_infinities():
    ones = np.ones((2, 3))
    with pytest.raises(AssertionError, match="shape \\(2, 3\\) where \\(3,\\) is expected"):
        tc.assert_almost_equal(ones, ones[0], ones)
    with pytest.raises(AssertionError, match="largest difference is 1 "):
        tc.assert_almost_equal(ones + 0j, ones + 1j, ones)
    tc.assert_almost_equal(ones, 1.0, ones)
    tc.assert_almost_equal(np.asarray([np.inf, 1.0]), np.asarray([np.inf, 1.0]), ones)
    with pytest.raises(AssertionError, match="inf"):
        tc.assert_almost_equal(np.asarray([np.inf]), np.asarray([-np.inf]), ones)
    with pytest.raises(AssertionError, match="nan"):
        tc.assert_almost_equal(np.asarray([np.nan]), np.asarray([np.nan]), ones)
