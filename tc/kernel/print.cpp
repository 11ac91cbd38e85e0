// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "tc/kernel/fold.h"
#include "tc/kernel/passes.h"
#include "tc/kernel/text.h"
#include "tc/support/check.h"

namespace tc::kernel {
namespace {

/// Words that a name in a text must not be.
bool is_reserved(const std::string& word) {
  static constexpr const char* kWords[] = {
      "agreed", "alloc", "atomic", "await", "barrier",  "buffer", "copy", "else",
      "false",  "for",   "grid",   "if",    "inf",      "inff",   "int",  "kernel",
      "let",    "mma",   "nan",    "nanf",  "register", "thread", "true",
  };
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* reserved) { return word == reserved; });
}

std::string identifier(const std::string& wish) {
  std::string name;
  for (const char c : wish)
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front()))) name = "_" + name;
  return is_reserved(name) ? name + "_" : name;
}

/// Binding strength: 0 loosest; operands of level n are printed at level n or n + 1.
int level(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or: return 0;
  case BinaryOp::And: return 1;
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne: return 2;
  case BinaryOp::Add:
  case BinaryOp::Sub: return 3;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod: return 4;
  case BinaryOp::Min:
  case BinaryOp::Max: return 6;
  }
  unreachable("binary operation");
}

std::string float_text(double value, DType type) {
  const std::string suffix = type == DType::Float32 ? "f" : "";
  if (std::isnan(value)) return "nan" + suffix;
  if (std::isinf(value)) return (value < 0 ? "-inf" : "inf") + suffix;
  std::string digits = type == DType::Float32 ? fmt::format("{}", static_cast<float>(value))
                                              : fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits + suffix;
}

std::string int_text(std::int64_t value, DType type) {
  switch (type) {
  case DType::Bool: return value != 0 ? "true" : "false";
  case DType::Int32: return fmt::format("{}i32", value);
  case DType::UInt32: return fmt::format("{}u32", static_cast<std::uint64_t>(value));
  case DType::UInt64: return fmt::format("{}u64", static_cast<std::uint64_t>(value));
  default: return fmt::format("{}", value);
  }
}

class ExprPrinter {
public:
  explicit ExprPrinter(Names& names) : names_(names) {}

  /// Text of `expr` where an operator looser than `outer` needs parentheses.
  std::string text(const ExprPtr& expr, int outer = 0) {
    return std::visit(
        Overloaded{
            [&](const IntImm& n) { return int_text(n.value, expr->type.elem); },
            [&](const FloatImm& n) { return float_text(n.value, expr->type.elem); },
            [&](const VarRef& n) { return names_.var(n.var); },
            [&](const RegRef& n) {
              return fmt::format("${}[{}]", names_.reg(n.reg, "r"), text(n.slot));
            },
            [&](const Unary& n) { return (n.op == UnaryOp::Not ? "!" : "-") + text(n.operand, 5); },
            [&](const Binary& n) { return binary_text(n, outer); },
            [&](const Select& n) {
              return function("select", {n.condition, n.if_true, n.if_false});
            },
            [&](const Cast& n) { return function(std::string(name(n.to)), {n.operand}); },
            [&](const Load& n) {
              std::string access = print_access(*n.buffer, n.indices, names_);
              if (!n.mask) return access;
              access += "?(" + text(n.mask);
              if (n.otherwise) access += ", " + text(n.otherwise);
              return access + ")";
            },
            [&](const Ramp& n) {
              return fmt::format("ramp({}, {}, {})", text(n.base), n.stride, expr->type.lanes);
            },
            [&](const Broadcast& n) {
              return fmt::format("broadcast({}, {})", text(n.value), expr->type.lanes);
            },
            [&](const Call& n) {
              const bool same = n.args.front()->type == expr->type;
              const std::string result = same ? "" : fmt::format("<{}>", name(expr->type.elem));
              return function(n.function + result, n.args);
            },
            [&](const Reduce& n) {
              return function(fmt::format("reduce_{}", symbol(n.op)), {n.vector});
            },
            [&](const Lane& n) { return fmt::format("lane({}, {})", text(n.vector), n.lane); },
            [&](const Shuffle& n) {
              return fmt::format("shuffle({}, {}, {})", text(n.value), n.distance, n.group);
            },
        },
        expr->node);
  }

private:
  std::string function(const std::string& name, const std::vector<ExprPtr>& args) {
    std::string list;
    for (const auto& arg : args)
      list += (list.empty() ? "" : ", ") + text(arg);
    return name + "(" + list + ")";
  }

