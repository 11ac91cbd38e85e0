// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/batch.h"

#include <algorithm>
#include <functional>
#include <set>

#include "tc/support/check.h"

namespace tc::lang {

namespace {

using Names = std::set<std::string>;

ast::ExprPtr make(SourceRange range, decltype(ast::Expr::node) node) {
  return std::make_shared<const ast::Expr>(ast::Expr{range, std::move(node)});
}

/// Rebuilds an expression bottom-up; `f` sees each node with its children already rebuilt.
ast::ExprPtr rebuild(const ast::ExprPtr& expr,
                     const std::function<ast::ExprPtr(const ast::ExprPtr&)>& f) {
  const auto all = [&](const std::vector<ast::ExprPtr>& list) {
    std::vector<ast::ExprPtr> result;
    for (const ast::ExprPtr& entry : list)
      result.push_back(rebuild(entry, f));
    return result;
  };
  decltype(ast::Expr::node) node = expr->node;
  std::visit(Overloaded{
                 [](ast::Literal&) {},
                 [](ast::Name&) {},
                 [](ast::DimRead&) {},
                 [&](ast::Apply& n) { n.args = all(n.args); },
                 [&](ast::Unary& n) { n.operand = rebuild(n.operand, f); },
                 [&](ast::Binary& n) {
                   n.left = rebuild(n.left, f);
                   n.right = rebuild(n.right, f);
                 },
                 [&](ast::Ternary& n) {
                   n.condition = rebuild(n.condition, f);
                   n.if_true = rebuild(n.if_true, f);
                   n.if_false = rebuild(n.if_false, f);
                 },
                 [&](ast::MinMax& n) { n.args = all(n.args); },
                 [&](ast::Pad& n) {
                   n.read = rebuild(n.read, f);
                   n.value = rebuild(n.value, f);
                 },
             },
             node);
  return f(make(expr->range, std::move(node)));
}

/// Every expression of a statement, where it stands.
void for_each_expr(ast::Comprehension& statement, const std::function<void(ast::ExprPtr&)>& f) {
  for (ast::ExprPtr& subscript : statement.lhs.subscripts)
    f(subscript);
  f(statement.value);
  for (ast::Clause& clause : statement.where) {
    std::visit(Overloaded{
                   [&](ast::RangeClause& c) {
                     f(c.begin);
                     f(c.end);
                   },
                   [&](ast::LetClause& c) { f(c.value); },
                   [&](ast::ExistsClause& c) { f(c.value); },
                   [&](ast::ConditionClause& c) { f(c.condition); },
               },
               clause.node);
  }
}

class Rewriter {
public:
  Rewriter(const ast::Def& def, std::string& reason) : def_(def), reason_(reason) {}

  std::optional<Batched> run(const std::vector<bool>& parameters) {
    collect_names();
    std::size_t position = 0;
    for (const ast::Param& param : def_.params) {
      if (!param.is_const && parameters.at(position++)) batched_.insert(param.name.name);
    }
    if (!find_dependents(def_.body)) return std::nullopt;
    for (const ast::Param& param : def_.params) {
      if (written_.count(param.name.name) == 0 || batched_.count(param.name.name) == 0) continue;
      if (marked(param.name.name, parameters)) continue;
      reason_ = "'" + param.name.name +
                "' is updated in place with values of a batch and has none itself";
      return std::nullopt;
    }
    index_ = fresh("batch");
    size_ = fresh("BATCH");
    Batched result;
    result.program.defs.push_back(rewrite_def());
    for (const ast::Return& output : def_.returns)
      result.results.push_back(batched_.count(output.name.name) != 0);
    return result;
  }

private:
  bool marked(const std::string& name, const std::vector<bool>& parameters) const {
    std::size_t position = 0;
    for (const ast::Param& param : def_.params) {
      if (param.is_const) continue;
      if (param.name.name == name) return parameters.at(position);
      ++position;
    }
    return false;
  }

  /// A name that occurs nowhere in the def.
  std::string fresh(std::string name) const {
    while (names_.count(name) != 0)
      name += "_";
    return name;
  }

  void note(const ast::ExprPtr& expr) {
    rebuild(expr, [&](const ast::ExprPtr& node) {
      std::visit(Overloaded{
                     [&](const ast::Name& n) { names_.insert(n.name); },
                     [&](const ast::DimRead& n) { names_.insert(n.tensor.name); },
                     [&](const ast::Apply& n) { names_.insert(n.callee.name); },
                     [](const auto&) {},
                 },
                 node->node);
      return node;
    });
  }

  void note_body(const std::vector<ast::Stmt>& body) {
    for (const ast::Stmt& statement : body) {
      if (const auto* loop = std::get_if<ast::ForStmt>(&statement.node)) {
        names_.insert(loop->var.name);
        note(loop->begin);
        note(loop->end);
        note_body(loop->body);
      } else if (const auto* written = std::get_if<ast::Comprehension>(&statement.node)) {
        names_.insert(written->lhs.tensor.name);
        written_.insert(written->lhs.tensor.name);
        ast::Comprehension copy = *written;
        for_each_expr(copy, [&](ast::ExprPtr& expr) { note(expr); });
        for (const ast::Clause& clause : written->where) {
          if (const auto* range = std::get_if<ast::RangeClause>(&clause.node))
            names_.insert(range->var.name);
          if (const auto* let = std::get_if<ast::LetClause>(&clause.node))
            names_.insert(let->name.name);
        }
      }
    }
  }

