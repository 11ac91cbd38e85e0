// SPDX-License-Identifier: Apache-2.0
//
// From text and shapes to a tile program: every stage up to this room, for its tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tc/lang/interpreter.h"
#include "tc/lang/sema.h"
#include "tc/poly/schedule.h"
#include "tc/tile/build.h"

namespace tc::tile::testing {

using Shapes = std::vector<std::vector<std::int64_t>>;

struct Built {
  lang::TypedDef def;  ///< specialised
  poly::Scop scop;
  poly::Schedule schedule;
  Placement placement;
  Program program;
};

/// A two-core machine with AVX-512 and 1 MiB of L2 per core.
tc::Target machine();

/// The first def of `text` for tensor parameters of the given shapes. Throws std::runtime_error
/// with what went wrong.
Built build_text(const std::string& text, const Shapes& shapes, const MappingOptions& options = {},
                 const lang::Bindings& known = {});
Program tile_text(const std::string& text, const Shapes& shapes,
                  const MappingOptions& options = {});

/// Operations of a kernel in textual order, those in loops included.
std::vector<const Op*> operations(const Kernel& kernel);
const Op& operation(const Program& program, const std::string& label);

}  // namespace tc::tile::testing
