// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tc/support/tensor_meta.h"

namespace tc::compiler {

/// Why no tensor has these sizes and strides: their elements reach beyond the address space.
/// `meta` has a stride for each dimension.
std::optional<std::string> beyond_address_space(const TensorMeta& meta);

/// What is wrong with metadata that a caller wrote: the number of strides, how far they reach, an
/// alignment that is no power of two. Sizes are the business of lang::bind_sizes.
std::optional<std::string> metadata_problem(const TensorMeta& meta);

/// Why different elements of an output share memory. `meta` has a stride for each dimension.
/// Cost: a search by isl where the strides, sorted, do not each step over what the smaller reach.
std::optional<std::string> shared_elements(const TensorMeta& meta);

bool is_power_of_two(std::int64_t value);

}  // namespace tc::compiler
