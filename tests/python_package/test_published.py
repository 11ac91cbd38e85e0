# SPDX-License-Identifier: Apache-2.0
"""What the documentation of the published package shows, as programs of our own: the same calls, on the CPU."""

import pytest
import torch

import tensor_comprehensions as tc
from tensor_comprehensions import _environment

PAIR = """
def plus(float(N) U, float(N) V) -> (W) { W(i) = U(i) + V(i) }
def minus(float(N) U, float(N) V) -> (W) { W(i) = U(i) - V(i) }
"""
NORMALISATION = """
def moments(float(R, K) X) -> (mean, var) {
  # The variance is the mean of squares less the square of the mean.
  mean(r) +=! X(r, r_k)
  var(r) +=! X(r, r_k) * X(r, r_k)
  mean(r) = mean(r) / (K)
  var(r) = var(r) / (K) - mean(r) * mean(r)
}
def normalise(float(B, G, D, S) X, float(G, D) scale, float(G, D) shift, float(B, G) mean, float(B, G) var) -> (Y) {
  Y(b, g, d, s) = scale(g, d) * (X(b, g, d, s) - mean(b, g)) * rsqrt(var(b, g) + 1e-5) + shift(g, d)
}
"""
CONVOLUTION = """
def convolve(float(B, I, H, W) X, float(O, I, KH, KW) F) -> (Y) { Y(b, o, h, w) +=! X(b, r_i, h + r_p, w + r_q) * F(o, r_i, r_p, r_q) }
def input_gradient(float(O, I, KH, KW) F, float(B, O, H, W) dY) -> (dX) { dX(b, i, h, w) +=! dY(b, r_o, h - r_p, w - r_q) * F(r_o, i, r_p, r_q) }
def filter_gradient(float(B, I, H, W) X, float(B, O, H, W) dY) -> (dF) { dF(o, i, p, q) +=! dY(r_b, o, r_h - p, r_w - q) * X(r_b, i, r_h, r_w) }
"""
FEW = tc.TunerConfig().threads(1).generations(1).pop_size(2)


@pytest.fixture(autouse=True)
def own_records(tmp_path, monkeypatch):
    session = _environment.make_session(str(tmp_path / "cache"))
    monkeypatch.setattr(_environment, "session", lambda: session)


def test_define_with_naive_options():
    T = tc.define(PAIR, tc.make_naive_options_factory())
    u, v = torch.randn(100), torch.randn(100)
    tc.assert_almost_equal(T.plus(u, v), torch.add(u, v), u, v)
    tc.assert_almost_equal(T.minus(u, v), u - v, u, v)
    assert T.plus.compile(u, v).options.to_dict() == tc.MappingOptions("naive").to_dict()
    tc.assert_almost_equal(T("plus", u, v), u + v, u, v)
    assert isinstance(T, tc.TC)


def test_one_definition_with_several_sizes():
    T = tc.define("def product(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, r_k) * B(r_k, n) }", tc.make_naive_options_factory())
    for m, k, n in ((3, 4, 5), (10, 40, 50)):
        a, b = torch.randn(m, k), torch.randn(k, n)
        tc.assert_almost_equal(T.product(a, b), a @ b, a, b, operations=k)


def test_a_function_that_chooses_options():
    asked = []

    def choose(text, entry_point, *inputs):
        asked.append((text, entry_point, tuple(inputs[0].shape)))
        return tc.MappingOptions("naive").tile([16]).mapToThreads([32]).mapToBlocks([4])

    T = tc.define(PAIR, choose)
    u, v = torch.randn(100), torch.randn(100)
    tc.assert_almost_equal(T.plus(u, v, outputs=(torch.empty(100),), unchecked=True), u + v, u, v)
    T.plus(u, v), T.plus(u, v)
    assert set(asked) == {(PAIR, "plus", (100,))} and T.plus.compile(u, v).options["tile"] == [16]


def test_an_executor_with_its_options():
    u, v = torch.ones(100), torch.ones(100)
    add = tc.compile(PAIR, "plus", "naive", u, v)
    w = add(u, v)
    assert w.min() == w.max() == 2
    assert add(u, v, outputs=(w,), unchecked=True) is w


def test_tuned_and_compiled():
    u, v = torch.ones(1000), torch.ones(1000)
    add = tc.autotune_and_compile(PAIR, "plus", u, v, starting_options="naive", tuner_config=FEW)
    assert (add(u, v) == 2).all()


def test_tuning_that_goes_on_from_a_file(tmp_path):
    """First from naive options into the file; a new object starts from what the file holds."""
    B, G, D, S = 4, 6, 3, 20
    x, scale, shift = torch.randn(B, G, D, S), torch.randn(G, D), torch.randn(G, D)
    file = str(tmp_path / "options")
    first = tc.make_autotuned_options_factory(starting_options="naive", tuner_config=FEW, cache_filename=file, store_to_cache=True)
    later = tc.make_autotuned_options_factory(tuner_config=FEW, cache_filename=file, load_from_cache=True, store_to_cache=True)
    expected = torch.nn.functional.group_norm(x.reshape(B, G * D, S), G).reshape(B, G, D, S) * scale[..., None] + shift[..., None]
    for factory in (first, later, tc.make_load_from_cache_options_factory(file)):
        T = tc.define(NORMALISATION, factory)
        mean, var = T.moments(x.view(B * G, -1))
        y = T.normalise(x, scale, shift, mean.view(B, G), var.view(B, G))
        torch.testing.assert_close(y, expected, rtol=1e-3, atol=1e-4)
    rows = x.view(B * G, -1)
    (best,) = tc.MappingOptionsCache(file).load(NORMALISATION, "moments", (rows,), 1)
    assert tc.define(NORMALISATION, tc.make_load_from_cache_options_factory(file)).moments.compile(rows).options == best


