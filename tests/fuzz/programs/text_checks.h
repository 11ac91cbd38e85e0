// SPDX-License-Identifier: Apache-2.0
//
// Properties of the texts of a program and of its stages.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "tc/compiler/pipeline.h"
#include "tc/lang/ast.h"

namespace tc::fuzz {

struct Broken {
  std::string property;
  std::string message;
};

/// The formatter's output parses to the same tree and is a fixed point; the same program with other
/// names has the same canonical text.
std::optional<Broken> check_source(const std::string& text, const lang::ast::Program& program,
                                   const std::string& def);

/// What the texts of the stages showed.
struct StageTexts {
  std::optional<Broken> broken;
  /// The plan after a journey through text: the tile program was printed, parsed and lowered, and
  /// the kernels that gives were printed and parsed. None when the options cannot be mapped.
  std::optional<kernel::Plan> reread;
};

/// The schedule verifies and reads back; the tile program prints, parses, lowers to the same
/// kernels; the kernel plan reads back. `features` gets what the tile program contains. Mapping
/// refusals are not failures.
StageTexts check_stages(const compiler::FrontEnd& front, const MappingOptions& options,
                        const Target& target, std::set<std::string>& features);

}  // namespace tc::fuzz
