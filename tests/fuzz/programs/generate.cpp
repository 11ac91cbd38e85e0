// SPDX-License-Identifier: Apache-2.0
#include "generate.h"

#include <fmt/format.h>

#include <algorithm>

#include "random.h"
#include "recipes.h"
#include "runner.h"
#include "state.h"

namespace tc::fuzz {

namespace {

using Recipe = void (*)(State&, Random&);

Recipe pick_recipe(Random& r) {
  static constexpr Recipe kRecipes[] = {
      write_assign,     write_reduce,      write_contract,  write_arg,           write_update,
      write_functions,  write_scatter,     write_gather,    write_copy,          write_staged,
      write_concat,     write_constant,    write_normalise, write_recurrence,    write_time_steps,
      write_nested_for, write_for_updates, write_call,      write_large_product, write_transpose,
      write_chain,      write_reshape,     write_replace};
  return kRecipes[r.weighted(
      {22, 22, 16, 8, 14, 19, 6, 6, 9, 7, 2, 3, 3, 3, 4, 3, 4, 6, 8, 4, 6, 6, 6})];
}

/// What the front end found out about the tensors replaces what the draft assumed.
void learn(State& s, const Acceptance& answer) {
  for (const Acceptance::Tensor& known : answer.tensors) {
    TensorInfo* info = s.find(known.name);
    if (info == nullptr) continue;
    info->type = known.type;
    info->begin = known.begin;
    info->extent = known.extent;
  }
}

MappingOptions random_options(Random& r) {
  MappingOptions options;
  options.fusion =
      r.pick<Fusion>({Fusion::Max, Fusion::Max, Fusion::Preserve3Coincident, Fusion::Min});
  if (r.percent(70)) {
    for (std::int64_t i = r.between(1, 4); i > 0; --i)
      options.tile.push_back(r.pick<std::int64_t>({0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 32}));
  }
  options.tasks = r.pick<std::int64_t>({0, 0, 1, 2, 3, 7});
  options.vector_bits = r.pick<std::int64_t>({0, 1, 64, 128, 256, 512, 512});
  options.register_rows = r.pick<std::int64_t>({0, 0, 1, 2, 3, 4, 6});
  options.register_vectors = r.pick<std::int64_t>({0, 0, 1, 2, 3});
  options.contract_block_k = r.pick<std::int64_t>({0, 0, 1, 3, 8, 16});
  options.stage = r.percent(60);
  options.local_bytes = r.pick<std::int64_t>({0, 0, 0, 256, 4096});
  options.split_reduction = r.pick<std::int64_t>({0, 0, 1, 2, 4, 9, 33, 120});
  options.bounds = r.percent(30) ? Bounds::Error : Bounds::Check;
  options.deterministic = r.percent(80);
  return options;
}

void choose_options(const State& s, Case& experiment, Random& r) {
  if (s.whole_tiles && r.percent(80)) {
    MappingOptions options = random_options(r);
    options.tile.clear();
    options.tasks = 1;
    options.stage = true;
    if (options.vector_bits == 1) options.vector_bits = 0;
    experiment.options.push_back(options);
    return;
  }
  const std::size_t kind = r.weighted({25, 15, 60});
  if (kind == 0) experiment.options.emplace_back();
  if (kind == 1) experiment.options.push_back(named_options("naive").value());
  if (kind == 2) experiment.options.push_back(random_options(r));
  if (r.percent(45)) experiment.options.push_back(random_options(r));
}

void choose_views(const State& s, Case& experiment, Random& r) {
  if (r.percent(45)) return;
  for (const TensorInfo& tensor : s.tensors) {
    if (!r.percent(45) || (!tensor.is_param && !tensor.is_output)) continue;
    const View view = static_cast<View>(r.between(0, cases::kNumViews - 1));
    if (!possible(view, tensor.type, tensor.rank())) continue;
    if (view == View::Expanded && tensor.is_output) continue;
    experiment.views[tensor.name] = view;
  }
}

/// Layout that means nothing: comments, semicolons.
void decorate(State& s, Random& r) {
  for (std::string& statement : s.body) {
    if (statement.find('\n') != std::string::npos) continue;
    if (r.percent(6)) statement += ";";
    if (r.percent(6)) statement += "  # a comment, (with) = signs";
  }
  if (s.name == "f" && r.percent(8)) s.name = r.pick<const char*>({"main", "kernel", "__global__"});
}

/// One draft on top of `s`; nullopt if the front end refuses it.
bool extend(State& s, Random& r, Generated& result, bool& finished) {
  State draft = s;
  pick_recipe(r)(draft, r);
  if (draft.body.size() == s.body.size()) return false;
  // Something must be returned at every step.
  State shown = draft;
  if (!shown.has_outputs()) {
    for (TensorInfo& tensor : shown.tensors) {
      if (!tensor.is_param) tensor.is_output = true;
    }
  }
  ++result.drafts;
  const Acceptance answer = accept(shown.to_case());
  if (!answer.accepted) {
    if (!answer.too_large) {
      ++result.rejected;
      result.last_rejection = answer.message + shown.text();
    }
    return false;
  }
  s = draft;
  learn(s, answer);
  finished = !answer.message.empty();
  return true;
}

}  // namespace

Generated generate(std::uint64_t seed) {
  Random r(seed * 0x2545F4914F6CDD1DULL + 1);
  Generated result;
  State s;
  s.may_have_params = !r.percent(4);
  const std::int64_t wanted = r.pick<std::int64_t>({1, 1, 2, 2, 3, 3, 4, 5, 6});
  bool finished = false;
  for (int tries = 0, done = 0; done < wanted && tries < 2 * wanted + 3 && !finished; ++tries) {
    if (extend(s, r, result, finished)) ++done;
  }
  if (s.body.empty()) return result;
  if (!s.has_outputs()) {
    for (TensorInfo& tensor : s.tensors) {
      if (!tensor.is_param) tensor.is_output = true;
    }
  }
  decorate(s, r);
  Case& experiment = result.experiment;
  experiment = s.to_case();
  choose_views(s, experiment, r);
  choose_options(s, experiment, r);
  experiment.inputs = r.next() % 1000000;
  experiment.integer_inputs = r.percent(45);
  experiment.extreme_inputs = r.percent(20);
  experiment.wild_indices = r.percent(20);
  return result;
}

}  // namespace tc::fuzz
