// SPDX-License-Identifier: Apache-2.0
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <cstdlib>

#include "tc/lang/prove_model.h"
#include "tc/lang/prove_text.h"
#include "tc/lang/ranges.h"
#include "tc/lang/ranges_rounds.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

std::string product_text(std::int64_t factor, const std::string& name) {
  return factor == 1 ? name : std::to_string(factor) + " * " + name;
}

/// "N >= K - 1": positive terms on the left, the rest on the right.
std::string constraint_text(isl_constraint* constraint) {
  const bool equality = isl_constraint_is_equality(constraint) == isl_bool_true;
  auto number = [](isl_val* value) {
    const std::int64_t out = isl_val_get_num_si(value);
    isl_val_free(value);
    return out;
  };
  std::string left;
  std::string right;
  const int count = static_cast<int>(isl_constraint_dim(constraint, isl_dim_param));
  for (int k = 0; k < count; ++k) {
    const std::int64_t factor =
        number(isl_constraint_get_coefficient_val(constraint, isl_dim_param, k));
    if (factor == 0) continue;
    std::string& side = factor > 0 ? left : right;
    side +=
        (side.empty() ? "" : " + ") +
        product_text(std::abs(factor), isl_constraint_get_dim_name(constraint, isl_dim_param, k));
  }
  const std::int64_t constant = number(isl_constraint_get_constant_val(constraint));
  const std::string op = equality ? " == " : " >= ";
  if (left.empty()) return right + (equality ? " == " : " <= ") + std::to_string(constant);
  if (right.empty()) return left + op + std::to_string(-constant);
  if (constant == 0) return left + op + right;
  return left + op + right + (constant > 0 ? " - " : " + ") + std::to_string(std::abs(constant));
}

std::vector<std::string> conjuncts(const isl::basic_set& set) {
  std::vector<std::string> out;
  if (set.involves_locals()) {
    // Divisibility and the like: isl's own words, "[N] -> { : (N) mod 2 = 0 }".
    char* printed = isl_basic_set_to_str(set.get());
    const std::string text = printed;
    std::free(printed);
    const auto from = text.find(": ");
    const auto to = text.rfind(" }");
    check(from != std::string::npos && to != std::string::npos, "the text of a parameter set");
    return {text.substr(from + 2, to - from - 2)};
  }
  isl_basic_set* simple =
      isl_basic_set_remove_redundancies(isl_basic_set_detect_equalities(set.copy()));
  isl_constraint_list* list = isl_basic_set_get_constraint_list(simple);
  isl_basic_set_free(simple);
  const int count = static_cast<int>(isl_constraint_list_n_constraint(list));
  for (int k = 0; k < count; ++k) {
    isl_constraint* constraint = isl_constraint_list_get_constraint(list, k);
    out.push_back(constraint_text(constraint));
    isl_constraint_free(constraint);
  }
  isl_constraint_list_free(list);
  std::sort(out.begin(), out.end());
  return out;
}

/// One line for each condition that a set of sizes stands for; alternatives in one line.
std::vector<std::string> conditions(const isl::set& sizes) {
  std::vector<std::vector<std::string>> cases;
  sizes.foreach_basic_set([&](isl::basic_set one) { cases.push_back(conjuncts(one)); });
  if (cases.size() == 1) return cases[0];
  std::vector<std::string> alternatives;
  for (const std::vector<std::string>& one : cases) {
    std::string text;
    for (const std::string& part : one)
      text += (text.empty() ? "" : " and ") + part;
    alternatives.push_back(text);
  }
  std::sort(alternatives.begin(), alternatives.end());
  std::string all;
  for (const std::string& text : alternatives)
    all += (all.empty() ? "" : " or ") + text;
  return {all};
}

class Conditions : public Findings {
public:
  Conditions(ProofModel& model, Preconditions& out, DiagnosticSink& sink)
      : model_(model), out_(out), sink_(sink),
        params_(model.context(), "P", {}, {}, affine_params(model.def())),
        known_(isl::set::universe(params_.space().params())) {
    // Empty tensors make everything true; what matters is what sizes of one and more need.
    for (std::size_t k = 0; k < model.def().sizes.size(); ++k) {
      const ExprPtr size = make_expr(DType::Int32, {}, SizeRef{static_cast<int>(k)});
      known_ = known_.intersect(
          params_.where(make_expr(DType::Bool, {}, Binary{BinaryOp::Ge, size, make_int(1)}))
              ->params());
    }
    positive_ = known_;
  }

