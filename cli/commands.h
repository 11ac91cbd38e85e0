// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "call.h"
#include "environment.h"

namespace tc::cli {

/// The whole program: reads the environment, parses, runs one subcommand. Returns the exit status;
/// throws nothing.
int command_line(int argc, char** argv);

// One function per subcommand; each returns the exit status or throws CommandError.

struct CheckFlags {
  std::string file;
  bool ranges = false;
};
int check_command(const CheckFlags& flags);

struct FormatFlags {
  std::string file;
  bool check = false;
  bool in_place = false;
};
int format_command(const FormatFlags& flags);

struct RunFlags {
  CallFlags call;
  std::vector<std::string> outputs;  ///< --output NAME=FILE.npy
  bool verify = false;
  bool json = false;
  int repeat = 0;  ///< timed repetitions; 0: a few, by time
};
int run_command(const RunFlags& flags, const Environment& environment);

struct CompileFlags {
  CallFlags call;
  std::string emit;
  std::string from;
  std::string output = "-";
};
int compile_command(const CompileFlags& flags, const Environment& environment);

struct ExplainFlags {
  CallFlags call;
  std::string output = "-";  ///< a page if it ends in .html, else text
};
int explain_command(const ExplainFlags& flags, const Environment& environment);

int repro_command(const std::string& file, const Environment& environment);

struct CacheFlags {
  std::string action;
  std::vector<std::string> arguments;
  std::int64_t max_bytes = std::int64_t{1} << 30;
  bool tuned = false;  ///< the tuned records instead of the kernels
};
int cache_command(const CacheFlags& flags, const Environment& environment);

struct TuneFlags {
  CallFlags call;
  double budget = -1;  ///< seconds; negative: a minute, or none where trials are counted
  int trials = 0;
  std::string search = "model";
  std::vector<std::string> seeds;  ///< files of options, one JSON object a line
  int rounds = 5;
  int jobs = 0;
  std::vector<std::string> devices;  ///< numbers, or "all"; none: what the target says
  double compile_limit = 0;          ///< seconds; 0: as the library says
  double run_limit = 0;
  std::vector<std::string> faults;  ///< for tests: TRIAL=FAULT
  bool json = false;
};
void add_tune(CLI::App& app, TuneFlags& flags, const Environment& environment);
int tune_command(const TuneFlags& flags, const Environment& environment);
/// The hidden subcommand that `tune` starts.
inline constexpr const char* kTuneWorker = "tune-worker";

struct InfoFlags {
  bool json = false;
  bool options = false;  ///< the Markdown table of the mapping options instead
};
int info_command(const InfoFlags& flags, const Environment& environment);

}  // namespace tc::cli
