// SPDX-License-Identifier: Apache-2.0
//
// The C++ interface of the tuner, beside tc/tc.h: search for the options of one call, and options
// from what earlier searches left.
//
//   auto tuned = tc::autotune(text, "matmul", {.inputs = {a, b}}, {.seconds = 60});
//   auto executor = tc::compile(text, "matmul", {.inputs = {a, b}}, tuned->options);
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tc/tc.h"

namespace tc {

/// What a search has done so far.
struct TuneProgress {
  double seconds = 0;    ///< since the start
  double remaining = 0;  ///< seconds until the budget ends; 0 without one
  int trials = 0;        ///< candidates that were compiled or run
  int resumed = 0;       ///< candidates that earlier runs had tried
  int repeated = 0;      ///< candidates whose code an earlier one had: not measured again
  double best_us = 0;    ///< 0: none yet
  double default_us = 0;
  double median_us = 0;                 ///< of the candidates that were measured
  std::map<std::string, int> failures;  ///< by reason
};

struct TuneSettings {
  double seconds = 60;  ///< budget; 0: none
  int trials = 0;       ///< most candidates; 0: no limit
  /// model, evolutionary, random, exhaustive, or seeds: what one starts from, compared,
  /// and no more.
  std::string search = "model";
  std::uint64_t seed = 0;  ///< of the sequence of candidates
  int jobs = 0;            ///< processes that compile; 0: one a core
  /// One measuring process each: CUDA devices of one kind, or equal parts of the CPU's cores.
  /// Empty: the one that the target means.
  std::vector<int> devices{};
  /// Options to start from. What a search does not change (bounds, deterministic, fast_math) comes
  /// from them.
  MappingOptions options{};
  std::vector<MappingOptions> seeds{};  ///< more to start from
  std::vector<std::string> fixed{};     ///< fields of `options` that stay
  int rounds = 5;                       ///< that compare the best ones in turns
  /// Seconds that one compilation may take. A fifth of the budget is enough, 5 seconds at least.
  double compile_limit = 60;
  double run_limit = 20;          ///< seconds that checking and timing one candidate may take
  std::int64_t memory_bytes = 0;  ///< of one worker; 0: half of the machine's
  /// The program `tensorc`; empty: this program if that is it, else the one in the folder "bin"
  /// beside that of this library.
  std::filesystem::path worker{};
  /// Of that program: what makes it call run_tune_worker().
  std::vector<std::string> worker_arguments = {"tune-worker"};
  CudaSearch cuda{};                    ///< where workers look for CUDA
  std::map<int, std::string> faults{};  ///< for tests, by trial from 1: crash, hang, wrong
  std::function<void(const TuneProgress&)> progress{};  ///< called in the calling thread
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: end with what there is
};

/// One candidate of a search.
struct TuneTrial {
  MappingOptions options;
  std::string outcome;  ///< measured, slow, rejected, wrong, crashed, hung
  std::string detail;
  double median_us = 0;
  bool resumed = false;   ///< an earlier run had tried it
  bool repeated = false;  ///< an earlier candidate of the run had the same code
  bool finalist = false;  ///< measured in turns with the other best ones
  int samples = 0;        ///< runs or groups of runs that the median is of
};

struct TuneReport {
  MappingOptions options;    ///< the best that was checked and measured
  double best_us = 0;        ///< with them
  double default_us = 0;     ///< where the search began; 0: that could not be measured
  std::string verification;  ///< how results were checked: "interpreter, exact"
  std::string note;          ///< for people: what was asked for and could not be had
  bool is_interrupted = false;
  bool is_exhausted = false;  ///< every candidate was tried
  bool is_recorded = true;    ///< false: a record could not be written
  TuneProgress progress;
  std::vector<TuneTrial> trials;  ///< in the order in which they were proposed
};

/// As one JSON object, with these fields: seconds, remaining, candidates, resumed,
/// repeated, best_us, default_us and median_us (null: not measured), failures. A report has those
/// of its progress, its own best_us and default_us, options, verification, note, interrupted,
/// exhausted, recorded, and trials: options, outcome, detail, median_us, resumed, repeated,
/// finalist, samples.
std::string to_json(const TuneProgress& progress);
std::string to_json(const TuneReport& report);

/// Searches for the options that run a call fastest. Candidates are compiled and run in worker
/// processes; each one's results are checked before it counts, and each leaves a record in the
/// compile cache of `context`. Candidates that records of the same call hold are not tried again.
/// Errors: as compile(); Argument if the settings are wrong, if there is no worker program or if no
/// candidate could be measured.
Result<TuneReport, Failure> autotune(std::string_view text, std::string_view def,
                                     const Metadata& metadata, const TuneSettings& settings = {},
                                     const std::optional<NamedTarget>& target = std::nullopt,
                                     const CompileContext& context = {});

/// The CUDA devices with the facts of the target's device, that one first; 0 alone on a CPU.
std::vector<int> devices_like(const NamedTarget& target, const CompileContext& context = {});

/// The body of a worker process, for programs that are their own workers: jobs from stdin, replies
/// to stdout. Returns the exit status.
int run_tune_worker();

/// Options that records chose for a call.
struct TunedOptions {
  enum class Source {
    Exact,    ///< a record of these very sizes on this target
    Nearest,  ///< a record of other sizes, or of another device of the kind
    Default,  ///< no record of this program serves, or others' sizes lose more than the default
  } source = Source::Default;
  MappingOptions options;
  std::string note;  ///< for people: which record, what loss to expect, or why there is none
  /// Expected time over the best one, minus 1; absent for Exact, and where records do not tell.
  std::optional<double> expected_loss;
};

/// The options that the records in the compile cache of `context` give this call. What a record of
/// other sizes asks for is compiled before it is chosen (the executor then comes from the cache).
Result<TunedOptions, Failure> tuned_options(std::string_view text, std::string_view def,
                                            const Metadata& metadata,
                                            const std::optional<Target>& target = std::nullopt,
                                            const CompileContext& context = {});

}  // namespace tc
