// SPDX-License-Identifier: Apache-2.0
//
// The reported cases through the compiler. Each number is one test, `Reported/NN_title`, which runs
// every case of that number under every set of cases::option_sets(), against the right values and
// the interpreter. What is shown elsewhere, or waits for a device:
//
//   number  shown by
//   1-19, 21-27, 29-31, 33   ReportedValues here
//   18, 20, 21, 32           ReportedRefusals here (stride 0 output, located errors, max= of
//   nothing,
//                            reversed in place)
//   28      FarAddress here
//   34      tests/integration/test_cache.py (processes, damage, versions); another GPU: needs a GPU
//   35      Threads and Fork here; streams, captured graphs, two devices: need a GPU
//   36      needs a GPU: shared memory and threads of a block have no counterpart on a CPU
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "cases/reported.h"
#include "cases/values.h"
#include "compile_for_cpu.h"

namespace tc::cases {

/// For messages of GoogleTest.
void PrintTo(const ReportedCase& reported, std::ostream* stream) {
  *stream << reported.number;
}

namespace {

std::vector<ReportedCase> all_reported() {
  std::vector<ReportedCase> all = reported_operators();
  for (const ReportedCase& reported : reported_values())
    all.push_back(reported);
  return all;
}

class ReportedValues : public ::testing::TestWithParam<ReportedCase> {};

TEST_P(ReportedValues, AreRight) {
  const std::vector<Case> cases = GetParam().make();
  ASSERT_FALSE(cases.empty());
  for (const Case& test : cases) {
    for (const std::string& problem : run_case(test, option_sets(), compile_for_cpu()))
      ADD_FAILURE() << problem;
  }
}

INSTANTIATE_TEST_SUITE_P(Reported, ReportedValues, ::testing::ValuesIn(all_reported()),
                         [](const auto& info) {
                           const std::string number = std::to_string(info.param.number);
                           return (number.size() < 2 ? "0" : "") + number + "_" + info.param.title;
                         });

TEST(ReportedRefusals, SayWhatIsWrong) {
  for (const Refusal& refusal : reported_refusals()) {
    for (const std::string& problem : run_refusal(refusal, compile_for_cpu()))
      ADD_FAILURE() << problem;
  }
}

/// 28: the last element of a view that reaches 2,508,718,080 elements behind its base; only that
/// element is real memory.
TEST(Reported, FarAddress) {
  constexpr std::int64_t kStride = 7'864'320;
  float last = 42;
  const Case far = reported_case("28_far_address.tc", "last", {}, {});
  std::vector<std::int64_t> sizes = {320, 1};
  std::vector<std::int64_t> strides = {kStride, 1};
  std::vector<std::int64_t> out_sizes = {1};
  DLTensor x{};
  x.device = {kDLCPU, 0};
  x.dtype = {kDLFloat, 32, 1};
  DLTensor y = x;
  x.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&last) -
                                   std::uintptr_t{319} * kStride * sizeof(float));
  x.ndim = 2;
  x.shape = sizes.data();
  x.strides = strides.data();
  y.ndim = 1;
  y.shape = out_sizes.data();
  Metadata metadata;
  metadata.inputs = {TensorMeta{DType::Float32, sizes, strides, 4}};
  for (const NamedOptions& set : option_sets()) {
    const auto compiled = compile_for_cpu()({far.text, far.def, metadata, set.options});
    ASSERT_TRUE(compiled) << set.name << ": " << describe(compiled.error());
    // On the heap, far from what the view spans below the stack, so that nothing aliases.
    std::vector<float> result = {-1};
    y.data = result.data();
    const DLTensor* inputs[] = {&x};
    const DLTensor* outputs[] = {&y};
    const auto failure = compiled->run(inputs, outputs);
    ASSERT_FALSE(failure) << set.name << ": " << describe(*failure);
    EXPECT_EQ(result[0], 42) << set.name;
  }
}

/// Rows enough for several tasks.
Case wide_case() {
  const lang::Value x = f32({64, 257}, 9);
  const lang::Value s = tabulate(DType::Float32, {64}, [&](const Shape& row) {
    double sum = 0;
    for (std::int64_t k = 0; k < 257; ++k)
      sum += at(x, {row[0], k});
    return sum;
  });
  const lang::Value m = tabulate(DType::Float32, {64}, [&](const Shape& row) {
    double least = kInf;
    for (std::int64_t k = 0; k < 257; ++k)
      least = std::min(least, at(x, {row[0], k}));
    return least;
  });
  return reported_case("22_boundary_sizes.tc", "rows", {{x}}, {{s}, {m}});
}

/// 35: compile and run from two threads at once.
TEST(Reported, Threads) {
  const Case test = wide_case();
  std::vector<Problems> problems(4);
  std::vector<std::thread> threads;
  for (Problems& mine : problems) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3 && mine.empty(); ++i)
        mine = run_case(test, option_sets(), compile_for_cpu());
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const Problems& mine : problems) {
    for (const std::string& problem : mine)
      ADD_FAILURE() << problem;
  }
}

/// 35: a process that was forked after its parent had run in parallel compiles and runs.
TEST(Reported, Fork) {
  const Case test = wide_case();
  const std::vector<NamedOptions> sets = option_sets();
  ASSERT_EQ(run_case(test, sets, compile_for_cpu()), Problems{});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    const bool right = run_case(test, sets, compile_for_cpu()).empty();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace tc::cases
