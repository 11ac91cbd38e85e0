// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tc/lang/prove_model.h"
#include "tc/lang/sema.h"

namespace tc::lang {

std::string in_quotes(const std::string& text);
/// " (N = 3, K = 4)", in the order of the names; empty without sizes and consts.
std::string sizes_text(const Bindings& bindings);
/// What a proof wants to show, after "the proof that".
const char* goal_text(FindingKind kind);

/// Value of an expression at one instance { S[t, i] }.
std::optional<std::int64_t> value_at(const ProofModel& model, int s, const sets::Point& point,
                                     const ExprPtr& expr);
/// "at i = 2, k = 3" for the variables that the expressions mention, in the order of loops and
/// indices; empty if they mention none.
std::string values_at(const ProofModel& model, int s, const sets::Point& point,
                      const std::vector<ExprPtr>& expressions);
/// References to every loop and index variable of a statement.
std::vector<ExprPtr> all_indices(const ProofModel& model, int s);

}  // namespace tc::lang
