// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tc/compiler/cuda_platform.h"
#include "tc/runtime/cuda/timing.h"
#include "tc/tuner/bench.h"
#include "tc/tuner/bulk.h"
#include "tc/tuner/device_arguments.h"
#include "tc/tuner/protocol.h"

namespace tc::tuner {

namespace {

namespace cuda = runtime::cuda;

/// Sets of arguments that take turns: as many as the runs of one graph at most.
constexpr std::size_t kMostSets = 1000;
/// They fill the L2 cache so many times, so that no run finds what an earlier one left there. A
/// kernel for which a graph holds fewer runs than that takes takes far longer than reading its
/// arguments from memory.
constexpr double kCacheFills = 2;
/// Part of the device's free memory that they may take.
constexpr std::size_t kMemoryShare = 4;

/// Ends a run that says something about the candidate; caught in this file.
struct Stop {
  BenchProblem problem;
};
[[noreturn]] void wrong(std::string message) {
  throw Stop{{BenchProblem::Kind::Wrong, std::move(message), ""}};
}

class CudaBench final : public Bench {
public:
  CudaBench(Arguments& arguments, std::shared_ptr<const cuda::Driver> driver, cuda::Stream stream,
            const Target& target)
      : arguments_(arguments), driver_(std::move(driver)), stream_(std::move(stream)),
        target_(target) {}

  Result<std::vector<OutputView>, BenchProblem> run_checked(const Executor& executor) override {
    return guarded<std::vector<OutputView>>([&] { return checked(executor); });
  }

  Result<Timing, BenchProblem> time(const Executor& executor, double stop_us) override {
    return guarded<Timing>([&] { return timed(executor, stop_us); });
  }

private:
  template <class T, class F>
  static Result<T, BenchProblem> guarded(F&& f) {
    try {
      return f();
    } catch (const Stop& stop) {
      return stop.problem;
    } catch (const LostDevice& lost) {
      return BenchProblem{BenchProblem::Kind::Lost, lost.message, ""};
    }
  }

  ArgumentImages images_of(compiler::InputKind kind) {
    const ArgumentImages* images = arguments_.images(kind);
    if (images == nullptr) {
      throw Stop{{BenchProblem::Kind::Refused,
                  "tensors of a packed type with strides cannot be tuned", "unsupported"}};
    }
    return *images;
  }

  /// Loads the code and takes scratch memory. What fails here is refused, unless the device fails.
  void prepare(const Executor& executor) {
    if (const std::optional<Failure> failure = executor.prepare(stream_.device()))
      refuse(failure->message, failure->rejection ? to_string(failure->rejection->kind) : "load");
    const Image image = *poisoned_image({DType::UInt8, {executor.scratch_bytes()}, {}, 64});
    if (!scratch_ || scratch_->size() < image.bytes.size()) {
      scratch_.reset();
      Result<cuda::DeviceMemory, Rejection> memory =
          cuda::DeviceMemory::allocate(driver_, stream_.device(), image.bytes.size());
      if (!memory) refuse(memory.error().message, kNoRoom);
      scratch_ = std::move(memory).value();
    }
    scratch_begin_ = image.begin;
    scratch_end_ = image.end;
    scratch_whole_ = image.bytes.size();
  }

  [[noreturn]] void refuse(const std::string& message, const std::string& reason) {
    // A lost device refuses everything.
    expect(stream_.synchronise());
    throw Stop{{BenchProblem::Kind::Refused, message, reason}};
  }

  void* scratch_address() const { return static_cast<char*>(scratch_->get()) + scratch_begin_; }

  void check_scratch() const {
    const auto is_poison = [&](std::size_t begin, std::size_t end) {
      std::vector<unsigned char> bytes(end - begin);
      expect(cuda::copy_to_host(stream_, bytes.data(), static_cast<char*>(scratch_->get()) + begin,
                                bytes.size()));
      return std::all_of(bytes.begin(), bytes.end(),
                         [](unsigned char byte) { return byte == kPoison; });
    };
    if (!is_poison(0, scratch_begin_) || !is_poison(scratch_end_, scratch_whole_))
      wrong("memory around the scratch block was written");
  }