  std::string binary_text(const Binary& n, int outer) {
    if (n.op == BinaryOp::Min || n.op == BinaryOp::Max)
      return function(symbol(n.op), {n.left, n.right});
    const int own = level(n.op);
    const int left = own == 2 ? own + 1 : own;  // comparisons do not chain
    const std::string a = text(n.left, left);
    const std::string result = fmt::format("{} {} {}", a, symbol(n.op), text(n.right, own + 1));
    return own < outer ? "(" + result + ")" : result;
  }

  Names& names_;
};

class StmtPrinter {
public:
  explicit StmtPrinter(Names& names) : names_(names) {}

  std::string take() { return std::move(out_); }

  void line(const std::string& text) { out_ += std::string(2 * depth_, ' ') + text + "\n"; }

  void nested(const StmtPtr& stmt) {
    ++depth_;
    statement(stmt);
    --depth_;
  }

  void statement(const StmtPtr& stmt) {
    if (!stmt) return;
    std::visit(
        Overloaded{
            [&](const Block& n) {
              for (const auto& child : n.stmts)
                statement(child);
            },
            [&](const For& n) { loop(n); },
            [&](const If& n) {
              line(fmt::format("if {} {{", text(n.condition)));
              nested(n.then_body);
              if (n.else_body) {
                line("} else {");
                nested(n.else_body);
              }
              line("}");
            },
            [&](const Let& n) {
              const std::string value = text(n.value);
              line(fmt::format("let {} = {}", names_.var(n.var), value));
            },
            [&](const Declare& n) {
              const std::string init = n.init ? " = " + text(n.init) : "";
              line(fmt::format("register {} {}[{}]{}", names_.reg(n.reg, n.name), to_text(n.type),
                               n.count, init));
            },
            [&](const Assign& n) {
              line(
                  fmt::format("${}[{}] = {}", names_.reg(n.reg, "r"), text(n.slot), text(n.value)));
            },
            [&](const Store& n) {
              line(fmt::format("{}{}{} = {}", n.agreed ? "agreed " : "",
                               print_access(*n.buffer, n.indices, names_), masked(n.mask),
                               text(n.value)));
            },
            [&](const Alloc& n) { line("alloc " + print_buffer(*n.buffer, Space::Local, names_)); },
            [&](const Atomic& n) {
              line(fmt::format("atomic {} {}{} = {}", symbol(n.op),
                               print_access(*n.buffer, n.indices, names_), masked(n.mask),
                               text(n.value)));
            },
            [&](const Barrier& n) { line("barrier " + identifier(n.scope)); },
            [&](const Mma& n) { line(print(n, names_)); },
            [&](const Copy& n) {
              line(fmt::format("copy {} {} = {}{}", n.count,
                               print_access(*n.to, n.to_indices, names_),
                               print_access(*n.from, n.from_indices, names_), masked(n.predicate)));
            },
            [&](const Await& n) { line(print(n)); },
            [&](const Comment& n) {
              std::string words = n.text;
              std::replace(words.begin(), words.end(), '\n', ' ');
              line("# " + words);
            },
        },
        stmt->node);
  }

  std::string text(const ExprPtr& expr) { return print(expr, names_); }

private:
  void loop(const For& n) {
    const std::string lo = text(n.lo);
    const std::string hi = text(n.hi);
    const std::string type = n.var.type == Type{} ? "" : fmt::format(": {}", to_text(n.var.type));
    const std::string step = n.step == 1 ? "" : fmt::format(" step {}", n.step);
    line(fmt::format("{}for {}{} in {}:{}{} {{", n.kind == ForKind::Unrolled ? "unrolled " : "",
                     names_.var(n.var), type, lo, hi, step));
    nested(n.body);
    line("}");
  }

