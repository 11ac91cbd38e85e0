// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/ranges_rounds.h"

#include <algorithm>
#include <functional>

#include "tc/support/check.h"

namespace tc::lang {

namespace {

bool is_bare_index(const ExprPtr& subscript, int index) {
  const auto* ref = std::get_if<IndexRef>(&subscript->node);
  return ref && ref->index == index;
}

}  // namespace

RangeRounds::RangeRounds(const TypedDef& def, const Statement& statement, const Accesses& accesses,
                         const std::vector<TensorBox>& boxes, const VariableRanges& loops)
    : def_(def), statement_(statement), accesses_(accesses), boxes_(boxes), loops_(loops) {
  for (std::size_t a = 0; a < accesses_.list.size(); ++a) {
    const Access& access = accesses_.list[a];
    const Tensor& tensor = def_.tensors[static_cast<std::size_t>(access.tensor)];
    // A left side says where results go, not how far the indices run, unless the tensor is there
    // already.
    if (access.kind == Access::Kind::Write && !tensor.is_param) continue;
    const std::optional<Box>& box = boxes_[static_cast<std::size_t>(access.tensor)].box;
    for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
      Constraint constraint{static_cast<int>(a), static_cast<int>(d),    std::nullopt,
                            std::nullopt,        !access.guards.empty(), {}};
      constraint.subscript = affine_quotient(access.subscripts[d], constraint.assumed);
      if (box) constraint.bounds = VariableRange{box->lo.at(d), box->hi.at(d)};
      constraints_.push_back(std::move(constraint));
    }
  }
}

bool RangeRounds::is_known(Variable variable, Variable solving,
                           const VariableRanges& ranges) const {
  if (variable == solving || variable.is_for) return true;
  if (!ranges.has(variable)) return false;
  const VariableRange& range = ranges.at(variable);
  for (const Form* end : {&range.lo, &range.hi}) {
    for (const Variable inner : variables(*end)) {
      if (!is_known(inner, solving, ranges)) return false;
    }
  }
  return true;
}

Solution RangeRounds::solve_one(Variable variable, const VariableRanges& ranges, bool admit,
                                Result& result) const {
  Solution total;
  std::vector<int> admitted;
  std::set<int> assumed;
  for (const Constraint& constraint : constraints_) {
    if (!constraint.subscript || !constraint.bounds) continue;
    const ExprPtr& subscript = accesses_.list[static_cast<std::size_t>(constraint.access)]
                                   .subscripts[static_cast<std::size_t>(constraint.dim)];
    if (constraint.guarded && !(admit && is_bare_index(subscript, variable.id))) continue;
    const std::set<Variable> mentioned = variables(constraint.subscript->numerator);
    const bool only_one = mentioned.count(variable) > 0 &&
                          std::all_of(mentioned.begin(), mentioned.end(),
                                      [&](Variable v) { return is_known(v, variable, ranges); });
    if (!only_one) continue;
    std::set<int> used = constraint.assumed;
    const Solution one = solve(*constraint.subscript, constraint.bounds->lo, constraint.bounds->hi,
                               variable, ranges, used);
    if (!one.solvable || (!one.lo && !one.hi)) continue;
    total = intersect(total, one);
    assumed.insert(used.begin(), used.end());
    if (constraint.guarded) admitted.push_back(constraint.access);
  }
  if (!total.hi) return Solution{};
  total.lo = total.lo ? max(*total.lo, Form(0)) : Form(0);
  if (!total.lo->valid() || !total.hi->valid()) return Solution{};
  result.admitted.insert(result.admitted.end(), admitted.begin(), admitted.end());
  result.assumed.insert(assumed.begin(), assumed.end());
  return total;
}

bool RangeRounds::round(Result& result, bool admit) const {
  std::vector<std::pair<int, VariableRange>> found;
  for (const int index : result.unsolved) {
    const Solution solution = solve_one({false, index}, result.ranges, admit, result);
    if (solution.hi) found.push_back({index, {*solution.lo, *solution.hi}});
  }
  // Only now: what one round finds is used from the next round on.
  for (auto& [index, range] : found) {
    result.ranges.set({false, index}, range);
    result.unsolved.erase(std::find(result.unsolved.begin(), result.unsolved.end(), index));
  }
  return !found.empty();
}

