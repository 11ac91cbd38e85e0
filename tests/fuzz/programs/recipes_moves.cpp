// SPDX-License-Identifier: Apache-2.0
//
// Statements that move elements: what one kernel writes another reads at other positions.
#include <fmt/format.h>

#include <algorithm>

#include "recipe_parts.h"
#include "recipes.h"

namespace tc::fuzz {

namespace {

std::string access(const std::string& tensor, const std::vector<std::string>& subscripts) {
  return fmt::format("{}({})", tensor, fmt::join(subscripts, ","));
}

/// A value of the next stage at `at`, from the stage before.
std::string moved(Random& r, const std::string& before, const std::vector<std::string>& at,
                  const std::vector<std::int64_t>& extents) {
  const auto d = static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(at.size()) - 1));
  const std::int64_t n = extents[d];
  const auto with = [&](const std::string& subscript) {
    std::vector<std::string> subscripts = at;
    subscripts[d] = subscript;
    return access(before, subscripts);
  };
  switch (r.between(0, 4)) {
  case 0: return with(fmt::format("{}-{}", n - 1, at[d]));
  case 1: return with(fmt::format("({}+{}) % {}", at[d], r.between(1, n), n));
  case 2:
    return fmt::format("{} + {}", with(fmt::format("max({}-1, 0)", at[d])),
                       with(fmt::format("min({}+1, {})", at[d], n - 1)));
  case 3:
    return fmt::format("{} - pad({}, 0)", with(at[d]),
                       with(fmt::format("{}-{}", at[d], r.between(1, 2))));
  default: return with(fmt::format("{}", r.between(0, n - 1)));
  }
}

}  // namespace

void write_chain(State& s, Random& r) {
  Writer w(s, r);
  const Left first = new_left(s, r, w, static_cast<int>(r.between(1, 2)), 600);
  if (std::any_of(first.extent.begin(), first.extent.end(), [](auto n) { return n < 1; }) ||
      std::any_of(first.begin.begin(), first.begin.end(), [](auto b) { return b != 0; }))
    return write_assign(s, r);
  const Class of = r.percent(70) ? Class::Float : Class::Integer;
  const DType type = of == Class::Float ? DType::Float32 : DType::Int32;
  s.body.push_back(w.finish(w.left(first.tensor, first.subscripts), "=", w.expr(of, 1)));
  declare(s, r, w, first, type, false, 10);
  std::string before = first.tensor;
  std::vector<std::int64_t> extents = first.extent;
  const std::int64_t stages = r.between(2, 4);
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    Writer next(s, r);
    Left left{s.fresh("v"), {}, {}, extents};
    left.begin.assign(extents.size(), 0);
    next.hidden.insert(left.tensor);
    for (const std::int64_t extent : extents)
      left.subscripts.push_back(next.add_var(0, extent, true).name);
    const std::string text = next.left(left.tensor, left.subscripts);
    if (r.percent(20)) {
      // A row of the stage before, summed up to the position.
      const std::string inner = next.add_var(0, extents.back(), false).name;
      next.vars.back().range = fmt::format("0:{}+1", left.subscripts.back());
      std::vector<std::string> at = left.subscripts;
      at.back() = inner;
      s.body.push_back(
          next.finish(text, r.pick<const char*>({"+=!", "max=!"}), access(before, at)));
    } else {
      std::string value = moved(r, before, left.subscripts, extents);
      if (r.percent(40)) value = fmt::format("({}) + {}", value, next.expr(of, 0));
      if (of == Class::Float && r.percent(50)) value = fmt::format("({}) * 0.5", value);
      s.body.push_back(next.finish(text, "=", value));
    }
    declare(s, r, next, left, type, false, stage + 1 == stages ? 100 : 10);
    before = left.tensor;
  }
}

