// SPDX-License-Identifier: Apache-2.0
//
// Statements: comprehensions and `for`.
#include <fmt/format.h>

#include "tc/lang/print_ast.h"
#include "tc/lang/resolver.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

std::optional<ReduceOp> reduce_op(ast::AssignOp op) {
  switch (op) {
  case ast::AssignOp::Assign: return std::nullopt;
  case ast::AssignOp::Add: return ReduceOp::Add;
  case ast::AssignOp::Mul: return ReduceOp::Mul;
  case ast::AssignOp::Min: return ReduceOp::Min;
  case ast::AssignOp::Max: return ReduceOp::Max;
  case ast::AssignOp::ArgMin: return ReduceOp::ArgMin;
  case ast::AssignOp::ArgMax: return ReduceOp::ArgMax;
  }
  unreachable("AssignOp");
}

bool is_arg(ast::AssignOp op) {
  return op == ast::AssignOp::ArgMin || op == ast::AssignOp::ArgMax;
}

bool sums(ast::AssignOp op) {
  return op == ast::AssignOp::Add || op == ast::AssignOp::Mul;
}

}  // namespace

void DefResolver::resolve_stmts(const std::vector<ast::Stmt>& stmts) {
  for (const ast::Stmt& stmt : stmts) {
    if (const auto found = calls_.find(&stmt); found != calls_.end()) {
      if (finding_types_)
        contribute_results(found->second);
      else
        inline_call(stmt, found->second);
      continue;
    }
    if (const auto* loop = std::get_if<ast::ForStmt>(&stmt.node)) {
      for_loop(stmt, *loop);
      continue;
    }
    comprehension(stmt, std::get<ast::Comprehension>(stmt.node));
  }
}

void DefResolver::mark_incomplete(const std::vector<Node>& body) {
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<Statement>(&node))
      tensors_[statement->tensor].incomplete = true;
    else
      mark_incomplete(std::get<std::shared_ptr<const ForLoop>>(node)->body);
  }
}

void DefResolver::for_loop(const ast::Stmt& stmt, const ast::ForStmt& source) {
  const std::string& name = source.var.name;
  if (const std::string what = describe_name(name); !what.empty()) {
    error("E0204", source.var.range,
          fmt::format("'for' variable '{}' has the name of {}; rename it", name, what))
        .notes.push_back({place_of(name), "declared here"});
  }
  if (!finding_types_) warn_builtin(source.var, "'for' variable");
  ForLoop loop;
  loop.name = name;
  loop.range = stmt.range;
  loop.lo = bound(*source.begin, fmt::format("the begin of '{}'", name));
  loop.hi = bound(*source.end, fmt::format("the end of '{}'", name));
  for (const ExprPtr& end : {loop.lo, loop.hi})
    if (end && !finding_types_) check_address(end);
  loop.var = next_loop_++;
  std::vector<Node>* const outer = out_;
  out_ = &loop.body;
  loops_.push_back({name, loop.var, source.var.range});
  resolve_stmts(source.body);
  loops_.pop_back();
  out_ = outer;
  if (loop.lo && loop.hi) {
    out_->push_back(std::make_shared<const ForLoop>(std::move(loop)));
    return;
  }
  // Without its bounds the loop is left out, and with it what its statements write.
  mark_incomplete(loop.body);
}

/// The tensor on the left; -1 after an error.
TensorId DefResolver::target_of(const ast::Ident& ident) {
  if (const LoopScope* loop = find_loop(ident.name)) {
    error("E0209", ident.range, fmt::format("'for' variable '{}' cannot be assigned", ident.name))
        .notes.push_back({loop->range, "declared here"});
    return -1;
  }
  const Symbol* symbol = find_symbol(ident.name);
  check(symbol != nullptr, "every written name is declared");
  if (symbol->kind != Symbol::Kind::Tensor) {
    if (misdeclared_outputs_.count(ident.name)) return -1;  // E0202 has been given
    error("E0209", ident.range,
          fmt::format("{} cannot be assigned: it is no tensor", describe_name(ident.name)))
        .notes.push_back({symbol->range, "declared here"});
    return -1;
  }
  const Tensor& tensor = def_.tensors[symbol->id];
  if (tensor.is_param && !tensor.is_output) {
    error("E0208", ident.range,
          fmt::format("parameter '{}' is read-only; return '{}' to update it in place", ident.name,
                      ident.name))
        .notes.push_back({symbol->range, "declared here"});
    return -1;
  }
  return symbol->id;
}

