// SPDX-License-Identifier: Apache-2.0
//
// Statement instances as isl tuples: S[t..., i...], the variables of the enclosing loops first.
#pragma once

#include <string>

#include "tc/lang/affine.h"
#include "tc/poly/scop.h"

namespace tc::poly {

/// The loop of a `for` variable.
const For& find_loop(const Scop& scop, int var);

/// Number of dimensions of an instance.
std::size_t dimensions(const Statement& statement);

/// Conversion of the statement's expressions to isl.
lang::AffineScope affine_scope(const Scop& scop, const Statement& statement,
                               const sets::IslContext& context);

/// "S0[a0, a1, a2]" with the given letter; and the name of one dimension.
std::string tuple_text(const Statement& statement, char letter);
std::string dim_text(char letter, std::size_t dimension);

/// Number of `for` loops that both statements share, from the outermost.
std::size_t common_loops(const Statement& a, const Statement& b);

}  // namespace tc::poly
