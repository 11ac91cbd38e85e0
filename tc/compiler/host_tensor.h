// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tc/dlpack.h"
#include "tc/lang/interpreter.h"
#include "tc/support/tensor_meta.h"

namespace tc::compiler {

/// A tensor that owns contiguous memory of this process; used by the command line, by verification
/// and by tests.
class HostTensor {
public:
  HostTensor() = default;
  /// Row-major; contents are `fill` bytes (poison by default: outputs must not depend on it).
  /// Throws std::bad_alloc when memory is short and std::length_error when the size overflows.
  HostTensor(DType type, std::vector<std::int64_t> sizes, unsigned char fill = 0xA5);

  const TensorMeta& meta() const { return *meta_; }
  std::int64_t elements() const;
  std::size_t bytes() const { return bytes_; }
  unsigned char* data() { return data_.get(); }
  const unsigned char* data() const { return data_.get(); }
  /// A view that lives as long as this tensor and does not move.
  const DLTensor* view() const { return view_.get(); }

private:
  std::shared_ptr<TensorMeta> meta_ =
      std::make_shared<TensorMeta>();  ///< shared by copies: the view points into it
  std::size_t bytes_ = 0;
  std::shared_ptr<unsigned char[]> data_;
  std::shared_ptr<DLTensor> view_;
};

/// Contents as the interpreter sees them, and back (stores convert exactly: the value must be
/// representable).
lang::Value to_value(const HostTensor& tensor);
HostTensor from_value(const lang::Value& value);

}  // namespace tc::compiler
