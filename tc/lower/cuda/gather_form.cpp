// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/gather_form.h"

#include <algorithm>
#include <cstdlib>

#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

/// Points may become this many times as many.
constexpr std::int64_t kMostGrowth = 4;

struct Choice {
  std::size_t subscript = 0;
  std::size_t dim = 0;
  std::int64_t coefficient = 0;
};

struct Bounds {
  std::int64_t begin = 0, end = 0;
};

std::optional<Bounds> constant_bounds(const tile::Dim& dim) {
  const auto begin = constant_of(dim.begin);
  const auto end = constant_of(dim.end);
  if (!begin || !end || *end <= *begin || dim.step != 1) return std::nullopt;
  return Bounds{*begin, *end};
}

class Rewriting {
public:
  Rewriting(const tile::Op& op, const Ranges& outer, Names& names)
      : op_(op), info_(analyse(op, outer)), names_(names) {}

  std::optional<tile::Op> run() {
    if (!op_.combine || op_.from_identity || op_.layout) return std::nullopt;
    for (std::size_t s = 0; s < op_.targets[0].subscripts.size(); ++s)
      if (const auto choice = choose(s))
        if (auto op = rewrite(*choice)) return op;
    return std::nullopt;
  }

private:
  /// The longest dim of a subscript in which dims meet.
  std::optional<Choice> choose(std::size_t s) const {
    const ExprPtr& subscript = op_.targets[0].subscripts[s];
    if (contains_load(subscript)) return std::nullopt;
    const Affine sum = info_.ranges.affine(subscript);
    std::optional<Choice> best;
    std::int64_t longest = 0;
    bool meets = false;
    for (const auto& term : sum.terms) {
      const auto* ref = std::get_if<kernel::VarRef>(&term.atom->node);
      const int d = ref ? dim_of(op_, ref->var.id) : -1;
      if (d < 0) return std::nullopt;
      const auto bounds = constant_bounds(op_.dims[d]);
      if (!bounds) return std::nullopt;
      if (is_elsewhere(static_cast<std::size_t>(d), s)) return std::nullopt;
      meets = meets || op_.dims[d].reduction;
      const std::int64_t length = bounds->end - bounds->begin;
      if (length <= longest || !is_replaceable(static_cast<std::size_t>(d))) continue;
      longest = length;
      best = Choice{s, static_cast<std::size_t>(d), term.coefficient};
    }
    return meets && sum.terms.size() > 1 ? best : std::nullopt;
  }

  /// Whether the dim moves another subscript as well, or the targets differ in this one.
  bool is_elsewhere(std::size_t d, std::size_t s) const {
    const auto& first = op_.targets[0].subscripts;
    for (const auto& target : op_.targets) {
      if (target.subscripts.size() != first.size()) return true;
      for (std::size_t i = 0; i < target.subscripts.size(); ++i)
        if (i == s ? !kernel::equal(target.subscripts[i], first[i])
                   : depends_on(target.subscripts[i], op_.dims[d].var.id))
          return true;
    }
    return false;
  }

  /// The dim bounds no dim and decides no condition by data.
  bool is_replaceable(std::size_t d) const {
    const int var = op_.dims[d].var.id;
    for (const auto& dim : op_.dims)
      if (depends_on(dim.begin, var) || depends_on(dim.end, var)) return false;
    return std::none_of(op_.conditions.begin(), op_.conditions.end(),
                        [&](const ExprPtr& c) { return contains_load(c) && depends_on(c, var); });
  }

  std::optional<tile::Op> rewrite(const Choice& choice) const {
    const tile::Dim& old = op_.dims[choice.dim];
    const ExprPtr& subscript = op_.targets[0].subscripts[choice.subscript];
    const Bounds bounds = *constant_bounds(old);
    Interval elements = info_.ranges.of(subscript);
    elements = intersect(elements, {0, op_.targets[0].buffer->extents[choice.subscript] - 1});
    if (elements.lo > elements.hi) return std::nullopt;
    const std::int64_t count = elements.hi - elements.lo + 1;
    if (count / kMostGrowth > bounds.end - bounds.begin) return std::nullopt;

    tile::Dim dim;
    dim.var = names_.variable("at_" + old.var.name);
    dim.begin = kernel::int_imm(elements.lo);
    dim.end = kernel::int_imm(elements.hi + 1);
    dim.max_extent = count;
    // coefficient * i + rest = element.
    Affine rest = info_.ranges.affine(subscript);
    rest.add(kernel::var_ref(old.var), -choice.coefficient);
    const ExprPtr element = kernel::var_ref(dim.var);
    const std::int64_t factor = std::abs(choice.coefficient);
    ExprPtr value = choice.coefficient > 0 ? kernel::sub(element, to_expr(rest))
                                           : kernel::sub(to_expr(rest), element);
    std::vector<ExprPtr> conditions;
    if (factor > 1) {
      const ExprPtr divisor = kernel::int_imm(factor);
      conditions.push_back(kernel::binary(
          BinaryOp::Eq, kernel::binary(BinaryOp::FloorMod, value, divisor), kernel::int_imm(0)));
      value = kernel::binary(BinaryOp::FloorDiv, value, divisor);
    }
    conditions.push_back(kernel::binary(BinaryOp::Ge, value, old.begin));
    conditions.push_back(kernel::binary(BinaryOp::Lt, value, old.end));
    return substituted(choice, std::move(dim), value, std::move(conditions));
  }

  tile::Op substituted(const Choice& choice, tile::Dim dim, const ExprPtr& value,
                       std::vector<ExprPtr> conditions) const {
    const std::vector<std::pair<int, ExprPtr>> replace{{op_.dims[choice.dim].var.id, value}};
    tile::Op op = op_;
    for (const auto& condition : op_.conditions)
      conditions.push_back(kernel::substitute(condition, replace));
    op.conditions = std::move(conditions);
    const ExprPtr element = kernel::var_ref(dim.var);
    op.dims[choice.dim] = std::move(dim);
    for (auto& target : op.targets) {
      target.subscripts[choice.subscript] = element;
      target.value = kernel::substitute(target.value, replace);
    }
    // What was in the subscript beside it now reduces.
    for (auto& other : op.dims)
      if (depends_on(op_.targets[0].subscripts[choice.subscript], other.var.id))
        other.reduction = true;
    op.kind = tile::classify(op);
    return op;
  }

  const tile::Op& op_;
  OpInfo info_;
  Names& names_;
};

}  // namespace

std::optional<tile::Op> gather_form(const tile::Op& op, const Ranges& outer, Names& names) {
  return Rewriting(op, outer, names).run();
}

}  // namespace tc::lower::cuda
