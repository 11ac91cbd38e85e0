// SPDX-License-Identifier: Apache-2.0
#include "check_program.h"

#include "execute.h"
#include "tc/codegen/llvm/codegen.h"
#include "tc/kernel/passes.h"
#include "tc/lower/cpu/lower.h"
#include "tc/runtime/cpu/module.h"

namespace tc::test {
namespace {

/// True if every write of a buffer starts from nothing: then its contents do not matter before.
bool is_overwritten(const tile::Kernel& kernel, const kernel::BufferPtr& buffer) {
  for (const auto& node : kernel.body) {
    const auto* op = std::get_if<tile::Op>(&node);
    if (!op) continue;
    for (const auto& target : op->targets)
      if (target.buffer->id == buffer->id) return !op->combine || op->from_identity;
  }
  return false;
}

Memory make_memory(const tile::Kernel& kernel, unsigned seed) {
  std::mt19937 random(seed);
  Memory memory;
  for (const auto& b : kernel.buffers) {
    Storage storage(b);
    const Fill values = seed % 4 == 3 ? Fill::WithNan : Fill::Integers;
    fill(storage, is_overwritten(kernel, b) ? Fill::Poison : values, random);
    memory.emplace(b->id, std::move(storage));
  }
  return memory;
}

std::string run_native(const kernel::Plan& plan, const tile::Kernel& kernel, const Target& target,
                       Memory& memory) {
  auto object = codegen::native::emit(plan, target, {});
  if (!object) return "emit: " + object.error().to_string();
  auto module = runtime::cpu::Module::load(*object, {kernel.name});
  if (!module) return "load: " + module.error().to_string();
  std::vector<void*> pointers;
  for (const auto& b : kernel.buffers)
    pointers.push_back(memory.at(b->id).base());
  runtime::cpu::run(runtime::cpu::launch_table(plan), **module, pointers.data());
  return {};
}

}  // namespace

namespace {

/// Runs `reference` directly and `program` lowered; both have the same arguments.
std::string compare(const tile::Program& reference, const tile::Program& program,
                    const MappingOptions& options, const Target& target, Run run, unsigned seed) {
  auto plan = lower::cpu::lower(program, options, target);
  if (!plan) return "refused: " + plan.error().to_string();
  for (const auto& error : kernel::verify(*plan))
    return "kernel: " + error;
  const tile::Kernel& kernel = reference.kernels.at(0);
  Memory expected = make_memory(kernel, seed);
  Memory actual = expected;
  execute(kernel, expected);
  if (run == Run::Checked) {
    try {
      execute(plan->kernels.at(0), actual);
    } catch (const std::exception& e) {
      return std::string(e.what()) + "\n" + kernel::print(*plan);
    }
  } else if (auto error = run_native(*plan, kernel, target, actual); !error.empty()) {
    return error;
  }
  for (const auto& b : kernel.buffers)
    if (auto d = difference(expected.at(b->id), actual.at(b->id)); !d.empty())
      return d + "\n" + kernel::print(*plan);
  return {};
}

}  // namespace

std::string check_lowered(const tile::Program& program, const MappingOptions& options,
                          const Target& target, Run run, unsigned seed) {
  return compare(program, program, options, target, run, seed);
}

std::string check_selected(const tile::Program& program, const MappingOptions& options,
                           const Target& target, Run run, unsigned seed) {
  auto selected = lower::cpu::select(program, options, target);
  if (!selected) return "refused: " + selected.error().to_string();
  const std::string text = tile::print(*selected);
  for (const auto& error : tile::verify(*selected))
    return "tile: " + error + "\n" + text;
  auto parsed = tile::parse(text);
  if (!parsed)
    return "parse: line " + std::to_string(parsed.error().line) + ": " + parsed.error().message +
           "\n" + text;
  if (tile::print(*parsed) != text) return "the text changes when parsed and printed\n" + text;
  const std::string error = compare(program, *parsed, options, target, run, seed);
  return error.empty() ? error : error + "\n" + text;
}

}  // namespace tc::test
