// SPDX-License-Identifier: Apache-2.0
#include "recipe_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace tc::fuzz {

int any_depth(Random& r) {
  return static_cast<int>(r.weighted({15, 38, 34, 13}));
}

Class any_class(Random& r) {
  return r.pick<Class>({Class::Float, Class::Float, Class::Float, Class::Float, Class::Float,
                        Class::Float, Class::Integer, Class::Integer, Class::Integer, Class::Bool});
}

Left new_left(State& s, Random& r, Writer& w, int rank, std::int64_t limit) {
  Left left;
  left.tensor = s.fresh(r.percent(2) ? "y" : "v");
  w.hidden.insert(left.tensor);
  if (rank < 0) rank = static_cast<int>(r.weighted({8, 34, 34, 16, 8}));
  const std::size_t first = w.vars.size();
  for (int d = 0; d < rank; ++d) {
    const std::int64_t lo = r.percent(6) ? r.between(-3, 3) : 0;
    w.add_var(lo, lo + w.extent(true), true);
  }
  w.shrink_to(limit);
  for (std::size_t i = first; i < w.vars.size(); ++i) {
    IndexVar& var = w.vars[i];
    const std::int64_t length = var.hi - var.lo;
    std::int64_t begin = var.lo;
    std::string text = var.name;
    if (length > 0 && r.percent(4)) {
      const std::int64_t shift = r.between(1, 3);
      text = fmt::format("{}+{}", var.name, shift);
      begin += shift;
    } else if (length > 0 && r.percent(4)) {
      text = fmt::format("{}-{}", w.bound(var.hi - 1), var.name);
      begin = 0;
    }
    left.subscripts.push_back(text);
    left.begin.push_back(begin);
    left.extent.push_back(length);
  }
  return left;
}

void declare(State& s, Random& r, Writer& w, const Left& left, DType type, bool may_annotate,
             int output_percent) {
  TensorInfo info;
  info.name = left.tensor;
  info.type = type;
  info.begin = left.begin;
  info.extent = left.extent;
  info.is_output = r.percent(output_percent);
  if (info.is_output && may_annotate && r.percent(38)) {
    const DType given = r.percent(70) ? w.any_type() : type;
    std::vector<std::string> dims;
    for (std::int64_t extent : left.extent)
      dims.push_back(r.percent(12) ? s.fresh("H") : w.dim(extent, false));
    info.annotation = std::string(tc::name(given));
    if (!dims.empty()) info.annotation += fmt::format("({})", fmt::join(dims, ","));
    info.type = given;
  }
  s.tensors.push_back(info);
}

Left old_left(Random& r, Writer& w, const TensorInfo& tensor) {
  Left left{tensor.name, {}, tensor.begin, tensor.extent};
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    const std::int64_t begin = tensor.begin[d], extent = tensor.extent[d], end = begin + extent;
    switch (extent > 0 ? r.weighted({62, 12, 10, 6, 6, 4}) : 0) {
    case 0: left.subscripts.push_back(w.add_var(begin, end, true).name); break;
    case 1: {  // a part
      const std::int64_t lo = r.between(begin, end - 1);
      left.subscripts.push_back(w.add_var(lo, r.between(lo + 1, end), true).name);
      break;
    }
    case 2: left.subscripts.push_back(fmt::format("{}", r.between(begin, end - 1))); break;
    case 3: {  // every second one
      const std::int64_t offset = begin + (extent > 1 ? r.between(0, 1) : 0);
      const IndexVar& var = w.add_var(0, (end - 1 - offset) / 2 + 1, true);
      left.subscripts.push_back(fmt::format("2*{}+{}", var.name, offset));
      break;
    }
    case 4: {  // backwards
      const IndexVar& var = w.add_var(0, extent, true);
      left.subscripts.push_back(fmt::format("{}-{}", end - 1, var.name));
      break;
    }
    default: {  // shifted
      const std::int64_t shift = r.between(1, 2);
      const IndexVar& var = w.add_var(begin - shift, end - shift, true);
      left.subscripts.push_back(fmt::format("{}+{}", var.name, shift));
    }
    }
  }
  w.hidden.insert(tensor.name);
  return left;
}

