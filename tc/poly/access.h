// SPDX-License-Identifier: Apache-2.0
//
// What a statement touches, read off its expressions: the syntactic side of the access relations.
// Scheduling decides most questions on these and asks isl only about the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tc/poly/scop.h"

namespace tc::poly {

/// sum(coefficient * index) + sum(coefficient * for variable) + constant; no zero coefficients,
/// ascending positions.
struct LinearForm {
  std::vector<std::pair<int, std::int64_t>> indices;
  std::vector<std::pair<int, std::int64_t>> loops;
  std::int64_t constant = 0;
};
/// nullopt if `expr` is not linear over indices, for variables and integers.
std::optional<LinearForm> linear_form(const lang::ExprPtr& expr);

/// A subscript that is one index, plus or minus, plus a constant.
struct BareSubscript {
  int index = 0;
  int sign = 1;
  std::int64_t offset = 0;
  bool operator==(const BareSubscript&) const = default;
};
std::optional<BareSubscript> bare_subscript(const lang::ExprPtr& expr);

enum class AccessKind { Read, Write };

struct Access {
  int statement = 0;
  int tensor = 0;
  AccessKind kind = AccessKind::Read;
  std::vector<lang::ExprPtr> subscripts;
  bool padded = false;                             ///< reaches only elements inside the tensor
  std::vector<std::optional<BareSubscript>> bare;  ///< per dimension

  bool is_write() const { return kind == AccessKind::Write; }
};

/// Every access of every statement, statements in order: writes first, then reads in order of
/// appearance, each once. A Reduce reads its targets.
std::vector<Access> accesses(const Scop& scop);

/// True if every index of the statement is a bare subscript of the left side, so that distinct
/// instances write distinct elements.
bool is_injective_left_side(const Statement& statement);

}  // namespace tc::poly
