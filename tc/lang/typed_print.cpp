// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "tc/lang/typed.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// Binding strength of the language's operators, as in its grammar; 9 is a primary.
int precedence(const Expr& expr) {
  if (std::holds_alternative<Select>(expr.node)) return 1;
  if (const auto* constant = std::get_if<IntConst>(&expr.node)) return constant->value < 0 ? 7 : 9;
  if (const auto* constant = std::get_if<FloatConst>(&expr.node))
    return std::signbit(constant->value) ? 7 : 9;
  if (std::holds_alternative<Unary>(expr.node)) return 7;
  const auto* binary = std::get_if<Binary>(&expr.node);
  if (!binary) return 9;
  switch (binary->op) {
  case BinaryOp::Or: return 2;
  case BinaryOp::And: return 3;
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne: return 4;
  case BinaryOp::Add:
  case BinaryOp::Sub: return 5;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod: return 6;
  case BinaryOp::Min:
  case BinaryOp::Max: return 9;
  }
  unreachable("BinaryOp");
}

std::string float_text(double value, DType type) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = type == DType::Float32 ? fmt::format("{}", static_cast<float>(value))
                                            : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Printer {
public:
  Printer(const TypedDef& def, const Statement* context) : def_(def), context_(context) {
    add_loops(def.body);
  }

  std::string text(const ExprPtr& expr) const {
    if (!expr) return "?";
    return std::visit(
        Overloaded{
            [&](const IntConst& constant) { return int_text(constant.value, expr->type); },
            [&](const FloatConst& constant) { return float_text(constant.value, expr->type); },
            [&](const IndexRef& ref) { return index_name(ref.index); },
            [&](const SizeRef& ref) { return named(def_.sizes, ref.size, "size"); },
            [&](const ConstRef& ref) { return named(def_.consts, ref.id, "const"); },
            [&](const ForRef& ref) { return loop_name(ref.var); },
            [&](const DimOf& dim) {
              if (dim.part == DimOf::Part::Begin)
                return fmt::format("begin({}.{})", tensor_name(dim.tensor), dim.dim);
              return fmt::format("{}.{}", tensor_name(dim.tensor), dim.dim);
            },
            [&](const Read& read) {
              std::string access =
                  tensor_name(read.tensor) + arguments(read.subscripts, /*always=*/false);
              if (!read.pad) return access;
              return fmt::format("pad({}, {})", access, text(read.pad));
            },
            [&](const Unary& unary) {
              return (unary.op == UnaryOp::Negate ? "-" : "!") + inside(unary.operand, 7);
            },
            [&](const Binary& binary) { return binary_text(binary, precedence(*expr)); },
            [&](const Select& select) {
              return fmt::format("{} ? {} : {}", inside(select.condition, 2), text(select.if_true),
                                 inside(select.if_false, 1));
            },
            [&](const Cast& cast) {
              return fmt::format("{}({})", name(cast.to), text(cast.operand));
            },
            [&](const Builtin& builtin) {
              return builtin.name + arguments(builtin.args, /*always=*/true);
            },
        },
        expr->node);
  }

  std::string arguments(const std::vector<ExprPtr>& args, bool always) const {
    if (args.empty() && !always) return "";
    std::string out = "(";
    for (std::size_t i = 0; i < args.size(); ++i)
      out += (i ? ", " : "") + text(args[i]);
    return out + ")";
  }

  std::string tensor_name(TensorId tensor) const { return named(def_.tensors, tensor, "tensor"); }

private:
  void add_loops(const std::vector<Node>& body) {
    for (const Node& node : body) {
      const auto* loop = std::get_if<std::shared_ptr<const ForLoop>>(&node);
      if (!loop) continue;
      loop_names_[(*loop)->var] = (*loop)->name;
      add_loops((*loop)->body);
    }
  }

  static std::string int_text(std::int64_t value, DType type) {
    if (type == DType::Bool) return value ? "true" : "false";
    if (type == DType::UInt64) return fmt::format("{}", static_cast<std::uint64_t>(value));
    return fmt::format("{}", value);
  }

  template <class T>
  static std::string named(const std::vector<T>& list, int id, const char* kind) {
    if (id < 0 || id >= static_cast<int>(list.size())) return fmt::format("{}#{}", kind, id);
    return list[id].name;
  }

  std::string index_name(int index) const {
    if (!context_) return fmt::format("i{}", index);
    return named(context_->indices, index, "index");
  }

  std::string loop_name(int var) const {
    const auto found = loop_names_.find(var);
    return found == loop_names_.end() ? fmt::format("for#{}", var) : found->second;
  }

  std::string inside(const ExprPtr& expr, int at_least) const {
    std::string inner = text(expr);
    return expr && precedence(*expr) < at_least ? "(" + inner + ")" : inner;
  }

  std::string binary_text(const Binary& binary, int level) const {
    if (binary.op == BinaryOp::Min || binary.op == BinaryOp::Max)
      return fmt::format("{}({}, {})", spelling(binary.op), text(binary.left), text(binary.right));
    return fmt::format("{} {} {}", inside(binary.left, level), spelling(binary.op),
                       inside(binary.right, level + 1));
  }

  const TypedDef& def_;
  const Statement* context_;
  std::unordered_map<int, std::string> loop_names_;
};

