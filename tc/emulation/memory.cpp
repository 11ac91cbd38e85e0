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
/// Devices align the shared memory of a block to as much, which asynchronous tile copies need.
constexpr std::size_t kSharedAlignment = 1024;
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

SharedMemory::Range::Range(std::size_t offset, std::size_t bytes, const char* name)
    : offset_(offset), bytes_(bytes), name_(name),
      block_(bytes + 2 * kGuardBytes + 2 * kSharedAlignment),
      shadow_(bytes, Shadow::Life::Block, Shadow::Initial::Undefined) {
  // An address is aligned as its offset in the shared memory of a device is.
  const auto start = reinterpret_cast<std::uintptr_t>(block_.data()) + kGuardBytes;
  const std::uintptr_t aligned = round_up(start, kSharedAlignment) + offset % kSharedAlignment;
  data_ = block_.data() + kGuardBytes + (aligned - start);
  std::memset(data_, kUndefinedPattern, bytes_);
}

bool SharedMemory::Range::near(const void* address) const {
  const void* begin = data_ - kGuardBytes;
  const void* end = data_ + bytes_ + kGuardBytes;
  return std::less_equal<>()(begin, address) && std::less<>()(address, end);
}

void SharedMemory::start_block() {
  for (const auto& range : ranges_)
    std::memset(range->data(), kUndefinedPattern, range->bytes());
}

std::byte* SharedMemory::name_range(std::size_t offset, std::size_t bytes, const char* name) {
  for (const auto& range : ranges_) {
    const bool inside =
        range->offset() <= offset && offset + bytes <= range->offset() + range->bytes();
    if (inside) return range->data() + (offset - range->offset());
    const bool apart =
        offset + bytes <= range->offset() || range->offset() + range->bytes() <= offset;
    if (!apart) return nullptr;
  }
  ranges_.push_back(std::make_unique<Range>(offset, bytes, name));
  return ranges_.back()->data();
}

SharedMemory::Range* SharedMemory::find(const void* address) {
  if (last_ != nullptr && last_->contains(address)) return last_;
  for (const auto& range : ranges_)
    if (range->contains(address)) return last_ = range.get();
  return nullptr;
}

SharedMemory::Range* SharedMemory::find_near(const void* address) {
  for (const auto& range : ranges_)
    if (range->near(address)) return range.get();
  return nullptr;
}

}  // namespace tc::emulation
