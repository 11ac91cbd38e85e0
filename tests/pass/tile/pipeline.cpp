// SPDX-License-Identifier: Apache-2.0
#include "pipeline.h"

#include <stdexcept>

#include "tc/lang/parser.h"
#include "tc/lang/ranges.h"
#include "tc/poly/split.h"

namespace tc::tile::testing {
namespace {

lang::TypedDef front_end(const std::string& text, const Shapes& shapes,
                         const lang::Bindings& known) {
  const SourceBuffer source("test.tc", text);
  DiagnosticSink sink;
  const lang::ast::Program program = lang::parse(source, sink);
  throw_if_errors(source, sink);
  const auto def = lang::analyse(program, program.defs.at(0).name.name, sink);
  throw_if_errors(source, sink);
  const auto bound = lang::bind_sizes(*def, shapes, known);
  if (!bound.ok())
    throw std::runtime_error(bound.errors.empty() ? bound.beyond_limits.all().front().message
                                                  : bound.errors.front());
  auto specialised = lang::specialise(*def, bound.bindings, sink);
  throw_if_errors(source, sink);
  return std::move(*specialised);
}

void collect(const std::vector<Node>& nodes, std::vector<const Op*>& ops) {
  for (const auto& node : nodes) {
    if (const auto* op = std::get_if<Op>(&node)) ops.push_back(op);
    if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&node))
      collect((*loop)->body, ops);
  }
}

}  // namespace

tc::Target machine() {
  tc::Target target;
  target.arch = "x86-64-v4";
  target.vector_bits = 512;
  target.vector_registers = 32;
  target.cores = 2;
  target.l1_bytes = 48 << 10;
  target.l2_bytes = 1 << 20;
  target.l3_bytes = 32 << 20;
  return target;
}

Built build_text(const std::string& text, const Shapes& shapes, const MappingOptions& options,
                 const lang::Bindings& known) {
  Built built;
  built.def = front_end(text, shapes, known);
  const sets::IslContext context;
  built.scop = poly::split_where_needed(poly::build_scop(built.def), options, {machine().cores});
  {
    const auto relations = poly::relations(built.scop, context);
    const auto dependences = poly::dependences(built.scop, relations);
    auto schedule = poly::compute_schedule(built.scop, dependences, relations, options);
    if (!schedule) throw std::runtime_error(schedule.error().to_string());
    built.schedule = std::move(*schedule);
  }
  for (const auto& tensor : built.scop.tensors) {
    const TensorMeta meta{tensor.type, tensor.extent, {}, 64};
    if (tensor.is_param) built.placement.inputs.push_back(meta);
  }
  for (const int output : built.def.outputs) {
    const auto& tensor = built.scop.tensors[static_cast<std::size_t>(output)];
    built.placement.outputs.push_back({tensor.type, tensor.extent, {}, 64});
  }
  auto program = build(built.scop, built.schedule, built.placement, options, machine());
  if (!program) throw std::runtime_error(program.error().to_string());
  built.program = std::move(*program);
  return built;
}

Program tile_text(const std::string& text, const Shapes& shapes, const MappingOptions& options) {
  return build_text(text, shapes, options).program;
}

std::vector<const Op*> operations(const Kernel& kernel) {
  std::vector<const Op*> ops;
  collect(kernel.body, ops);
  return ops;
}

const Op& operation(const Program& program, const std::string& label) {
  for (const auto& kernel : program.kernels)
    for (const auto* op : operations(kernel))
      if (op->label == label) return *op;
  throw std::runtime_error("no operation '" + label + "' in\n" + print(program));
}

}  // namespace tc::tile::testing
