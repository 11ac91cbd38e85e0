// SPDX-License-Identifier: Apache-2.0
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

std::optional<TypedDef> infer(const ResolvedDef& resolved, DiagnosticSink& sink) {
  if (!resolved.clean) return std::nullopt;
  TypedDef def = resolved.def;
  DiagnosticSink messages;  // of this def alone: whether another has errors does not matter here
  infer_ranges(def, messages);
  if (!messages.has_errors()) set_positions(def, messages);
  append(messages, sink);
  if (messages.has_errors()) return std::nullopt;
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
  std::vector<Node> body = def.body;
  set_positions(def, body, sink);
  def.body = std::move(body);
}

std::optional<TypedDef> analyse(const ast::Program& program, const std::string& def,
                                DiagnosticSink& sink) {
  ProgramResolver resolver(program, sink);
  resolver.report_duplicates();
  if (!resolver.has(def)) {
    sink.error("E0235", {}, fmt::format("the text has no def '{}'", def));
    return std::nullopt;
  }
  return infer(*resolver.get(def).def, sink);
}

std::vector<TypedDef> analyse_all(const ast::Program& program, DiagnosticSink& sink) {
  ProgramResolver resolver(program, sink);
  resolver.report_duplicates();
  std::vector<TypedDef> out;
  for (std::size_t i = 0; i < program.defs.size(); ++i)
    if (std::optional<TypedDef> def = infer(*resolver.at(i).def, sink))
      out.push_back(std::move(*def));
  return out;
}

}  // namespace tc::lang
