// SPDX-License-Identifier: Apache-2.0
//
// The typed program: one `def` with names resolved, calls inlined, types decided, lets substituted,
// ranges inferred. The single input of the interpreter and of the compiler.
//
//   TypedDef  = (name, Size* sizes, Const* consts, Tensor* tensors, Node* body)
//   Node      = Statement | ForLoop(var, Expr lo, Expr hi, Node* body)
//   Statement = (Index* indices, Expr* conditions, Expr* exists, tensor, Expr* subscripts,
//   ReduceOp? op, init, Expr value, Expr? position) Expr      = IntConst | FloatConst | Index |
//   Size | Const | ForVar | Read(tensor, Expr* subscripts, Expr? pad)
//             | Unary | Binary | Select | Cast | Builtin | DimOf(tensor, dim, part)      -- DimOf
//             only before infer_ranges
//
// The type of every Expr is a *compute* type (bool, int32, int64, uint32, uint64, float32,
// float64): a read of a narrower tensor widens, Cast{to} rounds or wraps to `to` and yields
// compute_type(to), a store converts as a cast does. So no consumer handles 16-bit arithmetic.
//
// Semantics that every consumer shares (language.md sections 5 and 8):
//  * integer Div and Mod round toward minus infinity; x/0 = x%0 = 0; integer arithmetic wraps at
//  the width of its type;
//  * Min, Max propagate NaN; And, Or, Select evaluate their later operands only when needed;
//  * a Read whose subscripts contain a Read (a gather) that is out of range yields NaN (0 for
//  integers, `pad` if it has one);
//  * a Read with `pad` yields `pad` wherever any subscript is outside the tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tc/support/dtype.h"
#include "tc/support/source.h"

