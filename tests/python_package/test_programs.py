# SPDX-License-Identifier: Apache-2.0
"""define, op, compile, Executor, options, caches, diagnostics."""

import json
import re
import time

import numpy as np
import pytest
import torch

import tensor_comprehensions as tc
from programs import BASICS, MATMUL
from tensor_comprehensions import _progress

A, B = np.ones((5, 7), np.float32), np.ones((7, 3), np.float32)


def test_a_program_has_a_callable_per_def():
    program = tc.define(BASICS)
    assert [operator.name for operator in program] == ["matmul", "matmul_backward", "scaled", "update", "unflatten", "lookup", "total"]
    assert "matmul" in dir(program) and program["total"] is program.total
    assert repr(program.update) == "<tensor comprehension update(const float32 a, float32(N) x, float32(N) y) -> (y)>"
    with pytest.raises(AttributeError, match="has no def 'conv'; it has: matmul, "):
        program.conv
    with pytest.raises(tc.ArgumentError, match="one with|has 7"):
        tc.op(BASICS)


def test_diagnostics_are_those_of_the_command_line():
    text = "def f(float(N) x) -> (y) {\n  y(i) = x(j)\n}\ndef g(float(N) x) -> (y) { y(i) = z(i) }"
    with pytest.raises(tc.CompileError) as caught:
        tc.define(text)
    first, second = caught.value.diagnostics
    assert (first.code, first.line, first.column, first.severity) == ("E0219", 2, 12, "error")
    assert first.notes and second.line == 4
    assert str(first).startswith("<text>:2:12: error: ") and "\n  y(i) = x(j)\n" in str(first)
    assert str(first) in str(caught.value) and str(second) in str(caught.value)


def test_an_error_of_sizes_has_a_place_and_a_counterexample():
    shift = tc.op("def shift(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }")
    with pytest.raises(tc.CompileError) as caught:
        shift(np.zeros(4, np.float32))
    assert caught.value.diagnostics[0].code == "E0410" and caught.value.diagnostics[0].line == 1


def test_an_executor_tells_what_it_is():
    executor = tc.compile(MATMUL, "matmul", "naive", A, B)
    assert executor.name == "matmul" and executor.target == "cpu" and executor.kernels == 1
    assert [(info.name, info.dtype, info.shape, info.strides) for info in (*executor.inputs, *executor.outputs)] == [
        ("A", "float32", (5, 7), (7, 1)), ("B", "float32", (7, 3), (3, 1)), ("C", "float32", (5, 3), (3, 1))]
    assert executor.options.to_dict() == tc.MappingOptions("naive").to_dict()
    assert "define" in executor.source and "schedule:" in executor.explain() and "contract S0" in executor.stage("tile")
    page = executor._repr_html_()
    assert "+=!" in page and page.count("<details>") == 4 and "domain:" in page
    with pytest.raises(tc.ArgumentError, match="unknown stage 'nonsense'"):
        executor.stage("nonsense")


def test_a_sign_of_life_of_long_compilations(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_is_seen", lambda: True)
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    sign, shown, end = _progress.compiling("matmul", "cpu"), "", time.monotonic() + 60
    while "compiling matmul for cpu" not in shown and time.monotonic() < end:
        shown += capsys.readouterr().err
        time.sleep(0.01)
    sign.finished()
    assert "compiling matmul for cpu" in shown
    monkeypatch.setattr(_progress, "_is_seen", lambda: False)
    _progress.compiling("matmul", "cpu").finished()


def test_an_executor_runs_on_what_it_was_compiled_for_only():
    executor = tc.compile(MATMUL, "matmul", A, B)
    assert np.array_equal(executor(A, B), A @ B)
    out = np.zeros((5, 3), np.float32)
    assert executor(A, B, outputs=(out,)) is out and np.array_equal(out, A @ B)
    out[:] = 0
    executor(A, B, outputs=out, unchecked=True)
    assert np.array_equal(out, A @ B)
    for arguments, message in (((A.T.copy(), B), "shape"), ((A.astype(np.float64), B), "float64"), ((np.ones((7, 5), np.float32).T, B), "strides"),
                               ((torch.ones(5, 7), torch.ones(7, 3)), "compiled for tensors of numpy")):
        with pytest.raises(tc.ArgumentError, match=message):
            executor(*arguments)


def test_const_values_belong_to_an_executor():
    executor = tc.compile(BASICS, "update", 2.0, np.ones(3, np.float32), np.ones(3, np.float32))
    with pytest.raises(tc.ArgumentError, match="const"):
        executor(3.0, np.ones(3, np.float32), np.ones(3, np.float32))


def test_output_metadata_without_compiling():
    matmul = tc.op(MATMUL)
    assert matmul.output_metadata(("float32", (5, 7)), ("float32", (7, 3))) == [("float32", (5, 3))]
    assert matmul.output_metadata(torch.ones(5, 7), torch.ones(7, 3)) == [("float32", (5, 3))]
    assert tc.define(BASICS).unflatten.output_metadata(("float32", (20,)), M=4) == [("float32", (5, 4))]


def test_every_option_is_a_setter():
    defaults = tc.MappingOptions().to_dict()
    others = {"fusion": "min", "tile": [8, 4], "bounds": "error", "stage": False, "deterministic": False, "fast_math": True, "vector_bits": 128}
    for name in defaults:
        value = others.get(name, 7)
        options = tc.MappingOptions()
        assert getattr(options, name)(value) is options and options[name] == value
        assert {key for key, entry in options.to_dict().items() if entry != defaults[key]} == {name}
        assert tc.MappingOptions(options.to_json()) == options
    assert tc.MappingOptions().tile(8, 4) == tc.MappingOptions().tile([8, 4]) == tc.MappingOptions({"tile": [8, 4]})


def test_options_change_the_plan():
    a, b = np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)
    default = tc.compile(MATMUL, "matmul", a, b)
    tiled = tc.compile(MATMUL, "matmul", tc.MappingOptions().tile(16, 8), a, b)
    assert default.stage("tile") != tiled.stage("tile") and "step 16" in tiled.stage("tile") and "step 8" in tiled.stage("tile")
    assert np.array_equal(tiled(a, b), a @ b)


