// SPDX-License-Identifier: Apache-2.0
//
// fuzz_programs: random programs through the whole compiler, compared with the interpreter.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "coverage.h"
#include "shrink.h"
#include "worker.h"

namespace tc::fuzz {

namespace {

constexpr const char* kUsage =
    "usage: fuzz_programs [--seed S] [--count N] [--time SECONDS] [--jobs J] [--coverage]\n"
    "                     [--goal PERCENT] [--bug K] [--keep FOLDER] [--show S]\n"
    "       fuzz_programs --replay FILE|FOLDER...\n"
    "  --seed S       first seed (default 1)\n"
    "  --count N      programs (default 1000)\n"
    "  --time T       stop after T seconds\n"
    "  --jobs J       worker processes (default 1)\n"
    "  --coverage     table of what the programs contained\n"
    "  --goal P       fail if a feature is in fewer than P percent of the programs\n"
    "  --bug K        the compiler holds injected bug K: stop at the first failure, do not shrink\n"
    "  --keep FOLDER  write shrunk failures there\n"
    "  --show S       print the case of seed S, do not run it\n"
    "  --replay ...   run cases from files; all must pass\n"
    "exit status: 0 no failure, 1 failures (of --goal too), 2 usage\n";

struct Flags {
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;
  int seconds = 0;
  int jobs = 1;
  bool coverage = false;
  double goal = 0;
  std::string bug;
  std::string keep;
  std::optional<std::uint64_t> show;
  std::vector<std::string> replay;
  bool verbose = false;
};

constexpr int kSecondsPerProgram = 120;
constexpr int kShrinkSeconds = 120;
constexpr int kMostFailures = 10;  ///< later ones are counted, not shrunk

struct Totals {
  long programs = 0;  ///< seeds
  long run = 0, exact = 0, reread = 0, beside_a_step = 0, option_sets = 0, refused_option_sets = 0;
  long rejected_text = 0, rejected_mapping = 0, too_large = 0, empty = 0, failed = 0;
  long drafts = 0, rejected_drafts = 0;
  std::map<std::string, long> features;
};

void count(const Record& record, Totals& totals) {
  ++totals.programs;
  totals.drafts += record.drafts;
  totals.rejected_drafts += record.rejected;
  if (record.empty) {
    ++totals.empty;
    return;
  }
  const Outcome& outcome = record.outcome;
  totals.option_sets += outcome.mapped;
  totals.refused_option_sets += outcome.refused;
  totals.exact += outcome.exact ? 1 : 0;
  totals.reread += outcome.reread ? 1 : 0;
  totals.beside_a_step += outcome.beside_a_step ? 1 : 0;
  switch (outcome.verdict) {
  case Verdict::Passed: ++totals.run; break;
  case Verdict::RejectedText: ++totals.rejected_text; break;
  case Verdict::RejectedMapping: ++totals.rejected_mapping; break;
  case Verdict::TooLarge: ++totals.too_large; break;
  case Verdict::Failed: ++totals.failed; break;
  }
  for (const std::string& feature : outcome.features)
    ++totals.features[feature];
}

void report_failure(const Record& record, const Flags& flags) {
  const Outcome& outcome = record.outcome;
  fmt::print("FAILED seed {}: {}: {}\n", record.seed, outcome.property, outcome.message);
  const Case original = generate(record.seed).experiment;
  fmt::print("---- as generated ----\n{}", to_text(original));
  std::fflush(stdout);
  if (!flags.bug.empty()) return;
  const Case small = shrink(original, outcome, kShrinkSeconds);
  const Outcome again = run_isolated(small, kSecondsPerProgram);
  const std::string text =
      fmt::format("# {}: {}\n{}", again.property, again.message.substr(0, again.message.find('\n')),
                  to_text(small));
  fmt::print("---- shrunk ----\n{}---- end ----\n", text);
  std::fflush(stdout);
  if (flags.keep.empty()) return;
  std::filesystem::create_directories(flags.keep);
  std::ofstream(std::filesystem::path(flags.keep) / fmt::format("seed_{}.tc", record.seed)) << text;
}

int run(const Flags& flags) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  fmt::print("seed {}, {} programs\n", flags.seed, flags.count);
  std::fflush(stdout);
  Totals totals;
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  run_seeds(flags.seed, flags.count, flags.jobs, kSecondsPerProgram, [&](const Record& record) {
    count(record, totals);
    if (flags.verbose && record.rejected > 0)
      fmt::print("seed {} rejected: {}\n", record.seed, record.last_rejection);
    if (!record.empty && record.outcome.verdict == Verdict::Failed) {
      if (totals.failed <= kMostFailures) {
        report_failure(record, flags);
      } else {
        fmt::print("FAILED seed {}: {}: {}\n", record.seed, record.outcome.property,
                   record.outcome.message.substr(0, 200));
      }
      if (!flags.bug.empty()) return false;
    }
    if (totals.programs % 500 == 0) {
      fmt::print("... {} programs, {} failed, {:.0f} s\n", totals.programs, totals.failed,
                 elapsed());
      std::fflush(stdout);
    }
    return flags.seconds == 0 || elapsed() < flags.seconds;
  });
  const long with_program = totals.programs - totals.empty;
  fmt::print(
      "{} programs in {:.1f} s: {} run ({} compared exactly, {} beside a step, {} again from "
      "their texts), {} rejected by the front end, "
      "{} not mapped, {} too large, {} without an accepted statement, {} failed\n",
      totals.programs, elapsed(), totals.run, totals.exact, totals.beside_a_step, totals.reread,
      totals.rejected_text, totals.rejected_mapping, totals.too_large, totals.empty, totals.failed);
  fmt::print("{} option sets run, {} refused; statements drafted {}, rejected {} ({:.1f} %)\n",
             totals.option_sets, totals.refused_option_sets, totals.drafts, totals.rejected_drafts,
             totals.drafts == 0 ? 0.0
                                : 100.0 * static_cast<double>(totals.rejected_drafts) /
                                      static_cast<double>(totals.drafts));
  if (flags.coverage) fmt::print("{}", coverage_table(totals.features, with_program, 1.0));
  if (!flags.bug.empty())
    fmt::print("bug {}: {} after {} programs\n", flags.bug, totals.failed > 0 ? "found" : "missed",
               totals.programs);
  long missing = 0;
  if (flags.goal > 0) {
    missing = below_goal(totals.features, with_program, flags.goal);
    fmt::print("{} features below {} %\n", missing, flags.goal);
  }
  return totals.failed > 0 || missing > 0 ? 1 : 0;
}

int replay(const Flags& flags) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : flags.replay) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".tc") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  int failed = 0;
  for (const std::filesystem::path& file : files) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const auto experiment = parse_case(text.str());
    if (!experiment) {
      fmt::print("{}: {}\n", file.string(), experiment.error());
      ++failed;
      continue;
    }
    const Outcome outcome = run_isolated(*experiment, kSecondsPerProgram);
    const bool passed = outcome.verdict == Verdict::Passed;
    fmt::print("{}: {}\n", file.string(),
               passed ? "passed" : outcome.property + ": " + outcome.message);
    failed += passed ? 0 : 1;
  }
  fmt::print("{} cases, {} failed\n", files.size(), failed);
  return failed > 0 ? 1 : 0;
}

