// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "tc/lang/builtins.h"
#include "writer.h"

namespace tc::fuzz {

namespace {

/// Keeps the argument of a function where the function is defined and tame; `{}` is the argument.
const char* tame(std::string_view function) {
  static const std::map<std::string_view, const char*> kForms = {
      {"acos", "min(max({}, -0.9), 0.9)"},
      {"asin", "min(max({}, -0.9), 0.9)"},
      {"atanh", "min(max({}, -0.9), 0.9)"},
      {"erfinv", "min(max({}, -0.9), 0.9)"},
      {"acosh", "fabs({}) + 1.25"},
      {"log", "fabs({}) + 0.5"},
      {"log2", "fabs({}) + 0.5"},
      {"log10", "fabs({}) + 0.5"},
      {"logb", "fabs({}) + 0.5"},
      {"log1p", "fabs({})"},
      {"sqrt", "fabs({})"},
      {"rsqrt", "fabs({}) + 0.5"},
      {"rcbrt", "fabs({}) + 0.5"},
      {"y0", "min(fabs({}) + 0.5, 20.0)"},
      {"y1", "min(fabs({}) + 0.5, 20.0)"},
      {"j0", "min(fabs({}), 20.0)"},
      {"j1", "min(fabs({}), 20.0)"},
      {"lgamma", "min(fabs({}) + 0.5, 20.0)"},
      {"tgamma", "min(fabs({}) + 0.5, 6.0)"},
      {"erfcinv", "min(fabs({}) + 0.1, 1.9)"},
      {"normcdfinv", "min(fabs({}) + 0.05, 0.95)"},
      {"exp", "min({}, 4.0)"},
      {"exp2", "min({}, 5.0)"},
      {"exp10", "min({}, 2.0)"},
      {"expm1", "min({}, 4.0)"},
      {"cosh", "max(min({}, 4.0), -4.0)"},
      {"sinh", "max(min({}, 4.0), -4.0)"},
      {"cyl_bessel_i0", "max(min({}, 4.0), -4.0)"},
      {"cyl_bessel_i1", "max(min({}, 4.0), -4.0)"},
      {"erfcx", "max({}, -2.0)"},
      {"tan", "max(min({}, 1.25), -1.25)"},
      {"sinpi", "max(min({}, 8.0), -8.0)"},
      {"cospi", "max(min({}, 8.0), -8.0)"},
  };
  const auto found = kForms.find(function);
  return found == kForms.end() ? "{}" : found->second;
}

/// Replaces the one `{}` of a form.
std::string fill(std::string form, const std::string& text) {
  const std::size_t at = form.find("{}");
  return form.replace(at, 2, text);
}

bool is_primary(const std::string& text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') ++depth;
    if (c == ')' && --depth == 0 && i + 1 < text.size()) return false;
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '(' || c == ')';
    if (depth == 0 && !word) return false;
  }
  return depth == 0;
}

std::string parenthesised(const std::string& text) {
  return is_primary(text) ? text : "(" + text + ")";
}

}  // namespace

std::string Writer::literal(Class wanted) {
  switch (wanted) {
  case Class::Float:
    return r.pick<const char*>({"0.5", "2.0", "1.", ".25", "1.5", "-0.75", "3.0", "1e-1", "2.5E+0",
                                "0.1", "-1.25", "1e2", "0.0", "4.0e-2", "-2.0", "0.3333333433",
                                "1.4142135623730951"});
  case Class::Integer:
    if (r.percent(12)) return r.pick<const char*>({"0x1F", "0x10", "0xff", "0x7"});
    return std::to_string(r.pick<std::int64_t>({0, 1, 1, 2, 2, 3, 4, 5, 7, -1, -3, 11, 100}));
  case Class::Bool: return r.percent(50) ? "true" : "false";
  }
  return "0";
}

std::string Writer::wrapped(const std::string& value, const char* type) {
  if (r.percent(40)) return fmt::format("{}({})", type, value);
  return fmt::format("{}({} - {})", type, parenthesised(value), r.between(1, 6));
}

/// A value of the class whose spelling may be any primary or operator expression.
std::string Writer::operand(Class wanted, int depth) {
  return parenthesised(expr(wanted, depth));
}

std::string Writer::let(Class wanted, int depth) {
  const std::string name = s.fresh("w");
  extra.push_back(fmt::format("{} = {}", name, expr(wanted, depth)));
  return name;
}

