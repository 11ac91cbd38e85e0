// SPDX-License-Identifier: Apache-2.0
//
// The text that the CUDA generator makes of a plan runs without a finding, and a plan with one
// synchronisation or guard less is caught.
#include <numeric>

#include <gtest/gtest.h>

#include "emulate.h"
#include "tc/codegen/cuda/codegen.h"
#include "tc/emulation/mutate.h"
#include "tc/emulation/run_plan.h"
#include "tc/support/check.h"

namespace tc::emulation::test {
namespace {

// y: x transposed through shared memory in tiles of 16 x 16; z: sums of the rows of y, by
// shuffles and shared memory. Every barrier and every guard is needed at these sizes.
constexpr const char* kPlan = R"(plan turn_and_sum
scratch 0
argument input x 0
argument output y 0
argument output z 1
kernel turn {
  buffer x float32[20, 24] align 16
  buffer y float32[24, 20] align 16 writable
  grid a 2
  grid b 2
  thread i 16
  thread j 16
  alloc s float32[16, 16] strides [17, 1] align 4 shared writable
  if a * 16 + i < 20 && b * 16 + j < 24 {
    s[i, j] = x[a * 16 + i, b * 16 + j]
  }
  barrier block
  if b * 16 + i < 24 && a * 16 + j < 20 {
    y[b * 16 + i, a * 16 + j] = s[j, i]
  }
}
kernel sum {
  buffer y float32[24, 20] align 16
  buffer z float32[24] align 16 writable
  grid r 24
  thread t 64
  alloc part float32[2] align 4 shared writable
  register v float32[1] = 0.0f
  if t < 20 {
    $v[0] = y[r, t]
  }
  $v[0] = $v[0] + shuffle($v[0], 16, 32)
  $v[0] = $v[0] + shuffle($v[0], 8, 32)
  $v[0] = $v[0] + shuffle($v[0], 4, 32)
  $v[0] = $v[0] + shuffle($v[0], 2, 32)
  $v[0] = $v[0] + shuffle($v[0], 1, 32)
  if t % 32 == 0 {
    part[t / 32] = $v[0]
  }
  barrier block
  if t == 0 {
    z[r] = part[0] + part[1]
  }
}
launch 0(0, 1)
launch 1(1, 2)
)";

struct Generated {
  std::shared_ptr<const HostModule> module;
  std::vector<std::vector<LaunchShape>> shapes;  ///< of each plan
};

Generated generate(const std::vector<kernel::Plan>& plans) {
  const Target target = *cuda_target("sm_90a");
  Generated result;
  std::vector<KernelText> texts;
  for (const auto& plan : plans) {
    const auto source = codegen::cuda::emit(plan, target, {});
    check(source.has_value(), "the generator takes the plans of this test");
    KernelText text{source->text, {}};
    std::vector<LaunchShape> shapes;
    for (const auto& info : source->kernels) {
      text.kernels.push_back(info.name);
      LaunchShape shape;
      shape.kernel = info.name;
      for (std::size_t axis = 0; axis < 3; ++axis)
        shape.grid[axis] = static_cast<int>(info.grid[axis]);
      shape.block = info.block;
      shape.shared_bytes =
          static_cast<std::size_t>(info.static_shared_bytes + info.dynamic_shared_bytes);
      shapes.push_back(shape);
    }
    texts.push_back(std::move(text));
    result.shapes.push_back(std::move(shapes));
  }
  std::vector<Header> headers;
  for (const auto& header : codegen::cuda::device_headers())
    headers.push_back({std::string(header.name), std::string(header.text)});
  const HostCompileOptions options{
      TC_HOST_COMPILER, {"-Wl,--whole-archive", TC_MATH_LIBRARY, "-Wl,--no-whole-archive"}};
  const auto module = HostModule::compile(texts, headers, options);
  check(module.has_value(), module ? "" : module.error().message);
  result.module = *module;
  return result;
}

TEST(Generated, PlansRunAndMutantsAreFound) {
  const auto parsed = kernel::parse_plan(kPlan);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().line << ": " << parsed.error().message;
  ASSERT_TRUE(kernel::verify(*parsed).empty()) << kernel::verify(*parsed).front();
  std::vector<kernel::Plan> plans = {*parsed};
  const auto list = mutants(*parsed);
  for (const auto& mutant : list)
    plans.push_back(mutant.plan);
  ASSERT_EQ(list.size(), 16u) << "two barriers, five guards in fourteen ways";
  const Generated generated = generate(plans);

  std::vector<float> x(20 * 24), y(x.size()), z(24);
  std::iota(x.begin(), x.end(), 1.0f);
  void* const pointers[] = {x.data(), y.data(), z.data()};
  for (const auto seed : kSeeds) {
    const auto finding =
        run_plan(plans[0], *generated.module, 0, generated.shapes[0], pointers, seed);
    ASSERT_FALSE(finding.has_value()) << finding->to_string();
    for (std::size_t c = 0; c < 24; ++c) {
      float sum = 0;  // of integers below 2^24
      for (std::size_t r = 0; r < 20; ++r) {
        ASSERT_EQ(y[c * 20 + r], x[r * 24 + c]);
        sum += x[r * 24 + c];
      }
      ASSERT_EQ(z[c], sum);
    }
    for (std::size_t m = 0; m < list.size(); ++m) {
      const auto caught =
          run_plan(plans[m + 1], *generated.module, m + 1, generated.shapes[m + 1], pointers, seed);
      ASSERT_TRUE(caught.has_value())
          << list[m].kernel << " without " << list[m].description << " under seed " << seed;
      EXPECT_EQ(caught->kernel, generated.shapes[m + 1][list[m].kernel == "turn" ? 0 : 1].kernel)
          << caught->to_string();
    }
  }
}

}  // namespace
}  // namespace tc::emulation::test
