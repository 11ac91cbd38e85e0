// SPDX-License-Identifier: Apache-2.0
//
// Access patterns, masks, local buffers, registers, atomics and the task loop.
#include <sys/mman.h>

#include <cstring>

#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jit.h"
#include "tc/runtime/cpu/locals.h"

namespace tc::test {
namespace {

std::vector<float> numbers(int n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

/// Memory whose end borders on a page that must not be touched.
class Guarded {
public:
  explicit Guarded(std::size_t bytes) {
    base_ = static_cast<char*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + kPage, kPage, PROT_NONE);
    data_ = base_ + kPage - bytes;
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, 2 * kPage); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

private:
  static constexpr std::size_t kPage = 65536;
  char* base_;
  char* data_;
};

TEST(Memory, PatternsOfVectorLoads) {
  const auto x = numbers(64);
  struct Case {
    const char* index;
    int first, step;
  };
  for (const Case c :
       {Case{"ramp(3, 1, 8)", 3, 1}, Case{"ramp(20, -1, 8)", 20, -1}, Case{"ramp(5, 3, 8)", 5, 3},
        Case{"ramp(63, -2, 8)", 63, -2}, Case{"broadcast(7, 8)", 7, 0}, Case{"ramp(1, 2, 8)", 1, 2},
        Case{"ramp(30, 4, 8)", 30, 4}, Case{"ramp(63, -3, 8)", 63, -3},
        Case{"ramp(0, 9, 8)", 0, 9}}) {
    for (const auto& target : runnable_targets()) {
      std::vector<float> z(8);
      Jit(fmt::format("kernel p {{\n buffer X float32[64] align 4\n buffer Z float32[8] align 4 "
                      "writable\n Z[ramp(0, 1, 8)] = X[{}]\n}}\n",
                      c.index),
          target)
          .run(x.data(), z.data());
      for (int i = 0; i < 8; ++i)
        EXPECT_EQ(z[i], x[c.first + i * c.step]) << c.index;
    }
  }
}

TEST(Memory, PatternsOfVectorStores) {
  const auto x = numbers(8);
  struct Case {
    const char* index;
    int first, step;
  };
  for (const Case c : {Case{"ramp(3, 1, 8)", 3, 1}, Case{"ramp(20, -1, 8)", 20, -1},
                       Case{"ramp(5, 3, 8)", 5, 3}}) {
    for (const auto& target : runnable_targets()) {
      std::vector<float> z(64, 0.0f), expected(64, 0.0f);
      for (int i = 0; i < 8; i += 2)
        expected[c.first + i * c.step] = x[i];
      Jit(fmt::format(
              "kernel p {{\n buffer X float32[8] align 4\n buffer Z float32[64] align 4 writable\n "
              "Z[{}]?(ramp(0, 1, 8) % broadcast(2, 8) == broadcast(0, 8)) = X[ramp(0, 1, 8)]\n}}\n",
              c.index),
          target)
          .run(x.data(), z.data());
      EXPECT_EQ(z, expected) << c.index;
    }
  }
}

TEST(Memory, StridesOfTheBuffer) {
  // A transposed and reversed view, and one that repeats: element (i, j) at 20 - 4 i - j... read in
  // rows of 4.
  const auto x = numbers(64);
  std::vector<float> z(16);
  Jit(R"(kernel v {
  buffer X float32[4, 4] strides [-1, 8] align 4
  buffer Y float32[4, 4] strides [0, -2] align 4
  buffer Z float32[4, 4] align 4 writable
  grid i 4
  Z[i, ramp(0, 1, 4)] = X[i, ramp(0, 1, 4)] + Y[i, ramp(0, 1, 4)]
}
)")
      .run(x.data() + 10, x.data() + 40, z.data());
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(z[i * 4 + j], x[10 - i + 8 * j] + x[40 - 2 * j]);
}

TEST(Memory, FarOffsetsDoNotWrap) {
  // The last element of a view with batch stride 7,864,320 lies 2,508,718,080 - 7,864,320 elements
  // away; the base is moved so that it is real.
  const float value = 42.0f;
  const std::int64_t stride = 7864320;
  const auto base = reinterpret_cast<std::uintptr_t>(&value) -
                    static_cast<std::uintptr_t>(318 * stride) * sizeof(float);
  float z = 0;
  Jit(R"(kernel far {
  buffer X float32[319] strides [7864320] align 4
  buffer Z float32[1] align 4 writable
  for i in 318:319 {
    Z[0] = X[i]
  }
}
)")
      .run(reinterpret_cast<const float*>(base), &z);
  EXPECT_EQ(z, 42.0f);
}

