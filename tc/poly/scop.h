// SPDX-License-Identifier: Apache-2.0
//
// The scop of one specialised def: statements with box domains cut by affine conditions, and what they access.
//
// Built from a TypedDef by making implicit things explicit, so that everything below sees plain statements:
//  * `op=!` becomes an Init statement "S3_init" (stores the identity over the left-hand ranges) and a Reduce statement "S3";
//  * a reduction whose accumulator type differs from the tensor's element type (16-bit floats, narrow integers, bool) runs on a
//    temporary "C.acc" of the accumulator type: [S3_read: C.acc = C  without `!`], S3, S3_store: C = C.acc;
//  * argmin/argmax are tuple reductions over (value, position) with a temporary "k.val";
//  * rfactor (split.h) is a later rewrite of the same structure.
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
  std::vector<std::int64_t> begin;    ///< smallest index per dimension
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
  std::vector<lang::ExprPtr> subscripts;   ///< over the statement's indices and for variables; may contain Reads (scatter)
  lang::ExprPtr value;                     ///< null for Init
};

struct Statement {
  std::string name;                        ///< isl tuple name, unique
  int source = 0;                          ///< lang::Statement::id
  SourceRange range;
  std::vector<int> loops;                  ///< ForLoop::var of enclosing loops, outermost first
  std::vector<lang::Index> indices;        ///< bounds over other indices, for variables, integers. IndexRef(i) is indices[i]
  std::vector<lang::ExprPtr> conditions;
  StatementKind kind = StatementKind::Assign;
  std::optional<lang::ReduceOp> op;        ///< Init, Reduce
  /// One; for ArgMin/ArgMax two: {value tensor, compared value}, {position tensor, position}, combined as a tuple.
  std::vector<Target> targets;
  bool scatter = false;                    ///< a left subscript is gathered
};

struct For;
using Node = std::variant<int /*statement*/, std::shared_ptr<const For>>;
struct For {
  int var = 0;
  std::string name;
  lang::ExprPtr lo, hi;                    ///< over enclosing for variables and integers
  std::vector<Node> body;
};

struct Scop {
  std::string name;
  std::vector<Tensor> tensors;             ///< those of the TypedDef first, at the same positions; then added temporaries
  std::vector<Statement> statements;       ///< textual order
  std::vector<Node> body;
};

Scop build_scop(const lang::TypedDef& specialised);

/// Splits reductions that have no outer parallelism ("rfactor"): S becomes S_part over a new index p with its own temporary and a
/// combining statement; fixed order, so deterministic. `parts` <= 1 does nothing.
Scop split_reduction(const Scop& scop, int statement, std::int64_t parts);

/// isl views of a scop. Tuples: statement names; [for variables..., indices...].
struct Relations {
  isl::union_set domain;        ///< { S[t..., i...] }
  isl::union_map must_writes;   ///< { S[...] -> A[a] }, affine left-hand sides
  isl::union_map may_writes;    ///< all writes; a scatter may write every element of the gathered dimensions
  isl::union_map reads;         ///< all reads, gathered ones over-approximated likewise; a Reduce reads its targets
  isl::union_map textual;       ///< { S[...] -> [original time] }, the sequential meaning
};
Relations relations(const Scop& scop, const sets::IslContext& context);

struct Dependences {
  isl::union_map flow;          ///< { S[i] -> T[j] }: j reads what i wrote
  isl::union_map order;         ///< anti and output dependences
  isl::union_map reduction;     ///< pairs of instances of one Reduce statement on one element: order free, not parallel
  isl::union_map all() const;   ///< flow and order, reductions relaxed
};
Dependences dependences(const Scop& scop, const Relations& relations);

/// Text of a scop (`--emit scop`): tensors, statements, domains, accesses.
std::string to_string(const Scop& scop);

} // namespace tc::poly
