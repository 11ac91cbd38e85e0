// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tc/compiler/cuda_platform.h"
#include "tc/compiler/dlpack_views.h"
#include "tc/runtime/cuda/timing.h"
#include "tc/tuner/bench.h"

namespace tc::tuner {

namespace {

namespace cuda = runtime::cuda;

/// Sets of inputs that take turns, so that none is left in the L2 cache from its last run.
constexpr std::size_t kMostSets = 16;

/// Ends a run with what the driver says; caught in this file.
struct DeviceProblem {
  std::string message;
};
void expect(const std::optional<Rejection>& problem) {
  if (problem) throw DeviceProblem{problem->message};
}
void expect(const std::optional<Failure>& failure) {
  if (failure) throw DeviceProblem{failure->message};
}
template <class T>
T expect(Result<T, Rejection> result) {
  if (!result) throw DeviceProblem{result.error().message};
  return std::move(result).value();
}

/// One set of arguments on a device.
class DeviceArguments {
public:
  DeviceArguments(const std::shared_ptr<const cuda::Driver>& driver, const cuda::Stream& stream,
                  ArgumentImages images, std::int64_t scratch_bytes)
      : driver_(driver), stream_(stream), images_(std::move(images)),
        scratch_(*poisoned_image({DType::UInt8, {scratch_bytes}, {}, 64})) {
    for (Image& image : images_.inputs)
      add(image);
    for (std::size_t o = 0; o < images_.outputs.size(); ++o) {
      if (images_.in_place_of[o] < 0)
        add(images_.outputs[o]);
      else
        views_.push_back(views_[static_cast<std::size_t>(images_.in_place_of[o])]);
    }
    for (std::size_t i = 0; i < views_.size(); ++i)
      (i < images_.inputs.size() ? inputs_ : outputs_).push_back(&views_[i]);
    scratch_memory_.push_back(upload(scratch_));
    for (const DLTensor& view : views_)
      pointers_.push_back(view.data);
    pointers_.push_back(scratch_address());
  }

  const std::vector<const DLTensor*>& inputs() const { return inputs_; }
  const std::vector<const DLTensor*>& outputs() const { return outputs_; }
  const std::vector<void*>& pointers() const { return pointers_; }
  void* scratch_address() const {
    return static_cast<char*>(scratch_memory_.front().get()) + scratch_.element_0;
  }
  std::size_t bytes() const {
    std::size_t total = 0;
    for (const cuda::DeviceMemory& memory : memory_)
      total += memory.size();
    return total;
  }

  /// Everything as it is on the device now.
  ArgumentImages& download() {
    std::size_t next = 0;
    for (Image& image : images_.inputs)
      fetch(image, memory_[next++]);
    for (std::size_t o = 0; o < images_.outputs.size(); ++o) {
      if (images_.in_place_of[o] < 0) fetch(images_.outputs[o], memory_[next++]);
    }
    fetch(scratch_, scratch_memory_.front());
    return images_;
  }
  const Image& scratch() const { return scratch_; }

private:
  cuda::DeviceMemory upload(const Image& image) const {
    cuda::DeviceMemory memory =
        expect(cuda::DeviceMemory::allocate(driver_, stream_.device(), image.bytes.size()));
    expect(cuda::copy_to_device(stream_, memory.get(), image.bytes.data(), image.bytes.size()));
    return memory;
  }
  void fetch(Image& image, const cuda::DeviceMemory& memory) const {
    expect(cuda::copy_to_host(stream_, image.bytes.data(), memory.get(), image.bytes.size()));
  }
  void add(Image& image) {
    memory_.push_back(upload(image));
    DLTensor view{};
    view.data = static_cast<char*>(memory_.back().get()) + image.element_0;
    view.device = {kDLCUDA, stream_.device()};
    view.ndim = static_cast<std::int32_t>(image.meta.sizes.size());
    view.dtype = compiler::to_dlpack(image.meta.type);
    view.shape = image.meta.sizes.data();
    view.strides = image.meta.strides.data();
    views_.push_back(view);
  }

  std::shared_ptr<const cuda::Driver> driver_;
  const cuda::Stream& stream_;
  ArgumentImages images_;
  Image scratch_;
  std::vector<cuda::DeviceMemory> memory_, scratch_memory_;
  std::vector<DLTensor> views_;
  std::vector<const DLTensor*> inputs_, outputs_;
  std::vector<void*> pointers_;
};

class CudaBench final : public Bench {
public:
  CudaBench(const compiler::FrontEnd& front, std::shared_ptr<const cuda::Driver> driver,
            cuda::Stream stream, const Target& target)
      : front_(front), driver_(std::move(driver)), stream_(std::move(stream)), target_(target) {}

