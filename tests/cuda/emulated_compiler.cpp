// SPDX-License-Identifier: Apache-2.0
#include "cuda/emulated_compiler.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tc/compiler/dlpack_views.h"
#include "tc/compiler/pipeline.h"
#include "tc/emulation/run_plan.h"
#include "tc/support/check.h"

namespace tc::cases {

namespace {

Failure failure(Failure::Kind kind, std::string message) {
  Failure result;
  result.kind = kind;
  result.message = std::move(message);
  return result;
}

std::vector<emulation::LaunchShape> shapes_of(const codegen::cuda::Source& source) {
  std::vector<emulation::LaunchShape> shapes;
  for (const auto& kernel : source.kernels) {
    emulation::LaunchShape shape;
    shape.kernel = kernel.name;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      shape.grid[axis] = static_cast<int>(kernel.grid[axis]);
      shape.block[axis] = kernel.block[axis];
    }
    shape.shared_bytes =
        static_cast<std::size_t>(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace

EmulatedCompiler::EmulatedCompiler(std::string arch) {
  const auto target = cuda_target(arch);
  check(target.has_value(), "unknown architecture");
  target_ = *target;
}

Result<std::shared_ptr<EmulatedCompiler::Entry>, Failure>
EmulatedCompiler::translate(const Request& request, const Change& change, const Edit& edit) {
  const SourceBuffer source("<text>", request.text);
  auto front = compiler::front_end(source, request.def, request.metadata,
                                   compiler::fresh_alignment(target_));
  if (!front) return front.error();
  if (auto problem = compiler::prove(source, *front)) return *problem;
  const compiler::StageObserver ignore = [](compiler::Stage, const std::function<std::string()>&) {
  };
  auto program = compiler::make_tile_program(*front, request.options, target_, ignore);
  if (!program) return program.error();
  auto plan = compiler::make_plan(*program, request.options, target_, ignore);
  if (!plan) return plan.error();
  if (change) plan = change(*plan);
  auto text = codegen::cuda::emit(*plan, target_, {request.options.fast_math});
  if (!text) return compiler::mapping_failure(text.error());
  auto entry = std::make_shared<Entry>();
  entry->description = fmt::format("{} {}", request.def, to_json(request.options));
  entry->plan = std::move(plan).value();
  entry->source = std::move(text).value();
  if (edit) entry->source.text = edit(std::move(entry->source.text));
  entry->warnings = front->warnings;
  for (std::size_t o = 0; o < front->specialised.outputs.size(); ++o) {
    const auto& tensor =
        front->specialised.tensors[static_cast<std::size_t>(front->specialised.outputs[o])];
    if (tensor.is_param || tensor.needs_initial) entry->defined.push_back(static_cast<int>(o));
  }
  const std::string key = entry->source.text + kernel::print(entry->plan.steps) +
                          kernel::print(kernel::PlanHeader{entry->plan.name, entry->plan.arguments,
                                                           entry->plan.scratch_bytes});
  return entries_.emplace(key, std::move(entry)).first->second;
}

Compiled EmulatedCompiler::compiled(const std::shared_ptr<Entry>& entry, std::uint64_t seed) {
  auto runs = std::make_shared<std::uint64_t>(0);
  return {[entry, seed, runs](std::span<const DLTensor* const> inputs,
                              std::span<const DLTensor* const> outputs) -> std::optional<Failure> {
            if (!entry->module) return std::nullopt;
            return emulate(*entry, inputs, outputs, seed + (*runs)++);
          },
          entry->warnings};
}

Compile EmulatedCompiler::collect(std::uint64_t seed, const Change& change, const Edit& edit) {
  return [this, seed, change, edit](const Request& request) -> Result<Compiled, Failure> {
    auto entry = translate(request, change, edit);
    if (!entry) return entry.error();
    return compiled(*entry, seed);
  };
}

void EmulatedCompiler::build(std::size_t texts_per_unit) {
  std::vector<emulation::Header> headers;
  for (const auto& header : codegen::cuda::device_headers())
    headers.push_back({std::string(header.name), std::string(header.text)});
  const emulation::HostCompileOptions options{
      TC_HOST_COMPILER,
      {"-Wno-unknown-pragmas", "-Wl,--whole-archive", TC_MATH_LIBRARY, "-Wl,--no-whole-archive"}};
  std::vector<Entry*> batch;
  const auto flush = [&] {
    if (batch.empty()) return;
    std::vector<emulation::KernelText> texts;
    for (const Entry* entry : batch) {
      emulation::KernelText text{entry->source.text, {}};
      for (const auto& kernel : entry->source.kernels)
        text.kernels.push_back(kernel.name);
      texts.push_back(std::move(text));
    }
    auto module = emulation::HostModule::compile(texts, headers, options);
    if (!module) throw std::runtime_error(module.error().message.substr(0, 4000));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i]->module = *module;
      batch[i]->text = i;
    }
    batch.clear();
  };
  for (auto& [key, entry] : entries_) {
    if (entry->module) continue;
    batch.push_back(entry.get());
    if (batch.size() == texts_per_unit) flush();
  }
  flush();
}

std::optional<Failure> EmulatedCompiler::emulate(const Entry& entry,
                                                 std::span<const DLTensor* const> inputs,
                                                 std::span<const DLTensor* const> outputs,
                                                 std::uint64_t seed) {
  std::vector<void*> pointers;
  for (const auto& argument : entry.plan.arguments) {
    const auto position = static_cast<std::size_t>(argument.position);
    switch (argument.kind) {
    case kernel::Argument::Kind::Input:
      pointers.push_back(compiler::element_address(*inputs[position]));
      break;
    case kernel::Argument::Kind::Output:
      pointers.push_back(compiler::element_address(*outputs[position]));
      break;
    case kernel::Argument::Kind::Scratch: pointers.push_back(nullptr); break;
    }
  }
  const auto finding = emulation::run_plan(entry.plan, *entry.module, entry.text,
                                           shapes_of(entry.source), pointers, seed, entry.defined);
  if (!finding) return std::nullopt;
  return failure(Failure::Kind::Internal,
                 entry.description + ": " + finding->to_string() + "\n" + entry.source.text);
}

Compile EmulatedCompiler::run(std::uint64_t seed) {
  return [this, seed](const Request& request) -> Result<Compiled, Failure> {
    auto entry = translate(request, {}, {});
    if (!entry) return entry.error();
    if (!(*entry)->module)
      return failure(Failure::Kind::Internal, "a program that the first pass did not ask for");
    return compiled(*entry, seed);
  };
}

void EmulatedCompiler::for_each(
    const std::function<void(const std::string&, const codegen::cuda::Source&)>& visit) const {
  for (const auto& [key, entry] : entries_)
    visit(entry->description, entry->source);
}

std::vector<NamedOptions> cuda_option_sets() {
  MappingOptions odd_block;
  odd_block.threads = 48;
  odd_block.fusion = Fusion::Min;
  odd_block.tile = {3, 5, 7};
  odd_block.contract_block_k = 3;
  MappingOptions large_tiles;
  large_tiles.tile.assign(8, 1 << 20);
  large_tiles.threads = 128;
  large_tiles.contract_block_k = 8;
  return {{"naive", *named_options("naive", TargetKind::Cuda)},
          {"default", {}},
          {"block of 48", odd_block},
          {"tiles larger than the sizes", large_tiles}};
}

}  // namespace tc::cases
