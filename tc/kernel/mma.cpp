// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/mma.h"

#include <algorithm>

#include <fmt/format.h>

#include "tc/kernel/fold.h"

namespace tc::kernel {
namespace {

class MmaCheck {
public:
  explicit MmaCheck(const Mma& mma) : mma_(mma) {}

  std::vector<std::string> run() {
    const bool width_fits =
        mma_.width >= kMmaLine && mma_.width <= kMmaMostColumns && mma_.width % kMmaLine == 0;
    if (!width_fits) error("a product of {} columns", mma_.width);
    if (mma_.depth < kMmaDepth || mma_.depth % kMmaDepth != 0)
      error("a product of depth {}", mma_.depth);
    if (mma_.blocks < 1) error("a product of {} blocks of rows", mma_.blocks);
    accumulator();
    panel(mma_.rows, kMmaRows, (mma_.blocks - 1) * mma_.block_distance);
    panel(mma_.columns, mma_.width, 0);
    if (mma_.rows.buffer->type != mma_.columns.buffer->type)
      error("a product of '{}' and '{}' of different types", mma_.rows.buffer->name,
            mma_.columns.buffer->name);
    return std::move(errors_);
  }

private:
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    errors_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void accumulator() {
    const Buffer& buffer = *mma_.accumulator;
    if (buffer.space != Space::Register || buffer.type != DType::Float32 || !buffer.writable)
      return error("accumulator '{}' is no float32 register buffer to write to", buffer.name);
    if (buffer.strides != contiguous_strides(buffer.extents))
      return error("accumulator '{}' is not contiguous", buffer.name);
    std::int64_t first = 0;
    for (std::size_t d = 0; d < mma_.first.size() && d < buffer.strides.size(); ++d) {
      const auto index = constant_int(mma_.first[d]);
      if (!index) return error("the first register of '{}' is not constant", buffer.name);
      first += *index * buffer.strides[d];
    }
    const std::int64_t registers = mma_.blocks * mma_.width * kMmaRows / kMmaThreads;
    if (first < 0 || first + registers > span_elements(buffer))
      error("a product into {} registers from {} on of '{}', which has {}", registers, first,
            buffer.name, span_elements(buffer));
  }

  /// `lines`: kept indices of one block; `reach`: elements to the last block.
  void panel(const MmaPanel& panel, std::int64_t lines, std::int64_t reach) {
    const Buffer& buffer = *panel.buffer;
    if (buffer.space != Space::Shared) error("panel '{}' is not shared", buffer.name);
    if (buffer.type != DType::Float16 && buffer.type != DType::BFloat16)
      error("panel '{}' is of {}", buffer.name, name(buffer.type));
    const std::int64_t line = line_elements(buffer);
    const std::int64_t core = kMmaLine * line;
    const std::int64_t unit = buffer.swizzled ? core : kMmaLine;
    const auto fits = [&](std::int64_t distance) {
      return distance >= core && distance % unit == 0;
    };
    if (buffer.swizzled && (panel.k_inner ? mma_.depth : lines) % line != 0)
      return error("lines of '{}' have {} elements", buffer.name, line);
    const bool rows = &panel == &mma_.rows;
    const bool apart = fits(panel.along_k) && fits(panel.along_kept) &&
                       (!rows || (mma_.block_distance >= 0 && mma_.block_distance % unit == 0));
    if (!apart)
      return error("core matrices of '{}' lie {} and {} elements apart", buffer.name, panel.along_k,
                   panel.along_kept);
    const std::int64_t along_k = mma_.depth / (panel.k_inner ? line : kMmaLine) - 1;
    const std::int64_t along_kept = lines / (panel.k_inner ? kMmaLine : line) - 1;
    const std::int64_t last =
        reach + along_k * panel.along_k + along_kept * panel.along_kept + core - 1;
    if (last >= span_elements(buffer))
      error("a product reads element {} of '{}', which has {}", last, buffer.name,
            span_elements(buffer));
  }

  const Mma& mma_;
  std::vector<std::string> errors_;
};

}  // namespace

bool has_warp_groups(const Target& target) {
  return target.arch == "sm_90a";
}

std::vector<std::string> mma_problems(const Mma& mma) {
  return MmaCheck(mma).run();
}

}  // namespace tc::kernel