TEST(Memory, GathersByIndexTensors) {
  const auto x = numbers(60);
  const std::int32_t index[8] = {3, 0, 11, 5, 5, -100, 7, 1000};
  for (const auto& target : runnable_targets()) {
    std::vector<float> z(8), w(8);
    Jit(R"(kernel g {
  buffer X float32[12, 5] align 4
  buffer I int32[8] align 4
  buffer Z float32[8] align 4 writable
  buffer W float32[8] align 4 writable
  let i = I[ramp(0, 1, 8)]
  Z[ramp(0, 1, 8)] = X[i, 2]?(i >= broadcast(0i32, 8) && i < broadcast(12i32, 8), broadcast(-1.0f, 8))
  W[ramp(0, 1, 8)] = X[i, ramp(0, 1, 8) % broadcast(5, 8)]?(i >= broadcast(0i32, 8) && i < broadcast(12i32, 8))
}
)",
        target)
        .run(x.data(), index, z.data(), w.data());
    for (int i = 0; i < 8; ++i) {
      const bool inside = index[i] >= 0 && index[i] < 12;
      EXPECT_EQ(z[i], inside ? x[index[i] * 5 + 2] : -1.0f);
      EXPECT_EQ(w[i], inside ? x[index[i] * 5 + i % 5] : 0.0f);
    }
  }
}

TEST(Memory, MaskedLanesTouchNothing) {
  for (const char* type : {"float32", "float64", "int8", "int16", "float16", "bool", "uint64"}) {
    for (const auto& target : runnable_targets()) {
      for (const int valid : {0, 1, 5, 7}) {
        const DType dtype = *dtype_from_name(type);
        const std::size_t bytes =
            static_cast<std::size_t>(valid) * static_cast<std::size_t>(bits(dtype)) / 8;
        const Guarded x(bytes), z(bytes), w(bytes);
        std::memset(x.as<char>(), 1, bytes);
        const std::string mask = fmt::format("ramp(0, 1, 8) < broadcast({}, 8)", valid);
        const std::string back = fmt::format("ramp(7, -1, 8) < broadcast({}, 8)", valid);
        Jit(fmt::format("kernel m {{\n buffer X {0}[8] align 1\n buffer Z {0}[8] align 1 "
                        "writable\n buffer W {0}[8] align 1 writable\n"
                        " Z[ramp(0, 1, 8)]?({1}) = X[ramp(0, 1, 8)]?({1})\n W[ramp(7, -1, "
                        "8)]?({2}) = X[ramp(7, -1, 8)]?({2})\n}}\n",
                        type, mask, back),
            target)
            .run(x.as<char>(), z.as<char>(), w.as<char>());
        EXPECT_EQ(std::memcmp(x.as<char>(), z.as<char>(), bytes), 0) << type << valid;
        EXPECT_EQ(std::memcmp(x.as<char>(), w.as<char>(), bytes), 0) << type << valid;
      }
    }
  }
}

TEST(Memory, UniformLoadUnderAVectorMask) {
  const Guarded nothing(0);
  std::vector<float> z(4);
  const std::string text = R"(kernel u {
  buffer X float32[1] align 4
  buffer N int64[1] align 8
  buffer Z float32[4] align 4 writable
  Z[ramp(0, 1, 4)] = X[0]?(ramp(0, 1, 4) < broadcast(N[0], 4), broadcast(5.0f, 4))
  if N[0] == 0 {
    Z[0] = X[0]?(N[0] > 0, 6.0f)
  }
}
)";
  std::int64_t n = 0;
  Jit(text).run(nothing.as<float>(), &n, z.data());
  EXPECT_EQ(z, (std::vector<float>{6, 5, 5, 5}));
  n = 3;
  const float x = 8;
  Jit(text).run(&x, &n, z.data());
  EXPECT_EQ(z, (std::vector<float>{8, 8, 8, 5}));
}