  /// Integer-valued arguments: what they are before each run, and where they lie on the device.
  struct Integers {
    Integers(const std::shared_ptr<const cuda::Driver>& driver, const cuda::Stream& stream,
             ArgumentImages given)
        : images(std::move(given)), layout(images), before(block_of(layout, images)),
          after(driver, stream.device(), layout.bytes), device(driver, stream, layout, images) {
      const auto is_poison = [&](const Image& image) {
        return std::all_of(image.bytes.begin(), image.bytes.end(),
                           [](unsigned char byte) { return byte == kPoison; });
      };
      for (std::size_t o = 0; o < images.outputs.size(); ++o) {
        const Image& output = images.output(o);
        written.push_back({layout.outputs[o], output.bytes.size(), is_poison(output)});
      }
    }

    /// Bytes of an output in the block.
    struct Part {
      std::size_t begin = 0, bytes = 0;
      bool is_poison = false;  ///< before a run
    };

    ArgumentImages images;
    BlockLayout layout;
    std::vector<unsigned char> before;  ///< a run
    cuda::HostMemory after;
    std::vector<Part> written;
    DeviceArguments device;
    bool is_pristine = false;  ///< the device holds what is only read
  };

  Integers& integers() {
    if (!integers_)
      integers_ =
          std::make_unique<Integers>(driver_, stream_, images_of(compiler::InputKind::Integer));
    return *integers_;
  }

  /// The device holds what it has to before a run. What is only read does since the last one.
  void restore(Integers& set) {
    char* const memory = static_cast<char*>(set.device.memory());
    if (!set.is_pristine) {
      expect(cuda::copy_to_device(stream_, memory, set.before.data(), set.layout.bytes));
      return;
    }
    for (const Integers::Part& part : set.written) {
      if (part.is_poison)
        expect(cuda::fill(stream_, memory + part.begin, kPoison, part.bytes));
      else
        expect(cuda::copy_to_device(stream_, memory + part.begin, set.before.data() + part.begin,
                                    part.bytes));
    }
  }

  std::vector<OutputView> checked(const Executor& executor) {
    prepare(executor);
    Integers& set = integers();
    expect(cuda::fill(stream_, scratch_->get(), kPoison, scratch_whole_));
    restore(set);
    set.is_pristine = false;
    if (auto failure = executor.run(set.device.inputs(), set.device.outputs(), stream_.get(),
                                    scratch_address()))
      refuse(failure->message, failure->rejection ? to_string(failure->rejection->kind) : "launch");
    expect(stream_.synchronise());
    if (auto problem = executor.check(scratch_address(), stream_.get(), stream_.device()))
      wrong(*problem);
    expect(cuda::copy_to_host(stream_, set.after.get(), set.device.memory(), set.layout.bytes));
    check_scratch();
    return results(set);
  }

  std::vector<OutputView> results(Integers& set) {
    const auto& in_place = set.images.in_place_of;
    for (std::size_t i = 0; i < set.images.inputs.size(); ++i) {
      if (std::find(in_place.begin(), in_place.end(), static_cast<int>(i)) != in_place.end())
        continue;
      const std::size_t at = set.layout.inputs[i];
      const std::size_t bytes = set.images.inputs[i].bytes.size();
      if (!is_same_bytes(set.after.get() + at, set.before.data() + at, bytes))
        wrong(fmt::format("input {} was written", i + 1));
    }
    set.is_pristine = true;
    std::vector<OutputView> results;
    for (std::size_t o = 0; o < set.images.outputs.size(); ++o) {
      const Image& image = set.images.output(o);
      unsigned char* const bytes = set.after.get() + set.layout.outputs[o];
      if (!is_surrounded_by_poison(image, bytes))
        wrong(fmt::format("memory around output {} was written", o + 1));
      results.push_back(view_of(image, bytes, o));
    }
    return results;
  }

