// SPDX-License-Identifier: Apache-2.0
//
// Element types: every bit pattern is read as the CPU reads it, values are stored as the CPU stores
// them, casts are those of the language.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "batch.h"
#include "elements.h"
#include "tc/support/numeric.h"

namespace tc::test {
namespace {

constexpr DType kNarrow[] = {DType::Bool,     DType::Int8,         DType::Int16,
                             DType::UInt8,    DType::UInt16,       DType::Float16,
                             DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2,
                             DType::Int4,     DType::UInt4};
constexpr DType kCompute[] = {DType::Bool,   DType::Int32,   DType::Int64,  DType::UInt32,
                              DType::UInt64, DType::Float32, DType::Float64};

/// Numbers at the edges of all types, halves between neighbours, and random ones.
std::vector<double> interesting(int random) {
  std::vector<double> v = {0.0, -0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, -0.5, -1.0, -1.5, 7.5, 8.0};
  for (int e = -160; e <= 130; ++e)
    for (const double f :
         {1.0, 1.0 + 0x1p-11, 1.0 + 0x1p-9, 1.0625, 1.125, 1.1875, 1.5, 1.9375, 2 - 0x1p-8})
      for (const double s : {1.0, -1.0})
        v.push_back(s * std::ldexp(f, e));
  for (const double edge : {127.0,
                            128.0,
                            255.0,
                            256.0,
                            32767.0,
                            32768.0,
                            65504.0,
                            65519.0,
                            65520.0,
                            448.0,
                            464.0,
                            480.0,
                            57344.0,
                            61440.0,
                            2147483647.0,
                            2147483648.0,
                            4294967295.0,
                            4294967296.0,
                            9223372036854775808.0,
                            18446744073709551616.0})
    for (const double step : {-1.0, -0.5, 0.0, 0.5, 1.0})
      for (const double s : {1.0, -1.0})
        v.push_back(s * (edge + step));
  v.push_back(std::numeric_limits<double>::infinity());
  v.push_back(-std::numeric_limits<double>::infinity());
  v.push_back(std::numeric_limits<double>::quiet_NaN());
  std::mt19937_64 generator(20261130);
  for (int i = 0; i < random; ++i)
    v.push_back(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(generator()))));
  while (v.size() % 8 != 0)
    v.push_back(0);
  return v;
}

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

TEST(Storage, EveryPatternIsReadAsTheCpuReadsIt) {
  std::vector<std::string> kernels;
  for (const DType type : kNarrow) {
    const int n = bits(type) == 16 ? 65536 : bits(type) == 4 ? 16 : 256;
    const DType compute = compute_type(type);
    for (const int lanes : {1, 8}) {
      const std::string index = lanes == 1 ? "i" : "ramp(i * 8, 1, 8)";
      kernels.push_back(
          fmt::format("kernel k {{\n buffer X {}[{}] align 16\n buffer Z {}[{}] align "
                      "16 writable\n grid i {}\n Z[{}] = X[{}]\n}}\n",
                      name(type), n, name(compute), n, n / lanes, index, index));
    }
  }
  const Batch batch(kernels);
  std::size_t k = 0;
  for (const DType type : kNarrow) {
    const std::size_t n = bits(type) == 16 ? 65536 : bits(type) == 4 ? 16 : 256;
    auto x = bytes_of(type, n);
    for (std::size_t i = 0; i < n; ++i)
      set_element(type, x, i, i);
    for (int way = 0; way < 2; ++way, ++k) {
      auto z = bytes_of(compute_type(type), n);
      expect_runs(batch, k, {argument(x), argument(z)});
      int wrong = 0;
      for (std::size_t i = 0; i < n; ++i)
        wrong +=
            same(decoded(compute_type(type), element(compute_type(type), z, i)), decoded(type, i))
                ? 0
                : 1;
      EXPECT_EQ(wrong, 0) << name(type) << " way " << way;
    }
  }
}

TEST(Storage, ValuesAreStoredAsTheCpuStoresThem) {
  const auto numbers = interesting(20000);
  const std::size_t n = numbers.size();
  std::vector<std::string> kernels;
  for (const DType type : kNarrow) {
    for (const int lanes : {1, 8}) {
      const std::string index = lanes == 1 ? "i" : "ramp(i * 8, 1, 8)";
      kernels.push_back(
          fmt::format("kernel k {{\n buffer X {}[{}] align 16\n buffer Z {}[{}] align "
                      "16 writable\n grid i {}\n Z[{}] = X[{}]\n}}\n",
                      name(compute_type(type)), n, name(type), n,
                      n / static_cast<std::size_t>(lanes), index, index));
    }
  }
  const Batch batch(kernels);
  std::size_t k = 0;
  for (const DType type : kNarrow) {
    const DType compute = compute_type(type);
    auto x = bytes_of(compute, n);
    std::vector<std::uint64_t> expected(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (is_float(type)) {
        const auto value = static_cast<float>(numbers[i]);
        set_element(compute, x, i, std::bit_cast<std::uint32_t>(value));
        const auto wide = static_cast<double>(value);
        expected[i] = type == DType::Float16        ? float16_from_double(wide)
                      : type == DType::BFloat16     ? bfloat16_from_double(wide)
                      : type == DType::Float8E4M3FN ? float8_e4m3fn_from_double(wide)
                                                    : float8_e5m2_from_double(wide);
      } else if (type == DType::Bool) {
        set_element(compute, x, i, i % 3 == 0 ? 1 : 0);
        expected[i] = i % 3 == 0 ? 1 : 0;
      } else {
        const auto value = static_cast<std::uint32_t>(i * 2654435761u);
        set_element(compute, x, i, value);
        expected[i] = value & ((std::uint64_t{1} << bits(type)) - 1);
      }
    }
    for (int way = 0; way < 2; ++way, ++k) {
      auto z = bytes_of(type, n);
      expect_runs(batch, k, {argument(x), argument(z)});
      int wrong = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double got = decoded(type, element(type, z, i));
        wrong += same(got, decoded(type, expected[i])) ? 0 : 1;
      }
      EXPECT_EQ(wrong, 0) << name(type) << " way " << way;
    }
  }
}

