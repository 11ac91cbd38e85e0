// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/call_inliner.h"

#include <algorithm>

#include <fmt/format.h>

#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// A scalar argument larger than this is computed once into a temporary instead of being repeated
/// at every use.
constexpr int kMaxRepeatedNodes = 16;

void mark_reads(const ExprPtr& expr, std::vector<bool>& marks) {
  walk(expr, [&](const Expr& node) {
    if (const auto* read = std::get_if<Read>(&node.node)) marks[read->tensor] = true;
  });
}

/// Per tensor: whether the address of some access depends on its elements.
std::vector<bool> tensors_in_subscripts(const TypedDef& def) {
  std::vector<bool> marks(def.tensors.size(), false);
  const auto look = [&](const Expr& node) {
    if (const auto* read = std::get_if<Read>(&node.node))
      for (const ExprPtr& subscript : read->subscripts)
        mark_reads(subscript, marks);
  };
  for (const StatementInContext& entry : statements(def)) {
    for (const ExprPtr& subscript : entry.statement->subscripts)
      mark_reads(subscript, marks);
    walk(entry.statement->value, look);
    for (const ExprPtr& exists : entry.statement->exists)
      walk(exists, look);
  }
  return marks;
}

}  // namespace

int count_statements(const std::vector<Node>& body) {
  int count = 0;
  for (const Node& node : body) {
    const auto* loop = std::get_if<std::shared_ptr<const ForLoop>>(&node);
    count += loop ? count_statements((*loop)->body) : 1;
  }
  return count;
}

CallInliner::CallInliner(DefResolver& caller, const Call& call)
    : caller_(caller), call_(call), callee_(call.def->def),
      source_(caller.program_.source(call.callee->name)), range_(call.range),
      number_(++caller.next_call_), sizes_(callee_.sizes.size()), consts_(callee_.consts.size()),
      tensors_(callee_.tensors.size()), in_subscripts_(tensors_in_subscripts(callee_)) {}

void CallInliner::run() {
  if (caller_.next_statement_ + count_statements(callee_.body) > kMaxStatements) {
    caller_.error("E0236", range_,
                  fmt::format("def '{}' has more than {} statements with those of its calls; split "
                              "it into several defs",
                              caller_.source_.name.name, kMaxStatements));
    return;
  }
  for (const TensorId output : callee_.outputs) {
    const Tensor& tensor = callee_.tensors[output];
    if (!tensor.needs_initial) continue;
    caller_
        .error("E0218", range_,
               fmt::format("def '{}' accumulates onto what its caller supplies for '{}', which a "
                           "call cannot; make '{}' a parameter or use '!' there",
                           source_.name.name, tensor.name, tensor.name))
        .notes.push_back({tensor.range, "declared here"});
    return;
  }
  if (!bind_arguments() || !bind_sizes()) return;
  bind_results();
  bind_temporaries();
  declare_extents();
  copy_in_place();
  copy_body(callee_.body, *caller_.out_);
  copy_results();
}

bool CallInliner::bind_arguments() {
  bool fine = true;
  for (std::size_t i = 0; i < source_.params.size(); ++i) {
    const ast::Param& param = source_.params[i];
    const ParamSlot& slot = call_.def->params[i];
    const ast::Expr& arg = *(*call_.args)[i];
    if (slot.is_const)
      fine = bind_const(param, slot.id, arg) && fine;
    else if (callee_.tensors[slot.id].rank > 0)
      fine = bind_tensor(param, slot.id, arg) && fine;
    else
      fine = bind_scalar(param, slot.id, arg) && fine;
  }
  return fine;
}

bool CallInliner::mismatch(const ast::Param& param, SourceRange range, const std::string& given) {
  const int rank = static_cast<int>(param.type.dims.size());
  const std::string kind =
      rank == 0 ? "scalar" : fmt::format("tensor of {} dimension{}", rank, rank == 1 ? "" : "s");
  caller_
      .error("E0215", range,
             fmt::format("parameter '{}' of def '{}' is a {} {}{}; {} given", param.name.name,
                         source_.name.name, name(param.type.element),
                         param.is_const ? "const " : "", kind, given))
      .notes.push_back({param.range, "declared here"});
  return false;
}

bool CallInliner::bind_const(const ast::Param& param, int id, const ast::Expr& arg) {
  const Operand value = caller_.resolve(arg);
  if (value.is(Operand::Kind::Poison)) return false;
  const DType type = callee_.consts[id].type;
  if (value.is(Operand::Kind::Literal)) {
    if (!Typing::literal_fits(value.literal, type))
      return mismatch(param, arg.range, describe(value));
    consts_[id] = literal_constant(value.literal, type, range_);
    return true;
  }
  // A size or index is int32 until its range is known, so it may stand for any integer that is wide
  // enough.
  const bool widens = is_integer(type) && bits(type) > 32 && value.type == DType::Int32;
  if (value.type != type && !widens) return mismatch(param, arg.range, describe(value));
  if (contains_read(value.expr))
    return mismatch(param, arg.range, "a value that is known only at run time");
  const std::size_t before = caller_.message_count();
  caller_.check_address(value.expr);
  consts_[id] = caller_.typing_.coerce(value, type);
  return !caller_.errors_since(before);
}

