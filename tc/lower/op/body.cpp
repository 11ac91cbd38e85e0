// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/body.h"

#include <algorithm>
#include <optional>

#include "tc/lower/op/nest.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower {

using kernel::StmtPtr;

namespace {

constexpr std::size_t kCommentLength = 160;

/// The statement's name and text, on one line that is not too long to read.
std::string comment_of(const tile::Op& op) {
  if (op.text.empty()) return op.label;
  std::string comment = op.label + ": " + op.text;
  if (comment.size() <= kCommentLength) return comment;
  comment.resize(kCommentLength - 4);
  return comment + " ...";
}

class BodyLowering {
public:
  BodyLowering(Names& names, const BodyHooks& hooks) : names_(names), hooks_(hooks) {}

  /// Null after a rejection.
  StmtPtr list(const std::vector<tile::Node>& nodes, const Ranges& ranges) {
    std::vector<StmtPtr> out;
    for (const auto& node : nodes) {
      if (rejection_) return nullptr;
      std::visit(Overloaded{
                     [&](const tile::Op& op) { operation(op, ranges, out); },
                     [&](const std::shared_ptr<const tile::Loop>& loop) {
                       Ranges inner = ranges;
                       add_loop(inner, *loop);
                       out.push_back(kernel::make_stmt(
                           kernel::For{loop->var, loop->begin, loop->end, loop->step,
                                       kernel::ForKind::Serial, list(loop->body, inner)}));
                     },
                     [&](const tile::Local& local) {
                       out.push_back(kernel::make_stmt(kernel::Alloc{local.buffer}));
                     },
                     [&](const tile::Barrier& barrier) { hooks_.barrier(barrier, out); },
                     [&](const kernel::Mma& mma) {
                       out.push_back(kernel::make_stmt(simple(mma, ranges)));
                     },
                     [&](const kernel::Await& await) { out.push_back(kernel::make_stmt(await)); },
                 },
                 node);
    }
    return kernel::block(std::move(out));
  }

  const std::optional<Rejection>& rejection() const { return rejection_; }

private:
  static kernel::Mma simple(const kernel::Mma& mma, const Ranges& ranges) {
    return kernel::map_subscripts(
        mma, [&](const kernel::ExprPtr& subscript) { return ranges.simplify(subscript); });
  }

  void operation(const tile::Op& op, const Ranges& ranges, std::vector<StmtPtr>& out) {
    auto stmt = lower_op(op, ranges, names_);
    if (stmt) stmt = hooks_.nest(op, *stmt);
    if (!stmt) {
      rejection_ = stmt.error();
      return;
    }
    out.push_back(kernel::make_stmt(kernel::Comment{comment_of(op)}));
    hooks_.before_op(op, out);
    out.push_back(*stmt);
  }

  Names& names_;
  const BodyHooks& hooks_;
  std::optional<Rejection> rejection_;
};

}  // namespace

Result<StmtPtr, Rejection> lower_body(const std::vector<tile::Node>& nodes, const Ranges& ranges,
                                      Names& names, const BodyHooks& hooks) {
  BodyLowering body(names, hooks);
  StmtPtr result = body.list(nodes, ranges);
  if (body.rejection()) return *body.rejection();
  return result;
}

std::vector<kernel::GridDim> lower_grid(const tile::Kernel& source, const char* suffix,
                                        Names& names, std::vector<StmtPtr>& out) {
  std::vector<kernel::GridDim> grid;
  for (const auto& loop : source.grid) {
    const std::int64_t tasks =
        std::max<std::int64_t>(ceil_div(loop.end - loop.begin, loop.step), 0);
    if (loop.begin == 0 && loop.step == 1) {
      grid.push_back({loop.var, tasks});
      continue;
    }
    const kernel::Var task = names.variable(loop.var.name + suffix);
    grid.push_back({task, tasks});
    out.push_back(kernel::make_stmt(kernel::Let{
        loop.var, kernel::add(kernel::int_imm(loop.begin),
                              kernel::mul(kernel::var_ref(task), kernel::int_imm(loop.step)))}));
  }
  return grid;
}

}  // namespace tc::lower
