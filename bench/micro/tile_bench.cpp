// SPDX-License-Identifier: Apache-2.0
//
// Time of a tile program given as text: selection, lowering, machine code, runs on random data.
//
//   tile_bench FILE [--print] [--asm] [--no-stage]
#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tc/codegen/llvm/codegen.h"
#include "tc/lower/cpu/lower.h"
#include "tc/runtime/cpu/module.h"

namespace {

using namespace tc;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Normal floats; other types get zeros, which are legal subscripts.
std::vector<unsigned char> filled(const kernel::Buffer& buffer, std::mt19937& random) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < buffer.extents.size(); ++d)
    elements += (buffer.extents[d] - 1) * buffer.strides[d];
  std::vector<unsigned char> bytes(elements * std::max(bits(buffer.type), 8) / 8 + 128, 0);
  if (buffer.type != DType::Float32) return bytes;
  std::normal_distribution<float> normal;
  auto* values = reinterpret_cast<float*>(bytes.data());
  std::generate_n(values, elements + 16, [&] { return normal(random); });
  return bytes;
}

int fail(const std::string& message) {
  std::cerr << message << "\n";
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return fail("usage: tile_bench FILE [--print] [--asm] [--no-stage]");
  bool print = false, assembly = false;
  MappingOptions options;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    print = print || word == "--print";
    assembly = assembly || word == "--asm";
    if (word == "--no-stage") options.stage = false;
  }
  std::stringstream text;
  text << std::ifstream(words[1]).rdbuf();
  auto program = tile::parse(text.str());
  if (!program)
    return fail(fmt::format("{}:{}: {}", words[1], program.error().line, program.error().message));
  const Target target = runtime::cpu::host_target();
  const double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
  auto selected = lower::cpu::select(*program, options, target);
  if (!selected) return fail(selected.error().to_string());
  const double chosen = seconds(CLOCK_PROCESS_CPUTIME_ID);
  auto plan = lower::cpu::lower(*selected, options, target);
  if (!plan) return fail(plan.error().to_string());
  const double lowered = seconds(CLOCK_PROCESS_CPUTIME_ID);
  if (print) std::cout << tile::print(*selected) << kernel::print(*plan);
  if (assembly)
    std::cout << *codegen::native::emit(*plan, target, {codegen::native::Output::Assembly});
  auto object = codegen::native::emit(*plan, target, {});
  if (!object) return fail(object.error().to_string());
  std::vector<std::string> names;
  for (const auto& kernel : plan->kernels)
    names.push_back(kernel.name);
  auto module = runtime::cpu::Module::load(*object, names);
  if (!module) return fail(module.error().to_string());
  const double compiled = seconds(CLOCK_PROCESS_CPUTIME_ID);
  std::mt19937 random(1);
  std::vector<std::vector<unsigned char>> storage(plan->arguments.size());
  std::vector<void*> pointers(plan->arguments.size());
  for (std::size_t i = 0; i < plan->arguments.size(); ++i) {
    for (const auto& kernel : plan->kernels)
      for (const auto& buffer : kernel.buffers)
        if (buffer->name == plan->arguments[i].name) storage[i] = filled(*buffer, random);
    const auto address = reinterpret_cast<std::uintptr_t>(storage[i].data());
    pointers[i] = storage[i].data() + (64 - address % 64) % 64;
  }
  const auto table = runtime::cpu::launch_table(*plan);
  std::vector<double> wall, used;
  for (int round = 0; round < 30; ++round) {
    const double begin = seconds(CLOCK_MONOTONIC), begin_used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    runtime::cpu::run(table, **module, pointers.data());
    wall.push_back(seconds(CLOCK_MONOTONIC) - begin);
    used.push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - begin_used);
  }
  std::sort(wall.begin(), wall.end());
  std::sort(used.begin(), used.end());
  fmt::print("{}: wall best {:.1f} median {:.1f} us, processor best {:.1f} median {:.1f} us; "
             "selection {:.1f} ms, lowering {:.1f} ms, machine code {:.1f} ms\n",
             program->name, wall[0] * 1e6, wall[15] * 1e6, used[0] * 1e6, used[15] * 1e6,
             (chosen - start) * 1e3, (lowered - chosen) * 1e3, (compiled - lowered) * 1e3);
  return 0;
}
