// SPDX-License-Identifier: Apache-2.0
//
// tc::autotune: what a tuning run needs, put together.
#include <ext/stdio_filebuf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <istream>
#include <ostream>
#include <set>

#include "tc/compiler/pipeline.h"
#include "tc/tune.h"
#include "tc/tuner/choose.h"
#include "tc/tuner/devices.h"
#include "tc/tuner/gpu_appraiser.h"
#include "tc/tuner/model.h"
#include "tc/tuner/run_folder.h"
#include "tc/tuner/session.h"
#include "tc/tuner/worker.h"

namespace tc {

namespace {

using compiler::argument_failure;

/// Sizes of the same program whose best options are tried early.
constexpr std::size_t kTransferred = 3;
constexpr std::int64_t kMostExhaustive = 100'000;
constexpr const char* kComparison = "seeds";

/// A seed as this search may propose it: fields that are fixed or semantics are those of the base.
MappingOptions adapted(const MappingOptions& seed, const MappingOptions& base,
                       const std::vector<std::string>& fixed) {
  MappingOptions options = base;
  for_each_field([&](const auto& field) {
    const bool is_fixed = std::find(fixed.begin(), fixed.end(), field.name) != fixed.end();
    if (tuner::is_searched(field.name) && !is_fixed) options.*field.member = seed.*field.member;
  });
  return options;
}

std::optional<std::string> wrong_settings(const TuneSettings& settings) {
  if (std::string problem = validate(settings.options); !problem.empty()) return problem;
  for (const MappingOptions& seed : settings.seeds) {
    if (std::string problem = validate(seed); !problem.empty()) return problem;
  }
  // Not a number is no budget either.
  if (!(settings.seconds >= 0) || settings.trials < 0 || settings.jobs < 0 || settings.rounds < 0)
    return std::string("the budget, the trials, the jobs and the rounds are not negative");
  if (!(settings.compile_limit > 0) || !(settings.run_limit > 0))
    return std::string("the limits of a compilation and of a run are above 0 seconds");
  std::set<std::string> names;
  for_each_field([&](const auto& field) { names.insert(field.name); });
  for (const std::string& name : settings.fixed) {
    if (names.count(name) == 0) return fmt::format("no option is named '{}'", name);
  }
  const std::set<int> devices(settings.devices.begin(), settings.devices.end());
  if (devices.size() != settings.devices.size() || (!devices.empty() && *devices.begin() < 0))
    return std::string("devices are different numbers from 0");
  return std::nullopt;
}

Result<std::unique_ptr<tuner::Strategy>, Failure> make_strategy(const TuneSettings& settings,
                                                                const tuner::Space& space,
                                                                std::vector<tuner::Genome> seeds,
                                                                const tuner::Model& model) {
  const std::string& name = settings.search;
  if (name == "random") return tuner::random_search(space, std::move(seeds), settings.seed);
  if (name == "evolutionary")
    return tuner::evolutionary_search(space, std::move(seeds), settings.seed);
  if (name == kComparison) return tuner::seeds_search(space, std::move(seeds));
  if (name == "model") return tuner::model_search(space, std::move(seeds), settings.seed, model);
  if (name != "exhaustive")
    return argument_failure(fmt::format(
        "unknown search '{}'; known are model, evolutionary, random, exhaustive, seeds", name));
  if (space.size() > kMostExhaustive) {
    return argument_failure(fmt::format("the space has {} combinations, more than an exhaustive "
                                        "search takes ({}); fix some options",
                                        space.size(), kMostExhaustive));
  }
  return tuner::exhaustive_search(space, std::move(seeds));
}

/// On a CPU.
tuner::Model model_of(const tuner::Facts& facts) {
  return {[&facts](const std::vector<MappingOptions>& candidates) {
            std::vector<tuner::Appraisal> result;
            for (const MappingOptions& options : candidates)
              result.push_back({tuner::estimate(facts, options), 0});
            return result;
          },
          false};
}
tuner::Model model_of(tuner::GpuAppraiser& appraiser) {
  return {[&appraiser](const std::vector<MappingOptions>& candidates) {
            return appraiser.appraise(candidates);
          },
          true};
}

std::int64_t half_of_memory() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) / 2 * sysconf(_SC_PAGESIZE);
}

Result<std::map<int, tuner::Fault>, Failure> faults_of(const TuneSettings& settings) {
  std::map<int, tuner::Fault> faults;
  for (const auto& [trial, name] : settings.faults) {
    const auto fault = tuner::fault_from_name(name);
    if (!fault) return argument_failure(fmt::format("unknown fault '{}'", name));
    faults[trial] = *fault;
  }
  return faults;
}

/// The target of the measurements: part of a CPU where several devices share it.
NamedTarget measured_target(const NamedTarget& whole, const std::vector<int>& devices) {
  NamedTarget target = whole;
  if (target.target.kind == TargetKind::Cpu && devices.size() > 1)
    target.target.cores = std::max(1, target.target.cores / static_cast<int>(devices.size()));
  return target;
}

