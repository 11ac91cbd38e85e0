// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tc/lang/ast.h"
#include "tc/lang/typed.h"
#include "tc/tile/ir.h"

namespace tc::fuzz {

/// Every production of the grammar, operator token, element type, builtin, tile operation and
/// combine that counts, as "group name".
const std::vector<std::string>& all_features();

void add_text_features(const std::string& text, const lang::ast::Program& program,
                       std::set<std::string>& features);
void add_typed_features(const lang::TypedDef& def, std::set<std::string>& features);
void add_tile_features(const tile::Program& program, std::set<std::string>& features);

/// Table of all features with the share of `programs` that have each; those below `goal` percent
/// are marked.
std::string coverage_table(const std::map<std::string, long>& counts, long programs, double goal);
/// Features in fewer than `goal` percent of the programs.
long below_goal(const std::map<std::string, long>& counts, long programs, double goal);

}  // namespace tc::fuzz
