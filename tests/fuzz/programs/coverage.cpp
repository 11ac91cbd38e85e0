// SPDX-License-Identifier: Apache-2.0
#include "coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tc/lang/builtins.h"
#include "tc/lang/lexer.h"
#include "tc/support/check.h"
#include "tc/support/dtype.h"

namespace tc::fuzz {

namespace ast = lang::ast;

namespace {

constexpr std::array<const char*, 40> kTokens = {
    "->",    "<=>",      "=",        "+=", "*=", "min=", "max=", "+=!", "*=!", "min=!",
    "max=!", "argmin=!", "argmax=!", "<",  ">",  "<=",   ">=",   "==",  "!=",  "&&",
    "||",    "!",        "?",        ":",  ",",  ".",    "+",    "-",   "*",   "/",
    "%",     "(",        ")",        "{",  "}",  ";",    "#",    "0x",  "inf", "nan"};

constexpr std::array<const char*, 48> kProductions = {
    "program: several defs",
    "def: no parameter",
    "def: several results",
    "param: tensor",
    "param: scalar",
    "param: const",
    "ret: name",
    "ret: type and name",
    "ret: new size",
    "type: synonym",
    "dim: name",
    "dim: number",
    "dim: expression",
    "stmt: comprehension",
    "stmt: call with one result",
    "stmt: call with several results",
    "stmt: for",
    "stmt: for in for",
    "lhs: no parentheses",
    "lhs: empty parentheses",
    "lhs: index",
    "lhs: constant",
    "lhs: expression",
    "lhs: gathered",
    "clause: range",
    "clause: let",
    "clause: exists",
    "clause: condition",
    "exp: ?:",
    "exp: binary",
    "exp: unary",
    "exp: integer",
    "exp: float",
    "exp: bool",
    "exp: name",
    "exp: dimension read",
    "exp: tensor read",
    "exp: builtin",
    "exp: cast",
    "exp: min/max of two",
    "exp: min/max of more",
    "exp: pad",
    "subscript: index",
    "subscript: constant",
    "subscript: affine",
    "subscript: min/max",
    "subscript: / or %",
    "subscript: gathered",
};

constexpr std::array<tile::OpKind, 8> kKinds = {
    tile::OpKind::Load,   tile::OpKind::Store,   tile::OpKind::Convert, tile::OpKind::Map,
    tile::OpKind::Gather, tile::OpKind::Scatter, tile::OpKind::Reduce,  tile::OpKind::Contract};
constexpr std::array<const char*, 8> kKindNames = {"load",   "store",   "convert", "map",
                                                   "gather", "scatter", "reduce",  "contract"};
constexpr std::array<const char*, 6> kCombineNames = {"+", "*", "min", "max", "argmin", "argmax"};

/// What the structure of tile programs may show beside the kinds of operations.
constexpr std::array<const char*, 15> kTileParts = {
    "several kernels",          "grid",
    "grid of two or more",      "loop",
    "loop around launches",     "local buffer",
    "scratch buffer",           "condition",
    "starts from identity",     "combines with memory",
    "vector dimension",         "register tile",
    "packed operand",           "staged transpose",
    "part of a split reduction"};

/// Walks the tree of a text. One object, so that the features need not be passed around.
class AstFeatures {
public:
  AstFeatures(const ast::Program& program, std::set<std::string>& features)
      : program_(program), features_(features) {}

  void run() {
    if (program_.defs.size() > 1) add("program: several defs");
    for (const ast::Def& def : program_.defs)
      add_def(def);
  }

private:
  void add(const char* production) { features_.insert(fmt::format("production {}", production)); }

  bool is_def(const std::string& name) const {
    return std::any_of(program_.defs.begin(), program_.defs.end(),
                       [&](const ast::Def& def) { return def.name.name == name; });
  }

