// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tc/kernel/passes.h"
#include "tc/kernel/plan.h"
#include "tc/kernel/text.h"

namespace tc::kernel {
namespace {

/// Parses, prints, parses and prints again; the two prints are one text.
std::string round_trip(const std::string& text) {
  auto first = parse(text);
  if (!first) {
    ADD_FAILURE() << first.error().line << ":" << first.error().column << ": "
                  << first.error().message;
    return "";
  }
  EXPECT_EQ(verify(*first), std::vector<std::string>());
  const std::string once = print(*first);
  auto second = parse(once);
  if (!second) {
    ADD_FAILURE() << once << second.error().line << ": " << second.error().message;
    return once;
  }
  EXPECT_EQ(print(*second), once);
  return once;
}

TEST(Text, ThreadsRoundTrip) {
  const std::string text = R"(kernel block_sum {
  buffer A float32[128] align 16
  buffer B float32[1] align 16 writable
  thread t 128
  alloc part float32[4] align 4 shared writable
  alloc own float32[1] align 4 registers writable
  own[0] = A[t]
  let sum = own[0] + shuffle(own[0], 16, 32)
  if t % 32 == 0 {
    part[t / 32] = sum
  }
  barrier block
  if t < 1 {
    B[0] = part[0] + part[1]
  }
}
)";
  EXPECT_EQ(round_trip(text), text);
}

TEST(Text, EveryNodeRoundTrips) {
  const std::string text = R"(kernel everything {
  buffer A float32[4, 64] align 64
  buffer B float32[64, 4] strides [1, 64] align 4 writable
  buffer H float16[64] align 2 scratch writable
  buffer I int32[64] align 4
  buffer S float32[] align 4 writable
  buffer U uint4[4, 6] align 1 writable
  int t
  grid i 4
  grid i.1 2
  # first the registers
  register acc float32x8[2] = broadcast(0.0f, 8)
  register flag bool[1] = false
  alloc P float32[2, 8] align 64 writable
  let n = min(i * 16 + i.1, t)
  for k in 0:64 step 8 {
    unrolled for r in 0:2 {
      $acc[r] = $acc[r] + A[i, ramp(k, 1, 8)] * broadcast(A[r, k], 8)
    }
  }
  for q: int32 in 0i32:8i32 {
    H[q] = float16(exp(-float32(q)))
  }
  if n < t - 1 && !(i == 0 || i.1 != 1) {
    B[ramp(0, 1, 8), i]?(ramp(n, 1, 8) < broadcast(t, 8)) = select($acc[0] <= $acc[1], $acc[0], -$acc[1])
    barrier task
  } else {
    S[] = reduce_max($acc[0]) + lane($acc[1], 3) / 1.5f
    $flag[0] = isnan<bool>(S[])
  }
  atomic add S[]?(n > 0) = float32(I[n]?(n >= 0, -1i32) % 3i32) - (1.0f - 2.5f * (3.0f + S[]))
  atomic max H[I[ramp(n, 1, 8)]] = max($acc[0], $acc[1])
  P[i.1, n % 8] = A[(i + 3) / 2 % 4, (n - (i - 1)) * (t + 2)]
  U[i, n] = int32(uint32(t)) * int32(bool(t)) - 5i32
  agreed B[i + n, 0] = 0.0f
}
)";
  EXPECT_EQ(round_trip(text), text);
}

TEST(Text, Literals) {
  const std::string text = R"(kernel literals {
  buffer F float32[8] align 4 writable
  buffer D float64[8] align 8 writable
  buffer U uint64[8] align 8 writable
  buffer L int64[8] align 8 writable
  buffer W uint32[8] align 4 writable
  F[0] = inff
  F[1] = -inff
  F[2] = nanf
  F[3] = -0.0f
  F[4] = 0.1f
  F[5] = 1e-45f
  D[0] = 0.1
  D[1] = -inf
  D[2] = nan
  D[3] = 1e+300
  U[0] = 18446744073709551615u64
  L[0] = -9223372036854775808
  W[0] = 4294967295u32
}
)";
  EXPECT_EQ(round_trip(text), text);
}