void DefResolver::declare_lets(const std::vector<ast::Clause>& where) {
  for (const ast::Clause& clause : where) {
    const auto* let = std::get_if<ast::LetClause>(&clause.node);
    if (!let) continue;
    const std::string& name = let->name.name;
    if (const std::string what = describe_name(name); !what.empty()) {
      error("E0204", let->name.range,
            fmt::format("let '{}' has the name of {}; rename it", name, what))
          .notes.push_back({place_of(name), "declared here"});
      continue;
    }
    if (!finding_types_) warn_builtin(let->name, "let");
    LetState state;
    state.clause = let;
    scope_->let_of[name] = static_cast<int>(scope_->lets.size());
    scope_->lets.push_back(std::move(state));
  }
}

/// A bare name as a left subscript declares an index variable, unless it is a `for` variable or a
/// const.
ExprPtr DefResolver::left_name(const ast::Ident& ident, const std::string& what) {
  const Symbol* symbol = find_symbol(ident.name);
  const bool hidden = find_let(ident.name) >= 0 || (symbol && symbol->kind != Symbol::Kind::Const);
  if (hidden && !find_loop(ident.name)) {
    if (const int let = find_let(ident.name); let >= 0) scope_->lets[let].used = true;
    error("E0203", ident.range,
          fmt::format(
              "index '{}' has the name of {}; rename the index, or write '{}+0' for that position",
              ident.name, describe_name(ident.name), ident.name))
        .notes.push_back({place_of(ident.name), "declared here"});
    return nullptr;
  }
  return typing_.integral(name(ident.name, ident.range), what);
}

void DefResolver::left_side(const ast::Lhs& lhs, TensorId target, Statement& out) {
  for (std::size_t d = 0; d < lhs.subscripts.size(); ++d) {
    const ast::Expr& subscript = *lhs.subscripts[d];
    const std::string what = fmt::format("subscript {} of '{}'", d, lhs.tensor.name);
    const auto* bare = std::get_if<ast::Name>(&subscript.node);
    out.subscripts.push_back(bare ? left_name({bare->name, subscript.range}, what)
                                  : typing_.integral(resolve(subscript), what));
    scope_->poisoned = scope_->poisoned || !out.subscripts.back();
  }
  if (target < 0 || !tensors_[target].has_rank) return;
  const Tensor& tensor = def_.tensors[target];
  const std::size_t given = lhs.subscripts.size();
  if (static_cast<int>(given) == tensor.rank) return;
  error("E0212", lhs.range,
        fmt::format("tensor '{}' has {} dimension{}, {} subscript{} given", tensor.name,
                    tensor.rank, tensor.rank == 1 ? "" : "s", given, given == 1 ? "" : "s"))
      .notes.push_back({tensor.range, tensor.is_param || tensor.type_given ? "declared here"
                                                                           : "first written here"});
}

void DefResolver::range_variable(const ast::RangeClause& clause, SourceRange range,
                                 std::vector<const ast::RangeClause*>& ranges) {
  const std::string& name = clause.var.name;
  if (const std::string what = describe_name(name); !what.empty()) {
    error("E0204", clause.var.range,
          fmt::format("the range is for an index, but '{}' is {}", name, what))
        .notes.push_back({place_of(name), "declared here"});
    return;
  }
  int index = find_index(name);
  if (index < 0) index = new_index(name, clause.var.range);
  for (const ast::RangeClause* other : ranges) {
    if (other->var.name != name) continue;
    error("E0222", range, fmt::format("index '{}' has two ranges", name))
        .notes.push_back({other->var.range, "first range here"});
    return;
  }
  scope_->indices[index].given = true;
  ranges.push_back(&clause);
}

namespace {

/// `a && b` cuts the domain as two conditions do.
void split_conditions(const ExprPtr& condition, std::vector<ExprPtr>& out) {
  const auto* binary = std::get_if<Binary>(&condition->node);
  if (binary && binary->op == BinaryOp::And) {
    split_conditions(binary->left, out);
    split_conditions(binary->right, out);
    return;
  }
  const auto* constant = std::get_if<IntConst>(&condition->node);
  if (!constant || constant->value == 0) out.push_back(condition);
}

}  // namespace

void DefResolver::condition_clause(const ast::Expr& source, Statement& out) {
  const Operand operand = resolve(source);
  if (operand.is(Operand::Kind::Pending)) return;
  const ExprPtr condition = typing_.condition(operand, "a condition in 'where'");
  if (!condition) {
    scope_->poisoned = true;
    return;
  }
  if (contains_read(condition)) {
    error("E0225", source.range,
          "a condition in 'where' that depends on data; use 'condition ? value : other' instead");
    return;
  }
  split_conditions(condition, out.conditions);
}

