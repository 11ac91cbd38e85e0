// SPDX-License-Identifier: Apache-2.0
//
// Access patterns, masks that keep memory untouched, views, local buffers, registers, atomics, and
// grids that CUDA cannot have as they are. The emulator checks bounds and alignment of each access.
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "batch.h"
#include "elements.h"

namespace tc::test {
namespace {

std::vector<float> numbers(int n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

struct Pattern {
  const char* index;
  int first, step;
};
constexpr Pattern kPatterns[] = {
    {"ramp(3, 1, 8)", 3, 1}, {"ramp(8, 1, 8)", 8, 1},     {"ramp(20, -1, 8)", 20, -1},
    {"ramp(5, 3, 8)", 5, 3}, {"ramp(63, -2, 8)", 63, -2}, {"ramp(0, 9, 8)", 0, 9},
    {"ramp(4, 1, 8)", 4, 1},
};

TEST(Memory, PatternsOfVectors) {
  std::vector<std::string> kernels;
  for (const auto& p : kPatterns) {
    kernels.push_back(
        fmt::format("kernel p {{\n buffer X float32[72] align 16\n buffer Z float32[8] "
                    "align 4 writable\n Z[ramp(0, 1, 8)] = X[{}]\n}}\n",
                    p.index));
    kernels.push_back(
        fmt::format("kernel p {{\n buffer X float32[8] align 4\n buffer Z float32[72] "
                    "align 16 writable\n Z[{}] = X[ramp(0, 1, 8)]\n}}\n",
                    p.index));
  }
  kernels.push_back(
      "kernel p {\n buffer X float32[72]\n buffer Z float32[8] writable\n Z[ramp(0, 1, "
      "8)] = X[broadcast(7, 8)]\n}\n");
  kernels.push_back(
      "kernel p {\n buffer I int32[8]\n buffer X float32[72]\n buffer Z float32[8] "
      "writable\n Z[I[ramp(0, 1, 8)]] = X[I[ramp(0, 1, 8)] * broadcast(2i32, 8)]\n}\n");
  const Batch batch(kernels);
  for (std::size_t p = 0; p < std::size(kPatterns); ++p) {
    auto x = numbers(72);
    std::vector<float> z(8);
    expect_runs(batch, 2 * p, {argument(x), argument(z)});
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(z[i], x[kPatterns[p].first + i * kPatterns[p].step]) << kPatterns[p].index;
    std::vector<float> far(72, 0.0f);
    auto few = numbers(8);
    expect_runs(batch, 2 * p + 1, {argument(few), argument(far)});
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(far[kPatterns[p].first + i * kPatterns[p].step], few[i]) << kPatterns[p].index;
      far[kPatterns[p].first + i * kPatterns[p].step] = 0;
    }
    EXPECT_EQ(far, std::vector<float>(72, 0.0f));
  }
  auto x = numbers(72);
  std::vector<float> z(8);
  expect_runs(batch, 2 * std::size(kPatterns), {argument(x), argument(z)});
  EXPECT_EQ(z, std::vector<float>(8, 8.0f));
  std::vector<std::int32_t> places = {7, 3, 0, 1, 6, 2, 5, 4};
  expect_runs(batch, 2 * std::size(kPatterns) + 1, {argument(places), argument(x), argument(z)});
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(z[places[i]], x[2 * places[i]]);
}

/// Buffers that end where the mask does: the emulator finds every access beyond.
TEST(Memory, MaskedLanesTouchNothing) {
  std::vector<std::string> kernels;
  struct Case {
    std::string type;
    int n;
    std::string index;
  };
  std::vector<Case> cases;
  for (const char* type : {"float32", "float16", "int8", "int4"})
    for (const int n : {0, 1, 5, 8, 13, 16})
      for (const char* index : {"ramp(8 * i, 1, 8)", "ramp(15 - 8 * i, -1, 8)"})
        cases.push_back({type, n, index});
  for (const auto& [type, n, index] : cases)
    kernels.push_back(fmt::format(
        "kernel p {{\n buffer X {0}[{1}] align 16\n buffer Z {0}[{1}] align 16 writable\n buffer W "
        "float32[16] writable\n grid i 2\n let inside = {2} < broadcast({1}, 8)\n Z[{2}]?(inside) "
        "= "
        "X[{2}]?(inside)\n W[{2}] = float32(X[{2}]?(inside, broadcast({3}, 8)))\n}}\n",
        type, std::max(n, 1), index, type[0] == 'f' ? "42.0f" : "42i32"));
  kernels.push_back("kernel p {\n buffer X float32[3]\n buffer Z float32[3] writable\n grid i 8\n "
                    "Z[i]?(i < 3) = X[i]?(i < 3, 1.0f) + X[i - 4]?(i >= 4 && i < 7)\n}\n");
  const Batch batch(kernels);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto& [type, n, index] = cases[k];
    const int size = std::max(n, 1);
    const int bytes = type == "float32"   ? 4 * size
                      : type == "float16" ? 2 * size
                      : type == "int8"    ? size
                                          : (size + 1) / 2;
    std::vector<std::uint8_t> x(static_cast<std::size_t>(bytes)), z(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<std::uint8_t>(17 * i + 1);
    if (type == "int4" && size % 2 != 0) x.back() &= 15;
    std::vector<float> w(16);
    const auto finding = batch.run(k, {argument(x), argument(z), argument(w)});
    if (finding) ADD_FAILURE() << finding->to_string() << batch.source(k).text;
    EXPECT_EQ(z, x) << type << n << index;
    for (int i = size; i < 16; ++i)
      EXPECT_EQ(w[static_cast<std::size_t>(i)], 42.0f);
  }
  std::vector<float> x = {1, 2, 3}, z(3);
  expect_runs(batch, cases.size(), {argument(x), argument(z)});
  EXPECT_EQ(z, (std::vector<float>{1, 2, 3}));
}

TEST(Memory, StridesOfTheBuffer) {
  const Batch batch({R"(kernel v {
  buffer X float32[4, 4] strides [-1, 8] align 4
  buffer Y float32[4, 4] strides [0, -2] align 4
  buffer Z float32[4, 4] align 4 writable
  grid i 4
  Z[i, ramp(0, 1, 4)] = X[i, ramp(0, 1, 4)] + Y[i, ramp(0, 1, 4)]
}
)"});
  auto x = numbers(64);
  std::vector<float> z(16);
  expect_runs(batch, 0, {argument(x, 10), argument(x, 40), argument(z)});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(z[i * 4 + j], x[10 - i + 8 * j] + x[40 - 2 * j]);
}

TEST(Memory, PackedElements) {
  const Batch batch({R"(kernel v {
  buffer X int4[64] align 16
  buffer Z uint4[64] align 16 writable
  grid i 4
  Z[ramp(i * 16, 1, 16)] = X[ramp(i * 16, 1, 16)] + broadcast(3i32, 16)
}
)",
                     R"(kernel v {
  buffer X int4[64]
  buffer Z int4[64] writable
  grid i 63
  Z[62 - i] = X[i + 1]
}
)",
                     R"(kernel v {
  buffer X uint4[64]
  buffer Z int32[8] writable
  Z[ramp(0, 1, 8)] = X[ramp(3, 1, 8)]
}
)"});
  std::vector<std::uint8_t> x(32), z(32);
  for (std::size_t i = 0; i < 32; ++i)
    x[i] = static_cast<std::uint8_t>(i * 73 + 5);
  const auto nibble = [](const std::vector<std::uint8_t>& v, int i) {
    return (v[static_cast<std::size_t>(i / 2)] >> (i % 2 * 4)) & 15;
  };
  expect_runs(batch, 0, {argument(x), argument(z)});
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(nibble(z, i), (nibble(x, i) + 3) & 15);
  std::fill(z.begin(), z.end(), 0xff);
  expect_runs(batch, 1, {argument(x), argument(z)});
  for (int i = 0; i < 63; ++i)
    EXPECT_EQ(nibble(z, 62 - i), nibble(x, i + 1));
  EXPECT_EQ(nibble(z, 63), 15);
  std::vector<std::int32_t> wide(8);
  expect_runs(batch, 2, {argument(x), argument(wide)});
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(wide[static_cast<std::size_t>(i)], nibble(x, 3 + i));
}

