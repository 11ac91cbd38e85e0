// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace tc::lang {

/// A mathematical builtin of language.md section 9. `min`, `max` and casts are not builtins but
/// nodes.
struct BuiltinInfo {
  std::string_view name;
  int arity;
  /// float: arguments convert to float32 (float64 if any is). keep: abs, relu keep the type.
  /// predicate: isnan, isinf give bool.
  enum class Result { Float, Keep, Bool } result;
};

/// nullptr if there is no such builtin. All of section 9, sorted by name.
const BuiltinInfo* find_builtin(std::string_view name);
const std::vector<BuiltinInfo>& builtins();

}  // namespace tc::lang
