// SPDX-License-Identifier: Apache-2.0
//
// Declarations and scopes: which names a def has and what they stand for.
#include <fmt/format.h>

#include "tc/lang/builtins.h"
#include "tc/lang/resolver.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// Whether an expression uses an identifier, as a name, a callee or the tensor of a dimension read.
/// Without recursion: a chain of operators may be as long as the text.
bool mentions_name(const ast::Expr& expr, const std::string& name) {
  std::vector<const ast::Expr*> todo = {&expr};
  const auto push = [&](const std::vector<ast::ExprPtr>& children) {
    for (const ast::ExprPtr& child : children)
      todo.push_back(child.get());
  };
  while (!todo.empty()) {
    const ast::Expr* next = todo.back();
    todo.pop_back();
    const bool found =
        std::visit(Overloaded{
                       [](const ast::Literal&) { return false; },
                       [&](const ast::Name& node) { return node.name == name; },
                       [&](const ast::DimRead& node) { return node.tensor.name == name; },
                       [&](const ast::Apply& node) {
                         push(node.args);
                         return node.callee.name == name;
                       },
                       [&](const ast::Unary& node) {
                         push({node.operand});
                         return false;
                       },
                       [&](const ast::Binary& node) {
                         push({node.left, node.right});
                         return false;
                       },
                       [&](const ast::Ternary& node) {
                         push({node.condition, node.if_true, node.if_false});
                         return false;
                       },
                       [&](const ast::MinMax& node) {
                         push(node.args);
                         return false;
                       },
                       [&](const ast::Pad& node) {
                         push({node.read, node.value});
                         return false;
                       },
                   },
                   next->node);
    if (found) return true;
  }
  return false;
}

}  // namespace

const Symbol* DefResolver::find_symbol(const std::string& name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : &found->second;
}

const LoopScope* DefResolver::find_loop(const std::string& name) const {
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop)
    if (loop->name == name) return &*loop;
  return nullptr;
}

int DefResolver::find_let(const std::string& name) const {
  if (!scope_) return -1;
  const auto found = scope_->let_of.find(name);
  return found == scope_->let_of.end() ? -1 : found->second;
}

int DefResolver::find_index(const std::string& name) const {
  if (!scope_) return -1;
  const auto found = scope_->index_of.find(name);
  return found == scope_->index_of.end() ? -1 : found->second;
}

int DefResolver::new_index(const std::string& name, SourceRange range) {
  const int position = static_cast<int>(scope_->indices.size());
  Index index;
  index.name = name;
  index.range = range;
  scope_->indices.push_back(std::move(index));
  scope_->index_of[name] = position;
  return position;
}

std::string DefResolver::describe_name(const std::string& name) const {
  if (find_let(name) >= 0) return fmt::format("let '{}'", name);
  if (find_loop(name)) return fmt::format("'for' variable '{}'", name);
  const Symbol* symbol = find_symbol(name);
  if (!symbol) return "";
  switch (symbol->kind) {
  case Symbol::Kind::Tensor: return fmt::format("tensor '{}'", name);
  case Symbol::Kind::Size:
  case Symbol::Kind::OutputSize: return fmt::format("size '{}'", name);
  case Symbol::Kind::Const: return fmt::format("const '{}'", name);
  }
  unreachable("Symbol::Kind");
}

SourceRange DefResolver::place_of(const std::string& name) const {
  if (const int let = find_let(name); let >= 0) return scope_->lets[let].clause->name.range;
  if (const LoopScope* loop = find_loop(name)) return loop->range;
  const Symbol* symbol = find_symbol(name);
  return symbol ? symbol->range : SourceRange{};
}

void DefResolver::warn_builtin(const ast::Ident& ident, const char* what) {
  if (!find_builtin(ident.name)) return;
  warning(
      "W0201", ident.range,
      fmt::format("{} '{}' hides the builtin function of that name in this def", what, ident.name));
}

bool DefResolver::declare(const ast::Ident& ident, Symbol symbol, const char* what) {
  symbol.range = ident.range;
  const auto [existing, inserted] = symbols_.emplace(ident.name, symbol);
  if (inserted) {
    warn_builtin(ident, what);
    return true;
  }
  error("E0202", ident.range,
        fmt::format("{} '{}' has the name of {}; rename one of them", what, ident.name,
                    describe_name(ident.name)))
      .notes.push_back({existing->second.range, "first declared here"});
  return false;
}

