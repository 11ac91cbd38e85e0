// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sema_testing.h"

namespace tc::lang::test {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

struct Row {
  const char* params;
  Shapes shapes;
  const char* expected;  ///< "N=3 K=4", or the errors, one a line
  Bindings known = {};
};
class BindSizes : public testing::TestWithParam<Row> {};

TEST_P(BindSizes, SolvesOrExplains) {
  const Resolved resolved =
      resolve_text(std::string("def f(") + GetParam().params + ") -> (y) { y = 1 }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  const BindResult bound = bind_sizes(*resolved.def, GetParam().shapes, GetParam().known);
  std::string text;
  if (bound.ok())
    for (const auto& [name, value] : bound.bindings.sizes)
      text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  for (const std::string& error : bound.errors)
    text += error + "\n";
  for (const Diagnostic& diagnostic : bound.beyond_limits.sorted())
    text += diagnostic.code + " " + std::to_string(diagnostic.range.begin) + ": " +
            diagnostic.message + "\n";
  EXPECT_EQ(text, GetParam().expected);
}

Bindings with_const(const char* name, std::int64_t value) {
  Bindings out;
  out.consts[name].integer = value;
  return out;
}
Bindings with_size(const char* name, std::int64_t value) {
  Bindings out;
  out.sizes[name] = value;
  return out;
}

const Row kRows[] = {
    {"float(M,K) A, float(K,N) B", {{2, 3}, {3, 4}}, "K=3 M=2 N=4"},
    {"float(M,K) A, float(K,N) B",
     {{2, 3}, {5, 4}},
     "argument 'B' has size 5 in dimension 0 where K = 3 is expected\n"},
    {"float(2*N) A", {{6}}, "N=3"},
    {"float(2*N) A",
     {{7}},
     "argument 'A' has size 7 in dimension 0, which is 2 * N for no integer N\n"},
    {"float(N+M) A, float(N) B", {{7}, {3}}, "M=4 N=3"},
    {"float(N*M) A, float(M) B", {{12}, {4}}, "M=4 N=3"},
    {"float(N-1) A", {{0}}, "N=1"},
    {"float(3-N) A", {{5}}, "size N = -2 is negative\n"},
    {"float(N/2) A", {{3}}, "size 'N' of 'f' does not follow from the arguments; give its value\n"},
    {"float(N/2) A", {{3}}, "N=7", with_size("N", 7)},
    {"float(N/2) A",
     {{3}},
     "argument 'A' has size 3 in dimension 0 where N / 2 = 4 is expected\n",
     with_size("N", 8)},
    {"float(N,N) A", {{3, 4}}, "argument 'A' has size 4 in dimension 1 where N = 3 is expected\n"},
    {"float(4) A", {{5}}, "argument 'A' has size 5 in dimension 0 where 4 is expected\n"},
    {"float(0) A, float(N) B", {{0}, {0}}, "N=0"},
    {"float(N) A", {{3, 4}}, "argument 'A' has 2 dimensions where 1 is expected\n"},
    {"float(N) A, float B", {{3}, {}}, "N=3"},
    {"float(N) A, float(N) B", {{3}}, "'f' takes 2 tensor arguments, 1 given\n"},
    {"float(N) A", {{-3}}, "argument 'A' has the negative size -3 in dimension 0\n"},
    // Too many elements are found with all sizes known, at the tensor's place.
    {"float(N,M) A", {{INT64_MAX, 3}}, "M=3 N=9223372036854775807"},
    {"float(N*N) A, float(N) B",
     {{4}, {INT64_MAX}},
     "E0334 12: dimension 0 of 'A', N * N, leaves 64 bits (N = 9223372036854775807)\n"},
    {"float(N) A",
     {{3}},
     "argument 'A' has size 3 in dimension 0 where N = 4 is expected\n",
     with_size("N", 4)},
    {"float(N) A", {{3}}, "'f' has no size 'K'\n", with_size("K", 4)},
    {"float(N*S) A, const int32 S", {{12}}, "N=4", with_const("S", 3)},
    {"float(N*S) A, const int32 S",
     {{12}},
     "const 'S' of 'f' has no value\nsize 'N' of 'f' does not follow from the arguments; give its "
     "value\n"},
    {"float(N) A, const int8 S",
     {{12}},
     "E0335 18: 'S' = 300 does not fit int8, which holds -128 to 127\n",
     with_const("S", 300)},
};
INSTANTIATE_TEST_SUITE_P(Table, BindSizes, testing::ValuesIn(kRows));

}  // namespace
}  // namespace tc::lang::test
