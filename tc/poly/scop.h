// SPDX-License-Identifier: Apache-2.0
//
// The scop of one specialised def: statements with box domains cut by affine conditions, and what
// they access.
//
// Built from a TypedDef by making implicit things explicit, so that everything below sees plain
// statements:
//  * `op=!` becomes an Init statement "S3_init" (stores the identity over the left-hand ranges) and
//  a Reduce statement "S3";
//  * a reduction whose accumulator type differs from the tensor's element type (16-bit floats,
//  narrow integers, bool) runs on a
//    temporary "C.acc" of the accumulator type: [S3_read: C.acc = C  without `!`], S3, S3_store: C
//    = C.acc;
//  * argmin/argmax are tuple reductions over (value, position) with a temporary "k.val";
//  * rfactor (split.h) is a later rewrite of the same structure.
//
// Init, read and store statements run over the ranges of the left-hand indices alone, cut by the
// conditions on left-hand indices only, so a triangular left-hand index keeps its bounds. A left
// side that several points share (`y(i+j)`) whose elements form a box is covered by one fresh index
// per dimension; a gathered left side by the whole tensor.
//
// The tuple reduction of ArgMin and ArgMax. The pair starts as (identity, -1), where position -1
// means "nothing yet"; no contribution has a negative position (an index that can be negative is
// shifted by a constant and stored through a temporary "k.pos"). A new pair (v, p) replaces the
// held pair (w, q) if
//     q < 0   or   v is NaN and w is not   or   v is strictly better than w   or   (v == w, or both
//     are NaN) and p < q
// with "better" greater for ArgMax and less for ArgMin. The order of the contributions never
// matters. Identities of the value: -inf and +inf for floats, the type's limits for integers; they
// are never compared, since q < 0 decides first.
#pragma once

#include <isl/cpp.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tc/lang/typed.h"
#include "tc/sets/context.h"

namespace tc::poly {

struct Tensor {
  std::string name;
  DType type = DType::Float32;
  std::vector<std::int64_t> begin;  ///< smallest index per dimension
  std::vector<std::int64_t> extent;
  bool is_param = false;
  bool is_output = false;
  bool needs_initial = false;
  int param_position = -1;
  int output_position = -1;
};

enum class StatementKind {
  Assign,  ///< target = value
  Init,    ///< target = identity of `op`
  Reduce,  ///< target = combine(op, target, value)
};

struct Target {
  int tensor = 0;
  std::vector<lang::ExprPtr>
      subscripts;  ///< over the statement's indices and for variables; may contain Reads (scatter)
  lang::ExprPtr value;  ///< null for Init
};

struct Statement {
  std::string name;  ///< isl tuple name, unique
  int source = 0;    ///< lang::Statement::id
  SourceRange range;
  std::string text;        ///< lang::Statement::text of the source
  std::vector<int> loops;  ///< ForLoop::var of enclosing loops, outermost first
  std::vector<lang::Index>
      indices;  ///< bounds over other indices, for variables, integers. IndexRef(i) is indices[i]
  std::vector<lang::ExprPtr> conditions;
  StatementKind kind = StatementKind::Assign;
  std::optional<lang::ReduceOp> op;  ///< Init, Reduce
  /// One; for ArgMin/ArgMax two: {value tensor, compared value}, {position tensor, position},
  /// combined as a tuple.
  std::vector<Target> targets;
  bool scatter = false;  ///< a left subscript is gathered
  int part_index = -1;   ///< the index that split_reduction added; fusion never gives it up
};

struct For;
using Node = std::variant<int /*statement*/, std::shared_ptr<const For>>;
struct For {
  int var = 0;
  std::string name;
  lang::ExprPtr lo, hi;  ///< over enclosing for variables and integers
  std::vector<Node> body;
};

struct Scop {
  std::string name;
  std::vector<Tensor>
      tensors;  ///< those of the TypedDef first, at the same positions; then added temporaries
  std::vector<Statement> statements;  ///< textual order
  std::vector<Node> body;
};

Scop build_scop(const lang::TypedDef& specialised);

/// Splits reductions that have no outer parallelism ("rfactor"): S becomes S_part over a new index
/// p with its own temporary and a combining statement; fixed order, so deterministic. `parts` <= 1
/// does nothing. See split.h for what can be split and when.
Scop split_reduction(const Scop& scop, int statement, std::int64_t parts);

/// isl views of a scop. Tuples: statement names; [for variables..., indices...].
struct Relations {
  isl::union_set domain;       ///< { S[t..., i...] }
  isl::union_map must_writes;  ///< { S[...] -> A[a] }, affine left-hand sides
  isl::union_map
      may_writes;  ///< all writes; a scatter may write every element of the gathered dimensions
  isl::union_map
      reads;  ///< all reads, gathered ones over-approximated likewise; a Reduce reads its targets
  isl::union_map
      textual;  ///< { S[...] -> [p0, t0, p1, ...] }, the sequential meaning, padded with zeros
};
/// Tuples of tensors carry the tensor's name, in the index space of the tensor (see Tensor::begin).
/// Padded reads reach only elements inside the tensor; a subscript that is not affine reaches every
/// position of its dimension.
Relations relations(const Scop& scop, const sets::IslContext& context);

/// Memory-based: every earlier write of an element that a later instance touches counts, not only
/// the last one.
struct Dependences {
  isl::union_map flow;   ///< { S[i] -> T[j] }: j reads what i wrote
  isl::union_map order;  ///< anti and output dependences that are not already in `flow`
  /// Pairs of instances of one statement on one element in one iteration of its loops, each pair
  /// once with the lexicographically smaller instance first: the order is free, but they must not
  /// run at the same time. Of Reduce statements, and of Init and Assign statements with a shared
  /// left side (scattered `=`).
  isl::union_map reduction;
  isl::union_map all() const;  ///< flow and order, reductions relaxed
};
/// Throws isl::exception_quota when the context's operation quota runs out, as relations() does.
Dependences dependences(const Scop& scop, const Relations& relations);

/// Text of a scop (`--emit scop`): tensors, statements, domains, accesses.
std::string to_string(const Scop& scop);

}  // namespace tc::poly