def test_setters_of_the_published_package():
    options = tc.MappingOptions("naive").tile([4, 8]).mapToThreads([32, 4]).mapToBlocks(8, 2).useSharedMemory(True).maxSharedMemory(4096)
    options.scheduleFusionStrategy("Preserve3Coincident")
    assert [options[name] for name in ("tile", "threads", "tasks", "stage", "local_bytes", "fusion")] == [[4, 8], 128, 16, True, 4096, "preserve3"]
    for name in ("unroll", "unrollCopyShared", "usePrivateMemory", "useReadOnlyCache", "matchLibraryCalls", "fixParametersBeforeScheduling",
                 "tileImperfectlyNested", "intraTileScheduleFusionStrategy"):
        before = options.to_json()
        with pytest.warns(tc.OptionWarning, match=name):
            getattr(options, name)(True)
        assert options.to_json() == before


@pytest.mark.parametrize("change", [lambda o: o.tile([-1]), lambda o: o.register_rows(33), lambda o: o.vector_bits(3), lambda o: o.fusion("most"),
                                    lambda o: o.set("blocks", 1), lambda o: o.stage(3), lambda o: o.scheduleFusionStrategy("Most")])
def test_illegal_options_are_refused_at_once(change):
    options = tc.MappingOptions()
    with pytest.raises(tc.ArgumentError):
        change(options)
    assert options == tc.MappingOptions()


def test_a_factory_is_asked_once_per_shape():
    asked = []

    def factory(program, entry_point, *inputs):
        asked.append((entry_point, tuple(tensor.shape for tensor in inputs)))
        return tc.MappingOptions("naive")

    program = tc.define(BASICS, factory)
    for size in (3, 3, 4, 3):
        square = np.ones((size, size), np.float32)
        program.matmul(square, square)
    assert asked == [("matmul", ((3, 3), (3, 3))), ("matmul", ((4, 4), (4, 4)))]
    assert program.matmul.compile(np.ones((3, 3), np.float32), np.ones((3, 3), np.float32)).options.to_dict() == tc.MappingOptions("naive").to_dict()


def test_published_factories(tmp_path):
    naive = tc.define(BASICS, tc.make_naive_options_factory())
    assert naive.matmul.compile(A, B).options.to_dict() == tc.MappingOptions("naive").to_dict()
    path = tmp_path / "options.json"
    path.write_text(tc.MappingOptions().tile(2, 2).to_json())
    assert tc.define(BASICS, tc.make_load_from_cache_options_factory(path)).matmul.compile(A, B).options["tile"] == [2, 2]
    path.write_text(json.dumps({"matmul": {"tile": [4, 4]}}))
    loaded = tc.define(BASICS, tc.make_load_from_cache_options_factory(path))
    assert loaded.matmul.compile(A, B).options["tile"] == [4, 4]
    with pytest.raises(tc.ArgumentError, match="no options for 'total'"):
        loaded.total(np.ones(3, np.float32))


def test_a_cache_of_ones_own(tmp_path):
    fresh, again = tc.CompilationCache(tmp_path), tc.CompilationCache(tmp_path)
    assert fresh.compile(MATMUL, "matmul", A, B).cache == "miss"
    assert fresh.compile(MATMUL, "matmul", A, B).cache == "memory"
    assert again.compile(MATMUL, "matmul", A, B).cache == "disk"
    assert tc.CompilationCache().define(MATMUL).matmul.compile(A, B).cache == "miss"
    assert list(tmp_path.iterdir())


def test_assert_almost_equal():
    tc.assert_almost_equal(np.float32([1e-6]), (A, B), operations=10)
    with pytest.raises(AssertionError, match=re.escape("= 1 * 1e-07 * 1 is allowed")):
        tc.assert_almost_equal(np.float32([1e-6]), (A, B), precision=1e-7)
    with pytest.raises(AssertionError):
        tc.assert_almost_equal(np.float32([np.nan]), A, operations=10**9)
    tc.assert_almost_equal(torch.zeros(2, dtype=torch.bfloat16), torch.ones(2))
