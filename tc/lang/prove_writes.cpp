// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/lang/prove_model.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

std::optional<std::int64_t> constant_width(const VariableRange& range) {
  return (range.hi - range.lo).as_constant();
}

/// Every index follows from the element that is written: one dimension after the other gives one
/// more index.
bool surely_once(const ProofItem& item) {
  std::set<int> open;
  for (int k = 0; k < static_cast<int>(item.statement->indices.size()); ++k) {
    const auto width = constant_width(item.ranges.at({false, k}));
    if (!width || *width > 1) open.insert(k);
  }
  std::vector<Form> forms;
  for (const ExprPtr& subscript : item.statement->subscripts)
    forms.push_back(Form::of(subscript));
  bool progress = true;
  while (progress && !open.empty()) {
    progress = false;
    for (const Form& form : forms) {
      std::optional<int> only;
      bool several = false;
      for (const Variable variable : variables(form)) {
        if (variable.is_for || open.count(variable.id) == 0) continue;
        several = only.has_value();
        only = variable.id;
        if (several) break;
      }
      if (!form.valid() || !only || several) continue;
      // Linear in the one open index: its value can be solved for.
      const bool linear =
          std::any_of(form.terms().begin(), form.terms().end(),
                      [&](const Form::Term& term) {
                        return term.atoms.size() == 1 && term.atoms[0]->kind == Atom::Kind::Index &&
                               term.atoms[0]->id == *only;
                      }) &&
          std::all_of(form.terms().begin(), form.terms().end(), [&](const Form::Term& term) {
            const bool itself = term.atoms.size() == 1 && term.atoms[0]->kind == Atom::Kind::Index;
            Form product(1);
            for (const AtomPtr& atom : term.atoms)
              product = product * Form::of(atom);
            return itself || !mentions(product, {false, *only});
          });
      if (!linear) continue;
      open.erase(*only);
      progress = true;
    }
  }
  return open.empty();
}

bool reduces_minimum(const Statement& statement) {
  if (!statement.op || !statement.init) return false;
  switch (*statement.op) {
  case ReduceOp::Min:
  case ReduceOp::Max:
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: return true;
  case ReduceOp::Add:
  case ReduceOp::Mul: return false;
  }
  unreachable("a reduction");
}

/// Every element has a point: no condition cuts the reduction, and its ranges are never empty.
bool surely_reduces(const ProofItem& item) {
  if (item.left_conditions.size() != item.statement->conditions.size()) return false;
  for (std::size_t k = 0; k < item.left.size(); ++k) {
    if (item.left[k]) continue;
    const VariableRange& range = item.ranges.at({false, static_cast<int>(k)});
    std::set<int> assumed;
    const Form least =
        extreme(range.hi - range.lo, End::Smallest, item.ranges, std::nullopt, assumed);
    if (!assumed.empty() || !is_nonnegative(least - Form(1))) return false;
  }
  return true;
}

bool surely_covers(const ProofModel& model, int s, const Tensor& tensor) {
  if (!model.loops_surely_run(s)) return false;
  const auto box = model.written_box(s);
  if (!box) return false;
  for (std::size_t d = 0; d < box->size(); ++d) {
    const Form begin = Form::of(tensor.begin[d]);
    const Form end = begin + Form::of(tensor.extent[d]);
    if (!is_nonnegative(begin - (*box)[d].lo) || !is_nonnegative((*box)[d].hi - end)) return false;
  }
  return true;
}

void prove_output_written(ProofModel& model, TensorId id, Findings& findings) {
  const Tensor& tensor = model.tensor(id);
  for (const ExprPtr& extent : tensor.extent) {
    if (evaluate(extent, IntEnv{}) == 0) return;
  }
  const int count = static_cast<int>(model.items().size());
  std::vector<int> writers;
  for (int s = 0; s < count; ++s) {
    if (model.item(s).statement->tensor != id) continue;
    // The caller's contents are part of the result where a scatter accumulates onto them.
    if (model.item(s).scatter && tensor.needs_initial) return;
    if (surely_covers(model, s, tensor)) return;
    writers.push_back(s);
  }
  const Finding finding{FindingKind::OutputUnwritten, -1, -1, -1, id};
  std::optional<isl::set> open = model.box(id);
  for (const int s : writers) {
    const std::optional<isl::map> written = open ? model.written(s) : std::nullopt;
    if (!written) return findings.undecided(finding);
    open = open->subtract(written->range());
  }
  if (!open) return findings.undecided(finding);
  findings.violations(finding, *open);
}

}  // namespace

