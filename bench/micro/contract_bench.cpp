// SPDX-License-Identifier: Apache-2.0
//
// Rates of float32 products in the four transpositions, from a tile program through selection,
// lowering and machine code.
//
//   contract_bench [--tile ROWS COLUMNS] [--block-k K] [--rows R] [--vectors V] [--print]
//   [--no-stage] [SIZE...]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tc/codegen/llvm/codegen.h"
#include "tc/lower/cpu/lower.h"
#include "tc/runtime/cpu/module.h"

namespace {

using namespace tc;
using kernel::ExprPtr;

double seconds() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

/// Processor time of this process: fair on a busy machine when one thread runs.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Tiles {
  std::int64_t rows = 256, columns = 512;
};

kernel::BufferPtr matrix(int position, const char* name, std::int64_t n, bool writable) {
  auto buffer = std::make_shared<kernel::Buffer>();
  buffer->id = position;
  buffer->name = name;
  buffer->extents = {n, n};
  buffer->strides = {n, 1};
  buffer->alignment = 64;
  buffer->writable = writable;
  buffer->argument = position;
  return buffer;
}

/// C(m, n) = sum over k of A(m, k) * B(k, n), or with either operand stored transposed.
tile::Program product(std::int64_t size, bool transposed_a, bool transposed_b, Tiles tiles) {
  tile::Kernel kernel;
  kernel.name = "product";
  const auto a = matrix(0, "A", size, false), b = matrix(1, "B", size, false),
             c = matrix(2, "C", size, true);
  kernel.buffers = {a, b, c};
  const kernel::Var ti{0, "ti", {}}, tj{1, "tj", {}}, m{2, "m", {}}, n{3, "n", {}}, k{4, "k", {}};
  kernel.grid = {{ti, 0, size, tiles.rows}, {tj, 0, size, tiles.columns}};
  const auto ref = [](const kernel::Var& v) { return kernel::var_ref(v); };
  const auto end = [&](const kernel::Var& t, std::int64_t step) {
    return kernel::binary(kernel::BinaryOp::Min, kernel::add(ref(t), kernel::int_imm(step)),
                          kernel::int_imm(size));
  };
  tile::Op op;
  op.kind = tile::OpKind::Contract;
  op.label = "S0";
  op.dims = {{m, ref(ti), end(ti, tiles.rows), tiles.rows, false},
             {n, ref(tj), end(tj, tiles.columns), tiles.columns, false},
             {k, kernel::int_imm(0), kernel::int_imm(size), size, true}};
  const ExprPtr left =
      transposed_a ? kernel::load(a, {ref(k), ref(m)}) : kernel::load(a, {ref(m), ref(k)});
  const ExprPtr right =
      transposed_b ? kernel::load(b, {ref(n), ref(k)}) : kernel::load(b, {ref(k), ref(n)});
  op.targets = {{c, {ref(m), ref(n)}, kernel::mul(left, right)}};
  op.combine = tile::Combine::Add;
  op.from_identity = true;
  kernel.body = {op};
  tile::Program program;
  program.name = "product";
  for (const auto& buffer : kernel.buffers) {
    kernel::Argument argument;
    argument.name = buffer->name;
    argument.kind =
        buffer->writable ? kernel::Argument::Kind::Output : kernel::Argument::Kind::Input;
    argument.position = buffer->writable ? 0 : buffer->argument;
    program.arguments.push_back(argument);
  }
  program.kernels = {kernel};
  program.steps = {{kernel::Launch{0, {0, 1, 2}, {}}}};
  return program;
}

struct Settings {
  Tiles tiles;
  MappingOptions options;
  bool print = false;
};

float* aligned(std::vector<float>& storage, std::int64_t count) {
  storage.resize(count + 16);
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  return storage.data() + (64 - address % 64) % 64 / sizeof(float);
}

int measure(std::int64_t size, bool ta, bool tb, const Settings& settings) {
  const Target target = runtime::cpu::host_target();
  const double start = seconds();
  auto selected =
      lower::cpu::select(product(size, ta, tb, settings.tiles), settings.options, target);
  if (!selected) return std::cerr << selected.error().to_string() << "\n", 1;
  auto plan = lower::cpu::lower(*selected, settings.options, target);
  if (!plan) return std::cerr << plan.error().to_string() << "\n", 1;
  const double lowered = seconds();
  if (settings.print) std::cout << tile::print(*selected) << kernel::print(*plan);
  auto object = codegen::native::emit(*plan, target, {});
  if (!object) return std::cerr << object.error().to_string() << "\n", 1;
  auto module = runtime::cpu::Module::load(*object, {"product"});
  if (!module) return std::cerr << module.error().to_string() << "\n", 1;
  const double compiled = seconds();
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> storage[3];
  float* data[3];
  for (int i = 0; i < 3; ++i) {
    data[i] = aligned(storage[i], size * size);
    std::generate_n(data[i], size * size, [&] { return normal(random); });
  }
  void* pointers[] = {data[0], data[1], data[2]};
  const auto table = runtime::cpu::launch_table(*plan);
  std::vector<double> times, used;
  for (int round = 0; round < 12; ++round) {
    const double begin = seconds(), begin_used = processor_seconds();
    runtime::cpu::run(table, **module, pointers);
    times.push_back(seconds() - begin);
    used.push_back(processor_seconds() - begin_used);
  }
  double worst = 0;
  for (int sample = 0; sample < 200; ++sample) {
    const std::int64_t i = random() % size, j = random() % size;
    double sum = 0;
    for (std::int64_t r = 0; r < size; ++r)
      sum += double(data[0][ta ? r * size + i : i * size + r]) *
             data[1][tb ? j * size + r : r * size + j];
    worst = std::max(worst, std::abs(sum - data[2][i * size + j]));
  }
  std::sort(times.begin(), times.end());
  std::sort(used.begin(), used.end());
  const double flops = 2.0 * size * size * size;
  fmt::print("{:5} {}{}  best {:6.1f}  median {:6.1f} GF/s, per processor second {:6.1f} {:6.1f}   "
             "error {:.1e}   lowering {:.1f} ms, machine code {:.1f} ms\n",
             size, ta ? "T" : "N", tb ? "T" : "N", flops / times.front() / 1e9,
             flops / times[times.size() / 2] / 1e9, flops / used.front() / 1e9,
             flops / used[used.size() / 2] / 1e9, worst, (lowered - start) * 1e3,
             (compiled - lowered) * 1e3);
  return worst < 1e-2 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  Settings settings;
  std::vector<std::int64_t> sizes;
  const auto number = [&](int& i) { return i + 1 < count ? std::atoll(words[++i]) : 0; };
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--tile") {
      settings.tiles.rows = number(i);
      settings.tiles.columns = number(i);
    } else if (word == "--block-k") {
      settings.options.contract_block_k = number(i);
    } else if (word == "--rows") {
      settings.options.register_rows = number(i);
    } else if (word == "--vectors") {
      settings.options.register_vectors = number(i);
    } else if (word == "--print") {
      settings.print = true;
    } else if (word == "--no-stage") {
      settings.options.stage = false;
    } else {
      sizes.push_back(std::atoll(words[i]));
    }
  }
  if (sizes.empty()) sizes = {512, 1024, 1536, 2048};
  int status = 0;
  for (const std::int64_t size : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        status |= measure(size, ta, tb, settings);
  return status;
}
