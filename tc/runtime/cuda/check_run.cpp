// SPDX-License-Identifier: Apache-2.0
//
// Runs that would keep a device busy for minutes: refused by their launches and by their sum.
#include <algorithm>

#include <fmt/format.h>

#include "tc/kernel/work.h"
#include "tc/runtime/cuda/loaded_module.h"

namespace tc::runtime::cuda {
namespace {

using kernel::saturating_add;
using kernel::saturating_mul;

/// Steps that are followed for the sum when a caller sets no limit of steps.
constexpr std::int64_t kFollowed = 10'000'000;

Rejection too_much(std::string message, std::int64_t used, std::int64_t limit) {
  return {RejectionKind::Unsupported, std::move(message), used, limit};
}

/// One measure of work: all threads, or one.
struct Measure {
  std::int64_t KernelLaunch::* of;
  std::int64_t limit;
  const char* doer;  ///< behind the name of a kernel
};

std::optional<Rejection> check_work(const LaunchTable& table,
                                    const std::vector<std::int64_t>& launches,
                                    const Measure& measure) {
  if (measure.limit <= 0) return std::nullopt;
  std::int64_t total = 0;
  std::size_t most = 0;
  for (std::size_t k = 0; k < table.kernels.size(); ++k) {
    const KernelLaunch& kernel = table.kernels[k];
    const std::int64_t work = kernel.*measure.of;
    if (launches[k] > 0 && work > measure.limit)
      return too_much(fmt::format("kernel '{}' would execute about {:.2g} statements{} in one "
                                  "launch, at most {:.2g} are allowed",
                                  kernel.name, static_cast<double>(work), measure.doer,
                                  static_cast<double>(measure.limit)),
                      work, measure.limit);
    total = saturating_add(total, saturating_mul(work, launches[k]));
    const auto share = [&](std::size_t i) {
      return saturating_mul(table.kernels[i].*measure.of, launches[i]);
    };
    if (share(k) > share(most)) most = k;
  }
  if (total <= measure.limit) return std::nullopt;
  return too_much(fmt::format("one run would execute about {:.2g} statements{}, most of them in {} "
                              "launches of kernel '{}'; at most {:.2g} are allowed",
                              static_cast<double>(total), measure.doer, launches[most],
                              table.kernels[most].name, static_cast<double>(measure.limit)),
                  total, measure.limit);
}

}  // namespace

std::optional<Rejection> check_run(const LaunchTable& table, const HostProgram& program,
                                   const RunLimits& limits) {
  std::vector<std::int64_t> launches(table.kernels.size(), 0);
  const std::int64_t steps =
      count_steps(program, limits.steps > 0 ? limits.steps : kFollowed, &launches);
  if (limits.steps > 0 && steps > limits.steps)
    return too_much(fmt::format("one run would take more than {} launches", limits.steps), steps,
                    limits.steps);
  for (const Measure& measure :
       {Measure{&KernelLaunch::work, limits.work, ""},
        Measure{&KernelLaunch::thread_work, limits.thread_work, " by one thread"}})
    if (auto problem = check_work(table, launches, measure)) return problem;
  return std::nullopt;
}

}  // namespace tc::runtime::cuda
