// SPDX-License-Identifier: Apache-2.0
//
// The memory of one tensor as bytes: its elements at their strides, poison around and between them.
#pragma once

#include <boost/align/aligned_allocator.hpp>

#include <cstddef>
#include <optional>
#include <vector>

#include "tc/compiler/host_tensor.h"

namespace tc::tuner {

inline constexpr unsigned char kPoison = 0xA5;
/// Of the first byte and of element (0, ..., 0), in bytes: what a device aligns blocks to.
inline constexpr std::size_t kImageAlignment = 256;

struct Image {
  TensorMeta meta;            ///< strides filled in
  std::size_t begin = 0;      ///< first byte that an element touches
  std::size_t end = 0;        ///< one past the last
  std::size_t element_0 = 0;  ///< byte of element (0, ..., 0)
  std::vector<unsigned char, boost::alignment::aligned_allocator<unsigned char, kImageAlignment>>
      bytes;

  void* address() { return bytes.data() + element_0; }
};

/// Poison everywhere. nullopt: elements that share bytes at strides other than the contiguous ones.
std::optional<Image> poisoned_image(const TensorMeta& meta);
/// Sets the elements.
void write(Image& image, const compiler::HostTensor& values);
/// The elements. The second form reads those of `bytes`, memory laid out as the image is.
compiler::HostTensor read(const Image& image);
compiler::HostTensor read(const Image& image, const unsigned char* bytes);
/// Whether the poison before the first and behind the last element is still there.
bool is_surrounded_by_poison(const Image& image);
bool is_surrounded_by_poison(const Image& image, const unsigned char* bytes);

}  // namespace tc::tuner
