// SPDX-License-Identifier: Apache-2.0
//
// The tile program: kernels as loops over tiles with operations on whole tiles at the leaves. The
// stage where a target's choices (tile sizes, storage, layout of each operation) are already made
// and everything is still readable.
//
//   Program = (Argument* arguments, Kernel* kernels, Step* steps)        steps as in kernel/plan.h
//   Kernel  = (name, Buffer* buffers, Var* int_params, GridLoop* grid, thread?, Node* body)
//   Node    = Op | Loop(var, begin, end, step, Node*) | Local(buffer) | Barrier | Mma | Await
//   Op      = (kind, label, Digit* digits, Dim* box, Expr* conditions, Target* targets, combine,
//              from_identity, Layout)
//   Dim     = (var, begin, end, step, max_extent, reduction)
//   Target  = (buffer, Expr* subscripts, Expr value)
//
// An operation executes, for every point of its box (each var in [begin, end), where bounds may use
// grid, loop and int-param variables and vars of *earlier* dims) that satisfies all conditions:
// `target = value`, or `target = combine(target, value)` if it has a combine. A range whose end
// lies before its begin is empty. Order is free over non-reduction dims and, within the licence of
// the language, over reduction dims: points that differ in a reduction dim may write one element,
// points that differ only in others write different ones. (So a left-hand index may be a reduction
// dim: one of i and j in y(i+j), the indices of a scatter, also of one without combine, where any
// value may win.) Subscripts are 0-based positions in the buffer. Expressions are those of
// kernel/ir.h, scalar; a Load inside a subscript is a gather; loads carry `mask`/`otherwise` where
// the language guards them. A load without mask is in bounds at every point that satisfies the
// conditions, and only there.
//
//   kind      meaning, decided by structure (classify()) and checked by the verifier
//   load      copy of a box of a Global/Scratch buffer into a Local one      (staging, packing)
//   store     copy of a Local box into a Global/Scratch one
//   convert   copy that changes the element type
//   map       element-wise expression, no combine
//   gather    map whose loads have gathered subscripts
//   scatter   target subscripts contain a Load
//   reduce    combine along reduction dims, or onto existing values; two targets: tuple reduction
//             (ArgMin/ArgMax on (value, position); position -1: nothing yet)
//   contract  Add-reduce, over at least one reduction dim, of a product of two factors that do not
//             depend on exactly the same dims, float or integer
//
// Threads. In a kernel with a `thread` every thread of a task executes every node, each for its own
// points: bounds and conditions mention the operation's `digits`, parts of the thread's number.
// Taken together the threads execute each point of the operation once. Local buffers belong to the
// task (space Shared) or to each thread (space Register); a Barrier stands between two operations
// of which one writes what the other accesses in another thread. An Mma is the statement of
// kernel/ir.h: a product that the threads of a warp group execute together. An operation whose
// layout is `async`, a copy from global to shared memory, does not wait for what it copies: the
// elements are undefined until the same thread executes an Await that covers them.
//
// `from_identity`: the non-reduction dims of the box determine the target element uniquely and the
// operation starts from the identity instead of memory (every target element of the box is written
// even if its reduction is empty; conditions on reduction dims only skip contributions).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tc/kernel/ir.h"
#include "tc/kernel/plan.h"
#include "tc/support/options.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::tile {

enum class OpKind { Load, Store, Convert, Map, Gather, Scatter, Reduce, Contract };
enum class Combine { Add, Mul, Min, Max, ArgMin, ArgMax };

struct Dim {
  kernel::Var var;  ///< int64
  kernel::ExprPtr begin, end;
  std::int64_t max_extent = 0;  ///< end - begin never exceeds it
  bool reduction = false;
  /// 1, or the distance of the runs of this thread: [begin + k * step, ... + width) below end,
  /// where the width is the lanes of the layout (1 if the dim is not its vector dim).
  std::int64_t step = 1;
};

/// A digit of the number of the thread: var = thread / stride % extent.
struct Digit {
  kernel::Var var;  ///< int64
  std::int64_t stride = 1, extent = 1;
};

struct Target {
  kernel::BufferPtr buffer;
  std::vector<kernel::ExprPtr> subscripts;
  kernel::ExprPtr value;  ///< in the compute type of the buffer (the store converts)
};

/// How an operation is spread over vector lanes, registers and loops of one core. Chosen by the
/// target's selection (lower/), kept here so that it can be printed, edited and parsed. Empty: not
/// chosen yet.
struct Layout {
  std::vector<int> order;  ///< loop nest, outermost first: positions in Op::dims
  int vector_dim = -1;     ///< dim spread over lanes; -1: scalar
  int lanes = 1;
  std::vector<int>
      unroll;     ///< per dim: register-tile factor, in vectors for vector_dim; 1: not unrolled
  int group = 1;  ///< consecutive threads whose partial results combine; the first one writes
  bool async = false;  ///< a copy that nobody waits for before an Await
  bool operator==(const Layout&) const = default;
};

struct Op {
  OpKind kind = OpKind::Map;
  std::string label;  ///< statement name
  std::string text;   ///< the statement as its program has it, one line; empty for what only helps
  std::vector<Digit> digits;
  std::vector<Dim> dims;
  std::vector<kernel::ExprPtr> conditions;
  std::vector<Target> targets;
  std::optional<Combine> combine;
  bool from_identity = false;
  bool atomic = false;  ///< points of several threads or tasks may meet in one element, so each
                        ///< update of it is atomic; needs a combine with one target
  std::optional<Layout> layout;
};

struct Loop;
struct Local {
  kernel::BufferPtr buffer;
};  ///< declares tile-local storage for the rest of the enclosing list; contents undefined
struct Barrier {
  std::string scope;
};
using Node =
    std::variant<Op, std::shared_ptr<const Loop>, Local, Barrier, kernel::Mma, kernel::Await>;
/// A sequential loop of a tile: over blocks of a dimension, or a `for` of the language.
struct Loop {
  kernel::Var var;
  kernel::ExprPtr begin, end;
  std::int64_t step = 1;
  std::vector<Node> body;
};

/// Parallel over tiles: `var` takes begin, begin + step, ... below end, each in a task of its own.
struct GridLoop {
  kernel::Var var;
  std::int64_t begin = 0, end = 0, step = 1;
};

struct Kernel {
  std::string name;
  std::vector<kernel::BufferPtr> buffers;  ///< Global and Scratch buffers in argument order
  std::vector<kernel::Var> int_params;
  std::vector<GridLoop> grid;
  std::optional<kernel::GridDim> thread;  ///< threads of each task; absent: one
  std::vector<Node> body;
};

struct Program {
  std::string name;
  std::vector<kernel::Argument> arguments;
  std::vector<Kernel> kernels;
  std::vector<kernel::Step> steps;
  std::int64_t scratch_bytes = 0;
};

/// The kind that an operation's structure gives it.
OpKind classify(const Op& op);
/// One target; two of a reduction to a position; of another reduction any number, of one compute
/// type.
bool has_right_targets(const Op& op);

std::string print(const Program& program);
Result<Program, kernel::ParseError> parse(std::string_view text);
/// Types, scopes, bounds of every access against the buffer extents (interval analysis), kinds,
/// grid coverage. Empty if well formed.
std::vector<std::string> verify(const Program& program);

}  // namespace tc::tile
