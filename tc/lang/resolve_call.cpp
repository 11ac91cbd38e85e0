// SPDX-License-Identifier: Apache-2.0
//
// Calls of other defs: which statements are calls, and whether one is well formed.
#include <fmt/format.h>

#include "tc/lang/builtins.h"
#include "tc/lang/call_inliner.h"
#include "tc/lang/resolver.h"

namespace tc::lang {

std::optional<Call> DefResolver::as_call(const ast::Stmt& stmt) const {
  Call call;
  call.range = stmt.range;
  if (const auto* several = std::get_if<ast::CallStmt>(&stmt.node)) {
    call.callee = &several->callee;
    call.args = &several->args;
    for (const ast::Ident& result : several->results)
      call.results.push_back(&result);
    return call;
  }
  const auto* single = std::get_if<ast::Comprehension>(&stmt.node);
  if (!single || single->op != ast::AssignOp::Assign || single->lhs.has_parentheses ||
      !single->lhs.subscripts.empty())
    return std::nullopt;
  const auto* apply = std::get_if<ast::Apply>(&single->value->node);
  if (!apply || apply->cast_to) return std::nullopt;
  // A tensor or builtin in scope wins over a def of that name.
  const std::string& name = apply->callee.name;
  if (find_symbol(name) || find_builtin(name) || !program_.has(name)) return std::nullopt;
  call.callee = &apply->callee;
  call.args = &apply->args;
  call.results.push_back(&single->lhs.tensor);
  return call;
}

void DefResolver::resolve_callee(Call& call) {
  const std::string& name = call.callee->name;
  if (!program_.has(name)) {
    const std::string what = describe_name(name);
    error("E0206", call.callee->range,
          fmt::format("'{}' is {}; several results come from a call of a def", name,
                      what.empty() ? "no def of this text" : what));
    return;
  }
  const ProgramResolver::Answer answer = program_.get(name);
  switch (answer.status) {
  case ProgramResolver::Status::Recursive:
    error("E0210", call.callee->range,
          fmt::format(
              "def '{}' calls itself, directly or through other defs; recursion is not supported",
              name))
        .notes.push_back({program_.source(name).name.range, "defined here"});
    return;
  case ProgramResolver::Status::TooDeep:
    error(
        "E0237", call.callee->range,
        fmt::format("the call of '{}' is nested deeper than {} defs; call fewer within each other",
                    name, kMaxCallDepth));
    return;
  case ProgramResolver::Status::Done: break;
  }
  if (answer.def->clean)
    call.def = answer.def;
  else
    callee_failed_ = true;
}

bool DefResolver::call_is_well_formed(const Call& call) {
  const std::size_t before = message_count();
  const ast::Def& callee = program_.source(call.callee->name);
  const auto note_callee = [&](Diagnostic& diagnostic) {
    diagnostic.notes.push_back({callee.name.range, "defined here"});
  };
  if (call.args->size() != callee.params.size())
    note_callee(error("E0214", call.range,
                      fmt::format("def '{}' takes {} argument{}, {} given", callee.name.name,
                                  callee.params.size(), callee.params.size() == 1 ? "" : "s",
                                  call.args->size())));
  if (call.results.size() != callee.returns.size())
    note_callee(error("E0214", call.range,
                      fmt::format("def '{}' returns {} value{}, {} expected here", callee.name.name,
                                  callee.returns.size(), callee.returns.size() == 1 ? "" : "s",
                                  call.results.size())));
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const TensorId target = target_of(*call.results[i]);
    for (std::size_t j = 0; j < i; ++j)
      if (call.results[i]->name == call.results[j]->name)
        error("E0214", call.results[i]->range,
              fmt::format("'{}' takes two results of one call", call.results[i]->name));
    if (target < 0 || i >= call.def->def.outputs.size()) continue;
    const Tensor& result = call.def->def.tensors[call.def->def.outputs[i]];
    const Tensor& tensor = def_.tensors[target];
    if (tensors_[target].has_rank && tensor.rank != result.rank)
      error("E0247", call.results[i]->range,
            fmt::format("'{}' has {} dimension{}, but result '{}' of '{}' has {}", tensor.name,
                        tensor.rank, tensor.rank == 1 ? "" : "s", result.name, callee.name.name,
                        result.rank))
          .notes.push_back({tensor.range, "declared here"});
  }
  return !errors_since(before);
}

void DefResolver::mark_results(const Call& call) {
  for (const ast::Ident* result : call.results) {
    const Symbol* symbol = find_symbol(result->name);
    if (symbol && symbol->kind == Symbol::Kind::Tensor) tensors_[symbol->id].written = true;
  }
}

/// A result that is copied adds the callee's type to that of the tensor, as any right-hand side
/// does.
void DefResolver::contribute_results(const Call& call) {
  if (!call.def) return;
  for (std::size_t i = 0; i < call.results.size() && i < call.def->def.outputs.size(); ++i) {
    const Symbol* symbol = find_symbol(call.results[i]->name);
    if (!symbol || symbol->kind != Symbol::Kind::Tensor || call.direct[i]) continue;
    contribute(symbol->id, read_type(call.def->def.tensors[call.def->def.outputs[i]].type),
               call.range);
  }
}

void DefResolver::inline_call(const ast::Stmt& stmt, const Call& call) {
  const std::size_t before = message_count();
  if (const auto* single = std::get_if<ast::Comprehension>(&stmt.node)) {
    if (!single->where.empty() || single->equivalent)
      error("E0216", stmt.range,
            fmt::format("a call of def '{}' takes neither 'where' nor '<=>'", call.callee->name));
  }
  if (call.def && call_is_well_formed(call)) {
    contribute_results(call);
    if (!errors_since(before)) CallInliner(*this, call).run();
  }
  if (!call.def || errors_since(before)) {
    for (const ast::Ident* result : call.results) {
      const Symbol* symbol = find_symbol(result->name);
      if (symbol && symbol->kind == Symbol::Kind::Tensor) tensors_[symbol->id].poisoned = true;
    }
  }
  mark_results(call);
}

/// `to(i...) = from(i...)` over the whole of `from`, counted from 0.
void DefResolver::copy_tensor(TensorId to, TensorId from, SourceRange range) {
  Statement copy;
  copy.range = range;
  copy.tensor = to;
  const int rank = def_.tensors[from].rank;
  std::vector<ExprPtr> source;
  for (int d = 0; d < rank; ++d) {
    Index index;
    index.name = fmt::format("i{}", d);
    index.on_left = index.given = true;
    index.lo = make_int(0, DType::Int32, range);
    index.hi = extent_of(from, d, range);
    index.range = range;
    copy.indices.push_back(std::move(index));
    copy.subscripts.push_back(make_index(d, DType::Int32, range));
    source.push_back(make_binary(BinaryOp::Add, make_index(d, DType::Int32, range),
                                 begin_of(from, d, range), range));
  }
  copy.value = make_expr(compute_type(def_.tensors[from].type), range,
                         Read{from, std::move(source), nullptr});
  emit(std::move(copy));
}

}  // namespace tc::lang
