// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tc/lang/ast.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

inline constexpr int kMaxSyntaxErrors = 100;
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

/// Parses a whole text. Recovers at statement and def boundaries, so that all syntax errors of a
/// text are reported in one run (at most kMaxSyntaxErrors, then E0119); what could be parsed is
/// returned even then. Never throws on any byte sequence; nesting deeper than ast::kMaxNesting,
/// expressions higher than ast::kMaxExprHeight and texts beyond kMaxTextBytes are diagnosed.
ast::Program parse(const SourceBuffer& source, DiagnosticSink& sink);

}  // namespace tc::lang
