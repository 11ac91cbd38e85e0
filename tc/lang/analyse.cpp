// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "tc/lang/ranges.h"
#include "tc/lang/resolver.h"
#include "tc/lang/sema.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

void append(const DiagnosticSink& from, DiagnosticSink& to) {
  for (const Diagnostic& diagnostic : from.all()) {
    Diagnostic& copy = diagnostic.severity == Severity::Error
                           ? to.error(diagnostic.code, diagnostic.range, diagnostic.message)
                           : to.warning(diagnostic.code, diagnostic.range, diagnostic.message);
    copy.notes = diagnostic.notes;
  }
}

bool keeps(const ExprPtr& expr, const std::vector<bool>& incomplete) {
  return !mentions(expr, [&](const Expr& node) {
    if (const auto* read = std::get_if<Read>(&node.node))
      return static_cast<bool>(incomplete[read->tensor]);
    if (const auto* dim = std::get_if<DimOf>(&node.node))
      return static_cast<bool>(incomplete[dim->tensor]);
    return false;
  });
}

bool keeps(const Statement& statement, const std::vector<bool>& incomplete) {
  if (incomplete[statement.tensor] || !keeps(statement.value, incomplete)) return false;
  for (const auto* list : {&statement.subscripts, &statement.conditions, &statement.exists})
    for (const ExprPtr& expr : *list)
      if (!keeps(expr, incomplete)) return false;
  for (const Index& index : statement.indices)
    if (!keeps(index.lo, incomplete) || !keeps(index.hi, incomplete)) return false;
  return true;
}

/// Leaves out what touches an incomplete tensor; its own target becomes incomplete. True: something
/// was left out.
bool drop_incomplete(std::vector<Node>& body, std::vector<bool>& incomplete) {
  std::vector<Node> kept;
  bool dropped = false;
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<Statement>(&node)) {
      if (keeps(*statement, incomplete)) {
        kept.push_back(node);
        continue;
      }
      incomplete[statement->tensor] = true;
      dropped = true;
      continue;
    }
    ForLoop loop = *std::get<std::shared_ptr<const ForLoop>>(node);
    dropped = drop_incomplete(loop.body, incomplete) || dropped;
    if (keeps(loop.lo, incomplete) && keeps(loop.hi, incomplete))
      kept.push_back(std::make_shared<const ForLoop>(std::move(loop)));
  }
  body = std::move(kept);
  return dropped;
}

/// All errors of a text in one run: the ranges of statements that the errors of others do not touch
/// are checked, too.
void report_ranges_of_the_rest(const ResolvedDef& resolved, DiagnosticSink& sink) {
  if (!resolved.declared_well) return;
  TypedDef def = resolved.def;
  std::vector<bool> incomplete = resolved.incomplete;
  while (drop_incomplete(def.body, incomplete)) {
  }
  def.preconditions.clear();
  infer_ranges(def, sink);
}

std::optional<TypedDef> infer(const ResolvedDef& resolved, DiagnosticSink& sink) {
  DiagnosticSink messages;  // of this def alone: whether another has errors does not matter here
  TypedDef def;
  if (resolved.clean) {
    def = resolved.def;
    infer_ranges(def, messages);
    if (!messages.has_errors()) set_positions(def, messages);
  } else {
    report_ranges_of_the_rest(resolved, messages);
  }
  append(messages, sink);
  if (!resolved.clean || messages.has_errors()) return std::nullopt;
  return def;
}

bool is_index(const Expr& node) {
  return std::holds_alternative<IndexRef>(node.node);
}

/// Whether the ranges of `axes` are a box: no bound uses an index, no condition cuts an axis.
bool is_box(const Statement& statement, const std::vector<int>& axes) {
  for (const int axis : axes) {
    const Index& index = statement.indices[axis];
    if (mentions(index.lo, is_index) || mentions(index.hi, is_index)) return false;
    const auto is_axis = [&](const Expr& node) {
      const auto* ref = std::get_if<IndexRef>(&node.node);
      return ref && ref->index == axis;
    };
    for (const ExprPtr& condition : statement.conditions)
      if (mentions(condition, is_axis)) return false;
  }
  return true;
}

void set_position(const TypedDef& def, Statement& statement, DiagnosticSink& sink) {
  const bool is_arg = statement.op == ReduceOp::ArgMin || statement.op == ReduceOp::ArgMax;
  if (!is_arg || statement.position) return;
  std::vector<int> axes;
  for (std::size_t i = 0; i < statement.indices.size(); ++i)
    if (!statement.indices[i].on_left) axes.push_back(static_cast<int>(i));
  if (!is_box(statement, axes)) {
    sink.error("E0234", statement.range,
               fmt::format("'{}' over several axes gives a position in a box, but a range here "
                           "depends on an index or is cut by a condition",
                           spelling(*statement.op)));
    return;
  }
  const DType type =
      def.tensors[statement.tensor].type == DType::Int64 ? DType::Int64 : DType::Int32;
  const auto cast = [&](const ExprPtr& expr) { return make_cast(type, expr, statement.range); };
  ExprPtr position = make_int(0, type, statement.range);
  for (const int axis : axes) {
    const Index& index = statement.indices[axis];
    const ExprPtr extent =
        make_binary(BinaryOp::Sub, cast(index.hi), cast(index.lo), statement.range);
    const ExprPtr offset =
        make_binary(BinaryOp::Sub, cast(make_index(axis, index.type, index.range)), cast(index.lo),
                    statement.range);
    position =
        make_binary(BinaryOp::Add, make_binary(BinaryOp::Mul, position, extent, statement.range),
                    offset, statement.range);
  }
  statement.position = position;
}

void set_positions(const TypedDef& def, std::vector<Node>& body, DiagnosticSink& sink) {
  for (Node& node : body) {
    if (auto* statement = std::get_if<Statement>(&node)) {
      set_position(def, *statement, sink);
      continue;
    }
    auto& handle = std::get<std::shared_ptr<const ForLoop>>(node);
    ForLoop loop = *handle;
    set_positions(def, loop.body, sink);
    handle = std::make_shared<const ForLoop>(std::move(loop));
  }
}

}  // namespace

void set_positions(TypedDef& def, DiagnosticSink& sink) {
  // Sizes of inferred tensors have become expressions, so some preconditions now hold for all
  // sizes.
  const auto holds = [](const ExprPtr& condition) {
    const auto* constant = std::get_if<IntConst>(&condition->node);
    return constant && constant->value != 0;
  };
  def.preconditions.erase(std::remove_if(def.preconditions.begin(), def.preconditions.end(), holds),
                          def.preconditions.end());
  std::vector<Node> body = def.body;
  set_positions(def, body, sink);
  def.body = std::move(body);
}

std::optional<TypedDef> analyse(const ast::Program& program, const std::string& def,
                                DiagnosticSink& sink) {
  ProgramResolver resolver(program, sink);
  if (!resolver.check_defs()) return std::nullopt;
  if (!resolver.has(def)) {
    sink.error("E0235", {}, fmt::format("the text has no def '{}'", def));
    return std::nullopt;
  }
  return infer(*resolver.get(def).def, sink);
}

std::vector<TypedDef> analyse_all(const ast::Program& program, DiagnosticSink& sink) {
  ProgramResolver resolver(program, sink);
  if (!resolver.check_defs()) return {};
  std::vector<TypedDef> out;
  for (std::size_t i = 0; i < program.defs.size(); ++i)
    if (std::optional<TypedDef> def = infer(*resolver.at(i).def, sink))
      out.push_back(std::move(*def));
  return out;
}

}  // namespace tc::lang
