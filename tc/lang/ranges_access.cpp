// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/ranges_access.h"

#include "tc/support/check.h"

namespace tc::lang {

namespace {

class Collector {
public:
  explicit Collector(Accesses& out) : out_(out) {}

  Access::Kind kind = Access::Kind::Read;
  bool in_subscript = false;

  void visit(const ExprPtr& expr) {
    if (!expr) return;
    if (const auto* node = std::get_if<Read>(&expr->node)) return read(expr, *node);
    if (const auto* node = std::get_if<Select>(&expr->node)) {
      visit(node->condition);
      guarded({node->condition, true, nullptr}, node->if_true);
      guarded({node->condition, false, nullptr}, node->if_false);
      return;
    }
    const auto* node = std::get_if<Binary>(&expr->node);
    if (node && (node->op == BinaryOp::And || node->op == BinaryOp::Or)) {
      visit(node->left);
      guarded({node->left, node->op == BinaryOp::And, nullptr}, node->right);
      return;
    }
    map_children(expr, [&](const ExprPtr& child) {
      visit(child);
      return child;
    });
  }

private:
  void guarded(Guard guard, const ExprPtr& expr) {
    if (!contains_read(expr)) return;
    push(std::move(guard));
    visit(expr);
    path_.pop_back();
  }

  void push(Guard guard) {
    path_.push_back(static_cast<int>(out_.guards.size()));
    out_.guards.push_back(std::move(guard));
  }

  void read(const ExprPtr& expr, const Read& node) {
    if (node.pad) push({nullptr, true, expr});
    out_.list.push_back({kind, node.tensor, node.subscripts, expr->range, expr, node.pad != nullptr,
                         in_subscript, path_});
    if (node.pad) path_.pop_back();
    for (const ExprPtr& subscript : node.subscripts)
      visit(subscript);
    visit(node.pad);
  }

  Accesses& out_;
  std::vector<int> path_;
};

}  // namespace

Accesses collect_accesses(const Statement& statement) {
  Accesses out;
  SourceRange range = statement.range;
  if (!statement.subscripts.empty()) {
    range = {};
    for (const ExprPtr& subscript : statement.subscripts) {
      range = SourceRange::join(range, subscript->range);
    }
    if (range.empty()) range = statement.range;
  }
  out.list.push_back({Access::Kind::Write,
                      statement.tensor,
                      statement.subscripts,
                      range,
                      nullptr,
                      false,
                      false,
                      {}});
  Collector collector(out);
  collector.in_subscript = true;
  for (const ExprPtr& subscript : statement.subscripts)
    collector.visit(subscript);
  collector.in_subscript = false;
  collector.visit(statement.value);
  collector.kind = Access::Kind::Exists;
  for (const ExprPtr& expr : statement.exists)
    collector.visit(expr);
  return out;
}

std::string to_string(const TypedDef& def, const Statement& statement, const Access& access) {
  std::string text = def.tensors.at(static_cast<std::size_t>(access.tensor)).name;
  if (access.subscripts.empty()) return text;
  text += "(";
  for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
    text += (d ? ", " : "") + to_string(def, &statement, access.subscripts[d]);
  }
  return text + ")";
}

}  // namespace tc::lang
