// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "tc/lang/ranges_rounds.h"

namespace tc::lang {

namespace {

std::string in_quotes(const std::string& text) {
  return "'" + text + "'";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (k > 0) text += k + 1 == parts.size() ? " and " : ", ";
    text += parts[k];
  }
  return text;
}

bool uses_index(const ExprPtr& expr, int index) {
  bool found = false;
  walk(expr, [&](const Expr& node) {
    const auto* ref = std::get_if<IndexRef>(&node.node);
    found = found || (ref && ref->index == index);
  });
  return found;
}

/// In the subscript itself, not in a tensor read inside it.
bool uses_index_directly(const ExprPtr& expr, int index) {
  if (std::holds_alternative<Read>(expr->node)) return false;
  if (const auto* ref = std::get_if<IndexRef>(&expr->node)) return ref->index == index;
  bool found = false;
  map_children(expr, [&](const ExprPtr& child) {
    found = found || uses_index_directly(child, index);
    return child;
  });
  return found;
}

bool has_remainder(const ExprPtr& expr) {
  bool found = false;
  walk(expr, [&](const Expr& node) {
    const auto* binary = std::get_if<Binary>(&node.node);
    found = found || (binary && binary->op == BinaryOp::Mod);
  });
  return found;
}

}  // namespace

bool RangeRounds::concerns(const Constraint& constraint, int index) const {
  const Access& access = accesses_.list[static_cast<std::size_t>(constraint.access)];
  return uses_index_directly(access.subscripts[static_cast<std::size_t>(constraint.dim)], index);
}

/// Why this constraint did not give `index` a range.
std::string RangeRounds::reason(const Constraint& constraint, int index,
                                const Result& result) const {
  const Access& access = accesses_.list[static_cast<std::size_t>(constraint.access)];
  const Tensor& tensor = def_.tensors[static_cast<std::size_t>(access.tensor)];
  const ExprPtr& subscript = access.subscripts[static_cast<std::size_t>(constraint.dim)];
  const std::string spelled = in_quotes(to_string(def_, &statement_, subscript));
  if (!constraint.bounds)
    return spelled + ": no earlier statement writes " + in_quotes(tensor.name) +
           ", so it bounds nothing";
  std::string text = spelled + " must stay inside " +
                     to_string(def_, &statement_, constraint.bounds->lo.to_expr()) + ":" +
                     to_string(def_, &statement_, constraint.bounds->hi.to_expr()) +
                     ", dimension " + std::to_string(constraint.dim) + " of " +
                     in_quotes(tensor.name);
  if (contains_read(subscript)) return text + ", but a gathered subscript solves nothing";
  if (!constraint.subscript) {
    return text + (has_remainder(subscript)
                       ? ", but a subscript with % solves nothing"
                       : ", but only sums, and a sum divided by a positive constant, are solved");
  }
  std::vector<std::string> open;
  for (const Variable variable : variables(constraint.subscript->numerator)) {
    if (variable.id == index && !variable.is_for) continue;
    if (!is_known(variable, {false, index}, result.ranges)) {
      open.push_back(in_quotes(statement_.indices[static_cast<std::size_t>(variable.id)].name));
    }
  }
  if (!open.empty())
    return text + ", but " + joined(open) + (open.size() == 1 ? " has" : " have") +
           " no known range either";
  if (constraint.guarded) return text + ", but only where its guard holds";
  return text + ", which bounds it on at most one side";
}

/// Text and form of an upper end that makes a sensible range for `index`.
std::string RangeRounds::suggested_end(int index, Form& end) const {
  std::string upper = statement_.indices[static_cast<std::size_t>(index)].name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  for (std::size_t k = 0; k < def_.sizes.size(); ++k) {
    if (def_.sizes[k].name != upper) continue;
    end = Form::of(make_expr(DType::Int32, {}, SizeRef{static_cast<int>(k)}));
    return upper;
  }
  for (const Constraint& constraint : constraints_) {
    if (!constraint.bounds || !concerns(constraint, index)) continue;
    end = constraint.bounds->hi;
    return to_string(def_, &statement_, end.to_expr());
  }
  end = Form(10);
  return "10";
}

/// Ranges for as few unsolved variables as settle all of them; reduction indices first.
std::string RangeRounds::suggest(const Result& result) const {
  std::vector<int> order = result.unsolved;
  std::stable_partition(order.begin(), order.end(), [&](int k) {
    return !statement_.indices[static_cast<std::size_t>(k)].on_left;
  });
  std::vector<std::pair<int, VariableRange>> extra;
  std::vector<int> open = result.unsolved;
  std::string clause;
  for (const int index : order) {
    if (std::find(open.begin(), open.end(), index) == open.end()) continue;
    Form end;
    const std::string text = suggested_end(index, end);
    clause += (clause.empty() ? "" : ", ") +
              statement_.indices[static_cast<std::size_t>(index)].name + " in 0:" + text;
    extra.push_back({index, {Form(0), end}});
    open = run(extra).unsolved;
  }
  return clause;
}

void RangeRounds::report(const Result& result, DiagnosticSink& sink) const {
  std::vector<std::string> names;
  for (const int index : result.unsolved)
    names.push_back(in_quotes(statement_.indices[static_cast<std::size_t>(index)].name));
  const bool one = names.size() == 1;
  std::string message =
      (one ? "index " : "indices ") + joined(names) + (one ? " has" : " have") + " no range";
  std::vector<DiagnosticNote> notes;
  for (const int index : result.unsolved) {
    const Index& variable = statement_.indices[static_cast<std::size_t>(index)];
    std::vector<std::string> places;
    for (const Constraint& constraint : constraints_) {
      if (!concerns(constraint, index)) continue;
      const Access& access = accesses_.list[static_cast<std::size_t>(constraint.access)];
      notes.push_back({access.subscripts[static_cast<std::size_t>(constraint.dim)]->range,
                       in_quotes(variable.name) + ": " + reason(constraint, index, result)});
      places.push_back(in_quotes(to_string(def_, statement_, access)));
    }
    if (one && places.size() == 1) message += ": it appears only in " + places[0];
    if (places.empty()) {
      const bool in_bound = std::any_of(
          statement_.indices.begin(), statement_.indices.end(), [&](const Index& other) {
            return other.given && (uses_index(other.lo, index) || uses_index(other.hi, index));
          });
      notes.push_back({variable.range,
                       in_quotes(variable.name) + ": no tensor read has a subscript with it" +
                           (in_bound ? "; the bound of another index does not constrain it" : "")});
    }
  }
  const SourceRange range =
      statement_.indices[static_cast<std::size_t>(result.unsolved.front())].range;
  Diagnostic& diagnostic =
      sink.error("E0310", range, message + "; add 'where " + suggest(result) + "'");
  diagnostic.notes = std::move(notes);
}

}  // namespace tc::lang
