// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include "tc/compiler/dlpack_views.h"
#include "tc/compiler/executor_impl.h"
#include "tc/compiler/pipeline.h"
#include "tc/support/check.h"

namespace tc {

namespace {

constexpr std::size_t kScratchAlignment = 64;

struct FreeAligned {
  void operator()(void* memory) const { std::free(memory); }
};

/// Scratch that a thread keeps between runs, so that a run without a caller's block does not
/// allocate each time.
class ThreadScratch {
public:
  void* at_least(std::size_t bytes) {
    if (bytes > size_) {
      const std::size_t rounded =
          (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
      memory_.reset(std::aligned_alloc(kScratchAlignment, rounded));
      size_ = memory_ ? rounded : 0;
    }
    return memory_.get();
  }
  const void* current() const { return memory_.get(); }

private:
  std::unique_ptr<void, FreeAligned> memory_;
  std::size_t size_ = 0;
};

ThreadScratch& thread_scratch() {
  thread_local ThreadScratch scratch;
  return scratch;
}

using compiler::argument_failure;

std::string shape_text(const std::vector<std::int64_t>& values) {
  return fmt::format("({})", fmt::join(values, ", "));
}

std::string device_text(DLDevice device) {
  switch (device.device_type) {
  case kDLCPU: return "the CPU";
  case kDLCUDA: return fmt::format("CUDA device {}", device.device_id);
  default: return fmt::format("a device of DLPack's type {}", static_cast<int>(device.device_type));
  }
}

/// Whether a view lies where the code runs.
std::optional<std::string> misplaced(const DLTensor& tensor, TargetKind kind) {
  const DLDeviceType wanted = kind == TargetKind::Cpu ? kDLCPU : kDLCUDA;
  if (tensor.device.device_type == wanted) return std::nullopt;
  return fmt::format("lies on {} where {} is expected", device_text(tensor.device),
                     kind == TargetKind::Cpu ? "the CPU" : "a CUDA device");
}

/// Whether a view is what the executor was compiled for.
std::optional<std::string> mismatch(const DLTensor& tensor, const TensorMeta& expected,
                                    TargetKind kind) {
  Result<TensorMeta, std::string> given = compiler::metadata_of(tensor);
  if (!given) return given.error();
  if (auto problem = misplaced(tensor, kind)) return problem;
  if (given->type != expected.type)
    return fmt::format("is {} where {} is expected", name(given->type), name(expected.type));
  if (given->sizes != expected.sizes) {
    return fmt::format("has shape {} where {} is expected", shape_text(given->sizes),
                       shape_text(expected.sizes));
  }
  bool empty = false;
  for (std::int64_t size : expected.sizes)
    empty = empty || size == 0;
  if (empty) return std::nullopt;
  for (std::size_t d = 0; d < expected.sizes.size(); ++d) {
    if (expected.sizes[d] > 1 && given->strides[d] != expected.strides[d]) {
      return fmt::format("has strides {} where the executor was compiled for {}",
                         shape_text(given->strides), shape_text(expected.strides));
    }
  }
  const void* address = compiler::element_address(tensor);
  if (address == nullptr) return std::string("has no data");
  const std::int64_t alignment =
      std::max<std::int64_t>(expected.alignment, std::max(1, bits(expected.type) / 8));
  if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) != 0) {
    return fmt::format("starts at an address that is no multiple of {} bytes", alignment);
  }
  return std::nullopt;
}

bool overlap(const std::optional<compiler::ByteRange>& a,
             const std::optional<compiler::ByteRange>& b) {
  return a && b && a->begin < b->end && b->begin < a->end;
}

/// What a checked run passes on.
struct Arguments {
  std::vector<void*> pointers;  ///< of inputs, then outputs
  std::vector<bool> is_empty;   ///< no element of it is touched
  int device = 0;
};

std::string argument_name(const Executor::Impl& impl, std::size_t position) {
  if (position < impl.inputs.size()) return "input '" + impl.input_names[position] + "'";
  return "output '" + impl.output_roles[position - impl.inputs.size()].name + "'";
}

/// Memory of an output beside that of the arguments before it.
std::optional<std::string>
shared_memory(const Executor::Impl& impl, std::size_t output, const void* address,
              const std::optional<compiler::ByteRange>& range, const std::vector<void*>& pointers,
              const std::vector<std::optional<compiler::ByteRange>>& ranges) {
  const OutputRole& role = impl.output_roles[output];
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool same = static_cast<int>(i) == role.in_place_of;
    if (same && address != pointers[i]) {
      return fmt::format("output '{}' is updated in place: it must be the memory of {}", role.name,
                         argument_name(impl, i));
    }
    if (!same && overlap(range, ranges[i])) {
      return fmt::format("output '{}' shares memory with {}; give it memory of its own", role.name,
                         argument_name(impl, i));
    }
  }
  return std::nullopt;
}

