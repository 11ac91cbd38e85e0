// SPDX-License-Identifier: Apache-2.0
#include "device_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "call.h"
#include "exit_status.h"
#include "tc/compiler/cuda_platform.h"
#include "tc/compiler/memory_demand.h"
#include "tc/runtime/cuda/timing.h"

namespace tc::cli {

namespace {

namespace cuda = runtime::cuda;
using Clock = std::chrono::steady_clock;

/// Without --repeat: time spent on calls, in µs, and their most.
constexpr double kCallBudget = 100'000;
constexpr int kMaxCalls = 1000;
constexpr unsigned char kPoison = 0xA5;

void expect(const std::optional<Rejection>& problem) {
  if (problem) throw_failure(compiler::mapping_failure(*problem));
}
void expect(const std::optional<Failure>& failure) {
  if (failure) throw_failure(*failure);
}
template <class T>
T expect(Result<T, Rejection> result) {
  if (!result) throw_failure(compiler::mapping_failure(result.error()));
  return std::move(result).value();
}

/// A tensor of the host in memory of the device.
struct DeviceTensor {
  cuda::DeviceMemory memory;
  DLTensor view;
};

class Session {
public:
  Session(const DeviceRun& run, std::shared_ptr<const cuda::Driver> driver,
          const std::vector<compiler::HostTensor>& outputs)
      : run_(run), driver_(std::move(driver)),
        stream_(expect(cuda::Stream::create(driver_, run.device))),
        scratch_(allocate(static_cast<std::size_t>(run.executor.scratch_bytes()))) {
    expect(cuda::fill(stream_, scratch_.get(), kPoison, scratch_.size()));
    const auto& tensors = run.front.specialised.tensors;
    for (const lang::Tensor& tensor : tensors) {
      if (tensor.is_param)
        inputs_.push_back(
            upload(run.inputs[static_cast<std::size_t>(tensor.param_position)], tensor));
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const auto id = static_cast<std::size_t>(run.front.specialised.outputs[o]);
      outputs_.push_back(upload(outputs[o], tensors[id]));
    }
    for (const DeviceTensor& input : inputs_)
      input_views_.push_back(&input.view);
    for (const DeviceTensor& output : outputs_)
      output_views_.push_back(&output.view);
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      const int input = run.in_place_of[o];
      if (input >= 0) input_views_[static_cast<std::size_t>(input)] = output_views_[o];
    }
    for (const DLTensor* view : input_views_)
      pointers_.push_back(view->data);
    for (const DLTensor* view : output_views_)
      pointers_.push_back(view->data);
    pointers_.push_back(scratch_.get());
  }

  /// One checked call, until it is done.
  void call() const {
    expect(run_.executor.run(input_views_, output_views_, stream_.get(), scratch_.get()));
    expect(stream_.synchronise());
  }

  void check_status() const {
    if (auto problem = run_.executor.check(scratch_.get(), stream_.get(), run_.device))
      throw CommandError(kUserError, *problem);
  }

  void download(std::vector<compiler::HostTensor>& outputs) const {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      expect(cuda::copy_to_host(stream_, outputs[o].data(), outputs_[o].memory.get(),
                                outputs[o].bytes()));
    }
  }

  double kernel_us() const {
    cuda::TimingOptions options;
    if (run_.repeat > 0) options.replays = run_.repeat;
    const cuda::Enqueue enqueue = [&](const cuda::Stream& stream, int) -> std::optional<Rejection> {
      auto failure = run_.executor.run_unchecked(pointers_, stream.get(), run_.device);
      if (!failure) return std::nullopt;
      return failure->rejection ? *failure->rejection
                                : Rejection{RejectionKind::TargetMissing, failure->message};
    };
    return expect(cuda::time_kernels(driver_, run_.device, enqueue, options)).median_us;
  }

  double call_us() const {
    std::vector<double> times;
    double total = 0;
    const int most = run_.repeat > 0 ? run_.repeat : kMaxCalls;
    while (static_cast<int>(times.size()) < most && (run_.repeat > 0 || total < kCallBudget)) {
      const Clock::time_point start = Clock::now();
      call();
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
      total += times.back();
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

private:
  cuda::DeviceMemory allocate(std::size_t bytes) const {
    return expect(cuda::DeviceMemory::allocate(driver_, run_.device, bytes));
  }
  /// Memory for one tensor of the def; where the device has none left, the error is at its place.
  cuda::DeviceMemory allocate(std::size_t bytes, const lang::Tensor& tensor) const {
    auto memory = cuda::DeviceMemory::allocate(driver_, run_.device, bytes);
    if (memory) return std::move(memory).value();
    const Diagnostic diagnostic{
        Severity::Error,
        "E0501",
        tensor.range,
        fmt::format("{}: {}{}", compiler::tensor_text(tensor), memory.error().message,
                    lang::sizes_text(run_.front.bindings, run_.front.symbolic)),
        {}};
    throw CommandError(kUserError, render(run_.source, diagnostic));
  }
  DeviceTensor upload(const compiler::HostTensor& tensor, const lang::Tensor& declared) const {
    DeviceTensor copy{allocate(tensor.bytes(), declared), *tensor.view()};
    copy.view.data = copy.memory.get();
    copy.view.byte_offset = 0;
    copy.view.device = {kDLCUDA, run_.device};
    expect(cuda::copy_to_device(stream_, copy.memory.get(), tensor.data(), tensor.bytes()));
    return copy;
  }

  const DeviceRun& run_;
  std::shared_ptr<const cuda::Driver> driver_;
  cuda::Stream stream_;
  cuda::DeviceMemory scratch_;
  std::vector<DeviceTensor> inputs_, outputs_;
  std::vector<const DLTensor*> input_views_, output_views_;
  std::vector<void*> pointers_;
};

}  // namespace

Times run_on_device(const DeviceRun& run, const CompileContext& context,
                    std::vector<compiler::HostTensor>& outputs) {
  const auto& driver = compiler::cuda_platform(context)->driver();
  if (!driver) throw_failure(compiler::mapping_failure(driver.error()));
  const Session session(run, *driver, outputs);
  expect(run.executor.prepare(run.device));
  session.call();
  session.check_status();
  session.download(outputs);
  return {session.kernel_us(), session.call_us()};
}

}  // namespace tc::cli
