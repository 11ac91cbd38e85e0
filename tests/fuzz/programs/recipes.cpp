// SPDX-License-Identifier: Apache-2.0
#include "recipes.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipe_parts.h"

namespace tc::fuzz {

namespace {

DType guess(Class of) {
  switch (of) {
  case Class::Float: return DType::Float32;
  case Class::Integer: return DType::Int32;
  case Class::Bool: return DType::Bool;
  }
  return DType::Float32;
}

std::string reduction_operator(Random& r, Class of, bool fresh) {
  std::string op = of == Class::Bool ? r.pick<const char*>({"+=", "min=", "max="})
                   : fresh           ? r.pick<const char*>({"+=", "+=", "+=", "min=", "max=", "*="})
                           : r.pick<const char*>({"+=", "+=", "min=", "max=", "*=", "*="});
  return fresh ? op + "!" : op;
}

/// A product that overflows depends on the order of its factors (infinity times zero), which is
/// free; so factors of long products stay small. Products of integers wrap, unless they are
/// accumulated onto a float.
std::string tame_factor(Random& r, const std::string& op, Class of, const std::string& value) {
  if (op[0] != '*' || of == Class::Bool) return value;
  if (of == Class::Integer) {
    return op == "*=" ? fmt::format("max(min({}, 1), -1)", value) : value;
  }
  return fmt::format("max(min({}, {}), -1.0)", value, r.pick<const char*>({"1.0", "0.9"}));
}

/// Some of the values replaced by the identity of the extremum, such as scores behind a causal
/// mask; a row may have nothing else.
std::string masked(Random& r, Writer& w, const std::string& value, const char* identity) {
  if (w.vars.empty()) return value;
  const IndexVar& a =
      w.vars[static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(w.vars.size()) - 1))];
  const IndexVar& b = w.vars.back();
  const std::string other = &a == &b ? std::to_string(r.between(b.lo, b.hi)) : a.name;
  if (r.percent(30))
    return fmt::format("({0} > {1} ? {0} : {2})", value, r.pick<const char*>({"0.5", "2.5", "9.0"}),
                       identity);
  return fmt::format("({} {} {} ? {} : {})", b.name, r.pick<const char*>({"<", "<=", ">", ">="}),
                     other, value, identity);
}

/// Several points reach one element when a left subscript adds indices, as in a transposed
/// convolution; perhaps not all of them take part.
void share_elements(Random& r, Writer& w, Left& left) {
  const std::vector<std::size_t> reduced = positions(w, false), outer = positions(w, true);
  if (reduced.empty() || outer.size() != left.subscripts.size() || outer.empty()) return;
  const auto d =
      static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(outer.size()) - 1));
  const IndexVar& inner = w.vars[reduced[0]];
  const IndexVar& own = w.vars[outer[d]];
  if (inner.lo != 0 || inner.hi < 1 || own.lo != 0 || own.hi < 1 || left.begin[d] != 0 ||
      left.subscripts[d] != own.name)
    return;
  // A stride of at most the length of the inner range leaves no gaps.
  const std::int64_t stride = r.percent(70) ? 1 : r.between(1, std::min<std::int64_t>(inner.hi, 3));
  left.subscripts[d] = stride == 1 ? fmt::format("{}+{}", own.name, inner.name)
                                   : fmt::format("{}*{}+{}", stride, own.name, inner.name);
  left.extent[d] = stride * (own.hi - 1) + inner.hi;
  if (r.percent(45)) w.extra.push_back(w.comparison(own));
}

}  // namespace

void write_assign(State& s, Random& r) {
  Writer w(s, r);
  const Left left = new_left(s, r, w);
  const Class of = any_class(r);
  const std::string value = w.expr(of, any_depth(r));
  s.body.push_back(w.finish(w.left(left.tensor, left.subscripts), "=", value));
  declare(s, r, w, left, guess(of));
}

