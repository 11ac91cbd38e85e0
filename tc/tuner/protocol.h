// SPDX-License-Identifier: Apache-2.0
//
// What a tuning run and its worker processes tell each other: one JSON object a line, over pipes,
// so that an engine can place workers on other machines. A worker hears one setup, then jobs; it
// answers each with one reply, in order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tc/tc.h"
#include "tc/tuner/record.h"

namespace tc::tuner {

/// Misbehaviour that tests ask for.
enum class Fault { None, Crash, Hang, Wrong };
std::optional<Fault> fault_from_name(std::string_view name);

/// Reason of a reply in the place of a worker that could not be started or refused its setup.
inline constexpr const char* kNoWorker = "no worker";
/// Of a job that no worker here can do, whatever the options: the target or the run's files are not
/// there.
inline constexpr const char* kUnable = "unable";
/// Of a device that has no room for what the program needs, now.
inline constexpr const char* kNoRoom = "device";
/// Of one whose process somebody killed, which says nothing about the job for sure.
inline constexpr const char* kKilled = "killed";

struct WorkerSetup {
  std::string versions;  ///< of the run: a worker of another build takes no job
  std::string text;
  std::string def;
  Metadata metadata;
  Target target;
  int device = 0;
  CudaSearch cuda;
  std::string folder;             ///< of the run: kernels that compile jobs made, the reference
  std::int64_t memory_bytes = 0;  ///< most that the process may have; 0: no limit
  double run_limit = 0;           ///< seconds that a run may take; 0: no limit
  std::map<int, Fault> faults;    ///< by job
};

struct Job {
  enum class Kind {
    Reference,  ///< compute what every result is compared with, into the folder
    Appraise,   ///< what the model of a GPU says (`median_us`), before anything is compiled
    Compile,    ///< make the code, into the folder
    Measure,    ///< check, then time; given up where the first runs take longer than `stop_us`
    Time,       ///< time what has been checked
  } kind = Kind::Measure;
  int id = 0;
  MappingOptions options;
  double stop_us = 0;  ///< 0: never
};

struct Reply {
  int id = 0;
  Outcome outcome = Outcome::Rejected;  ///< Measured: done, for jobs that measure nothing
  std::string reason;                   ///< kind of a failure, for counting
  std::string detail;                   ///< for people
  double median_us = 0;
  int samples = 0;
  std::string verification;
  /// Of a compile job Executor::code_hash(), of one that appraises Appraisal::plan.
  std::uint64_t code = 0;
  bool is_last = false;  ///< the process ends and takes no further job
};

std::string to_line(const WorkerSetup& setup);
std::string to_line(const Job& job);
std::string to_line(const Reply& reply);
Result<WorkerSetup, std::string> setup_from_line(std::string_view line);
Result<Job, std::string> job_from_line(std::string_view line);
Result<Reply, std::string> reply_from_line(std::string_view line);

/// Exit status of a worker that does not take its setup.
inline constexpr int kRefusedSetup = 3;

}  // namespace tc::tuner