TEST(Text, NamesOfDifferentThingsStayApart) {
  Kernel kernel;
  kernel.name = "k";
  auto a = std::make_shared<Buffer>();
  a->id = 0;
  a->name = "for";
  a->type = DType::Int64;
  a->extents = {8};
  a->strides = {1};
  a->alignment = 8;
  a->writable = true;
  a->argument = 0;
  kernel.buffers = {a};
  const Var x{0, "x", {}};
  const Var y{1, "x", {}};
  const Var z{2, "true", {}};
  kernel.body = block({make_stmt(Let{x, load(a, {int_imm(0)})}),
                       make_stmt(Let{y, add(var_ref(x), var_ref(x))}),
                       make_stmt(Let{z, add(var_ref(x), var_ref(y))}),
                       make_stmt(Store{a, {var_ref(z)}, var_ref(y), nullptr})});
  EXPECT_EQ(round_trip(print(kernel)), R"(kernel k {
  buffer for_ int64[8] align 8 writable
  let x = for_[0]
  let x.1 = x + x
  let true_ = x + x.1
  for_[true_] = x.1
}
)");
}

TEST(Text, SkipsSlashComments) {
  auto kernel = parse("kernel k { // nothing\n  buffer A float32[1] align 4 // a\n}\n");
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(print(*kernel), "kernel k {\n  buffer A float32[1] align 4\n}\n");
}

TEST(Text, ErrorsHavePlaceAndReason) {
  struct Case {
    const char* text;
    int line, column;
    const char* part;
  };
  const Case cases[] = {
      {"kernel k {\n  A[0] = 1\n}", 2, 3, "unknown buffer 'A'"},
      {"kernel k {\n  let x = y\n}", 2, 11, "unknown variable 'y'"},
      {"kernel k {\n  buffer A float31[1]\n}", 2, 12, "'float31' is not a type"},
      {"kernel k {\n  let x = 1 + 1.0f\n}", 3, 1, "one element type"},
      {"kernel k {\n  let x = @\n}", 2, 11, "unexpected character '@'"},
      {"kernel k {\n", 2, 1, "expected '}'"},
      {"kernel k {\n}\nextra", 3, 1, "unexpected 'extra'"},
      {"kernel k {\n  for i in 0:4 {\n  }\n  let j = i\n}", 4, 11, "unknown variable 'i'"},
      {"kernel k {\n  let x = 99999999999999999999\n}", 3, 1, "too large"},
  };
  for (const auto& c : cases) {
    auto result = parse(c.text);
    ASSERT_FALSE(result.has_value()) << c.text;
    EXPECT_EQ(result.error().line, c.line) << c.text << result.error().message;
    EXPECT_EQ(result.error().column, c.column) << c.text << result.error().message;
    EXPECT_NE(result.error().message.find(c.part), std::string::npos) << result.error().message;
  }
}

TEST(PlanText, RoundTrips) {
  const std::string text = R"(plan steps
scratch 128
argument input x 0
argument output y 0
argument scratch t offset 64 size 64
kernel first {
  buffer x float32[16] align 4
  buffer t float32[16] align 64 scratch writable
  grid i 16
  t[i] = x[i]
}
kernel second {
  buffer t float32[16] align 64 scratch
  buffer y float32[16] align 4 writable
  int s
  y[s] = t[s]
}
launch 0(0, 2)
loop s in 0:16 {
  loop r in s:s + 1 {
    launch 1(2, 1; r)
  }
}
)";
  auto plan = parse_plan(text);
  ASSERT_TRUE(plan.has_value()) << plan.error().line << ": " << plan.error().message;
  EXPECT_EQ(verify(*plan), std::vector<std::string>());
  EXPECT_EQ(print(*plan), text);
  auto steps = parse_steps(print(plan->steps));
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(print(*steps), print(plan->steps));
}

TEST(PlanText, VerifierFindsWrongSteps) {
  const auto errors = [](const std::string& steps) {
    auto plan = parse_plan("plan p\nscratch 0\nargument input x 0\nargument output y 0\n"
                           "kernel k {\n buffer x float32[1] align 4\n buffer y float32[1] align 4 "
                           "writable\n int s\n y[0] = x[s]\n}\n" +
                           steps);
    EXPECT_TRUE(plan.has_value());
    return plan ? verify(*plan) : std::vector<std::string>();
  };
  EXPECT_EQ(errors("launch 0(0, 1; 0)").size(), 0u);
  EXPECT_EQ(errors("launch 1(0, 1; 0)").size(), 1u);
  EXPECT_EQ(errors("launch 0(0; 0)").size(), 1u);
  EXPECT_EQ(errors("launch 0(0, 1)").size(), 1u);
  EXPECT_EQ(errors("launch 0(0, 2; 0)").size(), 1u);
  EXPECT_EQ(errors("launch 0(1, 0; 0)").size(), 1u);  // writes an input
}

}  // namespace
}  // namespace tc::kernel
