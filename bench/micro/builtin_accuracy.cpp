// SPDX-License-Identifier: Apache-2.0
//
// Largest error of every unary builtin in compiled code, over every 256th float32, against extended
// precision. Prints the tables of docs/builtins_accuracy.md.
//
//   builtin_accuracy [--step N] [--threads N] [NAME...]
//
// Each builtin is compiled as `y(i) = f(x(i))` at every vector width of the target and as scalar
// code. An error is |got - exact| in units of the last place of float32 at the exact value; below
// the least normal number that unit stays 2^-149.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "builtin_reference.h"
#include "tc/lang/builtins.h"
#include "tc/runtime/cpu/module.h"
#include "tc/tc.h"

namespace {

constexpr std::int64_t kChunk = 1 << 16;

struct Worst {
  long double ulp = 0;
  float argument = 0, got = 0;
  long double exact = 0;

  void take(long double error, float x, float y, long double value) {
    if (error > ulp) *this = {error, x, y, value};
  }
  void take(const Worst& other) {
    if (other.ulp > ulp) *this = other;
  }
};

/// A value that no rounding explains.
struct Oddity {
  std::int64_t count = 0;
  float argument = 0, got = 0;
  long double exact = 0;
};

/// What one thread or one width saw.
struct Errors {
  Worst normal;     ///< argument and exact value are normal numbers
  Worst subnormal;  ///< one of them is zero or subnormal
  std::map<std::string, Oddity> oddities;

  void take(const Errors& other) {
    normal.take(other.normal);
    subnormal.take(other.subnormal);
    for (const auto& [what, oddity] : other.oddities) {
      Oddity& mine = oddities[what];
      if (mine.count == 0) mine = {0, oddity.argument, oddity.got, oddity.exact};
      mine.count += oddity.count;
    }
  }
};

/// Infinity counts as 2^128, the number that would follow the largest one, so that results at the
/// edge of the range are measured like all others.
long double finite(long double value) {
  const long double edge = std::ldexp(1.0L, 128);
  return std::clamp(value, -edge, edge);
}

long double unit(long double exact) {
  if (exact == 0) return std::ldexp(1.0L, -149);
  return std::ldexp(1.0L, std::max(std::min(std::ilogb(exact), 127) - 23, -149));
}

void compare(float x, float got, long double exact, Errors& errors) {
  const auto odd = [&](const char* what) {
    Oddity& oddity = errors.oddities[what];
    if (oddity.count++ == 0) oddity = {1, x, got, exact};
  };
  if (std::isnan(exact) || std::isnan(got)) {
    if (std::isnan(exact) != std::isnan(got)) odd(std::isnan(got) ? "NaN" : "no NaN");
    return;
  }
  if (exact == 0 && got == 0) {
    if (std::signbit(exact) != std::signbit(got)) odd("sign of zero");
    return;
  }
  const long double error = std::fabs(finite(got) - finite(exact)) / unit(finite(exact));
  if (std::isinf(x) || std::isinf(exact)) {
    // An exact infinity (a pole) or the limit at infinity has one right answer.
    if (error > 0.5L) odd(std::isinf(exact) ? "no infinity" : "limit at infinity");
    return;
  }
  const long double least = std::numeric_limits<float>::min();
  const bool ordinary = std::fabs(x) >= least && std::fabs(exact) >= least;
  (ordinary ? errors.normal : errors.subnormal).take(error, x, got, exact);
}

/// `y(i) = name(x(i))` for one chunk, run by the calling thread alone.
tc::Executor compiled(const std::string& name, int vector_bits) {
  const std::string text =
      fmt::format("def f(float(N) x) -> (float(N) y) {{ y(i) = float({}(x(i))) }}", name);
  tc::Metadata metadata;
  metadata.inputs = {{tc::DType::Float32, {kChunk}, {}, 64}};
  tc::MappingOptions options;
  options.vector_bits = vector_bits;
  options.tasks = 1;
  auto executor = tc::compile(text, "f", metadata, options);
  if (!executor) throw std::runtime_error(executor.error().message);
  return *executor;
}

struct Settings {
  std::uint64_t step = 256;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::string> names;
};

/// Bit patterns that a step may jump over: both neighbours of zero, of the least and the largest
/// normal number, of infinity, and of small halves and integers, where functions have zeros and
/// poles.
std::vector<std::uint32_t> corner_cases() {
  std::vector<float> centres = {0.0F, std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::infinity()};
  for (int halves = 1; halves <= 80; ++halves)
    centres.push_back(0.5F * static_cast<float>(halves));
  std::vector<std::uint32_t> patterns;
  for (float centre : centres)
    for (std::uint32_t sign : {0U, 0x80000000U})
      for (std::uint32_t shift : {0U, 1U, 2U, 0U - 1U})
        patterns.push_back((std::bit_cast<std::uint32_t>(centre) + shift) ^ sign);
  return patterns;
}

struct alignas(64) Chunk {
  float x[kChunk];
  float y[kChunk];
};

/// Chunks `first`, `first + threads`, ...; `errors` has one entry per executor.
void measure_part(const bench::Reference& reference, const std::vector<tc::Executor>& executors,
                  const Settings& settings, unsigned first, std::vector<Errors>& errors) {
  const std::vector<std::uint32_t> corners = corner_cases();
  const std::uint64_t stepped = ((std::uint64_t{1} << 32) + settings.step - 1) / settings.step;
  const std::uint64_t total = stepped + corners.size();
  const auto chunk = std::make_unique<Chunk>();
  std::vector<long double> exact(kChunk);
  for (std::uint64_t begin = first * kChunk; begin < total; begin += settings.threads * kChunk) {
    for (std::int64_t i = 0; i < kChunk; ++i) {
      const std::uint64_t sample = std::min(begin + static_cast<std::uint64_t>(i), total - 1);
      chunk->x[i] =
          std::bit_cast<float>(sample < stepped ? static_cast<std::uint32_t>(sample * settings.step)
                                                : corners[sample - stepped]);
      exact[static_cast<std::size_t>(i)] = reference.value(chunk->x[i]);
    }
    for (std::size_t e = 0; e < executors.size(); ++e) {
      void* const pointers[] = {chunk->x, chunk->y, nullptr};
      executors[e].run_unchecked(pointers);
      for (std::int64_t i = 0; i < kChunk; ++i)
        compare(chunk->x[i], chunk->y[i], exact[static_cast<std::size_t>(i)], errors[e]);
    }
  }
}

std::vector<Errors> measure(const bench::Reference& reference, const std::vector<int>& widths,
                            const Settings& settings) {
  std::vector<tc::Executor> executors;
  for (int width : widths)
    executors.push_back(compiled(std::string(reference.name), width));
  std::vector<std::vector<Errors>> parts(settings.threads, std::vector<Errors>(widths.size()));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < settings.threads; ++t)
    threads.emplace_back([&, t] { measure_part(reference, executors, settings, t, parts[t]); });
  for (std::thread& thread : threads)
    thread.join();
  std::vector<Errors> errors(widths.size());
  for (const auto& part : parts)
    for (std::size_t e = 0; e < widths.size(); ++e)
      errors[e].take(part[e]);
  return errors;
}

