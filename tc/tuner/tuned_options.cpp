// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/compiler/pipeline.h"
#include "tc/runtime/cpu/module.h"
#include "tc/tune.h"
#include "tc/tuner/choose.h"
#include "tc/tuner/space.h"

namespace tc {

namespace {

/// Records tried before the default serves: each costs a compilation.
constexpr std::size_t kMostTried = 4;

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
  const std::vector<tuner::Choice> choices = tuner::rank(records, identity);

  TunedOptions tuned;
  std::string refused;
  for (std::size_t i = 0; i < choices.size() && i < kMostTried; ++i) {
    const tuner::Choice& choice = choices[i];
    if (choice.is_default_better()) {
      tuned = TunedOptions();
      tuned.expected_loss = choice.default_loss;
      tuned.note = fmt::format("{}, {:.1f}% for the default options, which serve",
                               tuner::describe(choice), 100 * *choice.default_loss);
      return tuned;
    }
    tuned.options = choice.record.options;
    tuned.note = tuner::describe(choice);
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
      choices.empty()
          ? fmt::format("no record of '{}' on this kind of target; default options", identity.def)
          : fmt::format("no record of '{}' can be mapped at these sizes ({}); default "
                        "options",
                        identity.def, refused);
  return tuned;
}

}  // namespace tc