RangeRounds::Result
RangeRounds::run(const std::vector<std::pair<int, VariableRange>>& extra) const {
  Result result;
  result.ranges = loops_;
  for (std::size_t k = 0; k < statement_.indices.size(); ++k) {
    const Index& index = statement_.indices[k];
    const int id = static_cast<int>(k);
    const auto more =
        std::find_if(extra.begin(), extra.end(), [&](const auto& one) { return one.first == id; });
    if (index.given) {
      result.ranges.set({false, id}, {Form::of(index.lo), Form::of(index.hi)});
    } else if (more != extra.end()) {
      result.ranges.set({false, id}, more->second);
    } else {
      result.unsolved.push_back(id);
    }
  }
  while (!result.unsolved.empty()) {
    if (round(result, /*admit=*/false)) continue;
    if (!round(result, /*admit=*/true)) break;
  }
  return result;
}

bool RangeRounds::check_given(DiagnosticSink& sink) const {
  bool good = true;
  std::vector<std::set<int>> uses(statement_.indices.size());
  for (std::size_t k = 0; k < statement_.indices.size(); ++k) {
    const Index& index = statement_.indices[k];
    if (!index.given) continue;
    for (const ExprPtr& end : {index.lo, index.hi}) {
      const Form form = Form::of(end);
      if (!is_quasi_affine(form)) {
        sink.error(
            "E0314", end->range,
            "the bound '" + to_string(def_, &statement_, end) + "' of '" + index.name +
                "' must be a sum of multiples of integers, sizes, integer consts and indices, "
                "with / and % by what is the same everywhere, min and max");
        good = false;
        continue;
      }
      for (const Variable variable : variables(form)) {
        if (!variable.is_for) uses[k].insert(variable.id);
      }
    }
  }
  // Depth-first search; the first index seen twice on one path closes a cycle.
  std::vector<int> state(uses.size(), 0);
  std::vector<int> path;
  std::function<bool(int)> visit = [&](int k) {
    if (state[static_cast<std::size_t>(k)] == 2) return true;
    path.push_back(k);
    if (state[static_cast<std::size_t>(k)] == 1) return false;
    state[static_cast<std::size_t>(k)] = 1;
    for (const int next : uses[static_cast<std::size_t>(k)]) {
      if (!visit(next)) return false;
    }
    state[static_cast<std::size_t>(k)] = 2;
    path.pop_back();
    return true;
  };
  for (std::size_t k = 0; k < uses.size(); ++k) {
    if (visit(static_cast<int>(k))) continue;
    std::string chain;
    for (auto at = std::find(path.begin(), path.end(), path.back()); at != path.end(); ++at) {
      chain += (chain.empty() ? "'" : " -> '") +
               statement_.indices[static_cast<std::size_t>(*at)].name + "'";
    }
    const Index& index = statement_.indices[static_cast<std::size_t>(path.back())];
    sink.error("E0311",
               index.lo ? SourceRange::join(index.lo->range, index.hi->range) : index.range,
               "the ranges depend on each other: " + chain + "; write one of them over sizes");
    return false;
  }
  return good;
}

// ---- conditions ----

