// SPDX-License-Identifier: Apache-2.0
//
// One experiment: a program, the values that make it concrete, and how it is compiled. Has a text
// form, so that every failure can be kept as a file and replayed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases/view.h"
#include "tc/lang/ast.h"
#include "tc/support/options.h"
#include "tc/support/result.h"
#include "tc/tc.h"

namespace tc::fuzz {

using cases::View;

struct Case {
  std::string text;
  std::string def;  ///< the def that is compiled; the others are called by it
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, ConstValue> consts;
  std::map<std::string, View> views;  ///< by tensor name; absent: contiguous
  std::vector<MappingOptions> options;
  std::uint64_t inputs = 1;     ///< seed of the data
  bool integer_inputs = false;  ///< small integers in floating tensors too, so that sums are exact
  bool extreme_inputs = false;  ///< some NaN, infinite, subnormal and extreme integer values
  bool wild_indices = false;    ///< some integers far from the ranges that subscripts need
};

/// Comment lines `# fuzz KEY VALUE` and the program. parse_case reads it back.
std::string to_text(const Case& experiment);
Result<Case, std::string> parse_case(std::string_view text);

/// The def named `name`, or null.
const lang::ast::Def* find_def(const lang::ast::Program& program, std::string_view name);

/// What tc::compile needs to know beside the options: shapes from the dims of the parameters, with
/// the strides of the views. nullopt when a dim has no value.
std::optional<Metadata> metadata_of(const Case& experiment, const lang::ast::Program& program);

}  // namespace tc::fuzz
