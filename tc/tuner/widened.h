// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tc/compiler/pipeline.h"

namespace tc::tuner {

/// A program and its call with float64 where these say float32 or less.
struct Widened {
  std::string text;
  Metadata metadata;
};

/// Parameters and declared results become float64, and with them what is computed from them; casts
/// in expressions stay. `text` parses and `metadata` fits one of its defs.
Widened widen(std::string_view text, const Metadata& metadata);

}  // namespace tc::tuner
