// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "tc/lang/parser.h"
#include "tc/support/numeric.h"

namespace tc::fuzz {

namespace {

constexpr std::string_view kMark = "# fuzz ";

/// Values of the names in dims: sizes and integer consts.
using Scope = std::map<std::string, std::int64_t>;

std::optional<std::int64_t> value_of(const lang::ast::ExprPtr& expr, const Scope& scope) {
  namespace ast = lang::ast;
  if (const auto* literal = std::get_if<ast::Literal>(&expr->node)) {
    if (literal->kind != ast::Literal::Kind::Int) return std::nullopt;
    return static_cast<std::int64_t>(literal->int_value);
  }
  if (const auto* name = std::get_if<ast::Name>(&expr->node)) {
    const auto found = scope.find(name->name);
    if (found == scope.end()) return std::nullopt;
    return found->second;
  }
  if (const auto* minmax = std::get_if<ast::MinMax>(&expr->node)) {
    std::optional<std::int64_t> result;
    for (const ast::ExprPtr& argument : minmax->args) {
      const auto value = value_of(argument, scope);
      if (!value) return std::nullopt;
      if (!result || (minmax->is_max ? *value > *result : *value < *result)) result = value;
    }
    return result;
  }
  const auto* binary = std::get_if<ast::Binary>(&expr->node);
  if (binary == nullptr) return std::nullopt;
  const auto left = value_of(binary->left, scope);
  const auto right = value_of(binary->right, scope);
  if (!left || !right) return std::nullopt;
  switch (binary->op) {
  case ast::BinaryOp::Add: return *left + *right;
  case ast::BinaryOp::Sub: return *left - *right;
  case ast::BinaryOp::Mul: return *left * *right;
  case ast::BinaryOp::Div: return floor_div(*left, *right);
  case ast::BinaryOp::Mod: return floor_mod(*left, *right);
  default: return std::nullopt;
  }
}

/// Reads `name=value` pairs separated by blanks.
bool read_pairs(std::string_view text, const auto& store) {
  std::istringstream in{std::string(text)};
  std::string item;
  while (in >> item) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || !store(item.substr(0, equals), item.substr(equals + 1)))
      return false;
  }
  return true;
}

bool read_line(std::string_view key, std::string_view value, Case& result) {
  if (key == "def") {
    result.def = std::string(value);
    return true;
  }
  if (key == "sizes") {
    return read_pairs(value, [&](const std::string& name, const std::string& text) {
      result.sizes[name] = std::strtoll(text.c_str(), nullptr, 10);
      return true;
    });
  }
  if (key == "consts") {
    return read_pairs(value, [&](const std::string& name, const std::string& text) {
      const std::size_t colon = text.find(':');
      if (colon == std::string::npos) return false;
      result.consts[name] = {std::strtoll(text.c_str(), nullptr, 10),
                             std::strtod(text.c_str() + colon + 1, nullptr)};
      return true;
    });
  }
  if (key == "views") {
    return read_pairs(value, [&](const std::string& name, const std::string& text) {
      const auto view = cases::view_from_name(text);
      if (view) result.views[name] = *view;
      return view.has_value();
    });
  }
  if (key == "inputs") {
    std::istringstream in{std::string(value)};
    std::string word;
    in >> result.inputs;
    while (in >> word) {
      result.integer_inputs = result.integer_inputs || word == "integer";
      result.extreme_inputs = result.extreme_inputs || word == "extreme";
      result.wild_indices = result.wild_indices || word == "wild";
    }
    return true;
  }
  if (key == "options") {
    Result<MappingOptions, std::string> options = options_from_json(value);
    if (options) result.options.push_back(*options);
    return options.has_value();
  }
  return false;
}

}  // namespace

std::string to_text(const Case& experiment) {
  std::string out = fmt::format("{}def {}\n", kMark, experiment.def);
  if (!experiment.sizes.empty()) {
    out += fmt::format("{}sizes", kMark);
    for (const auto& [name, value] : experiment.sizes)
      out += fmt::format(" {}={}", name, value);
    out += '\n';
  }
  if (!experiment.consts.empty()) {
    out += fmt::format("{}consts", kMark);
    for (const auto& [name, value] : experiment.consts)
      out += fmt::format(" {}={}:{:a}", name, value.integer, value.real);
    out += '\n';
  }
  if (!experiment.views.empty()) {
    out += fmt::format("{}views", kMark);
    for (const auto& [name, view] : experiment.views)
      out += fmt::format(" {}={}", name, cases::to_string(view));
    out += '\n';
  }
  out += fmt::format(
      "{}inputs {}{}{}{}\n", kMark, experiment.inputs, experiment.integer_inputs ? " integer" : "",
      experiment.extreme_inputs ? " extreme" : "", experiment.wild_indices ? " wild" : "");
  for (const MappingOptions& options : experiment.options) {
    std::string json = to_json(options);
    for (char& c : json)
      c = c == '\n' ? ' ' : c;
    out += fmt::format("{}options {}\n", kMark, json);
  }
  return out + experiment.text;
}

Result<Case, std::string> parse_case(std::string_view text) {
  Case result;
  std::istringstream in{std::string(text)};
  std::string line;
  while (std::getline(in, line)) {
    if (line.compare(0, kMark.size(), kMark) != 0) {
      result.text += line + "\n";
      continue;
    }
    const std::string rest = line.substr(kMark.size());
    const std::size_t blank = rest.find(' ');
    const std::string key = rest.substr(0, blank);
    const std::string value = blank == std::string::npos ? "" : rest.substr(blank + 1);
    if (!read_line(key, value, result)) return fmt::format("cannot read '{}'", line);
  }
  if (result.options.empty()) result.options.emplace_back();
  return result;
}

const lang::ast::Def* find_def(const lang::ast::Program& program, std::string_view name) {
  for (const lang::ast::Def& def : program.defs) {
    if (def.name.name == name) return &def;
  }
  return nullptr;
}

std::optional<Metadata> metadata_of(const Case& experiment, const lang::ast::Program& program) {
  const lang::ast::Def* def = find_def(program, experiment.def);
  if (def == nullptr) return std::nullopt;
  Scope scope = experiment.sizes;
  for (const auto& [name, value] : experiment.consts)
    scope[name] = value.integer;
  Metadata metadata;
  for (const lang::ast::Param& param : def->params) {
    if (param.is_const) {
      const auto found = experiment.consts.find(param.name.name);
      if (found == experiment.consts.end()) return std::nullopt;
      metadata.consts[param.name.name] = found->second;
      continue;
    }
    std::vector<std::int64_t> sizes;
    for (const lang::ast::ExprPtr& dim : param.type.dims) {
      const auto size = value_of(dim, scope);
      if (!size || *size < 0) return std::nullopt;
      sizes.push_back(*size);
    }
    const auto found = experiment.views.find(param.name.name);
    const View view = found == experiment.views.end() ? View::Contiguous : found->second;
    metadata.inputs.push_back(cases::meta_of(view, param.type.element, sizes));
  }
  return metadata;
}

}  // namespace tc::fuzz
