// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "tc/support/check.h"

namespace tc::emulation {
namespace {

constexpr std::size_t kGuardBytes = 512;
constexpr std::byte kGuardPattern{0xA5};
/// NaN in float16, bfloat16, float32, float64 and both float8 types, -1 in integers.
constexpr int kUndefinedPattern = 0xFF;

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

void FreeBytes::operator()(std::byte* p) const {
  std::free(p);
}

GlobalBuffer::GlobalBuffer(std::string name, std::size_t bytes, std::size_t alignment,
                           Access access, std::size_t origin)
    : name_(std::move(name)), bytes_(bytes), origin_(origin) {
  check(alignment > 0 && (alignment & (alignment - 1)) == 0, "an alignment is a power of two");
  const std::size_t front = round_up(kGuardBytes + origin, 2 * alignment) + alignment - origin;
  const std::size_t block_alignment = std::max<std::size_t>(2 * alignment, 64);
  block_bytes_ = round_up(front + bytes + kGuardBytes, block_alignment);
  block_.reset(static_cast<std::byte*>(std::aligned_alloc(block_alignment, block_bytes_)));
  check(block_ != nullptr, "memory for an emulated buffer");
  std::fill_n(block_.get(), block_bytes_, kGuardPattern);
  data_ = block_.get() + front;
  std::memset(data_, kUndefinedPattern, bytes);
  if (access != Access::ReadOnly)
    shadow_.emplace(bytes, Shadow::Life::Launch,
                    access == Access::Undefined ? Shadow::Initial::Undefined
                                                : Shadow::Initial::Defined);
}

const std::byte* GlobalBuffer::damaged() const {
  const auto intact = [](std::byte b) { return b == kGuardPattern; };
  const std::byte* before = std::find_if_not<const std::byte*>(block_.get(), data_, intact);
  if (before != data_) return before;
  const std::byte* end = block_.get() + block_bytes_;
  const std::byte* after = std::find_if_not<const std::byte*>(data_ + bytes_, end, intact);
  return after != end ? after : nullptr;
}

GlobalBuffer& GlobalMemory::add(std::string name, std::size_t bytes, std::size_t alignment,
                                Access access, std::size_t origin) {
  auto buffer = std::make_unique<GlobalBuffer>(std::move(name), bytes, alignment, access, origin);
  GlobalBuffer& result = *buffer;
  const auto at =
      std::upper_bound(buffers_.begin(), buffers_.end(), buffer, [](const auto& a, const auto& b) {
        return std::less<>()(a->data(), b->data());
      });
  buffers_.insert(at, std::move(buffer));
  return result;
}

Place GlobalMemory::find(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  if (last_ != nullptr && byte >= last_->data() && byte < last_->data() + last_->bytes())
    return {last_, true, byte - last_->data()};
  if (buffers_.empty()) return {};
  const auto next = std::upper_bound(
      buffers_.begin(), buffers_.end(), byte,
      [](const std::byte* a, const auto& b) { return std::less<>()(a, b->data()); });
  GlobalBuffer* below = next == buffers_.begin() ? nullptr : std::prev(next)->get();
  GlobalBuffer* above = next == buffers_.end() ? nullptr : next->get();
  if (below != nullptr && byte < below->data() + below->bytes()) {
    last_ = below;
    return {below, true, byte - below->data()};
  }
  const bool nearer_above =
      below == nullptr ||
      (above != nullptr && above->data() - byte <= byte - (below->data() + below->bytes()));
  GlobalBuffer* nearest = nearer_above ? above : below;
  return {nearest, false, byte - nearest->data()};
}

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes), block_(bytes + 2 * kGuardBytes + 1024),
      shadow_(bytes, Shadow::Life::Block, Shadow::Initial::Undefined) {
  void* start = block_.data() + kGuardBytes;
  std::size_t room = block_.size() - kGuardBytes;
  // Devices align the allocation to 1024 bytes at least where asynchronous tile copies need it.
  data_ = static_cast<std::byte*>(std::align(1024, bytes_, start, room));
  check(data_ != nullptr, "an aligned start lies within the allocation");
}

void SharedMemory::start_block() {
  if (bytes_ > 0) std::memset(data_, kUndefinedPattern, bytes_);
}

bool SharedMemory::near(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= block_.data() && byte < block_.data() + block_.size();
}

void SharedMemory::name_range(std::size_t offset, std::size_t bytes, const char* name) {
  for (const auto& range : ranges_)
    if (range.offset == offset && range.bytes == bytes && range.name == name) return;
  ranges_.push_back({offset, bytes, name});
}

SharedMemory::Name SharedMemory::name_of(std::int64_t offset) const {
  const Range* best = nullptr;
  std::int64_t best_distance = 0;
  for (const auto& range : ranges_) {
    const auto begin = static_cast<std::int64_t>(range.offset);
    const auto end = begin + static_cast<std::int64_t>(range.bytes);
    const std::int64_t distance =
        offset < begin ? begin - offset : std::max<std::int64_t>(0, offset - end + 1);
    if (best == nullptr || distance <= best_distance) {
      best = &range;
      best_distance = distance;
    }
  }
  if (best == nullptr) return {"shared memory", offset};
  return {best->name, offset - static_cast<std::int64_t>(best->offset)};
}

}  // namespace tc::emulation