std::string Writer::expr(Class wanted, int depth) {
  if (depth > 0 && r.percent(3)) return let(wanted, depth - 1);
  switch (wanted) {
  case Class::Float: return depth > 0 ? float_node(depth - 1) : float_leaf();
  case Class::Integer: return depth > 0 ? integer_node(depth - 1) : integer_leaf();
  case Class::Bool: return bool_node(depth > 0 ? depth - 1 : 0);
  }
  return "0";
}

std::string Writer::float_leaf() {
  switch (r.weighted({66, 10, 6, 6, 5})) {
  case 0: return read(Class::Float);
  case 1: return literal(Class::Float);
  case 2: return fmt::format("float({})", integer_leaf());
  case 3: {  // scalar parameter
    if (!s.may_have_params) return literal(Class::Float);
    for (const TensorInfo& tensor : s.tensors) {
      if (tensor.rank() == 0 && hidden.count(tensor.name) == 0 &&
          class_of(tensor.type) == Class::Float && r.percent(50))
        return tensor.name;
    }
    return new_param(type_of_class(Class::Float), {}).name;
  }
  default: {
    for (const ConstInfo& constant : s.consts) {
      if (class_of(constant.type) == Class::Float) return constant.name;
    }
    if (!s.may_have_params) return literal(Class::Float);
    ConstInfo constant{s.fresh("c"), r.pick<DType>({DType::Float32, DType::Float64}), {}};
    constant.value.real = static_cast<double>(r.between(-8, 8)) / 4;
    s.consts.push_back(constant);
    s.declarations.push_back(fmt::format("const {} {}", tc::name(constant.type), constant.name));
    return constant.name;
  }
  }
}

std::string Writer::special_value() {
  const std::string x = operand(Class::Float, 0);
  switch (r.between(0, 7)) {
  case 0: return fmt::format("min({}, inf)", x);
  case 1: return fmt::format("max(-inf, {})", x);
  case 2: return fmt::format("fmin({}, nan)", x);
  case 3: return fmt::format("(isnan({} + nan) ? {} : 1.0)", x, x);
  case 4: return fmt::format("({} > 0.5 ? inf : {})", x, x);
  case 5: return fmt::format("fmax(nan, {})", x);
  case 6: return fmt::format("({} < -1.0 ? nan : {})", x, x);
  default: return fmt::format("max({}, -inf)", x);
  }
}

std::string Writer::builtin(int depth) {
  const lang::BuiltinInfo* info = &r.pick(lang::builtins());
  while (info->result == lang::BuiltinInfo::Result::Bool)
    info = &r.pick(lang::builtins());
  std::vector<std::string> arguments;
  for (int i = 0; i < info->arity; ++i) {
    std::string argument =
        r.percent(88) ? expr(Class::Float, i == 0 ? depth : 0) : expr(Class::Integer, 0);
    if (i == 0 && r.percent(88)) argument = fill(tame(info->name), argument);
    arguments.push_back(argument);
  }
  if (info->name == "pow" && r.percent(85)) {
    arguments[0] = fmt::format("min(fabs({}) + 0.25, 4.0)", arguments[0]);
    arguments[1] = literal(Class::Float);
  }
  if ((info->name == "fmod" || info->name == "remainder") && r.percent(85))
    arguments[1] = r.pick<const char*>({"1.5", "2.25", "0.7"});
  return fmt::format("{}({})", info->name, fmt::join(arguments, ", "));
}

std::string Writer::float_node(int depth) {
  switch (r.weighted({34, 8, 30, 8, 4, 9, 7, 3, 5, 6})) {
  case 0: {
    const char* op = r.pick<const char*>({"+", "-", "*", "*"});
    const std::string a = expr(Class::Float, depth);
    const std::string b = expr(Class::Float, r.percent(50) ? depth : 0);
    // Without parentheses precedence decides; the program is another one, but well formed.
    if (r.percent(35) && a.find('?') == std::string::npos && b.find('?') == std::string::npos &&
        a.find('<') == std::string::npos && b.find('<') == std::string::npos)
      return fmt::format("{} {} {}", a, op, b);
    return fmt::format("{} {} {}", parenthesised(a), op, parenthesised(b));
  }
  case 1:
    if (r.percent(30))
      return fmt::format("{}({}, {}, {})", r.percent(50) ? "min" : "max", expr(Class::Float, depth),
                         expr(Class::Float, 0), literal(Class::Float));
    return fmt::format("{}({}, {})", r.percent(50) ? "min" : "max", expr(Class::Float, depth),
                       expr(Class::Float, 0));
  case 2: return builtin(depth);
  case 3:
    return fmt::format("({} ? {} : {})", expr(Class::Bool, depth), expr(Class::Float, depth),
                       expr(Class::Float, 0));
  case 4: return fmt::format("-{}", operand(Class::Float, depth));
  case 5: {
    const DType type = type_of_class(Class::Float);
    return fmt::format("{}({})", tc::name(type),
                       expr(r.percent(70) ? Class::Float : Class::Integer, depth));
  }
  case 6: return r.percent(55) ? padded_read(Class::Float) : guarded_read(Class::Float);
  case 7:
    return fmt::format("{} / {}", operand(Class::Float, depth),
                       r.pick<const char*>({"2.0", "3.0", "(fabs(0.5) + 1.0)", "0.7"}));
  case 8: return special_value();
  default: return float_leaf();
  }
}

