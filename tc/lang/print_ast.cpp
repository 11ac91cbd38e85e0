// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/print_ast.h"

#include <algorithm>

#include "tc/lang/lexer.h"
#include "tc/lang/print_impl.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

// Ranks of line breaks: before `where` first, then between clauses, then inside expressions.
constexpr int kWhereDepth = 0;
constexpr int kClauseDepth = 1;
constexpr int kExprDepth = 2;

void print_clause(Pieces& out, const ast::Clause& clause) {
  std::visit(Overloaded{
                 [&](const ast::RangeClause& c) {
                   out.glue(c.var.name + " in ");
                   print_bounds(out, *c.begin, *c.end, kExprDepth);
                 },
                 [&](const ast::LetClause& c) {
                   out.glue(c.name.name + " = ");
                   print(out, *c.value, kExprDepth, Spacing::Wide);
                 },
                 [&](const ast::ExistsClause& c) {
                   out.glue("exists ");
                   print(out, *c.value, kExprDepth, Spacing::Wide);
                 },
                 [&](const ast::ConditionClause& c) {
                   print(out, *c.condition, kExprDepth, Spacing::Wide);
                 },
             },
             clause.node);
}

void print_comprehension(Pieces& out, const ast::Comprehension& c) {
  out.glue(c.lhs.tensor.name);
  if (c.lhs.has_parentheses) print_args(out, c.lhs.subscripts, kExprDepth + 1, Spacing::Wide);
  out.glue(std::string(" ") + spelling(c.op) + (c.init ? "! " : " "));
  print(out, *c.value, kExprDepth, Spacing::Wide);
  if (c.equivalent) {
    out.spaced("<=> " + c.equivalent->callee.name, kClauseDepth);
    print_args(out, c.equivalent->args, kExprDepth + 1, Spacing::Wide);
  }
  for (std::size_t i = 0; i < c.where.size(); ++i) {
    if (i == 0) {
      out.spaced("where ", kWhereDepth);
    } else {
      out.glue(",");
      out.spaced("", kClauseDepth);
    }
    print_clause(out, c.where[i]);
  }
}

void print_call(Pieces& out, const ast::CallStmt& call) {
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    if (i != 0) {
      out.glue(",");
      out.spaced("", kExprDepth);
    }
    out.glue(call.results[i].name);
  }
  out.glue(" = " + call.callee.name);
  print_args(out, call.args, kExprDepth, Spacing::Wide);
}

void print_type(Pieces& out, const ast::Type& type) {
  out.glue(type.spelling.empty() ? std::string(name(type.element)) : type.spelling);
  if (!type.dims.empty()) print_args(out, type.dims, kExprDepth, Spacing::Compact);
}

/// `def f(float(N) A) -> (B) {`
void print_def_header(Pieces& out, const ast::Def& def) {
  out.glue("def " + def.name.name + "(");
  for (std::size_t i = 0; i < def.params.size(); ++i) {
    if (i != 0) {
      out.glue(",");
      out.spaced("", /*depth=*/1);
    }
    const ast::Param& param = def.params[i];
    if (param.is_const) out.glue("const ");
    print_type(out, param.type);
    out.glue(" " + param.name.name);
  }
  out.glue(")");
  out.spaced("-> (", /*depth=*/0);
  for (std::size_t i = 0; i < def.returns.size(); ++i) {
    if (i != 0) {
      out.glue(",");
      out.spaced("", /*depth=*/1);
    }
    const ast::Return& result = def.returns[i];
    if (result.type) {
      print_type(out, *result.type);
      out.glue(" ");
    }
    out.glue(result.name.name);
  }
  out.glue(") {");
}

std::uint32_t header_end(const ast::Def& def) {
  std::uint32_t end = def.name.range.end;
  for (const ast::Param& param : def.params)
    end = std::max(end, param.range.end);
  for (const ast::Return& result : def.returns)
    end = std::max(end, result.range.end);
  return end;
}

/// Writes whole programs. Comments are merged in by their places: one on its own line goes before
/// what follows it, one behind code goes behind that code, one inside a statement or header goes
/// before it.
class Formatter {
public:
  explicit Formatter(const ast::Program& program) : comments_(program.comments) {}

  std::string run(const std::vector<ast::Def>& defs) {
    for (std::size_t i = 0; i < defs.size(); ++i) {
      const std::uint32_t next = i + 1 < defs.size() ? defs[i + 1].range.begin : UINT32_MAX;
      def(defs[i], next);
      force_blank_ = true;
    }
    own_lines(UINT32_MAX, 0);
    return std::move(out_);
  }

private:
  bool comment_before(std::uint32_t limit) const {
    return next_ < comments_.size() && comments_[next_].range.begin < limit;
  }