void write_reduce(State& s, Random& r) {
  Writer w(s, r);
  Left left = new_left(s, r, w, static_cast<int>(r.weighted({16, 34, 28, 15, 7})), 400);
  add_reduction(r, w, static_cast<int>(r.weighted({6, 64, 24, 6})));
  if (r.percent(24)) make_triangle(r, w);
  Class of = r.percent(6) ? Class::Bool : r.percent(70) ? Class::Float : Class::Integer;
  std::string value = w.expr(of, any_depth(r));
  const std::vector<std::size_t> reduced = positions(w, false);
  const bool unused = std::any_of(reduced.begin(), reduced.end(),
                                  [&](std::size_t i) { return !w.vars[i].written; });
  if (unused && of != Class::Bool && s.may_have_params && r.percent(85)) {
    value = fmt::format("({}) {} {}", value, r.pick<const char*>({"+", "*", "-"}),
                        read_over(s, r, w, reduced, w.type_of_class(of)));
  }
  if (r.percent(18)) share_elements(r, w, left);
  const bool accumulates = !s.is_helper && r.percent(7);
  const std::string op = reduction_operator(r, of, !accumulates);
  const bool maximum = op.substr(0, 3) == "max";
  if (of == Class::Float && (maximum || op.substr(0, 3) == "min") && r.percent(35))
    value = masked(r, w, value, maximum ? "-inf" : "inf");
  if (of == Class::Integer && op[0] != '*' && r.percent(22)) value = w.wrapped(value);
  s.body.push_back(
      w.finish(w.left(left.tensor, left.subscripts), op, tame_factor(r, op, of, value)));
  declare(s, r, w, left, guess(of), true, accumulates ? 100 : 65);
}

void write_contract(State& s, Random& r) {
  Writer w(s, r);
  Left left = new_left(s, r, w, static_cast<int>(r.weighted({6, 24, 44, 18, 8})), 1200);
  add_reduction(r, w, r.percent(80) ? 1 : 2, r.percent(15) ? 45000 : 16000);
  const Class of = r.percent(75) ? Class::Float : Class::Integer;
  const std::vector<std::size_t> outer = positions(w, true), inner = positions(w, false);
  const int factors = r.percent(85) ? 2 : 3;
  std::vector<std::string> reads;
  const DType common = w.type_of_class(of);
  for (int f = 0; f < factors; ++f) {
    if (r.percent(22) || !s.may_have_params) {
      reads.push_back(w.read(of));
      continue;
    }
    std::vector<std::size_t> variables = inner;
    for (std::size_t i : outer) {
      if (r.percent(f == 0 ? 60 : 55)) variables.push_back(i);
    }
    DType type = r.percent(65) ? common : w.type_of_class(of);
    // uint64 meets signed types badly.
    if (type == DType::UInt64) type = DType::UInt32;
    std::string text = read_over(s, r, w, variables, type);
    if (r.percent(12)) text = fmt::format("{}({})", of == Class::Float ? "float" : "int32", text);
    reads.push_back(text);
  }
  std::string value = fmt::format("{}", fmt::join(reads, " * "));
  if (r.percent(10)) value += fmt::format(" * {}", w.literal(of));
  if (r.percent(16)) make_triangle(r, w);
  if (r.percent(10)) share_elements(r, w, left);
  s.body.push_back(w.finish(w.left(left.tensor, left.subscripts), "+=!", value));
  declare(s, r, w, left, guess(of), true, 70);
}

void write_arg(State& s, Random& r) {
  Writer w(s, r);
  const Left left = new_left(s, r, w, static_cast<int>(r.weighted({25, 45, 30})), 200);
  add_reduction(r, w, r.percent(75) ? 1 : 2);
  const Class of = r.percent(60) ? Class::Float : Class::Integer;
  std::string value = r.percent(60) && s.may_have_params
                          ? read_over(
                                s, r, w,
                                [&] {
                                  std::vector<std::size_t> all = positions(w, false);
                                  for (std::size_t i : positions(w, true)) {
                                    if (r.percent(80)) all.push_back(i);
                                  }
                                  return all;
                                }(),
                                w.type_of_class(of))
                          : w.expr(of, any_depth(r));
  if (of == Class::Float && r.percent(15))
    value = fmt::format("({0} > {1} ? nan : {0})", value, r.pick<const char*>({"0.5", "1.5"}));
  const bool maximum = r.percent(50);
  if (of == Class::Float && r.percent(12)) value = masked(r, w, value, maximum ? "-inf" : "inf");
  s.body.push_back(
      w.finish(w.left(left.tensor, left.subscripts), maximum ? "argmax=!" : "argmin=!", value));
  declare(s, r, w, left, DType::Int32, false);
  TensorInfo& info = s.tensors.back();
  if (info.is_output && r.percent(25)) {
    info.type = r.percent(60) ? DType::Int64 : DType::Int32;
    std::vector<std::string> dims;
    for (std::int64_t extent : left.extent)
      dims.push_back(w.dim(extent, false));
    info.annotation = std::string(tc::name(info.type));
    if (!dims.empty()) info.annotation += fmt::format("({})", fmt::join(dims, ","));
  }
}