  std::string masked(const ExprPtr& mask) { return mask ? "?(" + text(mask) + ")" : ""; }

  Names& names_;
  std::string out_;
  int depth_ = 0;
};

std::string list(const std::vector<std::int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

const std::string& Names::Table::get(int id, const std::string& wish) {
  const auto known = by_id.find(id);
  if (known != by_id.end()) return known->second;
  const std::string base = identifier(wish);
  std::string unique = base;
  for (int n = 1; used.count(unique) != 0; ++n)
    unique = fmt::format("{}.{}", base, n);
  used.insert(unique);
  return by_id.emplace(id, unique).first->second;
}

const std::string& Names::var(const Var& var) {
  return vars_.get(var.id, var.name);
}
const std::string& Names::buffer(const Buffer& buffer) {
  return buffers_.get(buffer.id, buffer.name);
}
const std::string& Names::reg(int id, const std::string& name) {
  return registers_.get(id, name);
}

std::string to_text(Type type) {
  std::string text(name(type.elem));
  if (type.lanes != 1) text += fmt::format("x{}", type.lanes);
  return text;
}

std::string print(const ExprPtr& expr, Names& names) {
  return ExprPrinter(names).text(expr);
}

std::string print(const ExprPtr& expr) {
  Names names;
  return print(expr, names);
}

std::string print_access(const Buffer& buffer, const std::vector<ExprPtr>& indices, Names& names) {
  std::string subscripts;
  for (const auto& index : indices)
    subscripts += (subscripts.empty() ? "" : ", ") + print(index, names);
  return fmt::format("{}[{}]", names.buffer(buffer), subscripts);
}

std::string print(const Mma& mma, Names& names) {
  const auto panel = [&](const MmaPanel& p) {
    return fmt::format("{} {} {} {}", print_access(*p.buffer, p.corner, names),
                       p.k_inner ? "k_inner" : "kept_inner", p.along_k, p.along_kept);
  };
  const std::string accumulator = print_access(*mma.accumulator, mma.first, names);
  const std::string rows = panel(mma.rows);
  return fmt::format("mma {} blocks {} apart {} width {} depth {} rows {} columns {}", accumulator,
                     mma.blocks, mma.block_distance, mma.width, mma.depth, rows,
                     panel(mma.columns));
}

std::string print(const Await& await) {
  return fmt::format("await {} {}", await.what == Awaited::Copies ? "copies" : "products",
                     await.pending);
}

std::string print_buffer(const Buffer& buffer, Space default_space, Names& names) {
  std::string text =
      fmt::format("{} {}{}", names.buffer(buffer), name(buffer.type), list(buffer.extents));
  if (buffer.strides != contiguous_strides(buffer.extents))
    text += " strides " + list(buffer.strides);
  text += fmt::format(" align {}", buffer.alignment);
  if (buffer.space != default_space) {
    switch (buffer.space) {
    case Space::Global: text += " global"; break;
    case Space::Scratch: text += " scratch"; break;
    case Space::Local: text += " local"; break;
    case Space::Register: text += " registers"; break;
    case Space::Shared: text += " shared"; break;
    }
  }
  if (buffer.writable) text += " writable";
  if (buffer.swizzled) text += " swizzled";
  return text;
}

std::string print(const Kernel& kernel) {
  Names names;
  StmtPrinter printer(names);
  printer.line(fmt::format("kernel {} {{", kernel.name));
  std::string header;
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& buffer = *kernel.buffers[i];
    header += "  buffer " + print_buffer(buffer, Space::Global, names);
    if (buffer.argument != static_cast<int>(i))
      header += fmt::format(" argument {}", buffer.argument);
    header += "\n";
  }
  for (const auto& param : kernel.int_params)
    header += fmt::format("  int {}\n", names.var(param));
  for (const auto& dim : kernel.grid)
    header += fmt::format("  grid {} {}\n", names.var(dim.var), dim.extent);
  for (const auto& dim : kernel.threads)
    header += fmt::format("  thread {} {}\n", names.var(dim.var), dim.extent);
  std::string text = printer.take() + header;
  StmtPrinter body(names);
  body.nested(kernel.body);
  return text + body.take() + "}\n";
}

}  // namespace tc::kernel