/// Count, type, shape, strides, alignment, device and aliasing of all tensors of a run.
Result<Arguments, std::string> check_arguments(const Executor::Impl& impl,
                                               std::span<const DLTensor* const> inputs,
                                               std::span<const DLTensor* const> outputs) {
  if (inputs.size() != impl.inputs.size() || outputs.size() != impl.outputs.size()) {
    return fmt::format("'{}' takes {} inputs and {} outputs, {} and {} were given", impl.name,
                       impl.inputs.size(), impl.outputs.size(), inputs.size(), outputs.size());
  }
  Arguments arguments;
  std::vector<std::optional<compiler::ByteRange>> ranges;
  const DLTensor* first = nullptr;
  for (std::size_t i = 0; i < inputs.size() + outputs.size(); ++i) {
    const bool is_input = i < inputs.size();
    const std::size_t output = i - inputs.size();
    const DLTensor* tensor = is_input ? inputs[i] : outputs[output];
    const TensorMeta& expected = is_input ? impl.inputs[i] : impl.outputs[output];
    if (tensor == nullptr) return argument_name(impl, i) + " is null";
    if (auto problem = mismatch(*tensor, expected, impl.target.kind))
      return argument_name(impl, i) + " " + *problem;
    if (first == nullptr) first = tensor;
    // There is one CPU, whatever number a view gives it.
    if (impl.target.kind == TargetKind::Cuda &&
        tensor->device.device_id != first->device.device_id) {
      return fmt::format("{} lies on {} and {} on {}; all tensors of a run lie on one device",
                         argument_name(impl, 0), device_text(first->device), argument_name(impl, i),
                         device_text(tensor->device));
    }
    void* address = compiler::element_address(*tensor);
    auto range = compiler::byte_range(*tensor, expected);
    if (!is_input) {
      if (auto problem = shared_memory(impl, output, address, range, arguments.pointers, ranges))
        return *problem;
    }
    arguments.pointers.push_back(address);
    arguments.is_empty.push_back(!range);
    ranges.push_back(range);
  }
  if (first != nullptr && impl.target.kind == TargetKind::Cuda)
    arguments.device = first->device.device_id;
  return arguments;
}

/// Whether the memory of a run is what the tensors claim. A kernel that was given other memory
/// would end the whole process's use of the device.
std::optional<Failure> check_memory(const Executor::Impl& impl, const Arguments& arguments,
                                    const void* scratch) {
  if (impl.target.kind == TargetKind::Cpu) return std::nullopt;
  if (auto failure = impl.code->prepare(arguments.device)) return failure;
  for (std::size_t i = 0; i < arguments.pointers.size(); ++i) {
    if (arguments.is_empty[i]) continue;
    if (auto problem = impl.code->misplaced(arguments.pointers[i], arguments.device))
      return argument_failure(argument_name(impl, i) + " " + *problem);
  }
  if (scratch == nullptr || impl.code->scratch_bytes() == 0) return std::nullopt;
  if (auto problem = impl.code->misplaced(scratch, arguments.device))
    return argument_failure("the scratch " + *problem);
  return std::nullopt;
}

}  // namespace

Executor::Executor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
const std::string& Executor::name() const {
  return impl_->name;
}
const std::vector<TensorMeta>& Executor::input_metadata() const {
  return impl_->inputs;
}
const std::vector<TensorMeta>& Executor::output_metadata() const {
  return impl_->outputs;
}
const std::vector<std::string>& Executor::input_names() const {
  return impl_->input_names;
}
const std::vector<OutputRole>& Executor::output_roles() const {
  return impl_->output_roles;
}
const MappingOptions& Executor::options() const {
  return impl_->options;
}
const Target& Executor::target() const {
  return impl_->target;
}
const CompileReport& Executor::report() const {
  return impl_->report;
}
std::int64_t Executor::scratch_bytes() const {
  return impl_->code->scratch_bytes();
}
std::uint64_t Executor::code_hash() const {
  return impl_->code_hash;
}
int Executor::kernels() const {
  return impl_->code->kernels();
}
std::optional<Failure> Executor::prepare(int device) const {
  return impl_->code->prepare(device);
}

