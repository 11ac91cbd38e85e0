// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cpu/lower.h"

#include "tc/lower/op/body.h"
#include "tc/lower/op/program_names.h"

namespace tc::lower::cpu {

namespace {

Result<kernel::Kernel, Rejection> lower_kernel(const tile::Kernel& source) {
  Names names = names_after(source);
  kernel::Kernel kernel;
  kernel.name = source.name;
  kernel.buffers = source.buffers;
  kernel.int_params = source.int_params;
  std::vector<kernel::StmtPtr> out;
  kernel.grid = lower_grid(source, "", names, out);
  // Barriers need nothing: one thread runs a task in program order.
  const BodyHooks hooks{
      [](const tile::Op&, std::vector<kernel::StmtPtr>&) {},
      [](const tile::Barrier&, std::vector<kernel::StmtPtr>&) {},
      [](const tile::Op&, const kernel::StmtPtr& nest) -> Result<kernel::StmtPtr, Rejection> {
        return nest;
      }};
  auto body = lower_body(source.body, grid_ranges(source), names, hooks);
  if (!body) return body.error();
  out.push_back(*body);
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
