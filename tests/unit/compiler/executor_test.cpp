// SPDX-License-Identifier: Apache-2.0
//
// Running compiled code: views of every kind, refused arguments, threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "tc/compiler/dlpack_views.h"
#include "tc/tc.h"

namespace tc {
namespace {

/// A float view of borrowed memory.
struct View {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  DLTensor tensor{};

  View(float* data, std::vector<std::int64_t> sizes_in, std::vector<std::int64_t> strides_in = {})
      : sizes(std::move(sizes_in)), strides(std::move(strides_in)) {
    if (strides.empty()) strides = row_major_strides(sizes);
    tensor.data = data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<std::int32_t>(sizes.size());
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = sizes.data();
    tensor.strides = strides.data();
  }
  TensorMeta meta() const { return {DType::Float32, sizes, strides, 4}; }
};

Result<Executor, Failure> compile_for(const char* text, const std::vector<const View*>& inputs,
                                      std::vector<std::optional<TensorMeta>> outputs = {}) {
  Metadata metadata;
  for (const View* input : inputs)
    metadata.inputs.push_back(input->meta());
  metadata.outputs = std::move(outputs);
  return compile(text, "", metadata);
}

std::optional<Failure> run(const Executor& executor, const std::vector<const View*>& inputs,
                           const std::vector<const View*>& outputs) {
  std::vector<const DLTensor*> in, out;
  for (const View* view : inputs)
    in.push_back(&view->tensor);
  for (const View* view : outputs)
    out.push_back(&view->tensor);
  return executor.run(in, out);
}

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

constexpr const char* kCopy = "def copy(float(I,J) x) -> (y) { y(i,j) = x(i,j) }";

/// Copies a 5x7 view and compares element by element.
void expect_exact_copy(const View& x) {
  auto executor = compile_for(kCopy, {&x});
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  std::vector<float> data(static_cast<std::size_t>(x.sizes[0] * x.sizes[1]), -1);
  View y(data.data(), x.sizes);
  auto failure = run(*executor, {&x}, {&y});
  ASSERT_FALSE(failure.has_value()) << failure->message;
  const auto* base = static_cast<const float*>(x.tensor.data);
  for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
    for (std::int64_t j = 0; j < x.sizes[1]; ++j) {
      ASSERT_EQ(data[static_cast<std::size_t>(i * x.sizes[1] + j)],
                base[i * x.strides[0] + j * x.strides[1]])
          << i << "," << j;
    }
  }
}

TEST(Executor, ReadsViewsWithoutCopies) {
  std::vector<float> memory = counting(2000);
  expect_exact_copy(View(memory.data(), {5, 37}));
  expect_exact_copy(View(memory.data(), {5, 37}, {1, 5}));                   // transposed
  expect_exact_copy(View(memory.data() + 3, {5, 37}, {100, 2}));             // sliced
  expect_exact_copy(View(memory.data() + 4 * 37 + 36, {5, 37}, {-37, -1}));  // reversed
  expect_exact_copy(View(memory.data(), {5, 37}, {0, 1}));                   // expanded
  expect_exact_copy(View(memory.data() + 1, {5, 37}));  // offset by one element
  expect_exact_copy(
      View(memory.data(), {1, 37}, {123456789, 1}));  // stride of a single element is free
}

TEST(Executor, AddressesBeyond31Bits) {
  // One element of real memory at the far end of a view that reaches 2,508,718,080 elements behind
  // its base.
  constexpr std::int64_t kStride = 7'864'320;
  std::vector<float> last = {42};
  View x(last.data() - 319 * kStride, {320, 1}, {kStride, 1});
  auto executor =
      compile_for("def last(float(N,K) x) -> (y) { y(k) +=! x(n,k) where n in 319:320 }", {&x});
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  std::vector<float> data = {-1};
  void* pointers[] = {x.tensor.data, data.data(), nullptr};
  executor->run_unchecked(pointers);
  EXPECT_EQ(data[0], 42);
}

TEST(Executor, WritesPreallocatedStridedOutputs) {
  std::vector<float> memory = counting(12);
  View x(memory.data(), {3, 4});
  TensorMeta strided{DType::Float32, {3, 4}, {10, 2}, 4};
  auto executor = compile_for(kCopy, {&x}, {strided});
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  std::vector<float> out(40, -7);
  View y(out.data(), {3, 4}, {10, 2});
  ASSERT_FALSE(run(*executor, {&x}, {&y}).has_value());
  for (int i = 0; i < 40; ++i) {
    const bool written = i / 10 < 3 && i % 10 < 8 && i % 2 == 0;
    EXPECT_EQ(out[static_cast<std::size_t>(i)],
              written ? memory[static_cast<std::size_t>(i / 10 * 4 + i % 10 / 2)] : -7)
        << i;
  }
}

TEST(Executor, RunsTwiceIntoTheSamePoisonedOutput) {
  std::vector<float> memory = counting(600);
  View x(memory.data(), {20, 30});
  auto executor = compile_for("def sums(float(N,K) x) -> (s) { s(n) +=! x(n,r_k) }", {&x});
  ASSERT_TRUE(executor.has_value());
  std::vector<float> out(20, NAN);
  View s(out.data(), {20});
  ASSERT_FALSE(run(*executor, {&x}, {&s}).has_value());
  const std::vector<float> first = out;
  ASSERT_FALSE(run(*executor, {&x}, {&s}).has_value());
  EXPECT_EQ(std::memcmp(first.data(), out.data(), first.size() * sizeof(float)), 0);
  EXPECT_EQ(first[0], 465);
}

TEST(Executor, UpdatesInPlaceOnlyInTheSameMemory) {
  std::vector<float> memory = counting(8);
  View x(memory.data(), {8});
  auto executor = compile_for("def twice(float(N) x) -> (x) { x(i) = 2.0 * x(i) }", {&x});
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  std::vector<float> other(8);
  View elsewhere(other.data(), {8});
  auto refused = run(*executor, {&x}, {&elsewhere});
  ASSERT_TRUE(refused.has_value());
  EXPECT_NE(refused->message.find("in place"), std::string::npos);
  ASSERT_FALSE(run(*executor, {&x}, {&x}).has_value());
  EXPECT_EQ(memory[7], 16);
}

struct Refusal {
  const char* name;
  View input;
  View output;
  const char* text;  ///< part of the message
};

TEST(Executor, RefusesWhatDoesNotFit) {
  std::vector<float> a = counting(100), b(100);
  View x(a.data(), {3, 4});
  auto executor = compile_for(kCopy, {&x});
  ASSERT_TRUE(executor.has_value());
  View wrong_type(a.data(), {3, 4});
  wrong_type.tensor.dtype = {kDLInt, 32, 1};
  View on_gpu(a.data(), {3, 4});
  on_gpu.tensor.device.device_type = kDLCUDA;
  View no_data(nullptr, {3, 4});
  View odd_address(reinterpret_cast<float*>(reinterpret_cast<char*>(a.data()) + 2), {3, 4});
  const View good_output(b.data(), {3, 4});
  const Refusal refusals[] = {
      {"shape", View(a.data(), {4, 3}), good_output, "shape"},
      {"rank", View(a.data(), {12}), good_output, "shape"},
      {"strides", View(a.data(), {3, 4}, {1, 3}), good_output, "strides"},
      {"type", wrong_type, good_output, "float32"},
      {"device", on_gpu, good_output, "device"},
      {"null", no_data, good_output, "no data"},
      {"alignment", odd_address, good_output, "multiple"},
      {"output shape", View(a.data(), {3, 4}), View(b.data(), {3, 5}), "shape"},
      {"aliasing", View(a.data(), {3, 4}), View(a.data() + 4, {3, 4}), "shares memory"},
      {"output stride 0", View(a.data(), {3, 4}), View(b.data(), {3, 4}, {0, 1}), "strides"},
  };
  for (const Refusal& refusal : refusals) {
    // Copies of a View keep the pointers of the original: rebuild the raw view.
    DLTensor in = refusal.input.tensor, out = refusal.output.tensor;
    in.shape = const_cast<std::int64_t*>(refusal.input.sizes.data());
    in.strides = const_cast<std::int64_t*>(refusal.input.strides.data());
    out.shape = const_cast<std::int64_t*>(refusal.output.sizes.data());
    out.strides = const_cast<std::int64_t*>(refusal.output.strides.data());
    const DLTensor* inputs[] = {&in};
    const DLTensor* outputs[] = {&out};
    auto failure = executor->run(inputs, outputs);
    ASSERT_TRUE(failure.has_value()) << refusal.name;
    EXPECT_EQ(failure->kind, Failure::Kind::Argument) << refusal.name;
    EXPECT_NE(failure->message.find(refusal.text), std::string::npos)
        << refusal.name << ": " << failure->message;
  }
  EXPECT_TRUE(executor->run({}, {}).has_value());
}

TEST(Executor, RefusesAnOutputWhoseElementsShareMemory) {
  std::vector<float> a = counting(12);
  View x(a.data(), {3, 4});
  auto executor = compile_for(kCopy, {&x}, {TensorMeta{DType::Float32, {3, 4}, {0, 1}, 4}});
  ASSERT_FALSE(executor.has_value());
  EXPECT_NE(executor.error().message.find("stride 0"), std::string::npos);
}

TEST(Executor, ChecksWhereScratchStarts) {
  std::vector<float> a = counting(300 * 500), b(a.size());
  View x(a.data(), {300, 500}), y(b.data(), {300, 500});
  const char* text =
      "def f(float(N,M) x) -> (y) { s(i) +=! x(i,j)  t +=! s(i)  y(i,j) = x(i,j) * s(i) + t }";
  Metadata metadata{{x.meta()}, {}, {}, {}};
  auto executor = compile(text, "", metadata, *named_options("naive", TargetKind::Cpu));
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  ASSERT_GT(executor->scratch_bytes(), 0);
  std::vector<char> memory(static_cast<std::size_t>(executor->scratch_bytes()) + 128);
  const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
  char* aligned = memory.data() + (64 - start % 64);
  const DLTensor* inputs[] = {&x.tensor};
  const DLTensor* outputs[] = {&y.tensor};
  EXPECT_FALSE(executor->run(inputs, outputs, nullptr, aligned).has_value());
  const auto refused = executor->run(inputs, outputs, nullptr, aligned + 4);
  ASSERT_TRUE(refused.has_value());
  EXPECT_NE(refused->message.find("no multiple of 64 bytes"), std::string::npos);
}

TEST(Executor, KnowsOneCpu) {
  std::vector<float> a = counting(12), b(12);
  View x(a.data(), {3, 4}), y(b.data(), {3, 4});
  x.tensor.device.device_id = 1;
  auto executor = compile_for(kCopy, {&x});
  ASSERT_TRUE(executor.has_value());
  EXPECT_FALSE(run(*executor, {&x}, {&y}).has_value());
  EXPECT_EQ(b, a);
}

TEST(Executor, RunsFromSeveralThreads) {
  std::vector<float> a = counting(64 * 48);
  View x(a.data(), {64, 48});
  auto executor = compile_for(
      "def f(float(N,K) x) -> (y) { t(n,k) = x(n,k) * 2.0  y(n) max=! t(n,r_k) }", {&x});
  ASSERT_TRUE(executor.has_value());
  std::vector<std::vector<float>> results(8, std::vector<float>(64));
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      View y(result.data(), {64});
      for (int i = 0; i < 50; ++i)
        ASSERT_FALSE(run(*executor, {&x}, {&y}).has_value());
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const auto& result : results) {
    for (std::size_t n = 0; n < 64; ++n)
      ASSERT_EQ(result[n], 2 * a[n * 48 + 47]);
  }
}

TEST(Executor, EmptyTensorsNeedNoData) {
  View x(nullptr, {0, 5});
  auto executor =
      compile_for("def f(float(N,K) x) -> (y, s) { y(n,k) = x(n,k) s(k) +=! x(r_n,k) }", {&x});
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  View y(nullptr, {0, 5});
  std::vector<float> sums(5, NAN);
  View s(sums.data(), {5});
  auto failure = run(*executor, {&x}, {&y, &s});
  ASSERT_FALSE(failure.has_value()) << failure->message;
  EXPECT_EQ(sums, std::vector<float>(5, 0));
}

TEST(DlpackViews, NamesEveryElementType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(compiler::from_dlpack(compiler::to_dlpack(type)), type) << name(type);
  }
  EXPECT_FALSE(compiler::from_dlpack({kDLComplex, 64, 1}).has_value());
  EXPECT_FALSE(compiler::from_dlpack({kDLFloat, 32, 4}).has_value());
}

TEST(DlpackViews, RefusesStridesBeyondTheAddressSpace) {
  float value = 0;
  View view(&value, {3}, {std::int64_t{1} << 61});
  EXPECT_FALSE(compiler::metadata_of(view.tensor).has_value());
}

}  // namespace
}  // namespace tc
