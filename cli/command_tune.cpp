// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "exit_status.h"
#include "files.h"
#include "memory.h"
#include "tc/tune.h"

namespace tc::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kDefaultBudget = 60;
constexpr const char* kAllDevices = "all";

std::atomic<bool> interrupted{false};

/// The first signal ends the search with the best so far, the second one the process.
void on_signal(int number) {
  interrupted.store(true);
  ::signal(number, SIG_DFL);
}

std::string failures_text(const std::map<std::string, int>& failures) {
  std::string text;
  for (const auto& [reason, count] : failures)
    text += fmt::format(", {} {}", count, reason);
  return text;
}

/// One line on the terminal, rewritten.
void show(const TuneProgress& progress) {
  std::string line =
      fmt::format("{:5.1f} s  {} candidates", progress.seconds, progress.trials + progress.resumed);
  if (progress.best_us > 0)
    line += fmt::format(", best {:.4g} us, default {:.4g}, median {:.4g}", progress.best_us,
                        progress.default_us, progress.median_us);
  line += failures_text(progress.failures);
  if (progress.remaining > 0) line += fmt::format(", {:.0f} s left", progress.remaining);
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
}

std::map<int, std::string> read_faults(const std::vector<std::string>& faults) {
  std::map<int, std::string> result;
  for (const std::string& fault : faults) {
    const std::size_t equals = fault.find('=');
    if (equals == std::string::npos)
      throw CommandError(kUsage, fmt::format("--inject expects TRIAL=FAULT, not '{}'", fault));
    int trial = 0;
    const char* const end = fault.data() + equals;
    if (std::from_chars(fault.data(), end, trial).ptr != end || equals == 0)
      throw CommandError(kUsage, fmt::format("--inject: '{}' names no trial", fault));
    result[trial] = fault.substr(equals + 1);
  }
  return result;
}

std::vector<MappingOptions> read_seeds(const std::vector<std::string>& files) {
  std::vector<MappingOptions> seeds;
  for (const std::string& file : files) {
    std::istringstream lines(read_file(file));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      Result<MappingOptions, std::string> options = options_from_json(line);
      if (!options)
        throw CommandError(kUserError, fmt::format("{}:{}: {}", file, number, options.error()));
      seeds.push_back(std::move(options).value());
    }
  }
  return seeds;
}

/// A plain "cuda" means every device like the first one, "cuda:1" that one.
std::vector<int> read_devices(const TuneFlags& flags, const Call& call,
                              const CompileContext& context) {
  const std::vector<std::string>& words = flags.devices;
  const NamedTarget target{call.target, call.device};
  if (words.empty() && flags.call.target.find(':') != std::string::npos) return {};
  if (words.empty() || words == std::vector<std::string>{kAllDevices})
    return devices_like(target, context);
  std::vector<int> devices;
  for (const std::string& word : words) {
    int number = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 0)
      throw CommandError(kUsage, fmt::format("--devices takes numbers from 0, or '{}', not '{}'",
                                             kAllDevices, word));
    devices.push_back(number);
  }
  return devices;
}

TuneSettings make_settings(const TuneFlags& flags, const Call& call, const Environment& environment,
                           const CompileContext& context) {
  TuneSettings settings;
  settings.trials = flags.trials;
  settings.seconds = flags.budget >= 0 ? flags.budget : flags.trials > 0 ? 0 : kDefaultBudget;
  if (settings.seconds == 0 && settings.trials == 0)
    throw CommandError(kUsage, "a search without --budget needs --trials");
  settings.search = flags.search;
  settings.seeds = read_seeds(flags.seeds);
  settings.rounds = flags.rounds;
  settings.seed = flags.call.seed;
  settings.jobs = flags.jobs;
  settings.devices = read_devices(flags, call, context);
  settings.options = call.options;
  for (const auto& [name, value] : flags.call.overrides)
    settings.fixed.push_back(name);
  if (flags.compile_limit > 0) settings.compile_limit = flags.compile_limit;
  if (flags.run_limit > 0) settings.run_limit = flags.run_limit;
  settings.cuda = environment.cuda;
  settings.faults = read_faults(flags.faults);
  settings.stop = &interrupted;
  if (isatty(STDERR_FILENO) != 0) settings.progress = show;
  return settings;
}

Json to_json(const TuneReport& report, const Call& call, const TuneSettings& settings,
             const CompileContext& context) {
  Json json;
  json["def"] = call.def;
  set_target(json, call);
  json["search"] = settings.search;
  json["seed"] = settings.seed;
  json["devices"] = settings.devices.empty() ? std::vector<int>{call.device} : settings.devices;
  json.update(Json::parse(tc::to_json(report)));
  json["recorded"] = report.is_recorded && context.cache != nullptr;
  return json;
}