def test_gradients_by_several_defs():
    B, I, H, W, O, P, Q = 4, 3, 9, 8, 5, 1, 1  # noqa: E741 - as in the program
    T = tc.define(CONVOLUTION, tc.make_autotuned_options_factory(starting_options="naive", tuner_config=FEW))
    x, f = torch.randn(B, I, H, W, requires_grad=True), torch.randn(O, I, P, Q, requires_grad=True)

    def backward(x, f, dy):
        return T.input_gradient(f, dy), T.filter_gradient(x, dy)

    convolve = tc.make_autograd(T.convolve, backward)
    for _ in range(2):
        x.grad = f.grad = None
        convolve(x, f).square().sum().backward()
        dx, df = torch.autograd.grad(torch.nn.functional.conv2d(x, f).square().sum(), (x, f))
        torch.testing.assert_close((x.grad, f.grad), (dx, df), rtol=1e-4, atol=1e-4)


def test_a_builtin_function():
    T = tc.define("def relu(float(B, M) X) -> (Y) { Y(b, m) = fmax(X(b, m), 0) }", tc.make_naive_options_factory())
    x = torch.randn(10, 12)
    torch.testing.assert_close(T.relu(x), torch.relu(x))


def test_sizes_in_the_text():
    text = f"""
def average(float(B, C, H, W) X) -> (Y) {{
  Y(b, c, h, w) +=! X(b, c, h * {1} + r_p, w * {1} + r_q) / ({2} * {2}) where r_p in 0:{2}, r_q in 0:{2}
}}"""
    x = torch.randn(2, 3, 10, 10)
    torch.testing.assert_close(tc.define(text).average(x), torch.nn.functional.avg_pool2d(x, 2, stride=1))


def test_a_cache_of_one_program():
    cache = tc.CompilationCache(PAIR)
    u, v = torch.randn(30), torch.randn(30)
    assert not cache.is_compiled("plus", (u, v))
    with pytest.raises(tc.ArgumentError, match="was not compiled"):
        cache.run("plus", (u, v))
    cache.compile("plus", (u, v), tc.MappingOptions("naive"))
    assert cache.is_compiled("plus", (u, v)) and not cache.is_compiled("plus", (u[:5], v[:5])) and not cache.is_compiled("minus", (u, v))
    torch.testing.assert_close(cache.run("plus", (u, v)), u + v)
    (out,) = cache.alloc_outputs("plus", (u, v))
    assert cache.unchecked_run("plus", (v, v), (out,)) is out
    torch.testing.assert_close(out, v + v)


def test_a_tuner_object(tmp_path):
    u, v = torch.ones(50), torch.ones(50)
    file = tmp_path / "options"
    best = tc.Tuner(PAIR, str(file)).tune("plus", (u, v), tc.MappingOptions("naive"), FEW)
    assert tc.MappingOptionsCache(file).load(PAIR, "plus", (u, v), 10)[0] == best


def test_every_setter_of_options():
    options = tc.MappingOptions("naive").tile([8, 4]).mapToThreads([16, 2]).mapToBlocks([3, 3]).useSharedMemory(True).maxSharedMemory(4096)
    options = options.scheduleFusionStrategy("Min").outerScheduleFusionStrategy("Preserve3Coincident")
    chosen = options.to_dict("cuda")
    assert [chosen[name] for name in ("tile", "threads", "tasks", "stage", "local_bytes", "fusion")] == [[8, 4], 32, 9, True, 4096, "preserve3"]
    assert tc.MappingOptions(options.serialize().decode()).to_dict() == options.to_dict()
    for setter, value in (("unroll", 4), ("unrollCopyShared", True), ("usePrivateMemory", True), ("useReadOnlyCache", True), ("matchLibraryCalls", True),
                          ("fixParametersBeforeScheduling", True), ("tileImperfectlyNested", True), ("intraTileScheduleFusionStrategy", "Max")):
        with pytest.warns(tc.OptionWarning, match=setter):
            assert getattr(options, setter)(value) is options


def test_names_without_a_meaning_say_so():
    for name in ("logtostderr", "debug_lang", "debug_halide", "debug_tc_mapper", "debug_tuner", "dump_cuda", "dump_ptx"):
        with pytest.warns(tc.OptionWarning, match=f"{name}.. changes nothing"):
            getattr(tc, name)(True)
    for name in ("crossover_rate", "mutation_rate", "number_elites", "tuner_min_launch_total_threads", "logtostderr", "stderrthreshold"):
        with pytest.warns(tc.OptionWarning, match=name):
            getattr(tc.TunerConfig(), name)(1)


def test_the_page_lists_every_name():
    """docs/python.md has each public name."""
    import pathlib

    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/python.md").read_text()
    missing = [name for name in tc.__all__ if f"`{name}" not in page and f".{name}" not in page]
    assert not missing