TEST(Memory, RegistersAndLocalBuffers) {
  const Batch batch({R"(kernel r {
  buffer X float32[64] align 16
  buffer Z float32[64] align 16 writable
  grid b 2
  alloc T float32[4, 8] local writable
  alloc H float16[8] registers writable
  register acc float32x8[2] = broadcast(1.0f, 8)
  register last int64[1] = 0
  for k in 0:4 {
    T[k, ramp(0, 1, 8)] = X[ramp(b * 32 + k * 8, 1, 8)]
  }
  H[ramp(0, 1, 8)] = T[1, ramp(0, 1, 8)]
  for k in 0:4 step 2 {
    unrolled for r in 0:2 {
      $acc[r] = $acc[r] + T[k + r, ramp(0, 1, 8)] * broadcast(2.0f, 8)
    }
    $last[0] = $last[0] + k
  }
  Z[ramp(b * 32, 1, 8)] = $acc[0]
  Z[ramp(b * 32 + 8, 1, 8)] = $acc[1]
  Z[ramp(b * 32 + 16, 1, 8)] = H[ramp(0, 1, 8)]
  Z[b * 32 + 24] = float32($last[0])
}
)"});
  auto x = numbers(64);
  std::vector<float> z(64);
  expect_runs(batch, 0, {argument(x), argument(z)});
  for (int b = 0; b < 2; ++b) {
    const auto at = [&](int i) { return static_cast<std::size_t>(32 * b + i); };
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(z[at(i)], 1 + 2 * (x[at(i)] + x[at(16 + i)]));
      EXPECT_EQ(z[at(8 + i)], 1 + 2 * (x[at(8 + i)] + x[at(24 + i)]));
      EXPECT_EQ(z[at(16 + i)], x[at(8 + i)]);
    }
    EXPECT_EQ(z[at(24)], 2.0f);
  }
}