  void line(const std::string& text, bool blank_before) {
    if ((blank_before || force_blank_) && !first_in_block_) out_ += '\n';
    out_ += text + "\n";
    first_in_block_ = false;
    force_blank_ = false;
  }

  void own_line(const ast::Comment& comment, int indent, bool blank_before) {
    line(std::string(static_cast<std::size_t>(indent), ' ') + comment.text, blank_before);
  }

  void own_lines(std::uint32_t limit, int indent) {
    for (; comment_before(limit); ++next_)
      own_line(comments_[next_], indent, comments_[next_].blank_before);
  }

  /// The comment that stands behind what was just written, if there is one before `limit`.
  void trailing(std::uint32_t limit) {
    if (!comment_before(limit) || comments_[next_].own_line) return;
    out_.pop_back();
    out_ += "  " + comments_[next_].text + "\n";
    ++next_;
  }

  /// Comments before and inside the first `inner_end - begin` bytes of an item, then the item.
  void item(const Pieces& pieces, std::uint32_t begin, std::uint32_t inner_end, int indent,
            bool blank_before) {
    own_lines(begin, indent);
    for (; comment_before(inner_end); ++next_) {
      own_line(comments_[next_], indent, blank_before);
      blank_before = false;
    }
    line(pieces.lines(indent), blank_before);
  }

  void def(const ast::Def& def, std::uint32_t next) {
    Pieces header;
    print_def_header(header, def);
    item(header, def.range.begin, header_end(def), 0, def.blank_before);
    block(def.body, 0, def.range.end);
    trailing(next);
  }

  void block(const std::vector<ast::Stmt>& body, int indent, std::uint32_t end) {
    const int inner = indent + kIndent;
    trailing(body.empty() ? end : body.front().range.begin);
    first_in_block_ = true;
    for (std::size_t i = 0; i < body.size(); ++i)
      stmt(body[i], inner, i + 1 < body.size() ? body[i + 1].range.begin : end);
    own_lines(end, inner);
    first_in_block_ = false;
    line(std::string(static_cast<std::size_t>(indent), ' ') + "}", false);
  }

  void stmt(const ast::Stmt& stmt, int indent, std::uint32_t next) {
    Pieces pieces;
    if (const auto* loop = std::get_if<ast::ForStmt>(&stmt.node)) {
      print_for_header(pieces, *loop);
      item(pieces, stmt.range.begin, loop->end->range.end, indent, stmt.blank_before);
      block(loop->body, indent, stmt.range.end);
    } else {
      print_simple(pieces, stmt);
      item(pieces, stmt.range.begin, stmt.range.end, indent, stmt.blank_before);
    }
    trailing(next);
  }

  const std::vector<ast::Comment>& comments_;
  std::size_t next_ = 0;  ///< first comment that is not written yet
  std::string out_;
  bool first_in_block_ = true;  ///< no blank line at the start of a text or block
  bool force_blank_ = false;    ///< a blank line between defs
};

}  // namespace

void print_simple(Pieces& out, const ast::Stmt& stmt) {
  if (const auto* call = std::get_if<ast::CallStmt>(&stmt.node)) return print_call(out, *call);
  const auto* comprehension = std::get_if<ast::Comprehension>(&stmt.node);
  check(comprehension != nullptr, "a simple statement is a comprehension or a call");
  print_comprehension(out, *comprehension);
}

void print_for_header(Pieces& out, const ast::ForStmt& loop) {
  out.glue("for " + loop.var.name + " in ");
  print_bounds(out, *loop.begin, *loop.end, kExprDepth);
  out.glue(" {");
}

std::string format(const ast::Program& program) {
  return Formatter(program).run(program.defs);
}

std::string format(const ast::Expr& expr) {
  Pieces pieces;
  print(pieces, expr, kExprDepth, Spacing::Wide);
  return pieces.one_line();
}

std::string format(const ast::Stmt& stmt) {
  Pieces pieces;
  const auto* loop = std::get_if<ast::ForStmt>(&stmt.node);
  if (loop == nullptr) {
    print_simple(pieces, stmt);
    return pieces.one_line();
  }
  print_for_header(pieces, *loop);
  std::string text = pieces.one_line();
  for (std::size_t i = 0; i < loop->body.size(); ++i)
    text += (i == 0 ? " " : "; ") + format(loop->body[i]);
  return text + " }";
}

}  // namespace tc::lang