std::string tensor_line(const TypedDef& def, const Tensor& tensor) {
  const Printer printer(def, nullptr);
  std::string role = "temporary";
  if (tensor.is_param && tensor.is_output)
    role = "inout";
  else if (tensor.is_param)
    role = "in";
  else if (tensor.is_output)
    role = "out";
  std::string line = fmt::format("  {} {} {}", role, name(tensor.type), tensor.name);
  if (tensor.rank > 0) {
    line += "(";
    for (int d = 0; d < tensor.rank; ++d) {
      const ExprPtr begin = d < static_cast<int>(tensor.begin.size()) ? tensor.begin[d] : nullptr;
      const ExprPtr extent =
          d < static_cast<int>(tensor.extent.size()) ? tensor.extent[d] : nullptr;
      const auto* constant = begin ? std::get_if<IntConst>(&begin->node) : nullptr;
      const bool from_zero = constant && constant->value == 0;
      line +=
          fmt::format("{}{}{}", d ? ", " : "",
                      from_zero || !begin ? "" : printer.text(begin) + "+:", printer.text(extent));
    }
    line += ")";
  }
  if (tensor.needs_initial) line += " initial";
  return line + "\n";
}

/// One statement: its access, value and type on a line, then index ranges, conditions and exists
/// clauses.
std::string statement_text(const TypedDef& def, const Statement& statement,
                           const std::string& indent) {
  const Printer printer(def, &statement);
  std::string out = fmt::format(
      "{}S{}: {}{} {}{} {} : {}", indent, statement.id, printer.tensor_name(statement.tensor),
      printer.arguments(statement.subscripts, /*always=*/false),
      statement.op ? spelling(*statement.op) : "=", statement.init ? "!" : "",
      printer.text(statement.value), statement.value ? name(statement.value->type) : "?");
  if (statement.op) out += fmt::format(" accumulated in {}", name(statement.accumulator));
  if (statement.position) out += fmt::format(" position {}", printer.text(statement.position));
  out += "\n";
  for (const Index& index : statement.indices) {
    out += fmt::format("{}  {} {} {} in {}:{}{}\n", indent, index.on_left ? "index" : "reduction",
                       name(index.type), index.name, printer.text(index.lo), printer.text(index.hi),
                       index.given ? " given" : "");
  }
  for (const ExprPtr& condition : statement.conditions)
    out += fmt::format("{}  if {}\n", indent, printer.text(condition));
  for (const ExprPtr& exists : statement.exists)
    out += fmt::format("{}  exists {}\n", indent, printer.text(exists));
  return out;
}

std::string body_text(const TypedDef& def, const std::vector<Node>& body,
                      const std::string& indent) {
  std::string out;
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<Statement>(&node)) {
      out += statement_text(def, *statement, indent);
      continue;
    }
    const ForLoop& loop = *std::get<std::shared_ptr<const ForLoop>>(node);
    const Printer printer(def, nullptr);
    out += fmt::format("{}for {} {} in {}:{} {{\n", indent, name(loop.type), loop.name,
                       printer.text(loop.lo), printer.text(loop.hi));
    out += body_text(def, loop.body, indent + "  ");
    out += indent + "}\n";
  }
  return out;
}

}  // namespace

std::string to_string(const TypedDef& def) {
  std::string out = "def " + def.name + "\n";
  const Printer printer(def, nullptr);
  for (const Size& size : def.sizes)
    out += "  size " + size.name + "\n";
  for (const Const& constant : def.consts)
    out += fmt::format("  const {} {}\n", name(constant.type), constant.name);
  for (const Tensor& tensor : def.tensors)
    out += tensor_line(def, tensor);
  out += "  returns";
  for (std::size_t i = 0; i < def.outputs.size(); ++i)
    out += (i ? ", " : " ") + printer.tensor_name(def.outputs[i]);
  out += "\n";
  for (const ExprPtr& condition : def.preconditions)
    out += "  needs " + printer.text(condition) + "\n";
  return out + body_text(def, def.body, "  ");
}

std::string to_string(const TypedDef& def, const Statement* context, const ExprPtr& expr) {
  return Printer(def, context).text(expr);
}

}  // namespace tc::lang
