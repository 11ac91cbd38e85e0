// SPDX-License-Identifier: Apache-2.0
//
// Arguments of one call in the memory of a CUDA device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/runtime/cuda/memory.h"
#include "tc/tuner/bench.h"

namespace tc::tuner {

/// Where each tensor's image lies in one block of memory: what a run writes first, then what it
/// only reads.
struct BlockLayout {
  explicit BlockLayout(const ArgumentImages& images);

  std::vector<std::size_t> inputs;   ///< offsets of the images
  std::vector<std::size_t> outputs;  ///< likewise; of an input that is updated in place: that one
  std::size_t written_end = 0;       ///< what is behind is only read
  std::size_t bytes = 0;
  std::size_t used_bytes = 0;  ///< without the guards
};

/// All images as one block.
std::vector<unsigned char> block_of(const BlockLayout& layout, const ArgumentImages& images);

/// One block on a device. Driver calls that fail throw LostDevice.
class DeviceArguments {
public:
  /// Holds nothing but memory yet.
  DeviceArguments(const std::shared_ptr<const runtime::cuda::Driver>& driver,
                  const runtime::cuda::Stream& stream, const BlockLayout& layout,
                  const ArgumentImages& images);
  DeviceArguments(DeviceArguments&&) = default;

  void* memory() const { return memory_.get(); }
  /// Views for a checked run.
  const std::vector<const DLTensor*>& inputs() const { return inputs_; }
  const std::vector<const DLTensor*>& outputs() const { return outputs_; }
  /// Addresses for a run without checks, with that of a scratch block.
  const std::vector<void*>& pointers(void* scratch);

private:
  runtime::cuda::DeviceMemory memory_;
  std::vector<DLTensor> views_;
  std::vector<const DLTensor*> inputs_, outputs_;
  std::vector<void*> pointers_;
};

/// What a driver call said where nothing but a lost device explains it.
struct LostDevice {
  std::string message;
};
void expect(const std::optional<Rejection>& problem);
template <class T>
T expect(Result<T, Rejection> result) {
  if (!result) throw LostDevice{result.error().message};
  return std::move(result).value();
}

}  // namespace tc::tuner
