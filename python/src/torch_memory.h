// SPDX-License-Identifier: Apache-2.0
//
// PyTorch without Python: tensors made by the C functions of its library (aoti_torch_*, which
// PyTorch keeps stable) and the function that makes a tensor an object of Python. A result made so
// costs a third of one that DLPack hands over, and is a tensor like any other: its memory can be
// resized.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "tc/dlpack.h"
#include "tc/support/dtype.h"

namespace tc::python {

class TorchMemory {
public:
  /// nullptr: PyTorch is not loaded, or lacks one of the functions.
  static const TorchMemory* find();

  /// Whether code waits to see every operation, as tracers and counters of PyTorch do. False where
  /// PyTorch does not tell.
  static bool is_watched();

  /// PyTorch's number of an element type; -1: it has none.
  std::int32_t code_of(DType type) const;
  /// A tensor whose elements are not set, and where they begin. Invalid where it cannot be made;
  /// no Python error is set.
  nanobind::object empty(const std::vector<std::int64_t>& sizes,
                         const std::vector<std::int64_t>& strides, std::int32_t code,
                         DLDevice device, void*& data) const;

private:
  using Status = std::int32_t;  // 0: done
  using Handle = void*;
  template <class F>
  static bool look_up(void* library, const char* name, F*& function);

  Status (*empty_strided_)(std::int64_t rank, const std::int64_t* sizes,
                           const std::int64_t* strides, std::int32_t type, std::int32_t device_type,
                           std::int32_t device, Handle* tensor) = nullptr;
  Status (*get_data_)(Handle tensor, void** data) = nullptr;
  Status (*release_)(Handle tensor) = nullptr;
  PyObject* (*wrap_)(const void* tensor) = nullptr;
  std::int32_t cpu_ = 0, cuda_ = 0;  ///< numbers of device types
  std::int32_t codes_[kNumDTypes];
};

}  // namespace tc::python