  void add_def(const ast::Def& def) {
    if (def.params.empty()) add("def: no parameter");
    if (def.returns.size() > 1) add("def: several results");
    std::set<std::string> known;
    for (const ast::Param& param : def.params) {
      add(param.is_const            ? "param: const"
          : param.type.dims.empty() ? "param: scalar"
                                    : "param: tensor");
      known.insert(param.name.name);
      add_type(param.type, known);
    }
    for (const ast::Return& result : def.returns) {
      add(result.type ? "ret: type and name" : "ret: name");
      if (!result.type) continue;
      for (const ast::ExprPtr& dim : result.type->dims) {
        const auto* name = std::get_if<ast::Name>(&dim->node);
        if (name != nullptr && known.count(name->name) == 0) add("ret: new size");
      }
      add_type(*result.type, known);
    }
    for (const ast::Stmt& stmt : def.body)
      add_stmt(stmt, 0);
  }

  void add_type(const ast::Type& type, std::set<std::string>& known) {
    if (type.spelling == "float" || type.spelling == "half" || type.spelling == "double")
      add("type: synonym");
    for (const ast::ExprPtr& dim : type.dims) {
      if (const auto* name = std::get_if<ast::Name>(&dim->node)) {
        add("dim: name");
        known.insert(name->name);
      } else {
        add(std::holds_alternative<ast::Literal>(dim->node) ? "dim: number" : "dim: expression");
      }
    }
  }

  void add_stmt(const ast::Stmt& stmt, int depth) {
    if (const auto* loop = std::get_if<ast::ForStmt>(&stmt.node)) {
      add(depth > 0 ? "stmt: for in for" : "stmt: for");
      add_expr(*loop->begin);
      add_expr(*loop->end);
      for (const ast::Stmt& inner : loop->body)
        add_stmt(inner, depth + 1);
      return;
    }
    if (const auto* call = std::get_if<ast::CallStmt>(&stmt.node)) {
      add(call->results.size() > 1 ? "stmt: call with several results"
                                   : "stmt: call with one result");
      for (const ast::ExprPtr& argument : call->args)
        add_expr(*argument);
      return;
    }
    const auto& comprehension = std::get<ast::Comprehension>(stmt.node);
    const auto* apply = std::get_if<ast::Apply>(&comprehension.value->node);
    if (apply != nullptr && !apply->cast_to && is_def(apply->callee.name)) {
      add("stmt: call with one result");
      for (const ast::ExprPtr& argument : apply->args)
        add_expr(*argument);
      return;
    }
    add("stmt: comprehension");
    add_comprehension(comprehension);
  }

  void add_comprehension(const ast::Comprehension& statement) {
    if (statement.lhs.subscripts.empty())
      add(statement.lhs.has_parentheses ? "lhs: empty parentheses" : "lhs: no parentheses");
    for (const ast::ExprPtr& subscript : statement.lhs.subscripts) {
      if (std::holds_alternative<ast::Name>(subscript->node)) {
        add("lhs: index");
      } else if (std::holds_alternative<ast::Literal>(subscript->node)) {
        add("lhs: constant");
      } else {
        add(has_read(*subscript) ? "lhs: gathered" : "lhs: expression");
      }
      add_expr(*subscript);
    }
    add_expr(*statement.value);
    for (const ast::Clause& clause : statement.where) {
      if (const auto* range = std::get_if<ast::RangeClause>(&clause.node)) {
        add("clause: range");
        add_expr(*range->begin);
        add_expr(*range->end);
      } else if (const auto* let = std::get_if<ast::LetClause>(&clause.node)) {
        add("clause: let");
        add_expr(*let->value);
      } else if (const auto* exists = std::get_if<ast::ExistsClause>(&clause.node)) {
        add("clause: exists");
        add_expr(*exists->value);
      } else {
        add("clause: condition");
        add_expr(*std::get<ast::ConditionClause>(clause.node).condition);
      }
    }
  }

  static bool is_read(const ast::Expr& expr) {
    const auto* apply = std::get_if<ast::Apply>(&expr.node);
    return apply != nullptr && !apply->cast_to && lang::find_builtin(apply->callee.name) == nullptr;
  }

  static std::vector<ast::ExprPtr> children(const ast::Expr& expr) {
    return std::visit(Overloaded{[](const ast::Apply& e) { return e.args; },
                                 [](const ast::MinMax& e) { return e.args; },
                                 [](const ast::Unary& e) { return std::vector{e.operand}; },
                                 [](const ast::Binary& e) { return std::vector{e.left, e.right}; },
                                 [](const ast::Ternary& e) {
                                   return std::vector{e.condition, e.if_true, e.if_false};
                                 },
                                 [](const ast::Pad& e) { return std::vector{e.read, e.value}; },
                                 [](const auto&) { return std::vector<ast::ExprPtr>{}; }},
                      expr.node);
  }

