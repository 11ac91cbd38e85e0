// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/lang/print_impl.h"
#include "tc/support/check.h"

namespace tc::lang {

void Pieces::glue(std::string_view text) {
  if (pieces_.empty()) pieces_.push_back({"", false, kNoBreak});
  pieces_.back().text += text;
}

void Pieces::spaced(std::string_view text, int depth) {
  pieces_.push_back({std::string(text), true, depth});
}

void Pieces::joined(std::string_view text, int depth) {
  pieces_.push_back({std::string(text), false, depth});
}

std::string Pieces::one_line() const {
  std::string text;
  for (const Piece& piece : pieces_) {
    if (piece.blank_before && !text.empty()) text += ' ';
    text += piece.text;
  }
  return text;
}

std::string Pieces::lines(int indent) const {
  std::string text;
  std::size_t begin = 0;
  while (begin < pieces_.size()) {
    const int line_indent = begin == 0 ? indent : indent + kContinuation;
    auto columns = static_cast<std::size_t>(line_indent) + pieces_[begin].text.size();
    std::size_t end = begin + 1;
    std::size_t best = 0;  // the piece that would start the next line; 0: none
    while (end < pieces_.size()) {
      const Piece& piece = pieces_[end];
      // Of the breaks on this line the outermost, and of those the last.
      if (piece.depth != kNoBreak && (best == 0 || piece.depth <= pieces_[best].depth)) best = end;
      columns += piece.text.size() + (piece.blank_before ? 1 : 0);
      if (columns > kLineWidth && best != 0) break;
      ++end;
    }
    if (end < pieces_.size()) end = best;
    if (begin != 0) text += '\n';
    text.append(static_cast<std::size_t>(line_indent), ' ');
    for (std::size_t i = begin; i < end; ++i) {
      if (i != begin && pieces_[i].blank_before) text += ' ';
      text += pieces_[i].text;
    }
    begin = end;
  }
  return text;
}

namespace {

/// Binding strength as in the grammar: 0 ?:, 1 ||, 2 &&, 3 comparisons, 4 + -, 5 * / %, 6 unary, 7
/// primary.
constexpr int kTernary = 0;
constexpr int kUnary = 6;
constexpr int kPrimary = 7;

struct OpText {
  const char* text;
  int precedence;
};

OpText op_text(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::Or: return {"||", 1};
  case ast::BinaryOp::And: return {"&&", 2};
  case ast::BinaryOp::Lt: return {"<", 3};
  case ast::BinaryOp::Gt: return {">", 3};
  case ast::BinaryOp::Le: return {"<=", 3};
  case ast::BinaryOp::Ge: return {">=", 3};
  case ast::BinaryOp::Eq: return {"==", 3};
  case ast::BinaryOp::Ne: return {"!=", 3};
  case ast::BinaryOp::Add: return {"+", 4};
  case ast::BinaryOp::Sub: return {"-", 4};
  case ast::BinaryOp::Mul: return {"*", 5};
  case ast::BinaryOp::Div: return {"/", 5};
  case ast::BinaryOp::Mod: return {"%", 5};
  }
  unreachable("a BinaryOp holds one of its enumerators");
}

int precedence(const ast::Expr& expr) {
  if (const auto* binary = std::get_if<ast::Binary>(&expr.node))
    return op_text(binary->op).precedence;
  if (std::holds_alternative<ast::Ternary>(expr.node)) return kTernary;
  if (std::holds_alternative<ast::Unary>(expr.node)) return kUnary;
  return kPrimary;
}

/// True for names, integers and arithmetic on them.
bool is_plain_index(const ast::Expr& expr) {
  return std::visit(Overloaded{
                        [](const ast::Literal& n) { return n.kind == ast::Literal::Kind::Int; },
                        [](const ast::Name&) { return true; },
                        [](const ast::DimRead&) { return true; },
                        [](const ast::Apply&) { return false; },
                        [](const ast::Unary& n) {
                          return n.op == ast::UnaryOp::Negate && is_plain_index(*n.operand);
                        },
                        [](const ast::Binary& n) {
                          return op_text(n.op).precedence >= 4 && is_plain_index(*n.left) &&
                                 is_plain_index(*n.right);
                        },
                        [](const ast::Ternary&) { return false; },
                        [](const ast::MinMax& n) {
                          return std::all_of(
                              n.args.begin(), n.args.end(),
                              [](const ast::ExprPtr& arg) { return is_plain_index(*arg); });
                        },
                        [](const ast::Pad&) { return false; },
                    },
                    expr.node);
}

bool starts_with_sign(const ast::Expr& expr) {
  const ast::Expr* leftmost = &expr;
  while (const auto* binary = std::get_if<ast::Binary>(&leftmost->node))
    leftmost = binary->left.get();
  return std::holds_alternative<ast::Unary>(leftmost->node);
}

class ExprPrinter {
public:
  ExprPrinter(Pieces& out, Spacing spacing) : out_(out), spacing_(spacing) {}

