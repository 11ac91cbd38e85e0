// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of every storage type, every bit pattern of the narrow ones, with and without
// conversion instructions.
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jit.h"
#include "tc/support/numeric.h"

namespace tc::test {
namespace {

/// Z[i] = X[i] over n elements, `lanes` at a time, converting between the two types.
std::string copy_kernel(const std::string& from, const std::string& to, int n, int lanes,
                        const std::string& cast = "") {
  const std::string index = lanes == 1 ? "i" : fmt::format("ramp(i, 1, {})", lanes);
  return fmt::format(
      "kernel copy {{\n  buffer X {}[{}] align 1\n  buffer Z {}[{}] align 1 writable\n"
      "  for i in 0:{} step {} {{\n    Z[{}] = {}(X[{}])\n  }}\n}}\n",
      from, n, to, n, n, lanes, index, cast, index);
}

struct Narrow {
  const char* name;
  DType type;
  int bits;
};
constexpr Narrow kNarrow[] = {{"float16", DType::Float16, 16},
                              {"bfloat16", DType::BFloat16, 16},
                              {"float8_e4m3fn", DType::Float8E4M3FN, 8},
                              {"float8_e5m2", DType::Float8E5M2, 8}};

float decode(DType type, std::uint32_t bits) {
  switch (type) {
  case DType::Float16: return float16_to_float(static_cast<std::uint16_t>(bits));
  case DType::BFloat16: return bfloat16_to_float(static_cast<std::uint16_t>(bits));
  case DType::Float8E4M3FN: return float8_e4m3fn_to_float(static_cast<std::uint8_t>(bits));
  default: return float8_e5m2_to_float(static_cast<std::uint8_t>(bits));
  }
}
std::uint32_t encode(DType type, double value) {
  switch (type) {
  case DType::Float16: return float16_from_double(value);
  case DType::BFloat16: return bfloat16_from_double(value);
  case DType::Float8E4M3FN: return float8_e4m3fn_from_double(value);
  default: return float8_e5m2_from_double(value);
  }
}

/// Doubles around every representable value of a format: itself, the middle to the next, and a
/// little off both.
std::vector<double> around_all_values(const Narrow& format) {
  std::vector<double> values;
  const std::uint32_t count = 1u << (format.bits - 1);
  for (std::uint32_t b = 0; b + 1 < count; b += format.bits == 16 ? 7 : 1) {
    const double a = decode(format.type, b);
    const double next = decode(format.type, b + 1);
    if (!std::isfinite(a) || !std::isfinite(next)) continue;
    const double middle = (a + next) / 2;
    for (const double v : {a, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300),
                           middle * (1 + 0x1p-26), middle * (1 - 0x1p-26)}) {
      values.push_back(v);
      values.push_back(-v);
    }
  }
  for (const double v : {65519.0, 65520.0, 65536.0, 448.0, 464.0, 465.0, 57344.0, 61440.0, 1e30,
                         1e300, 3.3895e38, 3.4e38, 1e-40, 1e-300, 5e-324}) {
    values.push_back(v);
    values.push_back(-v);
  }
  values.push_back(HUGE_VAL);
  values.push_back(-HUGE_VAL);
  values.push_back(NAN);
  values.resize((values.size() + 15) / 16 * 16, 0.0);
  return values;
}

TEST(Storage, EveryNarrowFloatLoadsExactly) {
  for (const auto& target : runnable_targets()) {
    for (const auto& format : kNarrow) {
      const int n = 1 << format.bits;
      std::vector<std::uint16_t> wide(n);
      std::iota(wide.begin(), wide.end(), std::uint16_t{0});
      const std::vector<std::uint8_t> small(wide.begin(), wide.begin() + 256);
      const void* bits = format.bits == 16 ? static_cast<const void*>(wide.data()) : small.data();
      for (const int lanes : {1, 8, 16}) {
        std::vector<float> z(n);
        Jit(copy_kernel(format.name, "float32", n, lanes), target).run(bits, z.data());
        for (int i = 0; i < n; ++i) {
          const float expected = decode(format.type, static_cast<std::uint32_t>(i));
          if (std::isnan(expected))
            ASSERT_TRUE(std::isnan(z[i])) << format.name << " " << i;
          else
            ASSERT_EQ(std::bit_cast<std::uint32_t>(z[i]), std::bit_cast<std::uint32_t>(expected))
                << format.name << " " << i << " " << target.arch;
        }
      }
    }
  }
}

/// Stores of float32 or float64 values give the same bits as the reference, NaN any NaN.
template <class T>
void check_stores(const Narrow& format, const Target& target, const char* type,
                  const std::string& cast) {
  std::vector<T> x;
  for (const double v : around_all_values(format))
    x.push_back(static_cast<T>(v));
  const auto n = static_cast<int>(x.size());
  for (const int lanes : {1, 8, 16}) {
    std::vector<std::uint8_t> z(static_cast<std::size_t>(n) * 2);
    Jit(copy_kernel(type, format.name, n, lanes, cast), target).run(x.data(), z.data());
    for (int i = 0; i < n; ++i) {
      std::uint32_t got =
          format.bits == 8 ? z[i] : static_cast<std::uint32_t>(z[2 * i] | z[2 * i + 1] << 8);
      const std::uint32_t expected = encode(format.type, static_cast<double>(x[i]));
      if (std::isnan(x[i]))
        ASSERT_TRUE(std::isnan(decode(format.type, got))) << format.name;
      else
        ASSERT_EQ(got, expected) << format.name << " of " << x[i] << " lanes " << lanes << " "
                                 << target.arch;
    }
  }
}

TEST(Storage, StoresRoundToNearestEven) {
  for (const auto& target : runnable_targets())
    for (const auto& format : kNarrow)
      check_stores<float>(format, target, "float32", "");
}

TEST(Storage, Float64RoundsOnce) {
  // The cast from float64 rounds to the format; widened again, the store changes nothing.
  for (const auto& target : runnable_targets())
    for (const auto& format : kNarrow)
      check_stores<double>(format, target, "float64", format.name);
}

template <class T>
void check_integer_storage(const char* name, bool is_unsigned) {
  constexpr int n = 4096;
  std::vector<T> x(n);
  for (int i = 0; i < n; ++i)
    x[i] = static_cast<T>(i * 16 + i % 16);
  for (const int lanes : {1, 8, 16}) {
    std::vector<std::int32_t> z(n);
    Jit(copy_kernel(name, "int32", n, lanes)).run(x.data(), z.data());
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(z[i], static_cast<std::int32_t>(x[i])) << name << is_unsigned;
    std::vector<std::int32_t> wide(n);
    for (int i = 0; i < n; ++i)
      wide[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 1000003u);
    std::vector<T> back(n);
    Jit(copy_kernel("int32", name, n, lanes)).run(wide.data(), back.data());
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(back[i], static_cast<T>(wide[i])) << name;
  }
}

TEST(Storage, NarrowIntegersExtendAndWrap) {
  check_integer_storage<std::int8_t>("int8", false);
  check_integer_storage<std::uint8_t>("uint8", true);
  check_integer_storage<std::int16_t>("int16", false);
  check_integer_storage<std::uint16_t>("uint16", true);
}

TEST(Storage, BoolIsNotZeroAndStoresOne) {
  std::vector<std::uint8_t> x(64), z(64);
  for (int i = 0; i < 64; ++i)
    x[i] = static_cast<std::uint8_t>(i % 3 * 100);
  for (const int lanes : {1, 8, 16}) {
    Jit(copy_kernel("bool", "bool", 64, lanes)).run(x.data(), z.data());
    for (int i = 0; i < 64; ++i)
      ASSERT_EQ(z[i], x[i] != 0 ? 1 : 0);
  }
}

int nibble(const std::vector<std::uint8_t>& bytes, int row, int column, int row_bytes,
           bool is_signed) {
  const int value = bytes[row * row_bytes + column / 2] >> (column % 2 * 4) & 15;
  return is_signed && value >= 8 ? value - 16 : value;
}

TEST(Storage, NibblesOfRowsWithAnOddLength) {
  // 5 rows of 7 elements: 4 bytes a row, so a row stride of 8 elements.
  std::vector<std::uint8_t> x(20);
  for (int i = 0; i < 20; ++i)
    x[i] = static_cast<std::uint8_t>(i * 37 + 11);
  for (const char* type : {"int4", "uint4"}) {
    const bool is_signed = type[0] == 'i';
    for (const std::string access : {"scalar", "vector", "masked", "reversed"}) {
      std::string body;
      if (access == "scalar") body = "for j in 0:7 {\n Z[i, j] = X[i, j]\n}";
      if (access == "vector")
        body = "Z[i, ramp(0, 1, 6)] = X[i, ramp(0, 1, 6)]\n Z[i, 6] = X[i, 6]";
      if (access == "masked")
        body = "Z[i, ramp(0, 1, 8)]?(ramp(0, 1, 8) < broadcast(7, 8)) = X[i, ramp(0, 1, "
               "8)]?(ramp(0, 1, 8) < broadcast(7, 8), broadcast(9i32, 8))";
      if (access == "reversed") body = "Z[i, ramp(6, -1, 7)] = X[i, ramp(6, -1, 7)]";
      std::vector<std::int32_t> z(35);
      Jit(fmt::format("kernel n {{\n buffer X {}[5, 7] strides [8, 1] align 1\n buffer Z int32[5, "
                      "7] align 4 writable\n grid i 5\n{}\n}}\n",
                      type, body))
          .run(x.data(), z.data());
      for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 7; ++j)
          ASSERT_EQ(z[i * 7 + j], nibble(x, i, j, 4, is_signed)) << type << access;
      // And back: other nibbles of the padding keep their value.
      std::vector<std::uint8_t> back(20, 0xa5);
      std::string store = body;
      std::string text = fmt::format("kernel n {{\n buffer X int32[5, 7] align 4\n buffer Z {}[5, "
                                     "7] strides [8, 1] align 1 writable\n grid i 5\n{}\n}}\n",
                                     type, store);
      Jit(text).run(z.data(), back.data());
      for (int i = 0; i < 5; ++i) {
        for (int j = 0; j < 7; ++j)
          ASSERT_EQ(nibble(back, i, j, 4, is_signed), z[i * 7 + j]) << type << access;
        ASSERT_EQ(nibble(back, i, 7, 4, false), 10) << access;
      }
    }
  }
}

TEST(Storage, LocalNibbles) {
  std::vector<std::int32_t> x(16), z(16);
  for (int i = 0; i < 16; ++i)
    x[i] = i * 5 - 30;
  Jit(R"(kernel n {
  buffer X int32[16] align 4
  buffer Z int32[16] align 4 writable
  alloc T int4[4, 4] align 64 writable
  for i in 0:4 {
    T[i, ramp(0, 1, 4)] = X[ramp(i * 4, 1, 4)]
    T[i, 1] = T[i, 2]
  }
  for i in 0:16 {
    Z[i] = T[i / 4, i % 4]
  }
}
)")
      .run(x.data(), z.data());
  for (int i = 0; i < 16; ++i) {
    const int from = i % 4 == 1 ? i + 1 : i;
    EXPECT_EQ(z[i], wrap_to(DType::Int4, x[from])) << i;
  }
}

}  // namespace
}  // namespace tc::test
