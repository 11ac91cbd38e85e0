// SPDX-License-Identifier: Apache-2.0
#include "jit.h"

#include <gtest/gtest.h>

#include "tc/kernel/passes.h"

namespace tc::test {

kernel::Plan single_launch(kernel::Kernel kernel) {
  kernel::Plan plan;
  plan.name = kernel.name + "_plan";
  kernel::Launch launch;
  for (const auto& buffer : kernel.buffers) {
    const bool output = buffer->writable;
    plan.arguments.push_back(
        {output ? kernel::Argument::Kind::Output : kernel::Argument::Kind::Input, buffer->name,
         buffer->argument, 0, 0});
    launch.arguments.push_back(buffer->argument);
  }
  plan.steps.push_back({std::move(launch)});
  plan.kernels.push_back(std::move(kernel));
  return plan;
}

kernel::Kernel parse_kernel(const std::string& text) {
  auto kernel = kernel::parse(text);
  if (!kernel) {
    const auto& error = kernel.error();
    throw std::runtime_error(std::to_string(error.line) + ":" + std::to_string(error.column) +
                             ": " + error.message + "\n" + text);
  }
  const auto violations = kernel::verify(*kernel);
  EXPECT_TRUE(violations.empty()) << violations.front() << "\n" << text;
  const std::string printed = kernel::print(*kernel);
  auto again = kernel::parse(printed);
  EXPECT_TRUE(again.has_value()) << printed;
  if (again) {
    EXPECT_EQ(kernel::print(*again), printed);
  }
  return *kernel;
}

Jit::Jit(const std::string& text, const Target& target) {
  const kernel::Plan plan = single_launch(parse_kernel(text));
  auto object = codegen::native::emit(plan, target, {});
  if (!object) throw std::runtime_error(object.error().to_string());
  auto module = runtime::cpu::Module::load(*object, {plan.kernels.front().name});
  if (!module) throw std::runtime_error(module.error().to_string());
  table_ = runtime::cpu::launch_table(plan);
  module_ = *module;
}

std::string emit_text(const std::string& text, codegen::native::Output output,
                      const Target& target) {
  codegen::native::Request request;
  request.output = output;
  auto result = codegen::native::emit(single_launch(parse_kernel(text)), target, request);
  if (!result) throw std::runtime_error(result.error().to_string());
  return *result;
}

std::vector<Target> runnable_targets() {
  const Target host = runtime::cpu::host_target();
  std::vector<Target> targets = {host};
#if defined(__x86_64__)
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const Target target = *cpu_target(level);
    if (target.vector_bits <= host.vector_bits) targets.push_back(target);
  }
#endif
  return targets;
}

}  // namespace tc::test
