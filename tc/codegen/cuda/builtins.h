// SPDX-License-Identifier: Apache-2.0
//
// Builtins of the language that device/math.cuh has. Internal to the room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tc::codegen::cuda {

/// Why there is no such builtin with so many arguments; empty if there is.
std::string why_unsupported(std::string_view function, std::size_t arity);
/// Gives bool whatever its argument is.
bool is_predicate(std::string_view function);

}  // namespace tc::codegen::cuda