bool CallInliner::bind_tensor(const ast::Param& param, TensorId id, const ast::Expr& arg) {
  const auto* bare = std::get_if<ast::Name>(&arg.node);
  const Symbol* symbol =
      bare && !caller_.find_loop(bare->name) ? caller_.find_symbol(bare->name) : nullptr;
  if (!symbol || symbol->kind != Symbol::Kind::Tensor) {
    if (!bare) return mismatch(param, arg.range, "an expression");
    const std::string what = caller_.describe_name(bare->name);
    return mismatch(param, arg.range,
                    what.empty() ? fmt::format("'{}', which is not in scope,", bare->name) : what);
  }
  const TensorState& state = caller_.tensors_[symbol->id];
  if (state.poisoned) return false;
  const Tensor& given = caller_.def_.tensors[symbol->id];
  const Tensor& expected = callee_.tensors[id];
  if (given.rank != expected.rank || given.type != expected.type)
    return mismatch(param, arg.range,
                    fmt::format("{} '{}' of {} dimension{}", name(given.type), given.name,
                                given.rank, given.rank == 1 ? "" : "s"));
  if (!state.written) {
    caller_.error("E0230", arg.range,
                  fmt::format("'{}' is passed on before any statement writes it", given.name));
    return false;
  }
  tensors_[id] = {symbol->id, true, nullptr};
  if (expected.is_output) in_place_tensors_.emplace_back(id, symbol->id);
  return true;
}

/// The argument as a value of the parameter's type, just as if it had been stored and read back.
/// Null: the types differ.
ExprPtr CallInliner::converted(const Operand& value, const Tensor& param) {
  if (value.is(Operand::Kind::Literal)) {
    if (!Typing::literal_fits(value.literal, param.type)) return nullptr;
    return caller_.typing_.cast(param.type, value, range_).expr;
  }
  const bool exact_type = value.type == read_type(param.type);
  return exact_type ? caller_.typing_.cast(param.type, value, range_).expr : nullptr;
}

bool CallInliner::bind_scalar(const ast::Param& param, TensorId id, const ast::Expr& arg) {
  const Operand value = caller_.resolve(arg);
  if (!value.is(Operand::Kind::Literal) && !value.is(Operand::Kind::Typed)) return false;
  const Tensor& expected = callee_.tensors[id];
  const ExprPtr expr = converted(value, expected);
  if (!expr) return mismatch(param, arg.range, describe(value));
  if (expected.is_output) {
    in_place_scalars_.emplace_back(id, expr);
    return true;
  }
  if (!in_subscripts_[id] && value.nodes <= kMaxRepeatedNodes) {
    tensors_[id].scalar = expr;
    return true;
  }
  tensors_[id].tensor = temporary(expected);
  store_scalar(tensors_[id].tensor, expr);
  return true;
}

TensorId CallInliner::temporary(const Tensor& tensor) {
  Tensor copy;
  copy.name = fmt::format("{}.{}.{}", source_.name.name, number_, tensor.name);
  copy.type = tensor.type;
  copy.type_given = true;
  copy.rank = tensor.rank;
  copy.range = range_;
  TensorState state;
  state.has_type = state.has_rank = true;
  return caller_.add_tensor(std::move(copy), state);
}

void CallInliner::store_scalar(TensorId tensor, ExprPtr value) {
  Statement statement;
  statement.range = range_;
  statement.tensor = tensor;
  statement.value = std::move(value);
  caller_.emit(std::move(statement));
}

bool CallInliner::bind_sizes() {
  if (!bind_bare_sizes()) return false;
  if (!solve_sizes()) return false;
  const std::size_t before = caller_.message_count();
  require_dims();
  return !caller_.errors_since(before);
}

/// As at a call from outside: bare identifiers bind first.
bool CallInliner::bind_bare_sizes() {
  for (std::size_t t = 0; t < callee_.tensors.size(); ++t) {
    const Tensor& param = callee_.tensors[t];
    if (!param.is_param) continue;
    for (int d = 0; d < param.rank; ++d) {
      const auto* bare = std::get_if<SizeRef>(&param.extent[d]->node);
      if (bare && !sizes_[bare->size])
        sizes_[bare->size] = caller_.extent_of(tensors_[t].tensor, d, range_);
    }
  }
  return true;
}

