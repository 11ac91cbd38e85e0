// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tc/lang/ast.h"

namespace tc::lang {

/// A def with a leading batch index on some of its tensors.
struct Batched {
  ast::Program program;       ///< the one def
  std::vector<bool> results;  ///< by return position: whether the result has the batch index
};

/// Rewrites `def` so that the tensor parameters marked in `parameters` (by position among the
/// tensor parameters) have one more dimension in front, and with them every tensor that depends on
/// one:
///
///   C(m,n) +=! A(m,r_k) * B(r_k,n)        A marked: C(b,m,n) +=! A(b,m,r_k) * B(r_k,n) where b in
///   0:batch
///
/// Works on the tree as it was written; the result is analysed like any other text. `def` is free
/// of errors. nullopt, with the reason: a call of another def, or an in-place parameter without the
/// mark that depends on one with it.
std::optional<Batched> batch(const ast::Def& def, const std::vector<bool>& parameters,
                             std::string& reason);

}  // namespace tc::lang