std::string Writer::integer_leaf() {
  switch (r.weighted({42, 16, 20, 8, 6, 4})) {
  case 0: {
    const TensorInfo* known = readable(Class::Integer, false);
    if (known == nullptr || (s.may_have_params && r.percent(40))) {
      if (!s.may_have_params) return literal(Class::Integer);
      const DType type = type_of_class(Class::Integer);
      const std::string text = read_new(type);
      return type == DType::UInt64 ? fmt::format("int64({})", text) : text;
    }
    const bool wide = known->type == DType::UInt64;
    const std::string text = read(*known);
    return wide ? fmt::format("int32({})", text) : text;
  }
  case 1: return literal(Class::Integer);
  case 2: {
    IndexVar* var = any_var();
    return var == nullptr ? literal(Class::Integer) : var->name;
  }
  case 3: return s.sizes.empty() ? literal(Class::Integer) : r.pick(s.sizes).first;
  case 4: {
    std::vector<std::string> dims;
    for (const TensorInfo& tensor : s.tensors) {
      for (std::size_t d = 0; d < tensor.rank() && hidden.count(tensor.name) == 0; ++d)
        dims.push_back(fmt::format("{}.{}", tensor.name, d));
    }
    return dims.empty() ? literal(Class::Integer) : r.pick(dims);
  }
  default: {
    for (const ConstInfo& constant : s.consts) {
      if (class_of(constant.type) == Class::Integer) return constant.name;
    }
    if (!s.may_have_params) return literal(Class::Integer);
    ConstInfo constant{s.fresh("c"), r.pick<DType>({DType::Int32, DType::Int64, DType::Int8}), {}};
    constant.value.integer = r.between(1, 5);
    s.consts.push_back(constant);
    s.declarations.push_back(fmt::format("const {} {}", tc::name(constant.type), constant.name));
    return constant.name;
  }
  }
}

std::string Writer::integer_node(int depth) {
  switch (r.weighted({40, 16, 14, 8, 4, 12, 6, 4, 4})) {
  case 0:
    return fmt::format("{} {} {}", operand(Class::Integer, depth),
                       r.pick<const char*>({"+", "-", "*"}), operand(Class::Integer, 0));
  case 1:
    if (r.percent(70))
      return fmt::format("{} {} {}", operand(Class::Integer, depth),
                         r.pick<const char*>({"/", "%"}),
                         r.pick<const char*>({"2", "3", "4", "5", "7", "(-2)", "(-3)"}));
    return fmt::format("{} {} {}", operand(Class::Integer, depth), r.pick<const char*>({"/", "%"}),
                       operand(Class::Integer, 0));
  case 2: {
    const char* function = r.percent(50) ? "min" : "max";
    const std::string a = expr(Class::Integer, depth), b = expr(Class::Integer, 0);
    if (r.percent(55)) return fmt::format("{}({}, {})", function, a, b);
    // Negative numbers become large ones. The wider type does not meet signed ones.
    if (r.percent(30))
      return fmt::format("int64({}({}, {}))", function, wrapped(a, "uint64"), wrapped(b, "uint64"));
    return fmt::format("{}({}, {})", function, wrapped(a), wrapped(b));
  }
  case 3:
    return fmt::format("({} ? {} : {})", expr(Class::Bool, depth), expr(Class::Integer, depth),
                       expr(Class::Integer, 0));
  case 4: return fmt::format("-{}", operand(Class::Integer, depth));
  case 5: {
    const DType type = type_of_class(Class::Integer);
    return fmt::format(
        "{}({})", tc::name(type),
        expr(r.pick<Class>({Class::Integer, Class::Integer, Class::Float, Class::Bool}), depth));
  }
  case 6: return r.percent(55) ? padded_read(Class::Integer) : guarded_read(Class::Integer);
  case 7: return fmt::format("{}({})", r.percent(50) ? "abs" : "relu", expr(Class::Integer, depth));
  default: return integer_leaf();
  }
}

