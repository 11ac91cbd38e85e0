// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/fibers.h"

#include <algorithm>
#include <utility>

#include <sys/mman.h>

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>

#include "tc/support/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define TC_FIBERS_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TC_FIBERS_UNDER_ASAN 1
#endif
#endif
#ifdef TC_FIBERS_UNDER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace tc::emulation {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kStackBytes = 32 * kPageBytes;

/// AddressSanitizer has to know which stack is in use.
void before_switch([[maybe_unused]] void** leaving, [[maybe_unused]] const void* bottom,
                   [[maybe_unused]] std::size_t bytes) {
#ifdef TC_FIBERS_UNDER_ASAN
  __sanitizer_start_switch_fiber(leaving, bottom, bytes);
#endif
}
void after_switch([[maybe_unused]] void* arrived, [[maybe_unused]] const void** old_bottom,
                  [[maybe_unused]] std::size_t* old_bytes) {
#ifdef TC_FIBERS_UNDER_ASAN
  __sanitizer_finish_switch_fiber(arrived, old_bottom, old_bytes);
#endif
}

/// The stack lives as long as its worker; the fiber does not own it.
struct KeepStack {
  boost::context::stack_context allocate() { unreachable("a worker brings its stack"); }
  void deallocate(boost::context::stack_context&) noexcept {}
};

/// Memory with an inaccessible page below, so that an overflow ends the program at once.
class Stack {
public:
  Stack() {
    void* block = mmap(nullptr, kPageBytes + kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(block != MAP_FAILED, "memory for the stack of an emulated thread");
    block_ = static_cast<std::byte*>(block);
    check(mprotect(block_, kPageBytes, PROT_NONE) == 0, "a guard page below the stack");
  }
  ~Stack() { munmap(block_, kPageBytes + kStackBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  std::byte* bottom() const { return block_ + kPageBytes; }

private:
  std::byte* block_ = nullptr;
};

}  // namespace

std::uint32_t Order::below(std::uint32_t bound) {
  // SplitMix64.
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<std::uint32_t>((z >> 32) * bound >> 32);
}

void Order::shuffle(std::vector<int>& list) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[below(static_cast<std::uint32_t>(i))]);
}

struct Fibers::Worker {
  Stack stack;
  boost::context::fiber fiber;  ///< where the worker goes on, while the hub runs
  boost::context::fiber hub;    ///< where the hub goes on, while the worker runs
  int thread = -1;              ///< taken up when an idle worker is resumed
  void* fake_stack = nullptr;
  void* hub_fake_stack = nullptr;
  const void* hub_bottom = nullptr;
  std::size_t hub_bytes = 0;
};

Fibers::Fibers(std::uint64_t seed) : order_(seed) {}

Fibers::~Fibers() {
  mode_ = Mode::Quitting;
  for (Worker* worker : idle_)
    switch_to(*worker);
}

Fibers::Worker& Fibers::idle_worker() {
  if (!idle_.empty()) {
    Worker& worker = *idle_.back();
    idle_.pop_back();
    return worker;
  }
  workers_.push_back(std::make_unique<Worker>());
  Worker& worker = *workers_.back();
  // Stacks start at different cache sets, which equal distances would not give.
  const std::size_t colour = workers_.size() % 56 * 64;
  boost::context::stack_context context;
  context.sp = worker.stack.bottom() + kStackBytes - colour;
  context.size = kStackBytes - colour;
  worker.fiber = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(context.sp, context.size, context),
      KeepStack(), [this, &worker](boost::context::fiber&& hub) {
        worker.hub = std::move(hub);
        after_switch(nullptr, &worker.hub_bottom, &worker.hub_bytes);
        while (mode_ != Mode::Quitting) {
          work(worker);
          switch_to_hub(worker);
        }
        before_switch(nullptr, worker.hub_bottom, worker.hub_bytes);
        return std::move(worker.hub);
      });
  return worker;
}

