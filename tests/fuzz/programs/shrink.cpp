// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"
#include "tc/support/check.h"
#include "worker.h"

namespace tc::fuzz {

namespace ast = lang::ast;

namespace {

using Clock = std::chrono::steady_clock;

std::optional<ast::Program> parse(const std::string& text) {
  DiagnosticSink sink;
  const SourceBuffer source("<text>", text);
  ast::Program program = lang::parse(source, sink);
  program.comments.clear();
  if (sink.has_errors()) return std::nullopt;
  return program;
}

ast::ExprPtr integer(std::uint64_t value) {
  ast::Literal literal{ast::Literal::Kind::Int, std::to_string(value), value};
  return std::make_shared<const ast::Expr>(ast::Expr{{}, std::move(literal)});
}

/// Visits every expression of a statement that may be replaced; `f` returns true once it replaced
/// one, which ends the visit.
using Replace = std::function<bool(ast::ExprPtr&)>;

bool visit_children(ast::ExprPtr& expr, const Replace& f);

bool visit(ast::ExprPtr& expr, const Replace& f) {
  return f(expr) || visit_children(expr, f);
}

bool visit_list(std::vector<ast::ExprPtr>& list, const Replace& f) {
  return std::any_of(list.begin(), list.end(), [&](ast::ExprPtr& expr) { return visit(expr, f); });
}

bool visit_children(ast::ExprPtr& expr, const Replace& f) {
  ast::Expr copy = *expr;
  const bool changed = std::visit(
      Overloaded{[&](ast::Apply& e) { return visit_list(e.args, f); },
                 [&](ast::MinMax& e) { return visit_list(e.args, f); },
                 [&](ast::Unary& e) { return visit(e.operand, f); },
                 [&](ast::Binary& e) { return visit(e.left, f) || visit(e.right, f); },
                 [&](ast::Ternary& e) {
                   return visit(e.condition, f) || visit(e.if_true, f) || visit(e.if_false, f);
                 },
                 [&](ast::Pad& e) { return visit(e.read, f) || visit(e.value, f); },
                 [](auto&) { return false; }},
      copy.node);
  if (changed) expr = std::make_shared<const ast::Expr>(std::move(copy));
  return changed;
}

bool visit_clause(ast::Clause& clause, const Replace& f) {
  return std::visit(
      Overloaded{[&](ast::RangeClause& c) { return visit(c.begin, f) || visit(c.end, f); },
                 [&](ast::LetClause& c) { return visit(c.value, f); },
                 [&](ast::ExistsClause& c) { return visit(c.value, f); },
                 [&](ast::ConditionClause& c) { return visit(c.condition, f); }},
      clause.node);
}

bool visit_statement(ast::Stmt& stmt, const Replace& f) {
  return std::visit(
      Overloaded{[&](ast::Comprehension& s) {
                   if (visit(s.value, f) || visit_list(s.lhs.subscripts, f)) return true;
                   return std::any_of(s.where.begin(), s.where.end(),
                                      [&](ast::Clause& clause) { return visit_clause(clause, f); });
                 },
                 [&](ast::CallStmt& s) { return visit_list(s.args, f); },
                 [&](ast::ForStmt& s) {
                   if (visit(s.begin, f) || visit(s.end, f)) return true;
                   return std::any_of(s.body.begin(), s.body.end(),
                                      [&](ast::Stmt& inner) { return visit_statement(inner, f); });
                 }},
      stmt.node);
}

/// What an expression may become: its parts, then plain numbers.
std::vector<ast::ExprPtr> simpler(const ast::Expr& expr) {
  std::vector<ast::ExprPtr> result = std::visit(
      Overloaded{[](const ast::Apply& e) { return e.args; },
                 [](const ast::MinMax& e) { return e.args; },
                 [](const ast::Unary& e) { return std::vector{e.operand}; },
                 [](const ast::Binary& e) { return std::vector{e.left, e.right}; },
                 [](const ast::Ternary& e) { return std::vector{e.if_true, e.if_false}; },
                 [](const ast::Pad& e) { return std::vector{e.read}; },
                 [](const auto&) { return std::vector<ast::ExprPtr>{}; }},
      expr.node);
  const auto* literal = std::get_if<ast::Literal>(&expr.node);
  if (literal == nullptr) result.push_back(integer(1));
  if (literal == nullptr || literal->kind != ast::Literal::Kind::Int || literal->int_value > 1)
    result.push_back(integer(0));
  return result;
}

/// Calls `f` on every list of statements of a program.
void for_each_body(ast::Program& program, const std::function<void(std::vector<ast::Stmt>&)>& f) {
  const std::function<void(std::vector<ast::Stmt>&)> walk = [&](std::vector<ast::Stmt>& body) {
    f(body);
    for (ast::Stmt& stmt : body) {
      if (auto* loop = std::get_if<ast::ForStmt>(&stmt.node)) walk(loop->body);
    }
  };
  for (ast::Def& def : program.defs)
    walk(def.body);
}

class Shrinker {
public:
  Shrinker(const Case& experiment, const Outcome& outcome, int seconds)
      : best_(experiment), property_(outcome.property),
        end_(Clock::now() + std::chrono::seconds(seconds)) {
    if (outcome.failed_options >= 0 && best_.options.size() > 1)
      best_.options = {best_.options[static_cast<std::size_t>(outcome.failed_options)]};
  }

