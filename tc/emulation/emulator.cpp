// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/emulator.h"

#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tc/emulation/accesses.h"
#include "tc/emulation/barriers.h"
#include "tc/emulation/launch_state.h"
#include "tc/emulation/products.h"
#include "tc/support/cuda_limits.h"

namespace tc::emulation {
namespace {

using cuda_limits::kBlock;
using cuda_limits::kGrid;
using cuda_limits::kMostShared;
using cuda_limits::kThreads;

std::optional<std::string> refuse(const LaunchShape& shape) {
  std::int64_t threads = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (shape.grid[axis] < 1 || shape.grid[axis] > kGrid[axis])
      return fmt::format("a grid of {} blocks along axis {}", shape.grid[axis], axis);
    if (shape.block[axis] < 1 || shape.block[axis] > kBlock[axis])
      return fmt::format("a block of {} threads along axis {}", shape.block[axis], axis);
    threads *= shape.block[axis];
  }
  if (threads > kThreads) return fmt::format("a block of {} threads", threads);
  if (static_cast<std::int64_t>(shape.shared_bytes) > kMostShared)
    return fmt::format("{} bytes of shared memory, the largest device has {}", shape.shared_bytes,
                       kMostShared);
  return std::nullopt;
}

/// Numbers 0 ... count - 1, each once: ascending, or with a stride that shares no factor.
class BlockOrder {
public:
  BlockOrder(std::int64_t count, Order& order) : count_(count) {
    if (order.ascending() || count < 2) return;
    const auto bound = static_cast<std::uint32_t>(count);
    start_ = order.below(bound);
    do
      stride_ = 1 + order.below(bound - 1);
    while (std::gcd(stride_, count) != 1);
  }
  std::int64_t at(std::int64_t i) const { return (start_ + i * stride_) % count_; }

private:
  std::int64_t count_;
  std::int64_t start_ = 0;
  std::int64_t stride_ = 1;
};

}  // namespace

struct Emulator::Device {
  explicit Device(std::uint64_t seed)
      : order(seed), state(seed), barriers(state), accesses(state, memory),
        products(state, accesses) {}

  GlobalMemory memory;
  Order order;  ///< of blocks
  LaunchState state;
  Barriers barriers;
  Accesses accesses;
  Products products;
  device::Hooks hooks{};

  void run_block(const std::function<void(int)>& body);
  void check_guards();
};

namespace {

template <class Device>
Device& device_of(void* p) {
  return *static_cast<Device*>(p);
}

}  // namespace

Emulator::Emulator(std::uint64_t seed) : device_(std::make_unique<Device>(seed)) {
  using D = Device;
  device_->hooks = {
      .emulator = device_.get(),
      .position = &device_->state.position,
      .barrier_block = [](void* p, int line) { device_of<D>(p).barriers.block(line); },
      .barrier_warp = [](void* p, int line) { device_of<D>(p).barriers.warp(line); },
      .barrier_named = [](void* p, int id, int threads,
                          int line) { device_of<D>(p).barriers.named(id, threads, line); },
      .gather = [](void* p, const void* value, std::size_t bytes, void* all, int group,
                   int line) { device_of<D>(p).barriers.gather(value, bytes, all, group, line); },
      .shared_memory = [](void* p, std::size_t offset, std::size_t bytes, const char* name)
          -> void* { return device_of<D>(p).accesses.shared_memory(offset, bytes, name); },
      .read =
          [](void* p, const void* address, std::size_t bytes, int line) {
            device_of<D>(p).accesses.access(AccessKind::Read, address, bytes, line);
          },
      .write =
          [](void* p, const void* address, std::size_t bytes, int line) {
            device_of<D>(p).accesses.access(AccessKind::Write, address, bytes, line);
          },
      .atomic_begin =
          [](void* p, const void* address, std::size_t bytes, int line) {
            device_of<D>(p).accesses.access(AccessKind::Atomic, address, bytes, line);
          },
      .atomic_partial_begin =
          [](void* p, const void* address, std::size_t bytes, int line) {
            device_of<D>(p).accesses.access(AccessKind::PartialWrite, address, bytes, line);
          },
      .atomic_end = [](void*) {},
      .copy_async =
          [](void* p, void* shared, const void* global, std::size_t bytes, std::size_t source_bytes,
             int line) {
            device_of<D>(p).accesses.copy_async(shared, global, bytes, source_bytes, line);
          },
      .copy_async_commit = [](void* p) { device_of<D>(p).accesses.copy_commit(); },
      .copy_async_wait = [](void* p, int groups,
                            int line) { device_of<D>(p).accesses.copy_wait(groups, line); },
      .copy_async_wait_all = [](void* p,
                                int line) { device_of<D>(p).accesses.copy_wait_all(line); },
      .publish =
          [](void* p) {
            LaunchState& state = device_of<D>(p).state;
            state.time.fence(state.position.thread);
          },
      .read_panel = [](void* p, const void* address, std::size_t bytes,
                       int line) { device_of<D>(p).products.read_panel(address, bytes, line); },
      .product_fence = [](void* p) { device_of<D>(p).products.fence(); },
      .product_begin = [](void* p, const device::Product& product,
                          int line) { device_of<D>(p).products.begin(product, line); },
      .product_commit = [](void* p) { device_of<D>(p).products.commit(); },
      .product_wait = [](void* p, int groups) { device_of<D>(p).products.wait(groups); },
  };
}