void write_update(State& s, Random& r) {
  Writer w(s, r);
  const int at = writable(s, r, r.percent(45));
  if (at < 0) return write_assign(s, r);
  const TensorInfo tensor = s.tensors[static_cast<std::size_t>(at)];
  const Left left = old_left(r, w, tensor);
  const Class of = class_of(tensor.type);
  const bool assigns = r.percent(50);
  if (!assigns && r.percent(70)) add_reduction(r, w, 1);
  w.shrink_to(12000);
  if (r.percent(15)) make_triangle(r, w, assigns);
  std::string value = w.expr(of, any_depth(r));
  const std::string text = w.left(left.tensor, left.subscripts);
  if (assigns && r.percent(60)) {
    const std::string self = of == Class::Integer ? fmt::format("int32({})", text) : text;
    value = of == Class::Bool
                ? fmt::format("{} || ({})", text, value)
                : fmt::format("{} {} ({})", self, r.pick<const char*>({"+", "*", "-"}), value);
  }
  const std::vector<std::size_t> on_left = positions(w, true);
  if (on_left.size() >= 2 && r.percent(12))
    w.extra.push_back(fmt::format("{} <= {}", w.vars[on_left[0]].name, w.vars[on_left[1]].name));
  else if (!on_left.empty() && r.percent(8))
    w.extra.push_back(fmt::format("{} % 2 == 0", w.vars[on_left[0]].name));
  else if (!on_left.empty() && r.percent(12))
    w.extra.push_back(w.comparison(w.vars[r.pick(on_left)]));
  const std::string op = assigns ? "=" : reduction_operator(r, of, r.percent(25));
  s.body.push_back(w.finish(text, op, tame_factor(r, op, of, value)));
}

void write_functions(State& s, Random& r) {
  Writer w(s, r);
  const Left left = new_left(s, r, w, static_cast<int>(r.between(1, 2)), 1500);
  std::string value;
  for (std::int64_t i = r.between(4, 6); i > 0; --i) {
    const std::string operation = value.empty() ? "" : r.percent(60) ? " + " : " - ";
    if (r.percent(72)) {
      value += operation + w.builtin(0);
      continue;
    }
    const std::string argument = w.expr(r.percent(50) ? Class::Float : Class::Integer, 0);
    value += fmt::format("{}float({}({}))", operation, tc::name(w.any_type()), argument);
  }
  s.body.push_back(w.finish(w.left(left.tensor, left.subscripts), "=", value));
  declare(s, r, w, left, DType::Float32);
}

void write_scatter(State& s, Random& r) {
  if (!s.may_have_params || s.is_helper) return write_assign(s, r);
  Writer w(s, r);
  const std::int64_t rows = w.extent();
  const std::int64_t columns = std::min<std::int64_t>(w.extent(), 20);
  const bool wide = r.percent(50);
  w.add_var(0, w.extent(), true);
  const std::string i = w.vars[0].name;
  if (wide) w.add_var(0, columns, true);
  std::string index = read_over(
      s, r, w, {0},
      r.pick<DType>({DType::Int32, DType::Int32, DType::Int64, DType::UInt8, DType::Int16}));
  s.tensors.back().for_subscripts = true;
  const Class of = r.percent(60) ? Class::Float : Class::Integer;
  DType type = w.type_of_class(of);
  std::vector<std::int64_t> extents = {rows};
  if (wide) extents.push_back(columns);
  std::string target;
  const bool in_place = r.percent(60);
  if (in_place) {
    TensorInfo& info = w.new_param(type, extents);
    info.is_output = true;
    target = info.name;
  } else {
    target = s.fresh("v");
  }
  w.hidden.insert(target);
  std::vector<std::string> subscripts = {index};
  if (wide) subscripts.push_back(w.vars[1].name);
  std::string op = r.pick<const char*>({"+=", "+=", "+=", "min=", "max=", "="});
  if (!in_place && op != "=") op += "!";
  // Of several values for one element any may stay, so all are the same.
  const std::string value = op == "=" ? w.literal(of) : w.expr(of, r.percent(60) ? 0 : 1);
  s.body.push_back(w.finish(w.left(target, subscripts), op, value));
  if (in_place) return;
  if (op == "=") {
    // Every element of an output must be written: zeros first.
    const std::string k = s.fresh("i"), l = s.fresh("i");
    const std::string scatter = s.body.back();
    s.body.back() = wide ? fmt::format("{}({},{}) = 0 where {} in 0:{}, {} in 0:{}", target, k, l,
                                       k, w.bound(rows), l, w.bound(columns))
                         : fmt::format("{}({}) = 0 where {} in 0:{}", target, k, k, w.bound(rows));
    s.body.push_back(scatter);
  }
  Left left{target, subscripts, std::vector<std::int64_t>(extents.size(), 0), extents};
  declare(s, r, w, left, type, false, 100);
  TensorInfo& info = s.tensors.back();
  std::vector<std::string> dims;
  for (std::int64_t extent : extents)
    dims.push_back(w.dim(extent, false));
  info.annotation = fmt::format("{}({})", tc::name(type), fmt::join(dims, ","));
}

