// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/device_arguments.h"

#include <algorithm>
#include <cstring>

#include "tc/compiler/dlpack_views.h"

namespace tc::tuner {

void expect(const std::optional<Rejection>& problem) {
  if (problem) throw LostDevice{problem->message};
}

BlockLayout::BlockLayout(const ArgumentImages& images)
    : inputs(images.inputs.size()), outputs(images.outputs.size()) {
  const auto place = [&](const Image& image) {
    const std::size_t at = bytes;
    // Images begin and end at multiples of what a device aligns blocks to.
    bytes += image.bytes.size();
    used_bytes += image.end - image.begin;
    return at;
  };
  const auto is_written = [&](std::size_t input) {
    return std::find(images.in_place_of.begin(), images.in_place_of.end(),
                     static_cast<int>(input)) != images.in_place_of.end();
  };
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (images.in_place_of[o] < 0) outputs[o] = place(images.outputs[o]);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_written(i)) inputs[i] = place(images.inputs[i]);
  }
  written_end = bytes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_written(i)) inputs[i] = place(images.inputs[i]);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (images.in_place_of[o] >= 0)
      outputs[o] = inputs[static_cast<std::size_t>(images.in_place_of[o])];
  }
}

std::vector<unsigned char> block_of(const BlockLayout& layout, const ArgumentImages& images) {
  std::vector<unsigned char> block(layout.bytes);
  const auto copy = [&](const Image& image, std::size_t at) {
    if (!image.bytes.empty())
      std::memcpy(block.data() + at, image.bytes.data(), image.bytes.size());
  };
  for (std::size_t i = 0; i < images.inputs.size(); ++i)
    copy(images.inputs[i], layout.inputs[i]);
  for (std::size_t o = 0; o < images.outputs.size(); ++o) {
    if (images.in_place_of[o] < 0) copy(images.outputs[o], layout.outputs[o]);
  }
  return block;
}

DeviceArguments::DeviceArguments(const std::shared_ptr<const runtime::cuda::Driver>& driver,
                                 const runtime::cuda::Stream& stream, const BlockLayout& layout,
                                 const ArgumentImages& images)
    : memory_(
          expect(runtime::cuda::DeviceMemory::allocate(driver, stream.device(), layout.bytes))) {
  const auto add = [&](const Image& image, std::size_t at) {
    DLTensor view{};
    view.data = static_cast<char*>(memory_.get()) + at + image.element_0;
    view.device = {kDLCUDA, stream.device()};
    view.ndim = static_cast<std::int32_t>(image.meta.sizes.size());
    view.dtype = compiler::to_dlpack(image.meta.type);
    // DLPack has no views of constants; nobody writes to these.
    view.shape = const_cast<std::int64_t*>(image.meta.sizes.data());
    view.strides = const_cast<std::int64_t*>(image.meta.strides.data());
    views_.push_back(view);
    pointers_.push_back(view.data);
  };
  for (std::size_t i = 0; i < images.inputs.size(); ++i)
    add(images.inputs[i], layout.inputs[i]);
  for (std::size_t o = 0; o < images.outputs.size(); ++o) {
    const int input = images.in_place_of[o];
    add(input < 0 ? images.outputs[o] : images.inputs[static_cast<std::size_t>(input)],
        layout.outputs[o]);
  }
  for (std::size_t v = 0; v < views_.size(); ++v)
    (v < images.inputs.size() ? inputs_ : outputs_).push_back(&views_[v]);
  pointers_.push_back(nullptr);
}

const std::vector<void*>& DeviceArguments::pointers(void* scratch) {
  pointers_.back() = scratch;
  return pointers_;
}

}  // namespace tc::tuner