/// Then dims with one unknown size are solved, as often as that makes progress.
bool CallInliner::solve_sizes() {
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t t = 0; t < callee_.tensors.size(); ++t) {
      const Tensor& param = callee_.tensors[t];
      for (int d = 0; param.is_param && d < param.rank; ++d) {
        int unknown = -1;
        bool several = false;
        walk(param.extent[d], [&](const Expr& node) {
          const auto* size = std::get_if<SizeRef>(&node.node);
          if (!size || sizes_[size->size]) return;
          several = several || (unknown >= 0 && unknown != size->size);
          unknown = size->size;
        });
        if (unknown < 0 || several) continue;
        const auto form = linear_in(param.extent[d], [&](const Expr& node) {
          const auto* size = std::get_if<SizeRef>(&node.node);
          return size && size->size == unknown;
        });
        if (!form) continue;
        const ExprPtr rest =
            make_binary(BinaryOp::Sub, caller_.extent_of(tensors_[t].tensor, d, range_),
                        substitute(form->rest), range_);
        sizes_[unknown] = make_binary(BinaryOp::Div, rest, substitute(form->factor), range_);
        progress = true;
      }
    }
  }
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    if (sizes_[s]) continue;
    caller_
        .error("E0217", range_,
               fmt::format("size '{}' of def '{}' does not follow from the arguments",
                           callee_.sizes[s].name, source_.name.name))
        .notes.push_back({callee_.sizes[s].range, "first used here"});
    return false;
  }
  return true;
}

bool CallInliner::require(ExprPtr condition) {
  const auto* constant = std::get_if<IntConst>(&condition->node);
  if (constant && constant->value == 0) return false;
  caller_.require(std::move(condition));
  return true;
}

void CallInliner::require_dims() {
  for (std::size_t t = 0; t < callee_.tensors.size(); ++t) {
    const Tensor& param = callee_.tensors[t];
    if (!param.is_param) continue;
    for (int d = 0; d < param.rank; ++d) {
      const ExprPtr given = caller_.extent_of(tensors_[t].tensor, d, range_);
      const ExprPtr expected = substitute(param.extent[d]);
      if (equal(given, expected)) continue;
      if (require(make_binary(BinaryOp::Eq, given, expected, range_))) continue;
      caller_
          .error("E0217", range_,
                 fmt::format("dimension {} of '{}' is {} where def '{}' expects {}", d,
                             caller_.def_.tensors[tensors_[t].tensor].name,
                             to_string(caller_.def_, nullptr, given), source_.name.name,
                             to_string(caller_.def_, nullptr, expected)))
          .notes.push_back({param.range, "declared here"});
    }
  }
  for (const ExprPtr& condition : callee_.preconditions) {
    if (require(substitute(condition))) continue;
    caller_
        .error("E0217", range_,
               fmt::format("the sizes of this call violate what def '{}' needs: {}",
                           source_.name.name, to_string(callee_, nullptr, condition)))
        .notes.push_back({condition->range, "needed here"});
  }
}

/// Where each output of the callee lives: in the caller's tensor itself, or in a temporary that is
/// copied afterwards.
void CallInliner::bind_results() {
  for (std::size_t i = 0; i < callee_.outputs.size(); ++i) {
    const TensorId output = callee_.outputs[i];
    const TensorId target = caller_.find_symbol(call_.results[i]->name)->id;
    const TensorId holder = call_.direct[i] ? target : temporary(callee_.tensors[output]);
    tensors_[output] = {holder, false, nullptr};
    results_.push_back(holder);
  }
}

void CallInliner::bind_temporaries() {
  for (std::size_t t = 0; t < callee_.tensors.size(); ++t) {
    const Tensor& tensor = callee_.tensors[t];
    if (!tensor.is_param && !tensor.is_output) tensors_[t] = {temporary(tensor), false, nullptr};
  }
}

/// Extents that an annotation in the callee fixes.
void CallInliner::declare_extents() {
  for (std::size_t t = 0; t < callee_.tensors.size(); ++t) {
    const Tensor& tensor = callee_.tensors[t];
    if (tensor.is_param) continue;
    for (int d = 0; d < tensor.rank; ++d) {
      if (!tensor.extent[d]) continue;
      const ExprPtr extent = substitute(tensor.extent[d]);
      ExprPtr& own = caller_.def_.tensors[tensors_[t].tensor].extent[d];
      if (own && !equal(own, extent))
        caller_.require(make_binary(BinaryOp::Eq, own, extent, range_));
      if (!own) own = extent;
    }
  }
}

