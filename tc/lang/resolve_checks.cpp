// SPDX-License-Identifier: Apache-2.0
//
// Structural rules that need a whole statement or the whole def. What depends on ranges is decided
// by the proofs (ranges.h).
#include <algorithm>

#include <fmt/format.h>

#include "tc/lang/resolver.h"

namespace tc::lang {

void DefResolver::check_reduction(const ast::Comprehension& source, const Statement& statement) {
  const bool is_arg = source.op == ast::AssignOp::ArgMin || source.op == ast::AssignOp::ArgMax;
  std::vector<const Index*> reduced;
  for (const Index& index : statement.indices)
    if (!index.on_left) reduced.push_back(&index);
  if (is_arg && reduced.empty())
    error("E0221", source.op_range,
          fmt::format("'{}' has no reduction index: every index is on the left",
                      source.op == ast::AssignOp::ArgMin ? "argmin=" : "argmax="));
  if (source.op != ast::AssignOp::Assign) return;
  for (const Index* index : reduced) {
    error("E0219", index->range,
          fmt::format("index '{}' is not on the left, so '=' would write each element several "
                      "times; use a reduction such as '+=!'",
                      index->name))
        .notes.push_back({source.lhs.range, "the left side is here"});
  }
}

void DefResolver::check_statement(const ast::Comprehension& source, const Statement& statement) {
  const Tensor& tensor = def_.tensors[statement.tensor];
  const bool is_arg = statement.op == ReduceOp::ArgMin || statement.op == ReduceOp::ArgMax;
  if (is_arg && tensor.type != DType::Int32 && tensor.type != DType::Int64)
    error("E0249", source.lhs.range,
          fmt::format("'{}' gives int32 or int64, but '{}' is {}", spelling(*statement.op),
                      tensor.name, tc::name(tensor.type)));
  if (is_arg && statement.value->type == DType::Bool)
    error("E0245", source.value->range,
          fmt::format("'{}' of a bool; cast to an integer type", spelling(*statement.op)));
  check_scatter(statement);
  check_inferred_sizes(statement);
}

void DefResolver::check_scatter(const Statement& statement) {
  const bool scatters =
      std::any_of(statement.subscripts.begin(), statement.subscripts.end(), contains_read);
  if (!scatters) return;
  const Expr* found = nullptr;
  const auto look = [&](const Expr& node) {
    const auto* read = std::get_if<Read>(&node.node);
    if (read && read->tensor == statement.tensor && !found) found = &node;
  };
  for (const ExprPtr& subscript : statement.subscripts)
    walk(subscript, look);
  walk(statement.value, look);
  if (!found) return;
  const std::string& name = def_.tensors[statement.tensor].name;
  error("E0226", found->range,
        fmt::format("the statement scatters into '{}' and reads it; write to another tensor first",
                    name))
      .notes.push_back({statement.range, "scattered here"});
}

/// Sizes that inference finds are known where an earlier statement has written the tensor; those
/// that an annotation names are values only.
void DefResolver::check_address(const ExprPtr& expr) {
  walk(expr, [&](const Expr& node) {
    if (output_size_uses_.count(&node)) {
      error("E0230", node.range,
            "the size comes from range inference, so it may be used as a value, not in a bound or "
            "subscript; a const parameter may");
      return;
    }
    const auto* dim = std::get_if<DimOf>(&node.node);
    if (!dim || tensors_[dim->tensor].written) return;
    const std::string& name = def_.tensors[dim->tensor].name;
    error("E0230", node.range,
          fmt::format("the index range of '{}' is not known here: no earlier statement writes it",
                      name));
  });
}

void DefResolver::check_inferred_sizes(const Statement& statement) {
  for (const ExprPtr& subscript : statement.subscripts)
    check_address(subscript);
  for (const ExprPtr& condition : statement.conditions)
    check_address(condition);
  for (const Index& index : statement.indices) {
    if (index.lo) check_address(index.lo);
    if (index.hi) check_address(index.hi);
  }
  const auto check_reads = [&](const Expr& node) {
    if (const auto* read = std::get_if<Read>(&node.node))
      for (const ExprPtr& subscript : read->subscripts)
        check_address(subscript);
  };
  walk(statement.value, check_reads);
  for (const ExprPtr& exists : statement.exists)
    walk(exists, check_reads);
}

void DefResolver::check_accumulation(const ast::Comprehension& source, Statement& statement) {
  Tensor& tensor = def_.tensors[statement.tensor];
  if (!statement.op || statement.init || tensor.is_param || tensors_[statement.tensor].written)
    return;
  if (!tensor.is_output) {
    error("E0228", source.op_range,
          fmt::format("'{}' accumulates onto the temporary '{}', which nothing has written before; "
                      "write '{}!'",
                      spelling(*statement.op), tensor.name, spelling(*statement.op)));
    return;
  }
  tensor.needs_initial = true;
  warning(
      "W0203", source.op_range,
      fmt::format("'{}' accumulates onto what the caller's '{}' holds; write '{}!' to start afresh",
                  spelling(*statement.op), tensor.name, spelling(*statement.op)));
}

namespace {

/// Per tensor and dimension: whether a statement writes it there with a subscript that is no
/// gathered value.
struct Extents {
  std::vector<std::vector<bool>> affine;
  std::vector<const Statement*> scatter;
};

Extents collect_extents(const TypedDef& def) {
  Extents out;
  for (const Tensor& tensor : def.tensors)
    out.affine.emplace_back(tensor.rank, false);
  out.scatter.assign(def.tensors.size(), nullptr);
  for (const StatementInContext& entry : statements(def)) {
    const Statement& statement = *entry.statement;
    for (std::size_t d = 0; d < statement.subscripts.size(); ++d) {
      if (!contains_read(statement.subscripts[d]))
        out.affine[statement.tensor][d] = true;
      else if (!out.scatter[statement.tensor])
        out.scatter[statement.tensor] = &statement;
    }
  }
  return out;
}

}  // namespace

void DefResolver::check_whole_def() {
  const bool clean = !messages_.has_errors() && !callee_failed_;
  const Extents extents = collect_extents(def_);
  for (std::size_t i = 0; i < def_.tensors.size(); ++i) {
    const Tensor& tensor = def_.tensors[i];
    if (!tensors_[i].has_type && clean) {
      error("E0253", tensor.range,
            fmt::format("the type of '{}' is not known: every value written to it depends on "
                        "itself; annotate it or cast",
                        tensor.name));
      continue;
    }
    if (tensor.is_param || !extents.scatter[i]) continue;
    for (int d = 0; d < tensor.rank; ++d) {
      if (tensor.extent[d] || extents.affine[i][d]) continue;
      error("E0227", extents.scatter[i]->range,
            fmt::format(
                "dimension {} of '{}' has no size: only scattered writes reach it; make "
                "'{}' a parameter, annotate it with sizes of parameters, consts or numbers, or "
                "write it by index first",
                d, tensor.name, tensor.name));
      break;
    }
  }
}

}  // namespace tc::lang
