// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/prove_text.h"

#include <unordered_map>

#include "tc/support/check.h"

namespace tc::lang {

std::string in_quotes(const std::string& text) {
  return "'" + text + "'";
}

std::string sizes_text(const Bindings& bindings) {
  std::string text;
  auto add = [&](const std::string& name, std::int64_t value) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  };
  for (const auto& [name, value] : bindings.sizes)
    add(name, value);
  for (const auto& [name, value] : bindings.consts) {
    if (value.real == 0 || value.real == static_cast<double>(value.integer))
      add(name, value.integer);
  }
  return text.empty() ? text : " (" + text + ")";
}

const char* goal_text(FindingKind kind) {
  switch (kind) {
  case FindingKind::ReadOutside:
  case FindingKind::WriteOutside:
  case FindingKind::NotAffine: return "every access is in bounds";
  case FindingKind::ReadUnwritten: return "every element is written before it is read";
  case FindingKind::OutputUnwritten: return "every element of the output is written";
  case FindingKind::WrittenTwice: return "'=' writes each element once";
  case FindingKind::ReadsOtherPoint:
  case FindingKind::ReadsReduced: return "no point reads what another point writes";
  case FindingKind::AccumulatesUnwritten:
    return "every element is written before it is accumulated onto";
  case FindingKind::ReducesNothing: return "every minimum and maximum has a value";
  }
  unreachable("a finding");
}

std::optional<std::int64_t> value_at(const ProofModel& model, int s, const sets::Point& point,
                                     const ExprPtr& expr) {
  const ProofItem& item = model.item(s);
  std::unordered_map<int, std::int64_t> loops;
  for (std::size_t k = 0; k < item.loops.size(); ++k)
    loops[item.loops[k]->var] = point[k];
  const std::vector<std::int64_t> indices(
      point.begin() + static_cast<std::ptrdiff_t>(item.loops.size()), point.end());
  IntEnv env;
  env.indices = &indices;
  env.for_vars = &loops;
  return evaluate(expr, env);
}

std::string values_at(const ProofModel& model, int s, const sets::Point& point,
                      const std::vector<ExprPtr>& expressions) {
  const ProofItem& item = model.item(s);
  std::set<Variable> mentioned;
  for (const ExprPtr& expr : expressions) {
    walk(expr, [&](const Expr& node) {
      if (const auto* ref = std::get_if<IndexRef>(&node.node))
        mentioned.insert({false, ref->index});
      if (const auto* ref = std::get_if<ForRef>(&node.node)) mentioned.insert({true, ref->var});
    });
  }
  std::string text;
  auto add = [&](const std::string& name, std::int64_t value) {
    text += (text.empty() ? "at " : ", ") + name + " = " + std::to_string(value);
  };
  for (std::size_t k = 0; k < item.loops.size(); ++k) {
    if (mentioned.count({true, item.loops[k]->var})) add(item.loops[k]->name, point[k]);
  }
  for (std::size_t k = 0; k < item.statement->indices.size(); ++k) {
    if (mentioned.count({false, static_cast<int>(k)}))
      add(item.statement->indices[k].name, point[item.loops.size() + k]);
  }
  return text;
}

std::vector<ExprPtr> all_indices(const ProofModel& model, int s) {
  std::vector<ExprPtr> out;
  for (const ForLoop* loop : model.item(s).loops)
    out.push_back(make_expr(loop->type, {}, ForRef{loop->var}));
  for (std::size_t k = 0; k < model.item(s).statement->indices.size(); ++k)
    out.push_back(make_index(static_cast<int>(k)));
  return out;
}

}  // namespace tc::lang