std::string Writer::bool_node(int depth) {
  switch (r.weighted({32, 20, 14, 6, 6, 4, 5, 8, 6})) {
  case 0:
    return fmt::format("{} {} {}", operand(Class::Integer, depth),
                       r.pick<const char*>({"<", "<=", ">", ">=", "==", "!="}),
                       operand(Class::Integer, 0));
  case 1:
    return fmt::format("{} {} {}", operand(Class::Float, depth),
                       r.pick<const char*>({"<", "<=", ">", ">=", "==", "!="}),
                       r.percent(50) ? literal(Class::Float) : operand(Class::Float, 0));
  case 2:
    return fmt::format("({}) {} ({})", expr(Class::Bool, depth), r.percent(50) ? "&&" : "||",
                       expr(Class::Bool, 0));
  case 3: return fmt::format("!({})", expr(Class::Bool, depth));
  case 4: {
    const TensorInfo* known = readable(Class::Bool, false);
    if (known != nullptr) return read(*known);
    return s.may_have_params ? read_new(DType::Bool) : literal(Class::Bool);
  }
  case 5: return literal(Class::Bool);
  case 6: return fmt::format("bool({})", expr(r.percent(50) ? Class::Integer : Class::Float, 0));
  case 7:
    return fmt::format("{}({})", r.percent(50) ? "isnan" : "isinf", expr(Class::Float, depth));
  default: return guarded_condition();
  }
}

/// `inside && T(...) > x`: the right side is only reached where the subscript is in bounds.
std::string Writer::guarded_condition() {
  const TensorInfo* found = readable(Class::Float, false);
  if (found == nullptr || found->rank() == 0) return "true";
  const TensorInfo tensor = *found;
  std::vector<std::string> subscripts;
  for (std::size_t d = 0; d < tensor.rank(); ++d)
    subscripts.push_back(subscript(tensor.begin[d], tensor.extent[d]));
  const auto d =
      static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(tensor.rank()) - 1));
  subscripts[d] = wild_subscript();
  const std::string value = fmt::format("{}({})", tensor.name, fmt::join(subscripts, ","));
  if (r.percent(50)) {
    return fmt::format("({0} >= {1} && {0} < {2}) && {3} > 0.25", subscripts[d], tensor.begin[d],
                       tensor.begin[d] + tensor.extent[d], value);
  }
  return fmt::format("({0} < {1} || {0} >= {2}) || {3} > 0.25", subscripts[d], tensor.begin[d],
                     tensor.begin[d] + tensor.extent[d], value);
}

std::string Writer::guarded_read(Class wanted) {
  const TensorInfo* found = readable(wanted, false);
  if (found == nullptr || found->rank() == 0 || found->type == DType::UInt64)
    return literal(wanted);
  const TensorInfo tensor = *found;
  std::vector<std::string> subscripts;
  for (std::size_t d = 0; d < tensor.rank(); ++d)
    subscripts.push_back(subscript(tensor.begin[d], tensor.extent[d]));
  const auto d =
      static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(tensor.rank()) - 1));
  subscripts[d] = wild_subscript();
  const std::string value = fmt::format("{}({})", tensor.name, fmt::join(subscripts, ","));
  const std::int64_t end = tensor.begin[d] + tensor.extent[d];
  if (r.percent(70)) {
    return fmt::format("(({0} >= {1} && {0} < {2}) ? {3} : {4})", subscripts[d], tensor.begin[d],
                       end, value, literal(wanted));
  }
  return fmt::format("({0} < {1} || {0} >= {2} ? {4} : {3})", subscripts[d], tensor.begin[d], end,
                     value, literal(wanted));
}

std::string Writer::padded_read(Class wanted) {
  const TensorInfo* found = readable(wanted, false);
  if (found == nullptr || found->rank() == 0 || found->type == DType::UInt64)
    return literal(wanted);
  const TensorInfo tensor = *found;
  std::vector<std::string> subscripts;
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    subscripts.push_back(r.percent(60) ? wild_subscript()
                                       : subscript(tensor.begin[d], tensor.extent[d]));
  }
  std::string value = r.percent(60) ? "0" : literal(wanted);
  if (wanted == Class::Float && r.percent(8)) value = r.percent(50) ? "-inf" : "nan";
  // What does not fit the narrow types would be refused.
  if (wanted == Class::Integer) value = r.pick<const char*>({"0", "0", "1", "3"});
  return fmt::format("pad({}({}), {})", tensor.name, fmt::join(subscripts, ","), value);
}

}  // namespace tc::fuzz