std::string width_name(int bits) {
  return bits == 1 ? "scalar" : fmt::format("{} bits", bits);
}

/// One row: error per width on normal numbers, the worst of them, the worst with subnormals.
std::string row(const bench::Reference& reference, const std::vector<Errors>& errors) {
  std::string text = fmt::format("| `{}` |", reference.name);
  Worst worst, subnormal;
  for (const Errors& e : errors) {
    text += fmt::format(" {:.2f} |", e.normal.ulp);
    worst.take(e.normal);
    subnormal.take(e.subnormal);
  }
  text += worst.ulp > 0 ? fmt::format(" {:.9g} |", worst.argument) : std::string(" |");
  text += fmt::format(" {:.2f} |", subnormal.ulp);
  text += subnormal.ulp > 0 ? fmt::format(" {:.9g} |\n", subnormal.argument) : std::string(" |\n");
  return text;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

Settings read_arguments(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--step" && i + 1 < argc)
      settings.step = std::max(1ULL, std::stoull(argv[++i]));
    else if (argument == "--threads" && i + 1 < argc)
      settings.threads = std::max(1U, static_cast<unsigned>(std::stoul(argv[++i])));
    else
      settings.names.push_back(argument);
  }
  return settings;
}

void report(const Settings& settings) {
  const tc::Target target = tc::runtime::cpu::host_target();
  std::vector<int> widths = {1};
  for (int bits = 128; bits <= target.vector_bits; bits *= 2)
    widths.push_back(bits);
  fmt::print("Machine: {}, {} with vectors of {} bits; {}. Every {}th float32 "
             "and corner cases.\n\n",
             processor(), target.arch, target.vector_bits, tc::version(), settings.step);
  std::string head = "| builtin |", rule = "|---|";
  for (int width : widths) {
    head += fmt::format(" {} |", width_name(width));
    rule += "--:|";
  }
  fmt::print("{} worst argument | with subnormals | worst argument |\n{}--:|--:|--:|\n", head,
             rule);
  std::string oddities;
  for (const bench::Reference& reference : bench::references()) {
    const auto& names = settings.names;
    if (!names.empty() && std::find(names.begin(), names.end(), reference.name) == names.end())
      continue;
    const std::vector<Errors> errors = measure(reference, widths, settings);
    fmt::print("{}", row(reference, errors));
    std::fflush(stdout);
    for (std::size_t e = 0; e < widths.size(); ++e)
      for (const auto& [what, oddity] : errors[e].oddities)
        oddities += fmt::format("| `{}` | {} | {} | {} | {:.9g} | {:.9g} | {:.9g} |\n",
                                reference.name, width_name(widths[e]), what, oddity.count,
                                oddity.argument, oddity.got, oddity.exact);
  }
  fmt::print("\nNaN, infinities and signs of zero that differ: {}\n",
             oddities.empty() ? "none." : "");
  if (!oddities.empty())
    fmt::print("\n| builtin | code | what | count | argument | got | exact |\n"
               "|---|---|---|--:|--:|--:|--:|\n{}",
               oddities);
}

/// The table would lie by omission if a builtin had no reference.
void check_complete() {
  const auto& known = bench::references();
  for (const tc::lang::BuiltinInfo& info : tc::lang::builtins()) {
    const bool found = std::any_of(known.begin(), known.end(),
                                   [&](const auto& entry) { return entry.name == info.name; });
    if (info.arity == 1 && !found)
      throw std::runtime_error(fmt::format("no reference for '{}'", info.name));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check_complete();
    report(read_arguments(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