  Case run() {
    if (!still_fails(best_)) return best_;
    while (!late()) {
      bool progress = false;
      for (const auto step :
           {&Shrinker::drop_defs, &Shrinker::drop_statements, &Shrinker::drop_parts,
            &Shrinker::plain_memory, &Shrinker::plain_options, &Shrinker::simplify_expressions,
            &Shrinker::smaller_sizes, &Shrinker::drop_values})
        progress = (this->*step)() || progress;
      if (!progress) break;
    }
    return best_;
  }

private:
  bool late() const { return Clock::now() >= end_; }

  bool still_fails(const Case& candidate) {
    constexpr std::int64_t kSeconds = 60;
    const std::int64_t left =
        std::chrono::duration_cast<std::chrono::seconds>(end_ - Clock::now()).count();
    const Outcome outcome =
        run_isolated(candidate, static_cast<int>(std::clamp<std::int64_t>(left, 1, kSeconds)));
    return outcome.verdict == Verdict::Failed && outcome.property == property_;
  }

  bool accept(const Case& candidate) {
    if (late() || !still_fails(candidate)) return false;
    best_ = candidate;
    return true;
  }

  /// Tries variants of the program: `change(program, n)` makes the n-th one and returns false when
  /// there are no more.
  bool try_programs(const std::function<bool(ast::Program&, std::size_t)>& change) {
    bool progress = false;
    for (std::size_t n = 0; !late();) {
      auto program = parse(best_.text);
      if (!program || !change(*program, n)) break;
      Case candidate = best_;
      candidate.text = lang::format(*program);
      if (candidate.text != best_.text && accept(candidate)) {
        progress = true;
      } else {
        ++n;
      }
    }
    return progress;
  }

  bool drop_defs() {
    return try_programs([&](ast::Program& program, std::size_t n) {
      if (n >= program.defs.size()) return false;
      if (program.defs[n].name.name != best_.def)
        program.defs.erase(program.defs.begin() + static_cast<std::ptrdiff_t>(n));
      return true;
    });
  }

  /// Statements, and loops around statements.
  bool drop_statements() {
    return try_programs([](ast::Program& program, std::size_t n) {
      std::size_t at = 0;
      bool changed = false;
      for_each_body(program, [&](std::vector<ast::Stmt>& body) {
        for (std::size_t i = 0; i < body.size() && !changed; ++i, at += 2) {
          if (at == n) {
            body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
            changed = true;
          } else if (at + 1 == n) {
            if (const auto* loop = std::get_if<ast::ForStmt>(&body[i].node)) {
              std::vector<ast::Stmt> inner = loop->body;
              body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
              body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), inner.begin(),
                          inner.end());
            }
            changed = true;
          }
        }
      });
      return changed;
    });
  }