  Result<std::vector<compiler::HostTensor>, std::string>
  run_checked(const Executor& executor) override {
    try {
      return checked(executor);
    } catch (const DeviceProblem& problem) {
      return problem.message;
    }
  }

  Result<Timing, std::string> time(const Executor& executor, double stop_us) override {
    try {
      return timed(executor, stop_us);
    } catch (const DeviceProblem& problem) {
      return problem.message;
    }
  }

private:
  ArgumentImages fresh(compiler::InputKind kind) {
    std::optional<ArgumentImages>& images =
        kind == compiler::InputKind::Integer ? integers_ : normal_;
    if (!images) images = argument_images(front_, kind);
    if (!images) throw DeviceProblem{"tensors of a packed type with strides cannot be tuned"};
    return *images;
  }

  std::vector<compiler::HostTensor> checked(const Executor& executor) {
    const ArgumentImages before = fresh(compiler::InputKind::Integer);
    DeviceArguments arguments(driver_, stream_, before, executor.scratch_bytes());
    expect(executor.prepare(stream_.device()));
    expect(executor.run(arguments.inputs(), arguments.outputs(), stream_.get(),
                        arguments.scratch_address()));
    expect(stream_.synchronise());
    if (auto problem = executor.check(arguments.scratch_address(), stream_.get(), stream_.device()))
      throw DeviceProblem{*problem};
    ArgumentImages& images = arguments.download();
    if (!is_surrounded_by_poison(arguments.scratch()))
      throw DeviceProblem{"memory around the scratch block was written"};
    for (std::size_t i = 0; i < images.inputs.size(); ++i) {
      const auto& in_place = images.in_place_of;
      const bool is_output =
          std::find(in_place.begin(), in_place.end(), static_cast<int>(i)) != in_place.end();
      if (!is_output && images.inputs[i].bytes != before.inputs[i].bytes)
        throw DeviceProblem{fmt::format("input {} was written", i + 1)};
    }
    std::vector<compiler::HostTensor> results;
    for (std::size_t o = 0; o < images.outputs.size(); ++o) {
      if (!is_surrounded_by_poison(images.output(o)))
        throw DeviceProblem{fmt::format("memory around output {} was written", o + 1)};
      results.push_back(read(images.output(o)));
    }
    return results;
  }

  Timing timed(const Executor& executor, double stop_us) {
    std::vector<std::unique_ptr<DeviceArguments>> sets;
    do {
      sets.push_back(std::make_unique<DeviceArguments>(
          driver_, stream_, fresh(compiler::InputKind::Normal), executor.scratch_bytes()));
    } while (sets.size() < kMostSets &&
             sets.size() * sets.front()->bytes() < 2 * static_cast<std::size_t>(target_.l2_bytes));
    const cuda::Enqueue enqueue = [&](const cuda::Stream& stream,
                                      int run) -> std::optional<Rejection> {
      const DeviceArguments& set = *sets[static_cast<std::size_t>(run) % sets.size()];
      auto failure = executor.run_unchecked(set.pointers(), stream.get(), stream.device());
      if (!failure) return std::nullopt;
      return failure->rejection ? *failure->rejection
                                : Rejection{RejectionKind::TargetMissing, failure->message};
    };
    expect(executor.prepare(stream_.device()));
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

  const compiler::FrontEnd& front_;
  std::shared_ptr<const cuda::Driver> driver_;
  cuda::Stream stream_;
  Target target_;
  std::optional<ArgumentImages> integers_, normal_;
};

}  // namespace

Result<std::unique_ptr<Bench>, std::string> cuda_bench(const compiler::FrontEnd& front, int device,
                                                       const Target& target,
                                                       const CompileContext& context) {
  const auto& driver = compiler::cuda_platform(context)->driver();
  if (!driver) return driver.error().message;
  Result<cuda::Stream, Rejection> stream = cuda::Stream::create(*driver, device);
  if (!stream) return stream.error().message;
  return std::unique_ptr<Bench>(
      std::make_unique<CudaBench>(front, *driver, std::move(stream).value(), target));
}

}  // namespace tc::tuner