TEST(Memory, StridedLoadsReadNothingBeyondTheLastLane) {
  for (const int step : {2, 3, 4, -2, -3, -4}) {
    for (const int lanes : {4, 8, 16}) {
      const int n = std::abs(step) * (lanes - 1) + 1;
      for (const char* type : {"float32", "int16", "uint8"}) {
        const DType dtype = *dtype_from_name(type);
        const std::size_t bytes = static_cast<std::size_t>(n * bits(dtype) / 8);
        const Guarded x(bytes);
        std::vector<char> z(static_cast<std::size_t>(lanes * bits(dtype) / 8));
        for (std::size_t i = 0; i < bytes; ++i)
          x.as<char>()[i] = static_cast<char>(i * 7);
        Jit(fmt::format("kernel s {{\n buffer X {0}[{1}] align 1\n buffer Z {0}[{2}] align 1 "
                        "writable\n Z[ramp(0, 1, {2})] = X[ramp({3}, {4}, {2})]\n}}\n",
                        type, n, lanes, step > 0 ? 0 : n - 1, step))
            .run(x.as<char>(), z.data());
        const int size = bits(dtype) / 8;
        for (int i = 0; i < lanes; ++i) {
          const int from = step > 0 ? i * step : n - 1 + i * step;
          ASSERT_EQ(std::memcmp(z.data() + i * size, x.as<char>() + from * size,
                                static_cast<std::size_t>(size)),
                    0)
              << type << step << lanes << i;
        }
      }
    }
  }
}

TEST(Memory, ComparisonsOfRamps) {
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{-9}, std::int64_t{12}, std::int64_t{13}, std::int64_t{40},
        std::int64_t{1} << 40, -(std::int64_t{1} << 40), big, -big - 1}) {
    for (const std::int64_t base : {std::int64_t{10}, -(std::int64_t{1} << 50)}) {
      std::vector<std::uint8_t> z(16), expected(16);
      const std::int64_t input[2] = {n, base};
      Jit(R"(kernel c {
  buffer N int64[2] align 8
  buffer Z bool[16] align 1 writable
  Z[ramp(0, 1, 8)] = ramp(N[1], 1, 8) < broadcast(N[0], 8)
  Z[ramp(8, 1, 8)] = broadcast(N[0], 8) <= ramp(N[1], -3, 8) || ramp(N[1], 2, 8) == broadcast(N[0], 8)
}
)")
          .run(input, z.data());
      for (int i = 0; i < 8; ++i) {
        expected[i] = base + i < n;
        expected[8 + i] = n <= base - 3 * i || base + 2 * i == n;
      }
      EXPECT_EQ(z, expected) << n << " " << base;
    }
  }
}

TEST(Memory, ScatterKeepsTheLastOfEqualPlaces) {
  const std::int32_t index[4] = {2, 0, 2, 1};
  const auto x = numbers(4);
  std::vector<float> z(3);
  Jit(R"(kernel s {
  buffer X float32[4] align 4
  buffer I int32[4] align 4
  buffer Z float32[3] align 4 writable
  Z[I[ramp(0, 1, 4)]] = X[ramp(0, 1, 4)]
}
)")
      .run(x.data(), index, z.data());
  EXPECT_EQ(z, (std::vector<float>{2, 4, 3}));
}

TEST(Memory, LocalBuffersOnTheStackAndInTheArena) {
  for (const int n : {64, 40000}) {
    const auto x = numbers(n);
    std::vector<float> z(static_cast<std::size_t>(n));
    Jit(fmt::format(R"(kernel l {{
  buffer X float32[{0}] align 4
  buffer Z float32[{0}] align 4 writable
  grid t 2
  alloc T float32[{0}] align 64 writable
  for i in 0:{0} {{
    T[i] = X[i] * 2.0f
  }}
  if t == 0 {{
    alloc U float32[{0}] align 64 writable
    for i in 0:{0} {{
      U[i] = T[{0} - 1 - i]
    }}
    for i in 0:{0} step 2 {{
      Z[i] = U[i]
    }}
  }} else {{
    alloc V float32[{0}] align 64 writable
    for i in 0:{0} {{
      V[i] = -T[i]
    }}
    for i in 1:{0} step 2 {{
      Z[i] = V[i]
    }}
  }}
}}
)",
                    n))
        .run(x.data(), z.data());
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(z[i], i % 2 == 0 ? 2 * x[n - 1 - i] : -2 * x[i]) << i;
  }
  const std::string large =
      emit_text("kernel l {\n buffer Z float32[9000] align 4 writable\n alloc T float32[9000] "
                "align 64 writable\n for i in 0:9000 {\n T[i] = float32(i)\n }\n for i in 0:9000 "
                "{\n Z[i] = T[8999 - i]\n }\n}\n",
                codegen::native::Output::LlvmText);
  EXPECT_NE(large.find("tc_local_acquire"), std::string::npos);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tc_local_acquire(100000)) % 64, 0u);
}