TEST(Memory, LoopsAndConditions) {
  const Batch batch({R"(kernel l {
  buffer N int32[4]
  buffer Z int32[256] writable
  register count int32[1] = 0i32
  for i in 0:4 {
    let n = int64(N[i])
    for j in n / 2:min(n, 20) step 3 {
      if j % 2 == 0 {
        Z[i * 64 + j] = int32(j)
      } else {
        $count[0] = $count[0] + 1i32
      }
    }
  }
  for q: int32 in 2147483640i32:2147483647i32 step 3 {
    $count[0] = $count[0] + 100i32
  }
  for q: uint32 in 5u32:9u32 {
    $count[0] = $count[0] + 1000i32
  }
  Z[255] = $count[0]
}
)"});
  std::vector<std::int32_t> n = {0, 7, 40, 13}, z(256, 0), expected(256, 0);
  int count = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = n[static_cast<std::size_t>(i)] / 2;
         j < std::min(n[static_cast<std::size_t>(i)], 20); j += 3) {
      if (j % 2 == 0)
        expected[static_cast<std::size_t>(i * 64 + j)] = j;
      else
        ++count;
    }
  expected[255] = count + 300 + 4000;
  expect_runs(batch, 0, {argument(n), argument(z)});
  EXPECT_EQ(z, expected);
}

/// Every operation on every type; the operands are so small that all orders give the same.
TEST(Memory, AtomicUpdates) {
  const char* operations[] = {"add", "mul", "min", "max"};
  std::vector<std::string> kernels;
  std::vector<std::pair<DType, int>> cases;
  for (int t = 0; t < kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    if (type == DType::Bool) continue;
    for (int op = 0; op < 4; ++op) {
      cases.emplace_back(type, op);
      const bool vector = (t + op) % 2 == 0;
      kernels.push_back(fmt::format("kernel a {{\n buffer X {1}[16]\n buffer Z {0}[4] align 8 "
                                    "writable\n grid i {3}\n atomic {2} "
                                    "Z[{4}]?({4} != {5}) = X[{6}]\n}}\n",
                                    name(type), name(compute_type(type)), operations[op],
                                    vector ? 4 : 16, vector ? "ramp(0, 1, 4)" : "i % 4",
                                    vector ? "broadcast(3, 4)" : "3",
                                    vector ? "ramp(4 * i, 1, 4)" : "i"));
    }
  }
  const Batch batch(kernels);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto [type, op] = cases[k];
    const DType compute = compute_type(type);
    const auto pattern = [](DType elem, int value) -> std::uint64_t {
      if (elem == DType::Float64) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
      if (elem == DType::Float32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
      return static_cast<std::uint64_t>(value);
    };
    auto x = bytes_of(compute, 16);
    auto z = bytes_of(type, 4);
    const auto given = [](std::size_t i) { return i % 3 == 0 ? 2 : i % 5 == 0 ? 0 : 1; };
    for (std::size_t i = 0; i < 16; ++i)
      set_element(compute, x, i, pattern(compute, given(i)));
    // One, as the type stores it.
    const std::uint64_t one = type == DType::Float16        ? float16_from_double(1)
                              : type == DType::BFloat16     ? bfloat16_from_double(1)
                              : type == DType::Float8E4M3FN ? float8_e4m3fn_from_double(1)
                              : type == DType::Float8E5M2   ? float8_e5m2_from_double(1)
                                                            : pattern(type, 1);
    for (std::size_t i = 0; i < 4; ++i)
      set_element(type, z, i, one);
    expect_runs(batch, k, {argument(x), argument(z)});
    for (std::size_t slot = 0; slot < 4; ++slot) {
      int expected = 1;
      for (std::size_t i = slot; i < 16 && slot != 3; i += 4)
        expected = op == 0   ? expected + given(i)
                   : op == 1 ? expected * given(i)
                   : op == 2 ? std::min(expected, given(i))
                             : std::max(expected, given(i));
      const double wrapped =
          is_integer(type) ? static_cast<double>(wrap_to(type, expected)) : expected;
      EXPECT_EQ(decoded(type, element(type, z, slot)), wrapped)
          << name(type) << " " << operations[op] << " slot " << slot;
    }
  }
}