  void collect_names() {
    for (const ast::Param& param : def_.params) {
      names_.insert(param.name.name);
      tensors_.insert(param.name.name);
      for (const ast::ExprPtr& dim : param.type.dims)
        note(dim);
    }
    for (const ast::Return& output : def_.returns) {
      names_.insert(output.name.name);
      for (std::size_t d = 0; output.type && d < output.type->dims.size(); ++d)
        note(output.type->dims[d]);
    }
    note_body(def_.body);
    tensors_.insert(written_.begin(), written_.end());
  }

  bool reads_batched(const ast::Comprehension& statement) const {
    bool found = false;
    ast::Comprehension copy = statement;
    for_each_expr(copy, [&](ast::ExprPtr& expr) {
      rebuild(expr, [&](const ast::ExprPtr& node) {
        if (const auto* read = std::get_if<ast::Apply>(&node->node))
          found = found || (!read->cast_to && batched_.count(read->callee.name) != 0);
        if (const auto* scalar = std::get_if<ast::Name>(&node->node))
          found = found || batched_.count(scalar->name) != 0;
        return node;
      });
    });
    return found;
  }

  /// `y = f(x)` where f is neither a tensor nor a builtin of one argument cannot be told from a
  /// call here, so that the shape of a call counts as one only for names that are no tensors.
  bool may_be_call(const ast::Comprehension& statement) const {
    const auto* apply = std::get_if<ast::Apply>(&statement.value->node);
    return !statement.lhs.has_parentheses && apply != nullptr && !apply->cast_to &&
           statement.op == ast::AssignOp::Assign && tensors_.count(apply->callee.name) == 0;
  }

  /// Grows the set of batched tensors until it is closed under "is computed from".
  bool find_dependents(const std::vector<ast::Stmt>& body) {
    std::size_t before = 0;
    do {
      before = batched_.size();
      if (!visit(body)) return false;
    } while (batched_.size() != before);
    return true;
  }

  bool visit(const std::vector<ast::Stmt>& body) {
    for (const ast::Stmt& statement : body) {
      if (const auto* loop = std::get_if<ast::ForStmt>(&statement.node)) {
        if (!visit(loop->body)) return false;
        continue;
      }
      const auto* written = std::get_if<ast::Comprehension>(&statement.node);
      if (written == nullptr || may_be_call(*written)) {
        reason_ = "'" + def_.name.name + "' calls another def";
        return false;
      }
      if (reads_batched(*written)) batched_.insert(written->lhs.tensor.name);
    }
    return true;
  }

  ast::ExprPtr index(SourceRange range) const { return make(range, ast::Name{index_}); }

  ast::ExprPtr rewrite(const ast::ExprPtr& expr) const {
    return rebuild(expr, [&](const ast::ExprPtr& node) -> ast::ExprPtr {
      if (const auto* read = std::get_if<ast::Apply>(&node->node)) {
        if (read->cast_to || batched_.count(read->callee.name) == 0) return node;
        ast::Apply longer = *read;
        longer.args.insert(longer.args.begin(), index(node->range));
        return make(node->range, std::move(longer));
      }
      if (const auto* scalar = std::get_if<ast::Name>(&node->node)) {
        if (batched_.count(scalar->name) == 0) return node;
        return make(node->range,
                    ast::Apply{{scalar->name, node->range}, std::nullopt, {index(node->range)}});
      }
      if (const auto* dim = std::get_if<ast::DimRead>(&node->node)) {
        if (batched_.count(dim->tensor.name) == 0) return node;
        return make(node->range, ast::DimRead{dim->tensor, dim->dim + 1});
      }
      return node;
    });
  }

  ast::Stmt rewrite(const ast::Stmt& statement) const {
    ast::Stmt result = statement;
    if (auto* loop = std::get_if<ast::ForStmt>(&result.node)) {
      loop->begin = rewrite(loop->begin);
      loop->end = rewrite(loop->end);
      for (ast::Stmt& inner : loop->body)
        inner = rewrite(inner);
      return result;
    }
    auto& written = std::get<ast::Comprehension>(result.node);
    for_each_expr(written, [&](ast::ExprPtr& expr) { expr = rewrite(expr); });
    // What an operation is equivalent to holds for one element of the batch.
    written.equivalent.reset();
    if (batched_.count(written.lhs.tensor.name) == 0) return result;
    const SourceRange range = written.lhs.range;
    written.lhs.has_parentheses = true;
    written.lhs.subscripts.insert(written.lhs.subscripts.begin(), index(range));
    ast::Literal zero{ast::Literal::Kind::Int, "0", 0, 0, false};
    written.where.push_back(
        {range,
         ast::RangeClause{{index_, range}, make(range, zero), make(range, ast::Name{size_})}});
    return result;
  }

  void add_dim(ast::Type& type) const {
    type.dims.insert(type.dims.begin(), make(type.range, ast::Name{size_}));
  }

  ast::Def rewrite_def() const {
    ast::Def def = def_;
    for (ast::Param& param : def.params) {
      if (!param.is_const && batched_.count(param.name.name) != 0) add_dim(param.type);
    }
    for (ast::Return& output : def.returns) {
      if (output.type && batched_.count(output.name.name) != 0) add_dim(*output.type);
    }
    for (ast::Stmt& statement : def.body)
      statement = rewrite(statement);
    return def;
  }

  const ast::Def& def_;
  std::string& reason_;
  Names names_, tensors_, written_, batched_;
  std::string index_, size_;
};

}  // namespace

std::optional<Batched> batch(const ast::Def& def, const std::vector<bool>& parameters,
                             std::string& reason) {
  return Rewriter(def, reason).run(parameters);
}

}  // namespace tc::lang
