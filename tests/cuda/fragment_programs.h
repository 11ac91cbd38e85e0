// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "fuzz/programs/case.h"

namespace tc::cases {

/// A random program around a product of 16-bit floats that is large enough for tensor cores more
/// often than not: any order of dimensions, odd sizes, batches, padding, windows, views, several
/// statements behind the product, options that suit it and options that forbid it.
fuzz::Case random_fragment_case(std::uint64_t seed);

}  // namespace tc::cases