std::optional<Failure> Executor::run(std::span<const DLTensor* const> inputs,
                                     std::span<const DLTensor* const> outputs, void* stream,
                                     void* scratch) const {
  const bool on_cpu = impl_->target.kind == TargetKind::Cpu;
  if (on_cpu && stream != nullptr) return argument_failure("a CPU executor takes no stream");
  Result<Arguments, std::string> arguments = check_arguments(*impl_, inputs, outputs);
  if (!arguments) return argument_failure(arguments.error());
  const std::int64_t needed = impl_->code->scratch_bytes();
  if (needed > 0 && scratch == nullptr) {
    if (!on_cpu) {
      return argument_failure(fmt::format(
          "'{}' needs {} bytes of scratch on the tensors' device: the caller gives them",
          impl_->name, needed));
    }
    scratch = thread_scratch().at_least(static_cast<std::size_t>(needed));
    if (scratch == nullptr)
      return argument_failure(fmt::format("'{}' needs {} bytes of scratch, which could not be had",
                                          impl_->name, needed));
  }
  if (needed > 0 && reinterpret_cast<std::uintptr_t>(scratch) % kScratchAlignment != 0) {
    return argument_failure(
        fmt::format("the scratch starts at an address that is no multiple of {} "
                    "bytes",
                    kScratchAlignment));
  }
  if (auto failure = check_memory(*impl_, *arguments, scratch)) return failure;
  arguments->pointers.push_back(scratch);
  return run_unchecked(arguments->pointers, stream, arguments->device);
}

std::optional<Failure> Executor::run_unchecked(std::span<void* const> pointers, void* stream,
                                               int device) const {
  // Most defs have few arguments; more than these go through the heap.
  std::array<void*, 32> small;
  std::vector<void*> large;
  const std::vector<kernel::Argument>& arguments = impl_->code->arguments();
  const std::size_t count = arguments.size();
  void** resolved = small.data();
  if (count > small.size()) {
    large.resize(count);
    resolved = large.data();
  }
  const std::size_t first_output = impl_->inputs.size();
  const std::size_t scratch = first_output + impl_->outputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    const kernel::Argument& argument = arguments[i];
    const auto position = static_cast<std::size_t>(argument.position);
    switch (argument.kind) {
    case kernel::Argument::Kind::Input: resolved[i] = pointers[position]; break;
    case kernel::Argument::Kind::Output: resolved[i] = pointers[first_output + position]; break;
    case kernel::Argument::Kind::Scratch:
      resolved[i] = static_cast<char*>(pointers[scratch]) + argument.offset_bytes;
      break;
    }
  }
  return impl_->code->run(resolved, {device, stream});
}

std::string Executor::Impl::place_of(std::int64_t statement) const {
  const SourceBuffer source("<text>", text);
  const Result<compiler::FrontEnd, Failure> front =
      compiler::front_end(source, def, metadata, compiler::fresh_alignment(target));
  if (!front) return "";
  for (const auto& [found, loops] : lang::statements(front->specialised))
    if (found->id == statement)
      return fmt::format(", line {}: {}", source.position(found->range.begin).line,
                         source.text(found->range));
  return "";
}

std::optional<std::string> Executor::check(const void* scratch, void* stream, int device) const {
  for (const kernel::Argument& argument : impl_->code->arguments()) {
    if (argument.kind != kernel::Argument::Kind::Scratch || argument.name != "status") continue;
    const void* block = scratch;
    if (block == nullptr && impl_->target.kind == TargetKind::Cpu)
      block = thread_scratch().current();
    if (block == nullptr) return std::nullopt;
    const Result<compiler::Code::Status, Failure> status = impl_->code->read_status(
        static_cast<const char*>(block) + argument.offset_bytes, {device, stream});
    if (!status) return status.error().message;
    const auto& [is_set, statement, dimension, value] = *status;
    if (is_set == 0) return std::nullopt;
    return fmt::format(
        "statement S{} of '{}'{}: a subscript of dimension {} was out of range with value {}",
        statement, impl_->name, impl_->place_of(statement), dimension, value);
  }
  return std::nullopt;
}

Result<std::string, Failure> Executor::stage_text(std::string_view stage) const {
  const std::optional<compiler::Stage> wanted = compiler::stage_from_name(stage);
  if (!wanted) return argument_failure(fmt::format("unknown stage '{}'", stage));
  const SourceBuffer source("<text>", impl_->text);
  Result<compiler::FrontEnd, Failure> front = compiler::front_end(
      source, impl_->def, impl_->metadata, compiler::fresh_alignment(impl_->target));
  if (!front) return front.error();
  if (*wanted == compiler::Stage::Typed) return lang::to_string(front->specialised);
  std::optional<std::string> found;
  compiler::StageObserver observe = [&](compiler::Stage made,
                                        const std::function<std::string()>& text) {
    if (made == *wanted) found = text();
  };
  Result<tile::Program, Failure> program =
      compiler::make_tile_program(*front, impl_->options, impl_->target, observe);
  if (!program) return program.error();
  Result<kernel::Plan, Failure> plan =
      compiler::make_plan(*program, impl_->options, impl_->target, observe);
  if (!plan) return plan.error();
  if (found) return *found;
  return impl_->backend->text(*plan, impl_->options, impl_->target, *wanted);
}

}  // namespace tc
