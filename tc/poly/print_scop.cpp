// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tc/poly/instances.h"
#include "tc/poly/scop.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

using lang::ExprPtr;

const char* update_text(lang::ReduceOp op) {
  switch (op) {
  case lang::ReduceOp::Add: return "+=";
  case lang::ReduceOp::Mul: return "*=";
  case lang::ReduceOp::Min: return "min=";
  case lang::ReduceOp::Max: return "max=";
  case lang::ReduceOp::ArgMin: return "argmin=";
  case lang::ReduceOp::ArgMax: return "argmax=";
  }
  unreachable("reduction operator");
}

class Printer {
public:
  explicit Printer(const Scop& scop) : scop_(scop) {
    // The typed program's printer needs names only.
    for (const Tensor& tensor : scop.tensors) {
      lang::Tensor named;
      named.name = tensor.name;
      named.type = tensor.type;
      names_.tensors.push_back(std::move(named));
    }
    names_.body = loop_shells(scop.body);
  }

  std::string print() {
    text_ = "scop " + scop_.name + "\n";
    for (const Tensor& tensor : scop_.tensors)
      print_tensor(tensor);
    print_nodes(scop_.body, 1);
    return std::move(text_);
  }

private:
  static std::vector<lang::Node> loop_shells(const std::vector<Node>& body) {
    std::vector<lang::Node> shells;
    for (const Node& node : body) {
      const auto* loop = std::get_if<std::shared_ptr<const For>>(&node);
      if (!loop) continue;
      auto shell = std::make_shared<lang::ForLoop>();
      shell->var = (*loop)->var;
      shell->name = (*loop)->name;
      shell->body = loop_shells((*loop)->body);
      shells.emplace_back(std::shared_ptr<const lang::ForLoop>(std::move(shell)));
    }
    return shells;
  }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
  }

  void print_tensor(const Tensor& tensor) {
    std::string text = "tensor " + tensor.name + ": " + std::string(name(tensor.type));
    for (std::size_t d = 0; d < tensor.begin.size(); ++d) {
      text += (d == 0 ? " " : " x ") + std::to_string(tensor.begin[d]) + ":" +
              std::to_string(tensor.begin[d] + tensor.extent[d]);
    }
    if (tensor.is_param) text += ", parameter " + std::to_string(tensor.param_position);
    if (tensor.is_output) text += ", output " + std::to_string(tensor.output_position);
    if (!tensor.is_param && !tensor.is_output) text += ", temporary";
    if (tensor.needs_initial) text += ", initialised by the caller";
    line(1, text);
  }

  void print_nodes(const std::vector<Node>& nodes, int depth) {
    for (const Node& node : nodes) {
      if (const auto* statement = std::get_if<int>(&node)) {
        print_statement(scop_.statements[static_cast<std::size_t>(*statement)], depth);
        continue;
      }
      const For& loop = *std::get<std::shared_ptr<const For>>(node);
      line(depth, "for " + loop.name + " in " + expression(nullptr, loop.lo) + ":" +
                      expression(nullptr, loop.hi));
      print_nodes(loop.body, depth + 1);
    }
  }

  std::string expression(const lang::Statement* context, const ExprPtr& expr) const {
    return lang::to_string(names_, context, expr);
  }

  void print_statement(const Statement& statement, int depth) {
    lang::Statement context;
    context.indices = statement.indices;
    std::string domain = statement.name + ":";
    const char* separator = " ";
    for (const lang::Index& index : statement.indices) {
      domain += separator + index.name + " in " + expression(&context, index.lo) + ":" +
                expression(&context, index.hi);
      separator = ", ";
    }
    for (const ExprPtr& condition : statement.conditions) {
      domain += separator + expression(&context, condition);
      separator = ", ";
    }
    line(depth, domain);
    for (const Target& target : statement.targets) {
      std::string text = scop_.tensors[static_cast<std::size_t>(target.tensor)].name + "(";
      for (std::size_t d = 0; d < target.subscripts.size(); ++d)
        text += (d == 0 ? "" : ", ") + expression(&context, target.subscripts[d]);
      text += ") ";
      if (statement.kind == StatementKind::Init) {
        text += "= identity of " + std::string(update_text(*statement.op));
      } else {
        text += statement.kind == StatementKind::Reduce ? update_text(*statement.op) : "=";
        text += " " + expression(&context, target.value);
      }
      line(depth + 1, text);
    }
  }

  const Scop& scop_;
  lang::TypedDef names_;
  std::string text_;
};

}  // namespace

std::string to_string(const Scop& scop) {
  return Printer(scop).print();
}

}  // namespace tc::poly
