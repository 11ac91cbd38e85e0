// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "tc/lower/cuda/async_copies.h"
#include "tc/lower/cuda/shared_bytes.h"
#include "tc/lower/op/body.h"
#include "tc/lower/op/program_names.h"
#include "tc/support/check.h"
#include "tc/support/cuda_limits.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

namespace {

using kernel::BinaryOp;
using kernel::ExprPtr;
using kernel::StmtPtr;

/// thread / stride % extent, without what changes nothing.
ExprPtr value_of(const tile::Digit& digit, const kernel::GridDim& thread) {
  ExprPtr value = kernel::var_ref(thread.var);
  if (digit.stride > 1)
    value = kernel::binary(BinaryOp::FloorDiv, value, kernel::int_imm(digit.stride));
  if (digit.stride * digit.extent < thread.extent)
    value = kernel::binary(BinaryOp::FloorMod, value, kernel::int_imm(digit.extent));
  return value;
}

Result<kernel::Kernel, Rejection> lower_kernel(const tile::Kernel& source, const Target& target) {
  check(source.thread.has_value(), "a kernel for a GPU has threads: select() comes before lower()");
  const std::int64_t bytes = shared_bytes(source.body);
  if (bytes > target.shared_bytes)
    return cuda_limits::shared_memory(source.name, bytes, target.arch, target.shared_bytes);
  Names names = names_after(source);
  kernel::Kernel kernel;
  kernel.name = source.name;
  kernel.buffers = source.buffers;
  kernel.int_params = source.int_params;
  kernel.threads = {*source.thread};
  std::vector<StmtPtr> out;
  kernel.grid = lower_grid(source, "_block", names, out);
  const BodyHooks hooks{[&](const tile::Op& op, std::vector<StmtPtr>& stmts) {
                          for (const auto& digit : op.digits)
                            stmts.push_back(kernel::make_stmt(
                                kernel::Let{digit.var, value_of(digit, *source.thread)}));
                        },
                        [](const tile::Barrier& barrier, std::vector<StmtPtr>& stmts) {
                          stmts.push_back(kernel::make_stmt(kernel::Barrier{barrier.scope}));
                        },
                        [](const tile::Op& op, const StmtPtr& nest) -> Result<StmtPtr, Rejection> {
                          const bool async = op.layout && op.layout->async;
                          return async ? as_async_copies(nest) : nest;
                        }};
  auto body = lower_body(source.body, grid_ranges(source), names, hooks);
  if (!body) return body.error();
  out.push_back(*body);
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
