// SPDX-License-Identifier: Apache-2.0
//
// Expressions: what names, reads, calls of builtins and casts in them stand for. The typing rules
// are those of Typing.
#include <algorithm>

#include <fmt/format.h>

#include "tc/lang/builtins.h"
#include "tc/lang/resolver.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// Recursion through the syntax tree and through lets; chains of binary operators do not count (see
/// resolve_binary).
constexpr int kMaxRecursion = 400;

}  // namespace

Operand DefResolver::resolve(const ast::Expr& expr) {
  if (depth_ >= kMaxRecursion) {
    error("E0233", expr.range, large_expression(depth_ + 1, "nested parts", kMaxRecursion));
    return Operand::poison(expr.range);
  }
  ++depth_;
  const SourceRange range = expr.range;
  Operand out =
      std::visit(Overloaded{
                     [&](const ast::Literal& node) { return typing_.literal(node, range); },
                     [&](const ast::Name& node) { return name(node.name, range); },
                     [&](const ast::DimRead& node) { return dim_read(node, range); },
                     [&](const ast::Apply& node) { return apply(node, range); },
                     [&](const ast::Unary& node) {
                       return typing_.unary(node.op, resolve(*node.operand), range);
                     },
                     [&](const ast::Binary&) { return resolve_binary(expr); },
                     [&](const ast::Ternary& node) {
                       const Operand condition = resolve(*node.condition);
                       const Operand if_true = resolve(*node.if_true);
                       const Operand if_false = resolve(*node.if_false);
                       return typing_.select(condition, if_true, if_false, range);
                     },
                     [&](const ast::MinMax& node) {
                       return typing_.min_max(node.is_max, resolve_all(node.args), range);
                     },
                     [&](const ast::Pad& node) {
                       const Operand read = resolve(*node.read);
                       return typing_.pad(read, resolve(*node.value), range);
                     },
                 },
                 expr.node);
  --depth_;
  return out;
}

/// The left spine is walked without recursion: `a + b + c + ...` may have thousands of terms.
Operand DefResolver::resolve_binary(const ast::Expr& expr) {
  std::vector<const ast::Expr*> spine;
  const ast::Expr* leftmost = &expr;
  while (const auto* binary = std::get_if<ast::Binary>(&leftmost->node)) {
    spine.push_back(leftmost);
    leftmost = binary->left.get();
  }
  Operand left = resolve(*leftmost);
  for (auto link = spine.rbegin(); link != spine.rend(); ++link) {
    const auto& binary = std::get<ast::Binary>((*link)->node);
    const Operand right = resolve(*binary.right);
    left = typing_.binary(binary.op, left, right, (*link)->range);
  }
  return left;
}

std::vector<Operand> DefResolver::resolve_all(const std::vector<ast::ExprPtr>& exprs) {
  std::vector<Operand> out;
  out.reserve(exprs.size());
  for (const ast::ExprPtr& expr : exprs)
    out.push_back(resolve(*expr));
  return out;
}

Operand DefResolver::name(const std::string& name, SourceRange range) {
  if (const int let = find_let(name); let >= 0) return let_value(let, range);
  if (const LoopScope* loop = find_loop(name))
    return Operand::typed(DType::Int32, make_expr(DType::Int32, range, ForRef{loop->var}), range);
  if (const Symbol* symbol = find_symbol(name)) {
    switch (symbol->kind) {
    case Symbol::Kind::Size:
      return Operand::typed(DType::Int32, make_expr(DType::Int32, range, SizeRef{symbol->id}),
                            range);
    case Symbol::Kind::Const: {
      const DType type = def_.consts[symbol->id].type;
      return Operand::typed(type, make_expr(compute_type(type), range, ConstRef{symbol->id}),
                            range);
    }
    case Symbol::Kind::OutputSize: {
      ExprPtr value = make_expr(symbol->value->type, range, symbol->value->node);
      output_size_uses_.insert(value.get());
      kept_alive_.push_back(value);
      return Operand::typed(value->type, value, range);
    }
    case Symbol::Kind::Tensor: return read(symbol->id, {}, range);
    }
    unreachable("Symbol::Kind");
  }
  if (const int index = find_index(name); index >= 0)
    return Operand::typed(DType::Int32, make_index(index, DType::Int32, range), range);
  return unknown_name(name, range);
}

Operand DefResolver::unknown_name(const std::string& name, SourceRange range) {
  switch (new_name_) {
  case NewName::Index:
    return Operand::typed(DType::Int32, make_index(new_index(name, range), DType::Int32, range),
                          range);
  case NewName::Size: {
    const int id = static_cast<int>(def_.sizes.size());
    def_.sizes.push_back({name, range});
    declare({name, range}, {Symbol::Kind::Size, id, {}, nullptr}, "size");
    return Operand::typed(DType::Int32, make_expr(DType::Int32, range, SizeRef{id}), range);
  }
  case NewName::Error: break;
  }
  error("E0205", range,
        fmt::format("'{}' is not in scope; here stand sizes, const scalars, 'for' variables{}",
                    name, scope_ ? " and indices of the statement" : ""));
  return Operand::poison(range);
}

