// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/prove_initial.h"

#include <algorithm>

#include "tc/lang/prove_model.h"
#include "tc/lang/prove_text.h"

namespace tc::lang {

namespace {

bool is_candidate(const TypedDef& def, const Statement& statement) {
  const Tensor& tensor = def.tensors[static_cast<std::size_t>(statement.tensor)];
  return statement.op && !statement.init && tensor.is_output && !tensor.is_param &&
         !tensor.needs_initial;
}

/// Notes whether the proof of accumulation fails; a proof that is given up counts as failed, which
/// is safe.
class Failure : public Findings {
public:
  bool failed = false;

  void violations(const Finding&, const isl::set& points) override {
    failed = failed || !points.is_empty();
  }
  void violations(const Finding&, const isl::map& pairs) override {
    failed = failed || !pairs.is_empty();
  }
  void undecided(const Finding&) override { failed = true; }
  void given_up(const Finding&) override { failed = true; }
};

}  // namespace

void mark_initial(TypedDef& def, DiagnosticSink& sink) {
  const std::vector<StatementInContext> all = statements(def);
  if (std::none_of(all.begin(), all.end(), [&](const StatementInContext& one) {
        return is_candidate(def, *one.statement);
      })) {
    return;
  }
  ProofModel model(def);
  for (int s = 0; s < static_cast<int>(model.items().size()); ++s) {
    const Statement& statement = *model.item(s).statement;
    if (!is_candidate(def, statement)) continue;
    Failure failure;
    if (!model.ask([&] { prove_accumulation(model, s, failure); })) failure.failed = true;
    if (!failure.failed) continue;
    Tensor& tensor = def.tensors[static_cast<std::size_t>(statement.tensor)];
    tensor.needs_initial = true;
    sink.warning("W0301", statement.range,
                 in_quotes(spelling(*statement.op)) + " accumulates onto elements of " +
                     in_quotes(tensor.name) +
                     " that no earlier statement wrote: the caller's buffer supplies them; write " +
                     in_quotes(std::string(spelling(*statement.op)) + "!") +
                     " to start from the identity");
  }
}

}  // namespace tc::lang