TEST(Memory, RegisterArrays) {
  const auto x = numbers(32);
  std::vector<float> z(8), w(4);
  Jit(R"(kernel r {
  buffer X float32[4, 8] align 4
  buffer Z float32[8] align 4 writable
  buffer W float32[4] align 4 writable
  register acc float32x8[2] = broadcast(0.0f, 8)
  register dynamic float32[4] = 1.0f
  for k in 0:4 {
    unrolled for r in 0:2 {
      $acc[r] = $acc[r] + X[k, ramp(0, 1, 8)] * broadcast(float32(r + 1), 8)
    }
    $dynamic[k % 2] = $dynamic[k % 2] + X[k, 0]
  }
  Z[ramp(0, 1, 8)] = $acc[1] - $acc[0]
  unrolled for r in 0:4 {
    W[r] = $dynamic[r]
  }
}
)")
      .run(x.data(), z.data(), w.data());
  for (int j = 0; j < 8; ++j)
    EXPECT_EQ(z[j], x[j] + x[8 + j] + x[16 + j] + x[24 + j]);
  EXPECT_EQ(w, (std::vector<float>{1 + x[0] + x[16], 1 + x[8] + x[24], 1, 1}));
}

TEST(Memory, TasksCoverTheGridOnce) {
  std::vector<std::int32_t> z(7 * 5 * 3, 0);
  const Jit jit(R"(kernel t {
  buffer Z int32[7, 5, 3] align 4 writable
  grid i 7
  grid j 5
  grid k 3
  Z[i, j, k] = Z[i, j, k] + int32(i * 100 + j * 10 + k)
}
)");
  jit.run(z.data());
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 3; ++k)
        EXPECT_EQ(z[(i * 5 + j) * 3 + k], i * 100 + j * 10 + k);
}

template <class T>
void check_atomic(const char* type, const char* op, T start, T value, T expected) {
  std::vector<T> z(2, start);
  std::vector<T> x(16, value);
  const std::int32_t index[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  Jit(fmt::format(R"(kernel a {{
  buffer X {0}[16] align 1
  buffer I int32[16] align 4
  buffer Z {0}[2] align 8 writable
  grid t 50
  atomic {1} Z[I[ramp(0, 1, 16)]]?(ramp(0, 1, 16) < broadcast(10, 16)) = X[ramp(0, 1, 16)]
}}
)",
                  type, op))
      .run(x.data(), index, z.data());
  EXPECT_EQ(z[0], expected) << type << op;
  EXPECT_EQ(z[1], start);
}

TEST(Memory, AtomicsAccumulateDuplicates) {
  check_atomic<float>("float32", "add", 1, 2, 1001);
  check_atomic<double>("float64", "add", 1, 2, 1001);
  check_atomic<std::int32_t>("int32", "add", 1, 3, 1501);
  check_atomic<std::int64_t>("int64", "add", 1, -3, -1499);
  check_atomic<std::uint64_t>("uint64", "max", 1, ~std::uint64_t{0}, ~std::uint64_t{0});
  check_atomic<std::int32_t>("int32", "min", 5, -7, -7);
  check_atomic<float>("float32", "max", -5, -2, -2);
  check_atomic<std::int8_t>("int8", "add", 0, 1, static_cast<std::int8_t>(500));
  check_atomic<std::int32_t>("int32", "mul", 1, -1, 1);
  check_atomic<std::uint8_t>("bool", "or", 0, 1, 1);
  check_atomic<std::uint8_t>("bool", "and", 1, 0, 0);
  // float16 one plus 100 times one: exact.
  check_atomic<std::uint16_t>("float16", "max", 0x3c00, 0x4000, 0x4000);
}

TEST(Memory, AtomicNibbles) {
  std::vector<std::uint8_t> z = {0x21, 0x43};
  Jit(R"(kernel a {
  buffer Z uint4[4] align 1 writable
  grid t 40
  atomic add Z[t % 4] = int32(t) / 20i32
}
)")
      .run(z.data());
  EXPECT_EQ(z, (std::vector<std::uint8_t>{0x76, 0x98}));
}

TEST(Memory, LoopsWithStepsAndTypes) {
  std::vector<std::int32_t> z(4, 0);
  Jit(R"(kernel l {
  buffer Z int32[4] align 4 writable
  for i in 3:20 step 5 {
    Z[0] = Z[0] + int32(i)
  }
  for i: int32 in -3i32:4i32 {
    Z[1] = Z[1] + i * i
  }
  for i: int32 in 2147483640i32:2147483647i32 step 4 {
    Z[2] = Z[2] + 1i32
  }
  for i in 5:5 - int64(Z[3]) {
    Z[3] = 1i32
  }
}
)")
      .run(z.data());
  EXPECT_EQ(z, (std::vector<std::int32_t>{3 + 8 + 13 + 18, 28, 2, 0}));
}

}  // namespace
}  // namespace tc::test