int writable(State& s, Random& r, bool in_place) {
  std::vector<int> found;
  for (std::size_t i = 0; i < s.tensors.size(); ++i) {
    const TensorInfo& tensor = s.tensors[i];
    if (tensor.for_subscripts || (tensor.is_param && (!in_place || s.is_helper))) continue;
    // Both kinds of parameters: those that are returned already are the better ones.
    found.push_back(static_cast<int>(i));
  }
  if (found.empty()) return -1;
  const int chosen = r.pick(found);
  if (s.tensors[static_cast<std::size_t>(chosen)].is_param)
    s.tensors[static_cast<std::size_t>(chosen)].is_output = true;
  return chosen;
}

std::vector<std::size_t> positions(const Writer& w, bool on_left) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < w.vars.size(); ++i) {
    if (w.vars[i].on_left == on_left && !w.vars[i].is_for) result.push_back(i);
  }
  return result;
}

void make_triangle(Random& r, Writer& w, bool on_left) {
  const std::vector<std::size_t> candidates = positions(w, on_left);
  if (candidates.empty() || w.vars.size() < 2) return;
  IndexVar& var = w.vars[candidates.back()];
  std::vector<const IndexVar*> others;
  for (const IndexVar& other : w.vars) {
    if (&other != &var && other.lo == 0 && other.hi > 0 && (other.on_left || !on_left))
      others.push_back(&other);
  }
  if (var.lo != 0 || var.hi < 1 || others.empty()) return;
  const IndexVar& other = *r.pick(others);
  if (r.percent(60)) {
    // So that the last values of the other one leave nothing, or less.
    const std::int64_t shift = r.between(std::max<std::int64_t>(1, var.hi - other.hi + 2), var.hi);
    const std::int64_t slope =
        r.percent(50) ? r.between(1, 3) : var.hi / std::max<std::int64_t>(other.hi - 1, 1) + 1;
    switch (r.between(0, 3)) {
    case 0: var.range = fmt::format("{}+{}:{}", other.name, shift, w.bound(var.hi)); break;
    case 1: var.range = fmt::format("0:{}-{}*{}", w.bound(var.hi), slope, other.name); break;
    case 2: var.range = fmt::format("max({}-{}, 0):{}", other.name, shift, w.bound(var.hi)); break;
    default:
      var.range = fmt::format("{0}:min({0}+{1}, {2})", other.name, shift, w.bound(var.hi - 1));
    }
  } else if (other.hi <= var.hi && r.percent(60)) {
    var.range = fmt::format("0:{}+1", other.name);
  } else if (other.hi <= var.hi) {
    var.range = fmt::format("{}:{}", other.name, w.bound(var.hi));
  } else {
    var.range = fmt::format("0:min({}+1, {})", other.name, w.bound(var.hi));
  }
}

void add_reduction(Random& r, Writer& w, int count, std::int64_t limit) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = r.percent(20) ? r.between(-2, 5) : 0;
    w.add_var(begin, begin + (r.percent(4) ? 0 : w.extent()), false);
  }
  w.shrink_to(limit);
}

std::string read_over(State& s, Random& r, Writer& w, std::vector<std::size_t> variables,
                      DType type) {
  std::vector<std::int64_t> extents;
  std::vector<std::string> subscripts;
  while (!variables.empty()) {
    const auto at =
        static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(variables.size()) - 1));
    IndexVar& var = w.vars[variables[at]];
    variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(at));
    var.written = true;
    const std::int64_t shift = std::max<std::int64_t>(0, -var.lo);
    if (shift == 0 && var.lo == 0) var.settled = true;
    extents.push_back(std::max<std::int64_t>(0, var.hi + shift));
    subscripts.push_back(shift == 0 ? var.name : fmt::format("{}+{}", var.name, shift));
  }
  const std::string name = w.new_param(type, extents).name;
  (void)s;
  return subscripts.empty() ? name : fmt::format("{}({})", name, fmt::join(subscripts, ","));
}

}  // namespace tc::fuzz
