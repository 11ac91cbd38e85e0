// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "tc/lang/sema.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// A prefix notation in which every entity is a letter and its number, so that neither names nor
/// layout can show. Numbers follow declaration order, which is textual order; types stand where
/// they matter: on tensors, constants, casts and index variables.
class CanonicalWriter {
public:
  explicit CanonicalWriter(const TypedDef& def) : def_(def) {}

  std::string text() {
    put("tc1 sizes {} consts", def_.sizes.size());
    for (const Const& constant : def_.consts)
      put(" {}", name(constant.type));
    put("\n");
    for (const Tensor& tensor : def_.tensors)
      add(tensor);
    put("returns");
    for (const TensorId output : def_.outputs)
      put(" t{}", output);
    put("\n");
    for (const ExprPtr& condition : def_.preconditions)
      line("needs", condition);
    add(def_.body);
    return std::move(out_);
  }

private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void add(const Tensor& tensor) {
    put("{}{}{}{} {}", tensor.is_param ? "in" : "", tensor.is_output ? "out" : "",
        tensor.needs_initial ? "initial" : "", tensor.is_param || tensor.is_output ? "" : "temp",
        name(tensor.type));
    for (int d = 0; d < tensor.rank; ++d) {
      put(" [");
      add(tensor.begin[d]);
      put(" +");
      add(tensor.extent[d]);
      put("]");
    }
    put("\n");
  }

  void add(const std::vector<Node>& body) {
    for (const Node& node : body) {
      if (const auto* statement = std::get_if<Statement>(&node)) {
        add(*statement);
        continue;
      }
      const ForLoop& loop = *std::get<std::shared_ptr<const ForLoop>>(node);
      loops_.emplace(loop.var, static_cast<int>(loops_.size()));
      put("for {} v{}", name(loop.type), loops_.at(loop.var));
      add(loop.lo);
      add(loop.hi);
      put(" {{\n");
      add(loop.body);
      put("}}\n");
    }
  }

  void add(const Statement& statement) {
    put("t{}", statement.tensor);
    list(statement.subscripts);
    put(" {}{} {}", statement.op ? spelling(*statement.op) : "=", statement.init ? "!" : "",
        statement.op ? name(statement.accumulator) : "");
    add(statement.value);
    put("\n");
    if (statement.position) line(" position", statement.position);
    for (const Index& index : statement.indices) {
      put(" index{}{} {}", index.on_left ? " left" : "", index.given ? " given" : "",
          name(index.type));
      add(index.lo);
      add(index.hi);
      put("\n");
    }
    for (const ExprPtr& condition : statement.conditions)
      line(" if", condition);
    for (const ExprPtr& exists : statement.exists)
      line(" exists", exists);
  }

  void line(const char* what, const ExprPtr& expr) {
    put("{}", what);
    add(expr);
    put("\n");
  }

  void list(const std::vector<ExprPtr>& exprs) {
    put("(");
    for (const ExprPtr& expr : exprs)
      add(expr);
    put(")");
  }

  void add(const ExprPtr& expr) {
    put(" ");
    if (!expr) {
      put("?");
      return;
    }
    std::visit(Overloaded{
                   [&](const IntConst& node) { put("{}:{}", node.value, name(expr->type)); },
                   [&](const FloatConst& node) {
                     put("{:x}:{}", std::bit_cast<std::uint64_t>(node.value), name(expr->type));
                   },
                   [&](const IndexRef& node) { put("i{}", node.index); },
                   [&](const SizeRef& node) { put("n{}", node.size); },
                   [&](const ConstRef& node) { put("c{}", node.id); },
                   [&](const ForRef& node) { put("v{}", loops_.at(node.var)); },
                   [&](const DimOf& node) {
                     put("{}(t{} {})", node.part == DimOf::Part::Begin ? "begin" : "extent",
                         node.tensor, node.dim);
                   },
                   [&](const Read& node) {
                     put("t{}", node.tensor);
                     list(node.subscripts);
                     if (!node.pad) return;
                     put("pad");
                     add(node.pad);
                   },
                   [&](const Unary& node) {
                     put("{}", node.op == UnaryOp::Negate ? "neg" : "!");
                     list({node.operand});
                   },
                   [&](const Binary& node) {
                     put("{}", spelling(node.op));
                     list({node.left, node.right});
                   },
                   [&](const Select& node) {
                     put("?:");
                     list({node.condition, node.if_true, node.if_false});
                   },
                   [&](const Cast& node) {
                     put("{}", name(node.to));
                     list({node.operand});
                   },
                   [&](const Builtin& node) {
                     put("{}", node.name);
                     list(node.args);
                   },
               },
               expr->node);
  }

  const TypedDef& def_;
  std::unordered_map<int, int> loops_;
  std::string out_;
};

}  // namespace

std::string canonical(const TypedDef& def) {
  return CanonicalWriter(def).text();
}

}  // namespace tc::lang
