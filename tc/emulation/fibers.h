// SPDX-License-Identifier: Apache-2.0
//
// The threads of a block as fibers of one host thread. A thread runs until it suspends itself or
// ends; the order in which threads that can run do so is a function of a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace tc::emulation {

/// Thrown through a thread to end it without an effect on the others.
struct ThreadStopped {};

/// Order of threads and blocks: seed 0 is ascending, any other a pseudo-random one that depends on
/// nothing else.
class Order {
public:
  explicit Order(std::uint64_t seed) : seed_(seed), state_(seed) {}
  bool ascending() const { return seed_ == 0; }
  /// Uniform enough below `bound` (> 0).
  std::uint32_t below(std::uint32_t bound);
  void shuffle(std::vector<int>& list);

private:
  std::uint64_t seed_;
  std::uint64_t state_;
};

class Fibers {
public:
  explicit Fibers(std::uint64_t seed);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Runs body(0) ... body(threads - 1) until no thread can go on: all ended, or the rest are
  /// suspended, or one threw ThreadStopped. Any other exception ends the run and arrives here.
  /// Threads that have not ended are listed by suspended() until end_suspended().
  void run(int threads, const std::function<void(int)>& body);
  std::vector<int> suspended() const;
  /// Ends suspended threads: ThreadStopped is thrown where they wait.
  void end_suspended();

  // Within body:
  int current() const { return current_; }
  void suspend();
  /// A suspended thread may go on, some time after the caller suspends itself or ends.
  void make_ready(int thread) { ready_.push_back(thread); }
  bool on_current_stack(const void* address) const;

private:
  struct Worker;
  struct Thread {
    enum class State : std::uint8_t { Fresh, Running, Suspended, Ended } state = State::Fresh;
    Worker* worker = nullptr;
  };

  void dispatch();
  void start_round();
  void switch_to(Worker& worker);
  void switch_to_hub(Worker& worker);
  void work(Worker& worker);
  void run_thread(int thread);
  Worker& idle_worker();

  Order order_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  std::vector<Thread> threads_;
  std::vector<int> ready_;  ///< run in the next round
  std::vector<int> round_;
  std::size_t next_ = 0;  ///< of round_
  const std::function<void(int)>* body_ = nullptr;
  int current_ = -1;
  enum class Mode { Running, Stopped, Ending, Quitting } mode_ = Mode::Running;
  std::exception_ptr failure_;
};

}  // namespace tc::emulation
