// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cpu/lower.h"

#include <algorithm>

#include "tc/lower/op/nest.h"
#include "tc/lower/op/program_names.h"
#include "tc/support/numeric.h"

namespace tc::lower::cpu {

namespace {

using kernel::StmtPtr;

/// Lowers the body of one kernel. Barriers need nothing: one thread runs a task in program order.
class BodyLowering {
public:
  explicit BodyLowering(Names& names) : names_(names) {}

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
                     [](const tile::Barrier&) {},
                 },
                 node);
    }
    return kernel::block(std::move(out));
  }

  const std::optional<Rejection>& rejection() const { return rejection_; }

private:
  void operation(const tile::Op& op, const Ranges& ranges, std::vector<StmtPtr>& out) {
    auto stmt = lower_op(op, ranges, names_);
    if (!stmt) {
      rejection_ = stmt.error();
      return;
    }
    out.push_back(kernel::make_stmt(kernel::Comment{op.label}));
    out.push_back(*stmt);
  }

  Names& names_;
  std::optional<Rejection> rejection_;
};

Result<kernel::Kernel, Rejection> lower_kernel(const tile::Kernel& source) {
  Names names = names_after(source);
  kernel::Kernel kernel;
  kernel.name = source.name;
  kernel.buffers = source.buffers;
  kernel.int_params = source.int_params;
  std::vector<StmtPtr> out;
  for (const auto& loop : source.grid) {
    const std::int64_t tasks =
        std::max<std::int64_t>(ceil_div(loop.end - loop.begin, loop.step), 0);
    if (loop.begin == 0 && loop.step == 1) {
      kernel.grid.push_back({loop.var, tasks});
      continue;
    }
    const kernel::Var task = names.variable(loop.var.name);
    kernel.grid.push_back({task, tasks});
    out.push_back(kernel::make_stmt(kernel::Let{
        loop.var, kernel::add(kernel::int_imm(loop.begin),
                              kernel::mul(kernel::var_ref(task), kernel::int_imm(loop.step)))}));
  }
  BodyLowering body(names);
  out.push_back(body.list(source.body, grid_ranges(source)));
  if (body.rejection()) return *body.rejection();
  kernel.body = kernel::block(std::move(out));
  return kernel;
}

}  // namespace

Result<kernel::Plan, Rejection> lower(const tile::Program& program, const MappingOptions&,
                                      const Target&) {
  kernel::Plan plan;
  plan.name = program.name;
  plan.arguments = program.arguments;
  plan.steps = program.steps;
  plan.scratch_bytes = program.scratch_bytes;
  for (const auto& source : program.kernels) {
    auto kernel = lower_kernel(source);
    if (!kernel) return kernel.error();
    plan.kernels.push_back(*kernel);
  }
  return plan;
}

}  // namespace tc::lower::cpu
