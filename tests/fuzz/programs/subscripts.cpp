// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tc/support/numeric.h"
#include "writer.h"

namespace tc::fuzz {

namespace {

std::string plus(const std::string& text, std::int64_t constant) {
  if (constant == 0) return text;
  return constant > 0 ? fmt::format("{}+{}", text, constant)
                      : fmt::format("{}-{}", text, -constant);
}

}  // namespace

IndexVar* Writer::any_var() {
  if (vars.empty()) return nullptr;
  IndexVar& var =
      vars[static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(vars.size()) - 1))];
  var.written = true;
  return &var;
}

/// A use of the variable alone; it settles the range if inference finds just that.
std::string Writer::bare(IndexVar& var, std::int64_t begin, std::int64_t extent, bool counts) {
  var.written = true;
  if (counts && begin <= 0 && var.lo == 0 && var.hi == begin + extent) var.settled = true;
  return var.name;
}

std::string Writer::subscript(std::int64_t begin, std::int64_t extent) {
  const std::int64_t end = begin + extent;
  const auto fits = [&](std::int64_t lo, std::int64_t hi) { return lo >= begin && hi < end; };
  std::vector<IndexVar*> whole, inside;
  for (IndexVar& var : vars) {
    if (var.hi <= var.lo) continue;
    if (var.lo == begin && var.hi == end) whole.push_back(&var);
    if (fits(var.lo, var.hi - 1)) inside.push_back(&var);
  }
  if (!whole.empty() && r.percent(60)) return bare(*r.pick(whole), begin, extent, true);
  for (int attempt = 0; attempt < 12 && !vars.empty(); ++attempt) {
    IndexVar& v = *any_var();
    IndexVar& w = *any_var();
    const std::int64_t lo = v.lo, hi = std::max(v.lo, v.hi - 1);
    const std::int64_t wlo = w.lo, whi = std::max(w.lo, w.hi - 1);
    switch (r.between(0, 11)) {
    case 0:
    case 1:
      if (!inside.empty()) return bare(*r.pick(inside), begin, extent, true);
      break;
    case 2:
    case 3: {  // v + c
      const std::int64_t least = begin - lo, most = end - 1 - hi;
      if (least <= most) return plus(v.name, r.between(least, most));
      break;
    }
    case 4: {  // c - v
      const std::int64_t least = begin + hi, most = end - 1 + lo;
      if (least <= most) {
        const std::int64_t c = r.percent(60) ? most : r.between(least, most);
        return fmt::format("{}-{}", bound(c), v.name);
      }
      break;
    }
    case 5: {  // a * v + c
      const std::int64_t a = r.pick<std::int64_t>({2, 2, 3});
      const std::int64_t least = begin - a * lo, most = end - 1 - a * hi;
      if (least <= most) return plus(fmt::format("{}*{}", a, v.name), r.between(least, most));
      break;
    }
    case 6:
    case 7: {  // v + w + c
      if (&v == &w) break;
      const std::int64_t a = r.pick<std::int64_t>({1, 1, 1, 2});
      const std::int64_t least = begin - a * lo - wlo, most = end - 1 - a * hi - whi;
      if (least > most) break;
      const std::string first = a == 1 ? v.name : fmt::format("{}*{}", a, v.name);
      return plus(fmt::format("{}+{}", first, w.name), r.between(least, most));
    }
    case 8: {  // v - w + c
      if (&v == &w) break;
      const std::int64_t least = begin - lo + whi, most = end - 1 - hi + wlo;
      if (least <= most) return plus(fmt::format("{}-{}", v.name, w.name), r.between(least, most));
      break;
    }
    case 9: {  // division, remainder
      const std::int64_t a = r.pick<std::int64_t>({2, 2, 3, 4, 4, 7, 8, 16});
      const std::int64_t c = r.between(-3, 4);
      const bool falls = r.percent(25);
      const std::string sum = falls ? fmt::format("{}-{}", hi + c, v.name) : plus(v.name, c);
      const std::int64_t least = falls ? c : lo + c, most = falls ? hi + c - lo : hi + c;
      if (r.percent(50) && fits(floor_div(least, a), floor_div(most, a)))
        return c == 0 && !falls && r.percent(70) ? fmt::format("{}/{}", v.name, a)
                                                 : fmt::format("({})/{}", sum, a);
      if (begin <= 0 && extent >= 2 && end >= 2) {
        const std::int64_t m =
            a <= end && r.percent(60) ? a : r.between(1, std::min<std::int64_t>(end, 9));
        return fmt::format("({}) % {}", sum, m);
      }
      break;
    }
    case 10:  // clamped
      if (extent > 0)
        return fmt::format("min(max({}, {}), {})", plus(v.name, r.between(-2, 2)), begin,
                           r.percent(50) ? std::to_string(end - 1) : bound(end - 1));
      break;
    case 11:
      if (extent > 0 && r.percent(40)) return gathered_subscript();
      break;
    }
  }
  if (!inside.empty()) return bare(*r.pick(inside), begin, extent, true);
  if (r.percent(20)) return bound(r.percent(50) ? begin : end - 1);
  return std::to_string(r.between(begin, end - 1));
}

std::string Writer::wild_subscript() {
  IndexVar* v = any_var();
  IndexVar* w = any_var();
  if (v == nullptr) return std::to_string(r.between(-2, 3));
  const std::int64_t c = r.between(-3, 3);
  switch (r.between(0, 6)) {
  case 6: return fmt::format("({}-{})/{}", r.between(0, v->hi + 2), v->name, r.between(2, 4));
  case 0: return plus(v->name, -r.between(1, 3));
  case 1: return v == w ? plus("2*" + v->name, c) : plus(v->name + "+" + w->name, c);
  case 2: return v == w ? plus(v->name, c) : plus(v->name + "-" + w->name, c);
  case 3: return fmt::format("{}-{}", r.between(0, v->hi + 2), v->name);
  case 4: return fmt::format("({})/2", plus(v->name, c));
  default: return plus(v->name, c);
  }
}

