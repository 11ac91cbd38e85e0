// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tc/compiler/host_tensor.h"
#include "tc/lang/typed.h"

namespace tc::compiler {

struct Comparison {
  bool ok = true;
  double max_abs = 0;   ///< largest |result - reference| over all floating outputs
  double max_rel = 0;   ///< the same over |reference|, where that is not 0
  double bound = 0;     ///< largest absolute error that was allowed
  std::string message;  ///< first mismatch: output, position, both values
};

enum class Exactness {
  Rounded,  ///< results may differ by accumulated rounding
  Exact,    ///< every bit must agree with the interpreter in the language's precision
};

/// What the interpreter makes of one set of inputs.
struct Reference {
  std::vector<lang::Value> language;  ///< outputs in the language's precision
  std::vector<lang::Value> precise;   ///< outputs in float64
  double scale = 0;                   ///< largest finite magnitude among the inputs
};

/// `initial` holds the contents of accumulated outputs by output position. Throws
/// lang::InterpreterLimit when the program is too large to interpret.
Reference interpret_reference(const lang::TypedDef& specialised,
                              const std::vector<HostTensor>& inputs,
                              const std::map<int, HostTensor>& initial);

/// Compares outputs of a run with the reference of the same inputs.
///
/// Rounded: a floating element may differ from the float64 reference by 16 times the largest error
/// that the interpreter itself makes in the language's precision on that output (its conditioning),
/// plus eps * (8 + 4 sqrt(n)) * max|x|, with n the longest reduction, x the inputs and the
/// output, and eps that of float64 only where nothing is computed in float32, plus one rounding to
/// the type of the output. NaN must meet NaN, an infinity the same
/// one. Integers must equal one of the two interpretations, since a value at a discontinuity may
/// round either way.
Comparison compare(const lang::TypedDef& specialised, const Reference& reference,
                   const std::vector<HostTensor>& outputs, Exactness exactness);

/// interpret_reference() and compare() in one.
Comparison compare_with_interpreter(const lang::TypedDef& specialised,
                                    const std::vector<HostTensor>& inputs,
                                    const std::map<int, HostTensor>& initial,
                                    const std::vector<HostTensor>& outputs, Exactness exactness);

}  // namespace tc::compiler
