// SPDX-License-Identifier: Apache-2.0
#include "placed_tensor.h"

#include <algorithm>
#include <cstring>

#include "tc/compiler/dlpack_views.h"

namespace tc::cases {

namespace {

constexpr std::size_t kGuard = 256;  ///< bytes on both sides; several of the widest vectors
constexpr std::size_t kAlignment = 64;

unsigned char filling(std::size_t position) {
  return static_cast<unsigned char>(0xA5 ^ (position * 29));
}

std::size_t element_bytes(const TensorMeta& meta) {
  return static_cast<std::size_t>(std::max(1, bits(meta.type) / 8));
}

}  // namespace

PlacedTensor::PlacedTensor(const TensorMeta& meta, std::int64_t offset)
    : meta_(std::make_shared<TensorMeta>(meta)) {
  const std::size_t width = element_bytes(meta);
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool empty = false;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    empty = empty || meta.sizes[d] == 0;
    const std::int64_t reach = (meta.sizes[d] - 1) * meta.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  if (empty) low = high = 0;
  std::size_t bytes = static_cast<std::size_t>(high + 1) * width;
  if (bits(meta.type) < 8) bytes = compiler::HostTensor(meta.type, meta.sizes, 0).bytes();
  const std::size_t before = static_cast<std::size_t>(-low) * width;
  memory_.resize(kGuard + kAlignment + before + bytes + width * 2 + kGuard);
  for (std::size_t i = 0; i < memory_.size(); ++i)
    memory_[i] = filling(i);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  origin_ = (address + kGuard + before + kAlignment - 1) / kAlignment * kAlignment - address +
            static_cast<std::size_t>(offset) * width;
  owned_.resize(memory_.size());
  if (bits(meta.type) < 8) {
    std::fill_n(owned_.begin() + static_cast<std::ptrdiff_t>(origin_), bytes, true);
  } else {
    for_each_element([&](std::size_t at, std::int64_t) {
      std::fill_n(owned_.begin() + static_cast<std::ptrdiff_t>(at), width, true);
    });
  }
  view_ = std::make_shared<DLTensor>();
  view_->data = memory_.data();
  view_->byte_offset = origin_;
  view_->device = {kDLCPU, 0};
  view_->ndim = static_cast<std::int32_t>(meta.sizes.size());
  view_->dtype = compiler::to_dlpack(meta.type);
  view_->shape = meta_->sizes.data();
  view_->strides = meta_->strides.data();
}

/// Calls f(position in memory_, row-major position) for every element.
template <class F>
void PlacedTensor::for_each_element(F&& f) const {
  const TensorMeta& meta = *meta_;
  const auto width = static_cast<std::int64_t>(element_bytes(meta));
  std::int64_t count = 1;
  for (std::int64_t size : meta.sizes)
    count *= size;
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat;
    std::int64_t position = 0;
    for (std::size_t d = meta.sizes.size(); d-- > 0;) {
      position += rest % meta.sizes[d] * meta.strides[d];
      rest /= meta.sizes[d];
    }
    f(static_cast<std::size_t>(static_cast<std::int64_t>(origin_) + position * width), flat);
  }
}

void PlacedTensor::write(const compiler::HostTensor& values) {
  const std::size_t width = element_bytes(*meta_);
  if (bits(meta_->type) < 8) {
    if (values.elements() > 0) std::memcpy(memory_.data() + origin_, values.data(), values.bytes());
    return;
  }
  for_each_element([&](std::size_t at, std::int64_t flat) {
    std::memcpy(memory_.data() + at, values.data() + static_cast<std::size_t>(flat) * width, width);
  });
}

compiler::HostTensor PlacedTensor::read() const {
  compiler::HostTensor result(meta_->type, meta_->sizes, 0);
  const std::size_t width = element_bytes(*meta_);
  if (bits(meta_->type) < 8) {
    if (result.elements() > 0) std::memcpy(result.data(), memory_.data() + origin_, result.bytes());
    return result;
  }
  for_each_element([&](std::size_t at, std::int64_t flat) {
    std::memcpy(result.data() + static_cast<std::size_t>(flat) * width, memory_.data() + at, width);
  });
  return result;
}

std::optional<std::int64_t> PlacedTensor::stray_write() const {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (!owned_[i] && memory_[i] != filling(i))
      return static_cast<std::int64_t>(i) - static_cast<std::int64_t>(origin_);
  }
  return std::nullopt;
}

}  // namespace tc::cases