void CallInliner::copy_in_place() {
  for (const auto& [param, value] : in_place_scalars_)
    store_scalar(tensors_[param].tensor, value);
  for (const auto& [param, argument] : in_place_tensors_)
    caller_.copy_tensor(tensors_[param].tensor, argument, range_);
}

void CallInliner::copy_results() {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const TensorId target = caller_.find_symbol(call_.results[i]->name)->id;
    if (target != results_[i]) caller_.copy_tensor(target, results_[i], range_);
  }
}

void CallInliner::copy_body(const std::vector<Node>& body, std::vector<Node>& out) {
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<Statement>(&node)) {
      Statement copy = copy_statement(*statement);
      copy.id = caller_.next_statement_++;
      caller_.tensors_[copy.tensor].written = true;
      out.push_back(std::move(copy));
      continue;
    }
    const ForLoop& source = *std::get<std::shared_ptr<const ForLoop>>(node);
    ForLoop loop;
    loop.var = caller_.next_loop_++;
    loops_[source.var] = loop.var;
    loop.name = source.name;
    loop.type = source.type;
    loop.lo = substitute(source.lo);
    loop.hi = substitute(source.hi);
    loop.range = range_;
    copy_body(source.body, loop.body);
    out.push_back(std::make_shared<const ForLoop>(std::move(loop)));
  }
}

Statement CallInliner::copy_statement(const Statement& statement) {
  Statement out = statement;
  out.range = range_;
  out.tensor = tensors_[statement.tensor].tensor;
  for (Index& index : out.indices) {
    index.range = range_;
    index.lo = substitute(index.lo);
    index.hi = substitute(index.hi);
  }
  out.conditions = substitute(statement.conditions);
  out.exists = substitute(statement.exists);
  out.subscripts = substitute(statement.subscripts);
  out.value = substitute(statement.value);
  out.position = substitute(statement.position);
  return out;
}

std::vector<ExprPtr> CallInliner::substitute(const std::vector<ExprPtr>& exprs) {
  std::vector<ExprPtr> out;
  out.reserve(exprs.size());
  for (const ExprPtr& expr : exprs)
    out.push_back(substitute(expr));
  return out;
}

ExprPtr CallInliner::substitute(const ExprPtr& expr) {
  if (!expr) return expr;
  const auto found = substituted_.find(expr.get());
  if (found != substituted_.end()) return found->second.second;
  ExprPtr out = substitute_node(expr);
  // The folding constructors may hand back an operand; types stay what the surrounding node was
  // built for.
  if (out->type != expr->type) out = make_cast(expr->type, out, range_);
  substituted_.emplace(expr.get(), std::pair(expr, out));
  return out;
}

ExprPtr CallInliner::substitute_read(const Expr& expr, const Read& read) {
  const Replacement& replacement = tensors_[read.tensor];
  if (replacement.scalar) return replacement.scalar;
  std::vector<ExprPtr> subscripts = substitute(read.subscripts);
  for (std::size_t d = 0; replacement.is_argument && d < subscripts.size(); ++d)
    subscripts[d] =
        make_binary(BinaryOp::Add, subscripts[d],
                    caller_.begin_of(replacement.tensor, static_cast<int>(d), range_), range_);
  return make_expr(expr.type, range_,
                   Read{replacement.tensor, std::move(subscripts), substitute(read.pad)});
}

ExprPtr CallInliner::substitute_node(const ExprPtr& expr) {
  return std::visit(
      Overloaded{
          [&](const IntConst& node) { return make_expr(expr->type, range_, node); },
          [&](const FloatConst& node) { return make_expr(expr->type, range_, node); },
          [&](const IndexRef& node) { return make_expr(expr->type, range_, node); },
          [&](const SizeRef& node) { return sizes_[node.size]; },
          [&](const ConstRef& node) { return consts_[node.id]; },
          [&](const ForRef& node) {
            return make_expr(expr->type, range_, ForRef{loops_.at(node.var)});
          },
          [&](const DimOf& node) {
            return make_expr(expr->type, range_,
                             DimOf{tensors_[node.tensor].tensor, node.dim, node.part});
          },
          [&](const Read& node) { return substitute_read(*expr, node); },
          [&](const Unary& node) { return make_unary(node.op, substitute(node.operand), range_); },
          [&](const Binary& node) {
            return make_binary(node.op, substitute(node.left), substitute(node.right), range_);
          },
          [&](const Select& node) {
            return make_expr(expr->type, range_,
                             Select{substitute(node.condition), substitute(node.if_true),
                                    substitute(node.if_false)});
          },
          [&](const Cast& node) { return make_cast(node.to, substitute(node.operand), range_); },
          [&](const Builtin& node) {
            return make_expr(expr->type, range_, Builtin{node.name, substitute(node.args)});
          },
      },
      expr->node);
}

}  // namespace tc::lang
