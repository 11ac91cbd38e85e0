// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/access.h"

#include <algorithm>
#include <map>

#include "tc/support/check.h"

namespace tc::poly {
namespace {

using lang::BinaryOp;
using lang::ExprPtr;

struct Sum {
  std::map<int, std::int64_t> indices, loops;
  std::int64_t constant = 0;

  bool is_constant() const { return indices.empty() && loops.empty(); }
};

// Sums stay far below 64 bits in every program that could run; a wrap makes the form unusable
// instead of wrong.
bool accumulate(std::int64_t& into, std::int64_t value, std::int64_t factor) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(value, factor, &product) &&
         !__builtin_add_overflow(into, product, &into);
}

bool add_scaled(Sum& into, const Sum& other, std::int64_t factor) {
  bool fine = accumulate(into.constant, other.constant, factor);
  for (const auto& [index, coefficient] : other.indices)
    fine = fine && accumulate(into.indices[index], coefficient, factor);
  for (const auto& [loop, coefficient] : other.loops)
    fine = fine && accumulate(into.loops[loop], coefficient, factor);
  std::erase_if(into.indices, [](const auto& term) { return term.second == 0; });
  std::erase_if(into.loops, [](const auto& term) { return term.second == 0; });
  return fine;
}

std::optional<Sum> sum_of(const ExprPtr& expr);

std::optional<Sum> sum_of_binary(const lang::Binary& e) {
  if (e.op != BinaryOp::Add && e.op != BinaryOp::Sub && e.op != BinaryOp::Mul) return std::nullopt;
  const auto a = sum_of(e.left), b = sum_of(e.right);
  if (!a || !b) return std::nullopt;
  Sum result;
  if (e.op == BinaryOp::Mul) {
    if (!a->is_constant() && !b->is_constant()) return std::nullopt;
    const Sum& scaled = a->is_constant() ? *b : *a;
    const std::int64_t factor = a->is_constant() ? a->constant : b->constant;
    return add_scaled(result, scaled, factor) ? std::optional(result) : std::nullopt;
  }
  if (!add_scaled(result, *a, 1)) return std::nullopt;
  return add_scaled(result, *b, e.op == BinaryOp::Add ? 1 : -1) ? std::optional(result)
                                                                : std::nullopt;
}

std::optional<Sum> sum_of(const ExprPtr& expr) {
  Sum sum;
  if (const auto* c = std::get_if<lang::IntConst>(&expr->node)) {
    sum.constant = c->value;
    return sum;
  }
  if (const auto* ref = std::get_if<lang::IndexRef>(&expr->node)) {
    sum.indices[ref->index] = 1;
    return sum;
  }
  if (const auto* ref = std::get_if<lang::ForRef>(&expr->node)) {
    sum.loops[ref->var] = 1;
    return sum;
  }
  if (const auto* unary = std::get_if<lang::Unary>(&expr->node)) {
    const auto operand = unary->op == lang::UnaryOp::Negate ? sum_of(unary->operand) : std::nullopt;
    return operand && add_scaled(sum, *operand, -1) ? std::optional(sum) : std::nullopt;
  }
  if (const auto* binary = std::get_if<lang::Binary>(&expr->node)) return sum_of_binary(*binary);
  if (const auto* cast = std::get_if<lang::Cast>(&expr->node)) {
    // Subscripts are proven to fit, so widening casts keep the value.
    if (is_integer(cast->to) && bits(cast->to) >= 32 && is_integer(cast->operand->type))
      return sum_of(cast->operand);
  }
  return std::nullopt;
}

void add_unique(std::vector<Access>& list, std::size_t first, Access access) {
  for (std::size_t i = first; i < list.size(); ++i) {
    const Access& other = list[i];
    if (other.tensor != access.tensor || other.kind != access.kind || other.padded != access.padded)
      continue;
    if (std::equal(other.subscripts.begin(), other.subscripts.end(), access.subscripts.begin(),
                   access.subscripts.end(), lang::equal))
      return;
  }
  for (const ExprPtr& subscript : access.subscripts)
    access.bare.push_back(bare_subscript(subscript));
  list.push_back(std::move(access));
}

void collect_reads(const ExprPtr& expr, int statement, std::size_t first,
                   std::vector<Access>& list) {
  if (!expr) return;
  lang::walk(expr, [&](const lang::Expr& e) {
    if (const auto* read = std::get_if<lang::Read>(&e.node))
      add_unique(
          list, first,
          {statement, read->tensor, AccessKind::Read, read->subscripts, read->pad != nullptr, {}});
  });
}

}  // namespace

std::optional<LinearForm> linear_form(const ExprPtr& expr) {
  const auto sum = sum_of(expr);
  if (!sum) return std::nullopt;
  return LinearForm{{sum->indices.begin(), sum->indices.end()},
                    {sum->loops.begin(), sum->loops.end()},
                    sum->constant};
}

std::optional<BareSubscript> bare_subscript(const ExprPtr& expr) {
  const auto form = linear_form(expr);
  if (!form || form->indices.size() != 1 || !form->loops.empty()) return std::nullopt;
  const auto [index, coefficient] = form->indices.front();
  if (coefficient != 1 && coefficient != -1) return std::nullopt;
  return BareSubscript{index, static_cast<int>(coefficient), form->constant};
}

std::vector<Access> accesses(const Scop& scop) {
  std::vector<Access> list;
  for (std::size_t s = 0; s < scop.statements.size(); ++s) {
    const Statement& statement = scop.statements[s];
    const int id = static_cast<int>(s);
    const std::size_t first = list.size();
    for (const Target& target : statement.targets)
      add_unique(list, first, {id, target.tensor, AccessKind::Write, target.subscripts, false, {}});
    for (const Target& target : statement.targets) {
      if (statement.kind == StatementKind::Reduce)
        add_unique(list, first,
                   {id, target.tensor, AccessKind::Read, target.subscripts, false, {}});
      for (const ExprPtr& subscript : target.subscripts)
        collect_reads(subscript, id, first, list);
      collect_reads(target.value, id, first, list);
    }
  }
  return list;
}

bool is_injective_left_side(const Statement& statement) {
  std::vector<bool> determined(statement.indices.size(), false);
  for (const ExprPtr& subscript : statement.targets.front().subscripts) {
    if (const auto bare = bare_subscript(subscript))
      determined[static_cast<std::size_t>(bare->index)] = true;
  }
  return std::all_of(determined.begin(), determined.end(), [](bool d) { return d; });
}

}  // namespace tc::poly
