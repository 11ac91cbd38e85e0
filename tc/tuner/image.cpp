// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/image.h"

#include <algorithm>
#include <cstring>

namespace tc::tuner {

namespace {

/// Poison on each side, in bytes.
constexpr std::size_t kGuard = 4096;

std::size_t rounded(std::size_t bytes) {
  return (bytes + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
}

bool is_empty(const TensorMeta& meta) {
  return std::find(meta.sizes.begin(), meta.sizes.end(), 0) != meta.sizes.end();
}

/// Calls f(element in row-major order, offset in elements) for every element.
template <class F>
void for_each_element(const TensorMeta& meta, F&& f) {
  if (is_empty(meta)) return;
  const std::size_t rank = meta.sizes.size();
  std::vector<std::int64_t> position(rank, 0);
  std::int64_t offset = 0;
  for (std::size_t element = 0;; ++element) {
    f(element, offset);
    std::size_t d = rank;
    for (; d-- > 0;) {
      offset += meta.strides[d];
      if (++position[d] < meta.sizes[d]) break;
      offset -= meta.strides[d] * meta.sizes[d];
      position[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

std::optional<Image> poisoned_image(const TensorMeta& given) {
  Image image;
  image.meta = given;
  TensorMeta& meta = image.meta;
  if (meta.strides.empty()) meta.strides = row_major_strides(meta.type, meta.sizes);
  std::size_t below = 0, above = 0;
  if (meta.is_contiguous()) {
    above = compiler::HostTensor(meta.type, meta.sizes).bytes();
  } else {
    if (bits(meta.type) < 8) return std::nullopt;
    const auto width = static_cast<std::size_t>(bits(meta.type) / 8);
    for (std::size_t d = 0; d < meta.sizes.size() && !is_empty(meta); ++d) {
      const std::int64_t reach = meta.strides[d] * (meta.sizes[d] - 1);
      (reach < 0 ? below : above) += static_cast<std::size_t>(std::abs(reach)) * width;
    }
    if (!is_empty(meta)) above += width;
  }
  image.element_0 = rounded(kGuard + below);
  image.begin = image.element_0 - below;
  image.end = image.element_0 + above;
  image.bytes.assign(rounded(image.end + kGuard), kPoison);
  return image;
}

void write(Image& image, const compiler::HostTensor& values) {
  if (image.meta.is_contiguous()) {
    std::memcpy(image.bytes.data() + image.element_0, values.data(), values.bytes());
    return;
  }
  const auto width = static_cast<std::size_t>(bits(image.meta.type) / 8);
  unsigned char* base = image.bytes.data() + image.element_0;
  for_each_element(image.meta, [&](std::size_t element, std::int64_t offset) {
    std::memcpy(base + offset * static_cast<std::int64_t>(width), values.data() + element * width,
                width);
  });
}

compiler::HostTensor read(const Image& image) {
  return read(image, image.bytes.data());
}

compiler::HostTensor read(const Image& image, const unsigned char* bytes) {
  compiler::HostTensor values(image.meta.type, image.meta.sizes);
  const unsigned char* base = bytes + image.element_0;
  if (image.meta.is_contiguous()) {
    std::memcpy(values.data(), base, values.bytes());
    return values;
  }
  const auto width = static_cast<std::size_t>(bits(image.meta.type) / 8);
  for_each_element(image.meta, [&](std::size_t element, std::int64_t offset) {
    std::memcpy(values.data() + element * width, base + offset * static_cast<std::int64_t>(width),
                width);
  });
  return values;
}

bool is_surrounded_by_poison(const Image& image) {
  return is_surrounded_by_poison(image, image.bytes.data());
}

bool is_surrounded_by_poison(const Image& image, const unsigned char* bytes) {
  const auto is_poison = [](unsigned char byte) { return byte == kPoison; };
  return std::all_of(bytes, bytes + image.begin, is_poison) &&
         std::all_of(bytes + image.end, bytes + image.bytes.size(), is_poison);
}

}  // namespace tc::tuner