void Fibers::switch_to(Worker& worker) {
  before_switch(&worker.hub_fake_stack, worker.stack.bottom(), kStackBytes);
  worker.fiber = std::move(worker.fiber).resume();
  after_switch(worker.hub_fake_stack, nullptr, nullptr);
}

void Fibers::switch_to_hub(Worker& worker) {
  before_switch(&worker.fake_stack, worker.hub_bottom, worker.hub_bytes);
  worker.hub = std::move(worker.hub).resume();
  after_switch(worker.fake_stack, &worker.hub_bottom, &worker.hub_bytes);
}

/// Runs the thread given and then, as long as the next one in the round has not started yet, that
/// one too: threads that never suspend need no switch at all.
void Fibers::work(Worker& worker) {
  for (;;) {
    const int thread = worker.thread;
    threads_[static_cast<std::size_t>(thread)].worker = &worker;
    run_thread(thread);
    Thread& ended = threads_[static_cast<std::size_t>(thread)];
    ended.state = Thread::State::Ended;
    ended.worker = nullptr;
    const bool goes_on =
        mode_ == Mode::Running && next_ < round_.size() &&
        threads_[static_cast<std::size_t>(round_[next_])].state == Thread::State::Fresh;
    if (!goes_on) break;
    worker.thread = round_[next_++];
  }
  idle_.push_back(&worker);
}

void Fibers::run_thread(int thread) {
  current_ = thread;
  threads_[static_cast<std::size_t>(thread)].state = Thread::State::Running;
  try {
    (*body_)(thread);
  } catch (const ThreadStopped&) {
    if (mode_ == Mode::Running) mode_ = Mode::Stopped;
  } catch (const std::exception&) {
    failure_ = std::current_exception();
    mode_ = Mode::Stopped;
  }
}

void Fibers::start_round() {
  round_.swap(ready_);
  ready_.clear();
  next_ = 0;
  if (order_.ascending()) return;
  order_.shuffle(round_);
  // Some wait for the next round, so that warps drift apart.
  const std::uint32_t part = 1 + order_.below(static_cast<std::uint32_t>(round_.size()));
  ready_.assign(round_.begin() + part, round_.end());
  round_.resize(part);
}

void Fibers::dispatch() {
  while (!ready_.empty() && mode_ == Mode::Running) {
    start_round();
    while (next_ < round_.size() && mode_ == Mode::Running) {
      const int number = round_[next_++];
      Thread& thread = threads_[static_cast<std::size_t>(number)];
      Worker* worker = thread.worker;
      if (worker == nullptr) {
        worker = &idle_worker();
        worker->thread = number;
      }
      switch_to(*worker);
    }
  }
}

void Fibers::run(int threads, const std::function<void(int)>& body) {
  body_ = &body;
  threads_.assign(static_cast<std::size_t>(threads), Thread());
  ready_.clear();
  for (int i = 0; i < threads; ++i)
    ready_.push_back(i);
  mode_ = Mode::Running;
  dispatch();
  if (failure_ != nullptr) {
    end_suspended();
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

std::vector<int> Fibers::suspended() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < threads_.size(); ++i)
    if (threads_[i].state == Thread::State::Suspended) result.push_back(static_cast<int>(i));
  return result;
}

void Fibers::end_suspended() {
  mode_ = Mode::Ending;
  for (const int thread : suspended())
    switch_to(*threads_[static_cast<std::size_t>(thread)].worker);
}

void Fibers::suspend() {
  const int thread = current_;
  Thread& state = threads_[static_cast<std::size_t>(thread)];
  state.state = Thread::State::Suspended;
  switch_to_hub(*state.worker);
  current_ = thread;
  state.state = Thread::State::Running;
  if (mode_ == Mode::Ending) throw ThreadStopped();
}

bool Fibers::on_current_stack(const void* address) const {
  const std::byte* bottom = threads_[static_cast<std::size_t>(current_)].worker->stack.bottom();
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= bottom && byte < bottom + kStackBytes;
}

}  // namespace tc::emulation
