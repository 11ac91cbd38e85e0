// SPDX-License-Identifier: Apache-2.0
//
// Small programs with which users of tensor compilers met trouble, each with its right value. The
// programs lie in reported/, numbered as in the list of reports.
#pragma once

#include <string>
#include <vector>

#include "cases/case.h"

namespace tc::cases {

struct ReportedCase {
  int number;
  const char* title;
  std::vector<Case> (*make)();
};

/// Convolutions, reductions, gathers, recurrences: numbers 1 to 17.
std::vector<ReportedCase> reported_operators();
/// Views, names, empty tensors, special values, types, arithmetic: numbers 18 to 33.
std::vector<ReportedCase> reported_values();
/// Programs and calls that must be refused: parts of numbers 18, 20, 21, 32.
std::vector<Refusal> reported_refusals();

/// A case for `def` of reported/`file`.
Case reported_case(const std::string& file, const std::string& def, std::vector<Input> inputs,
                   std::vector<Expected> expected);

}  // namespace tc::cases