  /// Sets that take turns in timed runs; they keep their values, whatever runs.
  std::vector<DeviceArguments>& turns() {
    if (!turns_.empty()) return turns_;
    normal_ = std::make_unique<ArgumentImages>(images_of(compiler::InputKind::Normal));
    const BlockLayout layout(*normal_);
    const std::vector<unsigned char> block = block_of(layout, *normal_);
    const auto wanted =
        static_cast<std::size_t>(kCacheFills * static_cast<double>(target_.l2_bytes) /
                                 static_cast<double>(std::max<std::size_t>(layout.used_bytes, 1)));
    const cuda::MemoryInfo memory = expect(cuda::memory_info(*driver_, stream_.device()));
    const std::size_t fitting =
        memory.free_bytes / kMemoryShare / std::max<std::size_t>(layout.bytes, 1);
    const std::size_t count = std::clamp<std::size_t>(std::min(wanted + 1, fitting), 1, kMostSets);
    turns_.reserve(count);
    for (std::size_t s = 0; s < count; ++s) {
      turns_.emplace_back(driver_, stream_, layout, *normal_);
      expect(cuda::copy_to_device(stream_, turns_.back().memory(), block.data(), block.size()));
    }
    // Copies on the device are all that is needed from now on.
    arguments_.forget(compiler::InputKind::Normal);
    for (std::vector<Image>* images : {&normal_->inputs, &normal_->outputs}) {
      for (Image& image : *images)
        image.bytes = {};
    }
    return turns_;
  }

  Timing timed(const Executor& executor, double stop_us) {
    prepare(executor);
    std::vector<DeviceArguments>& sets = turns();
    const cuda::Enqueue enqueue = [&](const cuda::Stream& stream,
                                      int run) -> std::optional<Rejection> {
      DeviceArguments& set = sets[static_cast<std::size_t>(run) % sets.size()];
      auto failure =
          executor.run_unchecked(set.pointers(scratch_address()), stream.get(), stream.device());
      if (!failure) return std::nullopt;
      return failure->rejection ? *failure->rejection
                                : Rejection{RejectionKind::TargetMissing, failure->message};
    };
    if (stop_us > 0) {
      cuda::TimingOptions few;
      few.warmup = 1;
      few.replays = 2;
      const cuda::KernelTime first =
          expect(cuda::time_kernels(driver_, stream_.device(), enqueue, few));
      if (first.min_us > stop_us) return {first.median_us, few.replays, true};
    }
    const cuda::KernelTime times = expect(cuda::time_kernels(driver_, stream_.device(), enqueue));
    return {times.median_us, static_cast<int>(times.samples_us.size()), false};
  }

  Arguments& arguments_;
  std::shared_ptr<const cuda::Driver> driver_;
  cuda::Stream stream_;
  Target target_;
  std::optional<cuda::DeviceMemory> scratch_;
  std::size_t scratch_begin_ = 0, scratch_end_ = 0, scratch_whole_ = 0;
  std::unique_ptr<Integers> integers_;
  std::unique_ptr<ArgumentImages> normal_;  ///< sizes and strides; the values are on the device
  std::vector<DeviceArguments> turns_;
};

}  // namespace

Result<std::unique_ptr<Bench>, std::string>
cuda_bench(Arguments& arguments, int device, const Target& target, const CompileContext& context) {
  const auto& driver = compiler::cuda_platform(context)->driver();
  if (!driver) return driver.error().message;
  Result<cuda::Stream, Rejection> stream = cuda::Stream::create(*driver, device);
  if (!stream) return stream.error().message;
  return std::unique_ptr<Bench>(
      std::make_unique<CudaBench>(arguments, *driver, std::move(stream).value(), target));
}

}  // namespace tc::tuner