  static bool has_read(const ast::Expr& expr) {
    if (is_read(expr)) return true;
    const auto below = children(expr);
    return std::any_of(below.begin(), below.end(),
                       [](const ast::ExprPtr& child) { return has_read(*child); });
  }

  void add_subscript(const ast::Expr& expr) {
    if (has_read(expr)) {
      add("subscript: gathered");
    } else if (std::holds_alternative<ast::Name>(expr.node)) {
      add("subscript: index");
    } else if (std::holds_alternative<ast::Literal>(expr.node)) {
      add("subscript: constant");
    } else if (std::holds_alternative<ast::MinMax>(expr.node)) {
      add("subscript: min/max");
    } else if (const auto* binary = std::get_if<ast::Binary>(&expr.node);
               binary != nullptr &&
               (binary->op == ast::BinaryOp::Div || binary->op == ast::BinaryOp::Mod)) {
      add("subscript: / or %");
    } else {
      add("subscript: affine");
    }
  }

  void add_expr(const ast::Expr& expr) {
    std::visit(Overloaded{[&](const ast::Literal& e) {
                            add(e.kind == ast::Literal::Kind::Int     ? "exp: integer"
                                : e.kind == ast::Literal::Kind::Float ? "exp: float"
                                                                      : "exp: bool");
                            if (e.spelling.compare(0, 2, "0x") == 0) features_.insert("token 0x");
                            if (e.spelling == "inf" || e.spelling == "nan")
                              features_.insert("token " + e.spelling);
                          },
                          [&](const ast::Name&) { add("exp: name"); },
                          [&](const ast::DimRead&) { add("exp: dimension read"); },
                          [&](const ast::Apply& e) {
                            if (e.cast_to) {
                              add("exp: cast");
                              features_.insert(fmt::format("cast {}", name(*e.cast_to)));
                            } else if (is_read(expr)) {
                              add("exp: tensor read");
                              for (const ast::ExprPtr& subscript : e.args)
                                add_subscript(*subscript);
                            } else {
                              add("exp: builtin");
                              features_.insert(fmt::format("builtin {}", e.callee.name));
                            }
                          },
                          [&](const ast::Unary&) { add("exp: unary"); },
                          [&](const ast::Binary&) { add("exp: binary"); },
                          [&](const ast::Ternary&) { add("exp: ?:"); },
                          [&](const ast::MinMax& e) {
                            add(e.args.size() == 2 ? "exp: min/max of two"
                                                   : "exp: min/max of more");
                          },
                          [&](const ast::Pad&) { add("exp: pad"); }},
               expr.node);
    for (const ast::ExprPtr& child : children(expr))
      add_expr(*child);
  }

  const ast::Program& program_;
  std::set<std::string>& features_;
};

void add_tokens(const std::string& text, std::set<std::string>& features) {
  const SourceBuffer source("<text>", text);
  for (const lang::Token& token : lang::tokenize(source)) {
    const std::string spelling(source.text(token.range));
    if (std::find(kTokens.begin(), kTokens.end(), spelling) != kTokens.end())
      features.insert("token " + spelling);
  }
  if (text.find('#') != std::string::npos) features.insert("token #");
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Walks a tile program.
class TileFeatures {
public:
  explicit TileFeatures(std::set<std::string>& features) : features_(features) {}

  void run(const tile::Program& program) {
    if (program.kernels.size() > 1) add("several kernels");
    for (const kernel::Step& step : program.steps) {
      if (std::holds_alternative<kernel::Loop>(step.node)) add("loop around launches");
    }
    for (const kernel::Argument& argument : program.arguments) {
      if (argument.kind == kernel::Argument::Kind::Scratch) add("scratch buffer");
    }
    for (const tile::Kernel& kernel : program.kernels) {
      if (!kernel.grid.empty()) add("grid");
      if (kernel.grid.size() > 1) add("grid of two or more");
      add_nodes(kernel.body);
    }
  }

private:
  void add(const char* part) { features_.insert(fmt::format("tile {}", part)); }

  void add_nodes(const std::vector<tile::Node>& nodes) {
    for (const tile::Node& node : nodes) {
      if (const auto* op = std::get_if<tile::Op>(&node)) {
        add_op(*op);
      } else if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node)) {
        add("loop");
        add_nodes((*loop)->body);
      } else if (std::holds_alternative<tile::Local>(node)) {
        add("local buffer");
      }
    }
  }