  /// Clauses, equivalences, results, annotations, parameters.
  bool drop_parts() {
    return try_programs([](ast::Program& program, std::size_t n) {
      std::size_t at = 0;
      bool changed = false;
      const auto turn = [&] { return !changed && at++ == n ? (changed = true) : false; };
      for_each_body(program, [&](std::vector<ast::Stmt>& body) {
        for (ast::Stmt& stmt : body) {
          auto* s = std::get_if<ast::Comprehension>(&stmt.node);
          if (s == nullptr) continue;
          if (s->equivalent && turn()) s->equivalent.reset();
          for (std::size_t i = 0; i < s->where.size() && !changed; ++i) {
            if (turn()) s->where.erase(s->where.begin() + static_cast<std::ptrdiff_t>(i));
          }
        }
      });
      for (ast::Def& def : program.defs) {
        for (std::size_t i = 0; i < def.returns.size() && !changed; ++i) {
          if (def.returns[i].type && turn()) def.returns[i].type.reset();
          if (def.returns.size() > 1 && turn())
            def.returns.erase(def.returns.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (std::size_t i = 0; i < def.params.size() && !changed; ++i) {
          if (turn()) def.params.erase(def.params.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      return changed;
    });
  }

  bool simplify_expressions() {
    return try_programs([](ast::Program& program, std::size_t n) {
      std::size_t at = 0;
      bool changed = false;
      const Replace replace = [&](ast::ExprPtr& expr) {
        const std::vector<ast::ExprPtr> options = simpler(*expr);
        if (n < at + options.size()) {
          expr = options[n - at];
          changed = true;
          return true;
        }
        at += options.size();
        return false;
      };
      for (ast::Def& def : program.defs) {
        for (ast::Stmt& stmt : def.body) {
          if (!changed) visit_statement(stmt, replace);
        }
      }
      return changed;
    });
  }

  bool smaller_sizes() {
    bool progress = false;
    std::vector<std::string> names;
    for (const auto& [name, value] : best_.sizes)
      names.push_back(name);
    for (const std::string& name : names) {
      for (bool again = true; again && !late();) {
        again = false;
        const std::int64_t value = best_.sizes[name];
        for (std::int64_t smaller : {std::int64_t{1}, value / 2, value - 1}) {
          if (smaller < 0 || smaller >= value) continue;
          Case candidate = best_;
          candidate.sizes[name] = smaller;
          if (!accept(candidate)) continue;
          again = progress = true;
          break;
        }
      }
    }
    return progress;
  }

  /// Sizes and consts that nothing mentions any more, option sets that do not matter.
  bool drop_values() {
    const auto mentioned = [&](const std::string& name) {
      return best_.text.find(name) != std::string::npos;
    };
    std::erase_if(best_.sizes, [&](const auto& entry) { return !mentioned(entry.first); });
    std::erase_if(best_.consts, [&](const auto& entry) { return !mentioned(entry.first); });
    std::erase_if(best_.views, [&](const auto& entry) { return !mentioned(entry.first); });
    if (best_.options.size() < 2) return false;
    Case candidate = best_;
    candidate.options.resize(1);
    return accept(candidate);
  }

  bool plain_memory() {
    bool progress = false;
    std::vector<std::string> names;
    for (const auto& [name, view] : best_.views)
      names.push_back(name);
    for (const std::string& name : names) {
      Case candidate = best_;
      candidate.views.erase(name);
      progress = accept(candidate) || progress;
    }
    if (best_.extreme_inputs) {
      Case candidate = best_;
      candidate.extreme_inputs = false;
      progress = accept(candidate) || progress;
    }
    if (best_.wild_indices) {
      Case candidate = best_;
      candidate.wild_indices = false;
      progress = accept(candidate) || progress;
    }
    if (!best_.integer_inputs) {
      Case candidate = best_;
      candidate.integer_inputs = true;
      progress = accept(candidate) || progress;
    }
    return progress;
  }

  bool plain_options() {
    bool progress = false;
    for_each_field([&](const auto& field) {
      const MappingOptions plain;
      Case candidate = best_;
      if (candidate.options.front().*field.member == plain.*field.member) return;
      candidate.options.front().*field.member = plain.*field.member;
      progress = accept(candidate) || progress;
    });
    return progress;
  }

  Case best_;
  std::string property_;
  Clock::time_point end_;
};

}  // namespace

Case shrink(const Case& experiment, const Outcome& outcome, int seconds) {
  return Shrinker(experiment, outcome, seconds).run();
}

}  // namespace tc::fuzz
