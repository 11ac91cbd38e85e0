// SPDX-License-Identifier: Apache-2.0
//
// Products on tensor cores and asynchronous copies: text, passes, one ill-formed kernel per rule.
#include <gtest/gtest.h>

#include <string>

#include "tc/kernel/parse.h"
#include "tc/kernel/passes.h"

namespace tc::kernel {
namespace {

constexpr const char* kText = R"(kernel k {
  buffer A bfloat16[64, 64] align 16
  thread t 128
  alloc sums float32[1, 4, 2, 2] align 16 registers writable
  alloc rows bfloat16[2, 64, 8] strides [520, 8, 1] align 16 shared writable
  alloc columns bfloat16[4, 16, 8] strides [136, 8, 1] align 16 shared writable
  copy 8 rows[t % 2, t / 2, 0] = A[t / 2, t % 2 * 8]?(t < 64)
  await copies 1
  barrier block
  mma sums[0, 0, 0, 0] blocks 1 apart 512 width 32 depth 16 rows rows[0, 0, 0] k_inner 520 64 columns columns[0, 0, 0] kept_inner 64 136
  await products 0
}
)";

/// The text with one part replaced.
std::string with(const std::string& part, const std::string& other) {
  std::string text = kText;
  const auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), other);
}

Kernel parsed(const std::string& text) {
  auto kernel = parse(text);
  EXPECT_TRUE(bool(kernel)) << (kernel ? "" : kernel.error().message);
  return kernel ? *kernel : Kernel{};
}

/// The only violation.
std::string violation(const std::string& part, const std::string& other) {
  const auto errors = verify(parsed(with(part, other)));
  if (errors.size() > 1) ADD_FAILURE() << errors[0] << "\n" << errors[1];
  return errors.empty() ? "" : errors.front();
}

TEST(Mma, PrintsWhatItReads) {
  const Kernel kernel = parsed(kText);
  EXPECT_EQ(print(kernel), kText);
  EXPECT_TRUE(verify(kernel).empty());
}

