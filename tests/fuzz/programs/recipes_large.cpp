// SPDX-License-Identifier: Apache-2.0
//
// Statements that are large enough for what the compiler does to large ones only.
#include <fmt/format.h>

#include <algorithm>

#include "recipe_parts.h"
#include "recipes.h"

namespace tc::fuzz {

namespace {

/// `A(i,k)` or `A(k,i)`, perhaps with a batch index in front, or a row of a window: `A(i+k)`.
std::string factor(Random& r, Writer& w, DType type, const IndexVar& outer, const IndexVar& inner,
                   const std::string& batch, std::int64_t batches) {
  if (batch.empty() && r.percent(12)) {
    const std::string name = w.new_param(type, {outer.hi + inner.hi - 1}).name;
    return fmt::format("{}({}+{})", name, outer.name, inner.name);
  }
  std::vector<std::string> subscripts = {outer.name, inner.name};
  std::vector<std::int64_t> extents = {outer.hi, inner.hi};
  if (r.percent(50)) {
    std::swap(subscripts[0], subscripts[1]);
    std::swap(extents[0], extents[1]);
  }
  if (!batch.empty()) {
    subscripts.insert(subscripts.begin(), batch);
    extents.insert(extents.begin(), batches);
  }
  return fmt::format("{}({})", w.new_param(type, extents).name, fmt::join(subscripts, ","));
}

}  // namespace

void write_large_product(State& s, Random& r) {
  // One is enough: the interpreter runs every point of it.
  if (!s.may_have_params || s.is_helper || s.has_large) return write_contract(s, r);
  s.has_large = s.whole_tiles = true;
  Writer w(s, r);
  const std::string name = s.fresh("v");
  w.hidden.insert(name);
  const std::int64_t batches = r.percent(15) ? 2 : 1;
  const std::int64_t points = r.between(115'000, 190'000) / batches;
  const std::int64_t k =
      r.pick<std::int64_t>({16, 17, 31, 32, 48, 63, 64, 65, 96, 130, 257, 420, 600});
  const std::int64_t m =
      std::min<std::int64_t>(r.pick<std::int64_t>({8, 9, 13, 16, 24, 31, 48, 50, 65}), points / k);
  const std::int64_t n = std::max<std::int64_t>(1, points / (k * m));
  if (batches > 1) w.add_var(0, batches, true);
  w.add_var(0, m, true);
  w.add_var(0, n, true);
  w.add_var(0, k, false);
  const std::size_t first = batches > 1 ? 1 : 0;
  const std::string batch = batches > 1 ? w.vars[0].name : "";
  const Class of = r.percent(80) ? Class::Float : Class::Integer;
  const DType type = w.type_of_class(of);
  const DType other = r.percent(75) ? type : w.type_of_class(of);
  const auto usable = [](DType given) { return given == DType::UInt64 ? DType::Int64 : given; };
  const IndexVar row = w.vars[first], column = w.vars[first + 1], inner = w.vars[first + 2];
  const std::string a = factor(r, w, usable(type), row, inner, batch, batches);
  const std::string b = factor(r, w, usable(other), column, inner, batch, batches);
  Left left{name, {}, {}, {}};
  for (IndexVar& var : w.vars) {
    var.written = true;
    if (!var.on_left) continue;
    left.subscripts.push_back(var.name);
    left.begin.push_back(0);
    left.extent.push_back(var.hi);
  }
  s.body.push_back(
      w.finish(w.left(name, left.subscripts), "+=!",
               r.percent(50) ? fmt::format("{} * {}", a, b) : fmt::format("{} * {}", b, a)));
  declare(s, r, w, left, of == Class::Float ? DType::Float32 : DType::Int32, true, 80);
}

void write_transpose(State& s, Random& r) {
  if (!s.may_have_params) return write_copy(s, r);
  Writer w(s, r);
  const std::string name = s.fresh("v");
  w.hidden.insert(name);
  s.whole_tiles = true;
  // Rows of the source are far apart in memory: that is when the compiler copies by blocks.
  const std::int64_t rows = r.pick<std::int64_t>({129, 150, 257, 300, 530});
  const std::int64_t columns = r.pick<std::int64_t>({16, 17, 31, 33, 64, 65, 97});
  const bool batched = r.percent(30);
  if (batched) w.add_var(0, r.between(1, 3), true);
  w.add_var(0, rows, true);
  w.add_var(0, columns, true);
  const Class of = r.percent(70) ? Class::Float : Class::Integer;
  const DType type = w.type_of_class(of);
  std::vector<std::string> from;
  std::vector<std::int64_t> extents;
  Left left{name, {}, {}, {}};
  for (IndexVar& var : w.vars) {
    var.settled = var.written = true;
    from.push_back(var.name);
    extents.push_back(var.hi);
    left.subscripts.push_back(var.name);
    left.begin.push_back(0);
    left.extent.push_back(var.hi);
  }
  const std::size_t last = from.size() - 1;
  std::swap(from[last - 1], from[last]);
  std::swap(extents[last - 1], extents[last]);
  std::string value = fmt::format("{}({})", w.new_param(type, extents).name, fmt::join(from, ","));
  if (type == DType::UInt64) value = fmt::format("int64({})", value);
  if (r.percent(40))
    value = fmt::format("{} {} {}", value, r.pick<const char*>({"+", "*"}),
                        r.percent(50) ? w.literal(of) : w.expr(of, 0));
  s.body.push_back(w.finish(w.left(name, left.subscripts), "=", value));
  declare(s, r, w, left, of == Class::Float ? DType::Float32 : DType::Int32, true, 80);
}

}  // namespace tc::fuzz