/// Everything in `where` but the bounds, in textual order; bounds come after, since they may name
/// any index of the statement.
void DefResolver::first_clauses(const std::vector<ast::Clause>& where,
                                std::vector<const ast::RangeClause*>& ranges, Statement& out) {
  for (const ast::Clause& clause : where) {
    std::visit(
        Overloaded{
            [&](const ast::RangeClause& range) { range_variable(range, clause.range, ranges); },
            [](const ast::LetClause&) {},
            [&](const ast::ExistsClause& exists) {
              const Operand operand = resolve(*exists.value);
              if (operand.is(Operand::Kind::Typed)) out.exists.push_back(operand.expr);
              scope_->poisoned = scope_->poisoned || operand.is(Operand::Kind::Poison);
            },
            [&](const ast::ConditionClause& condition) {
              condition_clause(*condition.condition, out);
            },
        },
        clause.node);
  }
}

/// An end of a range: over sizes, consts, `for` variables and indices that are in scope already;
/// null after an error.
ExprPtr DefResolver::bound(const ast::Expr& expr, const std::string& what) {
  const NewName before = new_name_;
  new_name_ = NewName::Error;
  const Operand operand = resolve(expr);
  new_name_ = before;
  if (operand.is(Operand::Kind::Pending)) return make_int(0);
  const ExprPtr value = typing_.integral(operand, what);
  if (!value || !contains_read(value)) return value;
  error("E0224", expr.range,
        fmt::format(
            "{} depends on data; a bound is over sizes, const scalars, 'for' variables and indices",
            what));
  return nullptr;
}

void DefResolver::bounds(const std::vector<const ast::RangeClause*>& ranges) {
  for (const ast::RangeClause* clause : ranges) {
    const ExprPtr lo = bound(*clause->begin, fmt::format("the begin of '{}'", clause->var.name));
    const ExprPtr hi = bound(*clause->end, fmt::format("the end of '{}'", clause->var.name));
    Index& index = scope_->indices[find_index(clause->var.name)];
    index.lo = lo;
    index.hi = hi;
    scope_->poisoned = scope_->poisoned || !lo || !hi;
  }
}

/// A let that nothing uses is checked, but constrains nothing: its indices do not become the
/// statement's.
void DefResolver::unused_lets() {
  if (finding_types_) return;
  const std::size_t indices = scope_->indices.size();
  const std::map<std::string, int> index_of = scope_->index_of;
  std::vector<int> unused;
  for (std::size_t i = 0; i < scope_->lets.size(); ++i)
    if (!scope_->lets[i].used) unused.push_back(static_cast<int>(i));
  for (const int let : unused) {
    const ast::Ident& name = scope_->lets[let].clause->name;
    warning("W0202", name.range,
            fmt::format("let '{}' is not used; it constrains nothing", name.name));
    let_value(let, name.range);
  }
  scope_->indices.resize(indices);
  scope_->index_of = index_of;
}

/// `<=> f(...)` is checked and changes nothing.
void DefResolver::equivalent(const ast::Equivalent& equivalent) {
  const std::vector<Index> indices = scope_->indices;
  const std::map<std::string, int> index_of = scope_->index_of;
  for (const ast::ExprPtr& arg : equivalent.args) {
    const auto* bare = std::get_if<ast::Name>(&arg->node);
    const Symbol* symbol = bare && find_let(bare->name) < 0 && !find_loop(bare->name)
                               ? find_symbol(bare->name)
                               : nullptr;
    if (symbol && symbol->kind == Symbol::Kind::Tensor) continue;  // a whole tensor
    resolve(*arg);
  }
  scope_->indices = indices;
  scope_->index_of = index_of;
  const std::string& name = equivalent.callee.name;
  if (!program_.has(name)) {
    warning("W0204", equivalent.callee.range,
            fmt::format("nothing is known about '{}', so the equivalence is not checked", name));
    return;
  }
  const std::size_t expected = program_.source(name).params.size();
  if (equivalent.args.size() == expected) return;
  error("E0214", equivalent.callee.range,
        fmt::format("def '{}' takes {} argument{}, {} given", name, expected,
                    expected == 1 ? "" : "s", equivalent.args.size()))
      .notes.push_back({program_.source(name).name.range, "defined here"});
}

/// What a right-hand side adds to the type of an inferred tensor.
DType DefResolver::contribution(const Operand& value, ast::AssignOp op) const {
  if (is_arg(op)) return DType::Int32;
  const DType type = Typing::own_type(value);
  const bool narrow = type == DType::Bool || (is_integer(type) && bits(type) < 32);
  return sums(op) && narrow ? DType::Int32 : type;
}