/// The cast of the language on a value of a compute type, as a pattern of compute_type(to).
std::uint64_t reference_cast(DType from, DType to, std::uint64_t pattern) {
  const DType compute = compute_type(to);
  const auto as_pattern = [&](double value) -> std::uint64_t {
    if (compute == DType::Float64) return std::bit_cast<std::uint64_t>(value);
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  };
  const auto masked = [&](std::uint64_t value) {
    return bits(compute) == 64 ? value : value & 0xffffffffu;
  };
  if (is_float(from)) {
    const double value = decoded(from, pattern);
    if (to == DType::Bool) return value != 0 ? 1 : 0;
    if (is_float(to)) return as_pattern(round_to(to, value));
    return masked(static_cast<std::uint64_t>(float_to_integer(to, value)));
  }
  const auto whole = from == DType::Bool ? static_cast<std::int64_t>(pattern)
                                         : wrap_to(from, static_cast<std::int64_t>(pattern));
  if (to == DType::Bool) return whole != 0 ? 1 : 0;
  if (to == DType::Float32)
    return std::bit_cast<std::uint32_t>(from == DType::UInt64 ? static_cast<float>(pattern)
                                                              : static_cast<float>(whole));
  if (is_float(to))
    return as_pattern(
        to == DType::Float64
            ? (from == DType::UInt64 ? static_cast<double>(pattern) : static_cast<double>(whole))
            : round_to(to, from == DType::UInt64 ? round_to_odd(pattern) : round_to_odd(whole)));
  return masked(static_cast<std::uint64_t>(wrap_to(to, whole)));
}

TEST(Storage, CastsOfTheLanguage) {
  const auto numbers = interesting(500);
  const std::size_t n = numbers.size();
  struct Case {
    DType from, to;
    int lanes;
  };
  std::vector<Case> cases;
  std::vector<std::string> kernels;
  for (const DType from : kCompute) {
    for (int t = 0; t < kNumDTypes; ++t) {
      const auto to = static_cast<DType>(t);
      const int lanes = t % 2 == 0 ? 4 : 1;
      const std::string index = lanes == 1 ? "i" : "ramp(i * 4, 1, 4)";
      cases.push_back({from, to, lanes});
      kernels.push_back(
          fmt::format("kernel k {{\n buffer X {}[{}] align 16\n buffer Z {}[{}] align "
                      "16 writable\n grid i {}\n Z[{}] = {}(X[{}])\n}}\n",
                      name(from), n, name(compute_type(to)), n, n / static_cast<std::size_t>(lanes),
                      index, name(to), index));
    }
  }
  const Batch batch(kernels);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto [from, to, lanes] = cases[k];
    auto x = bytes_of(from, n);
    for (std::size_t i = 0; i < n; ++i) {
      if (from == DType::Float64) {
        // Also numbers that no float32 is.
        const double value = i % 3 == 0 ? numbers[i] * (1 + 0x1p-40) : numbers[i];
        set_element(from, x, i, std::bit_cast<std::uint64_t>(value));
      } else if (from == DType::Float32) {
        set_element(from, x, i, std::bit_cast<std::uint32_t>(static_cast<float>(numbers[i])));
      } else if (from == DType::Bool) {
        set_element(from, x, i, i % 2);
      } else {
        // Around zero, around powers of two, beside what is halfway between two numbers of
        // bfloat16, and anything.
        const std::uint64_t bit = std::uint64_t{1} << (54 + i % 9);
        const std::uint64_t value = i % 7 == 5
                                        ? bit + (1 + i % 4 / 2 * 2) * (bit >> 8) + i % 2 * 2 - 1
                                    : i % 3 == 0 ? i / 3 - 64
                                    : i % 3 == 1 ? (std::uint64_t{1} << (i % 64)) - (i % 5) + 2
                                                 : i * 0x9e3779b97f4a7c15ull;
        set_element(from, x, i, value);
      }
    }
    auto z = bytes_of(compute_type(to), n);
    expect_runs(batch, k, {argument(x), argument(z)});
    int wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t expected = reference_cast(from, to, element(from, x, i));
      const std::uint64_t got = element(compute_type(to), z, i);
      const bool equal =
          is_float(to) ? same(decoded(compute_type(to), got), decoded(compute_type(to), expected))
                       : got == expected;
      if (!equal && wrong++ == 0)
        ADD_FAILURE() << name(from) << " to " << name(to) << ": "
                      << decoded(from, element(from, x, i)) << " gives "
                      << decoded(compute_type(to), got) << ", not "
                      << decoded(compute_type(to), expected);
    }
  }
}

}  // namespace
}  // namespace tc::test
