// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tc/tile/ir.h"
#include "tc/tile/structure.h"

namespace tc::tile {
namespace {

constexpr const char* kGood = R"(tile good
scratch 64
argument input A 0
argument output C 0
argument scratch T offset 0 size 40
kernel good_0 {
  buffer A float32[10, 8] align 4
  buffer C float32[10] align 4 writable
  buffer T float32[10] align 64 scratch writable
  int t
  grid v in 0:10 step 4
  alloc L float32[4] align 64 writable
  reduce S0 {
    i in v:min(v + 4, 10) extent 4
    j in 0:8 extent 8 reduction
    where i >= t
    L[i - v] +=! A[i, j]
  }
  loop s in 0:2 {
    store S1 {
      i in v:min(v + 4, 10) extent 4
      C[i] = L[i - v]
    }
  }
  map S2 {
    i in v:min(v + 4, 10) extent 4
    T[i] = C[i] + 1f
  }
}
loop t in 0:3 {
  launch 0(0, 1, 2; t)
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The verifier of the good text with one change finds something that contains `message`.
void expect_violation(const std::string& from, const std::string& to, const std::string& message) {
  const auto program = parse(replaced(kGood, from, to));
  ASSERT_TRUE(program) << program.error().line << ": " << program.error().message;
  const auto errors = verify(*program);
  ASSERT_FALSE(errors.empty()) << to;
  std::string all;
  for (const auto& error : errors)
    all += error + "\n";
  EXPECT_NE(all.find(message), std::string::npos) << all;
}

TEST(TileVerify, GoodIsGood) {
  const auto program = parse(kGood);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(verify(*program), std::vector<std::string>{});
}

TEST(TileVerify, Bounds) {
  expect_violation("A[i, j]", "A[i, j + 1]", "subscript 1 of 'A' is 8 of 8 at v=0, t=0, i=0, j=7");
  expect_violation("A[i, j]", "A[i - 1, j]", "subscript 0 of 'A' is -1 of 10");
  expect_violation("i in v:min(v + 4, 10) extent 4\n    T", "i in v:v + 4 extent 4\n    T",
                   "subscript 0 of 'T' is 11 of 10");
  expect_violation("L[i - v] +=!", "L[i] +=!", "subscript 0 of 'L' is 9 of 4");
  expect_violation("j in 0:8 extent 8", "j in 0:8 extent 7", "dim 'j' has 8 points");
}

TEST(TileVerify, ConditionsAndMasksAreTakenIntoAccount) {
  auto program = parse(replaced(kGood, "where i >= t", "where i >= t\n    where j + 1 < 8"));
  ASSERT_TRUE(program);
  EXPECT_TRUE(verify(*program).empty());
  program =
      parse(replaced(replaced(kGood, "where i >= t", "where j + 1 < 8"), "A[i, j]", "A[i, j + 1]"));
  ASSERT_TRUE(program);
  EXPECT_TRUE(verify(*program).empty());
  program = parse(replaced(kGood, "A[i, j]", "A[i, j + 1]?(j + 1 < 8, 0f)"));
  ASSERT_TRUE(program);
  EXPECT_TRUE(verify(*program).empty());
}

TEST(TileVerify, LoopsWithStepsEndAtTheirLastStep) {
  const auto errors = [](const char* end) {
    const std::string text = std::string(R"(tile steps
scratch 0
argument output y 0
kernel k {
  buffer y float32[8] align 4 writable
  grid v in 0:5 step 1
  loop s in v:)") + end + R"( step 4 {
    map S {
      y[s] = 0.0f
    }
  }
}
launch 0(0)
)";
    const auto program = parse(text);
    EXPECT_TRUE(program) << program.error().message;
    return verify(*program);
  };
  EXPECT_TRUE(errors("v + 4").empty());
  EXPECT_TRUE(errors("min(v + 8, 10)").size() == 1);
  EXPECT_TRUE(errors("12").size() == 1);
  EXPECT_TRUE(errors("8").empty());
}

TEST(TileVerify, AtomicUpdatesCombineOneValue) {
  const auto errors = [](const std::string& update) {
    const auto program = parse(R"(tile counts
scratch 0
argument input at 0
argument output h 0
argument output g 1
kernel k {
  buffer at int32[9] align 4
  buffer h int32[4] align 4 writable
  buffer g int32[4] align 4 writable
  )" + update + R"(
  }
}
launch 0(0, 1, 2)
)");
    EXPECT_TRUE(program) << program.error().message;
    return verify(*program);
  };
  const std::string message = "does not combine one value with what the target holds";
  const std::string sums = "scatter S {\n    i in 0:9 extent 9 reduction\n    ";
  const std::string fills = "map S {\n    i in 0:4 extent 4\n    ";
  EXPECT_EQ(errors(sums + "atomic h[int64(at[i])] += 1i32"), std::vector<std::string>{});
  const std::string extrema = "reduce S {\n    i in 0:4 extent 4\n    ";
  for (const auto& update : {sums + "atomic (h[int64(at[i])], g[int64(at[i])]) += (1i32, 2i32)",
                             fills + "atomic h[i] = 1i32", extrema + "atomic h[i] min=! 1i32"}) {
    std::string all;
    for (const auto& error : errors(update))
      all += error + "\n";
    EXPECT_NE(all.find(message), std::string::npos) << update << "\n" << all;
  }
}

TEST(TileVerify, Structure) {
  expect_violation("reduce S0", "map S0", "is called map, but its structure is that of reduce");
  expect_violation("store S1", "load S1", "structure is that of store");
  expect_violation("buffer C float32[10] align 4 writable", "buffer C float32[10] align 4",
                   "writes 'C', which is not writable");
  expect_violation("argument output C 0", "argument input C 1", "writes input 'C'");
  expect_violation("L[i - v] +=!", "C[j] +=!", "starts from the identity");
  expect_violation("(0, 1, 2; t)", "(0, 1; t)", "with 2 buffers, it has 3");
  expect_violation("(0, 1, 2; t)", "(0, 1, 2)", "with 0 integers, it has 1");
  expect_violation("(0, 1, 2; t)", "(0, 1, 7; t)", "argument 7, there are 3");
  expect_violation("(0, 1, 2; t)", "(0, 2, 1; t)", "different spaces");
  expect_violation("launch 0", "launch 3", "launch of kernel 3");
  expect_violation("offset 0 size 40", "offset 32 size 40", "not at a multiple of 64");
  expect_violation("offset 0 size 40", "offset 64 size 40", "ends behind the 64 bytes");
  expect_violation("grid v in 0:10 step 4", "grid v in 0:10 step 0", "has step 0");
  expect_violation("loop s in 0:2 {", "loop s in 0:2 step 0 {", "has step 0");
  expect_violation("alloc L float32[4] align 64", "alloc L float32[4] align 24", "no power of two");
  expect_violation("alloc L float32[4] align 64", "alloc L float32[4] align 64 global",
                   "local 'L' is in another space");
  expect_violation("buffer A float32[10, 8] align 4", "buffer A float32[10, 8] align 4 local",
                   "argument 'A' is neither global nor scratch");
  expect_violation("T[i] = C[i] + 1f", "T[i] = 1.0", "is float64, not float32");
  expect_violation("where i >= t", "where i + t", "a condition is int64, not bool");
}

TEST(TileVerify, Layouts) {
  const std::string at = "L[i - v] +=! A[i, j]";
  const auto with = [&](const char* layout) { return at + "\n    " + layout; };
  const auto program =
      parse(replaced(kGood, at, with("layout order [1, 0] vector 0 lanes 4 unroll [1, 8]")));
  ASSERT_TRUE(program);
  EXPECT_TRUE(verify(*program).empty());
  expect_violation(at, with("layout order [0, 0] vector 0 lanes 4 unroll [1, 8]"),
                   "the order of the layout");
  expect_violation(at, with("layout order [1, 0] vector 2 lanes 4 unroll [1, 8]"),
                   "the vector dim");
  expect_violation(at, with("layout order [1, 0] vector -1 lanes 4 unroll [1, 8]"), "has 4 lanes");
  expect_violation(at, with("layout order [1, 0] vector 0 lanes 4 unroll [1]"),
                   "one unroll factor per dim");
  expect_violation(at, with("layout order [1, 0] vector 0 lanes 4 unroll [1, 0]"),
                   "unroll factor 0");
}

/// Things that a text cannot say: broken programs built by hand.
class BrokenTest : public testing::Test {
protected:
  void SetUp() override { program_ = std::move(*parse(kGood)); }
  Op& op() { return std::get<Op>(program_.kernels[0].body[1]); }
  void expect(const std::string& message) {
    std::string all;
    for (const auto& error : verify(program_))
      all += error + "\n";
    EXPECT_NE(all.find(message), std::string::npos) << all;
  }
  Program program_;
};

TEST_F(BrokenTest, Scopes) {
  op().targets[0].subscripts[0] = kernel::var_ref({77, "q", {DType::Int64, 1}});
  expect("uses 'q', which is not in scope");
}

TEST_F(BrokenTest, LocalUsedBeforeItsDeclaration) {
  std::swap(program_.kernels[0].body[0], program_.kernels[0].body[1]);
  expect("'L' is used, but not declared here");
}

TEST_F(BrokenTest, DeclaredTwice) {
  auto& body = program_.kernels[0].body;
  body.insert(body.begin(), body.front());
  expect("buffer 'L' is declared twice");
}

TEST_F(BrokenTest, SubscriptCount) {
  op().targets[0].subscripts.push_back(kernel::int_imm(0));
  expect("'L' has 1 dimensions, not 2");
}

TEST_F(BrokenTest, TargetsOfTuples) {
  op().combine = Combine::ArgMax;
  expect("1 targets: it takes one, a reduction to a position two");
}

TEST_F(BrokenTest, ArgumentPositions) {
  std::swap(program_.kernels[0].buffers[0], program_.kernels[0].buffers[1]);
  expect("buffer 'C' is argument 1, listed at 0");
}

TEST_F(BrokenTest, VariableDefinedTwice) {
  op().dims[1].var = op().dims[0].var;
  expect("variable 'i' is defined twice");
}

TEST_F(BrokenTest, VectorsAndRegisters) {
  op().conditions.push_back(kernel::broadcast(kernel::bool_imm(true), 4));
  op().targets[0].value = kernel::reg_ref(0, kernel::int_imm(0), {DType::Float32, 1});
  expect("a condition is a vector");
  expect("uses a register");
}

TEST(Structure, UndeterminedDims) {
  const auto program = parse(R"(tile s
scratch 0
kernel k {
  buffer y float32[30, 30] align 4 writable
  buffer a float32[10] align 4
  reduce S {
    i in 0:10 extent 10
    j in 0:10 extent 10
    k in 0:10 extent 10 reduction
    y[i + j, 2 * j + k] += a[i]
  }
  reduce T {
    i in 0:10 extent 10
    j in 0:10 extent 10
    y[i + j, 0] += a[i]
  }
}
)");
  ASSERT_TRUE(program);
  const auto& first = std::get<Op>(program->kernels[0].body[0]);
  EXPECT_TRUE(undetermined_dims(first.dims, first.targets[0].subscripts).empty());
  EXPECT_FALSE(can_start_from_identity(first));
  Op second = std::get<Op>(program->kernels[0].body[1]);
  EXPECT_EQ(undetermined_dims(second.dims, second.targets[0].subscripts).size(), 2U);
  mark_reduction_dims(second);
  EXPECT_FALSE(second.dims[0].reduction);
  EXPECT_TRUE(second.dims[1].reduction);
}

}  // namespace
}  // namespace tc::tile
