// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/checks.h"

#include <algorithm>

#include "tc/tile/structure.h"

namespace tc::tile {
namespace {

using kernel::BinaryOp;
using kernel::ExprPtr;

kernel::BufferPtr scalar_buffer(const char* name, DType type, int& next_buffer) {
  auto buffer = std::make_shared<kernel::Buffer>();
  buffer->id = next_buffer++;
  buffer->name = name;
  buffer->type = type;
  buffer->space = kernel::Space::Local;
  buffer->alignment = 64;
  buffer->writable = true;
  return buffer;
}

/// The dims that the test depends on, with those that bound them, all as reduction dims.
std::vector<Dim> relevant_dims(const StatementFrame& frame, const std::vector<ExprPtr>& exprs) {
  std::vector<bool> needed(frame.dims.size(), false);
  for (std::size_t i = frame.dims.size(); i-- > 0;) {
    const int id = frame.dims[i].var.id;
    for (const auto& expr : exprs)
      needed[i] = needed[i] || (expr && mentions(expr, id));
    for (std::size_t j = i + 1; j < frame.dims.size(); ++j)
      needed[i] =
          needed[i] ||
          (needed[j] && (mentions(frame.dims[j].begin, id) || mentions(frame.dims[j].end, id)));
  }
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    dims.push_back(frame.dims[i]);
    dims.back().reduction = true;
  }
  return dims;
}

ExprPtr flat_position(const std::vector<Dim>& dims) {
  ExprPtr position = kernel::int_imm(0);
  for (const auto& dim : dims)
    position = kernel::add(kernel::mul(position, kernel::int_imm(dim.max_extent)),
                           kernel::sub(kernel::var_ref(dim.var), dim.begin));
  return position;
}

Op operation(std::string label, std::vector<Target> targets, std::vector<ExprPtr> conditions) {
  Op op;
  op.label = std::move(label);
  op.targets = std::move(targets);
  op.conditions = std::move(conditions);
  return op;
}

void finish(Op op, std::vector<Node>& nodes) {
  op.kind = classify(op);
  nodes.emplace_back(std::move(op));
}

}  // namespace

std::vector<Node> check_nodes(const StatementFrame& frame, const std::vector<ExprPtr>& conditions,
                              const std::vector<GatherTest>& tests, const kernel::BufferPtr& status,
                              int& next_buffer) {
  std::vector<Node> nodes;
  const std::string label = frame.statement->name + "_check";
  for (const auto& test : tests) {
    const auto found = scalar_buffer("found", DType::Int32, next_buffer);
    const auto at = scalar_buffer("at", DType::Int64, next_buffer);
    const auto value = scalar_buffer("value", DType::Int64, next_buffer);
    for (const auto& buffer : {found, at, value})
      nodes.emplace_back(Local{buffer});
    std::vector<ExprPtr> when = conditions;
    if (test.guard) when.push_back(test.guard);
    std::vector<ExprPtr> exprs = when;
    exprs.push_back(test.subscript);
    const auto dims = relevant_dims(frame, exprs);
    const ExprPtr outside = kernel::binary(
        BinaryOp::Or, kernel::binary(BinaryOp::Lt, test.subscript, kernel::int_imm(test.begin)),
        kernel::binary(BinaryOp::Ge, test.subscript, kernel::int_imm(test.end)));
    const ExprPtr flag =
        kernel::select(outside, kernel::int_imm(1, DType::Int32), kernel::int_imm(0, DType::Int32));
    const ExprPtr position = flat_position(dims);

    Op search = operation(label, {{found, {}, flag}, {at, {}, position}}, when);
    search.dims = dims;
    search.combine = Combine::ArgMax;
    search.from_identity = true;
    finish(std::move(search), nodes);

    when.push_back(kernel::binary(BinaryOp::Eq, position, kernel::load(at, {})));
    Op pick = operation(label, {{value, {}, test.subscript}}, when);
    pick.dims = dims;
    pick.combine = Combine::Add;
    pick.from_identity = true;
    finish(std::move(pick), nodes);

    const ExprPtr is_first = kernel::binary(
        BinaryOp::And,
        kernel::binary(BinaryOp::Eq, kernel::load(found, {}), kernel::int_imm(1, DType::Int32)),
        kernel::binary(BinaryOp::Eq, kernel::load(status, {kernel::int_imm(0)}),
                       kernel::int_imm(0)));
    const ExprPtr record[] = {kernel::int_imm(1), kernel::int_imm(frame.statement->source),
                              kernel::int_imm(test.dim), kernel::load(value, {})};
    for (const int slot : {1, 2, 3, 0})
      finish(operation(label, {{status, {kernel::int_imm(slot)}, record[slot]}}, {is_first}),
             nodes);
  }
  return nodes;
}

Op clear_status(const kernel::BufferPtr& status, int var_id) {
  const kernel::Var slot{var_id, "i", {DType::Int64, 1}};
  Op op = operation("status", {{status, {kernel::var_ref(slot)}, kernel::int_imm(0)}}, {});
  op.dims.push_back({slot, kernel::int_imm(0), kernel::int_imm(4), 4, false});
  op.kind = classify(op);
  return op;
}

}  // namespace tc::tile