void write_gather(State& s, Random& r) {
  if (!s.may_have_params) return write_assign(s, r);
  Writer w(s, r);
  const Left left = new_left(s, r, w, static_cast<int>(r.between(1, 2)), 600);
  const bool sums = r.percent(60);
  if (sums) add_reduction(r, w, 1);
  const Class of = r.percent(70) ? Class::Float : Class::Integer;
  std::vector<std::size_t> over = positions(w, false);
  if (!left.subscripts.empty()) over.push_back(0);
  std::string index = read_over(
      s, r, w, over,
      r.pick<DType>({DType::Int32, DType::Int32, DType::Int64, DType::UInt8, DType::Int8}));
  s.tensors.back().for_subscripts = true;
  if (r.percent(20)) index += r.percent(50) ? "+1" : fmt::format("+{}", w.vars.back().name);
  const std::int64_t rows = w.extent();
  std::vector<std::int64_t> extents = {rows};
  std::vector<std::string> subscripts = {index};
  if (left.subscripts.size() == 2 && w.vars[1].lo >= 0) {
    extents.push_back(w.vars[1].hi);
    subscripts.push_back(w.vars[1].name);
    w.vars[1].settled = w.vars[1].lo == 0;
    w.vars[1].written = true;
  }
  DType type = w.type_of_class(of);
  if (type == DType::UInt64) type = DType::Int64;
  const std::string table = w.new_param(type, extents).name;
  std::string value = fmt::format("{}({})", table, fmt::join(subscripts, ","));
  if (r.percent(20)) value = fmt::format("pad({}, {})", value, of == Class::Float ? "0.5" : "1");
  if (r.percent(40)) value = fmt::format("{} * {}", value, w.literal(of));
  const std::string op = sums ? reduction_operator(r, of, true) : "=";
  s.body.push_back(
      w.finish(w.left(left.tensor, left.subscripts), op, tame_factor(r, op, of, value)));
  declare(s, r, w, left, guess(of));
}

void write_copy(State& s, Random& r) {
  Writer w(s, r);
  std::vector<int> found;
  for (std::size_t i = 0; i < s.tensors.size(); ++i) {
    if (!s.tensors[i].for_subscripts && s.tensors[i].rank() <= 4)
      found.push_back(static_cast<int>(i));
  }
  if (found.empty()) return write_assign(s, r);
  const TensorInfo source = s.tensors[static_cast<std::size_t>(r.pick(found))];
  const std::string name = s.fresh("v");
  w.hidden.insert(name);
  Left left{name, {}, {}, {}};
  std::vector<std::string> from;
  for (std::size_t d = 0; d < source.rank(); ++d) {
    IndexVar& var = w.add_var(source.begin[d], source.begin[d] + source.extent[d], true);
    var.settled = source.begin[d] == 0;
    from.push_back(var.name);
    left.subscripts.push_back(var.name);
    left.begin.push_back(source.begin[d]);
    left.extent.push_back(source.extent[d]);
  }
  if (source.rank() >= 2 && r.percent(40)) {
    std::swap(left.subscripts[0], left.subscripts.back());
    std::swap(left.begin[0], left.begin.back());
    std::swap(left.extent[0], left.extent.back());
  }
  std::string value = w.left(source.name, from);
  DType type = source.type;
  if (r.percent(55)) {
    type = w.any_type();
    value = fmt::format("{}({})", tc::name(type), value);
  }
  s.body.push_back(w.finish(w.left(name, left.subscripts), "=", value));
  declare(s, r, w, left, type);
}