  void add_written_preconditions() {
    for (const ExprPtr& condition : model_.def().preconditions) {
      if (constant_truth(condition, {}) == true) continue;
      const std::string text = to_string(model_.def(), nullptr, condition);
      const std::optional<isl::set> exact = params_.where(condition);
      if (!exact) {
        add(text);
        continue;
      }
      require(exact->params().complement(), condition->range, in_quotes(text));
    }
  }

  /// A range may be empty, not negative, unless nothing outside of it runs.
  void add_ranges(int s) {
    const ProofItem& item = model_.item(s);
    for (int k = 0; k < static_cast<int>(item.statement->indices.size()); ++k) {
      const Index& index = item.statement->indices[static_cast<std::size_t>(k)];
      const VariableRange& range = item.ranges.at({false, k});
      std::set<int> assumed;
      const Form least =
          extreme(range.hi - range.lo, End::Smallest, item.ranges, std::nullopt, assumed);
      if (assumed.empty() && is_nonnegative(least)) continue;
      const std::string what = "the range of " + in_quotes(index.name) + ", " +
                               to_string(model_.def(), item.statement, index.lo) + ":" +
                               to_string(model_.def(), item.statement, index.hi);
      const ExprPtr proper = make_expr(DType::Bool, {}, Binary{BinaryOp::Ge, index.hi, index.lo});
      const AffineScope& scope = model_.scope(s);
      const std::optional<isl::set> good = scope.where(proper);
      std::optional<isl::set> outer = scope.loop_domain();
      for (const Variable variable : outer_variables(item, k)) {
        const auto one = outer ? scope.index_range(variable.id) : std::nullopt;
        if (one) outer = outer->intersect(*one);
        if (!one) outer.reset();
      }
      if (!good || !outer) {
        if (has_variables(range.lo) || has_variables(range.hi)) {
          out_.undecided.push_back(what + ", does not end before it begins");
        } else {
          add(to_string(model_.def(), item.statement, index.hi) +
              " >= " + to_string(model_.def(), item.statement, index.lo));
        }
        continue;
      }
      require(outer->params().subtract(outer->intersect(*good).params()), index.range, what);
    }
  }

  void violations(const Finding& finding, const isl::set& points) override {
    isl::set bad = points.params();
    if (finding.kind == FindingKind::OutputUnwritten) {
      const isl::set unknown = bad.intersect(loose_box(finding.tensor));
      if (!unknown.intersect(known_).is_empty()) undecided(finding);
      bad = bad.subtract(unknown);
    }
    require(bad, finding);
  }
  void violations(const Finding& finding, const isl::map& pairs) override {
    // An output onto whose unwritten elements a statement accumulates gets them from the caller.
    if (finding.kind == FindingKind::AccumulatesUnwritten &&
        model_.tensor(finding.tensor).is_output)
      return;
    require(pairs.domain().params(), finding);
  }
  void undecided(const Finding& finding) override { out_.undecided.push_back(text(finding)); }
  void given_up(const Finding& finding) override {
    out_.undecided.push_back(text(finding) + " (the proof took too long)");
  }

  /// Everything that was asked of the sizes, in its simplest form.
  void finish() {
    std::vector<std::string> others;
    if (!positive_.is_subset(known_)) others = conditions(known_.gist(positive_).coalesce());
    std::swap(others, out_.needs);
    for (const std::string& need : others)
      add(need);
    std::sort(out_.undecided.begin(), out_.undecided.end());
    out_.undecided.erase(std::unique(out_.undecided.begin(), out_.undecided.end()),
                         out_.undecided.end());
  }

private:
  static std::set<Variable> outer_variables(const ProofItem& item, int index) {
    std::set<Variable> found;
    std::vector<Variable> open{{false, index}};
    while (!open.empty()) {
      const VariableRange& range = item.ranges.at(open.back());
      open.pop_back();
      for (const Form* end : {&range.lo, &range.hi}) {
        for (const Variable variable : variables(*end)) {
          if (!variable.is_for && found.insert(variable).second) open.push_back(variable);
        }
      }
    }
    return found;
  }

  void add(const std::string& need) {
    if (std::find(out_.needs.begin(), out_.needs.end(), need) == out_.needs.end())
      out_.needs.push_back(need);
  }

  /// The sizes outside of `bad` are needed.
  void require(const isl::set& bad, SourceRange range, const std::string& what) {
    if (bad.intersect(known_).is_empty()) return;
    const isl::set good = known_.subtract(bad);
    if (good.is_empty()) {
      sink_.error("E0480", range, "no sizes satisfy what this needs: " + what);
      return;
    }
    known_ = good.coalesce();
  }

