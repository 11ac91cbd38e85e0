// SPDX-License-Identifier: Apache-2.0
//
// What a tuning run leaves: one record per program, sizes, target and options that were tried.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tc/compiler/pipeline.h"
#include "tc/support/options.h"
#include "tc/support/result.h"
#include "tc/support/target.h"

namespace tc::tuner {

/// What a measured time belongs to.
struct Identity {
  std::string program;  ///< hash of the canonical text: the same whatever the names
  std::string def;      ///< name, for people
  std::vector<std::string> size_names;
  std::vector<std::int64_t> sizes;  ///< in the order of the def
  std::vector<double> consts;
  std::string layout;  ///< strides of what is not contiguous; empty: everything is
  TargetKind kind = TargetKind::Cpu;
  std::string arch;
  std::string target;    ///< hash of every fact of the target
  std::string versions;  ///< of everything that decides about the code
};

Identity identity_of(const compiler::FrontEnd& front, const Target& target);
/// Of this program, as identities have them: verdicts and times of another build say nothing sure
/// about this one's code.
std::string current_versions();
/// Whether records of the one say what the other would.
bool is_same_call(const Identity& a, const Identity& b);
/// Equal, or both NaN.
bool is_same_const(double a, double b);

enum class Outcome {
  Measured,  ///< right and timed
  Slow,      ///< right, given up at twice the best time: `median_us` is of the few runs there were
  Rejected,  ///< the mapping or the compiler said no
  Wrong,     ///< results differ from the reference
  Crashed,   ///< the process ended
  Hung,      ///< beyond the time limit
};
inline constexpr int kNumOutcomes = 6;
const char* to_string(Outcome outcome);
std::optional<Outcome> outcome_from_name(std::string_view name);

struct Record {
  Identity identity;
  MappingOptions options;
  std::uint64_t code = 0;  ///< Executor::code_hash(); 0: unknown, or nothing was compiled
  Outcome outcome = Outcome::Rejected;
  std::string detail;    ///< of what was not measured: why, for people
  double median_us = 0;  ///< of what hung: the limit that it reached
  int samples = 0;
  std::string verification;  ///< how the result was checked, e.g. "interpreter, exact"
  std::string provenance;    ///< who measured: machine, device, strategy, seed
  std::string created;       ///< UTC, ISO 8601; empty: now

  bool is_usable() const { return outcome == Outcome::Measured; }
};

/// One line of JSON, and back. The error says what is wrong.
std::string to_json(const Record& record);
Result<Record, std::string> record_from_json(std::string_view line);

/// Where records are kept. An interface, so that a store on another machine can follow. What cannot
/// be read does not exist, as in the store of kernels; what cannot be written is reported, since a
/// tuning run is expensive. Thread-safe.
class RecordStore {
public:
  virtual ~RecordStore() = default;

  /// Replaces the record of the same identity and options unless that is newer. Waits so long for
  /// others who use the store. False: not kept.
  virtual bool put(const Record& record, std::chrono::milliseconds patience) = 0;
  bool put(const Record& record) { return put(record, kPatience); }
  /// All records of a program on a kind of target, whatever the sizes, in the order of creation.
  virtual std::vector<Record> find(const std::string& program, TargetKind kind) = 0;
  virtual std::vector<Record> list() = 0;
  virtual std::int64_t clear() = 0;

  static constexpr std::chrono::milliseconds kPatience{10'000};
};

/// A table of an SQLite file, made when it is not there. Several processes may write; after kill -9
/// every record that was put is there.
std::unique_ptr<RecordStore> open_sqlite_records(const std::filesystem::path& file);
/// Of this process only.
std::unique_ptr<RecordStore> open_memory_records();
/// In the file of the compile cache that `context` has, else in memory.
std::unique_ptr<RecordStore> open_records(const CompileContext& context);

}  // namespace tc::tuner
