// SPDX-License-Identifier: Apache-2.0
//
// The surface syntax tree: what was written, nothing inferred. One screen of grammar:
//
//   Program   = (Def* defs)
//   Def       = (ident name, Param* params, Return* returns, Stmt* body)
//   Param     = (bool is_const, Type type, ident name)
//   Return    = (Type? type, ident name)
//   Type      = (DType element, Expr* dims)
//   Stmt      = Comprehension(Lhs lhs, AssignOp op, Expr value, Equivalent? equal, Clause* where)
//             | CallStmt(ident* results, ident callee, Expr* arguments)
//             | ForStmt(ident var, Expr begin, Expr end, Stmt* body)
//   Lhs       = (ident tensor, Expr* subscripts, bool has_parentheses)
//   Clause    = RangeClause(ident var, Expr begin, Expr end) | LetClause(ident name, Expr value)
//             | ExistsClause(Expr) | ConditionClause(Expr)
//   Expr      = Literal | Name | DimRead(ident tensor, int dim) | Apply(callee, Expr* args)
//             | Unary | Binary | Ternary | MinMax | Pad(Expr read, Expr value)
//
// Nodes are immutable after parsing and shared by const pointer. An Expr is at most kMaxExprHeight
// nodes high, a ForStmt at most kMaxNesting deep, so that recursion over a parsed tree is safe on
// an ordinary stack.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tc/support/dtype.h"
#include "tc/support/source.h"

namespace tc::lang::ast {

/// Levels of parentheses, calls, unary operators, ternaries and `for` that the parser accepts
/// inside each other.
inline constexpr int kMaxNesting = 256;
/// Height of one expression tree; chains like a + b + c + ... grow to the left.
inline constexpr int kMaxExprHeight = 512;

struct Ident {
  std::string name;
  SourceRange range;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

/// A number, `true`, `false`, `inf` or `nan`. Untyped until sema gives it a type.
struct Literal {
  enum class Kind { Int, Float, Bool } kind;
  std::string spelling;         ///< as written; floats are rounded once from it
  std::uint64_t int_value = 0;  ///< Int, Bool
  double float_value = 0;       ///< Float: nearest double
  bool overflows = false;       ///< an integer that does not fit 64 bits
};
struct Name {
  std::string name;
};
struct DimRead {
  Ident tensor;
  std::uint64_t dim;
};  ///< A.1
/// `f(a, b)`: a tensor read, a builtin, or a cast when `cast_to` is set (callee is a type name).
struct Apply {
  Ident callee;
  std::optional<DType> cast_to;
  std::vector<ExprPtr> args;
};
enum class UnaryOp { Negate, Not };
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
enum class BinaryOp { Add, Sub, Mul, Div, Mod, Lt, Gt, Le, Ge, Eq, Ne, And, Or };
struct Binary {
  BinaryOp op;
  ExprPtr left, right;
  SourceRange op_range;
};
struct Ternary {
  ExprPtr condition, if_true, if_false;
};
struct MinMax {
  bool is_max;
  std::vector<ExprPtr> args;
};
struct Pad {
  ExprPtr read;
  ExprPtr value;
};

struct Expr {
  SourceRange range;
  std::variant<Literal, Name, DimRead, Apply, Unary, Binary, Ternary, MinMax, Pad> node;
};

struct Type {
  DType element;
  std::vector<ExprPtr> dims;  ///< empty: a scalar
  SourceRange range;
  std::string spelling;  ///< of the element type as written ("float"), for the formatter; no part
                         ///< of equality
};
struct Param {
  bool is_const;
  Type type;
  Ident name;
  SourceRange range;
};
struct Return {
  std::optional<Type> type;
  Ident name;
  SourceRange range;
};

struct RangeClause {
  Ident var;
  ExprPtr begin, end;
};
struct LetClause {
  Ident name;
  ExprPtr value;
};
struct ExistsClause {
  ExprPtr value;
};
struct ConditionClause {
  ExprPtr condition;
};
struct Clause {
  SourceRange range;
  std::variant<RangeClause, LetClause, ExistsClause, ConditionClause> node;
};

enum class AssignOp { Assign, Add, Mul, Min, Max, ArgMin, ArgMax };
struct Lhs {
  Ident tensor;
  std::vector<ExprPtr> subscripts;
  bool has_parentheses;
  SourceRange range;
};
struct Equivalent {
  Ident callee;
  std::vector<ExprPtr> args;
};

struct Stmt;
struct Comprehension {
  Lhs lhs;
  AssignOp op;
  bool init;  ///< the `!` of a reduction
  SourceRange op_range;
  ExprPtr value;
  std::optional<Equivalent> equivalent;
  std::vector<Clause> where;
};
struct CallStmt {
  std::vector<Ident> results;
  Ident callee;
  std::vector<ExprPtr> args;
};
struct ForStmt {
  Ident var;
  ExprPtr begin, end;
  std::vector<Stmt> body;
};
/// `y = f(x)` is a Comprehension with rank 0 and an Apply, or a CallStmt: the parser always yields
/// the Comprehension for a single result; sema resolves it by scope. Several results always give a
/// CallStmt.
struct Stmt {
  SourceRange range;
  std::variant<Comprehension, CallStmt, ForStmt> node;
  bool blank_before = false;  ///< layout only, no part of equality: a blank line stands before it
};

struct Def {
  Ident name;
  std::vector<Param> params;
  std::vector<Return> returns;
  std::vector<Stmt> body;
  SourceRange range;
  bool blank_before = false;
};
/// Comments are kept for the formatter: text from '#' to the end of the line, with its place.
struct Comment {
  SourceRange range;
  std::string text;
  bool own_line = false;  ///< nothing stands before it on its line
  bool blank_before = false;
};
struct Program {
  std::vector<Def> defs;
  std::vector<Comment> comments;
};

}  // namespace tc::lang::ast
