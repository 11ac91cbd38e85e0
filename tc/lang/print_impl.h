// SPDX-License-Identifier: Apache-2.0
//
// Layout of source text, private to the formatter. Everything is first a list of pieces; breaking
// lines only turns the gap before a piece into a line end, so it can never change the tokens.
#pragma once

#include <string>
#include <vector>

#include "tc/lang/ast.h"

namespace tc::lang {

inline constexpr int kLineWidth = 100;
inline constexpr int kIndent = 2;
inline constexpr int kContinuation = 4;

class Pieces {
public:
  static constexpr int kNoBreak = -1;

  /// Glues `text` to what stands before it.
  void glue(std::string_view text);
  /// Starts a piece behind a blank; a line may break there, at small `depth` rather than at large.
  void spaced(std::string_view text, int depth);
  /// Starts a piece without a blank before it.
  void joined(std::string_view text, int depth);

  /// On one line, or on several of at most kLineWidth columns where breaks allow it; no final line
  /// end.
  std::string one_line() const;
  std::string lines(int indent) const;

private:
  struct Piece {
    std::string text;
    bool blank_before;
    int depth;
  };
  std::vector<Piece> pieces_;
};

/// Appends an expression. `depth` ranks its outermost breaks; `compact` leaves out the blanks in
/// arithmetic and lists.
enum class Spacing { Wide, Compact };
void print(Pieces& out, const ast::Expr& expr, int depth, Spacing spacing);
/// `(a,b+1)` or `(f(a), b)`: compact where all arguments are plain index arithmetic.
void print_args(Pieces& out, const std::vector<ast::ExprPtr>& args, int depth, Spacing spacing);
/// `begin:end`
void print_bounds(Pieces& out, const ast::Expr& begin, const ast::Expr& end, int depth);

/// A statement other than `for`.
void print_simple(Pieces& out, const ast::Stmt& stmt);
/// `for t in 0:T {`
void print_for_header(Pieces& out, const ast::ForStmt& loop);

}  // namespace tc::lang