/// Lets are substituted: each is resolved at its first use, in the scope of its statement.
Operand DefResolver::let_value(int let, SourceRange range) {
  LetState& state = scope_->lets[let];
  state.used = true;
  if (state.state == LetState::State::Active) {
    error("E0223", range, fmt::format("let '{}' is defined by itself", state.clause->name.name))
        .notes.push_back({state.clause->name.range, "defined here"});
    return Operand::poison(range);
  }
  if (state.state == LetState::State::Fresh) {
    state.state = LetState::State::Active;
    Operand value = resolve(*state.clause->value);
    LetState& resolved = scope_->lets[let];
    resolved.value = std::move(value);
    resolved.state = LetState::State::Done;
  }
  return scope_->lets[let].value;
}

Operand DefResolver::dim_read(const ast::DimRead& read, SourceRange range) {
  const std::string& name = read.tensor.name;
  const Symbol* symbol = find_let(name) >= 0 || find_loop(name) ? nullptr : find_symbol(name);
  if (!symbol || symbol->kind != Symbol::Kind::Tensor) {
    const std::string what = describe_name(name);
    error("E0229", range,
          fmt::format("'{}.{}' is the size of a dimension of a tensor, but {}", name, read.dim,
                      what.empty() ? fmt::format("there is no tensor '{}'", name)
                                   : what + " is none"));
    return Operand::poison(range);
  }
  if (tensors_[symbol->id].poisoned && !tensors_[symbol->id].has_rank)
    return Operand::poison(range);
  const int rank = def_.tensors[symbol->id].rank;
  if (read.dim >= static_cast<std::uint64_t>(rank)) {
    error("E0229", range,
          fmt::format("tensor '{}' has {} dimension{}; there is no dimension {}", name, rank,
                      rank == 1 ? "" : "s", read.dim));
    return Operand::poison(range);
  }
  const ExprPtr extent = extent_of(symbol->id, static_cast<int>(read.dim), range);
  return Operand::typed(extent->type, extent, range);
}

Operand DefResolver::apply(const ast::Apply& apply, SourceRange range) {
  const std::vector<Operand> args = resolve_all(apply.args);
  const std::string& name = apply.callee.name;
  if (apply.cast_to) {
    if (args.size() == 1) return typing_.cast(*apply.cast_to, args[0], range);
    error("E0213", range,
          fmt::format("a cast to {} takes 1 argument, {} given", name, args.size()));
    return Operand::poison(range);
  }
  const Symbol* symbol = find_let(name) >= 0 || find_loop(name) ? nullptr : find_symbol(name);
  if (symbol && symbol->kind == Symbol::Kind::Tensor) return read(symbol->id, args, range);
  if (const std::string what = describe_name(name); !what.empty()) {
    error("E0211", apply.callee.range, fmt::format("{} takes no subscripts: it is no tensor", what))
        .notes.push_back({place_of(name), "declared here"});
    return Operand::poison(range);
  }
  if (find_builtin(name)) return typing_.builtin(name, args, range);
  if (program_.has(name)) {
    error("E0216", range,
          fmt::format("a call of def '{}' stands alone, as in 'y = {}(...)'", name, name));
    return Operand::poison(range);
  }
  if (find_index(name) >= 0) {
    error("E0211", apply.callee.range,
          fmt::format("index '{}' takes no subscripts: it is no tensor", name));
    return Operand::poison(range);
  }
  error("E0206", apply.callee.range,
        fmt::format("'{}' is no tensor, builtin function or def", name));
  return Operand::poison(range);
}

Operand DefResolver::read(TensorId tensor, const std::vector<Operand>& subscripts,
                          SourceRange range) {
  const Tensor& info = def_.tensors[tensor];
  const TensorState& state = tensors_[tensor];
  if (state.poisoned && !state.has_rank) return Operand::poison(range);
  if (static_cast<int>(subscripts.size()) != info.rank) {
    error("E0212", range,
          fmt::format("tensor '{}' has {} dimension{}, {} subscript{} given", info.name, info.rank,
                      info.rank == 1 ? "" : "s", subscripts.size(),
                      subscripts.size() == 1 ? "" : "s"))
        .notes.push_back({info.range, "declared here"});
    return Operand::poison(range);
  }
  Read read{tensor, {}, nullptr};
  bool failed = false;
  bool pending = false;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    pending = pending || subscripts[d].is(Operand::Kind::Pending);
    ExprPtr subscript =
        typing_.integral(subscripts[d], fmt::format("subscript {} of '{}'", d, info.name));
    failed = failed || !subscript;
    // The caller counts the result of a call from 0, wherever the callee's index space begins.
    if (subscript && state.shifted)
      subscript =
          make_binary(BinaryOp::Add, subscript,
                      begin_of(tensor, static_cast<int>(d), subscript->range), subscript->range);
    read.subscripts.push_back(std::move(subscript));
  }
  if (!state.has_type && !state.poisoned) return Operand::pending(range);
  if (pending)
    return finding_types_
               ? Operand::typed(read_type(info.type),
                                typing_.coerce(Operand::pending(range), read_type(info.type)),
                                range)
               : Operand::poison(range);
  if (failed || state.poisoned) return Operand::poison(range);
  const DType type = read_type(info.type);
  return typing_.sized(
      Operand::typed(type, make_expr(compute_type(type), range, std::move(read)), range),
      subscripts);
}

}  // namespace tc::lang
