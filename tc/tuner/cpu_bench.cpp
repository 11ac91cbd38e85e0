// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tc/compiler/dlpack_views.h"
#include "tc/tuner/bench.h"
#include "tc/tuner/bulk.h"

namespace tc::tuner {

namespace {

using Clock = std::chrono::steady_clock;

// Times in µs.
constexpr double kSample = 100;     ///< shorter runs are repeated until a sample takes so long
constexpr double kBudget = 60'000;  ///< spent on the samples of one candidate
constexpr int kFewest = 3;
constexpr int kMost = 31;
constexpr double kMostRepeats = 1000;

template <class F>
double microseconds(F&& f) {
  const Clock::time_point start = Clock::now();
  f();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

DLTensor tensor_of(Image& image) {
  DLTensor view{};
  view.data = image.address();
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<std::int32_t>(image.meta.sizes.size());
  view.dtype = compiler::to_dlpack(image.meta.type);
  view.shape = image.meta.sizes.data();
  view.strides = image.meta.strides.data();
  return view;
}

/// Arguments and scratch of calls, in memory that nothing else uses.
class CallMemory {
public:
  explicit CallMemory(const ArgumentImages& images) : images_(images) {
    for (Image& image : images_.inputs)
      views_.push_back(tensor_of(image));
    for (std::size_t o = 0; o < images_.outputs.size(); ++o)
      views_.push_back(tensor_of(images_.output(o)));
    for (std::size_t i = 0; i < views_.size(); ++i)
      (i < images_.inputs.size() ? inputs_ : outputs_).push_back(&views_[i]);
    // An input that is updated in place is the output's view.
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (images_.in_place_of[o] >= 0)
        inputs_[static_cast<std::size_t>(images_.in_place_of[o])] = outputs_[o];
    }
    for (const DLTensor& view : views_)
      pointers_.push_back(view.data);
    pointers_.push_back(nullptr);
  }

  /// As before the first call: arguments as in `fresh`, which are those of the constructor but for
  /// their values, and so much scratch.
  void restore(const ArgumentImages& fresh, std::int64_t scratch_bytes) {
    const auto copy = [](Image& to, const Image& from) {
      copy_bytes(to.bytes.data(), from.bytes.data(), from.bytes.size());
    };
    for (std::size_t i = 0; i < images_.inputs.size(); ++i)
      copy(images_.inputs[i], fresh.inputs[i]);
    for (std::size_t o = 0; o < images_.outputs.size(); ++o) {
      if (images_.in_place_of[o] < 0) copy(images_.outputs[o], fresh.outputs[o]);
    }
    scratch_ = *poisoned_image({DType::UInt8, {scratch_bytes}, {}, 64});
    pointers_.back() = scratch_.address();
  }

  ArgumentImages& images() { return images_; }
  const Image& scratch() const { return scratch_; }
  void* scratch_address() { return scratch_.address(); }
  const std::vector<const DLTensor*>& inputs() const { return inputs_; }
  const std::vector<const DLTensor*>& outputs() const { return outputs_; }
  const std::vector<void*>& pointers() const { return pointers_; }

private:
  ArgumentImages images_;
  Image scratch_;
  std::vector<DLTensor> views_;
  std::vector<const DLTensor*> inputs_, outputs_;
  std::vector<void*> pointers_;
};

BenchProblem wrong(std::string message) {
  return {BenchProblem::Kind::Wrong, std::move(message), ""};
}
BenchProblem no_image() {
  return {BenchProblem::Kind::Refused, "tensors of a packed type with strides cannot be tuned",
          "unsupported"};
}

class CpuBench final : public Bench {
public:
  explicit CpuBench(Arguments& arguments) : arguments_(arguments) {}

  Result<std::vector<OutputView>, BenchProblem> run_checked(const Executor& executor) override {
    const ArgumentImages* fresh = arguments_.images(compiler::InputKind::Integer);
    if (fresh == nullptr) return no_image();
    CallMemory& arguments = memory(*fresh, executor);
    if (auto failure = executor.run(arguments.inputs(), arguments.outputs(), nullptr,
                                    arguments.scratch_address()))
      return wrong(failure->message);
    if (auto problem = executor.check(arguments.scratch_address())) return wrong(*problem);
    ArgumentImages& images = arguments.images();
    if (!is_surrounded_by_poison(arguments.scratch()))
      return wrong("memory around the scratch block was written");
    for (std::size_t i = 0; i < images.inputs.size(); ++i) {
      const auto& in_place = images.in_place_of;
      const bool is_output =
          std::find(in_place.begin(), in_place.end(), static_cast<int>(i)) != in_place.end();
      const Image &after = images.inputs[i], &before = fresh->inputs[i];
      if (!is_output && !is_same_bytes(after.bytes.data(), before.bytes.data(), after.bytes.size()))
        return wrong(fmt::format("input {} was written", i + 1));
    }
    std::vector<OutputView> results;
    for (std::size_t o = 0; o < images.outputs.size(); ++o) {
      Image& output = images.output(o);
      if (!is_surrounded_by_poison(output))
        return wrong(fmt::format("memory around output {} was written", o + 1));
      results.push_back(Bench::view_of(output, output.bytes.data(), o));
    }
    return results;
  }

  Result<Timing, BenchProblem> time(const Executor& executor, double stop_us) override {
    const ArgumentImages* normal = arguments_.images(compiler::InputKind::Normal);
    if (normal == nullptr) return no_image();
    const CallMemory& arguments = memory(*normal, executor);
    const auto run = [&] { executor.run_unchecked(arguments.pointers()); };
    run();  // pages, caches, threads
    Timing timing;
    const double once = microseconds(run);
    const int repeats =
        static_cast<int>(std::clamp(kSample / std::max(once, 0.01), 1.0, kMostRepeats));
    std::vector<double> samples;
    double spent = 0;
    double least = once;
    while (static_cast<int>(samples.size()) < kMost &&
           (spent < kBudget || static_cast<int>(samples.size()) < kFewest)) {
      if (stop_us > 0 && least > stop_us && !samples.empty()) {
        timing.is_stopped = true;
        break;
      }
      const double sample = microseconds([&] {
                              for (int r = 0; r < repeats; ++r)
                                run();
                            }) /
                            repeats;
      samples.push_back(sample);
      least = std::min(least, sample);
      spent += sample * repeats;
    }
    timing.samples = static_cast<int>(samples.size());
    timing.median_us = median(std::move(samples));
    return timing;
  }

private:
  /// The one working copy: page faults of new memory would take longer than most runs.
  CallMemory& memory(const ArgumentImages& fresh, const Executor& executor) {
    if (!memory_) memory_.emplace(fresh);
    memory_->restore(fresh, executor.scratch_bytes());
    return *memory_;
  }

  Arguments& arguments_;
  std::optional<CallMemory> memory_;
};

}  // namespace

std::unique_ptr<Bench> cpu_bench(Arguments& arguments) {
  return std::make_unique<CpuBench>(arguments);
}

}  // namespace tc::tuner