Emulator::~Emulator() = default;

GlobalMemory& Emulator::memory() {
  return device_->memory;
}

const device::Hooks& Emulator::hooks() const {
  return device_->hooks;
}

void Emulator::Device::run_block(const std::function<void(int)>& body) {
  state.time.start_block();
  barriers.start_block();
  accesses.start_block();
  products.start_block();
  state.fibers.run(state.threads, body);
  if (!state.finding.has_value() && !state.fibers.suspended().empty())
    state.record(barriers.describe_stuck());
  state.fibers.end_suspended();
  accesses.end_block();
}

void Emulator::Device::check_guards() {
  for (const auto& buffer : memory.buffers()) {
    const std::byte* damaged = buffer->damaged();
    if (damaged == nullptr) continue;
    Finding finding;
    finding.kind = FindingKind::GuardDamaged;
    finding.buffer = buffer->name();
    finding.offset = damaged - buffer->data();
    finding.message = fmt::format("the launch changed byte {} of '{}', which has {} bytes",
                                  finding.offset, buffer->name(), buffer->bytes());
    state.record(std::move(finding));
    return;
  }
}

std::optional<Finding> Emulator::launch(const LaunchShape& shape, Entry entry,
                                        std::span<const LaunchBuffer> buffers,
                                        std::span<const long long> ints) {
  LaunchState& state = device_->state;
  state.kernel = shape.kernel;
  state.position = {};
  state.finding.reset();
  if (const auto refusal = refuse(shape)) {
    Finding finding;
    finding.message = *refusal;
    state.record(std::move(finding));
    return std::move(state.finding);
  }
  state.threads = shape.block[0] * shape.block[1] * shape.block[2];
  for (const auto& buffer : device_->memory.buffers())
    buffer->set_use(GlobalBuffer::Use::None);
  std::vector<void*> pointers;
  for (const auto& [buffer, writable] : buffers) {
    pointers.push_back(buffer->origin());
    if (writable)
      buffer->set_use(GlobalBuffer::Use::Write);
    else if (buffer->use() == GlobalBuffer::Use::None)
      buffer->set_use(GlobalBuffer::Use::Read);
  }
  state.time.start_launch();
  device_->accesses.start_launch(shape.shared_bytes);

  const std::function<void(int)> body = [&](int thread) {
    state.position.thread = thread;
    entry(pointers.data(), ints.data());
  };
  const auto [x, y, z] = shape.grid;
  const std::int64_t blocks = std::int64_t{x} * y * z;
  const BlockOrder order(blocks, device_->order);
  for (std::int64_t i = 0; i < blocks && !state.finding.has_value(); ++i) {
    const std::int64_t block = order.at(i);
    state.position.block[0] = static_cast<int>(block % x);
    state.position.block[1] = static_cast<int>(block / x % y);
    state.position.block[2] = static_cast<int>(block / x / y);
    device_->run_block(body);
  }
  if (!state.finding.has_value()) device_->check_guards();
  return std::exchange(state.finding, std::nullopt);
}

}  // namespace tc::emulation
