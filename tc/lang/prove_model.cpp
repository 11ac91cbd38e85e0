// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/prove_model.h"

#include <algorithm>

#include "tc/lang/ranges_rounds.h"
#include "tc/lang/specialise_boxes.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

bool is_empty_range(const VariableRange& range) {
  const auto width = (range.hi - range.lo).as_constant();
  return width && *width <= 0;
}

ProofItem item_of(const StatementInContext& context) {
  ProofItem item;
  item.statement = context.statement;
  item.loops = context.loops;
  item.accesses = collect_accesses(*context.statement);
  for (const ForLoop* loop : item.loops) {
    item.ranges.set({true, loop->var}, {Form::of(loop->lo), Form::of(loop->hi)});
  }
  for (std::size_t k = 0; k < context.statement->indices.size(); ++k) {
    const Index& index = context.statement->indices[k];
    item.ranges.set({false, static_cast<int>(k)}, {Form::of(index.lo), Form::of(index.hi)});
  }
  for (const auto& [variable, range] : item.ranges.all()) {
    item.never_runs = item.never_runs || is_empty_range(range);
  }
  item.scatter = is_scatter(*context.statement);
  item.left = left_indices(*context.statement);
  item.left_conditions = left_conditions(*context.statement);
  return item;
}

BinaryOp opposite(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt: return BinaryOp::Ge;
  case BinaryOp::Le: return BinaryOp::Gt;
  case BinaryOp::Gt: return BinaryOp::Le;
  case BinaryOp::Ge: return BinaryOp::Lt;
  case BinaryOp::Eq: return BinaryOp::Ne;
  case BinaryOp::Ne: return BinaryOp::Eq;
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::And:
  case BinaryOp::Or: return op;
  }
  unreachable("a binary operator");
}

/// A guard as a condition that holds, as far as one comparison expresses it; null otherwise.
ExprPtr as_condition(const Guard& guard) {
  if (!guard.condition || guard.holds) return guard.condition;
  const auto* node = std::get_if<Binary>(&guard.condition->node);
  if (!node || opposite(node->op) == node->op) return nullptr;
  return make_expr(DType::Bool, guard.condition->range,
                   Binary{opposite(node->op), node->left, node->right});
}

/// The one index variable of a form `index + rest` or `rest - index` where the rest has no index
/// variables.
std::optional<Variable> lone_index(const Form& form) {
  std::optional<Variable> found;
  for (const Variable variable : variables(form)) {
    if (variable.is_for) continue;
    if (found) return std::nullopt;
    found = variable;
  }
  if (!found) return std::nullopt;
  for (const Form::Term& term : form.terms()) {
    const Form product = [&] {
      Form all(1);
      for (const AtomPtr& atom : term.atoms)
        all = all * Form::of(atom);
      return all;
    }();
    if (!mentions(product, *found)) continue;
    const bool plain = term.atoms.size() == 1 && term.atoms[0]->kind == Atom::Kind::Index &&
                       (term.coefficient == 1 || term.coefficient == -1);
    if (!plain) return std::nullopt;
  }
  return found;
}

}  // namespace

ProofModel::ProofModel(const TypedDef& def)
    : def_(def), context_(kQuota), params_(affine_params(def)) {
  for (const StatementInContext& context : statements(def))
    items_.push_back(item_of(context));
}

bool ProofModel::ask(const std::function<void()>& question) {
  constexpr std::uint64_t kLeast = 5'000;
  context_.set_quota(quota_);
  try {
    sets::within_quota(context_, question);
    return true;
  } catch (const sets::QuotaExceeded&) {
    quota_ = std::max(quota_ / 2, kLeast);
    context_.set_quota(quota_);
    return false;
  }
}

std::string ProofModel::statement_tuple(int s) const {
  return "S" + std::to_string(item(s).statement->id);
}
std::string ProofModel::iteration_tuple(int s) const {
  return "I" + std::to_string(item(s).statement->id);
}

const AffineScope& ProofModel::scope(int s) {
  std::unique_ptr<AffineScope>& slot = scopes_[s];
  if (!slot) {
    std::vector<AffineLoop> loops;
    for (const ForLoop* loop : item(s).loops)
      loops.push_back({loop->var, loop->lo, loop->hi});
    slot = std::make_unique<AffineScope>(context_, statement_tuple(s), std::move(loops),
                                         item(s).statement->indices, params_);
  }
  return *slot;
}

