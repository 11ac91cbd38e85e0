// SPDX-License-Identifier: Apache-2.0
//
// One worker process at a time, and the job that it has. A process that ends, or that is ended
// because its job takes too long, costs that job alone: the next one gets a new process.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tc/tuner/protocol.h"

namespace tc::tuner {

/// How to start a worker.
struct WorkerProgram {
  std::filesystem::path file;
  std::vector<std::string> arguments;
  /// Variables beside those of this process.
  std::vector<std::pair<std::string, std::string>> variables;
};

class Lane {
public:
  using Clock = std::chrono::steady_clock;

  Lane(WorkerProgram program, WorkerSetup setup);
  ~Lane();
  Lane(Lane&&) noexcept;
  Lane& operator=(Lane&&) noexcept;

  int device() const { return setup_.device; }
  bool is_idle() const { return !job_.has_value(); }
  /// Hands a job to the process, started if there is none. Until `deadline` a reply must be there.
  void start(const Job& job, Clock::time_point deadline);
  /// The reply, if there is one by now: the worker's, or Crashed or Hung in its place.
  std::optional<Reply> poll();
  /// To wait on: readable when there may be a reply; -1 when there is no process.
  int descriptor() const;
  /// To wait on while it is sending.
  int input() const;
  /// The process has not read all that it was sent.
  bool is_sending() const;
  Clock::time_point deadline() const { return deadline_; }
  /// So much time was nobody's: the run was suspended.
  void extend(Clock::duration time) { deadline_ += time; }
  /// Ends the process and forgets the job.
  void stop();

private:
  struct Process;

  void send();
  std::optional<Reply> read_reply();
  Reply ended();
  void end_process();

  WorkerProgram program_;
  WorkerSetup setup_;
  std::unique_ptr<Process> process_;
  std::optional<Job> job_;
  Clock::time_point deadline_;
};

/// Waits until a lane may have a reply or a deadline has passed, at most `most`. Time in which the
/// run was suspended (Ctrl-Z) is not charged to the jobs.
void wait_for_any(const std::vector<Lane*>& lanes, std::chrono::milliseconds most);

}  // namespace tc::tuner