  /// Sizes for which `finding` is one; more than that where an access is not affine in them, and
  /// then nothing follows.
  void require(const isl::set& bad, const Finding& finding) {
    if (bad.intersect(known_).is_empty()) return;
    if (is_exact(finding)) return require(bad, range(finding), text(finding));
    undecided(finding);
  }

  /// Sizes for which the tensor is smaller than its symbolic extents: those are bounds where a left
  /// subscript or a condition on it has a remainder, say. With sizes they are exact.
  isl::set loose_box(TensorId id) {
    const std::optional<isl::set> box = model_.box(id);
    std::optional<isl::set> written;
    for (int s = 0; s < static_cast<int>(model_.items().size()); ++s) {
      if (model_.item(s).statement->tensor != id) continue;
      const isl::set part = model_.written(s)->range();
      written = written ? written->unite(part) : part;
    }
    isl::set tight = box->params();
    for (int d = 0; written && d < static_cast<int>(model_.tensor(id).extent.size()); ++d) {
      for (const auto end : {isl_set_dim_min, isl_set_dim_max}) {
        const isl::pw_aff of_box = isl::manage(end(box->copy(), d));
        const isl::pw_aff of_written = isl::manage(end(written->copy(), d));
        tight = tight.intersect(of_box.eq_set(of_written));
      }
    }
    return box->params().subtract(tight);
  }

  bool is_exact(const Finding& finding) {
    if (finding.access < 0) return true;
    const std::vector<Access>& accesses = model_.item(finding.item).accesses.list;
    const bool against_write = finding.kind == FindingKind::ReadsOtherPoint;
    return model_.is_exact(finding.item, accesses[static_cast<std::size_t>(finding.access)]) &&
           (!against_write || model_.is_exact(finding.item, accesses.front()));
  }

  SourceRange range(const Finding& finding) const {
    if (finding.item < 0) return model_.tensor(finding.tensor).range;
    const ProofItem& item = model_.item(finding.item);
    return finding.access < 0 ? item.statement->range
                              : item.accesses.list[static_cast<std::size_t>(finding.access)].range;
  }

  std::string text(const Finding& finding) const {
    const std::string name = in_quotes(model_.tensor(finding.tensor).name);
    if (finding.item < 0) return "every element of the output " + name + " is written";
    if (finding.access < 0) return goal_text(finding.kind);
    const ProofItem& item = model_.item(finding.item);
    const std::string access =
        in_quotes(to_string(model_.def(), *item.statement,
                            item.accesses.list[static_cast<std::size_t>(finding.access)]));
    switch (finding.kind) {
    case FindingKind::ReadOutside:
    case FindingKind::WriteOutside:
    case FindingKind::NotAffine: return access + " stays inside " + name;
    case FindingKind::ReadUnwritten: return access + " is written before it is read";
    case FindingKind::WrittenTwice: return "'=' writes each element of " + name + " once";
    case FindingKind::ReadsOtherPoint:
    case FindingKind::ReadsReduced: return access + " reads no element that this statement writes";
    case FindingKind::AccumulatesUnwritten:
      return "each element of " + name + " is written before it is accumulated onto";
    case FindingKind::ReducesNothing: return "each element of " + name + " has a value to reduce";
    case FindingKind::OutputUnwritten: break;
    }
    unreachable("a finding about a statement");
  }

  ProofModel& model_;
  Preconditions& out_;
  DiagnosticSink& sink_;
  AffineScope params_;  ///< no variables: conditions on sizes and consts alone
  isl::set known_;      ///< sizes that satisfy everything so far
  isl::set positive_;   ///< all sizes of at least one
};

}  // namespace

Preconditions derive_preconditions(const TypedDef& def, DiagnosticSink& sink) {
  Preconditions out;
  ProofModel model(def);
  Conditions found(model, out, sink);
  const bool asked = model.ask([&] {
    found.add_written_preconditions();
    for (int s = 0; s < static_cast<int>(model.items().size()); ++s)
      found.add_ranges(s);
  });
  if (!asked) out.undecided.push_back("the ranges of '" + def.name + "' (the proof took too long)");
  prove_all(model, found);
  if (!model.ask([&] { found.finish(); }))
    out.undecided.push_back("the conditions on all sizes together (the proof took too long)");
  return out;
}

}  // namespace tc::lang