std::optional<isl::set> ProofModel::domain(int s) {
  return scope(s).domain(item(s).statement->conditions);
}

isl::space ProofModel::iteration_space(int s) {
  return scope(s).space().params().add_named_tuple(
      sets::named_id(context_.get(), iteration_tuple(s)),
      static_cast<unsigned>(item(s).loops.size()));
}

std::optional<isl::set> ProofModel::box(TensorId id) {
  const Tensor& tensor = this->tensor(id);
  // The dimensions of the tensor as index variables of a statement named like it.
  std::vector<Index> dims(tensor.extent.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d].lo = tensor.begin[d];
    dims[d].hi = make_binary(BinaryOp::Add, tensor.begin[d], tensor.extent[d]);
  }
  return AffineScope(context_, tensor.name, {}, dims, params_).domain({});
}

isl::set ProofModel::guards(int s, const Access& access) {
  isl::set result = isl::set::universe(scope(s).space());
  for (const int g : access.guards) {
    const Guard& guard = item(s).accesses.guards[static_cast<std::size_t>(g)];
    if (guard.condition) result = result.intersect(scope(s).may_be(guard.condition, guard.holds));
  }
  return result;
}

bool ProofModel::is_exact(int s, const Access& access) {
  const AffineScope& here = scope(s);
  // Of a condition, as may_be() takes it apart; what depends on data may go either way.
  const std::function<bool(const ExprPtr&)> decided = [&](const ExprPtr& condition) {
    if (const auto* node = std::get_if<Unary>(&condition->node)) return decided(node->operand);
    const auto* node = std::get_if<Binary>(&condition->node);
    if (node && (node->op == BinaryOp::And || node->op == BinaryOp::Or))
      return decided(node->left) && decided(node->right);
    return contains_read(condition) || here.where(condition).has_value();
  };
  const std::vector<Guard>& guards = item(s).accesses.guards;
  return std::all_of(access.subscripts.begin(), access.subscripts.end(),
                     [&](const ExprPtr& subscript) {
                       return contains_read(subscript) || here.value(subscript).has_value();
                     }) &&
         std::all_of(access.guards.begin(), access.guards.end(), [&](int g) {
           const ExprPtr& condition = guards[static_cast<std::size_t>(g)].condition;
           return !condition || decided(condition);
         });
}

std::optional<isl::set> ProofModel::instances(int s, const Access& access) {
  if (access.kind != Access::Kind::Write) {
    const std::optional<isl::set> all = domain(s);
    if (!all) return std::nullopt;
    return all->intersect(guards(s, access));
  }
  std::optional<isl::set> result = left_domain(s);
  // Reduction indices do not matter; pinned, so that the set stays bounded.
  for (std::size_t k = 0; result && k < item(s).left.size(); ++k) {
    if (item(s).left[k]) continue;
    const ExprPtr pinned = make_expr(
        DType::Bool, {}, Binary{BinaryOp::Eq, make_index(static_cast<int>(k)), make_int(0)});
    result = result->intersect(*scope(s).where(pinned));
  }
  return result;
}

std::optional<isl::map> ProofModel::elements(int s, const Access& access) {
  const std::optional<isl::set> points = instances(s, access);
  const std::optional<isl::set> all = points ? box(access.tensor) : std::nullopt;
  if (!all) return std::nullopt;
  return scope(s)
      .access(tensor(access.tensor).name, access.subscripts)
      .relation.intersect_domain(*points)
      .intersect_range(*all);
}

/// Loops, the left-hand ranges and the conditions on them; every other index is unconstrained.
std::optional<isl::set> ProofModel::left_domain(int s) {
  std::optional<isl::set> result = scope(s).loop_domain();
  for (std::size_t k = 0; result && k < item(s).left.size(); ++k) {
    if (!item(s).left[k]) continue;
    const std::optional<isl::set> range = scope(s).index_range(static_cast<int>(k));
    if (!range) return std::nullopt;
    result = result->intersect(*range);
  }
  for (const ExprPtr& condition : item(s).left_conditions) {
    const std::optional<isl::set> cut = result ? scope(s).where(condition) : std::nullopt;
    if (!cut) return std::nullopt;
    result = result->intersect(*cut);
  }
  return result;
}