TensorId DefResolver::add_tensor(Tensor tensor, TensorState state) {
  tensor.begin.resize(tensor.rank);
  tensor.extent.resize(tensor.rank);
  def_.tensors.push_back(std::move(tensor));
  tensors_.push_back(state);
  return static_cast<TensorId>(def_.tensors.size()) - 1;
}

void DefResolver::declare_params() {
  // Names first: a dim may use a const that is declared after it.
  int position = 0;
  for (const ast::Param& param : source_.params) {
    if (param.is_const) {
      const int id = static_cast<int>(def_.consts.size());
      def_.consts.push_back({param.name.name, read_type(param.type.element), param.range});
      params_.push_back({true, id});
      declare(param.name, {Symbol::Kind::Const, id, {}, nullptr}, "const");
      if (!param.type.dims.empty())
        error("E0232", param.range, fmt::format("const '{}' must be a scalar", param.name.name));
      continue;
    }
    Tensor tensor;
    tensor.name = param.name.name;
    tensor.type = param.type.element;
    tensor.type_given = true;
    tensor.rank = static_cast<int>(param.type.dims.size());
    tensor.is_param = true;
    tensor.param_position = position++;
    tensor.range = param.range;
    TensorState state;
    state.has_type = state.has_rank = state.written = true;
    const TensorId id = add_tensor(std::move(tensor), state);
    params_.push_back({false, id});
    declare(param.name, {Symbol::Kind::Tensor, id, {}, nullptr}, "parameter");
  }
  for (std::size_t i = 0; i < source_.params.size(); ++i)
    if (!params_[i].is_const) param_dims(source_.params[i], params_[i].id);
}

void DefResolver::declare_returns() {
  if (source_.returns.empty())
    error("E0231", source_.name.range,
          fmt::format("def '{}' returns nothing; name its results after '->'", def_.name));
  std::vector<std::pair<const ast::Return*, TensorId>> annotated;
  for (const ast::Return& ret : source_.returns) {
    const Symbol* known = find_symbol(ret.name.name);
    TensorId id = -1;
    if (known && known->kind == Symbol::Kind::Tensor) {
      id = known->id;
      Tensor& tensor = def_.tensors[id];
      if (tensor.is_output) {
        error("E0202", ret.name.range, fmt::format("'{}' is returned twice", ret.name.name));
        continue;
      }
      // In place: the annotation may only repeat what the parameter says.
      if (ret.type && ret.type->element != tensor.type)
        error("E0248", ret.range,
              fmt::format("'{}' is updated in place: its type is {}, not {}", ret.name.name,
                          tc::name(tensor.type), tc::name(ret.type->element)));
    } else {
      Tensor tensor;
      tensor.name = ret.name.name;
      tensor.range = ret.range;
      TensorState state;
      if (ret.type) {
        tensor.type = ret.type->element;
        tensor.type_given = true;
        tensor.rank = static_cast<int>(ret.type->dims.size());
        state.has_type = state.has_rank = true;
      }
      id = add_tensor(std::move(tensor), state);
      if (!declare(ret.name, {Symbol::Kind::Tensor, id, {}, nullptr}, "output")) {
        tensors_[id].poisoned = true;
        misdeclared_outputs_.insert(ret.name.name);
      }
    }
    def_.tensors[id].is_output = true;
    def_.tensors[id].output_position = static_cast<int>(def_.outputs.size());
    def_.outputs.push_back(id);
    if (ret.type) annotated.emplace_back(&ret, id);
  }
  // Bare names of new sizes first, in all outputs: other dims may use them.
  for (const auto& [ret, id] : annotated)
    declare_bare_sizes(*ret, id);
  for (const auto& [ret, id] : annotated)
    return_dims(*ret, id);
}

