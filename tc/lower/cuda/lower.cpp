// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/lower.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tc/lower/op/nest.h"
#include "tc/lower/op/program_names.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

namespace {

using kernel::BinaryOp;
using kernel::ExprPtr;
using kernel::StmtPtr;

/// Lowers the body of one kernel.
class BodyLowering {
public:
  BodyLowering(const kernel::GridDim& thread, Names& names) : thread_(thread), names_(names) {}

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
                       count_shared(*local.buffer);
                       out.push_back(kernel::make_stmt(kernel::Alloc{local.buffer}));
                     },
                     [&](const tile::Barrier& barrier) {
                       out.push_back(kernel::make_stmt(kernel::Barrier{barrier.scope}));
                     },
                 },
                 node);
    }
    return kernel::block(std::move(out));
  }

  const std::optional<Rejection>& rejection() const { return rejection_; }
  std::int64_t shared_bytes() const { return shared_bytes_; }

private:
  void count_shared(const kernel::Buffer& buffer) {
    if (buffer.space != kernel::Space::Shared) return;
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < buffer.extents.size(); ++d)
      elements += std::max<std::int64_t>(buffer.extents[d] - 1, 0) * buffer.strides[d];
    const std::int64_t bytes = ceil_div(elements * bits(buffer.type), std::int64_t{8});
    shared_bytes_ += ceil_div(bytes, kSharedAlignment) * kSharedAlignment;
  }

  /// thread / stride % extent, without what changes nothing.
  ExprPtr value_of(const tile::Digit& digit) const {
    ExprPtr value = kernel::var_ref(thread_.var);
    if (digit.stride > 1)
      value = kernel::binary(BinaryOp::FloorDiv, value, kernel::int_imm(digit.stride));
    if (digit.stride * digit.extent < thread_.extent)
      value = kernel::binary(BinaryOp::FloorMod, value, kernel::int_imm(digit.extent));
    return value;
  }

  void operation(const tile::Op& op, const Ranges& ranges, std::vector<StmtPtr>& out) {
    auto stmt = lower_op(op, ranges, names_);
    if (!stmt) {
      rejection_ = stmt.error();
      return;
    }
    out.push_back(kernel::make_stmt(kernel::Comment{op.label}));
    for (const auto& digit : op.digits)
      out.push_back(kernel::make_stmt(kernel::Let{digit.var, value_of(digit)}));
    out.push_back(*stmt);
  }

  static constexpr std::int64_t kSharedAlignment = 16;

  const kernel::GridDim& thread_;
  Names& names_;
  std::int64_t shared_bytes_ = 0;
  std::optional<Rejection> rejection_;
};

Result<kernel::Kernel, Rejection> lower_kernel(const tile::Kernel& source, const Target& target) {
  check(source.thread.has_value(), "a kernel for a GPU has threads: select() comes before lower()");
  Names names = names_after(source);
  kernel::Kernel kernel;
  kernel.name = source.name;
  kernel.buffers = source.buffers;
  kernel.int_params = source.int_params;
  kernel.threads = {*source.thread};
  std::vector<StmtPtr> out;
  for (const auto& loop : source.grid) {
    const std::int64_t tasks =
        std::max<std::int64_t>(ceil_div(loop.end - loop.begin, loop.step), 0);
    if (loop.begin == 0 && loop.step == 1) {
      kernel.grid.push_back({loop.var, tasks});
      continue;
    }
    const kernel::Var task = names.variable(loop.var.name + "_block");
    kernel.grid.push_back({task, tasks});
    out.push_back(kernel::make_stmt(kernel::Let{
        loop.var, kernel::add(kernel::int_imm(loop.begin),
                              kernel::mul(kernel::var_ref(task), kernel::int_imm(loop.step)))}));
  }
  BodyLowering body(*source.thread, names);
  out.push_back(body.list(source.body, grid_ranges(source)));
  if (body.rejection()) return *body.rejection();
  if (body.shared_bytes() > target.shared_bytes)
    return Rejection{
        RejectionKind::LocalMemoryOverflow,
        fmt::format("kernel '{}' needs {} bytes of shared memory, a block of {} has {}",
                    source.name, body.shared_bytes(), target.arch, target.shared_bytes),
        body.shared_bytes(), target.shared_bytes};
  kernel.body = kernel::block(std::move(out));
  return kernel;
}

}  // namespace

Result<kernel::Plan, Rejection> lower(const tile::Program& program, const MappingOptions&,
                                      const Target& target) {
  kernel::Plan plan;
  plan.name = program.name;
  plan.arguments = program.arguments;
  plan.steps = program.steps;
  plan.scratch_bytes = program.scratch_bytes;
  for (const auto& source : program.kernels) {
    auto kernel = lower_kernel(source, target);
    if (!kernel) return kernel.error();
    plan.kernels.push_back(kernel::simplify(kernel::unroll(*kernel)));
  }
  return plan;
}

}  // namespace tc::lower::cuda