void print(const TuneReport& report) {
  fmt::print("best {:.4g} us", report.best_us);
  if (report.default_us > 0)
    fmt::print(", default {:.4g} us ({:.2f} times)", report.default_us,
               report.default_us / report.best_us);
  fmt::print("; checked: {}\n", report.verification);
  fmt::print("{} candidates in {:.1f} s, {} with the code of another, {} known from records{}{}\n",
             report.progress.trials, report.progress.seconds, report.progress.repeated,
             report.progress.resumed, failures_text(report.progress.failures),
             report.is_exhausted ? "; nothing is left to try" : "");
  fmt::print("options {}\n", tc::to_json(report.options));
}

}  // namespace

void add_tune(CLI::App& app, TuneFlags& flags, const Environment& environment) {
  CLI::App* command = app.add_subcommand("tune", "search for the options that run a def fastest");
  add_call_flags(*command, flags.call, environment);
  command->add_option("--budget", flags.budget, "time for all of it: 90, 60s, 5m")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}))
      ->check([](const std::string& text) {
        // Not a number is no time either.
        double seconds = 0;
        const bool is_time = CLI::detail::lexical_cast(text, seconds) && seconds >= 0;
        return is_time ? std::string() : fmt::format("a time from 0, not {}", text);
      })
      ->type_name("TIME");
  command->add_option("--trials", flags.trials, "most candidates")
      ->check(CLI::Range(1, 100'000'000));
  command->add_option("--search", flags.search,
                      "model, evolutionary, random, exhaustive, or seeds: only compare these");
  command->add_option("--seeds", flags.seeds, "files of options to start from, one object a line")
      ->delimiter(',');
  command->add_option("--rounds", flags.rounds, "rounds in which the best ones are timed in turns")
      ->check(CLI::Range(0, 1000));
  command->add_option("--jobs", flags.jobs, "processes that compile; 0: one a core")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--devices", flags.devices,
                   "devices to measure on: CUDA ordinals, or parts of the CPU's cores; all")
      ->delimiter(',');
  const auto is_limit = [](const std::string& text) {
    double seconds = 0;
    const bool is_time =
        CLI::detail::lexical_cast(text, seconds) && std::isfinite(seconds) && seconds > 0;
    return is_time ? std::string() : fmt::format("a number of seconds above 0, not {}", text);
  };
  command->add_option("--compile-limit", flags.compile_limit, "seconds that a compilation may take")
      ->check(is_limit);
  command->add_option("--run-limit", flags.run_limit, "seconds that a candidate may take to run")
      ->check(is_limit);
  command->add_option("--inject", flags.faults, "TRIAL=crash|hang|wrong")
      ->delimiter(',')
      ->group("");
  command->add_flag("--json", flags.json, "print one JSON object with every candidate");
  app.add_subcommand(kTuneWorker, "")->group("");
}

int tune_command(const TuneFlags& flags, const Environment& environment) {
  const CompileContext context = make_context(environment);
  const Call call = make_call(flags.call, context);
  const Result<compiler::FrontEnd, Failure> front = compiler::front_end(
      call.source, call.def, call.metadata, compiler::fresh_alignment(call.target));
  if (!front) throw_failure(front.error(), call.source);
  check_memory(call, *front, /*scratch_bytes=*/0, Checking::None);
  const TuneSettings settings = make_settings(flags, call, environment, context);
  ::signal(SIGINT, on_signal);
  ::signal(SIGTERM, on_signal);
  const Result<TuneReport, Failure> report =
      autotune(call.source.text(), call.def, call.metadata, settings,
               NamedTarget{call.target, call.device}, context);
  // The search is over: what it found is written whole, whoever loses patience.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  if (settings.progress) fmt::print(stderr, "\r\x1b[K");
  if (!report) throw_failure(report.error(), call.source);
  if (!context.cache)
    fmt::print(stderr, "tensorc: the cache is off: no record is kept\n");
  else if (!report->is_recorded)
    fmt::print(stderr, "tensorc: the cache in '{}' cannot be written: not every record is kept\n",
               environment.cache_dir.string());
  if (!report->note.empty()) fmt::print(stderr, "tensorc: {}\n", report->note);
  if (flags.json)
    fmt::print("{}\n", to_json(*report, call, settings, context).dump());
  else
    print(*report);
  return kDone;
}

}  // namespace tc::cli