/// Base first, then what the user starts from, then what other sizes found best.
std::vector<MappingOptions> seed_options(const TuneSettings& settings,
                                         const std::vector<tuner::Choice>& choices) {
  std::vector<MappingOptions> wanted = {MappingOptions(), settings.options};
  wanted.insert(wanted.end(), settings.seeds.begin(), settings.seeds.end());
  std::size_t transferred = 0;
  for (const tuner::Choice& choice : choices) {
    if (settings.search == kComparison || choice.is_exact() || transferred++ == kTransferred)
      continue;
    wanted.push_back(choice.record.options);
  }
  std::vector<MappingOptions> seeds;
  for (const MappingOptions& options : wanted) {
    const MappingOptions seed = adapted(options, settings.options, settings.fixed);
    if (std::find(seeds.begin(), seeds.end(), seed) == seeds.end()) seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace

int run_tune_worker() {
  // Streams of our own: those of the standard library are not whole in every shared library that
  // holds that library's archive.
  __gnu_cxx::stdio_filebuf<char> input(dup(STDIN_FILENO), std::ios::in);
  __gnu_cxx::stdio_filebuf<char> output(dup(STDOUT_FILENO), std::ios::out);
  std::istream in(&input);
  std::ostream out(&output);
  return tuner::run_worker(in, out);
}

Result<TuneReport, Failure> autotune(std::string_view text, std::string_view def,
                                     const Metadata& metadata, const TuneSettings& settings,
                                     const std::optional<NamedTarget>& requested,
                                     const CompileContext& context) {
  if (const auto problem = wrong_settings(settings)) return argument_failure(*problem);
  NamedTarget whole;
  if (requested) {
    whole = *requested;
  } else {
    const Result<NamedTarget, Failure> host = find_target("cpu", context);
    if (!host) return host.error();
    whole = *host;
  }
  const std::vector<int> devices =
      settings.devices.empty() ? std::vector<int>{whole.device} : settings.devices;
  if (auto failure = tuner::wrong_devices(devices, whole.target.kind, context)) return *failure;
  const NamedTarget target = measured_target(whole, devices);
  const SourceBuffer source("<text>", std::string(text));
  const Result<compiler::FrontEnd, Failure> front =
      compiler::front_end(source, def, metadata, compiler::fresh_alignment(target.target));
  if (!front) return front.error();
  if (auto failure = compiler::prove(source, *front)) return *failure;

  const tuner::Identity identity = tuner::identity_of(*front, target.target);
  const std::unique_ptr<tuner::RecordStore> records = tuner::open_records(context);
  const std::vector<MappingOptions> seeds =
      seed_options(settings, tuner::rank(records->find(identity.program, identity.kind), identity));
  const Result<tuner::Facts, Failure> facts =
      tuner::gather_facts(*front, seeds.front(), target.target);
  if (!facts) return facts.error();
  const tuner::Space space(*facts, settings.options, settings.fixed, seeds);
  std::vector<tuner::Genome> genomes;
  for (const MappingOptions& seed : seeds) {
    if (auto genome = space.genome(seed)) genomes.push_back(std::move(*genome));
  }
  const tuner::RunFolder folder;
  if (folder.path().empty())
    return argument_failure(
        "no folder for temporary files can be made: TMPDIR, else /tmp, is where");
  const tuner::WorkerProgram worker{settings.worker.empty() ? tuner::default_worker()
                                                            : settings.worker,
                                    settings.worker_arguments,
                                    {}};
  if (access(worker.file.c_str(), X_OK) != 0)
    return argument_failure(
        fmt::format("the program 'tensorc' that runs candidates was not found{}",
                    worker.file.empty() ? "" : ": '" + worker.file.string() + "'"));
  const Result<std::map<int, tuner::Fault>, Failure> faults = faults_of(settings);
  if (!faults) return faults.error();
  tuner::WorkerSetup setup;
  setup.versions = identity.versions;
  setup.text = std::string(text);
  setup.def = std::string(def);
  setup.metadata = metadata;
  setup.target = target.target;
  setup.cuda = settings.cuda;
  setup.folder = folder.path().string();
  setup.memory_bytes = settings.memory_bytes > 0 ? settings.memory_bytes : half_of_memory();
  setup.run_limit = settings.run_limit;
  setup.faults = *faults;
  const int jobs =
      settings.jobs > 0 ? settings.jobs : static_cast<int>(tuner::usable_cores().size());
  tuner::Crew crew = tuner::make_crew(worker, setup, jobs, devices);
  tuner::GpuAppraiser appraiser(worker, setup, jobs, settings.compile_limit);
  const Result<std::unique_ptr<tuner::Strategy>, Failure> strategy = make_strategy(
      settings, space, genomes,
      target.target.kind == TargetKind::Cuda ? model_of(appraiser) : model_of(*facts));
  if (!strategy) return strategy.error();

  const tuner::Assignment assignment{settings,      space,          **strategy,
                                     crew,          *records,       identity,
                                     seeds.front(), genomes.size(), settings.search == kComparison};
  tuner::Session session(assignment);
  appraiser.set_meanwhile([&session] { return session.pump(); });
  if (auto failure = session.make_reference()) return *failure;
  session.search();
  session.compare_finalists();
  return session.report();
}

}  // namespace tc