std::optional<isl::map> ProofModel::written(int s) {
  const auto known = written_.find(s);
  if (known != written_.end()) return known->second;
  const Statement& statement = *item(s).statement;
  const auto loops = static_cast<unsigned>(item(s).loops.size());
  const std::string name = tensor(statement.tensor).name;
  const std::optional<isl::set> all = box(statement.tensor);
  const std::optional<isl::set> left = all ? left_domain(s) : std::nullopt;
  std::optional<isl::map> result;
  if (left && item(s).scatter) {
    // With `!` the whole tensor is cleared, once per iteration of the loops.
    const std::optional<isl::set> iterations = scope(s).loop_domain();
    const isl::set runs = sets::project_out(*iterations, loops, iteration_tuple(s));
    const isl::map everything = isl::map::universe(
        scope(s)
            .access(name, std::vector<ExprPtr>(statement.subscripts.size(), make_int(0)))
            .relation.space());
    result = sets::project_domain(everything, loops, iteration_tuple(s))
                 .intersect_domain(runs)
                 .intersect_range(*all);
    if (!statement.init) result = isl::map::empty(result->space());
  } else if (left) {
    const AffineAccess access = scope(s).access(name, statement.subscripts);
    if (access.exact()) {
      result =
          sets::project_domain(access.relation.intersect_domain(*left), loops, iteration_tuple(s))
              .intersect_range(*all);
    }
  }
  written_.emplace(s, result);
  return result;
}

std::optional<isl::map> ProofModel::reached(int s) {
  const Statement& statement = *item(s).statement;
  const std::optional<isl::set> instances = domain(s);
  if (!instances) return std::nullopt;
  const AffineAccess access = scope(s).access(tensor(statement.tensor).name, statement.subscripts);
  if (!access.exact()) return std::nullopt;
  return sets::project_domain(access.relation.intersect_domain(*instances),
                              static_cast<unsigned>(item(s).loops.size()), iteration_tuple(s));
}

std::optional<isl::map> ProofModel::written_before(int s, TensorId id) {
  const isl::space here = iteration_space(s);
  std::optional<isl::map> result;
  for (int w = 0; w < static_cast<int>(items_.size()); ++w) {
    if (item(w).statement->tensor != id) continue;
    unsigned common = 0;
    while (common < item(w).loops.size() && common < item(s).loops.size() &&
           item(w).loops[common]->var == item(s).loops[common]->var) {
      ++common;
    }
    if (w >= s && common == 0) continue;
    const std::optional<isl::map> writes = written(w);
    if (!writes) return std::nullopt;
    // A textually earlier statement counts in the same iteration of the common loops too; others
    // only in earlier ones.
    const isl::map earlier =
        sets::lexicographic_order(iteration_space(w), here, common, /*or_equal=*/w < s).reverse();
    const isl::map before = earlier.apply_range(*writes);
    result = result ? result->unite(before) : before;
  }
  if (result) return result;
  const std::optional<isl::set> all = box(id);
  if (!all) return std::nullopt;
  const isl::map universe =
      scope(s)
          .access(tensor(id).name, std::vector<ExprPtr>(tensor(id).extent.size(), make_int(0)))
          .relation;
  return isl::map::empty(sets::project_domain(universe, static_cast<unsigned>(item(s).loops.size()),
                                              iteration_tuple(s))
                             .space());
}

// ---- interval reasoning ----

VariableRanges ProofModel::narrowed_ranges(int s, const Access& access) const {
  std::vector<ExprPtr> conditions =
      access.kind == Access::Kind::Write ? item(s).left_conditions : item(s).statement->conditions;
  for (const int g : access.guards) {
    const ExprPtr condition = as_condition(item(s).accesses.guards[static_cast<std::size_t>(g)]);
    if (condition) conditions.push_back(condition);
  }
  return conditions.empty() ? item(s).ranges : narrowed(item(s).ranges, conditions);
}

