// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "helpers.h"

namespace tc::lang::testing {
namespace {

const Tensor& output(const TypedDef& def) {
  return def.tensors[static_cast<std::size_t>(def.outputs.at(0))];
}

TEST(Specialise, FoldsEverything) {
  const Analysed result = specialised(
      "def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(i+k) * W(k) }", {{"N", 10}, {"K", 3}});
  ASSERT_TRUE(result.def) << result.text;
  EXPECT_TRUE(result.def->sizes.empty() && result.def->consts.empty() &&
              result.def->preconditions.empty());
  EXPECT_EQ(ranges(*result.def, 0), "i in 0:8, k in 0:3");
  EXPECT_EQ(box(*result.def, "O"), "O(0+8)");
}

TEST(Specialise, OutputsStartAtTheirSmallestIndex) {
  const Analysed result = specialised("def f(float(N) I) -> (O) { O(i) = I(i-1) }", {{"N", 10}});
  ASSERT_TRUE(result.def) << result.text;
  EXPECT_EQ(box(*result.def, "O"), "O(1+10)");
}

TEST(Specialise, BoxesAreWhatIsReallyWritten) {
  // The range of j bends: the symbolic hull is larger.
  const Analysed bent = specialised(
      "def f(float(N) x) -> (y) { y(j) +=! x(i) where i in 0:N, j in 0:min(i+1,N-i) }", {{"N", 8}});
  ASSERT_TRUE(bent.def) << bent.text;
  EXPECT_EQ(box(*bent.def, "y"), "y(0+4)");
  const Analysed cut = specialised(
      "def f(float(N,N) x) -> (y) { y(i,j) = x(i,j) where 2*i + 3*j >= 7, i + j <= 4, j != 0 }",
      {{"N", 8}});
  ASSERT_TRUE(cut.def) << cut.text;
  EXPECT_EQ(box(*cut.def, "y"), "y(0+4, 1+4)");
  // A loop that does not run writes nothing.
  const Analysed idle = specialised(
      "def f(float(T) z) -> (h) { h(0) = z(0) for t in 5:T { h(t) = h(t-1) + z(t) } }", {{"T", 3}});
  ASSERT_TRUE(idle.def) << idle.text;
  EXPECT_EQ(box(*idle.def, "h"), "h(0+1)");
  // Everything is empty: the ends count.
  const Analysed empty =
      specialised("def f(float(M,N) x) -> (y) { y(i,j) = x(i,j) }", {{"M", 5}, {"N", 0}});
  ASSERT_TRUE(empty.def) << empty.text;
  EXPECT_EQ(box(*empty.def, "y"), "y(0+5, 0+0)");
}

struct RefusedCase {
  const char* text;
  Sizes sizes;
  const char* code;
  const char* message;
};
class Refused : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(Refused, WithTheNumbers) {
  const RefusedCase& test = GetParam();
  const Analysed result = specialised(test.text, test.sizes);
  EXPECT_EQ(result.errors(), test.code) << result.text;
  EXPECT_NE(result.text.find(test.message), std::string::npos) << result.text;
}

const RefusedCase kRefused[] = {
    {"def f(float(N) x) -> (y) { y(i) = x(i) }", {}, "E0330", "size 'N' has no value"},
    {"def f(float(N) x) -> (y) { y(i) = x(i) }", {{"N", -1}}, "E0331", "size 'N' is -1"},
    {"def f(float(N) x) -> (float(3) y) { y(i) = x(i) }",
     {{"N", 4}},
     "E0332",
     "'3 == N' is needed, but does not hold (N = 4)"},
    {"def f(float(N) x, float(K) w) -> (y) { y(i) +=! x(i+k) * w(k) }",
     {{"N", 3}, {"K", 5}},
     "E0333",
     "the range 0:-1 of 'i' ends before it begins (N = 3, K = 5); it was inferred as 0:N - K + 1"},
    {"def f(float(N) x) -> (y) { y(i) +=! x(j) where i in 0:3, j in i+4:i }",
     {{"N", 9}},
     "E0333",
     "the range i + 4:i of 'j' ends before it begins"},
    {"def f(float(N) x) -> (y) { y(i) = x(0) where i in 0:N*N*N }",
     {{"N", 3000000000}},
     "E0334",
     "leaves 64 bits"},
    {"def f(float(N) x, float(M) w) -> (y) { y(i,j) = x(i) * w(j) }",
     {{"N", 4000000000}, {"M", 4000000000}},
     "E0337",
     "is too large"},
    {"def f(float(N,M) x) -> (k) { k() argmax=! x(i,j) }",
     {{"N", 70000}, {"M", 70000}},
     "E0338",
     "do not fit into the int32 of 'k'"},
    {"def f(const int32 S, float(N) x) -> (y) { y(i) = x(S*i) }",
     {{"S", 0}, {"N", 9}},
     "E0332",
     "'S >= 1' is needed, but does not hold (N = 9, S = 0)"},
};
INSTANTIATE_TEST_SUITE_P(Specialise, Refused, ::testing::ValuesIn(kRefused));

TEST(Empty, IsLegal) {
  // end = begin
  EXPECT_EQ(proven("def f(float(N) x, float(K) w) -> (y) { y(i) +=! x(i+k) * w(k) }",
                   {{"N", 4}, {"K", 5}})
                .errors(),
            "");
  // over an empty outer domain nothing is an error
  EXPECT_EQ(proven("def f(float(B,N) x, float(K) w) -> (y) { y(b,i) +=! x(b,i+k) * w(k) }",
                   {{"B", 0}, {"N", 2}, {"K", 5}})
                .errors(),
            "");
  // a range that depends on indices may be negative for some
  EXPECT_EQ(
      proven("def f(float(N) x) -> (y) { y(i) +=! x(j) where i in 0:N, j in 3:i }", {{"N", 6}})
          .errors(),
      "");
}

TEST(Types, IndicesAreInt64WhereTheirRangeNeedsIt) {
  const Analysed small =
      specialised("def f(float(N) x) -> (y) { y(i) = i where exists x(i) }", {{"N", 9}});
  ASSERT_TRUE(small.def) << small.text;
  EXPECT_EQ(output(*small.def).type, DType::Int32);
  const Analysed large =
      specialised("def f(float(N) x) -> (y, z) { y(i) = i where exists x(i)\n z(j) = y(j) + 1 }",
                  {{"N", 3000000000}});
  ASSERT_TRUE(large.def) << large.text;
  const StatementInContext context = statements(*large.def).at(0);
  EXPECT_EQ(context.statement->indices[0].type, DType::Int64);
  EXPECT_EQ(context.statement->value->type, DType::Int64);
  for (const TensorId id : large.def->outputs)
    EXPECT_EQ(large.def->tensors[static_cast<std::size_t>(id)].type, DType::Int64);
}

TEST(Types, SubscriptsNeverWrap) {
  const Analysed result =
      specialised("def f(float(N*M) x) -> (y) { y(i,j) = x(M*i+j) where j in 0:M, i in 0:N }",
                  {{"N", 70000}, {"M", 70000}});
  ASSERT_TRUE(result.def) << result.text;
  const StatementInContext context = statements(*result.def).at(0);
  const auto& read = std::get<Read>(context.statement->value->node);
  EXPECT_EQ(read.subscripts[0]->type, DType::Int64);
  EXPECT_EQ(context.statement->indices[0].type, DType::Int32);
}

}  // namespace
}  // namespace tc::lang::testing