namespace {

/// Forms that are all >= 0 exactly where the comparison holds; empty for != and for anything that
/// is no comparison of forms.
std::vector<Form> nonnegative_forms(const Binary& node) {
  const Form left = Form::of(node.left);
  const Form right = Form::of(node.right);
  if (!left.valid() || !right.valid()) return {};
  switch (node.op) {
  case BinaryOp::Ge: return {left - right};
  case BinaryOp::Gt: return {left - right - Form(1)};
  case BinaryOp::Le: return {right - left};
  case BinaryOp::Lt: return {right - left - Form(1)};
  case BinaryOp::Eq: return {left - right, right - left};
  case BinaryOp::Ne:
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::And:
  case BinaryOp::Or: return {};
  }
  unreachable("a binary operator");
}

bool always_nonnegative(const Form& form, const VariableRanges& ranges) {
  std::set<int> assumed;
  return is_nonnegative(extreme(form, End::Smallest, ranges, std::nullopt, assumed)) &&
         assumed.empty();
}

bool is_always(const ExprPtr& condition, bool value, const VariableRanges& ranges) {
  if (const auto* node = std::get_if<IntConst>(&condition->node))
    return (node->value != 0) == value;
  if (const auto* node = std::get_if<Unary>(&condition->node)) {
    return node->op == UnaryOp::Not && is_always(node->operand, !value, ranges);
  }
  const auto* node = std::get_if<Binary>(&condition->node);
  if (!node) return false;
  if (node->op == BinaryOp::And || node->op == BinaryOp::Or) {
    const bool left = is_always(node->left, value, ranges);
    const bool right = is_always(node->right, value, ranges);
    return (node->op == BinaryOp::And) == value ? left && right : left || right;
  }
  const Form left = Form::of(node->left);
  const Form right = Form::of(node->right);
  if (!left.valid() || !right.valid()) return false;
  const Form over = left - right;
  auto at_least = [&](const Form& form) { return always_nonnegative(form, ranges); };
  switch (node->op) {
  case BinaryOp::Ge: return value ? at_least(over) : at_least(negate(over) - Form(1));
  case BinaryOp::Gt: return value ? at_least(over - Form(1)) : at_least(negate(over));
  case BinaryOp::Le: return value ? at_least(negate(over)) : at_least(over - Form(1));
  case BinaryOp::Lt: return value ? at_least(negate(over) - Form(1)) : at_least(over);
  case BinaryOp::Eq:
  case BinaryOp::Ne:
    if ((node->op == BinaryOp::Eq) == value) return at_least(over) && at_least(negate(over));
    return at_least(over - Form(1)) || at_least(negate(over) - Form(1));
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::And:
  case BinaryOp::Or: return false;
  }
  unreachable("a binary operator");
}

void collect_conjuncts(const ExprPtr& condition, std::vector<Form>& out) {
  const auto* node = std::get_if<Binary>(&condition->node);
  if (!node) return;
  if (node->op == BinaryOp::And) {
    collect_conjuncts(node->left, out);
    collect_conjuncts(node->right, out);
    return;
  }
  for (Form& form : nonnegative_forms(*node))
    out.push_back(std::move(form));
}

Form form_of(Variable variable) {
  const Atom::Kind kind = variable.is_for ? Atom::Kind::For : Atom::Kind::Index;
  return Form::of(std::make_shared<const Atom>(Atom{kind, DType::Int32, variable.id, {}}));
}

/// Where form >= 0 is possible for some values of the other variables.
void narrow(VariableRanges& ranges, const Form& form, Variable variable) {
  if (!ranges.has(variable)) return;
  // A plain coefficient of 1 or -1 (or any constant) times the variable; the rest takes its best
  // value.
  std::int64_t coefficient = 0;
  for (const Form::Term& term : form.terms()) {
    if (term.atoms.size() == 1 && Form::of(term.atoms[0]) == form_of(variable))
      coefficient = term.coefficient;
  }
  const Form rest = form - Form(coefficient) * form_of(variable);
  if (coefficient == 0 || !rest.valid() || mentions(rest, variable)) return;
  std::set<int> assumed;
  const Form best = extreme(rest, End::Largest, ranges, std::nullopt, assumed);
  if (!best.valid() || !assumed.empty()) return;
  VariableRange range = ranges.at(variable);
  if (coefficient > 0) range.lo = max(range.lo, negate(quotient(best, Form(coefficient))));
  if (coefficient < 0) range.hi = min(range.hi, quotient(best, Form(-coefficient)) + Form(1));
  if (range.lo.valid() && range.hi.valid()) ranges.set(variable, range);
}

}  // namespace

std::optional<bool> constant_truth(const ExprPtr& condition, const VariableRanges& ranges) {
  if (is_always(condition, true, ranges)) return true;
  if (is_always(condition, false, ranges)) return false;
  return std::nullopt;
}

VariableRanges narrowed(const VariableRanges& ranges, const std::vector<ExprPtr>& conditions) {
  std::vector<Form> forms;
  for (const ExprPtr& condition : conditions)
    collect_conjuncts(condition, forms);
  VariableRanges result = ranges;
  // Twice: a bound that the second condition tightens may matter in the first.
  for (int pass = 0; pass < 2; ++pass) {
    for (const Form& form : forms) {
      for (const Variable variable : variables(form))
        narrow(result, form, variable);
    }
  }
  return result;
}

}  // namespace tc::lang
