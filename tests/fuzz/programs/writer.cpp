// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace tc::fuzz {

/// `exists T(v)`: gives the variable its range without reading anything.
std::string Writer::exists(IndexVar& var) {
  for (const TensorInfo& tensor : s.tensors) {
    if (tensor.rank() == 1 && tensor.begin[0] == 0 && tensor.extent[0] == var.hi &&
        hidden.count(tensor.name) == 0)
      return fmt::format("exists {}({})", tensor.name, var.name);
  }
  if (!s.may_have_params) return {};
  return fmt::format("exists {}({})", new_param(DType::Float32, {var.hi}).name, var.name);
}

std::string Writer::comparison(const IndexVar& var) {
  const std::int64_t limit = r.pick<std::int64_t>(
      {var.lo, var.lo + 1, (var.lo + var.hi) / 2, var.hi - 2, var.hi - 1, var.hi - 1, var.hi});
  const std::string text = r.percent(50) ? std::to_string(limit) : bound(limit);
  const char* op = r.pick<const char*>({"<", "<", "<=", ">", ">="});
  if (r.percent(25)) return fmt::format("{} {} {}", text, op, var.name);
  return fmt::format("{} {} {}", var.name, op, text);
}

std::string Writer::condition() {
  std::vector<const IndexVar*> reduced;
  for (const IndexVar& var : vars) {
    if (!var.on_left && !var.is_for) reduced.push_back(&var);
  }
  if (reduced.empty()) return {};
  const IndexVar& a = *r.pick(reduced);
  const IndexVar& b = r.pick(vars);
  const std::int64_t middle = (a.lo + a.hi) / 2;
  switch (r.between(0, 9)) {
  case 0: return fmt::format("{} <= {}", a.name, &a == &b ? std::to_string(middle) : b.name);
  case 1: return fmt::format("{} % 2 == 0", a.name);
  case 2: return fmt::format("{} + {} < {}", a.name, b.name, middle + b.hi / 2 + 1);
  case 3: return fmt::format("{} != {}", a.name, middle);
  case 4: return fmt::format("{} < {} || {} > {}", a.name, middle, a.name, middle + 1);
  case 5: return fmt::format("({} - {}) % 3 != 1", a.name, b.name);
  case 6: return fmt::format("!({} > {})", a.name, middle);
  case 7: return fmt::format("{} + {} < {}", a.name, b.name, a.hi + b.hi - 2);
  default: return comparison(a);
  }
}

std::string Writer::clauses() {
  std::vector<std::string> list;
  for (IndexVar& var : vars) {
    if (var.is_for) continue;
    if (!var.range.empty()) {
      list.push_back(fmt::format("{} in {}", var.name, var.range));
      continue;
    }
    if (var.settled && !r.percent(10)) continue;
    if (var.written && !var.settled && r.percent(8)) continue;  // inference may know better
    if (var.lo == 0 && var.hi > 0 && r.percent(14)) {
      const std::string clause = exists(var);
      if (!clause.empty()) {
        list.push_back(clause);
        continue;
      }
    }
    list.push_back(fmt::format("{} in {}:{}", var.name, bound(var.lo), bound(var.hi)));
  }
  list.insert(list.end(), extra.begin(), extra.end());
  if (list.empty()) return {};
  return fmt::format(" where {}", fmt::join(list, ", "));
}

std::string Writer::left(const std::string& tensor, const std::vector<std::string>& subscripts) {
  if (subscripts.empty()) return tensor + (r.percent(50) ? "()" : "");
  return fmt::format("{}({})", tensor, fmt::join(subscripts, ","));
}

std::string Writer::finish(const std::string& left, const std::string& op,
                           const std::string& value) {
  std::string equivalent;
  if (r.percent(2)) {
    for (const TensorInfo& tensor : s.tensors) {
      if (tensor.is_param && hidden.count(tensor.name) == 0) {
        equivalent = fmt::format(" <=> {}({})", r.percent(50) ? "library" : "conv2d", tensor.name);
        break;
      }
    }
  }
  const bool sum = op == "+=" || op == "+=!" || op == "*=!" || op == "*=";
  if (op != "=" && r.percent(sum ? 20 : 6)) {
    const std::string text = condition();
    if (!text.empty()) extra.push_back(text);
  }
  return fmt::format("{} {} {}{}{}", left, op, value, equivalent, clauses());
}

}  // namespace tc::fuzz
