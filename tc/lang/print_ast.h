// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tc/lang/ast.h"

namespace tc::lang {

/// The formatter: canonical layout, comments kept; the output parses to the same tree and is a
/// fixed point.
std::string format(const ast::Program& program);
/// One statement or expression on one line, without comments.
std::string format(const ast::Expr& expr);
std::string format(const ast::Stmt& stmt);
/// The tree itself, one node a line (`--emit ast`). Ranges are left out.
std::string dump(const ast::Program& program);
/// Structural equality; source ranges and comments take no part.
bool equal(const ast::Program& a, const ast::Program& b);

}  // namespace tc::lang
