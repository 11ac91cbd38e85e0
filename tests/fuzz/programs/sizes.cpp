// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "writer.h"

namespace tc::fuzz {

std::int64_t Writer::extent(bool may_be_empty) {
  if (may_be_empty && r.percent(2)) return 0;
  if (!s.sizes.empty() && r.percent(55)) {
    const std::int64_t known = r.pick(s.sizes).second;
    if (known > 0) return known;
  }
  // Around the widths of vectors, and odd.
  return r.pick<std::int64_t>({1,  1,  2,  2,  3,  3,  4,  4,   5,   5,   6,  7,  7,
                               8,  8,  9,  10, 11, 13, 15, 16,  16,  17,  19, 23, 31,
                               32, 33, 47, 63, 64, 65, 97, 127, 128, 129, 257});
}

std::string Writer::bound(std::int64_t value) {
  std::vector<std::string> forms = {std::to_string(value), std::to_string(value)};
  for (const auto& [name, size] : s.sizes) {
    if (size == value) {
      for (int i = 0; i < 4; ++i)
        forms.push_back(name);
      continue;
    }
    if (std::abs(size - value) <= 3)
      forms.push_back(size < value ? fmt::format("{}+{}", name, value - size)
                                   : fmt::format("{}-{}", name, size - value));
    if (size / 2 == value) forms.push_back(name + "/2");
    if (value != 0 && size * 2 == value) forms.push_back("2*" + name);
    if (size > value && value > 0) {
      forms.push_back(fmt::format("min({}, {})", name, value));
      if (size % 8 == value) forms.push_back(name + " % 8");
    }
    if (size < value && r.percent(30)) forms.push_back(fmt::format("max({}, {})", name, value));
  }
  for (const TensorInfo& tensor : s.tensors) {
    for (std::size_t d = 0; d < tensor.rank(); ++d) {
      if (tensor.extent[d] == value && hidden.count(tensor.name) == 0 &&
          (tensor.is_param || r.percent(50)))
        forms.push_back(fmt::format("{}.{}", tensor.name, d));
    }
  }
  for (const ConstInfo& constant : s.consts) {
    if (is_integer(constant.type) && constant.value.integer == value)
      forms.push_back(constant.name);
  }
  return r.pick(forms);
}

std::string Writer::dim(std::int64_t value, bool may_declare) {
  std::vector<std::string> forms;
  for (const auto& [name, size] : s.sizes) {
    if (size == value) {
      for (int i = 0; i < 5; ++i)
        forms.push_back(name);
    }
    if (size > 0 && size * 2 == value) forms.push_back(fmt::format("2*{}", name));
    if (size + 1 == value) forms.push_back(name + "+1");
    if (size + 2 == value) forms.push_back(name + " + 2");
    if (size / 2 == value) forms.push_back(name + "/2");
  }
  forms.push_back(std::to_string(value));
  if (may_declare && (forms.size() == 1 ? r.percent(80) : r.percent(15))) {
    const std::string name = s.fresh("N");
    s.sizes.emplace_back(name, value);
    return name;
  }
  return r.pick(forms);
}

DType Writer::any_type() {
  return static_cast<DType>(r.between(0, kNumDTypes - 1));
}

DType Writer::type_of_class(Class wanted) {
  using enum DType;
  switch (wanted) {
  case Class::Float:
    return r.pick<DType>({Float32, Float32, Float32, Float32, Float32, Float64, Float16, BFloat16,
                          Float8E4M3FN, Float8E5M2});
  case Class::Integer:
    return r.pick<DType>({Int32, Int32, Int32, Int64, Int8, Int8, Int16, UInt8, UInt16, UInt32,
                          UInt64, Int4, UInt4});
  case Class::Bool: return Bool;
  }
  return Float32;
}

IndexVar& Writer::add_var(std::int64_t lo, std::int64_t hi, bool on_left) {
  IndexVar var;
  var.name = s.fresh(on_left ? "i" : "r_");
  var.lo = lo;
  var.hi = hi;
  var.on_left = on_left;
  vars.push_back(var);
  return vars.back();
}

std::int64_t Writer::points() const {
  std::int64_t result = 1;
  for (const IndexVar& var : vars)
    result *= std::max<std::int64_t>(1, var.hi - var.lo);
  return result;
}

void Writer::shrink_to(std::int64_t limit) {
  while (points() > limit) {
    IndexVar* largest = nullptr;
    for (IndexVar& var : vars) {
      if (!var.is_for && (largest == nullptr || var.hi - var.lo > largest->hi - largest->lo))
        largest = &var;
    }
    if (largest == nullptr || largest->hi - largest->lo <= 1) return;
    // Towards a size that exists already, so that dims keep meeting each other.
    std::int64_t length = (largest->hi - largest->lo) / 2;
    for (const auto& [name, size] : s.sizes) {
      if (size > 0 && size <= length && size * 3 > length) length = size;
    }
    largest->hi = largest->lo + length;
  }
}

}  // namespace tc::fuzz
