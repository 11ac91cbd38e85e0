// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tc/kernel/passes.h"
#include "tc/support/check.h"

namespace tc::test {

Target cuda_target() {
  return *tc::cuda_target("sm_90a");
}

kernel::Plan single_launch(const std::string& text, const std::vector<std::int64_t>& int_values) {
  auto parsed = kernel::parse(text);
  if (!parsed)
    throw InternalError(parsed.error().message + "\n" + text, __FILE__, parsed.error().line);
  for (const auto& error : kernel::verify(*parsed))
    ADD_FAILURE() << error << "\n" << text;
  kernel::Plan plan;
  plan.name = parsed->name;
  kernel::Launch launch;
  for (std::size_t i = 0; i < parsed->buffers.size(); ++i) {
    using Kind = kernel::Argument::Kind;
    const auto& buffer = *parsed->buffers[i];
    plan.arguments.push_back(
        {buffer.writable ? Kind::Output : Kind::Input, buffer.name, static_cast<int>(i), 0, 0});
    launch.arguments.push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < parsed->int_params.size(); ++i)
    launch.ints.push_back(kernel::int_imm(i < int_values.size() ? int_values[i] : 0));
  plan.kernels.push_back(*parsed);
  plan.steps.push_back({launch});
  return plan;
}

codegen::cuda::Source emitted(const std::string& text) {
  auto source = codegen::cuda::emit(single_launch(text), cuda_target(), {});
  if (!source) throw InternalError(source.error().to_string(), __FILE__, __LINE__);
  return *source;
}

std::string function_text(const std::string& text) {
  const std::string all = emitted(text).text;
  return all.substr(all.find("TC_KERNEL("));
}

std::shared_ptr<const emulation::HostModule>
compile_for_host(const std::vector<emulation::KernelText>& texts) {
  std::vector<emulation::Header> headers;
  for (const auto& header : codegen::cuda::device_headers())
    headers.push_back({std::string(header.name), std::string(header.text)});
  auto module = emulation::HostModule::compile(
      texts, headers,
      {TC_HOST_COMPILER,
       {"-Wno-unknown-pragmas", "-Wl,--whole-archive", TC_MATH_LIBRARY, "-Wl,--no-whole-archive"}});
  if (!module) throw InternalError(module.error().message.substr(0, 4000), __FILE__, __LINE__);
  return *module;
}

Batch::Batch(const std::vector<std::string>& kernels) {
  std::vector<emulation::KernelText> texts;
  for (const auto& text : kernels) {
    plans_.push_back(single_launch(text));
    sources_.push_back(emitted(text));
    texts.push_back({sources_.back().text, {sources_.back().kernels.front().name}});
  }
  module_ = compile_for_host(texts);
}

std::optional<emulation::Finding> Batch::run(std::size_t i, const std::vector<Argument>& arguments,
                                             const std::vector<long long>& ints,
                                             std::uint64_t seed) const {
  const auto& kernel = plans_[i].kernels.front();
  const auto& info = sources_[i].kernels.front();
  emulation::Emulator emulator(seed);
  std::vector<emulation::LaunchBuffer> buffers;
  for (std::size_t b = 0; b < arguments.size(); ++b) {
    const auto& buffer = *kernel.buffers[b];
    auto& memory = emulator.memory().add(
        buffer.name, arguments[b].bytes, static_cast<std::size_t>(buffer.alignment),
        buffer.writable ? emulation::Access::ReadWrite : emulation::Access::ReadOnly,
        arguments[b].origin);
    std::memcpy(memory.data(), arguments[b].data, arguments[b].bytes);
    buffers.push_back({&memory, buffer.writable});
  }
  emulation::LaunchShape shape;
  shape.kernel = info.name;
  for (std::size_t axis = 0; axis < 3; ++axis)
    shape.grid[axis] = static_cast<int>(info.grid[axis]);
  shape.block = info.block;
  shape.shared_bytes =
      static_cast<std::size_t>(info.static_shared_bytes + info.dynamic_shared_bytes);
  const auto finding = module_->launch(emulator, i, 0, shape, buffers, ints);
  for (std::size_t b = 0; b < arguments.size(); ++b)
    std::memcpy(arguments[b].data, buffers[b].buffer->data(), arguments[b].bytes);
  return finding;
}

void expect_runs(const Batch& batch, std::size_t i, const std::vector<Argument>& arguments,
                 const std::vector<long long>& ints) {
  const auto finding = batch.run(i, arguments, ints);
  if (finding) ADD_FAILURE() << finding->to_string() << "\n" << batch.source(i).text;
}

}  // namespace tc::test