void DefResolver::count_write(const ast::Ident& ident) {
  const Symbol* known = find_symbol(ident.name);
  if (known) {
    if (known->kind == Symbol::Kind::Tensor) ++tensors_[known->id].writes;
    return;
  }
  Tensor tensor;
  tensor.name = ident.name;
  tensor.range = ident.range;
  TensorState state;
  state.writes = 1;
  const TensorId id = add_tensor(std::move(tensor), state);
  declare(ident, {Symbol::Kind::Tensor, id, {}, nullptr}, "temporary");
}

/// Temporaries are in scope in the whole def, so every written name is known before any statement
/// is resolved.
void DefResolver::declare_written(const std::vector<ast::Stmt>& body) {
  for (const ast::Stmt& stmt : body) {
    if (const auto* comprehension = std::get_if<ast::Comprehension>(&stmt.node)) {
      count_write(comprehension->lhs.tensor);
    } else if (const auto* call = std::get_if<ast::CallStmt>(&stmt.node)) {
      for (const ast::Ident& result : call->results)
        count_write(result);
    } else {
      declare_written(std::get<ast::ForStmt>(stmt.node).body);
    }
  }
}

/// Ranks by first write; types of tensors that are the result of a call.
void DefResolver::shape_written(const std::vector<ast::Stmt>& body) {
  for (const ast::Stmt& stmt : body) {
    if (const auto* loop = std::get_if<ast::ForStmt>(&stmt.node)) {
      shape_written(loop->body);
      continue;
    }
    if (std::optional<Call> call = as_call(stmt)) {
      shape_by_call(std::move(*call), stmt);
      continue;
    }
    if (const auto* comprehension = std::get_if<ast::Comprehension>(&stmt.node))
      shape_by_access(comprehension->lhs);
  }
}

void DefResolver::shape_by_access(const ast::Lhs& lhs) {
  const Symbol* symbol = find_symbol(lhs.tensor.name);
  if (!symbol || symbol->kind != Symbol::Kind::Tensor || tensors_[symbol->id].has_rank) return;
  Tensor& tensor = def_.tensors[symbol->id];
  tensor.rank = static_cast<int>(lhs.subscripts.size());
  tensor.begin.resize(tensor.rank);
  tensor.extent.resize(tensor.rank);
  tensor.range = tensor.is_output ? tensor.range : lhs.range;
  tensors_[symbol->id].has_rank = true;
}

void DefResolver::shape_by_call(Call call, const ast::Stmt& stmt) {
  resolve_callee(call);
  call.direct.assign(call.results.size(), false);
  const auto is_argument = [&](const std::string& name) {
    for (const ast::ExprPtr& arg : *call.args)
      if (mentions_name(*arg, name)) return true;
    return false;
  };
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Symbol* symbol = find_symbol(call.results[i]->name);
    if (!symbol || symbol->kind != Symbol::Kind::Tensor) continue;
    Tensor& tensor = def_.tensors[symbol->id];
    TensorState& state = tensors_[symbol->id];
    if (!call.def || i >= call.def->def.outputs.size()) {
      if (!state.has_rank) state.poisoned = true;
      continue;
    }
    const Tensor& result = call.def->def.tensors[call.def->def.outputs[i]];
    if (!state.has_rank) {
      tensor.rank = result.rank;
      tensor.begin.resize(tensor.rank);
      tensor.extent.resize(tensor.rank);
      state.has_rank = true;
    }
    const bool same_form =
        tensor.rank == result.rank && (!state.has_type || tensor.type == result.type);
    if (tensor.is_param || state.writes != 1 || !same_form || is_argument(tensor.name)) continue;
    call.direct[i] = true;
    tensor.type = result.type;
    tensor.type_given = true;
    state.has_type = true;
    state.shifted =
        !result.is_param;  // an in-place result is a copy of the argument and begins at 0
  }
  calls_.emplace(&stmt, std::move(call));
}

void DefResolver::check_returns_written() {
  for (const ast::Return& ret : source_.returns) {
    const Symbol* symbol = find_symbol(ret.name.name);
    if (!symbol || symbol->kind != Symbol::Kind::Tensor) continue;
    if (def_.tensors[symbol->id].is_param || tensors_[symbol->id].writes > 0) continue;
    error("E0207", ret.name.range,
          fmt::format("no statement writes the output '{}'", ret.name.name));
    tensors_[symbol->id].poisoned = true;
  }
}

}  // namespace tc::lang
