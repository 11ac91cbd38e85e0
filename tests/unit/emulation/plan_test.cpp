// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "emulate.h"
#include "tc/emulation/mutate.h"
#include "tc/emulation/run_plan.h"
#include "tc/kernel/passes.h"

namespace tc::emulation::test {
namespace {

kernel::BufferPtr vector_of(int id, const std::string& name, std::int64_t count, bool writable,
                            std::int64_t stride = 1) {
  kernel::Buffer buffer;
  buffer.id = id;
  buffer.name = name;
  buffer.extents = {count};
  buffer.strides = {stride};
  buffer.writable = writable;
  buffer.argument = id;
  return std::make_shared<const kernel::Buffer>(std::move(buffer));
}

/// x -> scratch -> y: one launch before a loop over t in 1:4 that adds t, in place, and one behind.
kernel::Plan loop_plan(std::int64_t count) {
  using Kind = kernel::Argument::Kind;
  kernel::Plan plan;
  plan.name = "loops";
  plan.arguments = {{Kind::Input, "x", 0, 0, 0},
                    {Kind::Scratch, "s", 0, 0, count * 4},
                    {Kind::Output, "y", 0, 0, 0}};
  plan.scratch_bytes = count * 4;
  const kernel::Var counter{100, "counter", {DType::Int64, 1}};
  kernel::Kernel step;
  step.name = "add_counter";
  step.buffers = {vector_of(0, "in", count, false), vector_of(1, "out", count, true)};
  step.int_params = {counter};
  step.body = kernel::block({});
  plan.kernels = {step};
  const auto launch = [](int from, int to, kernel::ExprPtr value) {
    return kernel::Step{kernel::Launch{0, {from, to}, {std::move(value)}}};
  };
  const kernel::Var t{7, "t", {DType::Int64, 1}};
  kernel::Loop loop{t, kernel::int_imm(1), kernel::int_imm(4), {}};
  loop.body.push_back(launch(1, 1, kernel::mul(kernel::var_ref(t), kernel::int_imm(10))));
  plan.steps.push_back(launch(0, 1, kernel::int_imm(0)));
  plan.steps.push_back({std::move(loop)});
  plan.steps.push_back(launch(1, 2, kernel::int_imm(1000)));
  return plan;
}

class Plans : public testing::Test {
protected:
  Plans() {
    const KernelText text{kernel_file("correct.cuh"), {"add_counter"}};
    const Header header{"access.cuh", kernel_file("access.cuh")};
    auto compiled =
        HostModule::compile(std::span(&text, 1), std::span(&header, 1), {TC_HOST_COMPILER, {}});
    if (compiled) module = *compiled;
  }
  std::shared_ptr<const HostModule> module;
};

TEST_F(Plans, LoopsPassTheirCounters) {
  ASSERT_NE(module, nullptr);
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  const LaunchShape shape{"add_counter", {1, 1, 1}, {4, 1, 1}, 0};
  void* const pointers[] = {x.data(), nullptr, y.data()};
  for (const auto seed : kSeeds) {
    const auto finding = run_plan(loop_plan(4), *module, 0, std::span(&shape, 1), pointers, seed);
    ASSERT_FALSE(finding.has_value()) << finding->to_string();
    EXPECT_EQ(y, (std::vector<float>{1061, 1062, 1063, 1064}));
  }
}

TEST_F(Plans, ArgumentsAreAsLargeAsTheirBuffers) {
  ASSERT_NE(module, nullptr);
  std::vector<float> x(5, 1.0f), y(5, -1.0f);
  const LaunchShape shape{"add_counter", {1, 1, 1}, {5, 1, 1}, 0};
  void* const pointers[] = {x.data(), nullptr, y.data()};
  const auto finding = run_plan(loop_plan(4), *module, 0, std::span(&shape, 1), pointers, 0);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->kind, FindingKind::OutOfBounds);
  EXPECT_EQ(finding->buffer, "x");
  EXPECT_EQ(y, std::vector<float>(5, -1.0f)) << "no outputs after a finding";
}

TEST_F(Plans, ScratchIsUndefinedUntilWritten) {
  ASSERT_NE(module, nullptr);
  kernel::Plan plan = loop_plan(4);
  plan.steps.erase(plan.steps.begin());
  std::vector<float> x(4), y(4);
  const LaunchShape shape{"add_counter", {1, 1, 1}, {4, 1, 1}, 0};
  void* const pointers[] = {x.data(), nullptr, y.data()};
  const auto finding = run_plan(plan, *module, 0, std::span(&shape, 1), pointers, 3);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->kind, FindingKind::UninitialisedRead);
  EXPECT_EQ(finding->buffer, "s");
}

