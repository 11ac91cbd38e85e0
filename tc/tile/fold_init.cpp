// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/fold_init.h"

#include <algorithm>

#include "tc/tile/footprint.h"

namespace tc::tile {
namespace {

using poly::Statement;
using poly::StatementKind;

/// A one-to-one relation between the indices of two statements, found while expressions are
/// compared.
class IndexMatch {
public:
  IndexMatch(std::size_t left, std::size_t right) : to_(left, -1), from_(right, -1) {}

  /// The expressions are equal when indices are renamed; may_extend: new pairs may be made.
  bool equal(const lang::ExprPtr& a, const lang::ExprPtr& b, bool may_extend) {
    if (!a || !b) return a == b;
    if (lang::contains_read(a) || lang::contains_read(b)) return false;
    if (may_extend && !extend(a, b)) return false;
    const lang::ExprPtr renamed = lang::rewrite(a, [&](const lang::ExprPtr& e) -> lang::ExprPtr {
      const auto* ref = std::get_if<lang::IndexRef>(&e->node);
      if (!ref) return nullptr;
      const int other = to_[static_cast<std::size_t>(ref->index)];
      return lang::make_expr(e->type, e->range, lang::IndexRef{other});
    });
    return lang::equal(renamed, b);
  }

  int operator()(int left) const { return to_[static_cast<std::size_t>(left)]; }
  int inverse(int right) const { return from_[static_cast<std::size_t>(right)]; }

private:
  static std::vector<int> order(const lang::ExprPtr& expr) {
    std::vector<int> indices;
    lang::walk(expr, [&](const lang::Expr& e) {
      if (const auto* ref = std::get_if<lang::IndexRef>(&e.node)) indices.push_back(ref->index);
    });
    return indices;
  }

  bool extend(const lang::ExprPtr& a, const lang::ExprPtr& b) {
    const auto left = order(a);
    const auto right = order(b);
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      int& to = to_[static_cast<std::size_t>(left[i])];
      int& from = from_[static_cast<std::size_t>(right[i])];
      if (to < 0 && from < 0) {
        to = right[i];
        from = left[i];
      }
      if (to != right[i] || from != left[i]) return false;
    }
    return true;
  }

  std::vector<int> to_, from_;
};

/// Mentions only indices that have a partner.
bool only_matched(const lang::ExprPtr& expr, const IndexMatch& match) {
  bool only = true;
  lang::walk(expr, [&](const lang::Expr& e) {
    if (const auto* ref = std::get_if<lang::IndexRef>(&e.node))
      only = only && match.inverse(ref->index) >= 0;
  });
  return only;
}

bool same_targets(const Statement& init, const Statement& reduce, IndexMatch& match) {
  if (init.targets.size() != reduce.targets.size()) return false;
  for (std::size_t t = 0; t < init.targets.size(); ++t) {
    const auto& a = init.targets[t];
    const auto& b = reduce.targets[t];
    if (a.tensor != b.tensor || a.subscripts.size() != b.subscripts.size()) return false;
    for (std::size_t d = 0; d < a.subscripts.size(); ++d)
      if (!match.equal(a.subscripts[d], b.subscripts[d], true)) return false;
  }
  return true;
}

bool same_ranges(const Statement& init, const Statement& reduce, IndexMatch& match) {
  for (std::size_t i = 0; i < init.indices.size(); ++i) {
    const int other = match(static_cast<int>(i));
    if (other < 0) return false;
    const auto& a = init.indices[i];
    const auto& b = reduce.indices[static_cast<std::size_t>(other)];
    if (!match.equal(a.lo, b.lo, false) || !match.equal(a.hi, b.hi, false)) return false;
  }
  // What the Reduce has beyond them are reduction indices.
  for (std::size_t j = 0; j < reduce.indices.size(); ++j)
    if (reduce.indices[j].on_left && match.inverse(static_cast<int>(j)) < 0) return false;
  return true;
}

bool same_conditions(const Statement& init, const Statement& reduce, IndexMatch& match) {
  std::vector<lang::ExprPtr> left_only;
  for (const auto& condition : reduce.conditions)
    if (only_matched(condition, match)) left_only.push_back(condition);
  if (init.conditions.size() != left_only.size()) return false;
  for (std::size_t c = 0; c < left_only.size(); ++c)
    if (!match.equal(init.conditions[c], left_only[c], false)) return false;
  return true;
}

bool touches(const Statement& statement, const Statement& init) {
  for (const auto& access : accesses_of(statement, 0))
    for (const auto& target : init.targets)
      if (access.tensor == target.tensor) return true;
  return false;
}

void absorb(const GroupFrame& frame, const std::vector<FrameItem>& items,
            std::vector<int>& absorbed) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (const auto* loop = std::get_if<std::shared_ptr<const LoopFrame>>(&items[i])) {
      absorb(frame, (*loop)->body, absorbed);
      continue;
    }
    const auto position = static_cast<std::size_t>(std::get<int>(items[i]));
    const auto& init = frame.statements[position];
    if (init.statement->kind != StatementKind::Init) continue;
    bool open = true;
    for (std::size_t j = i + 1; open && j < items.size(); ++j) {
      for (const int below : statements_below({items[j]})) {
        const auto& user = frame.statements[static_cast<std::size_t>(below)];
        if (!touches(*user.statement, *init.statement)) continue;
        const bool here = std::holds_alternative<int>(items[j]);
        if (here && sets_accumulator_of(init, user)) absorbed[position] = below;
        open = false;
        break;
      }
    }
  }
}

}  // namespace

bool sets_accumulator_of(const StatementFrame& init, const StatementFrame& reduce) {
  const Statement& a = *init.statement;
  const Statement& b = *reduce.statement;
  if (a.kind != StatementKind::Init || b.kind != StatementKind::Reduce || a.op != b.op)
    return false;
  if (init.empty || reduce.empty || a.scatter || b.scatter || a.loops != b.loops) return false;
  IndexMatch match(a.indices.size(), b.indices.size());
  if (!same_targets(a, b, match) || !same_ranges(a, b, match) || !same_conditions(a, b, match))
    return false;
  for (const auto& member : *init.band) {
    const auto& x = member.alignment[static_cast<std::size_t>(init.position)];
    const auto& y = member.alignment[static_cast<std::size_t>(reduce.position)];
    if (match(x.index) != y.index || x.sign != y.sign || x.offset != y.offset) return false;
  }
  return true;
}

std::vector<int> absorbed_inits(const GroupFrame& frame) {
  std::vector<int> absorbed(frame.statements.size(), -1);
  absorb(frame, frame.body, absorbed);
  return absorbed;
}

}  // namespace tc::tile
