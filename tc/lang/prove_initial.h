// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/lang/typed.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

/// Sets Tensor::needs_initial, with a warning, for outputs of a specialised def onto whose
/// unwritten elements a statement accumulates. resolve() found those that no earlier statement
/// writes at all; this decides it per element.
void mark_initial(TypedDef& def, DiagnosticSink& sink);

}  // namespace tc::lang
