// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/cuda/builtins.h"

#include <fmt/format.h>

#include "tc/math/scalar.h"

namespace tc::codegen::cuda {

std::string why_unsupported(std::string_view function, std::size_t arity) {
  const math::ScalarFunction* found = math::find_scalar_function(function);
  if (!found) return fmt::format("no builtin '{}'", function);
  if (found->arity != static_cast<int>(arity))
    return fmt::format("builtin '{}' has {} arguments, not {}", function, found->arity, arity);
  return "";
}

bool is_predicate(std::string_view function) {
  const math::ScalarFunction* found = math::find_scalar_function(function);
  return found && found->returns_bool;
}

}  // namespace tc::codegen::cuda
