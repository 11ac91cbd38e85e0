// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/lang/ast.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

/// Parses a whole text. Recovers at statement and def boundaries, so that all syntax errors of a text are
/// reported in one run; what could be parsed is returned even then. Never throws on any byte sequence; nesting
/// deeper than 256 levels and texts beyond 16 MiB are diagnosed.
ast::Program parse(const SourceBuffer& source, DiagnosticSink& sink);

} // namespace tc::lang
