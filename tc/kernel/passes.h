// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tc/kernel/ir.h"
#include "tc/support/result.h"

namespace tc::kernel {

/// Canonical text of a kernel. parse(print(k)) equals k up to variable ids and prints to the same
/// text.
std::string print(const Kernel& kernel);
std::string print(const ExprPtr& expr);

/// Place and reason why a kernel text does not parse.
struct ParseError {
  int line;
  int column;
  std::string message;
};
Result<Kernel, ParseError> parse(std::string_view text);

/// Types, lane counts, scopes of variables/registers/buffers, writability, constant bounds of
/// unrolled loops, subscript counts. Returns every violation, empty if the kernel is well formed.
std::vector<std::string> verify(const Kernel& kernel);

/// Folds constants, simplifies index arithmetic with the known ranges of loop variables (x/c, x%c,
/// min, max, comparisons), removes dead branches, empty loops and loops of one iteration. Semantics
/// as in ir.h.
Kernel simplify(const Kernel& kernel);
/// The same for one expression, given that each variable lies in [lo, hi].
struct VarRange {
  Var var;
  std::int64_t lo, hi;
};
ExprPtr simplify(const ExprPtr& expr, const std::vector<VarRange>& ranges);

/// Expands For{Unrolled}; every copy of a body defines variables, registers and local buffers of
/// its own. Afterwards every register slot that is affine in unrolled variables is a constant.
Kernel unroll(const Kernel& kernel);

}  // namespace tc::kernel
