// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "tc/lang/prove_model.h"
#include "tc/lang/prove_text.h"
#include "tc/lang/ranges.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// Turns violations into errors with the smallest counterexample.
class Reporter : public Findings {
public:
  Reporter(ProofModel& model, const Bindings& bindings, DiagnosticSink& sink)
      : model_(model), sink_(sink), sizes_(sizes_text(bindings)) {}

  void violations(const Finding& finding, const isl::set& points) override {
    const std::optional<sets::Point> point = sets::first_point(points);
    if (!point) return;
    switch (finding.kind) {
    case FindingKind::ReadOutside:
    case FindingKind::WriteOutside: return outside(finding, *point);
    case FindingKind::OutputUnwritten: return unwritten_output(finding, *point);
    case FindingKind::ReadUnwritten:
    case FindingKind::WrittenTwice:
    case FindingKind::ReadsOtherPoint:
    case FindingKind::ReadsReduced:
    case FindingKind::AccumulatesUnwritten:
    case FindingKind::ReducesNothing:
    case FindingKind::NotAffine: break;
    }
    unreachable("a finding with points");
  }

  void violations(const Finding& finding, const isl::map& pairs) override {
    const std::optional<sets::Pair> pair = sets::first_pair(pairs);
    if (!pair) return;
    switch (finding.kind) {
    case FindingKind::ReadUnwritten: return unwritten_read(finding, *pair);
    case FindingKind::WrittenTwice: return written_twice(finding, *pair);
    case FindingKind::ReadsOtherPoint: return reads_other_point(finding, *pair);
    case FindingKind::ReadsReduced: return reads_reduced(finding, *pair);
    case FindingKind::AccumulatesUnwritten: return accumulates(finding, *pair);
    case FindingKind::ReducesNothing: return reduces_nothing(finding, *pair);
    case FindingKind::ReadOutside:
    case FindingKind::WriteOutside:
    case FindingKind::OutputUnwritten:
    case FindingKind::NotAffine: break;
    }
    unreachable("a finding with pairs");
  }

  void undecided(const Finding& finding) override {
    check(finding.kind == FindingKind::NotAffine, "left sides, ranges and conditions are affine");
    const Access& access = accessed(finding);
    const ExprPtr& subscript =
        access.subscripts[static_cast<std::size_t>(std::max(finding.dim, 0))];
    error("E0420", subscript->range,
          "the subscript " +
              in_quotes(to_string(model_.def(), model_.item(finding.item).statement, subscript)) +
              " of " + in_quotes(tensor_name(finding)) + " is not affine and may leave " +
              extent_text(finding) +
              "; use sums of multiples of indices, / and % by constants, min or max");
  }

  void given_up(const Finding& finding) override {
    const SourceRange where = finding.item < 0 ? model_.tensor(finding.tensor).range
                                               : model_.item(finding.item).statement->range;
    error("E0490", where,
          std::string("the proof that ") + goal_text(finding.kind) +
              " took too long and was given up for " + in_quotes(tensor_name(finding)) +
              "; simplify the subscripts, ranges or conditions of this statement");
  }

private:
  const Access& accessed(const Finding& finding) const {
    return model_.item(finding.item).accesses.list[static_cast<std::size_t>(finding.access)];
  }
  const Tensor& tensor(const Finding& finding) const { return model_.tensor(finding.tensor); }
  std::string tensor_name(const Finding& finding) const { return tensor(finding).name; }
  std::string spelled(const Finding& finding) const {
    return to_string(model_.def(), *model_.item(finding.item).statement, accessed(finding));
  }
  SourceRange range(const Finding& finding) const { return accessed(finding).range; }

  void error(const std::string& code, SourceRange range, const std::string& message) {
    sink_.error(code, range, message + sizes_);
  }

  /// "0:5": the index space of one dimension.
  std::string extent_text(const Finding& finding) const {
    const auto d = static_cast<std::size_t>(std::max(finding.dim, 0));
    const std::int64_t begin = evaluate(tensor(finding).begin[d], IntEnv{}).value_or(0);
    const std::int64_t extent = evaluate(tensor(finding).extent[d], IntEnv{}).value_or(0);
    return std::to_string(begin) + ":" + std::to_string(begin + extent);
  }

  /// "at i = 2, k = 3" for the variables that the expressions mention; empty if they mention none.
  std::string at(const Finding& finding, const sets::Point& point,
                 const std::vector<ExprPtr>& expressions) const {
    return values_at(model_, finding.item, point, expressions);
  }

  static std::string before(const std::string& when) { return when.empty() ? when : when + " "; }

  static std::string element(const std::string& tensor, const sets::Point& position) {
    std::string text = tensor;
    for (std::size_t d = 0; d < position.size(); ++d)
      text += (d ? ", " : "(") + std::to_string(position[d]);
    return position.empty() ? text : text + ")";
  }

