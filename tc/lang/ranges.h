// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/lang/sema.h"
#include "tc/lang/typed.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

/// Range inference in rounds (language.md section 6), symbolic in the sizes. Fills Index::lo/hi of
/// every statement, and Tensor::begin/extent of outputs and temporaries; checks annotated dims.
/// Reports E03xx into `sink`.
void infer_ranges(TypedDef& def, DiagnosticSink& sink);

/// Replaces every size and const by its value and folds. The result has no sizes and no consts:
/// bounds are over index and for variables and integers only, extents of tensors are IntConst.
/// Index types become int64 where the range needs it (and the types of expressions and inferred
/// outputs that follow from them are recomputed). Reports empty/negative ranges, violated
/// preconditions, sizes that overflow (E03xx) into `sink`.
std::optional<TypedDef> specialise(const TypedDef& def, const Bindings& bindings,
                                   DiagnosticSink& sink);

/// The exact proofs of language.md section 7 on a specialised def: in bounds, written once, written
/// before read, self-read; each violation with a concrete counterexample. Works with isl under an
/// operation quota. `sizes_text` (e.g. "N=3, K=4") goes into notes.
void prove(const TypedDef& specialised, const Bindings& bindings, DiagnosticSink& sink);

/// `tensorc check` without sizes: what the proofs need of the sizes.
struct Preconditions {
  std::vector<std::string> needs;      ///< e.g. "N >= K", in terms of size names
  std::vector<std::string> undecided;  ///< what is not decided without sizes, one line each
};
/// Reports a precondition that no sizes satisfy as an error.
Preconditions derive_preconditions(const TypedDef& def, DiagnosticSink& sink);

}  // namespace tc::lang
