// SPDX-License-Identifier: Apache-2.0
//
// What a model says of options before they are compiled.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "tc/support/options.h"

namespace tc::tuner {

struct Appraisal {
  /// Estimated run time, to be compared with those of the same program only; infinity: the options
  /// cannot be mapped.
  double us = std::numeric_limits<double>::infinity();
  /// Hash of what the options come to; 0: not known. Equal ones need no second try.
  std::uint64_t plan = 0;
};

/// Of each of these options, in order. Deterministic.
using Appraise = std::function<std::vector<Appraisal>(const std::vector<MappingOptions>&)>;

}  // namespace tc::tuner
