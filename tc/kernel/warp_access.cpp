// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/warp_access.h"

#include <algorithm>
#include <set>
#include <vector>

#include "tc/support/numeric.h"

namespace tc::kernel {

namespace {

constexpr std::int64_t kWidest = 16;  ///< bytes of a thread in one instruction
constexpr std::int64_t kBank = 4;
constexpr std::int64_t kBanks = 32;
constexpr std::int64_t kSector = 32;
constexpr std::int64_t kLine = 128;

/// Elements between neighbours of the vector.
std::int64_t vector_step(const Buffer& buffer, const std::vector<ExprPtr>& indices) {
  std::int64_t step = 0;
  bool has_ramp = false;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto* ramp = std::get_if<Ramp>(&indices[d]->node);
    if (ramp != nullptr) step += ramp->stride * buffer.strides[d];
    has_ramp = has_ramp || ramp != nullptr;
  }
  return has_ramp ? step : 1;
}

/// Passes over the banks: a bank gives one word of its own in each, to all threads that ask for it.
double bank_passes(const std::vector<std::int64_t>& addresses, std::int64_t bytes) {
  std::array<std::set<std::int64_t>, kBanks> words;
  for (const std::int64_t address : addresses) {
    for (std::int64_t word = floor_div(address, kBank);
         word <= floor_div(address + bytes - 1, kBank); ++word)
      words[static_cast<std::size_t>(floor_mod(word, kBanks))].insert(word);
  }
  std::size_t most = 0;
  for (const auto& bank : words)
    most = std::max(most, bank.size());
  return static_cast<double>(most);
}

double covered(const std::vector<std::int64_t>& addresses, std::int64_t bytes, std::int64_t unit) {
  std::set<std::int64_t> units;
  for (const std::int64_t address : addresses)
    for (std::int64_t at = floor_div(address, unit); at <= floor_div(address + bytes - 1, unit);
         ++at)
      units.insert(at);
  return static_cast<double>(units.size());
}

}  // namespace

WarpAccess warp_access(const Buffer& buffer, const std::vector<ExprPtr>& indices, int lanes,
                       const LaneEnvironment& environment, const std::array<bool, kWarp>& active) {
  // Positions that stand for loaded ones may lie anywhere: they wrap.
  std::array<std::uint64_t, kWarp> offsets{};
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const LaneValues index = environment.evaluate(indices[d]);
    for (std::size_t lane = 0; lane < kWarp; ++lane)
      offsets[lane] +=
          static_cast<std::uint64_t>(index[lane]) * static_cast<std::uint64_t>(buffer.strides[d]);
  }
  const std::int64_t width = bits(buffer.type);
  const std::int64_t step = lanes > 1 ? vector_step(buffer, indices) : 0;
  const bool is_run = lanes > 1 && step == 1;
  // Elements of one instruction, and how many instructions.
  const std::int64_t run =
      is_run ? std::min<std::int64_t>(lanes, std::max<std::int64_t>(8 * kWidest / width, 1)) : 1;
  const std::int64_t count = step == 0 ? 1 : ceil_div(lanes, run);
  const std::int64_t bytes = std::max<std::int64_t>(run * width / 8, 1);
  WarpAccess result;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> addresses;
    for (std::size_t lane = 0; lane < kWarp; ++lane)
      if (active[lane])
        addresses.push_back(floor_div(
            static_cast<std::int64_t>((offsets[lane] + static_cast<std::uint64_t>(i * run * step)) *
                                      static_cast<std::uint64_t>(width)),
            8));
    result.instructions += 1;
    if (addresses.empty()) continue;
    if (buffer.space == Space::Shared) {
      result.passes += bank_passes(addresses, bytes);
    } else {
      result.lines += covered(addresses, bytes, kLine);
      result.sector_bytes += static_cast<double>(kSector) * covered(addresses, bytes, kSector);
    }
  }
  return result;
}

}  // namespace tc::kernel
