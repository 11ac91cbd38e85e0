// SPDX-License-Identifier: Apache-2.0
//
// Host time of a run beside that of a bare cuLaunchKernelEx of the same kernel on the same stream,
// taken in turns in one process. Needs a GPU.
//
//   launch_overhead [DEVICE] [--cuda-path PATH] [--site-packages FOLDER]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tc/kernel/seal.h"
#include "tc/runtime/cuda/loaded_module.h"
#include "tc/runtime/cuda/nvrtc.h"
#include "tc/runtime/cuda/timing.h"

namespace {

using namespace tc;
using namespace tc::runtime::cuda;
using Clock = std::chrono::steady_clock;

/// Few enough that the queue of the driver never fills: a full one makes the host wait.
constexpr int kLaunches = 200;
constexpr int kRounds = 301;

constexpr const char* kSource = R"(
extern "C" __global__ void add(const float* a, const float* b, float* c, long long t) {
  if (t < 0) c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
)";

[[noreturn]] void fail(const std::string& message) {
  std::cerr << message << "\n";
  std::exit(4);
}

template <class T>
T need(Result<T, Rejection> result) {
  if (!result) fail(result.error().message);
  return std::move(result).value();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// µs of one call of `body`, called kLaunches times; the device catches up outside of the time.
template <class Body>
double time_calls(const Stream& stream, Body&& body) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < kLaunches; ++i)
    body();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (auto problem = stream.synchronise()) fail(problem->message);
  return us / kLaunches;
}

struct Bench {
  std::shared_ptr<const Driver> driver;
  int device;
  Stream stream;
  std::shared_ptr<const Module> module;
  void* pointers[3];

  void bare(void** parameters) const {
    LaunchConfig config = module->loaded(device)->kernels[0].config;
    config.stream = static_cast<CuStream>(stream.get());
    const CuResult code = driver->api().launch(&config, module->loaded(device)->kernels[0].function,
                                               parameters, nullptr);
    if (auto error = driver->error(code, "launching")) fail(error->to_string());
  }
  void ours() const {
    if (auto failed = run(*module, device, pointers, stream.get())) fail(failed->rejection.message);
  }
};

std::shared_ptr<const Module> make_module(const std::shared_ptr<const Driver>& driver, int device,
                                          NvrtcSearch search, const std::string& steps) {
  search.driver_version = driver->version();
  const auto nvrtc = need(Nvrtc::open(search));
  const auto compiled =
      need(compile_cubin(*nvrtc, kSource, "add.cu", {},
                         driver->devices().at(static_cast<std::size_t>(device)).arch()));
  LaunchTable table;
  table.arguments = {{.name = "a", .position = 0},
                     {.name = "b", .position = 1},
                     {.kind = kernel::Argument::Kind::Output, .name = "c", .position = 0}};
  table.kernels = {{.name = "add", .block = {32, 1, 1}, .buffers = 3, .ints = 1}};
  table.steps = kernel::parse_steps(steps).value();
  return need(Module::create(driver, kernel::seal(compiled.cubin), std::move(table)));
}

void report(const char* what, const std::vector<double>& samples, double base) {
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  fmt::print("{:<28} {:8.3f} us a launch (min {:.3f}, max {:.3f}){}\n", what, median(samples), *low,
             *high, base > 0 ? fmt::format("  {:+.3f} us", median(samples) - base) : "");
}

}  // namespace

int main(int count, char** words) {
  int device = 0;
  NvrtcSearch search;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--cuda-path" && i + 1 < count)
      search.cuda_path = words[++i];
    else if (word == "--site-packages" && i + 1 < count)
      search.site_packages.emplace_back(words[++i]);
    else
      device = std::atoi(word.c_str());
  }
  const auto driver = need(Driver::open());
  const auto context = need(driver->context(device));
  const auto memory = need(DeviceMemory::allocate(driver, device, 1024));
  Bench bench{driver,
              device,
              need(Stream::create(driver, device)),
              make_module(driver, device, search, "launch 0(0, 1, 2; 5)\n"),
              {memory.get(), memory.get(), memory.get()}};
  if (auto problem = bench.module->prepare(device)) fail(problem->message);
  std::int64_t t = 5;
  void* parameters[] = {&bench.pointers[0], &bench.pointers[1], &bench.pointers[2], &t};

  // As in a framework, the device's context is current; the last row is without.
  std::vector<double> bare, ours, switching;
  {
    const ContextScope scope(driver->api(), context);
    for (int round = 0; round < kRounds; ++round) {
      bare.push_back(time_calls(bench.stream, [&] { bench.bare(parameters); }));
      ours.push_back(time_calls(bench.stream, [&] { bench.ours(); }));
    }
  }
  for (int round = 0; round < kRounds; ++round)
    switching.push_back(time_calls(bench.stream, [&] { bench.ours(); }));

  // Launches of one run that a loop on the host makes.
  Bench loop = std::move(bench);
  loop.module =
      make_module(driver, device, search, "loop t in 0:10 {\n  launch 0(0, 1, 2; t * 2 + 1)\n}\n");
  if (auto problem = loop.module->prepare(device)) fail(problem->message);
  std::vector<double> looped;
  {
    const ContextScope scope(driver->api(), context);
    for (int round = 0; round < kRounds; ++round)
      looped.push_back(time_calls(loop.stream, [&] { loop.ours(); }) / 10);
  }
  const KernelTime kernel =
      need(time_kernels(driver, device, [&](const Stream& on, int) -> std::optional<Rejection> {
        if (auto failed = run(*loop.module, device, loop.pointers, on.get()))
          return failed->rejection;
        return std::nullopt;
      }));

  fmt::print("{}, driver for CUDA {}.{}; medians of {} rounds of {} calls, in turns\n",
             driver->device_text(device), driver->version() / 1000, driver->version() % 1000 / 10,
             kRounds, kLaunches);
  const double base = median(bare);
  report("cuLaunchKernelEx", bare, 0);
  report("run", ours, base);
  report("run, context not current", switching, base);
  report("run, loop of 10 launches", looped, base);
  fmt::print("kernel time of 10 launches: {:.3f} us (graph of {} runs)\n", kernel.median_us,
             kernel.runs_per_graph);
  return 0;
}