bool ProofModel::surely_inside(int s, const Access& access, std::size_t dim) const {
  const Form form = Form::of(access.subscripts[dim]);
  if (!form.valid()) return false;
  const Tensor& tensor = this->tensor(access.tensor);
  const Form begin = Form::of(tensor.begin[dim]);
  const Form end = begin + Form::of(tensor.extent[dim]);
  const VariableRanges ranges = narrowed_ranges(s, access);
  std::set<int> assumed;
  const Form low = extreme(form - begin, End::Smallest, ranges, std::nullopt, assumed);
  const Form high = extreme(end - Form(1) - form, End::Smallest, ranges, std::nullopt, assumed);
  return assumed.empty() && is_nonnegative(low) && is_nonnegative(high);
}

std::optional<std::vector<VariableRange>> ProofModel::written_box(int s) const {
  const ProofItem& writer = item(s);
  const Tensor& target = tensor(writer.statement->tensor);
  std::vector<VariableRange> box;
  if (writer.scatter) {
    if (!writer.statement->init) return std::nullopt;
    for (std::size_t d = 0; d < target.extent.size(); ++d) {
      const Form begin = Form::of(target.begin[d]);
      box.push_back({begin, begin + Form::of(target.extent[d])});
    }
    return box;
  }
  if (!writer.left_conditions.empty()) return std::nullopt;
  std::set<Variable> used;
  for (const ExprPtr& subscript : writer.statement->subscripts) {
    const Form form = Form::of(subscript);
    if (!form.valid()) return std::nullopt;
    const std::optional<Variable> index = lone_index(form);
    if (!index) {
      const std::set<Variable> mentioned = variables(form);
      if (std::any_of(mentioned.begin(), mentioned.end(), [](Variable v) { return !v.is_for; }))
        return std::nullopt;
      box.push_back({form, form + Form(1)});
      continue;
    }
    // Each index moves one dimension only, over a constant range of its own: the product of the
    // ranges is written.
    const VariableRange& range = writer.ranges.at(*index);
    const bool plain = used.insert(*index).second && variables(form).size() == 1 &&
                       !has_variables(range.lo) && !has_variables(range.hi);
    if (!plain) return std::nullopt;
    std::set<int> assumed;
    box.push_back({extreme(form, End::Smallest, writer.ranges, std::nullopt, assumed),
                   extreme(form, End::Largest, writer.ranges, std::nullopt, assumed) + Form(1)});
  }
  return box;
}

bool ProofModel::loops_surely_run(int s) const {
  const std::vector<const ForLoop*>& loops = item(s).loops;
  return std::all_of(loops.begin(), loops.end(), [](const ForLoop* loop) {
    const Form width = Form::of(loop->hi) - Form::of(loop->lo);
    return !has_variables(width) && is_nonnegative(width - Form(1));
  });
}

bool ProofModel::surely_written(int s, const Access& access) const {
  const VariableRanges ranges = narrowed_ranges(s, access);
  const Tensor& target = tensor(access.tensor);
  for (int w = 0; w < s; ++w) {
    if (item(w).statement->tensor != access.tensor) continue;
    const std::vector<const ForLoop*>& loops = item(w).loops;
    const bool same_iteration =
        loops.size() <= item(s).loops.size() &&
        std::equal(loops.begin(), loops.end(), item(s).loops.begin(),
                   [](const ForLoop* a, const ForLoop* b) { return a->var == b->var; });
    const auto box = same_iteration ? written_box(w) : std::nullopt;
    if (!box) continue;
    bool inside = true;
    for (std::size_t d = 0; inside && d < box->size(); ++d) {
      Form low = Form::of(access.subscripts[d]);
      Form high = low;
      // A gathered read may touch everything, and so may one that pad keeps inside.
      if (access.padded || contains_read(access.subscripts[d])) {
        low = Form::of(target.begin[d]);
        high = low + Form::of(target.extent[d]) - Form(1);
      }
      std::set<int> assumed;
      const Form above = extreme(low - (*box)[d].lo, End::Smallest, ranges, std::nullopt, assumed);
      const Form below =
          extreme((*box)[d].hi - Form(1) - high, End::Smallest, ranges, std::nullopt, assumed);
      inside = assumed.empty() && is_nonnegative(above) && is_nonnegative(below);
    }
    if (inside) return true;
  }
  return false;
}

}  // namespace tc::lang