/// The other bytes of the word around an element belong to other tensors: what lies before and
/// behind a view of bytes at any address stays, also when the view ends in the middle of a word.
TEST(Memory, AtomicUpdatesOfBytesLeaveTheirNeighbours) {
  std::vector<std::string> kernels;
  for (const int n : {1, 2, 3, 5})
    kernels.push_back(fmt::format("kernel a {{\n buffer X int32[{0}]\n buffer Z int8[{0}] "
                                  "writable\n buffer B bool[{0}] writable\n grid i 4\n thread t "
                                  "{0}\n atomic add Z[t] = X[t]\n atomic or B[t] = X[t] > "
                                  "1i32\n}}\n",
                                  n));
  const Batch batch(kernels);
  std::size_t k = 0;
  for (const int n : {1, 2, 3, 5}) {
    std::vector<std::int32_t> x;
    for (int i = 0; i < n; ++i)
      x.push_back(i);
    std::vector<std::int8_t> z(static_cast<std::size_t>(n), 7);
    std::vector<std::uint8_t> b(static_cast<std::size_t>(n), 0);
    expect_runs(batch, k++, {argument(x), argument(z), argument(b)});
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(z[static_cast<std::size_t>(i)], 7 + 4 * i);
      EXPECT_EQ(b[static_cast<std::size_t>(i)], i > 1 ? 1 : 0);
    }
  }
}

TEST(Memory, AtomicMinimaPropagateNaN) {
  const Batch batch(
      {"kernel a {\n buffer X float32[8]\n buffer Z float32[2] writable\n buffer F bool[2] "
       "writable\n grid i 8\n atomic min Z[0] = X[i]\n atomic max Z[1] = X[i]\n atomic or "
       "F[0] = X[i] > 6.0f\n atomic and F[1] = X[i] > 0.0f\n}\n"});
  std::vector<float> x = {3, 1, 4, 1, 5, 9, 2, 6}, z = {2, 2};
  std::vector<std::uint8_t> f = {0, 1};
  expect_runs(batch, 0, {argument(x), argument(z), argument(f)});
  EXPECT_EQ(z, (std::vector<float>{1, 9}));
  EXPECT_EQ(f, (std::vector<std::uint8_t>{1, 1}));
  x[4] = std::numeric_limits<float>::quiet_NaN();
  expect_runs(batch, 0, {argument(x), argument(z), argument(f)});
  EXPECT_TRUE(std::isnan(z[0]) && std::isnan(z[1]));
  EXPECT_EQ(f[1], 0);
}

TEST(Memory, GridsOfManyDimensions) {
  const Batch batch({R"(kernel g {
  buffer Z int32[2, 3, 4, 5] writable
  grid a 2
  grid b 3
  grid c 4
  grid d 5
  Z[a, b, c, d] = int32(a * 1000 + b * 100 + c * 10 + d)
}
)",
                     R"(kernel g {
  buffer Z int32[70000, 2] writable
  grid a 70000
  grid b 2
  Z[a, b] = int32(a * 2 + b)
}
)"});
  EXPECT_EQ(batch.source(0).kernels[0].grid, (std::array<std::int64_t, 3>{120, 1, 1}));
  std::vector<std::int32_t> z(120);
  expect_runs(batch, 0, {argument(z)});
  for (int i = 0; i < 120; ++i)
    EXPECT_EQ(z[static_cast<std::size_t>(i)],
              i / 60 * 1000 + i / 20 % 3 * 100 + i / 5 % 4 * 10 + i % 5);
  EXPECT_EQ(batch.source(1).kernels[0].grid, (std::array<std::int64_t, 3>{140000, 1, 1}));
  std::vector<std::int32_t> far(140000);
  expect_runs(batch, 1, {argument(far)});
  for (int i = 0; i < 140000; ++i)
    ASSERT_EQ(far[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace tc::test