void prove_written_once(ProofModel& model, int s, Findings& findings) {
  const ProofItem& item = model.item(s);
  if (item.statement->op || item.scatter || item.never_runs || surely_once(item)) return;
  const Finding finding{FindingKind::WrittenTwice, s, 0, -1, item.statement->tensor};
  const std::optional<isl::map> writes = model.elements(s, item.accesses.list.front());
  if (!writes) return findings.undecided(finding);
  const isl::space space = model.scope(s).space();
  const isl::map later =
      sets::lexicographic_order(space, space, static_cast<unsigned>(model.scope(s).dims()),
                                /*or_equal=*/false)
          .intersect(sets::equal_prefix(space, space, static_cast<unsigned>(item.loops.size())));
  findings.violations(finding, writes->apply_range(writes->reverse()).intersect(later));
}

void prove_accumulation(ProofModel& model, int s, Findings& findings) {
  const ProofItem& item = model.item(s);
  const Tensor& tensor = model.tensor(item.statement->tensor);
  if (!item.statement->op || item.statement->init || tensor.is_param || tensor.needs_initial)
    return;
  const Access& write = item.accesses.list.front();
  if (model.surely_written(s, write)) return;
  const Finding finding{FindingKind::AccumulatesUnwritten, s, 0, -1, item.statement->tensor};
  const std::optional<isl::map> touched = model.elements(s, write);
  const std::optional<isl::map> before =
      touched ? model.written_before(s, item.statement->tensor) : std::nullopt;
  if (!before) return findings.undecided(finding);
  const isl::map here = sets::project_domain(*touched, static_cast<unsigned>(item.loops.size()),
                                             model.iteration_tuple(s));
  findings.violations(finding, here.subtract(*before));
}

void prove_reduces_something(ProofModel& model, int s, Findings& findings) {
  const ProofItem& item = model.item(s);
  if (!reduces_minimum(*item.statement) || item.scatter || surely_reduces(item)) return;
  const Finding finding{FindingKind::ReducesNothing, s, 0, -1, item.statement->tensor};
  const std::optional<isl::map> written = model.written(s);
  const std::optional<isl::map> reached = written ? model.reached(s) : std::nullopt;
  if (!reached) return findings.undecided(finding);
  findings.violations(finding, written->subtract(*reached));
}

void prove_outputs_written(ProofModel& model, Findings& findings) {
  for (const TensorId id : model.def().outputs) {
    if (model.tensor(id).is_param) continue;
    if (!model.ask([&] { prove_output_written(model, id, findings); }))
      findings.given_up({FindingKind::OutputUnwritten, -1, -1, -1, id});
  }
}

void prove_all(ProofModel& model, Findings& findings) {
  using Question = void (*)(ProofModel&, int, Findings&);
  const std::pair<Question, FindingKind> questions[] = {
      {prove_inside, FindingKind::ReadOutside},
      {prove_reads_written, FindingKind::ReadUnwritten},
      {prove_written_once, FindingKind::WrittenTwice},
      {prove_self_reads, FindingKind::ReadsOtherPoint},
      {prove_accumulation, FindingKind::AccumulatesUnwritten},
      {prove_reduces_something, FindingKind::ReducesNothing},
  };
  for (int s = 0; s < static_cast<int>(model.items().size()); ++s) {
    for (const auto& [ask, kind] : questions) {
      if (!model.ask([&, ask = ask] { ask(model, s, findings); }))
        findings.given_up({kind, s, -1, -1, model.item(s).statement->tensor});
    }
  }
  prove_outputs_written(model, findings);
}

}  // namespace tc::lang
