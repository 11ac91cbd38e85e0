// SPDX-License-Identifier: Apache-2.0
//
// Kernel IR: one kernel as loops over typed scalars and vectors, the last stage before target code.
//
//   Kernel = (name, Buffer* buffers, Var* int_params, GridDim* grid, GridDim* threads, Stmt body)
//   Stmt   = Block(Stmt*) | For(var, lo, hi, step, kind, Stmt) | If(cond, Stmt then, Stmt? else)
//          | Let(var, Expr value)                  value visible in the rest of the enclosing block
//          | Declare(reg, Type, count, Expr? init) mutable register array, visible in the rest of
//          the enclosing block | Assign(reg, slot, Expr value)         slot is a constant after
//          unrolling | Store(buffer, Expr* indices, Expr value, Expr? mask) | Alloc(Buffer) local
//          buffer, visible in the rest of the enclosing block; contents undefined | Atomic(op,
//          buffer, indices, value) | Barrier(scope) | Mma(accumulator, panels) | Copy(to, from)
//          | Await(what, pending) | Comment(text)
//   Expr   = IntImm | FloatImm | Var | Reg(reg, slot) | Unary | Binary | Select | Cast | Load |
//   Ramp | Broadcast | Call
//          | Reduce(op, vector) | Lane(vector, lane) | Shuffle(value, distance, group)
//
// Types are a compute type (bool, int32, int64, uint32, uint64, float32, float64) with a lane count
// >= 1. Semantics, the same for every consumer:
//  * integer Add, Sub, Mul wrap; FloorDiv and FloorMod round toward minus infinity, x/0 = x%0 = 0,
//  INT_MIN/-1 wraps; the
//    simplifier and every code generator agree;
//  * index arithmetic is int64 unless the builder proves that int32 suffices; addresses never wrap;
//  * Min, Max propagate NaN (an ordered comparison with a NaN test, not the target's min); of two
//  zeros either may be the result;
//  * And, Or evaluate both sides (operands have no effects and masked loads do not fault); Select
//  evaluates both sides;
//    so a guarded load carries its guard as `mask`: a lane whose mask is false touches no memory
//    and yields `otherwise`;
//  * Load converts from the storage type of the buffer to its compute type; Store rounds or wraps
//  from compute to storage type (float16,
//    bfloat16: nearest even; float8 saturates; narrow integers wrap; bool stores 0 or 1). Explicit
//    value conversion is Cast;
//  * Cast{to}: the cast of language.md section 5; its type is compute_type(to) with the operand's
//  lanes; a Cast to float16 rounds to float16
//    and widens again;
//  * Reduce combines the lanes of a vector in a fixed order; fma contraction of Mul feeding Add is
//  allowed, nothing else of fast-math;
//  * a kernel with `threads` runs its body once per thread of each task (a block of a GPU): Shared
//  buffers belong to the task, Local and Register ones and register arrays to the thread. What one
//  thread writes to a Shared, Global or Scratch buffer others of the task see after a Barrier that
//  both passed; a Barrier stands in control flow that is uniform over its participants: "block"
//  (all threads of the task) or "warp" (32 consecutive ones);
//  * threads are numbered with the last dimension fastest; 32 consecutive numbers make a warp, 128
//  consecutive ones a warp group;
//  * a For with kind Unrolled has constant bounds and is expanded before code generation.
//
// Values are immutable and shared. Variables are unique per kernel (an id, the name is for people).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tc/support/dtype.h"

