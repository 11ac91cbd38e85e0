// SPDX-License-Identifier: Apache-2.0
#include "examples.h"

namespace tc::test {

using kernel::BinaryOp;
using kernel::BufferPtr;
using kernel::ExprPtr;
using tile::Combine;
using tile::Dim;
using tile::Program;

namespace {

ExprPtr read(const BufferPtr& b, std::vector<ExprPtr> at) {
  return kernel::load(b, std::move(at));
}

struct Product {
  DType type = DType::Float32;
  DType result = DType::Float32;
  bool transposed_a = false, transposed_b = false;
  bool identity = true;
  std::int64_t tile = 0;  ///< grid tile of m and n; 0: one task
};

/// Sizes around n, so that every tile has a rest.
Program product(std::int64_t n, Product p) {
  KernelMaker k("product");
  const std::int64_t m = n - 3, depth = n + 5;
  auto a = p.transposed_a ? k.input("A", p.type, {depth, m}) : k.input("A", p.type, {m, depth});
  auto b = p.transposed_b ? k.input("B", p.type, {n, depth}) : k.input("B", p.type, {depth, n});
  auto c = k.output("C", p.result, {m, n});
  Dim i = k.dim("m", m), j = k.dim("n", n), r = k.dim("k", depth, true);
  if (p.tile > 0) {
    const auto ti = k.var("ti"), tj = k.var("tj");
    k.kernel.grid = {{ti, 0, m, p.tile}, {tj, 0, n, p.tile + 7}};
    const auto end = [&](const kernel::Var& t, std::int64_t step, std::int64_t extent) {
      return kernel::binary(BinaryOp::Min, kernel::add(kernel::var_ref(t), num(step)), num(extent));
    };
    i = k.dim("m", kernel::var_ref(ti), end(ti, p.tile, m), p.tile);
    j = k.dim("n", kernel::var_ref(tj), end(tj, p.tile + 7, n), p.tile + 7);
  }
  auto va = p.transposed_a ? read(a, {ref(r), ref(i)}) : read(a, {ref(i), ref(r)});
  auto vb = p.transposed_b ? read(b, {ref(j), ref(r)}) : read(b, {ref(r), ref(j)});
  k.add(make_op("S0", {i, j, r}, {{c, {ref(i), ref(j)}, kernel::mul(va, vb)}}, Combine::Add,
                p.identity));
  return k.program();
}

Program batched(std::int64_t n) {
  KernelMaker k("batched");
  const std::int64_t depth = n / 2 + 1;
  auto a = k.input("A", DType::Float32, {3, n, depth});
  auto b = k.input("B", DType::Float32, {3, depth, n});
  auto c = k.output("C", DType::Float32, {3, n, n});
  auto s = k.dim("b", 3), i = k.dim("m", n), j = k.dim("n", n), r = k.dim("k", depth, true);
  k.add(
      make_op("S0", {s, i, j, r},
              {{c,
                {ref(s), ref(i), ref(j)},
                kernel::mul(read(a, {ref(s), ref(i), ref(r)}), read(b, {ref(s), ref(r), ref(j)}))}},
              Combine::Add, true));
  return k.program();
}

/// Several axes for m, n and k: C(p, a, q) += X(a, r, p, s) * Y(q, s, r).
Program tensordot(std::int64_t n) {
  KernelMaker k("tensordot");
  const std::int64_t few = n / 8 + 2;
  auto x = k.input("X", DType::Float32, {few, 6, few, 9});
  auto y = k.input("Y", DType::Float32, {n, 9, 6});
  auto c = k.output("C", DType::Float32, {few, few, n});
  auto p = k.dim("p", few), a = k.dim("a", few), q = k.dim("q", n), r = k.dim("r", 6, true),
       s = k.dim("s", 9, true);
  k.add(make_op(
      "S0", {p, a, q, r, s},
      {{c,
        {ref(p), ref(a), ref(q)},
        kernel::mul(read(x, {ref(a), ref(r), ref(p), ref(s)}), read(y, {ref(q), ref(s), ref(r)}))}},
      Combine::Add, true));
  return k.program();
}

/// Dequantised weights, scaled per column: a factor that is an expression.
Program dequantised(std::int64_t n) {
  KernelMaker k("dequantised");
  auto a = k.input("A", DType::BFloat16, {n, n});
  auto w = k.input("W", DType::Int8, {n, n});
  auto scale = k.input("scale", DType::Float32, {n});
  auto c = k.output("C", DType::BFloat16, {n, n});
  auto i = k.dim("m", n), j = k.dim("n", n), r = k.dim("k", n, true);
  auto weight =
      kernel::mul(kernel::cast(DType::Float32, read(w, {ref(j), ref(r)})), read(scale, {ref(j)}));
  k.add(make_op("S0", {i, j, r},
                {{c, {ref(i), ref(j)}, kernel::mul(read(a, {ref(i), ref(r)}), weight)}},
                Combine::Add, true));
  return k.program();
}

/// Convolution with a border: the windows are masked loads.
Program padded_conv(std::int64_t n) {
  KernelMaker k("padded_conv");
  const std::int64_t size = n / 6 + 4;
  auto x = k.input("x", DType::Float32, {5, size, size});
  auto w = k.input("w", DType::Float32, {n / 2, 5, 3, 3});
  auto y = k.output("y", DType::Float32, {n / 2, size, size});
  auto o = k.dim("o", n / 2), h = k.dim("h", size), v = k.dim("w", size);
  auto c = k.dim("c", 5, true), p = k.dim("p", 3, true), q = k.dim("q", 3, true);
  const auto shifted = [](const Dim& a, const Dim& b) {
    return kernel::sub(kernel::add(ref(a), ref(b)), num(1));
  };
  const auto inside = [&](const ExprPtr& e) {
    return kernel::binary(BinaryOp::And, kernel::binary(BinaryOp::Ge, e, num(0)),
                          less(e, num(size)));
  };
  auto row = shifted(h, p), column = shifted(v, q);
  auto value = kernel::load(x, {ref(c), row, column},
                            kernel::binary(BinaryOp::And, inside(row), inside(column)),
                            kernel::float_imm(0, DType::Float32));
  k.add(make_op("S0", {o, h, v, c, p, q},
                {{y,
                  {ref(o), ref(h), ref(v)},
                  kernel::mul(value, read(w, {ref(o), ref(c), ref(p), ref(q)}))}},
                Combine::Add, true));
  return k.program();
}

/// Channels last: the vector dim is the output channel.
Program conv_nhwc(std::int64_t n) {
  KernelMaker k("conv_nhwc");
  const std::int64_t size = n / 8 + 3;
  auto x = k.input("x", DType::Float32, {size + 2, size + 2, 11});
  auto w = k.input("w", DType::Float32, {3, 3, 11, n});
  auto y = k.output("y", DType::Float32, {size, size, n});
  auto h = k.dim("h", size), v = k.dim("w", size), o = k.dim("o", n);
  auto c = k.dim("c", 11, true), p = k.dim("p", 3, true), q = k.dim("q", 3, true);
  auto value =
      kernel::mul(read(x, {kernel::add(ref(h), ref(p)), kernel::add(ref(v), ref(q)), ref(c)}),
                  read(w, {ref(p), ref(q), ref(c), ref(o)}));
  k.add(make_op("S0", {h, v, o, c, p, q}, {{y, {ref(h), ref(v), ref(o)}, value}}, Combine::Add,
                true));
  return k.program();
}

/// Scores, softmax and weighted sum of rows in one kernel over tiles of rows, with tile-local
/// intermediates.
Program attention(std::int64_t n) {
  KernelMaker k("attention");
  const std::int64_t width = 19, rows = 8;
  const DType f = DType::Float32;
  auto q = k.input("Q", f, {n, width}), key = k.input("K", f, {n, width}),
       v = k.input("V", f, {n, width});
  auto out = k.output("O", f, {n, width});
  const auto t = k.var("t");
  k.kernel.grid = {{t, 0, n, rows}};
  auto s = k.local("s", f, {rows, n}), m = k.local("m", f, {rows}), z = k.local("z", f, {rows});
  const auto row = [&](const char* name) {
    return k.dim(name, kernel::var_ref(t),
                 kernel::binary(BinaryOp::Min, kernel::add(kernel::var_ref(t), num(rows)), num(n)),
                 rows);
  };
  const auto at = [&](const Dim& d) { return kernel::sub(ref(d), kernel::var_ref(t)); };
  {
    auto i = row("i"), j = k.dim("j", n), r = k.dim("r", width, true);
    k.add(make_op(
        "S0", {i, j, r},
        {{s, {at(i), ref(j)}, kernel::mul(read(q, {ref(i), ref(r)}), read(key, {ref(j), ref(r)}))}},
        Combine::Add, true));
  }
  {
    auto i = row("i"), j = k.dim("j", n, true);
    k.add(make_op("S1", {i, j}, {{m, {at(i)}, read(s, {at(i), ref(j)})}}, Combine::Max, true));
  }
  {
    auto i = row("i"), j = k.dim("j", n);
    k.add(make_op(
        "S2", {i, j},
        {{s,
          {at(i), ref(j)},
          kernel::binary(BinaryOp::Max, kernel::sub(read(s, {at(i), ref(j)}), read(m, {at(i)})),
                         kernel::float_imm(-4, f))}}));
  }
  {
    auto i = row("i"), j = k.dim("j", n, true);
    k.add(make_op("S3", {i, j}, {{z, {at(i)}, read(s, {at(i), ref(j)})}}, Combine::Add, true));
  }
  {
    auto i = row("i"), c = k.dim("c", width), j = k.dim("j", n, true);
    k.add(make_op(
        "S4", {i, c, j},
        {{out, {ref(i), ref(c)}, kernel::mul(read(s, {at(i), ref(j)}), read(v, {ref(j), ref(c)}))}},
        Combine::Add, true));
  }
  {
    auto i = row("i"), c = k.dim("c", width);
    k.add(make_op(
        "S5", {i, c},
        {{out, {ref(i), ref(c)}, kernel::add(read(out, {ref(i), ref(c)}), read(z, {at(i)}))}}));
  }
  return k.program();
}

/// y(b, i, j) = x(j, b, i) * s(i): reads across the direction of writes.
Program transposition(std::int64_t n) {
  KernelMaker k("transposition");
  const std::int64_t rows = 2 * n + 3, columns = n + 140;
  auto x = k.input("x", DType::Float16, {columns, 2, rows});
  auto scale = k.input("s", DType::Float32, {rows});
  auto y = k.output("y", DType::Float32, {2, rows, columns});
  auto b = k.dim("b", 2), i = k.dim("i", rows), j = k.dim("j", columns);
  k.add(make_op("S0", {b, i, j},
                {{y,
                  {ref(b), ref(i), ref(j)},
                  kernel::mul(read(x, {ref(j), ref(b), ref(i)}), read(scale, {ref(i)}))}}));
  return k.program();
}

}  // namespace

const std::vector<Example>& contractions() {
  using D = DType;
  static const std::vector<Example> examples = {
      {"nn", [](auto n) { return product(n, {}); }},
      {"nt", [](auto n) { return product(n, {D::Float32, D::Float32, false, true}); }},
      {"tn", [](auto n) { return product(n, {D::Float32, D::Float32, true, false}); }},
      {"tt_onto", [](auto n) { return product(n, {D::Float32, D::Float32, true, true, false}); }},
      {"tiled",
       [](auto n) { return product(n, {D::Float32, D::Float32, false, false, true, 37}); }},
      {"tiled_nt_f64",
       [](auto n) { return product(n, {D::Float64, D::Float64, false, true, true, 29}); }},
      {"bf16", [](auto n) { return product(n, {D::BFloat16, D::BFloat16, false, true}); }},
      {"f16_onto_tiled",
       [](auto n) { return product(n, {D::Float16, D::Float16, true, false, false, 31}); }},
      {"int8", [](auto n) { return product(n, {D::Int8, D::Int32, false, false}); }},
      {"int8_wrapped", [](auto n) { return product(n, {D::Int8, D::Int8, false, true, false}); }},
      {"batched", batched},
      {"tensordot", tensordot},
      {"dequantised", dequantised},
      {"padded_conv", padded_conv},
      {"conv_nhwc", conv_nhwc},
      {"attention", attention},
      {"transposition", transposition},
  };
  return examples;
}

}  // namespace tc::test
