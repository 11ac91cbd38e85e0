// SPDX-License-Identifier: Apache-2.0
//
// Operands: resolved expressions on the way to the typed program, with their *language* type. The
// typed tree itself knows compute types only (typed.h); the promoted type that decides the types of
// outputs lives here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tc/lang/ast.h"
#include "tc/lang/typed.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

__extension__ typedef __int128 Int128;

/// An untyped number. Folding keeps it untyped, so it is rounded once, when it meets a type.
struct UntypedLiteral {
  bool is_float = false;
  Int128 int_value = 0;
  double float_value = 0;
  std::string spelling;  ///< decimal text of a float that is still as written (a sign may precede
                         ///< it); empty once folded
};

struct Operand {
  enum class Kind {
    Poison,   ///< an error was reported; silences everything that depends on it
    Pending,  ///< depends on a tensor whose type is not known yet (only while types are being
              ///< found)
    Literal,
    Typed,
  };
  Kind kind = Kind::Poison;
  DType type = DType::Float32;  ///< Typed: the language type; never a storage-only type
  UntypedLiteral literal;
  ExprPtr expr;  ///< Typed: of compute_type(type)
  SourceRange range;
  int depth = 1;  ///< of the expression tree
  int nodes = 1;  ///< of the expression tree as consumers walk it, lets substituted

  bool is(Kind k) const { return kind == k; }
  static Operand poison(SourceRange range);
  static Operand pending(SourceRange range);
  static Operand typed(DType type, ExprPtr expr, SourceRange range);
};

/// Limits that keep every later recursive traversal inside an ordinary stack and every text inside
/// memory.
inline constexpr int kMaxExprDepth = 1000;
inline constexpr int kMaxExprNodes = 20'000;
/// E0233: "expression of 50000 operations: more than 20000; split it into statements".
std::string large_expression(std::int64_t count, const char* what, std::int64_t limit);

/// The rules of language.md section 5: how operands of operators, `?:`, min/max, builtins, casts
/// and pad combine. Errors go to `sink`.
class Typing {
public:
  explicit Typing(DiagnosticSink& sink) : sink_(&sink) {}
  void set_sink(DiagnosticSink& sink) { sink_ = &sink; }

  Operand literal(const ast::Literal& literal, SourceRange range);
  Operand unary(ast::UnaryOp op, const Operand& operand, SourceRange range);
  Operand binary(ast::BinaryOp op, const Operand& left, const Operand& right, SourceRange range);
  Operand select(const Operand& condition, const Operand& if_true, const Operand& if_false,
                 SourceRange range);
  Operand min_max(bool is_max, const std::vector<Operand>& args, SourceRange range);
  Operand cast(DType to, const Operand& operand, SourceRange range);
  Operand builtin(const std::string& name, const std::vector<Operand>& args, SourceRange range);
  Operand pad(const Operand& read, const Operand& value, SourceRange range);

  /// The operand as an expression of compute_type(type).
  ExprPtr coerce(const Operand& operand, DType type) const;
  /// The type that an operand has by itself: a literal's is int32, int64 if needed, or float32.
  /// Requires Literal or Typed.
  static DType own_type(const Operand& operand);
  /// A literal as it converts to an element type at a store or as an argument; false if it would
  /// change kind or not fit.
  static bool literal_fits(const UntypedLiteral& literal, DType type);
  /// An integral operand as an expression; reports E0240 with `what` ("subscript 1 of 'A'")
  /// otherwise. Null after an error.
  ExprPtr integral(const Operand& operand, const std::string& what);
  /// A bool operand as an expression; reports E0242 otherwise. Null after an error.
  ExprPtr condition(const Operand& operand, const std::string& what);
  /// Sets depth and size of what was built from `parts`; beyond the limits E0233 and poison.
  Operand sized(Operand result, const std::vector<Operand>& parts);

private:
  std::optional<DType> join(const std::vector<Operand>& operands, SourceRange range);
  std::optional<Operand> passed_through(const std::vector<Operand>& operands,
                                        SourceRange range) const;
  Operand fold_binary(ast::BinaryOp op, const Operand& left, const Operand& right,
                      SourceRange range);
  Operand fold_int(ast::BinaryOp op, Int128 a, Int128 b, SourceRange range);
  Operand fold_float(ast::BinaryOp op, double a, double b, SourceRange range);
  Operand bool_arithmetic(BinaryOp op, const Operand& left, const Operand& right,
                          SourceRange range);
  Operand arithmetic(BinaryOp op, const Operand& left, const Operand& right, SourceRange range);
  Operand fold_min_max(bool is_max, const std::vector<Operand>& args, SourceRange range) const;
  Operand logic(BinaryOp op, const Operand& left, const Operand& right, SourceRange range);

  DiagnosticSink* sink_;
};

/// A literal as a constant of compute_type(type), rounded once; wraps and truncates as a cast does.
ExprPtr literal_constant(const UntypedLiteral& literal, DType type, SourceRange range);
/// The negated literal, still untyped; reports E0246.
Operand fold_unary_minus(const Operand& operand, DiagnosticSink& sink, SourceRange range);
/// Source text of a literal for messages.
std::string to_string(const UntypedLiteral& literal);
/// "float32" or "the literal 3" for messages that say what was given.
std::string describe(const Operand& operand);

}  // namespace tc::lang