namespace tc::kernel {

struct Type {
  DType elem = DType::Int64;
  int lanes = 1;
  bool operator==(const Type&) const = default;
};

/// Identity of a loop variable, let or integer parameter. Two variables are the same iff the ids
/// are.
struct Var {
  int id = -1;
  std::string name;
  Type type;
};

enum class Space { Global, Scratch, Local, Register, Shared };

/// Memory that a kernel addresses with one subscript per dimension.
struct Buffer {
  int id = -1;  ///< unique per kernel
  std::string name;
  DType type = DType::Float32;  ///< storage type
  Space space = Space::Global;
  std::vector<std::int64_t> extents;  ///< elements
  std::vector<std::int64_t> strides;  ///< elements; may be 0 or negative for inputs. For 4-bit
                                      ///< types in elements too, innermost stride 1
  std::int64_t alignment = 4;  ///< bytes that the address of element (0, ..., 0) is a multiple of
  bool writable = false;
  /// Shared, 16-bit floats: the eight pieces of 16 bytes in 128 bytes are permuted, piece p of the
  /// 128 bytes number r lies at p xor r % 8. Subscripts and strides name elements as if they were
  /// not. Accesses are of single elements, and copies stay within a piece.
  bool swizzled = false;
  int argument = -1;  ///< Global, Scratch: position in the kernel's argument list; Local: -1
};
using BufferPtr = std::shared_ptr<const Buffer>;
/// Row-major strides for extents.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& extents);
/// Elements from the first to the last of a buffer, both included; strides are not negative.
std::int64_t span_elements(const Buffer& buffer);
/// Bytes of the same elements, rounded up.
std::int64_t span_bytes(const Buffer& buffer);

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct IntImm {
  std::int64_t value;
};  ///< also bool; scalar (use Broadcast for vectors)
struct FloatImm {
  double value;
};
struct VarRef {
  Var var;
};
struct RegRef {
  int reg;
  ExprPtr slot;
};
enum class UnaryOp { Negate, Not };
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
enum class BinaryOp {
  Add,
  Sub,
  Mul,
  Div /*float*/,
  FloorDiv,
  FloorMod,
  Min,
  Max,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or
};
struct Binary {
  BinaryOp op;
  ExprPtr left, right;
};
struct Select {
  ExprPtr condition, if_true, if_false;
};  ///< condition: bool with the lanes of the result
struct Cast {
  DType to;
  ExprPtr operand;
};
/// At most one of `indices` is a vector per "vector axis": all vector indices have the lanes of the
/// result and are taken lane by lane. Contiguous when the only vector index is Ramp(b, 1) in a
/// dimension of stride 1. `mask` and `otherwise` may be null.
struct Load {
  BufferPtr buffer;
  std::vector<ExprPtr> indices;
  ExprPtr mask;
  ExprPtr otherwise;
};
struct Ramp {
  ExprPtr base;
  std::int64_t stride;
};  ///< base + stride * (0, 1, ..., lanes-1); does not wrap
struct Broadcast {
  ExprPtr value;
};
struct Call {
  std::string function;
  std::vector<ExprPtr> args;
};  ///< a builtin of language.md section 9, element-wise
enum class ReduceOp { Add, Mul, Min, Max, And, Or };
struct Reduce {
  ReduceOp op;
  ExprPtr vector;
};
struct Lane {
  ExprPtr vector;
  int lane;
};

/// Value of the thread whose number differs in the bit `distance` (a power of two below `group`).
/// All threads of an aligned group of `group` consecutive ones (a power of two up to 32) execute it
/// together. The value is a scalar.
struct Shuffle {
  ExprPtr value;
  int distance;
  int group;
};

struct Expr {
  Type type;
  std::variant<IntImm, FloatImm, VarRef, RegRef, Unary, Binary, Select, Cast, Load, Ramp, Broadcast,
               Call, Reduce, Lane, Shuffle>
      node;
};

struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;

struct Block {
  std::vector<StmtPtr> stmts;
};
enum class ForKind { Serial, Unrolled };
struct For {
  Var var;
  ExprPtr lo, hi;
  std::int64_t step;
  ForKind kind;
  StmtPtr body;
};
struct If {
  ExprPtr condition;
  StmtPtr then_body;
  StmtPtr else_body;
};
struct Let {
  Var var;
  ExprPtr value;
};
struct Declare {
  int reg;
  std::string name;
  Type type;
  int count;
  ExprPtr init;
};
struct Assign {
  int reg;
  ExprPtr slot;
  ExprPtr value;
};
struct Store {
  BufferPtr buffer;
  std::vector<ExprPtr> indices;
  ExprPtr value;
  ExprPtr mask;
  bool agreed = false;  ///< several threads may store into one element, all of them this value
};
struct Alloc {
  BufferPtr buffer;
};
struct Atomic {
  ReduceOp op;
  BufferPtr buffer;
  std::vector<ExprPtr> indices;
  ExprPtr value;
  ExprPtr mask;
};
struct Barrier {
  std::string scope;
};  ///< names its participants, e.g. "block"
/// An operand of a product on tensor cores: a matrix of 16-bit floats in shared memory, in core
/// matrices of eight lines. A line is 8 elements, in a swizzled buffer 64, that differ in k
/// (`k_inner`) or in the kept index, a row or a column; the lines of a core matrix lie in a row.
struct MmaPanel {
  BufferPtr buffer;
  std::vector<ExprPtr> corner;  ///< element (0, 0); of a swizzled buffer a multiple of 512 elements
  bool k_inner = true;
  std::int64_t along_k = 0, along_kept = 0;  ///< elements between neighbouring core matrices
};
/// accumulator += rows * columns, begun and not waited for: until an Await of products that covers
/// it the accumulators have no defined value and the panels must not change; products of one
/// accumulator follow one another. The threads of a warp group execute it together, in control flow
/// that is uniform over the block. The group has `blocks` blocks of 64 rows, which begin at the
/// corner of `rows` (its own: an expression of the thread) and every `block_distance` elements
/// behind it. Thread t of the group holds, of block b, in register ((b * width/8 + c) * 2 + h) * 2
/// + e behind `first` the sum of row 16 * (t / 32) + t % 32 / 4 + 8 * h and column 8 * c + 2 * (t %
/// 4) + e. Products are exact, sums are float32, in any order. Panels are written before a Barrier.
struct Mma {
  BufferPtr accumulator;  ///< Register, float32, contiguous
  std::vector<ExprPtr> first;
  std::int64_t blocks = 1, block_distance = 0;
  std::int64_t width = 8;   ///< columns, a multiple of 8 up to 256
  std::int64_t depth = 16;  ///< of the sum, a multiple of 16
  MmaPanel rows, columns;
};
/// Copies `count` elements side by side from global to shared memory without waiting for them;
/// zeros where the predicate is false (null: true). Both places are aligned to the copy as far as
/// the subscripts tell. The bytes arrive at an Await of copies.
struct Copy {
  std::int64_t count = 1;
  BufferPtr to;
  std::vector<ExprPtr> to_indices;
  BufferPtr from;
  std::vector<ExprPtr> from_indices;
  ExprPtr predicate;
};
enum class Awaited { Copies, Products };
/// The copies of this thread, or its products, since its last Await of them become one group; waits
/// until at most `pending` groups are on their way, the last ones. Other threads see the bytes of
/// copies after a Barrier.
struct Await {
  Awaited what = Awaited::Copies;
  std::int64_t pending = 0;
};
struct Comment {
  std::string text;
};

struct Stmt {
  std::variant<Block, For, If, Let, Declare, Assign, Store, Alloc, Atomic, Barrier, Mma, Copy,
               Await, Comment>
      node;
};

/// One dimension of the grid: `var` runs over 0 .. extent-1, every value exactly once, in any order
/// and in parallel.
struct GridDim {
  Var var;
  std::int64_t extent;
};

struct Kernel {
  std::string name;                ///< a C identifier
  std::vector<BufferPtr> buffers;  ///< Global and Scratch, ordered by Buffer::argument
  std::vector<Var> int_params;     ///< int64 values given at launch (counters of loops around
                                   ///< launches), after the buffers
  std::vector<GridDim> grid;       ///< outermost first; empty: one task
  std::vector<GridDim> threads;    ///< of each task, outermost first; empty: one thread
  StmtPtr body;
};

// ---- construction (build.cpp). Builders fold constants and check types; they throw InternalError
// on a type error ----
ExprPtr int_imm(std::int64_t value, DType type = DType::Int64);
ExprPtr float_imm(double value, DType type);
ExprPtr bool_imm(bool value);
ExprPtr var_ref(const Var& var);
ExprPtr reg_ref(int reg, ExprPtr slot, Type type);
ExprPtr unary(UnaryOp op, ExprPtr operand);
ExprPtr binary(BinaryOp op, ExprPtr left,
               ExprPtr right);  ///< broadcasts a scalar operand to the lanes of the other
ExprPtr select(ExprPtr condition, ExprPtr if_true, ExprPtr if_false);  ///< broadcasts likewise
ExprPtr cast(DType to, ExprPtr operand);
ExprPtr load(BufferPtr buffer, std::vector<ExprPtr> indices, ExprPtr mask = nullptr,
             ExprPtr otherwise = nullptr);
ExprPtr ramp(ExprPtr base, std::int64_t stride, int lanes);
ExprPtr broadcast(ExprPtr value, int lanes);
ExprPtr call(std::string function, std::vector<ExprPtr> args, DType result);
ExprPtr reduce(ReduceOp op, ExprPtr vector);
ExprPtr lane(ExprPtr vector, int lane);
ExprPtr shuffle(ExprPtr value, int distance, int group);
inline ExprPtr add(ExprPtr a, ExprPtr b) {
  return binary(BinaryOp::Add, std::move(a), std::move(b));
}
inline ExprPtr sub(ExprPtr a, ExprPtr b) {
  return binary(BinaryOp::Sub, std::move(a), std::move(b));
}
inline ExprPtr mul(ExprPtr a, ExprPtr b) {
  return binary(BinaryOp::Mul, std::move(a), std::move(b));
}
/// Identity of a reduction in a compute type: 0, 1, +inf or the type's maximum, -inf or its
/// minimum, true, false.
ExprPtr identity(ReduceOp op, DType type);

StmtPtr block(std::vector<StmtPtr> stmts);  ///< flattens nested blocks, drops empty ones
StmtPtr make_stmt(decltype(Stmt::node) node);

// ---- traversal: one function knows the children of a node; all passes derive from it ----
ExprPtr
map_children(const ExprPtr& expr,
             const std::function<ExprPtr(const ExprPtr&)>& f);  ///< same handle if unchanged
StmtPtr map_children(const StmtPtr& stmt, const std::function<ExprPtr(const ExprPtr&)>& on_expr,
                     const std::function<StmtPtr(const StmtPtr&)>& on_stmt);
/// The subscripts of an Mma, which are its only children.
Mma map_subscripts(const Mma& mma, const std::function<ExprPtr(const ExprPtr&)>& f);
void walk(const ExprPtr& expr, const std::function<void(const Expr&)>& f);
void walk(const StmtPtr& stmt, const std::function<void(const Stmt&)>& on_stmt,
          const std::function<void(const Expr&)>& on_expr);
bool equal(const ExprPtr& a, const ExprPtr& b);
/// Replaces variables by expressions (ids as keys).
ExprPtr substitute(const ExprPtr& expr, const std::vector<std::pair<int, ExprPtr>>& replacements);
StmtPtr substitute(const StmtPtr& stmt, const std::vector<std::pair<int, ExprPtr>>& replacements);

}  // namespace tc::kernel
