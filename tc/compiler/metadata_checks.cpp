// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/metadata_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tc/sets/context.h"
#include "tc/sets/queries.h"
#include "tc/support/numeric.h"

namespace tc::compiler {

namespace {

/// isl operations for one question about strides.
constexpr std::uint64_t kQuota = 100'000;

bool is_empty(const TensorMeta& meta) {
  return std::find(meta.sizes.begin(), meta.sizes.end(), 0) != meta.sizes.end();
}

/// Steps of the dimensions that have any: (stride, last index), the smallest stride first.
std::vector<std::pair<std::int64_t, std::int64_t>> steps(const TensorMeta& meta) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d)
    if (meta.sizes[d] > 1) out.emplace_back(std::abs(meta.strides[d]), meta.sizes[d] - 1);
  std::sort(out.begin(), out.end());
  return out;
}

/// Whether two elements differ by indices d with sum(stride * d) = 0. Giving up counts as yes.
bool has_equal_addresses(const std::vector<std::pair<std::int64_t, std::int64_t>>& dims) {
  std::vector<std::string> names, bounds, sum, some;
  for (const auto& [stride, last] : dims) {
    names.push_back(fmt::format("d{}", names.size()));
    bounds.push_back(fmt::format("-{0} <= {1} <= {0}", last, names.back()));
    sum.push_back(fmt::format("{} * {}", stride, names.back()));
    some.push_back(fmt::format("{} != 0", names.back()));
  }
  const sets::IslContext context(kQuota);
  try {
    return sets::within_quota(context, [&] {
      const isl::set meeting(context.get(),
                             fmt::format("{{ [{}] : {} and {} = 0 and ({}) }}",
                                         fmt::join(names, ", "), fmt::join(bounds, " and "),
                                         fmt::join(sum, " + "), fmt::join(some, " or ")));
      return !meeting.is_empty();
    });
  } catch (const sets::QuotaExceeded&) {
    return true;
  }
}

}  // namespace

bool is_power_of_two(std::int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

std::optional<std::string> beyond_address_space(const TensorMeta& meta) {
  if (is_empty(meta)) return std::nullopt;
  std::int64_t reach = 0;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] <= 1) continue;
    std::int64_t span = 0;
    if (meta.strides[d] == INT64_MIN ||
        !checked_mul(meta.sizes[d] - 1, std::abs(meta.strides[d]), span) ||
        !checked_add(reach, span, reach) || reach > INT64_MAX / 16) {
      return fmt::format("sizes ({}) with strides ({}) reach beyond the address space",
                         fmt::join(meta.sizes, ", "), fmt::join(meta.strides, ", "));
    }
  }
  return std::nullopt;
}

std::optional<std::string> metadata_problem(const TensorMeta& meta) {
  if (!is_power_of_two(meta.alignment))
    return fmt::format("has alignment {} where a power of two is expected", meta.alignment);
  if (meta.strides.empty()) return std::nullopt;
  if (meta.strides.size() != meta.sizes.size()) {
    return fmt::format("has {} strides for {} dimensions", meta.strides.size(), meta.sizes.size());
  }
  if (auto problem = beyond_address_space(meta)) return "has " + *problem;
  return std::nullopt;
}

std::optional<std::string> shared_elements(const TensorMeta& meta) {
  if (is_empty(meta)) return std::nullopt;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] > 1 && meta.strides[d] == 0)
      return fmt::format("has stride 0 in dimension {}: its elements share memory; give it memory "
                         "of its own",
                         d);
  }
  const auto dims = steps(meta);
  std::int64_t reach = 0;
  bool nested = true;
  for (const auto& [stride, last] : dims) {
    nested = nested && stride > reach;
    reach += stride * last;
  }
  if (nested || !has_equal_addresses(dims)) return std::nullopt;
  return fmt::format("has sizes ({}) with strides ({}): its elements share memory; give it memory "
                     "of its own",
                     fmt::join(meta.sizes, ", "), fmt::join(meta.strides, ", "));
}

}  // namespace tc::compiler