namespace tc::lang {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

/// Position in TypedDef::tensors, sizes, consts; in Statement::indices; ForLoop::var of an
/// enclosing loop.
using TensorId = int;

struct IntConst {
  std::int64_t value;
};  ///< also bool (0, 1); uint64 as bit pattern
struct FloatConst {
  double value;
};  ///< already rounded to the type of the Expr
struct IndexRef {
  int index;
};  ///< index variable of the enclosing statement
struct SizeRef {
  int size;
};
struct ConstRef {
  int id;
};  ///< value of a `const` parameter, known at specialisation
struct ForRef {
  int var;
};  ///< variable of an enclosing `for`
struct Read {
  TensorId tensor;
  std::vector<ExprPtr> subscripts;  ///< in the index space of the tensor (see Tensor::begin)
  ExprPtr pad;                      ///< null unless `pad(read, value)`; has the type of the Expr
};
enum class UnaryOp { Negate, Not };
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
enum class BinaryOp { Add, Sub, Mul, Div, Mod, Min, Max, Lt, Le, Gt, Ge, Eq, Ne, And, Or };
struct Binary {
  BinaryOp op;
  ExprPtr left, right;
};  ///< operands have one type; comparisons give bool
struct Select {
  ExprPtr condition, if_true, if_false;
};
/// Value conversion to `to` (which may be narrower than the type of the Expr, see above).
struct Cast {
  DType to;
  ExprPtr operand;
};
struct Builtin {
  std::string name;
  std::vector<ExprPtr> args;
};
/// Begin or extent of an *inferred* dimension of an output or temporary (`T.0`, a new size of an
/// annotated output, the shift that makes the result of an inlined call 0-based). Made by
/// resolve(), replaced by infer_ranges(); no later consumer sees it. In bounds (also of `for`),
/// conditions, exists and subscripts it stands for the box that the textually earlier statements
/// wrote (resolve() makes sure that there is such a statement); in values and in
/// TypedDef::preconditions for the final box.
struct DimOf {
  enum class Part { Begin, Extent };
  TensorId tensor;
  int dim;
  Part part;
};

struct Expr {
  DType type;         ///< a compute type
  SourceRange range;  ///< in the text that was compiled; of the call for inlined bodies
  std::variant<IntConst, FloatConst, IndexRef, SizeRef, ConstRef, ForRef, Read, Unary, Binary,
               Select, Cast, Builtin, DimOf>
      node;
};

struct Size {
  std::string name;
  SourceRange range;
};
struct Const {
  std::string name;
  DType type;
  SourceRange range;
};

struct Tensor {
  std::string name;         ///< unique in the def; names of inlined temporaries contain a '.'
  DType type;               ///< element type in memory
  bool type_given = false;  ///< `type` was written down (parameter, annotation, callee); otherwise
                            ///< it follows from the statements
  int rank = 0;
  bool is_param = false;       ///< supplied by the caller
  bool is_output = false;      ///< returned. Both: updated in place. Neither: a temporary
  bool needs_initial = false;  ///< an output onto whose unwritten elements a statement accumulates:
                               ///< the caller supplies its values
  int param_position =
      -1;  ///< position among the tensor parameters of the def (consts not counted)
  int output_position = -1;  ///< position in the return list
  /// Index space per dimension: [begin, begin + extent). Params begin at 0. Expressions over sizes
  /// and consts. Both have `rank` entries; before infer_ranges those of outputs and temporaries are
  /// null, except an extent that an annotation fixes.
  std::vector<ExprPtr> begin;
  std::vector<ExprPtr> extent;
  SourceRange range;
  std::vector<bool> extent_given;  ///< per dimension: an annotation fixed the extent; set by
                                   ///< infer_ranges for outputs
};

struct Index {
  std::string name;
  bool on_left = false;       ///< occurs in a left-hand subscript; otherwise a reduction index
  bool given = false;         ///< range written in `where`
  DType type = DType::Int32;  ///< int64 where the range needs it
  ExprPtr lo, hi;     ///< half-open; over sizes, consts, for variables, other indices of the
                      ///< statement; null until inferred
  SourceRange range;  ///< first appearance
};

enum class ReduceOp { Add, Mul, Min, Max, ArgMin, ArgMax };

struct Statement {
  int id = 0;  ///< position in textual order within the def, after inlining
  SourceRange range;
  std::string text;                 ///< as the formatter writes it, on one line; for people only
  std::vector<Index> indices;       ///< in order of first appearance
  std::vector<ExprPtr> conditions;  ///< bool, affine or floor/mod by constants; all must hold
  std::vector<ExprPtr>
      exists;  ///< `exists e`: never evaluated; its Reads take part in range inference only
  TensorId tensor = 0;
  std::vector<ExprPtr> subscripts;  ///< left-hand side; may contain Reads (a scatter)
  std::optional<ReduceOp> op;       ///< nullopt: `=`
  bool init = false;                ///< `!`: the written elements are set to the identity first
  ExprPtr value;  ///< null type conversions are explicit only inside; the store converts to the
                  ///< tensor's type
  /// ArgMin, ArgMax: the index value that is stored (flat row-major position over several axes);
  /// `value` is what is compared.
  ExprPtr position;
  /// Type in which a reduction accumulates: compute_type of the tensor (float32 for 16- and 8-bit
  /// floats, int32 for narrow integers and bool under += and *=). For ArgMin/ArgMax: the type of
  /// `value`.
  DType accumulator = DType::Float32;
};

struct ForLoop;
using Node = std::variant<Statement, std::shared_ptr<const ForLoop>>;
struct ForLoop {
  int var = 0;  ///< unique id in the def
  std::string name;
  DType type = DType::Int32;
  ExprPtr lo, hi;  ///< over sizes, consts and enclosing for variables
  std::vector<Node> body;
  SourceRange range;
};

struct TypedDef {
  std::string name;
  std::vector<Size> sizes;
  std::vector<Const> consts;
  std::vector<Tensor> tensors;    ///< parameters first, in order; then outputs; then temporaries
  std::vector<TensorId> outputs;  ///< in the order of the return list
  std::vector<Node> body;
  std::vector<ExprPtr> preconditions;  ///< bool over sizes and consts that dims and annotations
                                       ///< demand (e.g. `A(N, 2*N)` repeated dims)
  /// How sizes follow from parameter dims: per tensor parameter the dim expressions are in
  /// Tensor::extent; `bind_sizes` solves them.
};

/// Every statement with its enclosing loops, outermost first, in textual order.
struct StatementInContext {
  const Statement* statement;
  std::vector<const ForLoop*> loops;
};
std::vector<StatementInContext> statements(const TypedDef& def);

// ---- construction and traversal of expressions (typed_expr.cpp) ----
ExprPtr make_int(std::int64_t value, DType type = DType::Int32, SourceRange range = {});
ExprPtr make_float(double value, DType type, SourceRange range = {});
ExprPtr make_index(int index, DType type = DType::Int32, SourceRange range = {});
/// Folds constants (floor semantics; a result that does not fit the type stays unfolded) and, for
/// integers, x+0, x-0, x*1, x/1, x*0, x%1, (x+1)-1, x==x, true && x, ... Integer operands of
/// different types get the wider one through a Cast. Comparisons and logic give bool.
ExprPtr make_binary(BinaryOp op, ExprPtr left, ExprPtr right, SourceRange range = {});
ExprPtr make_unary(UnaryOp op, ExprPtr operand,
                   SourceRange range = {});  ///< folds constants and double negation
ExprPtr make_cast(DType to, ExprPtr operand,
                  SourceRange range = {});  ///< folds constants; no node where nothing changes
ExprPtr make_expr(DType type, SourceRange range, decltype(Expr::node) node);
/// Rebuilds with children mapped by `f`; the same handle if nothing changed.
ExprPtr map_children(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& f);
/// Calls `f` on every node, parents first.
void walk(const ExprPtr& expr, const std::function<void(const Expr&)>& f);
/// Bottom-up: children first, then `f` on the rebuilt node; null from `f` keeps the node.
ExprPtr rewrite(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& f);
bool equal(const ExprPtr& a, const ExprPtr& b);  ///< structural; ranges take no part
bool contains_read(const ExprPtr& expr);

/// Values of indices, sizes, consts and for variables; absent ones make the evaluation fail.
struct IntEnv {
  const std::vector<std::int64_t>* indices = nullptr;
  const std::vector<std::int64_t>* sizes = nullptr;
  const std::vector<std::int64_t>* consts = nullptr;  ///< integral consts only
  const std::unordered_map<int, std::int64_t>* for_vars = nullptr;
};
/// Exact integer value in unbounded-like int64 (nullopt on overflow, on a Read, or on something
/// unbound). Bools are 0 and 1.
std::optional<std::int64_t> evaluate(const ExprPtr& expr, const IntEnv& env);

const char* spelling(BinaryOp op);  ///< "+", "min", "<=", ...
const char* spelling(ReduceOp op);  ///< "+=", "argmin=", ...

/// Text of the typed program (`--emit typed`): every tensor, statement, index range and expression
/// with its types.
std::string to_string(const TypedDef& def);
std::string to_string(const TypedDef& def, const Statement* context,
                      const ExprPtr& expr);  ///< source-like spelling of one expression

}  // namespace tc::lang