TEST(Mma, PassesKeepIt) {
  const Kernel unrolled = unroll(parsed(R"(kernel k {
  thread t 128
  unrolled for i in 0:2 {
    alloc sums float32[1, 1, 2, 2] align 16 registers writable
    alloc rows float16[2, 64, 8] strides [520, 8, 1] align 16 shared writable
    mma sums[0, 0, 0, 0] blocks 1 apart 512 width 8 depth 16 rows rows[i * 0, 0, 0] k_inner 520 64 columns rows[0, 8 + t * 0, 0] k_inner 520 64
  }
}
)"));
  EXPECT_TRUE(verify(unrolled).empty());
  const std::string text = print(simplify(unrolled));
  EXPECT_NE(text.find("mma sums[0, 0, 0, 0] blocks 1 apart 512 width 8 depth 16 rows rows[0, 0, 0] "
                      "k_inner 520 64 columns rows[0, 8, 0] k_inner 520 64"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("mma sums.1[0, 0, 0, 0] blocks 1 apart 512 width 8 depth 16 rows rows.1["),
            std::string::npos)
      << text;
}

TEST(Mma, VerifierRefusesWhatNoInstructionDoes) {
  EXPECT_EQ(violation("width 32", "width 12"), "a product of 12 columns");
  EXPECT_EQ(violation("depth 16", "depth 8"), "a product of depth 8");
  EXPECT_EQ(violation("blocks 1", "blocks 0"), "a product of 0 blocks of rows");
  EXPECT_EQ(violation("thread t 128", "thread t 96"),
            "a product of warp groups in a kernel of 96 threads");
  EXPECT_EQ(violation("columns bfloat16[4", "columns float16[4"),
            "a product of 'rows' and 'columns' of different types");
  EXPECT_EQ(violation("sums float32[1, 4, 2, 2]", "sums float64[1, 4, 2, 2]"),
            "accumulator 'sums' is no float32 register buffer to write to");
  EXPECT_EQ(violation("sums[0, 0, 0, 0]", "sums[0, t, 0, 0]"),
            "the first register of 'sums' is not constant");
  EXPECT_EQ(violation("k_inner 520 64", "k_inner 516 64"),
            "core matrices of 'rows' lie 516 and 64 elements apart");
}

TEST(Mma, VerifierRefusesWhatDoesNotFit) {
  EXPECT_EQ(violation("sums[0, 0, 0, 0]", "sums[0, 1, 0, 0]"),
            "a product into 16 registers from 4 on of 'sums', which has 16");
  EXPECT_EQ(violation("kept_inner 64 136", "kept_inner 64 144"),
            "a product reads element 559 of 'columns', which has 536");
  EXPECT_EQ(violation("blocks 1 apart 512", "blocks 2 apart 0"),
            "a product into 32 registers from 0 on of 'sums', which has 16");
}

TEST(Mma, SwizzledPanels) {
  const std::string text = R"(kernel k {
  buffer A bfloat16[64, 64] align 16
  thread t 128
  alloc sums float32[1, 8, 2, 2] align 16 registers writable
  alloc rows bfloat16[2, 1, 64, 64] align 1024 shared writable swizzled
  alloc columns bfloat16[1, 64, 64] align 1024 shared writable swizzled
  copy 8 rows[0, 0, t / 8, t % 8 * 8] = A[t / 8, t % 8 * 8]
  await copies 0
  barrier block
  mma sums[0, 0, 0, 0] blocks 1 apart 0 width 64 depth 64 rows rows[0, 0, 0, 0] k_inner 4096 512 columns columns[0, 0, 0] kept_inner 512 4096
  await products 0
}
)";
  const Kernel kernel = parsed(text);
  EXPECT_EQ(print(kernel), text);
  EXPECT_TRUE(verify(kernel).empty());
  const auto problem = [&](const std::string& part, const std::string& other) {
    std::string changed = text;
    const auto at = changed.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    const auto errors = verify(parsed(changed.replace(at, part.size(), other)));
    return errors.empty() ? "" : errors.front();
  };
  EXPECT_EQ(problem("depth 64", "depth 48"), "lines of 'rows' have 64 elements");
  EXPECT_EQ(problem("width 64", "width 32"), "lines of 'columns' have 64 elements");
  EXPECT_EQ(problem("k_inner 4096 512", "k_inner 4096 520"),
            "core matrices of 'rows' lie 4096 and 520 elements apart");
  EXPECT_EQ(problem("rows[0, 0, 0, 0] k_inner 4096 512", "rows[0, 0, 0, 0] k_inner 4096 1536"),
            "a product reads element 11263 of 'rows', which has 8192");
  EXPECT_EQ(problem("[1, 64, 64] align 1024", "[1, 64, 64] align 512"),
            "swizzled buffer 'columns' is not of 16-bit elements in shared memory, 1024 bytes "
            "aligned");
  EXPECT_EQ(problem("copy 8 rows[0, 0, t / 8, t % 8 * 8] = A[t / 8, t % 8 * 8]",
                    "rows[0, 0, 0, ramp(0, 1, 2)] = broadcast(1.0f, 2)"),
            "a vector of swizzled buffer 'rows'");
}

TEST(Mma, VerifierRefusesDivergence) {
  EXPECT_EQ(
      violation("mma sums[0, 0, 0, 0] blocks 1 apart 512 width 32 depth 16 rows rows[0, 0, 0] "
                "k_inner 520 64 columns columns[0, 0, 0] kept_inner 64 136",
                "if t < 64 {\nmma sums[0, 0, 0, 0] blocks 1 apart 512 width 32 depth 16 rows "
                "rows[0, 0, 0] k_inner 520 64 columns columns[0, 0, 0] kept_inner 64 136\n}"),
      "a product of a warp group stands below a condition that differs between threads");
  EXPECT_EQ(violation("await products 0", "if t < 64 {\nawait products 0\n}"),
            "an await of products stands below a condition that differs between threads");
}

TEST(Copy, VerifierRefusesWhatCannotBeCopied) {
  EXPECT_EQ(violation("copy 8", "copy 3"), "a copy of 6 bytes to 'rows'");
  EXPECT_EQ(violation("A bfloat16[64", "A float16[64"),
            "a copy from 'A' of float16 to 'rows' of bfloat16");
  EXPECT_EQ(violation("copy 8 rows[t % 2, t / 2, 0] = A[t / 2, t % 2 * 8]",
                      "copy 8 rows[t % 2, t / 2, 0] = rows[t % 2, t / 2, 0]"),
            "a copy from 'rows', which is not in global memory");
}

}  // namespace
}  // namespace tc::kernel