/// A position from an integer tensor over some of the variables.
std::string Writer::gathered_subscript() {
  std::string text;
  const TensorInfo* known = r.percent(60) ? readable(Class::Integer, true) : nullptr;
  if (known != nullptr && known->rank() <= 2) {
    text = known->name;
    std::vector<std::string> subscripts;
    for (std::size_t d = 0; d < known->rank(); ++d) {
      std::string found;
      for (IndexVar& var : vars) {
        if (var.lo >= known->begin[d] && var.hi <= known->begin[d] + known->extent[d])
          found = bare(var, known->begin[d], known->extent[d], true);
      }
      subscripts.push_back(found.empty() ? std::to_string(known->begin[d]) : found);
    }
    return fmt::format("{}({})", known->name, fmt::join(subscripts, ","));
  }
  if (!s.may_have_params || vars.empty()) return "0";
  const DType type = r.pick<DType>({DType::Int32, DType::Int32, DType::Int32, DType::Int64,
                                    DType::Int16, DType::UInt8, DType::Int8, DType::UInt32});
  text = read_new(type);
  s.tensors.back().for_subscripts = true;
  return text;
}

const TensorInfo* Writer::readable(Class wanted, bool subscripts) {
  std::vector<const TensorInfo*> found;
  for (const TensorInfo& tensor : s.tensors) {
    if (class_of(tensor.type) != wanted || hidden.count(tensor.name) != 0) continue;
    if (tensor.for_subscripts != subscripts) continue;
    if (std::any_of(tensor.extent.begin(), tensor.extent.end(),
                    [](std::int64_t extent) { return extent == 0; }))
      continue;
    found.push_back(&tensor);
  }
  return found.empty() ? nullptr : r.pick(found);
}

std::string Writer::read(const TensorInfo& tensor) {
  if (tensor.rank() == 0) return tensor.name + (r.percent(30) ? "()" : "");
  // Copied: subscripts may add parameters, which moves the tensors.
  const TensorInfo known = tensor;
  std::vector<std::string> subscripts;
  for (std::size_t d = 0; d < known.rank(); ++d)
    subscripts.push_back(subscript(known.begin[d], known.extent[d]));
  return fmt::format("{}({})", known.name, fmt::join(subscripts, ","));
}

TensorInfo& Writer::new_param(DType type, const std::vector<std::int64_t>& extents) {
  TensorInfo info;
  info.name = s.fresh("T");
  info.type = type;
  info.extent = extents;
  info.begin.assign(extents.size(), 0);
  info.is_param = true;
  std::vector<std::string> dims;
  for (std::int64_t extent : extents)
    dims.push_back(dim(extent, true));
  std::string spelling(tc::name(type));
  if (r.percent(60)) {
    if (type == DType::Float32) spelling = "float";
    if (type == DType::Float64) spelling = "double";
    if (type == DType::Float16) spelling = "half";
  }
  const std::string shape = dims.empty() ? "" : fmt::format("({})", fmt::join(dims, ","));
  s.declarations.push_back(fmt::format("{}{} {}", spelling, shape, info.name));
  s.tensors.push_back(info);
  return s.tensors.back();
}

std::string Writer::read_new(DType type) {
  std::vector<IndexVar*> open;
  for (IndexVar& var : vars) {
    if (var.lo >= -4 && var.hi > var.lo) open.push_back(&var);
  }
  std::vector<std::int64_t> extents;
  std::vector<std::string> subscripts;
  const std::int64_t rank = open.empty() ? (r.percent(70) ? 0 : 1) : r.between(1, 3);
  std::int64_t elements = 1;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (open.empty()) {
      if (!vars.empty() && d > 0) break;
      extents.push_back(r.between(1, 5));
      subscripts.push_back(std::to_string(r.between(0, extents.back() - 1)));
      break;
    }
    const auto at =
        static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(open.size()) - 1));
    IndexVar& v = *open[at];
    if (!r.percent(8)) open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    v.written = true;
    IndexVar* w = r.percent(18) ? any_var() : nullptr;
    std::int64_t size = v.hi;
    std::string text = v.name;
    if (w != nullptr && w != &v && v.lo >= 0 && w->lo >= 0 && w->hi > w->lo) {
      size = v.hi + w->hi - 1;
      text = fmt::format("{}+{}", v.name, w->name);
    } else if (r.percent(12)) {
      size = 2 * (v.hi - 1) + 2;
      text = plus("2*" + v.name, v.lo < 0 ? -2 * v.lo : r.between(0, 1));
      if (v.lo < 0) size -= 2 * v.lo;
    } else if (v.lo < 0 || r.percent(12)) {
      const std::int64_t shift = std::max(-v.lo, r.between(0, 2));
      size = v.hi + shift;
      text = plus(v.name, shift);
    } else {
      v.settled = v.settled || v.lo == 0;
    }
    if (elements * size > 20000) break;
    elements *= size;
    extents.push_back(size);
    subscripts.push_back(text);
  }
  const TensorInfo& info = new_param(type, extents);
  if (extents.empty()) return info.name;
  return fmt::format("{}({})", info.name, fmt::join(subscripts, ","));
}

std::string Writer::read(Class wanted) {
  const TensorInfo* known = readable(wanted, false);
  if (known != nullptr && (!s.may_have_params || r.percent(s.tensors.size() > 6 ? 85 : 55)))
    return read(*known);
  if (!s.may_have_params) return literal(wanted);
  return read_new(type_of_class(wanted));
}

}  // namespace tc::fuzz