std::optional<Flags> parse_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--coverage") {
      flags.coverage = true;
    } else if (flag == "--verbose") {
      flags.verbose = true;
    } else if (flag == "--replay") {
      flags.replay.assign(argv + i + 1, argv + argc);
      return flags;
    } else if (i + 1 < argc) {
      const char* value = argv[++i];
      if (flag == "--seed")
        flags.seed = std::strtoull(value, nullptr, 10);
      else if (flag == "--count")
        flags.count = std::strtoull(value, nullptr, 10);
      else if (flag == "--time")
        flags.seconds = std::atoi(value);
      else if (flag == "--jobs")
        flags.jobs = std::atoi(value);
      else if (flag == "--goal")
        flags.goal = std::strtod(value, nullptr);
      else if (flag == "--bug")
        flags.bug = value;
      else if (flag == "--keep")
        flags.keep = value;
      else if (flag == "--show")
        flags.show = std::strtoull(value, nullptr, 10);
      else
        return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return flags;
}

}  // namespace

}  // namespace tc::fuzz

int main(int argc, char** argv) {
  const std::optional<tc::fuzz::Flags> flags = tc::fuzz::parse_flags(argc, argv);
  if (!flags) {
    fmt::print(stderr, "{}", tc::fuzz::kUsage);
    return 2;
  }
  if (flags->show) {
    fmt::print("{}", tc::fuzz::to_text(tc::fuzz::generate(*flags->show).experiment));
    return 0;
  }
  return flags->replay.empty() ? tc::fuzz::run(*flags) : tc::fuzz::replay(*flags);
}
