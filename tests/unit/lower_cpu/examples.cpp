// SPDX-License-Identifier: Apache-2.0
#include "examples.h"

namespace tc::test {

using kernel::BinaryOp;
using kernel::BufferPtr;
using kernel::ExprPtr;
using kernel::int_imm;
using tile::Combine;
using tile::Dim;
using tile::Op;
using tile::Program;

BufferPtr KernelMaker::global(const std::string& name, DType type,
                              std::vector<std::int64_t> extents, std::vector<std::int64_t> strides,
                              bool writable) {
  auto b = std::make_shared<kernel::Buffer>();
  b->id = next_buffer_++;
  b->name = name;
  b->type = type;
  b->extents = extents;
  b->strides = strides.empty() ? kernel::contiguous_strides(extents) : strides;
  b->writable = writable;
  b->alignment = std::max(bits(type) / 8, 1);
  b->argument = static_cast<int>(kernel.buffers.size());
  kernel.buffers.push_back(b);
  return b;
}

BufferPtr KernelMaker::input(const std::string& name, DType type, std::vector<std::int64_t> extents,
                             std::vector<std::int64_t> strides) {
  return global(name, type, std::move(extents), std::move(strides), false);
}

BufferPtr KernelMaker::output(const std::string& name, DType type,
                              std::vector<std::int64_t> extents) {
  return global(name, type, std::move(extents), {}, true);
}

BufferPtr KernelMaker::local(const std::string& name, DType type,
                             std::vector<std::int64_t> extents) {
  auto b = std::make_shared<kernel::Buffer>();
  b->id = next_buffer_++;
  b->name = name;
  b->type = type;
  b->space = kernel::Space::Local;
  b->extents = extents;
  b->strides = kernel::contiguous_strides(extents);
  b->alignment = 64;
  b->writable = true;
  kernel.body.push_back(tile::Local{b});
  return b;
}

Dim KernelMaker::dim(const std::string& name, std::int64_t extent, bool reduction) {
  return dim(name, num(0), num(extent), extent, reduction);
}

Dim KernelMaker::dim(const std::string& name, ExprPtr begin, ExprPtr end, std::int64_t most,
                     bool reduction) {
  return {var(name), std::move(begin), std::move(end), most, reduction};
}

void KernelMaker::add(Op op) {
  kernel.body.push_back(std::move(op));
}

Program KernelMaker::program() const {
  Program program;
  program.name = kernel.name;
  kernel::Launch launch;
  int inputs = 0, outputs = 0;
  for (const auto& b : kernel.buffers) {
    kernel::Argument argument;
    argument.kind = b->writable ? kernel::Argument::Kind::Output : kernel::Argument::Kind::Input;
    argument.name = b->name;
    argument.position = b->writable ? outputs++ : inputs++;
    launch.arguments.push_back(static_cast<int>(program.arguments.size()));
    program.arguments.push_back(argument);
  }
  program.kernels.push_back(kernel);
  program.steps.push_back({launch});
  return program;
}

ExprPtr ref(const Dim& dim) {
  return kernel::var_ref(dim.var);
}
ExprPtr num(std::int64_t value) {
  return int_imm(value);
}
ExprPtr less(ExprPtr a, ExprPtr b) {
  return kernel::binary(BinaryOp::Lt, std::move(a), std::move(b));
}

Op make_op(std::string label, std::vector<Dim> dims, std::vector<tile::Target> targets,
           std::optional<Combine> combine, bool from_identity, std::vector<ExprPtr> conditions) {
  Op op;
  op.label = std::move(label);
  op.dims = std::move(dims);
  op.targets = std::move(targets);
  op.combine = combine;
  op.from_identity = from_identity;
  op.conditions = std::move(conditions);
  op.kind = tile::classify(op);
  return op;
}

namespace {

ExprPtr read(const BufferPtr& b, std::vector<ExprPtr> at) {
  return kernel::load(b, std::move(at));
}

Program matmul(std::int64_t n, bool transposed_a, bool transposed_b, DType type, bool identity) {
  KernelMaker k("matmul");
  const std::int64_t m = n / 2 + 3, depth = n / 3 + 2;
  auto a = transposed_a ? k.input("A", type, {depth, m}) : k.input("A", type, {m, depth});
  auto b = transposed_b ? k.input("B", type, {n, depth}) : k.input("B", type, {depth, n});
  auto c = k.output("C", type, {m, n});
  auto i = k.dim("m", m), j = k.dim("n", n), r = k.dim("k", depth, true);
  auto va = transposed_a ? read(a, {ref(r), ref(i)}) : read(a, {ref(i), ref(r)});
  auto vb = transposed_b ? read(b, {ref(j), ref(r)}) : read(b, {ref(r), ref(j)});
  k.add(make_op("S0", {i, j, r}, {{c, {ref(i), ref(j)}, kernel::mul(va, vb)}}, Combine::Add,
                identity));
  return k.program();
}

/// Tiles of a grid, with the last ones clipped: the bounds are minima.
Program tiled_matmul(std::int64_t n) {
  KernelMaker k("tiled");
  const std::int64_t m = n + 1, depth = 7, tm = 6, tn = 20;
  auto a = k.input("A", DType::Float32, {m, depth});
  auto b = k.input("B", DType::Float32, {depth, n});
  auto c = k.output("C", DType::Float32, {m, n});
  auto ti = k.var("ti"), tj = k.var("tj");
  k.kernel.grid = {{ti, 0, m, tm}, {tj, 0, n, tn}};
  const auto end = [&](const kernel::Var& t, std::int64_t step, std::int64_t extent) {
    return kernel::binary(BinaryOp::Min, kernel::add(kernel::var_ref(t), num(step)), num(extent));
  };
  auto i = k.dim("m", kernel::var_ref(ti), end(ti, tm, m), tm);
  auto j = k.dim("n", kernel::var_ref(tj), end(tj, tn, n), tn);
  auto r = k.dim("k", depth, true);
  k.add(make_op(
      "S0", {i, j, r},
      {{c, {ref(i), ref(j)}, kernel::mul(read(a, {ref(i), ref(r)}), read(b, {ref(r), ref(j)}))}},
      Combine::Add, true));
  return k.program();
}

Program map(std::int64_t n, DType from, DType to) {
  KernelMaker k("map");
  auto x = k.input("x", from, {n + 2, n + 3});
  auto y = k.output("y", to, {n, n + 1});
  auto i = k.dim("i", n), j = k.dim("j", n + 1);
  auto sum = kernel::add(read(x, {ref(i), ref(j)}),
                         read(x, {kernel::add(ref(i), num(2)), kernel::add(ref(j), num(1))}));
  const DType t = compute_type(to);
  auto value =
      kernel::add(kernel::cast(t, sum), kernel::cast(t, kernel::cast(DType::Int32, ref(j))));
  k.add(make_op("S0", {i, j}, {{y, {ref(i), ref(j)}, value}}));
  return k.program();
}

Program transpose(std::int64_t n) {
  KernelMaker k("transpose");
  auto x = k.input("x", DType::Float32, {n, 5}, {1, n + 4});
  auto y = k.output("y", DType::Float32, {5, n});
  auto i = k.dim("i", 5), j = k.dim("j", n);
  k.add(make_op("S0", {i, j},
                {{y, {ref(i), ref(j)}, read(x, {kernel::sub(num(n - 1), ref(j)), ref(i)})}}));
  return k.program();
}

Program row_reduce(std::int64_t n, DType type, Combine combine, bool identity) {
  KernelMaker k("rows");
  auto x = k.input("x", type, {5, n});
  auto y = k.output("y", type, {5});
  auto i = k.dim("i", 5), j = k.dim("j", n, true);
  k.add(make_op("S0", {i, j}, {{y, {ref(i)}, read(x, {ref(i), ref(j)})}}, combine, identity));
  return k.program();
}

Program column_reduce(std::int64_t n, Combine combine) {
  KernelMaker k("columns");
  auto x = k.input("x", DType::Float32, {9, n});
  auto y = k.output("y", DType::Float32, {n});
  auto i = k.dim("i", 9, true), j = k.dim("j", n);
  k.add(make_op("S0", {i, j}, {{y, {ref(j)}, read(x, {ref(i), ref(j)})}}, combine, true));
  return k.program();
}

Program arg_reduce(std::int64_t n, Combine combine, bool over_rows) {
  KernelMaker k("arg");
  auto x = k.input("x", DType::Float32, {7, n});
  auto v = k.output("v", DType::Float32, {over_rows ? n : 7});
  auto p = k.output("p", DType::Int32, {over_rows ? n : 7});
  auto i = k.dim("i", 7, over_rows), j = k.dim("j", n, !over_rows);
  const ExprPtr kept = over_rows ? ref(j) : ref(i);
  const ExprPtr position = kernel::cast(DType::Int32, over_rows ? ref(i) : ref(j));
  k.add(make_op("S0", {i, j}, {{v, {kept}, read(x, {ref(i), ref(j)})}, {p, {kept}, position}},
                combine, true));
  return k.program();
}

/// y(i) = sum of x(j) over j <= i; the order of dims puts the triangle's tip first.
Program triangle(std::int64_t n, bool identity) {
  KernelMaker k("triangle");
  auto x = k.input("x", DType::Float32, {n});
  auto y = k.output("y", DType::Float32, {n});
  auto i = k.dim("i", n);
  auto j = k.dim("j", num(0), kernel::add(ref(i), num(1)), n, true);
  k.add(make_op("S0", {i, j}, {{y, {ref(i)}, read(x, {ref(j)})}}, Combine::Add, identity));
  return k.program();
}

/// Bounds that follow another index on both sides: a band around the diagonal.
Program band(std::int64_t n) {
  KernelMaker k("band");
  auto a = k.input("A", DType::Float32, {n, 3});
  auto x = k.input("x", DType::Float32, {n, n});
  auto y = k.output("y", DType::Float32, {n, n});
  auto i = k.dim("i", n), j = k.dim("j", n);
  auto s = k.dim("s", kernel::binary(BinaryOp::Max, num(-1), kernel::sub(num(0), ref(i))),
                 kernel::binary(BinaryOp::Min, num(2), kernel::sub(num(n), ref(i))), 3, true);
  auto value = kernel::mul(read(a, {ref(i), kernel::add(ref(s), num(1))}),
                           read(x, {kernel::add(ref(i), ref(s)), ref(j)}));
  k.add(make_op("S0", {i, j, s}, {{y, {ref(i), ref(j)}, value}}, Combine::Add, true));
  return k.program();
}

/// A kept range that depends on the reduction: y(i) += x(r) for i < r.
Program inverted_triangle(std::int64_t n) {
  KernelMaker k("inverted");
  auto x = k.input("x", DType::Float32, {n});
  auto y = k.output("y", DType::Float32, {n});
  auto r = k.dim("r", n, true);
  auto i = k.dim("i", num(0), ref(r), n);
  k.add(make_op("S0", {r, i}, {{y, {ref(i)}, read(x, {ref(r)})}}, Combine::Add, false));
  return k.program();
}

Program conditions(std::int64_t n, bool identity) {
  KernelMaker k("conditions");
  auto x = k.input("x", DType::Float32, {n, 6});
  auto y = k.output("y", DType::Float32, {n});
  auto i = k.dim("i", n), j = k.dim("j", 9, true);
  auto even = kernel::binary(
      BinaryOp::Eq, kernel::binary(BinaryOp::FloorMod, kernel::add(ref(i), ref(j)), num(2)),
      num(0));
  auto inside = less(ref(j), num(6));
  auto some = less(ref(i), num(n - 1));
  k.add(make_op("S0", {i, j}, {{y, {ref(i)}, read(x, {ref(i), ref(j)})}}, Combine::Max, identity,
                {even, inside, some}));
  return k.program();
}

Program conditional_map(std::int64_t n) {
  KernelMaker k("guarded");
  auto x = k.input("x", DType::Int8, {n});
  auto y = k.output("y", DType::Int32, {n, 3});
  auto i = k.dim("i", n + 5), j = k.dim("j", 3);
  auto inside = less(kernel::add(ref(i), ref(j)), num(n));
  k.add(make_op("S0", {i, j}, {{y, {ref(i), ref(j)}, read(x, {kernel::add(ref(i), ref(j))})}},
                std::nullopt, false, {inside}));
  return k.program();
}

/// Padding: loads that carry their own guard.
Program padded(std::int64_t n) {
  KernelMaker k("padded");
  auto x = k.input("x", DType::Float32, {n, n});
  auto w = k.input("w", DType::Float32, {3, 3});
  auto y = k.output("y", DType::Float32, {n, n});
  auto h = k.dim("h", n), c = k.dim("w", n), p = k.dim("p", 3, true), q = k.dim("q", 3, true);
  auto row = kernel::sub(kernel::add(ref(h), ref(p)), num(1));
  auto column = kernel::sub(kernel::add(ref(c), ref(q)), num(1));
  const auto in = [&](const ExprPtr& e) {
    return kernel::binary(BinaryOp::And, kernel::binary(BinaryOp::Ge, e, num(0)), less(e, num(n)));
  };
  auto value = kernel::load(x, {row, column}, kernel::binary(BinaryOp::And, in(row), in(column)),
                            kernel::float_imm(2, DType::Float32));
  k.add(make_op("S0", {h, c, p, q},
                {{y, {ref(h), ref(c)}, kernel::mul(value, read(w, {ref(p), ref(q)}))}},
                Combine::Add, true));
  return k.program();
}

/// A guard that varies where the subscript does not: lanes off must see the replacement.
Program uniform_guard(std::int64_t n) {
  KernelMaker k("uniform");
  auto x = k.input("x", DType::Float32, {4});
  auto y = k.output("y", DType::Float32, {6, n});
  auto i = k.dim("i", 6), j = k.dim("j", n);
  auto on = kernel::binary(BinaryOp::And, less(ref(j), num(3)), less(ref(i), num(4)));
  auto value = kernel::load(x, {ref(i)}, on, kernel::float_imm(-9, DType::Float32));
  k.add(make_op("S0", {i, j}, {{y, {ref(i), ref(j)}, value}}));
  return k.program();
}

Program conv(std::int64_t n, std::int64_t stride) {
  KernelMaker k("conv");
  auto x = k.input("x", DType::Float32, {2, stride * n + 2, stride * 5 + 2});
  auto w = k.input("w", DType::Float32, {3, 2, 3, 2});
  auto y = k.output("y", DType::Float32, {3, n, 5});
  auto o = k.dim("o", 3), h = k.dim("h", n), c = k.dim("w", 5);
  auto q = k.dim("c", 2, true), p = k.dim("p", 3, true), r = k.dim("q", 2, true);
  const auto at = [&](const Dim& a, const Dim& b) {
    return kernel::add(kernel::mul(ref(a), num(stride)), ref(b));
  };
  auto value =
      kernel::mul(read(x, {ref(q), at(h, p), at(c, r)}), read(w, {ref(o), ref(q), ref(p), ref(r)}));
  k.add(make_op("S0", {o, h, c, q, p, r}, {{y, {ref(o), ref(h), ref(c)}, value}}, Combine::Add,
                true));
  return k.program();
}

/// y(i + j) += a(i) * b(j): points share elements.
Program convolution_sum(std::int64_t n, bool flags) {
  KernelMaker k("sums");
  auto a = k.input("a", DType::Float32, {n});
  auto b = k.input("b", DType::Float32, {4});
  auto y = k.output("y", DType::Float32, {n + 3});
  auto i = k.dim("i", n, flags), j = k.dim("j", 4, flags);
  k.add(make_op(
      "S0", {i, j},
      {{y, {kernel::add(ref(i), ref(j))}, kernel::mul(read(a, {ref(i)}), read(b, {ref(j)}))}},
      Combine::Add, false));
  return k.program();
}

/// Embedding gradient: rows given by an index tensor, columns affine.
Program scatter(std::int64_t n) {
  KernelMaker k("scatter");
  auto index = k.input("index", DType::Int32, {6});
  auto d = k.input("d", DType::Float32, {6, n});
  auto y = k.output("y", DType::Float32, {5, n});
  auto b = k.dim("b", 6, true), r = k.dim("r", n);
  auto row = kernel::cast(DType::Int64, read(index, {ref(b)}));
  auto inside =
      kernel::binary(BinaryOp::And, kernel::binary(BinaryOp::Ge, row, num(0)), less(row, num(5)));
  k.add(make_op("S0", {b, r}, {{y, {row, ref(r)}, read(d, {ref(b), ref(r)})}}, Combine::Add, false,
                {inside}));
  return k.program();
}

Program gather(std::int64_t n) {
  KernelMaker k("gather");
  auto index = k.input("index", DType::Int64, {n});
  auto t = k.input("t", DType::BFloat16, {4, n});
  auto y = k.output("y", DType::Float16, {n, 3});
  auto i = k.dim("i", n), j = k.dim("j", 3);
  auto row = read(index, {ref(i)});
  auto inside =
      kernel::binary(BinaryOp::And, kernel::binary(BinaryOp::Ge, row, num(0)), less(row, num(4)));
  auto value = kernel::load(t, {row, ref(i)}, inside, kernel::float_imm(1, DType::Float32));
  k.add(make_op("S0", {i, j},
                {{y, {ref(i), ref(j)}, kernel::mul(value, kernel::cast(DType::Float32, ref(j)))}}));
  return k.program();
}

Program four_bit(std::int64_t n) {
  KernelMaker k("nibbles");
  const std::int64_t row = (n + 1) / 2 * 2;
  auto x = k.input("x", DType::UInt4, {3, n}, {row, 1});
  auto y = k.output("y", DType::Int8, {3, n});
  auto i = k.dim("i", 3), j = k.dim("j", n);
  k.add(make_op(
      "S0", {i, j},
      {{y, {ref(i), ref(j)}, kernel::mul(read(x, {ref(i), ref(j)}), int_imm(3, DType::Int32))}}));
  return k.program();
}

Program to_four_bit(std::int64_t n) {
  KernelMaker k("to_nibbles");
  auto x = k.input("x", DType::Int8, {n});
  auto y = k.output("y", DType::Int4, {n});
  auto i = k.dim("i", n);
  k.add(make_op("S0", {i}, {{y, {ref(i)}, read(x, {ref(i)})}}));
  return k.program();
}

Program logical(std::int64_t n, Combine combine) {
  KernelMaker k("logical");
  auto x = k.input("x", DType::Int8, {3, n});
  auto y = k.output("y", DType::Bool, {3});
  auto i = k.dim("i", 3), j = k.dim("j", n, true);
  k.add(
      make_op("S0", {i, j},
              {{y,
                {ref(i)},
                kernel::binary(BinaryOp::Ne, read(x, {ref(i), ref(j)}), int_imm(2, DType::Int32))}},
              combine, true));
  return k.program();
}

Program scalar_sum(std::int64_t n) {
  KernelMaker k("total");
  auto x = k.input("x", DType::Float64, {n, 4});
  auto y = k.output("y", DType::Float64, {});
  auto i = k.dim("i", n, true), j = k.dim("j", 4, true);
  k.add(make_op("S0", {i, j}, {{y, {}, read(x, {ref(i), ref(j)})}}, Combine::Add, true));
  return k.program();
}

Program histogram(std::int64_t n) {
  KernelMaker k("histogram");
  auto x = k.input("x", DType::Int32, {n});
  auto y = k.output("y", DType::Int32, {9});
  auto i = k.dim("i", n, true);
  auto bin = kernel::add(kernel::cast(DType::Int64, read(x, {ref(i)})), num(3));
  k.add(make_op("S0", {i}, {{y, {bin}, int_imm(1, DType::Int32)}}, Combine::Add, false));
  return k.program();
}

}  // namespace

const std::vector<Example>& single_operations() {
  static const std::vector<Example> examples = {
      {"matmul", [](auto n) { return matmul(n, false, false, DType::Float32, true); }},
      {"matmul_ta_tb", [](auto n) { return matmul(n, true, true, DType::Float64, false); }},
      {"matmul_tb_bf16", [](auto n) { return matmul(n, false, true, DType::BFloat16, true); }},
      {"matmul_int8", [](auto n) { return matmul(n, true, false, DType::Int8, true); }},
      {"tiled_matmul", tiled_matmul},
      {"map_f32", [](auto n) { return map(n, DType::Float32, DType::Float32); }},
      {"map_i8_f16", [](auto n) { return map(n, DType::Int8, DType::Float16); }},
      {"map_u16_f64", [](auto n) { return map(n, DType::UInt16, DType::Float64); }},
      {"transpose", transpose},
      {"rows_add", [](auto n) { return row_reduce(n, DType::Float32, Combine::Add, true); }},
      {"rows_max_onto", [](auto n) { return row_reduce(n, DType::Float32, Combine::Max, false); }},
      {"rows_min_i64", [](auto n) { return row_reduce(n, DType::Int64, Combine::Min, true); }},
      {"rows_mul_i16", [](auto n) { return row_reduce(n, DType::Int16, Combine::Mul, true); }},
      {"rows_max_f16", [](auto n) { return row_reduce(n, DType::Float16, Combine::Max, true); }},
      {"columns_add", [](auto n) { return column_reduce(n, Combine::Add); }},
      {"columns_min", [](auto n) { return column_reduce(n, Combine::Min); }},
      {"argmax_rows", [](auto n) { return arg_reduce(n, Combine::ArgMax, false); }},
      {"argmin_columns", [](auto n) { return arg_reduce(n, Combine::ArgMin, true); }},
      {"triangle", [](auto n) { return triangle(n, true); }},
      {"triangle_onto", [](auto n) { return triangle(n, false); }},
      {"band", band},
      {"inverted_triangle", inverted_triangle},
      {"conditions", [](auto n) { return conditions(n, true); }},
      {"conditions_onto", [](auto n) { return conditions(n, false); }},
      {"conditional_map", conditional_map},
      {"padded", padded},
      {"uniform_guard", uniform_guard},
      {"conv", [](auto n) { return conv(n, 1); }},
      {"conv_stride2", [](auto n) { return conv(n, 2); }},
      {"convolution_sum", [](auto n) { return convolution_sum(n, false); }},
      {"convolution_sum_flags", [](auto n) { return convolution_sum(n, true); }},
      {"scatter", scatter},
      {"gather", gather},
      {"four_bit", four_bit},
      {"to_four_bit", to_four_bit},
      {"any", [](auto n) { return logical(n, Combine::Add); }},
      {"all", [](auto n) { return logical(n, Combine::Mul); }},
      {"scalar_sum", scalar_sum},
      {"histogram", histogram},
  };
  return examples;
}

}  // namespace tc::test
