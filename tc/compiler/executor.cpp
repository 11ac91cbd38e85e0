// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "tc/codegen/llvm/codegen.h"
#include "tc/compiler/dlpack_views.h"
#include "tc/compiler/executor_impl.h"
#include "tc/compiler/pipeline.h"
#include "tc/runtime/cpu/module.h"
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

Failure argument_failure(std::string message) {
  Failure failure;
  failure.kind = Failure::Kind::Argument;
  failure.message = std::move(message);
  return failure;
}

std::string shape_text(const std::vector<std::int64_t>& values) {
  return fmt::format("({})", fmt::join(values, ", "));
}

/// Whether a view is what the executor was compiled for.
std::optional<std::string> mismatch(const DLTensor& tensor, const TensorMeta& expected) {
  Result<TensorMeta, std::string> given = compiler::metadata_of(tensor);
  if (!given) return given.error();
  if (tensor.device.device_type != kDLCPU) {
    return fmt::format("lies on device type {} where the CPU is expected",
                       static_cast<int>(tensor.device.device_type));
  }
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
  return impl_->table.scratch_bytes;
}
int Executor::kernels() const {
  return static_cast<int>(impl_->table.kernels.size());
}

std::optional<Failure> Executor::run(std::span<const DLTensor* const> inputs,
                                     std::span<const DLTensor* const> outputs, void* stream,
                                     void* scratch) const {
  if (stream != nullptr) return argument_failure("a CPU executor takes no stream");
  if (inputs.size() != impl_->inputs.size() || outputs.size() != impl_->outputs.size()) {
    return argument_failure(fmt::format("'{}' takes {} inputs and {} outputs, {} and {} were given",
                                        impl_->name, impl_->inputs.size(), impl_->outputs.size(),
                                        inputs.size(), outputs.size()));
  }
  std::vector<void*> pointers;
  std::vector<std::optional<compiler::ByteRange>> ranges;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr)
      return argument_failure(fmt::format("input '{}' is null", impl_->input_names[i]));
    if (auto problem = mismatch(*inputs[i], impl_->inputs[i])) {
      return argument_failure(fmt::format("input '{}' {}", impl_->input_names[i], *problem));
    }
    pointers.push_back(compiler::element_address(*inputs[i]));
    ranges.push_back(compiler::byte_range(*inputs[i], impl_->inputs[i]));
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const OutputRole& role = impl_->output_roles[o];
    if (outputs[o] == nullptr)
      return argument_failure(fmt::format("output '{}' is null", role.name));
    if (auto problem = mismatch(*outputs[o], impl_->outputs[o])) {
      return argument_failure(fmt::format("output '{}' {}", role.name, *problem));
    }
    void* address = compiler::element_address(*outputs[o]);
    const auto range = compiler::byte_range(*outputs[o], impl_->outputs[o]);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const bool same = static_cast<int>(i) == role.in_place_of;
      const std::string other =
          i < inputs.size() ? "input '" + impl_->input_names[i] + "'"
                            : "output '" + impl_->output_roles[i - inputs.size()].name + "'";
      if (same && address != pointers[i]) {
        return argument_failure(fmt::format(
            "output '{}' is updated in place: it must be the memory of {}", role.name, other));
      }
      if (!same && overlap(range, ranges[i])) {
        return argument_failure(fmt::format(
            "output '{}' shares memory with {}; give it memory of its own", role.name, other));
      }
    }
    pointers.push_back(address);
    ranges.push_back(range);
  }
  if (impl_->table.scratch_bytes > 0 && scratch == nullptr) {
    scratch = thread_scratch().at_least(static_cast<std::size_t>(impl_->table.scratch_bytes));
    if (scratch == nullptr)
      return argument_failure(fmt::format("'{}' needs {} bytes of scratch, which could not be had",
                                          impl_->name, impl_->table.scratch_bytes));
  }
  pointers.push_back(scratch);
  run_unchecked(pointers, stream);
  return std::nullopt;
}

void Executor::run_unchecked(std::span<void* const> pointers, void* /*stream*/) const {
  // Most defs have few arguments; more than these go through the heap.
  std::array<void*, 32> small;
  std::vector<void*> large;
  const std::size_t count = impl_->table.arguments.size();
  void** resolved = small.data();
  if (count > small.size()) {
    large.resize(count);
    resolved = large.data();
  }
  const std::size_t first_output = impl_->inputs.size();
  const std::size_t scratch = first_output + impl_->outputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    const kernel::Argument& argument = impl_->table.arguments[i];
    const auto position = static_cast<std::size_t>(argument.position);
    switch (argument.kind) {
    case kernel::Argument::Kind::Input: resolved[i] = pointers[position]; break;
    case kernel::Argument::Kind::Output: resolved[i] = pointers[first_output + position]; break;
    case kernel::Argument::Kind::Scratch:
      resolved[i] = static_cast<char*>(pointers[scratch]) + argument.offset_bytes;
      break;
    }
  }
  runtime::cpu::run(impl_->table, *impl_->module, resolved);
}

std::optional<std::string> Executor::check(const void* scratch) const {
  for (const kernel::Argument& argument : impl_->table.arguments) {
    if (argument.kind != kernel::Argument::Kind::Scratch || argument.name != "status") continue;
    const void* block = scratch != nullptr ? scratch : thread_scratch().current();
    if (block == nullptr) return std::nullopt;
    std::int64_t status[4];
    std::memcpy(status, static_cast<const char*>(block) + argument.offset_bytes, sizeof status);
    if (status[0] == 0) return std::nullopt;
    return fmt::format(
        "statement S{} of '{}': a subscript of dimension {} was out of range with value {}",
        status[1], impl_->name, status[2], status[3]);
  }
  return std::nullopt;
}

Result<std::string, Failure> Executor::stage_text(std::string_view stage) const {
  const std::optional<compiler::Stage> wanted = compiler::stage_from_name(stage);
  if (!wanted) return argument_failure(fmt::format("unknown stage '{}'", stage));
  const SourceBuffer source("<text>", impl_->text);
  Result<compiler::FrontEnd, Failure> front =
      compiler::front_end(source, impl_->def, impl_->metadata);
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
  codegen::native::Request request;
  request.fast_math = impl_->options.fast_math;
  if (*wanted == compiler::Stage::Llvm) {
    request.output = codegen::native::Output::LlvmText;
  } else if (*wanted == compiler::Stage::Asm) {
    request.output = codegen::native::Output::Assembly;
  } else {
    return argument_failure(fmt::format("an executor has no text of stage '{}'", stage));
  }
  Result<std::string, Rejection> text = codegen::native::emit(*plan, impl_->target, request);
  if (!text) return compiler::mapping_failure(text.error());
  return *text;
}

}  // namespace tc