void write_replace(State& s, Random& r) {
  if (!s.may_have_params || s.is_helper) return write_update(s, r);
  Writer w(s, r);
  const Class of = r.percent(70) ? Class::Float : Class::Integer;
  DType type = w.type_of_class(of);
  if (type == DType::UInt64) type = DType::Int32;
  std::vector<std::int64_t> extents = {w.extent()};
  if (r.percent(50)) extents.push_back(std::min<std::int64_t>(w.extent(), 2000 / extents[0] + 1));
  TensorInfo& info = w.new_param(type, extents);
  info.is_output = true;
  const std::string state = info.name, name = s.fresh("v");
  w.hidden.insert({state, name});
  Writer back(s, r);
  back.hidden = w.hidden;
  std::vector<std::string> at, again;
  for (const std::int64_t extent : extents) {
    at.push_back(w.add_var(0, extent, true).name);
    again.push_back(back.add_var(0, extent, true).name);
  }
  std::string value = moved(r, state, at, extents);
  if (r.percent(50)) value = fmt::format("{} + {}", value, moved(r, state, at, extents));
  s.body.push_back(w.finish(access(name, at), "=", value));
  value = access(name, again);
  if (r.percent(35)) value = fmt::format("{} - {}", value, access(state, again));
  if (r.percent(30)) value = fmt::format("{} + {}", value, back.expr(of, 0));
  if (of == Class::Float && r.percent(50)) value = fmt::format("({}) * 0.5", value);
  s.body.push_back(back.finish(access(state, again), "=", value));
  declare(s, r, w, Left{name, at, std::vector<std::int64_t>(extents.size(), 0), extents},
          of == Class::Float ? DType::Float32 : DType::Int32, false, 40);
}

void write_reshape(State& s, Random& r) {
  if (!s.may_have_params) return write_copy(s, r);
  Writer w(s, r);
  const std::string name = s.fresh("v");
  w.hidden.insert(name);
  const std::int64_t block = r.pick<std::int64_t>({2, 2, 3, 4, 4, 5, 8, 8, 16});
  const std::int64_t blocks = r.between(2, 200 / block + 2);
  const std::int64_t shift = r.pick<std::int64_t>({0, 0, 1, 1, block / 2, block - 1});
  const std::int64_t rows = r.percent(40) ? r.between(1, 9) : 0;
  const Class of = r.percent(70) ? Class::Float : Class::Integer;
  DType type = w.type_of_class(of);
  if (type == DType::UInt64) type = DType::Int64;
  Left left{name, {}, {}, {}};
  std::vector<std::string> from;
  std::vector<std::int64_t> extents;
  const auto add = [&](std::int64_t extent) {
    IndexVar& var = w.add_var(0, extent, true);
    var.written = true;
    left.subscripts.push_back(var.name);
    left.begin.push_back(0);
    left.extent.push_back(extent);
    return var.name;
  };
  if (rows > 0) {
    from.push_back(add(rows));
    extents.push_back(rows);
  }
  if (r.percent(65)) {
    const std::string i = add(block * blocks - shift);
    const std::string position = shift == 0 ? i : fmt::format("({}+{})", i, shift);
    std::vector<std::string> parts = {fmt::format("{}/{}", position, block),
                                      fmt::format("{} % {}", position, block)};
    std::vector<std::int64_t> sizes = {blocks, block};
    if (r.percent(30)) {
      std::swap(parts[0], parts[1]);
      std::swap(sizes[0], sizes[1]);
    }
    if (r.percent(30)) {
      // Each element of a block alike, or each block.
      if (r.between(0, 1) == 0) {
        std::swap(parts[0], parts[1]);
        std::swap(sizes[0], sizes[1]);
      }
      parts.pop_back();
      sizes.pop_back();
    }
    from.insert(from.end(), parts.begin(), parts.end());
    extents.insert(extents.end(), sizes.begin(), sizes.end());
  } else {
    const std::string i = add(blocks), j = add(block);
    from.push_back(shift == 0 ? fmt::format("{}*{}+{}", block, i, j)
                              : fmt::format("{}*{}+{}+{}", block, i, j, shift));
    extents.push_back(block * blocks + shift);
  }
  std::string value = access(w.new_param(type, extents).name, from);
  if (r.percent(30)) value = fmt::format("{} + {}", value, w.expr(of, 0));
  s.body.push_back(w.finish(w.left(name, left.subscripts), "=", value));
  declare(s, r, w, left, of == Class::Float ? DType::Float32 : DType::Int32, true, 75);
}

}  // namespace tc::fuzz