void write_staged(State& s, Random& r) {
  Writer w(s, r);
  const Left left = new_left(s, r, w, static_cast<int>(r.between(1, 3)), 1500);
  std::vector<std::size_t> all = positions(w, true);
  const Class of = r.percent(70) ? Class::Float : Class::Integer;
  std::string value = s.may_have_params && r.percent(50)
                          ? read_over(s, r, w, all, w.type_of_class(of))
                          : w.expr(of, 1);
  s.body.push_back(w.finish(w.left(left.tensor, left.subscripts), "=", value));
  declare(s, r, w, left, guess(of), false, 0);
  const TensorInfo temporary = s.tensors.back();
  Writer next(s, r);
  const std::string name = s.fresh("v");
  next.hidden.insert(name);
  Left copy{name, {}, left.begin, left.extent};
  for (std::size_t d = 0; d < temporary.rank(); ++d) {
    IndexVar& var = next.add_var(left.begin[d], left.begin[d] + left.extent[d], true);
    var.settled = left.begin[d] == 0;
    copy.subscripts.push_back(var.name);
  }
  const std::string text = next.left(temporary.name, copy.subscripts);
  const bool plain = r.percent(65);
  s.body.push_back(next.finish(next.left(name, copy.subscripts), "=",
                               plain ? text : fmt::format("{} + {}", text, next.literal(of))));
  declare(s, r, next, copy, guess(of), !plain, 100);
}

void write_concat(State& s, Random& r) {
  if (!s.may_have_params) return write_assign(s, r);
  Writer w(s, r);
  const std::int64_t first = w.extent(), second = w.extent();
  const DType type = w.type_of_class(r.percent(70) ? Class::Float : Class::Integer);
  const std::string a = w.new_param(type, {first}).name;
  const std::string b = w.new_param(type, {second}).name;
  const std::string name = s.fresh("v"), i = s.fresh("i");
  s.body.push_back(fmt::format("{0}({1}) = {1} < {2}.0 ? {2}({1}) : {3}({1}-{2}.0) where {1} in "
                               "0:{4}+{5}",
                               name, i, a, b, w.bound(first), w.bound(second)));
  declare(s, r, w, Left{name, {i}, {0}, {first + second}}, type, false);
}

void write_constant(State& s, Random& r) {
  Writer w(s, r);
  const bool had_params = s.may_have_params;
  s.may_have_params = false;
  const Left left = new_left(s, r, w, static_cast<int>(r.between(0, 2)));
  const Class of = any_class(r);
  for (const TensorInfo& tensor : s.tensors)
    w.hidden.insert(tensor.name);
  const std::string value = w.expr(of, any_depth(r));
  s.body.push_back(w.finish(w.left(left.tensor, left.subscripts), "=", value));
  declare(s, r, w, left, guess(of), r.percent(50));
  s.may_have_params = had_params;
}

void write_normalise(State& s, Random& r) {
  if (!s.may_have_params) return write_assign(s, r);
  Writer w(s, r);
  const std::int64_t rows = w.extent(),
                     columns = std::min<std::int64_t>(w.extent(), 4000 / rows + 1);
  const DType type = r.percent(75) ? DType::Float32 : w.type_of_class(Class::Float);
  const std::string x = w.new_param(type, {rows, columns}).name;
  const std::string m = s.fresh("m"), t = s.fresh("t"), y = s.fresh("v");
  const bool softmax = r.percent(60);
  if (softmax) {
    s.body.push_back(fmt::format("{}(i) max=! {}(i,r_j)", m, x));
    s.body.push_back(fmt::format("{0}(i) +=! exp({1}(i,r_j) - {2}(i))", t, x, m));
    s.body.push_back(fmt::format("{0}(i,j) = exp({1}(i,j) - {2}(i)) / {3}(i)", y, x, m, t));
  } else {
    s.body.push_back(fmt::format("{}(i) +=! {}(i,r_j)", m, x));
    s.body.push_back(fmt::format("{0}(i) +=! ({1}(i,r_j) - {2}(i) / {1}.1) * ({1}(i,r_j) - {2}(i) "
                                 "/ {1}.1)",
                                 t, x, m));
    s.body.push_back(fmt::format("{0}(i,j) = ({1}(i,j) - {2}(i) / {1}.1) * rsqrt({3}(i) / {1}.1 + "
                                 "1e-3)",
                                 y, x, m, t));
  }
  declare(s, r, w, Left{m, {"i"}, {0}, {rows}}, DType::Float32, false, 25);
  declare(s, r, w, Left{t, {"i"}, {0}, {rows}}, DType::Float32, false, 25);
  declare(s, r, w, Left{y, {"i", "j"}, {0, 0}, {rows, columns}}, DType::Float32, true, 80);
}

}  // namespace tc::fuzz