  /// In parentheses unless the expression binds at least as strongly as `min_precedence`.
  void operand(const ast::Expr& expr, int min_precedence, int depth) {
    if (precedence(expr) >= min_precedence) return print(expr, depth);
    out_.glue("(");
    print(expr, depth + 1);
    out_.glue(")");
  }

  void print(const ast::Expr& expr, int depth) {
    std::visit(
        Overloaded{
            [&](const ast::Literal& n) { out_.glue(n.spelling); },
            [&](const ast::Name& n) { out_.glue(n.name); },
            [&](const ast::DimRead& n) { out_.glue(n.tensor.name + "." + std::to_string(n.dim)); },
            [&](const ast::Apply& n) {
              out_.glue(n.callee.name);
              print_args(out_, n.args, depth + 1, spacing_);
            },
            [&](const ast::Unary& n) {
              out_.glue(n.op == ast::UnaryOp::Negate ? "-" : "!");
              operand(*n.operand, kUnary, depth);
            },
            [&](const ast::Binary& n) { binary(n, depth); },
            [&](const ast::Ternary& n) {
              operand(*n.condition, kTernary + 1, depth + 1);
              out_.spaced("? ", depth);
              operand(*n.if_true, kTernary, depth + 1);
              out_.spaced(": ", depth);
              operand(*n.if_false, kTernary, depth);
            },
            [&](const ast::MinMax& n) {
              out_.glue(n.is_max ? "max" : "min");
              print_args(out_, n.args, depth + 1, spacing_);
            },
            [&](const ast::Pad& n) {
              out_.glue("pad");
              print_args(out_, {n.read, n.value}, depth + 1, spacing_);
            },
        },
        expr.node);
  }

private:
  void binary(const ast::Binary& n, int depth) {
    const OpText op = op_text(n.op);
    operand(*n.left, op.precedence, same_level(*n.left, op.precedence) ? depth : depth + 1);
    // Arithmetic alone is set tight; `i- -1` would read as a decrement without its blank.
    const bool tight =
        spacing_ == Spacing::Compact && op.precedence >= 4 && !starts_with_sign(*n.right);
    if (tight) {
      out_.joined(op.text, depth);
    } else {
      out_.spaced(std::string(op.text) + " ", depth);
    }
    operand(*n.right, op.precedence + 1, depth + 1);
  }

  static bool same_level(const ast::Expr& expr, int precedence) {
    const auto* binary = std::get_if<ast::Binary>(&expr.node);
    return binary != nullptr && op_text(binary->op).precedence == precedence;
  }

  Pieces& out_;
  Spacing spacing_;
};

}  // namespace

void print(Pieces& out, const ast::Expr& expr, int depth, Spacing spacing) {
  ExprPrinter(out, spacing).print(expr, depth);
}

void print_args(Pieces& out, const std::vector<ast::ExprPtr>& args, int depth, Spacing spacing) {
  const bool compact = spacing == Spacing::Compact ||
                       std::all_of(args.begin(), args.end(),
                                   [](const ast::ExprPtr& arg) { return is_plain_index(*arg); });
  // With blanks between the arguments, a single one may still hold tight arithmetic only if all are
  // plain.
  const Spacing inner = compact ? Spacing::Compact : Spacing::Wide;
  out.glue("(");
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i != 0) {
      out.glue(",");
      if (compact)
        out.joined("", depth);
      else
        out.spaced("", depth);
    }
    print(out, *args[i], depth + 1, inner);
  }
  out.glue(")");
}

void print_bounds(Pieces& out, const ast::Expr& begin, const ast::Expr& end, int depth) {
  ExprPrinter printer(out, Spacing::Compact);
  // A ternary as the first bound is legal without parentheses, but its `:` would be taken for that
  // of the range.
  printer.operand(begin, kTernary + 1, depth);
  out.glue(":");
  printer.print(end, depth);
}

}  // namespace tc::lang
