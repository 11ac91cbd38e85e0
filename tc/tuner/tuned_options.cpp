// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tc/compiler/pipeline.h"
#include "tc/runtime/cpu/module.h"
#include "tc/tune.h"
#include "tc/tuner/choose.h"
#include "tc/tuner/space.h"
#include "tc/tuner/transfer.h"

namespace tc {

namespace {

/// Records tried before the default serves: each costs a compilation.
constexpr std::size_t kMostTried = 4;
/// What a doubling of distance counts, as a share of the time that is expected: on an H200, options
/// expected to take 0.97 and 0.87 of the default's time 3 and 4 doublings away took more.
constexpr double kDoubt = 0.04;

/// What a search never changes is as the default has it: other values were their user's decision
/// about results and checks, not one about time.
bool has_default_semantics(const tuner::Record& record) {
  const MappingOptions standard;
  bool is_same = true;
  for_each_field([&](const auto& field) {
    is_same = is_same && (tuner::is_searched(field.name) ||
                          record.options.*field.member == standard.*field.member);
  });
  return is_same;
}

/// Why these options cannot be compiled here; nullopt if they can, or if nothing can be compiled
/// here and the target's lowering accepts them.
std::optional<Failure> refusal(const compiler::FrontEnd& front, std::string_view text,
                               std::string_view def, const Metadata& metadata,
                               const MappingOptions& options, const Target& target,
                               const CompileContext& context) {
  const compiler::StageObserver nobody = [](compiler::Stage, const auto&) {};
  const Result<tile::Program, Failure> program =
      compiler::make_tile_program(front, options, target, nobody);
  if (!program) return program.error();
  const Result<kernel::Plan, Failure> plan = compiler::make_plan(*program, options, target, nobody);
  if (!plan) return plan.error();
  const Result<Executor, Failure> executor = compile(text, def, metadata, options, target, context);
  if (executor || executor.error().kind == Failure::Kind::Target) return std::nullopt;
  return executor.error();
}

/// A record that may serve.
struct Candidate {
  tuner::Choice choice;
  /// Time over that of the default options, as the model expects it. Absent: it cannot tell, or the
  /// record is one of these very sizes.
  std::optional<double> relative;

  /// What to go by: the expected time, and less so the distance.
  double score() const { return relative.value_or(1) * (1 + kDoubt * choice.distance); }
  bool is_default_better() const { return relative ? score() >= 1 : choice.is_default_better(); }
  std::string note() const {
    std::string text = tuner::describe(choice);
    if (choice.is_default_better())
      text += fmt::format(", {:.1f}% for the default options", 100 * *choice.default_loss);
    if (relative) {
      text += fmt::format("; the model expects {:.2f} of the time of the default options here",
                          *relative);
    }
    return text;
  }
};

/// Records of these sizes first, then by what the model makes of them.
std::vector<Candidate> in_order(std::vector<tuner::Choice> choices, tuner::Transfer& transfer) {
  std::vector<Candidate> candidates;
  for (tuner::Choice& choice : choices) {
    Candidate candidate{std::move(choice), std::nullopt};
    const bool has_same_sizes = candidate.choice.distance == 0;
    if (!has_same_sizes) candidate.relative = transfer.relative_time(candidate.choice);
    candidates.push_back(std::move(candidate));
    // Nothing of other sizes will be asked for.
    if (has_same_sizes && candidates.size() == 1) break;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     const bool first = a.choice.distance == 0, second = b.choice.distance == 0;
                     return first != second ? first : a.score() < b.score();
                   });
  return candidates;
}

}  // namespace

Result<TunedOptions, Failure> tuned_options(std::string_view text, std::string_view def,
                                            const Metadata& metadata,
                                            const std::optional<Target>& requested,
                                            const CompileContext& context) {
  const Target target = requested ? *requested : runtime::cpu::host_target();
  const SourceBuffer source("<text>", std::string(text));
  Result<compiler::FrontEnd, Failure> front =
      compiler::front_end(source, def, metadata, compiler::fresh_alignment(target));
  if (!front) return front.error();
  if (auto failure = compiler::prove(source, *front)) return *failure;
  const tuner::Identity identity = tuner::identity_of(*front, target);
  std::vector<tuner::Record> records =
      tuner::open_records(context)->find(identity.program, identity.kind);
  std::erase_if(records, [](const auto& record) { return !has_default_semantics(record); });
  std::vector<tuner::Choice> choices = tuner::rank(records, identity);
  choices.resize(std::min(choices.size(), kMostTried));
  tuner::Transfer transfer(text, def, metadata, *front, target);
  const std::vector<Candidate> candidates = in_order(std::move(choices), transfer);

  TunedOptions tuned;
  std::string refused;
  for (const Candidate& candidate : candidates) {
    const tuner::Choice& choice = candidate.choice;
    tuned = TunedOptions();
    if (candidate.is_default_better()) {
      tuned.expected_loss = choice.default_loss;
      tuned.note = candidate.note() + ", so the default options serve";
      return tuned;
    }
    tuned.options = choice.record.options;
    tuned.note = candidate.note();
    tuned.expected_loss = choice.expected_loss;
    tuned.source = choice.is_exact() ? TunedOptions::Source::Exact : TunedOptions::Source::Nearest;
    const std::optional<Failure> failure =
        refusal(*front, text, def, metadata, tuned.options, target, context);
    if (!failure) return tuned;
    // Only a mapping that cannot be done says something about the record.
    if (failure->kind != Failure::Kind::Mapping) return *failure;
    refused = failure->message;
  }
  tuned = TunedOptions();
  tuned.note =
      candidates.empty()
          ? fmt::format("no record of '{}' on this kind of target; default options", identity.def)
          : fmt::format("no record of '{}' can be mapped at these sizes ({}); default "
                        "options",
                        identity.def, refused);
  return tuned;
}

}  // namespace tc
