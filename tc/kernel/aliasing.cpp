// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/aliasing.h"

#include <numeric>
#include <vector>

namespace tc::kernel {
namespace {

bool overlap(const Argument& a, const Argument& b) {
  using Kind = Argument::Kind;
  if (a.kind == Kind::Scratch && b.kind == Kind::Scratch)
    return a.offset_bytes < b.offset_bytes + b.size_bytes &&
           b.offset_bytes < a.offset_bytes + a.size_bytes;
  if (a.kind == Kind::Scratch || b.kind == Kind::Scratch) return false;
  // A returned name that is a parameter is updated in place.
  return a.name == b.name;
}

void collect_launches(const std::vector<Step>& steps, int kernel,
                      std::vector<const Launch*>& found) {
  for (const auto& step : steps) {
    if (const auto* launch = std::get_if<Launch>(&step.node)) {
      if (launch->kernel == kernel) found.push_back(launch);
    } else {
      collect_launches(std::get<Loop>(step.node).body, kernel, found);
    }
  }
}

}  // namespace

std::map<int, int> alias_groups(const Plan& plan, std::size_t index) {
  const Kernel& kernel = plan.kernels[index];
  const std::size_t count = kernel.buffers.size();
  std::vector<int> group(count);
  std::iota(group.begin(), group.end(), 0);
  std::vector<const Launch*> launches;
  collect_launches(plan.steps, static_cast<int>(index), launches);
  for (const auto* launch : launches) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        const int a = launch->arguments[i];
        const int b = launch->arguments[j];
        const bool shared = a == b || overlap(plan.arguments[static_cast<std::size_t>(a)],
                                              plan.arguments[static_cast<std::size_t>(b)]);
        if (!shared || group[i] == group[j]) continue;
        const int from = group[j];
        for (auto& g : group)
          if (g == from) g = group[i];
      }
    }
  }
  std::map<int, int> result;
  for (std::size_t i = 0; i < count; ++i)
    result[kernel.buffers[i]->id] = group[i];
  return result;
}

}  // namespace tc::kernel
