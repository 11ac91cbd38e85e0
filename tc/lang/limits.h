// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tc/lang/ast.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

// What a text may ask for. Far beyond any operator, and small enough that everything behind the
// parser, which is not linear in all of these, answers at once.
inline constexpr std::size_t kMaxDefs = 4'096;
inline constexpr int kMaxStatements = 4'000;  ///< of a def, calls inlined
inline constexpr int kMaxCallDepth = 100;
inline constexpr std::size_t kMaxParameters = 256;  ///< and as many results
inline constexpr std::size_t kMaxSizes = 128;       ///< names of sizes in one def
inline constexpr std::size_t kMaxDimensions = 64;   ///< of one tensor
inline constexpr std::size_t kMaxClauses = 1'000;   ///< of one `where`

/// Checks what the syntax tree of a def shows (everything but sizes and calls). E0236 and E0239;
/// false if there is one.
bool within_limits(const ast::Def& def, DiagnosticSink& sink);

/// E0239: "more than 64 dimensions of 'a'".
void report_limit(DiagnosticSink& sink, SourceRange range, std::size_t limit,
                  const std::string& what);

}  // namespace tc::lang
