// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/compiler/host_tensor.h"
#include "tc/dlpack.h"
#include "tc/support/tensor_meta.h"

namespace tc::cases {

/// A tensor somewhere inside a larger block of known bytes, with any strides, so that an access
/// outside its elements shows.
class PlacedTensor {
public:
  /// `offset` elements behind an address that is a multiple of 64.
  PlacedTensor(const TensorMeta& meta, std::int64_t offset);
  PlacedTensor(const PlacedTensor&) = delete;  // the view points into the block
  PlacedTensor& operator=(const PlacedTensor&) = delete;

  void write(const compiler::HostTensor& values);
  compiler::HostTensor read() const;
  const DLTensor* view() const { return view_.get(); }

  /// Remembers every byte; changed() then tells whether one differs.
  void remember() { before_ = memory_; }
  bool changed() const { return memory_ != before_; }
  /// First byte that belongs to no element and is not as it was at the start, as a distance from
  /// element 0.
  std::optional<std::int64_t> stray_write() const;

private:
  template <class F>
  void for_each_element(F&& f) const;

  std::shared_ptr<TensorMeta> meta_;
  std::vector<unsigned char> memory_;
  std::vector<unsigned char> before_;
  std::vector<bool> owned_;  ///< bytes of elements
  std::size_t origin_ = 0;   ///< of element (0, ..., 0) in memory_
  std::shared_ptr<DLTensor> view_;
};

}  // namespace tc::cases