void DefResolver::contribute(TensorId target, DType type, SourceRange range) {
  Tensor& tensor = def_.tensors[target];
  TensorState& state = tensors_[target];
  if (tensor.type_given) return;
  const std::optional<DType> joined = state.has_type ? promote(tensor.type, type) : type;
  if (!joined) {
    error("E0241", range,
          fmt::format("'{}' holds {} by another statement, {} by this one, and no type holds both; "
                      "cast one of them",
                      tensor.name, tc::name(tensor.type), tc::name(type)));
    return;
  }
  if (state.has_type && *joined == tensor.type) return;
  tensor.type = *joined;
  state.has_type = true;
  type_changed_ = true;
}

/// Value, accumulator and position, once the statement is otherwise complete.
void DefResolver::finish_value(const ast::Comprehension& source, const Operand& value,
                               Statement& out) {
  const DType stored = def_.tensors[out.tensor].type;
  const bool literal = value.is(Operand::Kind::Literal);
  const bool fits = literal && Typing::literal_fits(value.literal, stored);
  const DType own = Typing::own_type(value);
  out.op = reduce_op(source.op);
  out.init = source.init;
  if (!out.op) {
    // A literal is rounded once, to the type that it is stored in.
    out.value = fits ? typing_.cast(stored, value, value.range).expr : typing_.coerce(value, own);
    return;
  }
  if (is_arg(source.op)) {
    out.value = typing_.coerce(value, own);
    out.accumulator = out.value->type;
    std::vector<int> axes;
    for (std::size_t i = 0; i < out.indices.size(); ++i)
      if (!out.indices[i].on_left) axes.push_back(static_cast<int>(i));
    // Over several axes the position needs the ranges: set_positions() builds it after inference.
    if (axes.size() == 1)
      out.position = make_index(axes[0], DType::Int32, out.indices[axes[0]].range);
    return;
  }
  out.accumulator = compute_type(stored);
  if (stored == DType::Bool && sums(source.op)) out.accumulator = DType::Int32;
  const DType given = fits && is_float(out.accumulator) ? out.accumulator : own;
  out.value = make_cast(out.accumulator, typing_.coerce(value, given), value.range);
}

void DefResolver::emit(Statement statement) {
  statement.id = next_statement_++;
  tensors_[statement.tensor].written = true;
  out_->push_back(std::move(statement));
}

void DefResolver::comprehension(const ast::Stmt& stmt, const ast::Comprehension& source) {
  const std::size_t before = message_count();
  StatementScope scope;
  StatementScope* const outer_scope = scope_;
  scope_ = &scope;
  const NewName outer_names = new_name_;
  new_name_ = NewName::Index;
  Statement out;
  out.range = stmt.range;
  out.tensor = target_of(source.lhs.tensor);
  declare_lets(source.where);
  left_side(source.lhs, out.tensor, out);
  const bool left_failed = errors_since(before) || scope.poisoned;
  const Operand value = resolve(*source.value);
  std::vector<const ast::RangeClause*> ranges;
  first_clauses(source.where, ranges, out);
  bounds(ranges);
  unused_lets();
  if (source.equivalent && !finding_types_) equivalent(*source.equivalent);
  new_name_ = outer_names;
  scope_ = outer_scope;

  out.indices = std::move(scope.indices);
  for (const ExprPtr& subscript : out.subscripts)
    walk(subscript, [&](const Expr& node) {
      if (const auto* index = std::get_if<IndexRef>(&node.node))
        out.indices[index->index].on_left = true;
    });
  const bool has_value = value.is(Operand::Kind::Literal) || value.is(Operand::Kind::Typed);
  if (finding_types_) {
    if (out.tensor >= 0 && has_value)
      contribute(out.tensor, contribution(value, source.op), source.value->range);
    return;
  }
  if (!left_failed) check_reduction(source, out);  // otherwise an index of the left may be missing
  if (out.tensor >= 0 && has_value && !def_.tensors[out.tensor].type_given)
    contribute(out.tensor, contribution(value, source.op), source.value->range);
  if (errors_since(before) || scope.poisoned || !has_value || out.tensor < 0 ||
      tensors_[out.tensor].poisoned) {
    if (out.tensor >= 0)
      tensors_[out.tensor].written = tensors_[out.tensor].incomplete =
          true;  // one error is enough for what reads it
    return;
  }
  out.text = format(stmt);
  finish_value(source, value, out);
  check_statement(source, out);
  check_accumulation(source, out);
  if (!errors_since(before))
    emit(std::move(out));
  else
    tensors_[out.tensor].written = tensors_[out.tensor].incomplete = true;
}

}  // namespace tc::lang
