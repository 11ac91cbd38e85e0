// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/run_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tc/kernel/passes.h"
#include "tc/support/check.h"
#include "tc/support/dtype.h"
#include "tc/support/numeric.h"

namespace tc::emulation {
namespace {

using Kind = kernel::Argument::Kind;

/// Bytes that kernels may touch, relative to element (0, ..., 0).
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t alignment = 1;

  void include(const kernel::Buffer& buffer) {
    alignment = std::max(alignment, buffer.alignment);
    std::int64_t first = 0, last = 0;
    for (std::size_t d = 0; d < buffer.extents.size(); ++d) {
      if (buffer.extents[d] == 0) return;
      const std::int64_t reach = (buffer.extents[d] - 1) * buffer.strides[d];
      first += std::min<std::int64_t>(reach, 0);
      last += std::max<std::int64_t>(reach, 0);
    }
    begin = std::min(begin, floor_div(first * bits(buffer.type), 8));
    end = std::max(end, ceil_div((last + 1) * bits(buffer.type), 8));
  }
};

class Run {
public:
  Run(const kernel::Plan& plan, const HostModule& module, std::size_t text,
      std::span<const LaunchShape> shapes, std::span<void* const> pointers, std::uint64_t seed)
      : plan_(plan), module_(module), text_(text), shapes_(shapes), pointers_(pointers),
        emulator_(seed), extents_(plan.arguments.size()), buffers_(plan.arguments.size()) {
    check(shapes.size() == plan.kernels.size(), "one shape for each kernel of the plan");
    check(pointers.size() == plan.arguments.size(), "one pointer for each argument of the plan");
  }

  std::optional<Finding> run() {
    measure(plan_.steps);
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      allocate(i);
    steps(plan_.steps);
    if (finding_) return std::move(finding_);
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (plan_.arguments[i].kind == Kind::Output && buffers_[i]->bytes() > 0)
        std::memcpy(host(i), buffers_[i]->data(), buffers_[i]->bytes());
    return std::nullopt;
  }

private:
  void measure(const std::vector<kernel::Step>& list) {
    for (const auto& step : list) {
      if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
        measure(loop->body);
        continue;
      }
      const auto& launch = std::get<kernel::Launch>(step.node);
      const auto& kernel = plan_.kernels[static_cast<std::size_t>(launch.kernel)];
      for (std::size_t i = 0; i < launch.arguments.size(); ++i)
        extents_[static_cast<std::size_t>(launch.arguments[i])].include(*kernel.buffers[i]);
    }
  }

  bool same_memory(std::size_t i, std::size_t j) const {
    return plan_.arguments[i].kind != Kind::Scratch && plan_.arguments[j].kind != Kind::Scratch &&
           pointers_[i] != nullptr && pointers_[i] == pointers_[j];
  }

  std::byte* host(std::size_t i) const {
    return static_cast<std::byte*>(pointers_[i]) + extents_[i].begin;
  }

  void allocate(std::size_t i) {
    const kernel::Argument& argument = plan_.arguments[i];
    for (std::size_t j = 0; j < i; ++j)
      if (same_memory(i, j)) {
        extents_[i] = extents_[j];
        buffers_[i] = buffers_[j];
        return;
      }
    Extent& extent = extents_[i];
    bool read = argument.kind == Kind::Input;
    bool written = argument.kind != Kind::Input;
    for (std::size_t j = i + 1; j < buffers_.size(); ++j) {
      if (!same_memory(i, j)) continue;
      extent.begin = std::min(extent.begin, extents_[j].begin);
      extent.end = std::max(extent.end, extents_[j].end);
      extent.alignment = std::max(extent.alignment, extents_[j].alignment);
      read = read || plan_.arguments[j].kind == Kind::Input;
      written = written || plan_.arguments[j].kind != Kind::Input;
    }
    if (argument.kind == Kind::Scratch) extent.end = std::max(extent.end, argument.size_bytes);
    const Access access = !written ? Access::ReadOnly
                          : read   ? Access::ReadWrite
                                   : Access::Undefined;
    buffers_[i] =
        &emulator_.memory().add(argument.name, static_cast<std::size_t>(extent.end - extent.begin),
                                static_cast<std::size_t>(extent.alignment), access,
                                static_cast<std::size_t>(-extent.begin));
    // Also of outputs: what lies between the elements of a strided one stays as it is.
    if (argument.kind != Kind::Scratch && buffers_[i]->bytes() > 0)
      std::memcpy(buffers_[i]->data(), host(i), buffers_[i]->bytes());
  }

  std::int64_t evaluate(const kernel::ExprPtr& expr) const {
    const auto value = kernel::simplify(kernel::substitute(expr, counters_), {});
    const auto* constant = std::get_if<kernel::IntImm>(&value->node);
    check(constant != nullptr, "a host value is an integer expression over enclosing counters");
    return constant->value;
  }

  void steps(const std::vector<kernel::Step>& list) {
    for (const auto& step : list) {
      if (finding_) return;
      if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
        const std::int64_t lo = evaluate(loop->lo), hi = evaluate(loop->hi);
        counters_.emplace_back(loop->counter.id, nullptr);
        for (std::int64_t i = lo; i < hi && !finding_; ++i) {
          counters_.back().second = kernel::int_imm(i);
          steps(loop->body);
        }
        counters_.pop_back();
        continue;
      }
      launch(std::get<kernel::Launch>(step.node));
    }
  }

  void launch(const kernel::Launch& launch) {
    const auto number = static_cast<std::size_t>(launch.kernel);
    const auto& grid = shapes_[number].grid;
    if (std::find(grid.begin(), grid.end(), 0) != grid.end()) return;
    std::vector<LaunchBuffer> buffers;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      buffers.push_back({buffers_[static_cast<std::size_t>(launch.arguments[i])],
                         plan_.kernels[number].buffers[i]->writable});
    std::vector<long long> ints;
    for (const auto& value : launch.ints)
      ints.push_back(evaluate(value));
    finding_ = module_.launch(emulator_, text_, number, shapes_[number], buffers, ints);
  }

  const kernel::Plan& plan_;
  const HostModule& module_;
  std::size_t text_;
  std::span<const LaunchShape> shapes_;
  std::span<void* const> pointers_;
  Emulator emulator_;
  std::vector<Extent> extents_;
  std::vector<GlobalBuffer*> buffers_;  ///< by argument
  std::vector<std::pair<int, kernel::ExprPtr>> counters_;
  std::optional<Finding> finding_;
};

}  // namespace

std::optional<Finding> run_plan(const kernel::Plan& plan, const HostModule& module,
                                std::size_t text, std::span<const LaunchShape> shapes,
                                std::span<void* const> pointers, std::uint64_t seed) {
  return Run(plan, module, text, shapes, pointers, seed).run();
}

}  // namespace tc::emulation
