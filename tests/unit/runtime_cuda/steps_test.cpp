// SPDX-License-Identifier: Apache-2.0
//
// Steps as a run follows them, against values worked out by hand.
#include <limits>

#include "fixture.h"
#include "tc/support/cuda_limits.h"

namespace tc::runtime::cuda {
namespace {

class StepsTest : public FakeDriverTest {
protected:
  static Result<HostProgram, Rejection> compile(const std::string& steps, int ints = 1) {
    return compile_steps(table({{.name = "k", .buffers = 1, .ints = ints}}, steps));
  }
  /// Integers of each launch, in order.
  static std::vector<std::vector<std::int64_t>> values(const std::string& steps, int ints = 1) {
    const auto program = compile(steps, ints);
    EXPECT_TRUE(program) << program.error().message;
    std::vector<std::vector<std::int64_t>> all;
    if (!program) return all;
    follow(*program, [&](const HostStep& step, const HostProgram::Counters& counters) {
      std::vector<std::int64_t> one;
      for (std::uint32_t i = 0; i < step.ints; ++i)
        one.push_back(program->evaluate(program->values[step.first_int + i], counters));
      all.push_back(one);
      return true;
    });
    return all;
  }
  static std::int64_t value(const std::string& expression) {
    const auto all =
        values("loop t in 7:8 {\n loop u in 3:4 {\n launch 0(0; " + expression + ")\n}\n}\n");
    return all.size() == 1 ? all[0][0] : -999;
  }
};

TEST_F(StepsTest, Values) {
  EXPECT_EQ(value("5"), 5);
  EXPECT_EQ(value("t"), 7);
  EXPECT_EQ(value("((t * 3) - (u + 4))"), 14);
  EXPECT_EQ(value("((t + u) * 2)"), 20);
  EXPECT_EQ(value("(t * u)"), 21);
  EXPECT_EQ(value("(t - t)"), 0);
  EXPECT_EQ(value("min(t, (u * 2))"), 6);
  EXPECT_EQ(value("max((t * u), 9)"), 21);
  EXPECT_EQ(value("-(t + u)"), -10);
  EXPECT_EQ(value("-min(t, u)"), -3);
  EXPECT_EQ(value("(u - t) / 3"), -2);
  EXPECT_EQ(value("(u - t) % 3"), 2);
  EXPECT_EQ(value("t / (u - 3)"), 0);
  EXPECT_EQ(value("t % (u - 3)"), 0);
  EXPECT_EQ(value("min(t, u) + max(t, u) * 2 - t / u"), 3 + 14 - 2);
  EXPECT_EQ(value("select(t < u, 100, 200 + t)"), 207);
  EXPECT_EQ(value("select(t <= 7 && u >= 3, t, u)"), 7);
  EXPECT_EQ(value("select(t > 7 || u != 3, t, u)"), 3);
  EXPECT_EQ(value("select(!(t == 7), t, u)"), 3);
  EXPECT_EQ(value("9223372036854775807 + u"), std::numeric_limits<std::int64_t>::min() + 2);
}

TEST_F(StepsTest, LoopsNestAndSkip) {
  using Rows = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(values("loop t in 0:3 {\n loop u in 0:t {\n launch 0(0; ((t * 10) + u))\n}\n}\n"),
            (Rows{{10}, {20}, {21}}));
  EXPECT_EQ(values("loop t in 5:5 {\n launch 0(0; t)\n}\nlaunch 0(0; 1)\n"), (Rows{{1}}));
  EXPECT_EQ(values("loop t in 5:2 {\n launch 0(0; t)\n}\n"), Rows{});
  EXPECT_EQ(values("loop t in 0:2 {\n launch 0(0; t)\n launch 0(0; (t + 100))\n}\n"),
            (Rows{{0}, {100}, {1}, {101}}));
  EXPECT_EQ(values("loop t in 0:1000000000000 {\n}\nlaunch 0(0; 3)\n"), (Rows{{3}}));
}

TEST_F(StepsTest, FollowingStopsAtAFailure) {
  const auto program = compile("loop t in 0:10 {\n launch 0(0; t)\n}\n");
  int launches = 0;
  EXPECT_FALSE(follow(
      *program, [&](const HostStep&, const HostProgram::Counters&) { return ++launches < 4; }));
  EXPECT_EQ(launches, 4);
}

TEST_F(StepsTest, CountsLaunchesAndRounds) {
  const auto program = compile("loop t in 0:10 {\n loop u in 0:t {\n launch 0(0; u)\n}\n}\n");
  EXPECT_EQ(count_steps(*program, 1000), 10 + 45 + 45);
  EXPECT_EQ(count_steps(*program, 20), 21);
  std::vector<std::int64_t> launches(1, 0);
  count_steps(*program, 1000, &launches);
  EXPECT_EQ(launches, std::vector<std::int64_t>{45});
  const auto endless =
      compile("loop t in 0:1000000000000 {\n loop u in 0:0 {\n launch 0(0; u)\n}\n}\n");
  EXPECT_EQ(count_steps(*endless, 50), 51);
}

TEST_F(StepsTest, DeepNestsAreRefused) {
  std::string loops = "launch 0(0; 1)\n";
  for (int i = 0; i < kMaxCounters; ++i)
    loops = "loop t" + std::to_string(i) + " in 0:2 {\n" + loops + "}\n";
  EXPECT_TRUE(compile(loops));
  const auto refused = compile("loop t in 0:2 {\n" + loops + "}\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RejectionKind::Unsupported);
  EXPECT_EQ(refused.error().limit, kMaxCounters);

  std::string deep = "t";
  for (int i = 0; i < kMaxStack + 1; ++i)
    deep = "min(" + std::to_string(i) + ", " + deep + ")";
  const auto nested = compile("loop t in 0:2 {\n launch 0(0; " + deep + ")\n}\n");
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().limit, kMaxStack);
}

TEST_F(StepsTest, LaunchesThatDoNotFitTheirKernelAreRefused) {
  EXPECT_FALSE(compile("launch 0(0, 1; 1)\n"));
  EXPECT_FALSE(compile("launch 0(0)\n"));
  EXPECT_FALSE(compile("launch 1(0; 1)\n"));
  EXPECT_FALSE(compile("launch 0(5; 1)\n"));
  EXPECT_FALSE(compile("launch 0(0; 1.5f)\n"));
  const auto many =
      compile_steps(table({{.name = "k", .buffers = cuda_limits::kParameters, .ints = 1}}, [] {
        std::string text = "launch 0(0";
        for (int i = 1; i < cuda_limits::kParameters; ++i)
          text += ", 0";
        return text + "; 1)\n";
      }()));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().used, cuda_limits::kParameters + 1);
}

TEST_F(StepsTest, EmptyProgram) {
  const auto program = compile("");
  ASSERT_TRUE(program);
  EXPECT_TRUE(
      follow(*program, [](const HostStep&, const HostProgram::Counters&) { return false; }));
}

}  // namespace
}  // namespace tc::runtime::cuda