TEST_F(Plans, OutputsInPlaceAndEmptyGrids) {
  ASSERT_NE(module, nullptr);
  kernel::Plan plan = loop_plan(4);
  plan.steps = {kernel::Step{kernel::Launch{0, {0, 2}, {kernel::int_imm(5)}}}};
  std::vector<float> x = {1, 2, 3, 4};
  void* const pointers[] = {x.data(), nullptr, x.data()};
  LaunchShape shape{"add_counter", {0, 0, 0}, {4, 1, 1}, 0};
  EXPECT_FALSE(run_plan(plan, *module, 0, std::span(&shape, 1), pointers, 0).has_value());
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3, 4}));
  shape.grid = {1, 1, 1};
  EXPECT_FALSE(run_plan(plan, *module, 0, std::span(&shape, 1), pointers, 0).has_value());
  EXPECT_EQ(x, (std::vector<float>{6, 7, 8, 9}));
}

TEST(Mutants, OnePlaceEach) {
  // If (i < 3) { barrier; A[i] = A[i] if i < 2 } without and with an else; a masked atomic.
  const kernel::Var i{1, "i", {DType::Int64, 1}};
  const auto a = vector_of(0, "A", 4, true);
  const auto less = [&](std::int64_t bound) {
    return kernel::binary(kernel::BinaryOp::Lt, kernel::var_ref(i), kernel::int_imm(bound));
  };
  const auto index = kernel::var_ref(i);
  const auto zero = kernel::float_imm(0, DType::Float32);
  const auto masked = kernel::load(a, {index}, less(1), zero);
  const auto body = kernel::block({
      kernel::make_stmt(
          kernel::If{less(3),
                     kernel::block({kernel::make_stmt(kernel::Barrier{"block"}),
                                    kernel::make_stmt(kernel::Store{a, {index}, masked, less(2)})}),
                     nullptr}),
      kernel::make_stmt(kernel::If{less(4), kernel::make_stmt(kernel::Barrier{"warp"}),
                                   kernel::make_stmt(kernel::Store{a, {index}, zero, nullptr})}),
      kernel::make_stmt(kernel::Atomic{kernel::ReduceOp::Add, a, {index}, zero, less(5)}),
  });
  kernel::Plan plan;
  plan.name = "p";
  kernel::Kernel kernel;
  kernel.name = "k";
  kernel.buffers = {a};
  kernel.grid = {{i, 4}};
  kernel.body = body;
  plan.kernels = {kernel};

  const auto list = mutants(plan);
  using Kind = Mutant::Kind;
  const auto count = [&](Kind kind) {
    return std::count_if(list.begin(), list.end(), [&](const Mutant& m) { return m.kind == kind; });
  };
  // Conditions are dropped, and < becomes <=.
  EXPECT_EQ(list.size(), 10u);
  EXPECT_EQ(count(Kind::GuardWeakened), 2);
  EXPECT_EQ(count(Kind::BarrierRemoved), 2);
  EXPECT_EQ(count(Kind::MaskWeakened), 6);
  const auto text = [](const kernel::Plan& p) { return kernel::print(p.kernels[0]); };
  std::vector<std::string> texts = {text(plan)};
  for (const auto& mutant : list) {
    EXPECT_EQ(mutant.kernel, "k");
    texts.push_back(text(mutant.plan));
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end()) << "all differ";
}

}  // namespace
}  // namespace tc::emulation::test