  void add_op(const tile::Op& op) {
    features_.insert(fmt::format("operation {}", kKindNames[static_cast<std::size_t>(op.kind)]));
    if (op.combine) {
      features_.insert(
          fmt::format("combine {}", kCombineNames[static_cast<std::size_t>(*op.combine)]));
      add(op.from_identity ? "starts from identity" : "combines with memory");
    }
    if (!op.conditions.empty()) add("condition");
    if (ends_with(op.label, "_part")) add("part of a split reduction");
    // Selection names the buffers that it adds after their purpose.
    const kernel::Buffer& target = *op.targets.front().buffer;
    if (target.space == kernel::Space::Local) {
      if (ends_with(target.name, "_v") || ends_with(target.name, "_r")) add("packed operand");
      if (ends_with(target.name, "_t")) add("staged transpose");
    }
    if (!op.layout) return;
    if (op.layout->vector_dim >= 0) add("vector dimension");
    const auto& unroll = op.layout->unroll;
    if (std::count_if(unroll.begin(), unroll.end(), [](int u) { return u > 1; }) > 0)
      add("register tile");
  }

  std::set<std::string>& features_;
};

std::vector<std::string> list_features() {
  std::vector<std::string> list;
  for (const char* production : kProductions)
    list.push_back(fmt::format("production {}", production));
  for (const char* token : kTokens)
    list.push_back(fmt::format("token {}", token));
  for (int i = 0; i < kNumDTypes; ++i)
    list.push_back(fmt::format("type {}", name(static_cast<DType>(i))));
  for (int i = 0; i < kNumDTypes; ++i)
    list.push_back(fmt::format("cast {}", name(static_cast<DType>(i))));
  for (const lang::BuiltinInfo& builtin : lang::builtins())
    list.push_back(fmt::format("builtin {}", builtin.name));
  for (tile::OpKind kind : kKinds)
    list.push_back(fmt::format("operation {}", kKindNames[static_cast<std::size_t>(kind)]));
  for (const char* combine : kCombineNames)
    list.push_back(fmt::format("combine {}", combine));
  for (const char* part : kTileParts)
    list.push_back(fmt::format("tile {}", part));
  return list;
}

double share(const std::map<std::string, long>& counts, const std::string& feature, long programs) {
  const auto found = counts.find(feature);
  if (found == counts.end() || programs == 0) return 0;
  return 100.0 * static_cast<double>(found->second) / static_cast<double>(programs);
}

}  // namespace

const std::vector<std::string>& all_features() {
  static const std::vector<std::string> list = list_features();
  return list;
}

void add_text_features(const std::string& text, const ast::Program& program,
                       std::set<std::string>& features) {
  add_tokens(text, features);
  AstFeatures(program, features).run();
}

void add_typed_features(const lang::TypedDef& def, std::set<std::string>& features) {
  for (const lang::Tensor& tensor : def.tensors)
    features.insert(fmt::format("type {}", name(tensor.type)));
}

void add_tile_features(const tile::Program& program, std::set<std::string>& features) {
  TileFeatures(features).run(program);
}

std::string coverage_table(const std::map<std::string, long>& counts, long programs, double goal) {
  std::string table;
  for (const std::string& feature : all_features()) {
    const double percent = share(counts, feature, programs);
    table += fmt::format("{:>7.2f} %  {}{}\n", percent, feature,
                         percent < goal ? "   below the goal" : "");
  }
  return table;
}

long below_goal(const std::map<std::string, long>& counts, long programs, double goal) {
  return std::count_if(
      all_features().begin(), all_features().end(),
      [&](const std::string& feature) { return share(counts, feature, programs) < goal; });
}

}  // namespace tc::fuzz