  void outside(const Finding& finding, const sets::Point& point) {
    const Access& access = accessed(finding);
    const ExprPtr& subscript = access.subscripts[static_cast<std::size_t>(finding.dim)];
    const std::optional<std::int64_t> value = value_at(model_, finding.item, point, subscript);
    check(value.has_value(), "a counterexample evaluates");
    const bool reads = finding.kind == FindingKind::ReadOutside;
    const std::string when = before(at(finding, point, guarding(finding, access)));
    error(reads ? "E0410" : "E0411", access.range,
          in_quotes(spelled(finding)) + (reads ? " reads outside " : " writes outside ") +
              in_quotes(tensor_name(finding)) + ": " + when +
              (when.empty() ? "its subscript " : "subscript ") + std::to_string(finding.dim) +
              " is " + std::to_string(*value) + ", and dimension " + std::to_string(finding.dim) +
              " of " + in_quotes(tensor_name(finding)) + " holds " + extent_text(finding) +
              (reads ? "; narrow the range, or use 'pad' or '?:'" : "; narrow the range"));
  }

  /// What decides whether and where an access happens: its subscripts and the conditions on its
  /// way.
  std::vector<ExprPtr> guarding(const Finding& finding, const Access& access) const {
    std::vector<ExprPtr> out = access.subscripts;
    for (const int g : access.guards) {
      const ExprPtr& condition =
          model_.item(finding.item).accesses.guards[static_cast<std::size_t>(g)].condition;
      if (condition) out.push_back(condition);
    }
    return out;
  }

  void unwritten_read(const Finding& finding, const sets::Pair& pair) {
    const Access& access = accessed(finding);
    error("E0412", access.range,
          in_quotes(spelled(finding)) + " reads an element that no earlier statement wrote: " +
              before(at(finding, pair.from, guarding(finding, access))) + "it is " +
              element(tensor_name(finding), pair.to) + "; write it first");
  }

  void unwritten_output(const Finding& finding, const sets::Point& point) {
    error("E0413", tensor(finding).range,
          "no statement writes the element " + element(tensor_name(finding), point) +
              " of the output " + in_quotes(tensor_name(finding)) +
              "; write it before, for example with " +
              in_quotes(tensor_name(finding) + "(...) = 0 where ..."));
  }

  void written_twice(const Finding& finding, const sets::Pair& pair) {
    const Access& access = accessed(finding);
    const std::vector<ExprPtr> all = all_indices(model_, finding.item);
    sets::Point target;
    for (const ExprPtr& subscript : access.subscripts)
      target.push_back(value_at(model_, finding.item, pair.from, subscript).value_or(0));
    error("E0414", access.range,
          "'=' writes the element " + element(tensor_name(finding), target) + " more than once: " +
              at(finding, pair.from, all) + " and " + at(finding, pair.to, all) +
              "; use a reduction such as '+=!', or give each point its own element");
  }

  void reads_other_point(const Finding& finding, const sets::Pair& pair) {
    const Access& access = accessed(finding);
    const std::vector<ExprPtr> all = all_indices(model_, finding.item);
    error("E0415", access.range,
          in_quotes(spelled(finding)) +
              " reads an element that this statement also writes, at another point, and points "
              "have no order: read " +
              at(finding, pair.from, all) + " and written " + at(finding, pair.to, all) +
              "; write another tensor, or put the order into a 'for'");
  }

  void reads_reduced(const Finding& finding, const sets::Pair& pair) {
    const Access& access = accessed(finding);
    error("E0416", access.range,
          in_quotes(spelled(finding)) + " reads an element that this statement accumulates: " +
              before(at(finding, pair.from, access.subscripts)) + "it is " +
              element(tensor_name(finding), pair.to) +
              "; accumulate into another tensor, or put the order into a 'for'");
  }

  void accumulates(const Finding& finding, const sets::Pair& pair) {
    const Statement& statement = *model_.item(finding.item).statement;
    error("E0418", statement.range,
          in_quotes(spelling(*statement.op)) + " accumulates onto an element of " +
              in_quotes(tensor_name(finding)) +
              " that no earlier statement wrote: " + element(tensor_name(finding), pair.to) +
              "; write " + in_quotes(std::string(spelling(*statement.op)) + "!") +
              " or write the element first");
  }

  void reduces_nothing(const Finding& finding, const sets::Pair& pair) {
    const Statement& statement = *model_.item(finding.item).statement;
    error("E0419", statement.range,
          in_quotes(std::string(spelling(*statement.op)) + "!") +
              " reduces over nothing for the element " + element(tensor_name(finding), pair.to) +
              "; a minimum or maximum needs at least one value");
  }

  ProofModel& model_;
  DiagnosticSink& sink_;
  std::string sizes_;
};

}  // namespace

void prove(const TypedDef& specialised, const Bindings& bindings, DiagnosticSink& sink) {
  ProofModel model(specialised);
  Reporter reporter(model, bindings, sink);
  prove_all(model, reporter);
}

}  // namespace tc::lang
